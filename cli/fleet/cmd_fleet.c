/* fathom fleet: finds the GPUs of a fleet that differ from the others of their model. */
#include "fleet/fleet_cli.h"

const struct cli_option cli_fleet_reference_file = {
    "reference", 0, "FILE", CLI_WORD_FILE,
    "compare with the GPUs of this reference, written by 'fathom fleet reference', instead of the "
    "GPUs that are judged"};
const struct cli_option cli_fleet_groups = {
    "groups", 0, "FILE", CLI_WORD_FILE,
    "read the groups of hosts, such as racks, from FILE: CSV with lines 'host,group'"};
const struct cli_option cli_fleet_false_alarms = {
    "false-alarms", 0, "PERCENT", CLI_WORD_NONE,
    "maximum probability that a healthy GPU is not judged healthy (default: 0.1). With --store, "
    "the "
    "comparison with the history has this probability in addition"};
const struct cli_option cli_fleet_min_effect = {
    "min-effect", 0, "PERCENT", CLI_WORD_NONE,
    "ignore smaller differences of bandwidths, latencies and clocks (default: 2)"};
const struct cli_option cli_fleet_mix = {
    "mix", 0, "LIST", CLI_WORD_NONE,
    "also compare GPUs that differ in their drivers, boards, or both: drivers,boards"};
const struct cli_option cli_fleet_store = {
    "store", 0, "FILE", CLI_WORD_FILE,
    "use this history, an SQLite database (default of add and history: fathom/fleet.db in "
    "XDG_DATA_HOME or ~/.local/share). With judge: also compare each GPU with its own earlier "
    "measurements"};
const struct cli_option cli_fleet_forget_before = {
    "forget-before", 0, "DATE", CLI_WORD_NONE,
    "with add: then remove all measurements before this date, such as 2026-01-31, for good"};
const struct cli_option cli_fleet_all = {
    "all", 0, NULL, CLI_WORD_NONE,
    "list everything: with judge, also the GPUs that are healthy; with --format prometheus, the "
    "figures of all GPUs; with history, all GPUs or figures"};
const struct cli_option cli_fleet_expect_gpus = {
    "expect-gpus", 0, "N", CLI_WORD_NONE,
    "the exit code is 6 if fewer than N GPUs could be judged (with judge) or measured (with "
    "check). With --store, GPUs of the history that are missing are named, with check only those "
    "of this host"};
const struct cli_option cli_fleet_expect_hosts = {
    "expect-hosts", 0, "FILE", CLI_WORD_FILE,
    "with judge: name the hosts of FILE, one per line, that have no measurement; the exit code is "
    "6 "
    "if there are any. Lines 'host,group' are allowed, so the file of --groups can be used"};
const struct cli_option cli_fleet_thorough = {
    "thorough", 0, NULL, CLI_WORD_NONE,
    "with check: measure everything, as 'fathom topo', instead of only what 'fathom topo --quick' "
    "measures"};
const struct cli_option cli_fleet_runs = {
    "runs", 0, "N", CLI_WORD_NONE,
    "with check: measure each GPU N times, so that smaller differences are found (default: 1)"};
const struct cli_option cli_fleet_save = {
    "save", 0, "PATTERN", CLI_WORD_FILE,
    "with check: also write the description of each GPU to this file, such as 'out/%h-%g.json', "
    "where %h is the host and %g the GPU. With --runs, the number of the run is inserted before "
    "the "
    "extension"};
const struct cli_option cli_fleet_from = {
    "from", 0, "PATH", CLI_WORD_FILE,
    "with generate: measurements of real GPUs, whose differences and noise are reproduced"};
const struct cli_option cli_fleet_gpus = {"gpus", 0, "N", CLI_WORD_NONE,
                                          "with generate: number of GPUs"};
const struct cli_option cli_fleet_fault = {
    "fault", 0, "KIND:SIZE[:COUNT[:SHARE]]", CLI_WORD_NONE,
    "with generate: give COUNT GPUs (default: 1; 0.1% is a probability) a fault of this kind and "
    "size, in SHARE of their measurements (default: 100%). KIND is memory-bandwidth, l2-partition, "
    "latency, clock (SIZE in percent), sms, link, ecc or no-gpu. Can be repeated"};
const struct cli_option cli_fleet_seed = {"seed", 0, "S", CLI_WORD_NONE,
                                          "with generate: seed of the random numbers (default: 1)"};

static const struct cli_action actions[] = {
    {"judge", cli_fleet_judge},         {"check", cli_fleet_check}, {"collect", cli_fleet_collect},
    {"reference", cli_fleet_reference}, {"add", cli_fleet_add},     {"history", cli_fleet_history},
    {"generate", cli_fleet_generate},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

const char *cli_fleet_action(size_t index)
{
    return index < ACTIONS ? actions[index].name : NULL;
}

static int run(const struct cli_arguments *arguments)
{
    return cli_run_action(arguments, actions, ACTIONS,
                          "judge PATH, check, collect PATH, reference PATH, add PATH, history or "
                          "generate");
}

static const struct cli_option *const options[] = {
    &cli_fleet_reference_file,
    &cli_fleet_groups,
    &cli_fleet_false_alarms,
    &cli_fleet_min_effect,
    &cli_fleet_mix,
    &cli_fleet_all,
    &cli_fleet_expect_gpus,
    &cli_fleet_expect_hosts,
    &cli_fleet_store,
    &cli_fleet_forget_before,
    &cli_option_device,
    &cli_fleet_thorough,
    &cli_fleet_runs,
    &cli_fleet_save,
    &cli_option_require_gpu,
    &cli_option_max_instructions,
    &cli_fleet_from,
    &cli_fleet_gpus,
    &cli_fleet_fault,
    &cli_fleet_seed,
    &cli_fleet_measurements,
    &cli_fleet_racks,
    &cli_fleet_spread,
    &cli_fleet_tail,
    &cli_fleet_truth,
    &cli_option_json,
    &cli_option_fleet_format,
    &cli_option_output,
    &cli_option_threads,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom fleet judge out/", "which GPUs are not healthy?"},
    {"fathom fleet collect out/ -o rack3.jsonl.zst", "gather the measurements of a rack"},
    {"fathom fleet reference rack*.jsonl.zst -o fleet.ref.json",
     "what is usual for the GPUs of this fleet?"},
    {"fathom fleet check --reference fleet.ref.json", "is this node healthy?"},
    {"fathom fleet add out/ --store fleet.db", "keep the measurements of this night"},
    {"fathom fleet judge out/ --store fleet.db",
     "also compare each GPU with its own earlier measurements"},
    {"fathom fleet history node17 --store fleet.db", "what changed in this node?"},
    {"fathom fleet judge out/ --expect-hosts hosts.txt", "which hosts gave no measurement?"},
    {"fathom fleet judge out/ --format prometheus -o fathom.prom",
     "verdicts and findings for a monitoring system"},
    {NULL, NULL},
};

const struct cli_command cli_fleet = {
    "fleet",
    "Find the GPUs of a fleet that are not healthy",
    "ACTION [PATH]... [OPTION]...",
    "Compare measurements of many GPUs, and find those that differ from the others\n"
    "of their model. PATH is a description written by 'fathom topo --json',\n"
    "measurements as JSON lines, a folder of such files, or - for standard input.\n"
    "\n"
    "ACTION is one of:\n"
    "\n"
    "  judge PATH...      give a verdict for each GPU, with the reasons\n"
    "  check              measure the GPUs of this machine and judge them, with\n"
    "                     --reference\n"
    "  collect PATH...    write measurements as JSON lines, which are small and can\n"
    "                     be concatenated (-o FILE.jsonl or FILE.jsonl.zst)\n"
    "  reference PATH...  write how common each value of each figure is, for\n"
    "                     --reference; references among the PATHs are merged\n"
    "  add PATH...        add measurements to the history in --store\n"
    "  history [NAME]     show what changed in the history of a GPU or host, or of\n"
    "                     all: figures, swapped cards, moved cards\n"
    "  generate           make a fleet with faults from measurements, for tests\n"
    "\n"
    "A GPU is compared only with those of the same model, driver and board; --mix\n"
    "ignores the driver or the board. Simulated GPUs are never compared with real\n"
    "ones. The verdicts are:\n"
    "\n"
    "  healthy     nothing differs more than chance explains\n"
    "  suspect     a figure is worse than usual\n"
    "  failed      a figure is worse by far, a part of the GPU is missing, or the\n"
    "              GPU reports errors\n"
    "  not judged  there are too few GPUs like it, or it was not measured\n"
    "\n"
    "The formats (--format) are:\n"
    "\n"
    "  judge, check  text, json, csv (one row per finding), long (CSV with all\n"
    "                figures), jsonl (one line per GPU), prometheus\n"
    "  history       text, json, csv (one row per GPU, time and figure)\n"
    "  add           text, json, csv\n"
    "\n"
    "collect and generate always write JSON lines, reference always JSON.\n"
    "\n"
    "The exit code of judge and check is 0 if all GPUs that could be judged are\n"
    "healthy, 5 if a GPU is suspect, 6 if a GPU has failed or is missing\n"
    "(--expect-gpus, --expect-hosts), and 4 if no GPU could be judged.\n"
    "docs/fleets.md explains the methods, docs/report.md the formats.",
    options,
    examples,
    CLI_WORD_FLEET,
    CLI_MAX_ARGUMENTS,
    run,
};
