/* fathom dissect: determines sets, ways, index functions and replacement policies of caches and
 * TLBs, and the latencies of hits and misses in both. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_option option_series = {
    "series", 0, "FILE", CLI_WORD_FILE,
    "also write the loads of passes over one line more than the cache holds (for a TLB, over more "
    "pages than it holds) to FILE as CSV: element, number of the load, index of the line or page, "
    "cycles, hit or miss"};

/* The output that is collected while the caches are dissected. */
struct texts {
    char *views, *rows; /* strips of hits and misses; CSV; NULL while empty */
    size_t view_size, row_size;
    struct fth_report_options options;
    bool failed; /* out of memory */
};

static void append(struct texts *texts, char **text, size_t *size, const char *more, size_t bytes)
{
    char *grown = realloc(*text, *size + bytes + 1);
    if (!grown) {
        texts->failed = true;
        return;
    }
    memcpy(grown + *size, more, bytes);
    *text = grown;
    *size += bytes;
    grown[*size] = '\0';
}

static void add_rows(struct texts *texts, const struct fth_series *series)
{
    static const char head[] = "element,load,index,cycles,result\n";
    if (!texts->rows)
        append(texts, &texts->rows, &texts->row_size, head, strlen(head));
    for (size_t i = 0; i < series->count; i++) {
        char row[128];
        int bytes =
            snprintf(row, sizeof row, "%s,%zu,%zu,%u,%s\n", series->element, i, i % series->lines,
                     series->cycles[i], fth_series_missed(series, i) ? "miss" : "hit");
        append(texts, &texts->rows, &texts->row_size, row, (size_t)bytes);
    }
}

static void keep_series(void *user, const struct fth_series *series)
{
    struct texts *texts = user;
    char *view = NULL;
    size_t size = 0;
    add_rows(texts, series);
    if (fth_report_series(series, &texts->options, &view, &size, NULL) != FTH_OK) {
        texts->failed = true;
        return;
    }
    append(texts, &texts->views, &texts->view_size, "\n", 1);
    append(texts, &texts->views, &texts->view_size, view, size);
    fth_free(view);
}

/* Prints a table and the strips as text, or the description in any other format. */
static int show(const struct cli_arguments *arguments, const struct fth_gpu *gpu,
                struct texts *texts, bool replayed)
{
    if (strcmp(cli_format(arguments), "text") != 0)
        return cli_put_gpu(arguments, gpu, replayed);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_dissection(gpu, &texts->options, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    if (texts->views)
        append(texts, &text, &size, texts->views, texts->view_size);
    if (texts->failed) {
        fth_free(text);
        return cli_no_memory();
    }
    return cli_put_text(arguments, text, size);
}

/* Prints which of the named elements could not be dissected, and why. */
static int report_missing(const struct cli_arguments *arguments, const struct fth_gpu *gpu)
{
    int result = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count; i++) {
        const char *element = arguments->words[i];
        const char *reason = fth_gpu_unknown(gpu, element, "sets");
        if (fth_gpu_attribute(gpu, element, "sets"))
            continue;
        cli_message("cannot dissect '%s': %s", element, reason ? reason : "it was not measured");
        result = CLI_INCONCLUSIVE;
    }
    return result;
}

static int measure(const struct cli_arguments *arguments, struct fth_device *device,
                   const char *only)
{
    struct texts texts = {.options = cli_report_options(arguments)};
    const struct fth_dissect_options options =
        FTH_DISSECT_OPTIONS(.only = only, .log = &cli_log, .series = keep_series, .user = &texts);
    const char *series = cli_value(arguments, &option_series);
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_dissect(device, &options, &gpu, &error);
    bool saved = fth_device_finish(device, &fault) == FTH_OK;
    int result = CLI_DONE;
    if (texts.failed)
        result = cli_no_memory();
    else if (gpu)
        result = show(arguments, gpu, &texts, strncmp(fth_device_id(device), "replay:", 7) == 0);
    if (saved && series && gpu && !texts.failed)
        saved =
            fth_file_write(series, texts.rows ? texts.rows : "", texts.row_size, &fault) == FTH_OK;
    if (status == FTH_OK && result == CLI_DONE)
        result = report_missing(arguments, gpu);
    if (!saved)
        result = cli_fail(&fault);
    result = cli_finish_measurement(result, status, &error, gpu != NULL);
    free(texts.views);
    free(texts.rows);
    fth_gpu_destroy(gpu);
    return result;
}

/* Joins the positional arguments to a comma-separated list, after checking that each one is an
 * element that can be dissected. */
static int list_elements(const struct cli_arguments *arguments, char *list, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < arguments->word_count; i++) {
        const char *element = arguments->words[i];
        int result = cli_check_element(element);
        if (result != CLI_DONE)
            return result;
        if (!fth_can_dissect(element)) {
            cli_message("cannot dissect '%s'; see 'fathom dissect --help' for the list of elements",
                        element);
            return CLI_USAGE;
        }
        used += (size_t)snprintf(list + used, size - used, "%s%s", i ? "," : "", element);
    }
    return CLI_DONE;
}

static int run(const struct cli_arguments *arguments)
{
    struct fth_device *device = NULL;
    char list[CLI_MAX_ARGUMENTS * 64] = "";
    int result = list_elements(arguments, list, sizeof list);
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    cli_catch_interrupts();
    result = cli_open_device(arguments, &device);
    if (result != CLI_DONE)
        return result;
    result = measure(arguments, device, list[0] ? list : NULL);
    fth_device_close(device);
    return result;
}

static const struct cli_option *const options[] = {&cli_option_device,
                                                   &cli_option_json,
                                                   &cli_option_gpu_format,
                                                   &cli_option_output,
                                                   &option_series,
                                                   &cli_option_record,
                                                   &cli_option_require_gpu,
                                                   &cli_option_max_instructions,
                                                   &cli_option_quiet,
                                                   &cli_option_help,
                                                   NULL};

static const struct cli_example examples[] = {
    {"fathom dissect", "dissect all caches and TLBs"},
    {"fathom dissect l1 --device sim:gtx560ti", "dissect an L1 whose policy is not LRU"},
    {"fathom dissect texture --json", "print the description as JSON"},
    {"fathom dissect l1 --series l1.csv", "also write the timed loads to a file"},
    {"fathom dissect l1 tlb_l1 tlb_l2 --device sim:gtx980",
     "dissect the L1 and the TLBs, and print the latencies P1 to P6"},
    {NULL, NULL},
};

const struct cli_command cli_dissect = {
    "dissect",
    "Find sets, ways, index bits and replacement of caches and TLBs",
    "[OPTION]... [ELEMENT]...",
    "Determine the number of sets and ways, the address bits that select the set, and\n"
    "the replacement policy of caches and TLBs. fathom loads one line more than the\n"
    "cache holds, and times every load to find out which lines were evicted. It\n"
    "prints a table and, for each cache and TLB, which lines or pages miss in\n"
    "repeated passes over them: one row per pass, with one character for one or\n"
    "several neighbouring lines or pages. If the policy is random but prefers some\n"
    "ways, it prints how often each way is replaced.\n"
    "\n"
    "For the L2, fathom also determines which address bits select the home partition\n"
    "of a line (the partition whose memory stores it), which partition is near to\n"
    "each SM, whether memory delivers lines that were not requested (prefetching),\n"
    "and whether the same accesses evict the same lines each time. It counts the\n"
    "slices of the L2, determines which address bits select the slice of a line, and\n"
    "draws the latency of each slice from each SM.\n"
    "\n"
    "For the L1 and the L2, it determines what a store does: whether it allocates a\n"
    "line that is missing, and whether it updates or evicts data that the L1 or the\n"
    "other partition of the L2 holds. It also determines how many bytes loads,\n"
    "stores and copies with cache operators and hints, and prefetches, bring into\n"
    "both, whether these lines are evicted earlier or later than others, and whether\n"
    "the L1 still has a line after such an access.\n"
    "Without --only, fathom also determines which SMs are in the same GPC and TPC,\n"
    "in which order SMs receive the blocks of a grid, and how many loads a warp can\n"
    "have in flight.\n"
    "\n"
    "For TLBs, it prints how many pages miss in repeated passes over one page more\n"
    "than the TLB holds, over two more, and so on. It also prints the latency of a\n"
    "load in six cases, once with the L2 as the cache and, if the size of the L1 was\n"
    "measured too, once with the L1:\n"
    "\n"
    "  P1  cache hit, page in the first TLB\n"
    "  P2  cache hit, page in the second TLB\n"
    "  P3  cache hit, page in no TLB\n"
    "  P4  cache miss, page in the first TLB\n"
    "  P5  cache miss, page in no TLB\n"
    "  P6  as P5, and the page table of the address is not active: the kernel\n"
    "      accesses the address range of that page table for the first time\n"
    "\n"
    "If L1 hits take equally long in P1, P2 and P3, the L1 is virtually addressed.\n"
    "\n"
    "ELEMENT is l1, texture, readonly, constant_l1, constant_l15 (the L1.5),\n"
    "instruction_l0, instruction_l1, instruction_l15, l2, tlb_l1, tlb_l2 or tlb_l3;\n"
    "the default is all of them. For instruction caches, and for an L1.5 that holds\n"
    "code as well, fathom determines the ways, from branches whose distance is a\n"
    "power of two, and the sets if the line is known. Figures that cannot be\n"
    "determined are listed with the reason. The exit code is 4 if the sets of an\n"
    "ELEMENT named on the command line cannot be determined. Ctrl-C stops the\n"
    "measurement and prints the results that are complete.\n"
    "\n"
    "--format hwloc writes ways and policies, but no sets; mt4g writes none of these;\n"
    "accel-sim and gem5 write what the simulators can express.",
    options,
    examples,
    CLI_WORD_ELEMENTS,
    CLI_MAX_ARGUMENTS,
    run,
};
