/* The command line. A command is a row of facts (struct cli_command) and a function; parsing, help,
 * the man page and the completions all read the same rows, so that none of them can be wrong alone.
 *
 *   main.c     the commands, and which one is meant     options.c  parsing
 *   help.c     help for the terminal                    man.c      the man page
 *   output.c   where results go; errors, exit codes     device.c   the device that is meant
 *   launch.c   what is launched
 *   cmd_*.c    one command each
 */
#ifndef FATHOM_CLI_H
#define FATHOM_CLI_H

#include "fathom/fathom.h"

#include <stdio.h>

/* What the shell can offer for a word. */
enum cli_word {
    CLI_WORD_NONE,
    CLI_WORD_GPU, /* a name of the catalogue, or a file */
    CLI_WORD_DEVICE,
    CLI_WORD_ELEMENTS, /* a list with commas */
    CLI_WORD_FILE,
    CLI_WORD_FORMAT,
    CLI_WORD_GPU_FORMAT, /* those for descriptions, too */
    CLI_WORD_COMMAND,
    CLI_WORD_BENCH,       /* a name of a bench */
    CLI_WORD_FINGERPRINT, /* what fathom fingerprint does, or a file */
    CLI_WORD_SHELL
};

struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* '\0': none */
    const char *value; /* what its value is called, or NULL where it takes none */
    enum cli_word word;
    const char *help;
};

struct cli_example {
    const char *command;
    const char *what;
};

enum { CLI_MAX_OPTIONS = 96, CLI_MAX_ARGUMENTS = 4096 };

/* What was typed after the command. */
struct cli_arguments {
    const struct cli_command *command;
    const struct cli_option *options[CLI_MAX_OPTIONS];
    const char *values[CLI_MAX_OPTIONS];
    size_t option_count;
    const char *words[CLI_MAX_ARGUMENTS];
    size_t word_count;
};

struct cli_command {
    const char *name; /* "" for fathom without a command */
    const char *summary;
    const char *usage; /* what follows the name */
    const char *description;
    const struct cli_option *const *options; /* ends with NULL */
    const struct cli_example *examples;      /* ends with a NULL command */
    enum cli_word word;
    size_t max_words;
    int (*run)(const struct cli_arguments *arguments);
};

/* Exit codes, for scripts; help.c says what they mean. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_DEVICE = 3,
    CLI_INCONCLUSIVE = 4,
    CLI_DIFFERS = 5,
    CLI_INTERRUPTED = 130
};

/* ---- main.c ---- */

extern const struct cli_command cli_bare, cli_topo, cli_dissect, cli_bench, cli_gpus, cli_devices,
    cli_compare, cli_report, cli_fingerprint, cli_run, cli_trace, cli_model, cli_explore, cli_merge,
    cli_completion, cli_help;
/* NULL past the last; the first is fathom itself. */
const struct cli_command *cli_command_at(size_t index);
/* NULL, with a message on stderr, where there is none. */
const struct cli_command *cli_command_find(const char *name);

/* ---- options.c ---- */

/* The options that several commands share. */
extern const struct cli_option cli_option_device, cli_option_json, cli_option_csv,
    cli_option_format, cli_option_gpu_format, cli_option_output, cli_option_record, cli_option_help,
    cli_option_version, cli_option_man;

/* Returns CLI_DONE, or CLI_USAGE after a message on stderr. */
int cli_parse(const struct cli_command *command, int count, char *const words[],
              struct cli_arguments *arguments);
/* The value of the option ("" for one that takes none), or NULL where it was not given. */
const char *cli_value(const struct cli_arguments *arguments, const struct cli_option *option);

/* ---- parameters.c ---- */

extern const struct cli_option cli_option_gpu, cli_option_threads;
/* The parameters of the GPU that --gpu names, to be destroyed by the caller; otherwise tells why
 * not and returns the exit code. */
int cli_read_parameters(const struct cli_arguments *arguments, struct fth_model_params **params);
typedef enum fth_status cli_setter(void *context, const char *name, const char *value,
                                   struct fth_error *error);
/* Sets what was given with the option: names with a point are parameters, the others sizes of a
 * launch file, which are left. `example` is for those who slip. */
int cli_take_settings(const struct cli_arguments *arguments, const struct cli_option *option,
                      const char *example, cli_setter *set, void *context);

/* ---- launch.c ---- */

/* The options of the commands that launch. */
extern const struct cli_option cli_option_entry, cli_option_grid, cli_option_block,
    cli_option_shared, cli_option_arg, cli_option_seed, cli_option_set;
/* The launch that the first word and these options ask for, to be destroyed by the caller;
 * otherwise tells why not and returns the exit code. */
int cli_open_launch(const struct cli_arguments *arguments, struct fth_launch **launch);
/* Where the option was given, its value as a whole number; false, and told, where it is none. */
bool cli_whole(const struct cli_arguments *arguments, const struct cli_option *option,
               uint64_t *number);
bool cli_ends_with(const char *text, const char *end);

/* ---- help.c, man.c ---- */

void cli_print_help(const struct cli_command *command);
/* An exit code and what it means, for index 0, 1, … until NULL. */
const char *cli_exit_meaning(size_t index, int *code);
void cli_print_man(void);

/* ---- device.c ---- */

/* Opens what --device names or, without it, the first GPU here, and has what it answers recorded
 * where --record says so; otherwise tells why not and returns the exit code. */
int cli_open_device(const struct cli_arguments *arguments, struct fth_device **device);
/* Whether a word is a device, rather than a name of the catalogue or a file. */
bool cli_names_device(const char *word);
/* Opens the device of that id; otherwise tells why not and returns the exit code. */
int cli_open_named(const char *id, struct fth_device **device);
/* CLI_DONE, or CLI_USAGE after a message that says what was perhaps meant. */
int cli_check_element(const char *name);

/* ---- cmd_fingerprint.c ---- */

/* What 'fathom fingerprint' can do, for index 0, 1, … until NULL. */
const char *cli_fingerprint_action(size_t index);

/* ---- output.c ---- */

/* "fathom: …" on stderr. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells the error and returns the exit code for it. */
int cli_fail(const struct fth_error *error);
/* Tells how measuring ended that did not end well, and returns the exit code for it; otherwise
 * `result`. `some`: there are figures, as far as it came. */
int cli_end_measuring(int result, enum fth_status status, const struct fth_error *error, bool some);
/* From now on Ctrl-C, and SIGTERM, end what is under way in order; a second one ends the program.
 */
void cli_catch_interrupts(void);
/* Warnings of the library go to stderr, and its progress where that is a terminal. */
extern const struct fth_log cli_log;
/* From now on counts how long each stage takes that the library tells of, and says so on stderr at
 * the end. */
void cli_spend_verbosely(void);
/* The format that --json or --format asks for, text otherwise. */
const char *cli_format(const struct cli_arguments *arguments);
/* Before something that takes long: whether the format is one and the file of -o can be written.
 * Otherwise tells why not and returns the exit code. */
int cli_check_output(const struct cli_arguments *arguments);
/* Shows a description, or a table, in the format asked for, and writes it there. */
int cli_put_gpu(const struct cli_arguments *arguments, const struct fth_gpu *gpu, bool replayed);
int cli_put_bench(const struct cli_arguments *arguments, const struct fth_bench *bench);
int cli_put_table(const struct cli_arguments *arguments, const struct fth_table *table);
/* Writes a text, which is freed with fth_free, where -o says. */
int cli_put_text(const struct cli_arguments *arguments, char *text, size_t size);
/* What the terminal behind stdout can show. */
struct fth_report_options cli_report_options(const struct cli_arguments *arguments);
/* The end of a command that printed to stdout with stdio: a write error is noticed here. */
int cli_finish_stdout(void);

#endif
