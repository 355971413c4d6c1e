/* fathom dissect: sets, ways, index and replacement of caches and TLBs, the spectrum of latencies.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_option option_series = {"series", 0, "FILE", CLI_WORD_FILE,
                                                "write every load of one line, or page, more than "
                                                "fits there, as CSV: index, cycles, hit or miss"};

/* What is gathered while the caches are dissected. */
struct texts {
    char *views, *rows; /* the strips, and the CSV; NULL: none yet */
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

/* The description for programs, a table and strips for people. */
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
    return cli_put_text(arguments, text, size);
}

/* Says of which elements that were asked for nothing was found out, and why. */
static int tell_missing(const struct cli_arguments *arguments, const struct fth_gpu *gpu)
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
    const struct fth_dissect_options options = {
        .only = only, .log = &cli_log, .series = keep_series, .user = &texts};
    const char *series = cli_value(arguments, &option_series);
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_dissect(device, &options, &gpu, &error);
    bool kept = fth_device_finish(device, &fault) == FTH_OK;
    int result = CLI_DONE;
    if (gpu)
        result = show(arguments, gpu, &texts, strncmp(fth_device_id(device), "replay:", 7) == 0);
    if (kept && series && gpu)
        kept =
            fth_file_write(series, texts.rows ? texts.rows : "", texts.row_size, &fault) == FTH_OK;
    if (status == FTH_OK && result == CLI_DONE)
        result = tell_missing(arguments, gpu);
    if (texts.failed) {
        cli_message("out of memory");
        result = CLI_FAILED;
    }
    if (!kept)
        result = cli_fail(&fault);
    result = cli_end_measuring(result, status, &error, gpu != NULL);
    free(texts.views);
    free(texts.rows);
    fth_gpu_destroy(gpu);
    return result;
}

/* The words as a list with commas, each an element that can be dissected. */
static int list_elements(const struct cli_arguments *arguments, char *list, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < arguments->word_count; i++) {
        const char *element = arguments->words[i];
        int result = cli_check_element(element);
        if (result != CLI_DONE)
            return result;
        if (!fth_can_dissect(element)) {
            cli_message("'%s' has no sets to dissect; 'fathom help dissect' says what has",
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

static const struct cli_option *const options[] = {
    &cli_option_device, &cli_option_json,   &cli_option_gpu_format, &cli_option_output,
    &option_series,     &cli_option_record, &cli_option_help,       NULL};

static const struct cli_example examples[] = {
    {"fathom dissect", "all caches of the GPU here or, without one, of a simulated H200"},
    {"fathom dissect l1 --device sim:gtx560ti", "an L1 that does not replace the oldest line"},
    {"fathom dissect texture --json", "the description, with sets, ways, index and policy"},
    {"fathom dissect l1 --series l1.csv", "every load, to look at by yourself"},
    {"fathom dissect l1 tlb_l1 tlb_l2 --device sim:gtx980",
     "TLBs, what a miss of them costs, and whether L1 needs them"},
    {NULL, NULL},
};

const struct cli_command cli_dissect = {
    "dissect",
    "find sets, ways, mapping and replacement of caches and TLBs",
    "[OPTION]... [ELEMENT]...",
    "Takes caches apart: how many sets and ways, which address bits choose the set, and which\n"
    "line is replaced, by overflowing them line by line and looking at every single load. For\n"
    "people there is a table, and of each cache the loads that miss as a strip; of a cache\n"
    "that chooses a way by chance, also how often each way is chosen.\n"
    "\n"
    "Of the L2 it is also found which address bits choose the partition that a line is at home\n"
    "in, which partition each SM is near to, whether memory sends more than is asked for, and\n"
    "whether lines leave in an order. Of TLBs it is shown how many pages miss with each page\n"
    "more than fit; and then what a load takes in each of six patterns: in the cache or not,\n"
    "its page in the first TLB, in the second, or in none, and its page table not active. No\n"
    "pattern of a TLB on a hit in L1 means that L1 is addressed virtually.\n"
    "\n"
    "An ELEMENT is l1, texture, readonly, constant_l1, constant_l15, l2, tlb_l1, tlb_l2 or\n"
    "tlb_l3; without one all are dissected. What cannot be found out is said with the reason,\n"
    "and the exit code is 4 where it was asked for by name. Ctrl-C ends the measuring and shows\n"
    "what is complete.",
    options,
    examples,
    CLI_WORD_ELEMENTS,
    CLI_MAX_ARGUMENTS,
    run,
};
