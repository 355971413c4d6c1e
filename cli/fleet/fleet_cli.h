/* What the actions of 'fathom fleet' share. Each action is one function; cmd_fleet.c lists them.
 *
 *   cmd_fleet.c       the command, its actions and options
 *   fleet_shared.c    reading fleets and references, writing judgements, exit codes
 *   fleet_judge.c     judge
 *   fleet_collect.c   collect, reference
 *   fleet_check.c     check
 *   fleet_history.c   add, history
 *   fleet_generate.c  generate
 */
#ifndef FATHOM_FLEET_CLI_H
#define FATHOM_FLEET_CLI_H

#include "cli.h"

/* ---- cmd_fleet.c ---- */

/* The options of the actions, next to those that other commands also have. */
extern const struct cli_option cli_fleet_reference_file, cli_fleet_groups, cli_fleet_false_alarms,
    cli_fleet_min_effect, cli_fleet_mix, cli_fleet_store, cli_fleet_all, cli_fleet_thorough,
    cli_fleet_runs, cli_fleet_save, cli_fleet_from, cli_fleet_gpus, cli_fleet_fault, cli_fleet_seed,
    cli_fleet_forget_before, cli_fleet_expect_gpus, cli_fleet_expect_hosts;
/* Those that only generate has (fleet_generate.c). */
extern const struct cli_option cli_fleet_measurements, cli_fleet_racks, cli_fleet_spread,
    cli_fleet_tail, cli_fleet_truth;

/* ---- the actions: words[0] is the name of the action, the other words are its arguments. They
 * return the exit code. ---- */

int cli_fleet_judge(const struct cli_arguments *arguments);
int cli_fleet_check(const struct cli_arguments *arguments);
int cli_fleet_collect(const struct cli_arguments *arguments);
int cli_fleet_reference(const struct cli_arguments *arguments);
int cli_fleet_add(const struct cli_arguments *arguments);
int cli_fleet_history(const struct cli_arguments *arguments);
int cli_fleet_generate(const struct cli_arguments *arguments);

/* ---- fleet_history.c ---- */

/* With --store, compares the GPUs of a judgement with their history. On failure it prints an error
 * and returns the exit code. */
int cli_fleet_judge_store(const struct cli_arguments *arguments,
                          const struct fth_fleet_judge_options *options,
                          struct fth_fleet_judgement *judgement);

/* Checks --expect-gpus and --expect-hosts before anything is measured or read. On failure it prints
 * an error and returns the exit code. */
int cli_fleet_check_expected(const struct cli_arguments *arguments);
/* With --expect-gpus or --expect-hosts, adds to a judgement what is missing; with --store, GPUs of
 * the history are named, with 'check' only those of this host. *complete: nothing is missing. On
 * failure it prints an error and returns the exit code. */
int cli_fleet_expect(const struct cli_arguments *arguments, struct fth_fleet_judgement *judgement,
                     bool *complete);

/* ---- fleet_shared.c ---- */

/* Checks that the action has at least one argument, `what`. Otherwise it prints an error and
 * returns the exit code. */
int cli_fleet_require_words(const struct cli_arguments *arguments, const char *what);
/* Reads the paths of the arguments from words[first] on into a new fleet, and --groups. Prints a
 * warning for each file of a folder that is no measurement of a GPU. The caller destroys *fleet. On
 * failure it prints an error and returns the exit code. */
int cli_fleet_read(const struct cli_arguments *arguments, size_t first, struct fth_fleet **fleet);
/* The same for any paths. */
int cli_fleet_read_paths(const struct cli_arguments *arguments, const char *const *paths,
                         size_t count, struct fth_fleet **fleet);
/* Parses a percentage above 0 as a fraction: 5 percent is 0.05. Leaves *fraction unchanged if the
 * option was not given. On failure it prints an error and returns the exit code. */
int cli_fleet_parse_percent(const struct cli_arguments *arguments, const struct cli_option *option,
                            double *fraction);
/* Reads --false-alarms, --min-effect, --mix and --reference. `options->reference` is *reference,
 * which the caller destroys. On failure it prints an error and returns the exit code. */
int cli_fleet_judge_options(const struct cli_arguments *arguments,
                            struct fth_fleet_judge_options *options,
                            struct fth_fleet_reference **reference);
/* Writes a judgement in the format of the arguments to the file of -o or to stdout, and prints a
 * warning if GPUs were not judged. `all`: also list GPUs that are healthy. Returns the exit code of
 * the verdicts: CLI_DONE, CLI_DIFFERS, CLI_UNHEALTHY or CLI_INCONCLUSIVE. */
int cli_fleet_put(const struct cli_arguments *arguments,
                  const struct fth_fleet_judgement *judgement, bool all);
/* Adds to a judgement what is missing (cli_fleet_expect), and writes it (cli_fleet_put). Returns
 * the exit code: CLI_UNHEALTHY if something is missing, otherwise as cli_fleet_put. */
int cli_fleet_conclude(const struct cli_arguments *arguments, struct fth_fleet_judgement *judgement,
                       bool all);
/* Writes a text to the file of -o or to stdout, compressed with zstd if the name of the file ends
 * with .zst, and frees it with fth_free. Returns the exit code. */
int cli_fleet_write(const struct cli_arguments *arguments, char *text, size_t size);

/* ---- fleet_judge.c ---- */

/* Judges the measurements of a folder. `min_effect` 0: the default. `all`: also list GPUs that are
 * healthy. Returns the exit code, as cli_fleet_put. */
int cli_fleet_judge_folder(const struct cli_arguments *arguments, const char *folder,
                           double min_effect, bool all);

#endif
