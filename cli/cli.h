/* The command line. A command is a table (struct cli_command) and a function. The parser, the help,
 * the man page and the shell completions all read the same tables, so they cannot contradict each
 * other.
 *
 *   main.c        list of commands, dispatch         options.c     parser, shared options
 *   help.c        help for the terminal              man.c         man page
 *   cli_output.c  results, errors, progress, codes   cli_device.c  opening the device
 *   cli_launch.c  options for launches               parameters.c  cache model parameters
 *                                                  and views of explorations
 *   cli_program.c runs a program with a library of fathom
 *   cli_capture.c files that such a program writes
 *   cli_capsule.c options for capsules, and runs their launches
 *   cli_gpus.c    the GPUs of this machine, files and summaries of their measurements
 *   cli_trace_lines.c    the memory instructions of a trace
 *   cli_hints.c   edits of traces, and hints
 *   cli_model.c   views of the results of the model
 *   cli_installation.c   documents and examples that are installed with the program
 *   commands/     one command each
 *   fleet/        the command fleet, one file per action (fleet/fleet_cli.h)
 */
#ifndef FATHOM_CLI_H
#define FATHOM_CLI_H

#include "fathom/fathom.h"

#include <stdio.h>

/* The kind of a word on the command line. It determines what shell completion offers. */
enum cli_word_kind {
    CLI_WORD_NONE,
    CLI_WORD_GPU, /* a name in the catalogue, or a file */
    CLI_WORD_DEVICE,
    CLI_WORD_ELEMENTS, /* a comma-separated list of elements */
    CLI_WORD_FILE,
    CLI_WORD_FORMAT,
    CLI_WORD_GPU_FORMAT,   /* also the formats that only descriptions have */
    CLI_WORD_FLEET_FORMAT, /* the formats of judgements of fleets */
    CLI_WORD_COMMAND,
    CLI_WORD_BENCH,       /* the name of a benchmark */
    CLI_WORD_FINGERPRINT, /* an action of fathom fingerprint, or a file */
    CLI_WORD_FLEET,       /* an action of fathom fleet, or a file */
    CLI_WORD_SHELL
};

struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* one-letter form; '\0' if there is none */
    const char *value; /* placeholder of its value in help; NULL if it takes no value */
    enum cli_word_kind word_kind;
    const char *help;
};

struct cli_example {
    const char *command;
    const char *caption;
};

/* Maximum number of options and of positional arguments on a command line. Chosen, not derived. */
enum { CLI_MAX_OPTIONS = 96, CLI_MAX_ARGUMENTS = 4096 };

/* The parsed command line: options with their values, and positional arguments (`words`). All
 * strings are borrowed from argv. */
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
    /* One line for the list of commands. */
    const char *summary;
    const char *usage; /* the part of the usage line after the name */
    const char *description;
    const struct cli_option *const *options; /* terminated by NULL */
    const struct cli_example *examples;      /* terminated by an entry whose command is NULL */
    enum cli_word_kind word_kind;            /* of the positional arguments */
    size_t max_words;                        /* maximum number of positional arguments */
    int (*run)(const struct cli_arguments *arguments);
};

/* Exit codes. help.c has their descriptions. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_DEVICE = 3,
    CLI_INCONCLUSIVE = 4,
    CLI_DIFFERS = 5,
    CLI_UNHEALTHY = 6,
    CLI_INTERRUPTED = 130
};

/* ---- main.c ---- */

extern const struct cli_command cli_bare, cli_topo, cli_dissect, cli_bench, cli_gpus, cli_devices,
    cli_compare, cli_fleet, cli_report, cli_fingerprint, cli_exec, cli_capture, cli_run, cli_trace,
    cli_model, cli_explore, cli_merge, cli_completion, cli_help;
/* Returns NULL past the last command. Index 0 is fathom without a command. */
const struct cli_command *cli_command_at(size_t index);
/* Returns NULL after a message on stderr if there is no such command. */
const struct cli_command *cli_command_find(const char *name);
/* An action of a command such as 'fathom fleet'. */
struct cli_action {
    const char *name;
    int (*run)(const struct cli_arguments *arguments);
};
/* Runs the action that the first positional argument names. `forms` lists the actions with their
 * arguments, for the message about a missing one. Returns the exit code. */
int cli_run_action(const struct cli_arguments *arguments, const struct cli_action *actions,
                   size_t count, const char *forms);

/* ---- options.c ---- */

/* Options that several commands share. */
extern const struct cli_option cli_option_device, cli_option_json, cli_option_csv,
    cli_option_format, cli_option_gpu_format, cli_option_fleet_format, cli_option_output,
    cli_option_record, cli_option_max_bytes, cli_option_help, cli_option_version, cli_option_man,
    cli_option_require_gpu, cli_option_max_instructions, cli_option_quiet;

/* Parses the `count` words after the command. Returns CLI_DONE, or CLI_USAGE after a message on
 * stderr. */
int cli_parse(const struct cli_command *command, int count, char *const words[],
              struct cli_arguments *arguments);
/* Returns the value of the option, "" for an option without a value, or NULL if the option was not
 * given. If it was given several times, the last value counts. */
const char *cli_value(const struct cli_arguments *arguments, const struct cli_option *option);
/* Parses the value of the option as a size such as 32K. Leaves *bytes unchanged if the option was
 * not given. On failure it prints an error and returns the exit code. */
int cli_parse_size(const struct cli_arguments *arguments, const struct cli_option *option,
                   uint64_t *bytes);

/* ---- parameters.c ---- */

extern const struct cli_option cli_option_gpu, cli_option_threads;
/* Parses --threads. Leaves *threads unchanged if it was not given. Returns false after a message if
 * its value is not a whole number. */
bool cli_parse_threads(const struct cli_arguments *arguments, unsigned *threads);
/* Returns whether a value of --gpu stands for generic parameters, those of no GPU. NULL does not.
 */
bool cli_is_generic(const char *gpu);
/* Creates the model parameters of the GPU that --gpu names. Without --gpu, it is `fallback`; if
 * that is NULL, it is the GPU of this computer or the H200, and a note on stderr says which. The
 * caller destroys the parameters. On failure it prints an error and returns the exit code. */
int cli_read_parameters(const struct cli_arguments *arguments, const char *fallback,
                        struct fth_model_params **params);
typedef enum fth_status cli_setter(void *context, const char *name, const char *value,
                                   struct fth_error *error);
/* Calls `set` for each NAME=VALUE given with the option whose name contains a dot: these are
 * parameters of the model. Names without a dot are sizes of a launch file and are skipped here.
 * `example` is shown in the message about a malformed setting. */
int cli_apply_settings(const struct cli_arguments *arguments, const struct cli_option *option,
                       const char *example, cli_setter *set, void *context);

/* Options of the commands that show points of explorations. */
extern const struct cli_option cli_option_objective, cli_option_pareto, cli_option_rdgc;
#define CLI_POINTS_OPTIONS &cli_option_objective, &cli_option_pareto, &cli_option_rdgc
struct fth_points_view cli_points_view(const struct cli_arguments *arguments);
/* Checks these options. On failure it prints an error and returns the exit code. */
int cli_check_points_view(const struct cli_arguments *arguments);
/* Prints notes about the points of an exploration that were skipped. */
void cli_note_skipped(const char *points, size_t size);

/* ---- cli_launch.c ---- */

/* Options of the commands that launch kernels. */
extern const struct cli_option cli_option_entry, cli_option_grid, cli_option_block,
    cli_option_cluster, cli_option_shared, cli_option_arg, cli_option_variable, cli_option_seed,
    cli_option_set, cli_option_allow_files, cli_option_no_spills;
/* Those of them that apply to PTX files, for the option table of a command. */
#define CLI_KERNEL_OPTIONS                                                                         \
    &cli_option_entry, &cli_option_grid, &cli_option_block, &cli_option_cluster,                   \
        &cli_option_shared, &cli_option_arg, &cli_option_variable, &cli_option_seed

/* ---- cli_model.c ---- */

extern const struct cli_option cli_option_lines, cli_option_source, cli_option_each_launch,
    cli_option_wide;
/* The options of a command that shows results of the model. */
#define CLI_VIEW_OPTIONS                                                                           \
    &cli_option_source, &cli_option_lines, &cli_option_each_launch, &cli_option_wide

/* Returns the view that these options select. */
enum fth_model_view cli_model_view(const struct cli_arguments *arguments);
/* Writes a result in the format of the arguments to *text, which the caller frees. Source files are
 * also searched in the folder of `input`. `hints` and `input` may be NULL. Returns the exit code.
 */
int cli_put_model(const struct cli_arguments *arguments, enum fth_model_view view,
                  const struct fth_model_result *result, const struct fth_model_params *params,
                  const struct fth_hints *hints, const char *input, char **text, size_t *size);

/* The values of these options. `options` points to the other members. */
struct cli_launch_values {
    struct fth_launch_options options;
    uint64_t seed;
    uint32_t cluster[3];
    const char *sizes[CLI_MAX_OPTIONS], *arguments[CLI_MAX_OPTIONS], *variables[CLI_MAX_OPTIONS];
};
/* Reads the options above. `set` is the command's option --set: cli_option_set, or another one that
 * also sets parameters of the model, whose names contain a dot. On failure it prints an error and
 * returns the exit code. */
int cli_read_launch_options(const struct cli_arguments *arguments, const struct cli_option *set,
                            struct cli_launch_values *values);
/* Obtains the trace of the first positional argument with fth_trace_obtain; `output` and `traced`
 * are those of struct fth_trace_options and may be NULL. The caller closes the trace. On failure it
 * prints an error and returns the exit code. */
int cli_obtain_trace(const struct cli_arguments *arguments, const struct cli_option *set,
                     const char *output, struct fth_launch **traced, struct fth_trace **trace);
/* Parses the value of the option as a whole number: decimal, or hexadecimal with 0x. Leaves *number
 * unchanged if the option was not given. Returns false after a message if the value is not a whole
 * number. */
bool cli_parse_whole_number(const struct cli_arguments *arguments, const struct cli_option *option,
                            uint64_t *number);

/* Parses --max-instructions. Leaves *number unchanged if it was not given. Returns false after a
 * message if its value is not a whole number from 1 on. */
bool cli_parse_max_instructions(const struct cli_arguments *arguments, uint64_t *number);

/* ---- cli_program.c ---- */

/* Parses the value of the option as a range of launches: N..M, N.. or N. *end is the number after
 * the last one; 0: there is no limit. Leaves both unchanged if the option was not given. On failure
 * it prints an error and returns the exit code. */
int cli_parse_range(const struct cli_arguments *arguments, const struct cli_option *option,
                    uint64_t *first, uint64_t *end);
/* Checks that the value of the option is an extended regular expression. On failure it prints an
 * error and returns the exit code. */
int cli_check_pattern(const struct cli_arguments *arguments, const struct cli_option *option);

/* Finds a library that comes with this program: in the folder frontends/FOLDER of a build, or in an
 * installation. Returns false after a message if it is not there. */
bool cli_find_library(const char *folder, const char *name, char *path, size_t size);

struct cli_variable {
    const char *name, *value;
};
struct cli_program {
    const char *const *words; /* the program and its arguments */
    size_t word_count;
    const char *preload;                  /* the libraries to preload, separated by colons */
    const struct cli_variable *variables; /* of its environment */
    size_t variable_count;
};
struct cli_program_end {
    int signal; /* that ended the program; 0: none */
    int code;   /* the exit code, as a shell has it */
};
/* Runs a program and waits for its end. Returns false after a message if it could not be run. */
bool cli_run_program(const struct cli_program *program, struct cli_program_end *end);
/* Prints the signal that ended the program, if any. Returns the exit code of the command: that of
 * the program, or `code` if that is 0. */
int cli_finish_program(const struct cli_program_end *end, int code);

/* ---- cli_capture.c ---- */

/* Makes a folder for what a program writes: beside the file `target`, which can be written, or, if
 * it is NULL, for temporary files. `folder` is an absolute path. Returns false after a message. */
bool cli_make_folder(const char *target, char *folder, size_t size);
/* Removes the folder and the files in it. */
void cli_remove_folder(const char *folder);
/* Prints the messages of the reports in the folder. Returns the number of warnings in them. */
size_t cli_show_reports(const char *folder);
/* Gives a file of the folder the name `target`, with the number of its process appended unless that
 * is NULL. Returns false after a message. */
bool cli_keep_file(const char *path, const char *target, const char *process);
/* Completes the capsules in the folder with PTX of other folders, moves them to `target`, and
 * prints what they contain. Returns the exit code. */
int cli_keep_capsules(const char *folder, const char *target, const char *const *ptx,
                      size_t ptx_count);

/* ---- cli_capsule.c ---- */

/* Options of the commands that accept capsules. */
extern const struct cli_option cli_option_kernels, cli_option_launches, cli_option_max_memory;
/* Option of 'fathom run' for capsules. */
extern const struct cli_option cli_option_parameters;
#define CLI_CAPSULE_OPTIONS &cli_option_kernels, &cli_option_launches, &cli_option_max_memory
/* Replays the capsule that the first positional argument names, and prints what became of its
 * launches; `verify` is the command's option --verify. Returns the exit code. */
int cli_run_capsule(const struct cli_arguments *arguments, const struct cli_option *verify);

/* ---- help.c, man.c ---- */

void cli_print_help(const struct cli_command *command);
/* Returns the meaning of the exit code with this index and sets *code; NULL past the last one. */
const char *cli_exit_meaning(size_t index, int *code);
void cli_print_man(void);

/* ---- cli_hints.c ---- */

extern const struct cli_option cli_option_what_if, cli_option_hints;
/* Applies the parameters among the values of --what-if. On failure it prints an error and returns
 * the exit code. */
int cli_apply_changes(const struct cli_arguments *arguments, struct fth_model_params *params);
/* Replaces the trace by one with the edits among the values of --what-if, if there are any. On
 * failure it prints an error and returns the exit code. */
int cli_edit_trace(const struct cli_arguments *arguments, struct fth_trace **trace);
/* Finds hints with --hints; otherwise *hints remains as it is. The caller destroys them. On failure
 * it prints an error and returns the exit code. */
int cli_find_hints(const struct cli_arguments *arguments, const struct fth_trace *trace,
                   const struct fth_model_params *params, const struct fth_model_result *result,
                   struct fth_hints **hints);

/* ---- cli_installation.c ---- */

/* Finds the folder of the installation that contains docs/ and examples/. Returns false if the
 * program is not installed. */
bool cli_find_documents(char *folder, size_t size);

/* ---- cli_device.c ---- */

/* Opens the device that --device names, or the library's default device. Starts recording if
 * --record was given. On failure it prints an error and returns the exit code. */
int cli_open_device(const struct cli_arguments *arguments, struct fth_device **device);
/* Returns whether a word names a device (cuda:, sim: or replay:) rather than a GPU of the catalogue
 * or a file. */
bool cli_is_device_id(const char *word_kind);
/* Prepares the process for opening the device with this id (NULL: the library's default device) by
 * setting environment variables that the CUDA driver reads when it is initialised:
 * - CUDA_VISIBLE_DEVICES, because the driver shows a MIG slice only if this variable names it.
 * - CUDA_DEVICE_MAX_CONNECTIONS, unless the user has set it: the number of queues to a GPU. fathom
 *   executes one kernel at a time and needs one. On an H200, opening and closing the GPU take 65 to
 *   70 ms with one queue and 145 to 150 ms with the 8 of the default.
 * On failure it prints an error and returns the exit code. */
int cli_prepare_device(const char *id);
/* Opens the device with this id; NULL: the library's default device. Applies --require-gpu and
 * --max-instructions. On failure it prints an error and returns the exit code. */
int cli_open_device_id(const struct cli_arguments *arguments, const char *id,
                       struct fth_device **device);
/* Prints the error of a device that cannot be opened, and returns the exit code. */
int cli_fail_open(const struct fth_error *error);
/* Returns CLI_DONE if there is an element of this name. Otherwise returns CLI_USAGE after a message
 * that suggests the nearest name or lists all names. */
int cli_check_element(const char *name);

/* ---- cli_gpus.c ---- */

/* Maximum number of GPUs of a machine. Chosen: more than there are. */
enum { CLI_MAX_GPUS = 64 };
struct cli_gpu_list {
    char ids[CLI_MAX_GPUS][32]; /* cuda:0, ... */
    size_t count;
    char reason[512]; /* why there is none, or why one of them is not in the list; or empty */
};
/* Lists the GPUs of this machine that the CUDA driver reports. MIG slices are not among them. If
 * there is none, it prints an error and returns CLI_NO_DEVICE. If one of several cannot be used, it
 * prints the reason. */
int cli_list_gpus(struct cli_gpu_list *list);
/* Whether a file name contains %h or %g. NULL does not. */
bool cli_is_pattern(const char *path);
/* Returns the file name with %h and %g replaced by the host and the GPU; `path` has PATH_MAX bytes.
 * `id` is that of the device. */
const char *cli_name_output(const char *pattern, const char *id, const struct fth_gpu *gpu,
                            char *path);
/* Returns the time of a clock that only advances. */
double cli_seconds(void);
/* Prints one line about a measurement on stdout: host, GPU, model, main figures, throttling, and
 * the seconds that it took. Returns the exit code. */
int cli_print_summary(const char *id, const struct fth_gpu *gpu, double seconds);

/* ---- cmd_fingerprint.c ---- */

/* Returns the name of an action of 'fathom fingerprint'; NULL past the last one. */
const char *cli_fingerprint_action(size_t index);

/* ---- fleet/cmd_fleet.c ---- */

/* Returns the name of an action of 'fathom fleet'; NULL past the last one. */
const char *cli_fleet_action(size_t index);

/* ---- cli_output.c ---- */

/* Prints "fathom: MESSAGE" and a newline on stderr. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a note: something that users need not know. --quiet suppresses it. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on, prints no notes and no progress. */
void cli_be_quiet(void);
/* Prints that memory is exhausted, and returns the exit code for it. */
int cli_no_memory(void);
/* Prints the error on stderr and returns the exit code for it. */
int cli_fail(const struct fth_error *error);
/* Returns the exit code of a command that measures: `result` if `status` is FTH_OK. Otherwise it
 * prints a message and returns the exit code for `status`. `has_results`: the measurement produced
 * results before it ended. */
int cli_finish_measurement(int result, enum fth_status status, const struct fth_error *error,
                           bool has_results);
/* From now on, the first SIGINT (Ctrl-C) or SIGTERM makes the library stop and return what is
 * complete. The same signal a second time ends the program at once. */
void cli_catch_interrupts(void);
/* Prints the messages of the library on stderr, and its progress if stderr is a terminal. */
extern const struct fth_log cli_log;
/* From now on, measures how long each stage takes whose progress the library reports. The times are
 * printed on stderr after the last stage. */
void cli_time_stages(void);
/* Returns the format selected with --format, --csv or --json; "text" without these options. */
const char *cli_format(const struct cli_arguments *arguments);
/* Returns whether the name of a file ends with this extension, such as ".zst". */
bool cli_has_extension(const char *path, const char *extension);
/* Checks that the format exists and that the file of -o can be written, so that a long measurement
 * is not lost in the end. On failure it prints an error and returns the exit code. */
int cli_check_output(const struct cli_arguments *arguments);
/* Prints a table with the memory instructions of a trace: cli_trace_lines.c. */
int cli_put_trace_lines(const struct cli_arguments *arguments, const struct fth_trace *trace);
/* Formats a description, benchmark results or a table in the selected format and writes the text to
 * the file of -o or to stdout. They return the exit code. `replayed`: the figures come from a
 * recording, and the title says so. */
int cli_put_gpu(const struct cli_arguments *arguments, const struct fth_gpu *gpu, bool replayed);
int cli_put_bench(const struct cli_arguments *arguments, const struct fth_bench *bench);
int cli_put_table(const struct cli_arguments *arguments, const struct fth_table *table);
/* As cli_put_table. `drop`: see struct fth_report_options. */
int cli_put_table_fit(const struct cli_arguments *arguments, const struct fth_table *table,
                      const char *const *drop);
/* Writes the text to the file of -o or to stdout, and frees it with fth_free. */
int cli_put_text(const struct cli_arguments *arguments, char *text, size_t size);
/* Returns what the terminal behind stdout can display: UTF-8, colour, width. */
struct fth_report_options cli_report_options(const struct cli_arguments *arguments);
/* Flushes stdout at the end of a command that printed with stdio. Returns CLI_FAILED after a
 * message if a write has failed. */
int cli_finish_stdout(void);

#endif
