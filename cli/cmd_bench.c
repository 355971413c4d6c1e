/* fathom bench: throughput and latency, in tables. */
#include "cli.h"

static const struct cli_option option_describe = {
    "describe", 0, "FILE", CLI_WORD_FILE,
    "also write a GPU description: what the driver tells, and banks and bandwidths as found"};
static const struct cli_option option_thorough = {
    "thorough", 0, NULL, CLI_WORD_NONE, "of a simulated GPU, too, as much as of a real one"};

/* The description that goes with the results, in a file of its own. */
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

/* Measures and shows. What was recorded is kept also where the measuring broke off. */
static int measure(const struct cli_arguments *arguments, struct fth_device *device)
{
    const struct fth_bench_options options = {.names = arguments->words,
                                              .count = arguments->word_count,
                                              .log = &cli_log,
                                              .thorough =
                                                  cli_value(arguments, &option_thorough) != NULL};
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_bench *bench = NULL;
    enum fth_status status = fth_bench_create(device, &options, &bench, &error);
    bool kept = fth_device_finish(device, &fault) == FTH_OK;
    int result = bench ? cli_put_bench(arguments, bench) : CLI_DONE;
    if (bench && result == CLI_DONE)
        result = put_description(arguments, bench);
    if (!kept)
        result = cli_fail(&fault);
    result = cli_end_measuring(result, status, &error, bench != NULL);
    fth_bench_destroy(bench);
    return result;
}

/* Refuses what is no bench, before anything is opened. */
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

static const struct cli_option *const options[] = {
    &cli_option_device, &cli_option_json, &cli_option_csv,  &cli_option_format, &cli_option_output,
    &cli_option_record, &option_describe, &option_thorough, &cli_option_help,   NULL};

static const struct cli_example examples[] = {
    {"fathom bench", "everything"},
    {"fathom bench banks", "what bank conflicts of shared memory cost"},
    {"fathom bench arith atomics --json -o bench.json", "two of them, every point in a file"},
    {"fathom bench banks --device sim:rtx2060", "of a simulated GPU"},
    {"fathom bench stream global", "device memory"},
    {"fathom bench banks shared --describe gpu.json", "banks and bandwidths for 'sim:gpu.json'"},
    {NULL, NULL},
};

const struct cli_command cli_bench = {
    "bench",
    "measure throughput and latency, in tables",
    "[BENCH]... [OPTION]...",
    "Measures what a GPU's units do in a time, and what they make one wait for:\n"
    "\n"
    "  banks    latency of shared memory by threads and stride, and by conflict; the number\n"
    "           of banks, their width and the cost of a conflict follow from it\n"
    "  shared   throughput of shared memory by size and number of blocks and words under way,\n"
    "           against what its banks could give\n"
    "  scaling  bandwidth of L1, L2 and memory by the number of blocks, and how many are enough\n"
    "  latency  latency by footprint, stride and order, through L1 and past it; and shared\n"
    "           memory in conflict against L2\n"
    "  arith    latency and throughput of adding, multiplying and both, by type, and of the\n"
    "           special functions\n"
    "  atomics  latency and throughput of atomic operations, contended and not\n"
    "  global   throughput of memory over the number of CTAs, their size and what a thread\n"
    "           copies at a time; what clock and bus allow, and what Little's law asks for\n"
    "  link     copies from the host's memory and to it, pinned and pageable, one way and\n"
    "           both, and from GPU to GPU; the latency of a small one\n"
    "  stream   STREAM's COPY, MUL, ADD and TRIAD in fp32 and fp64, reading and writing, by\n"
    "           size and threads, with their results checked; beside the driver's copy\n"
    "  all      all of them, as without a name\n"
    "\n"
    "Of a simulated GPU less is measured, since every operation is simulated one by one;\n"
    "--thorough measures as much as of a real one.",
    options,
    examples,
    CLI_WORD_BENCH,
    8,
    bench,
};
