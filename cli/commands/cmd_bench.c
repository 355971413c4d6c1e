/* fathom bench: measures throughput and latency, and prints tables. */
#include "cli.h"

static const struct cli_option option_describe = {
    "describe", 0, "FILE", CLI_WORD_FILE,
    "also write a GPU description to FILE, with the figures from the driver and some results of "
    "the "
    "benchmarks 'banks', 'shared' (shared memory) and 'scaling' (L1 bandwidth), if these are run"};
static const struct cli_option option_thorough = {
    "thorough", 0, NULL, CLI_WORD_NONE,
    "measure all points on a simulated GPU too, as on a real one"};

/* Writes the GPU description to the file of --describe, if given. */
static int put_description(const struct cli_arguments *arguments, const struct fth_bench *bench)
{
    const char *path = cli_value(arguments, &option_describe);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (!path)
        return CLI_DONE;
    enum fth_status status = fth_gpu_write_text(fth_bench_gpu(bench), &text, &size, &error);
    if (status == FTH_OK)
        status = fth_file_write(path, text, size, &error);
    fth_free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

/* Measures and prints the results. The recording is saved even if the measurement fails. */
static int measure(const struct cli_arguments *arguments, struct fth_device *device)
{
    const struct fth_bench_options options =
        FTH_BENCH_OPTIONS(.names = arguments->words, .count = arguments->word_count,
                          .log = &cli_log,
                          .thorough = cli_value(arguments, &option_thorough) != NULL);
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_bench *bench = NULL;
    enum fth_status status = fth_bench_create(device, &options, &bench, &error);
    bool saved = fth_device_finish(device, &fault) == FTH_OK;
    const bool shown = status == FTH_OK || (bench && fth_bench_series_count(bench) > 0);
    int result = shown ? cli_put_bench(arguments, bench) : CLI_DONE;
    if (shown && result == CLI_DONE)
        result = put_description(arguments, bench);
    if (!saved)
        result = cli_fail(&fault);
    result = cli_finish_measurement(result, status, &error, shown);
    fth_bench_destroy(bench);
    return result;
}

/* Checks the names of the benchmarks before a device is opened. */
static int check_names(const struct cli_arguments *arguments)
{
    struct fth_error error = FTH_NO_ERROR;
    for (size_t i = 0; i < arguments->word_count; i++)
        if (fth_bench_check_name(arguments->words[i], &error) != FTH_OK)
            return cli_fail(&error);
    return CLI_DONE;
}

static int bench(const struct cli_arguments *arguments)
{
    struct fth_device *device = NULL;
    int result = check_names(arguments);
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    cli_catch_interrupts();
    result = cli_open_device(arguments, &device);
    if (result != CLI_DONE)
        return result;
    result = measure(arguments, device);
    fth_device_close(device);
    return result;
}

static const struct cli_option *const options[] = {&cli_option_device,
                                                   &cli_option_json,
                                                   &cli_option_csv,
                                                   &cli_option_format,
                                                   &cli_option_output,
                                                   &cli_option_record,
                                                   &option_describe,
                                                   &option_thorough,
                                                   &cli_option_require_gpu,
                                                   &cli_option_max_instructions,
                                                   &cli_option_quiet,
                                                   &cli_option_help,
                                                   NULL};

static const struct cli_example examples[] = {
    {"fathom bench", "run all benchmarks"},
    {"fathom bench banks", "measure bank conflicts of shared memory"},
    {"fathom bench arith atomics --json -o bench.json",
     "run two benchmarks and write all points to a file"},
    {"fathom bench banks --device sim:rtx2060", "measure a simulated GPU"},
    {"fathom bench stream global", "measure the throughput of device memory"},
    {"fathom bench banks shared --describe gpu.json",
     "also write a description, which --device sim:gpu.json simulates"},
    {NULL, NULL},
};

const struct cli_command cli_bench = {
    "bench",
    "Measure throughput and latency of the units of a GPU",
    "[BENCH]... [OPTION]...",
    "Measure the throughput and latency of the units of a GPU, and print tables with\n"
    "the results. BENCH is one of:\n"
    "\n"
    "  banks    latency of shared memory by number of threads, stride and degree of\n"
    "           bank conflict; number and width of the banks, penalty of a conflict\n"
    "  shared   throughput of shared memory by block (CTA) size, number of blocks and\n"
    "           words in flight, and the theoretical maximum of its banks\n"
    "  scaling  bandwidth of L1, L2 and memory by number of blocks, and the number of\n"
    "           blocks needed for the full bandwidth\n"
    "  latency  latency by footprint, stride and order of the accesses (ascending or\n"
    "           random), through L1 and bypassing it; latency of shared memory with\n"
    "           bank conflicts, compared with that of L2\n"
    "  arith    latency and throughput of add, multiply and multiply-add by type, and\n"
    "           of the special functions\n"
    "  atomics  latency and throughput of atomic operations, with and without\n"
    "           contention, in global and shared memory, by type and scope; whether\n"
    "           they execute in the SM or in the L2\n"
    "  global   copy throughput of memory by number and size of blocks and words in\n"
    "           flight per thread; its theoretical maximum; the bytes in flight that\n"
    "           are needed for the maximum, measured and by Little's law\n"
    "  copies   copies between global and shared memory by the TMA (by size, number\n"
    "           of dimensions and copies in flight) and by threads (cp.async), and\n"
    "           copies to other blocks of a cluster: latency and bandwidth\n"
    "  link     copies between host and GPU (pinned and pageable, one way and both\n"
    "           ways) and between GPUs; latency of a small copy; loads, stores and\n"
    "           atomics of kernels on pinned host memory; faults of managed memory\n"
    "  memory   bandwidth of accesses that use a part of each stride, and of mixed\n"
    "           reads and writes; periods in which memory delays loads (refresh)\n"
    "  stream   the STREAM kernels COPY, MUL, ADD and TRIAD in fp32 and fp64, and\n"
    "           kernels that only read or only write, by array size and threads per\n"
    "           block, with a check of the results; the driver's copy for comparison\n"
    "  all      all of the above; the default\n"
    "\n"
    "On a simulated GPU, fewer points are measured, because simulating every\n"
    "operation is slow. Use --thorough to measure all of them.",
    options,
    examples,
    CLI_WORD_BENCH,
    CLI_MAX_ARGUMENTS,
    bench,
};
