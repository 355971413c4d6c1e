/* fathom model: predicts how the memory accesses of kernels behave in the caches of a GPU. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct cli_option option_set = {
    "set", 's', "NAME=VALUE", CLI_WORD_NONE,
    "set a parameter, such as l1.size_bytes=32K, or a problem size that the launch file defines, "
    "such as N=256; can be "
    "repeated"};
static const struct cli_option option_parameters = {
    "parameters", 0, NULL, CLI_WORD_NONE,
    "list all parameters, their values, and where the values come from; needs no trace"};
static const struct cli_option option_profile = {
    "profile", 0, NULL, CLI_WORD_NONE,
    "print how many sectors hit at each reuse distance: the number of different other lines of the "
    "same set that were accessed since the last access to the line"};
static const struct cli_option option_curve = {
    "curve", 0, NULL, CLI_WORD_NONE,
    "print the misses of fully associative LRU caches of every size, from the exact reuse "
    "distances of reads"};
static const struct cli_option option_l1_off = {
    "l1-off", 0, NULL, CLI_WORD_NONE,
    "also model the L2 as if every access bypassed the L1 (always without time)"};

static const struct cli_option option_orders = {"orders", 0, "N", CLI_WORD_NONE,
                                                "run the model N times (2 to 1000) with different "
                                                "orders of blocks and accesses, and add to each "
                                                "figure its range over these runs"};

static const struct cli_option option_sample = {
    "sample", 0, "N", CLI_WORD_NONE,
    "simulate only some launches of each kernel, and each launch only until its hit ratios are "
    "steady, but at least half of 1/N of its accesses (N: 2 to 64); estimate the rest; faster; "
    "prints the expected error"};

static enum fth_model_view view_of(const struct cli_arguments *arguments)
{
    return cli_value(arguments, &option_profile) ? FTH_MODEL_VIEW_PROFILE
           : cli_value(arguments, &option_curve) ? FTH_MODEL_VIEW_CURVE
           : cli_value(arguments, &option_l1_off) && !cli_value(arguments, &cli_option_lines)
               ? FTH_MODEL_VIEW_KERNELS
               : cli_model_view(arguments);
}

/* Returns whether the output shows what only a diagnosis computes. JSON does without --rdgc; CSV
 * only does of source lines. */
static bool is_diagnosis(const struct cli_arguments *arguments)
{
    const char *format = cli_format(arguments);
    const enum fth_model_view view = view_of(arguments);
    if (cli_value(arguments, &cli_option_hints))
        return true;
    if (strcmp(format, "json") == 0)
        return !cli_value(arguments, &cli_option_wide);
    return view >= FTH_MODEL_VIEW_SOURCE_LINES ||
           (view >= FTH_MODEL_VIEW_SUMMARY && strcmp(format, "text") == 0);
}

static int put(const struct cli_arguments *arguments, enum fth_model_view view,
               const struct fth_model_result *result, const struct fth_model_params *params,
               const struct fth_hints *hints)
{
    char *text = NULL;
    size_t size = 0;
    const int code =
        cli_put_model(arguments, view, result, params, hints,
                      arguments->word_count ? arguments->words[0] : NULL, &text, &size);
    return code == CLI_DONE ? cli_put_text(arguments, text, size) : code;
}

/* ---- parameters ---- */

static enum fth_status set_parameter(void *params, const char *name, const char *value,
                                     struct fth_error *error)
{
    return fth_model_set(params, name, value, error);
}

/* Prints on stderr how many parameters come from the description and from --set, and whether the
 * model runs with time. */
static void report_sources(const struct fth_model_params *params, const char *gpu)
{
    size_t counts[3] = {0, 0, 0};
    enum fth_model_source source;
    for (size_t i = 0; fth_model_value(params, i, &source); i++)
        counts[source]++;
    const char *reason = NULL;
    char time[200] = "with time";
    if (!fth_model_timed(params, &reason))
        snprintf(time, sizeof time, "without time (%s)", reason);
    if (cli_is_generic(gpu))
        cli_note("generic parameters: %zu from --set, the others are defaults (see --parameters); "
                 "%s",
                 counts[FTH_MODEL_SET], time);
    else
        cli_note("parameters: %zu from the description%s%s, %zu from --set, the others are "
                 "defaults (see --parameters); %s",
                 counts[FTH_MODEL_DESCRIPTION], gpu ? " of " : "", gpu ? gpu : "",
                 counts[FTH_MODEL_SET], time);
}

/* ---- traces ---- */

/* Says how many accesses the trace only counts, so that the model leaves them out. */
static void note_missing(const struct fth_trace *trace)
{
    uint64_t texture = 0, local = 0;
    bool has_texels = false;
    for (size_t i = 0; i < fth_trace_instruction_count(trace); i++)
        has_texels = has_texels || fth_trace_instruction_at(trace, i)->hints & FTH_TRACE_TEXTURE;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        texture += launch->texture;
        local += launch->local_bytes ? 0 : launch->local;
    }
    if (texture && !has_texels)
        cli_note("%" PRIu64
                 " requests to textures and surfaces are not modelled, because the trace does not "
                 "have their addresses",
                 texture);
    if (local)
        cli_note("%" PRIu64
                 " requests to local memory are not modelled, because the trace does not "
                 "have their addresses",
                 local);
}

/* Prints on stderr which part of the accesses was simulated, and the largest expected errors of all
 * kernels. */
static void report_errors(const struct fth_model_result *result)
{
    double errors[2] = {0, 0}, simulated = 0, all = 0;
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        for (int level = 1; level <= 2; level++)
            errors[level - 1] = fmax(errors[level - 1], fth_model_sample_error(row, level));
        if (row->launch != SIZE_MAX || row->instruction)
            continue;
        simulated += (double)row->simulated_warps;
        all += (double)row->warps[0] + (double)row->warps[1] + (double)row->warps[2];
    }
    if (simulated < all)
        cli_note("simulated %.1f %% of the accesses; expected errors: L1 hits up to ±%.2f points, "
                 "L2 read hits up to ±%.2f points; see docs/model/precision.md",
                 100 * simulated / all, 100 * errors[0], 100 * errors[1]);
    else
        cli_note("simulated all accesses: every launch is short, starts with a warm L2, or has hit "
                 "ratios that do not become steady; see docs/model/precision.md");
}

static int model_trace(const struct cli_arguments *arguments, const struct fth_trace *trace,
                       const struct fth_model_params *params,
                       const struct fth_model_options *options)
{
    struct fth_model_result *result = NULL;
    struct fth_hints *hints = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int code = CLI_DONE;
    if (fth_model_run(trace, params, options, &result, &error) != FTH_OK)
        code = cli_fail(&error);
    else if (options->sample)
        report_errors(result);
    if (result)
        code = cli_find_hints(arguments, trace, params, result, &hints);
    if (result && code == CLI_DONE)
        code = put(arguments, view_of(arguments), result, params, hints);
    if (code == CLI_DONE)
        note_missing(trace);
    const char *truncated = fth_trace_truncated(trace);
    if (truncated)
        cli_message("%s: %s", arguments->words[0], truncated);
    fth_hints_destroy(hints);
    fth_model_result_destroy(result);
    return code == CLI_DONE && truncated ? CLI_INCONCLUSIVE : code;
}

static bool parse_orders(const struct cli_arguments *arguments, unsigned *orders)
{
    const char *text = cli_value(arguments, &option_orders);
    uint64_t number = 0;
    if (!cli_parse_whole_number(arguments, &option_orders, &number))
        return false;
    if (text && (number < 2 || number > 1000)) {
        cli_message("'%s' is not a number of orders: 2 to 1000", text);
        return false;
    }
    *orders = (unsigned)number;
    return true;
}

static bool parse_sample(const struct cli_arguments *arguments, unsigned *sample)
{
    const char *text = cli_value(arguments, &option_sample);
    uint64_t number = 0;
    if (!cli_parse_whole_number(arguments, &option_sample, &number))
        return false;
    if (text && (number < 2 || number > 64)) {
        cli_message("--sample requires a number from 2 to 64, not '%s'", text);
        return false;
    }
    *sample = (unsigned)number;
    return true;
}

static int model_input(const struct cli_arguments *arguments, const struct fth_model_params *params)
{
    struct fth_model_options options =
        FTH_MODEL_OPTIONS(.bypassed = cli_value(arguments, &option_l1_off) != NULL,
                          .curves = cli_value(arguments, &option_curve) != NULL, .log = &cli_log,
                          .diagnose = is_diagnosis(arguments));
    struct fth_trace *trace = NULL;
    if (!cli_parse_threads(arguments, &options.threads) ||
        !parse_orders(arguments, &options.orders) || !parse_sample(arguments, &options.sample))
        return CLI_USAGE;
    int result = cli_obtain_trace(arguments, &option_set, NULL, NULL, &trace);
    if (result == CLI_DONE)
        result = cli_edit_trace(arguments, &trace);
    if (result == CLI_DONE)
        result = model_trace(arguments, trace, params, &options);
    fth_trace_close(trace);
    return result;
}

static int model(const struct cli_arguments *arguments)
{
    struct fth_model_params *params = NULL;
    const char *gpu = cli_value(arguments, &cli_option_gpu);
    const bool parameters = cli_value(arguments, &option_parameters) != NULL;
    if (!parameters && arguments->word_count == 0) {
        cli_message("no trace, launch file, capsule or PTX file given; see 'fathom model --help'");
        return CLI_USAGE;
    }
    int result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = cli_read_parameters(arguments, NULL, &params);
    if (result == CLI_DONE)
        result =
            cli_apply_settings(arguments, &option_set, "l1.size_bytes=32K", set_parameter, params);
    if (result == CLI_DONE)
        result = cli_apply_changes(arguments, params);
    if (result == CLI_DONE && parameters) {
        result = put(arguments, FTH_MODEL_VIEW_PARAMETERS, NULL, params, NULL);
    } else if (result == CLI_DONE) {
        cli_catch_interrupts();
        report_sources(params, gpu);
        result = model_input(arguments, params);
    }
    fth_model_params_destroy(params);
    return result;
}

static const struct cli_option *const options[] = {
    &cli_option_gpu,
    &option_set,
    &option_parameters,
    CLI_VIEW_OPTIONS,
    &option_profile,
    &option_curve,
    &option_l1_off,
    &option_orders,
    &option_sample,
    &cli_option_what_if,
    &cli_option_hints,
    CLI_KERNEL_OPTIONS,
    CLI_CAPSULE_OPTIONS,
    &cli_option_allow_files,
    &cli_option_no_spills,
    &cli_option_max_instructions,
    &cli_option_threads,
    &cli_option_json,
    &cli_option_format,
    &cli_option_output,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom model examples/workloads/2mm.json --gpu h200",
     "predict the hit ratios of two kernels on an H200"},
    {"fathom model examples/tutorial/particles.json --source",
     "show next to each source line what it moves and where it misses"},
    {"fathom model 2mm.trace --gpu h200 --lines", "show which source lines miss"},
    {"fathom model 2mm.trace --gpu h200 --set l1.size_bytes=32K", "model a smaller L1"},
    {"fathom model program.capsule --gpu h200 --launch 100..199",
     "model a hundred launches of a CUDA program"},
    {"fathom model 2mm.trace --gpu h200 --orders 8",
     "show how much the figures depend on the order of blocks"},
    {"fathom model 2mm.trace --gpu h200 --sample 8",
     "simulate an eighth of each launch or a little more, which is faster"},
    {"fathom model 2mm.trace --gpu h200 --hints", "show what to change in the kernels"},
    {"fathom model 2mm.trace --gpu h200 --what-if merge=all",
     "model blocks that load everything only once"},
    {"fathom model --parameters --gpu v100", "list the parameters of a V100"},
    {"fathom model k.ptx -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]' --gpu h200",
     "model one kernel of a PTX file"},
    {"fathom topo --json | fathom model k.trace --gpu -",
     "measure this GPU, and model the trace on it"},
    {NULL, NULL},
};

const struct cli_command cli_model = {
    "model",
    "Predict cache hits and memory traffic of kernels on a GPU",
    "TRACE | LAUNCH.json | CAPSULE | KERNEL.ptx | PROGRAM | - [OPTION]... | --parameters "
    "[OPTION]...",
    "Model how the memory accesses of kernels behave in the caches of a GPU. The\n"
    "input is any that 'fathom trace' accepts: a trace, or a launch file, a capsule,\n"
    "a PTX file or a program that contains PTX, which is traced first; with -, it is\n"
    "read from standard input. The options from --entry to --seed are for PTX files\n"
    "and programs, those from --kernel to --max-memory for capsules. Print the hits\n"
    "and misses of L1 and L2 in sectors, the traffic to memory, the average latency\n"
    "of a read in cycles, and the estimated time, per kernel, launch or instruction.\n"
    "No GPU is needed.\n"
    "\n"
    "If the description has latencies and bandwidths, every access gets a time. The\n"
    "times decide in which order the caches process accesses. --set gpu.timing=off\n"
    "switches this off.\n"
    "\n"
    "The model is that of M. Kiani and A. Rajabzadeh, \"RDGC: A Reuse Distance-Based\n"
    "Approach to GPU Cache Performance Analysis\", extended for newer GPUs: sectors,\n"
    "misses that fetch more than one sector, write-through L1s that share storage\n"
    "with shared memory, and L2s with two partitions. See docs/model.md.",
    options,
    examples,
    CLI_WORD_FILE,
    1,
    model,
};
