/* fathom fingerprint: recognises GPUs that were measured before. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_store = {
    "store", 0, "FILE", CLI_WORD_FILE,
    "use this fingerprint store (default: fathom/fingerprints.db in XDG_DATA_HOME or "
    "~/.local/share)"};
static const struct cli_option option_max_bytes = {
    "max-bytes", 0, "SIZE", CLI_WORD_NONE,
    "refuse a store that is larger (default: 128M); a query of the store may take 8 steps of "
    "SQLite per byte"};
static const struct cli_option option_runs = {
    "runs", 0, "N", CLI_WORD_NONE, "measure N times (default: 8 for enroll, 3 for identify)"};
static const struct cli_option option_accuracy = {
    "accuracy", 0, NULL, CLI_WORD_NONE,
    "with list: identify each stored run by comparing it with all other runs, and count how often "
    "the answer is "
    "right, wrong, or refused (no GPU is near enough, or two are about equally near)"};

/* Default numbers of runs of the two actions, and the maximum that --runs accepts. Heuristic. */
enum { ENROLL_RUNS = 8, IDENTIFY_RUNS = 3, MAX_RUNS = 1000 };

/* ---- helpers ---- */

/* What an action does with the store. */
enum use { READ, CHANGE, CREATE };

static int open_store(const struct cli_arguments *arguments, enum use use, struct fth_store **store)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_store_options options =
        FTH_STORE_OPTIONS(.create = use == CREATE, .read_only = use == READ);
    const char *max_bytes = cli_value(arguments, &option_max_bytes);
    if (max_bytes && fth_size_parse(max_bytes, &options.max_bytes, &error) != FTH_OK)
        return cli_fail(&error);
    if (max_bytes && options.max_bytes == 0) {
        cli_message("--max-bytes requires a size of at least 1 byte");
        return CLI_USAGE;
    }
    if (fth_store_open(cli_value(arguments, &option_store), &options, store, &error) == FTH_OK)
        return CLI_DONE;
    return cli_fail(&error);
}

static int parse_runs(const struct cli_arguments *arguments, size_t min_runs, size_t default_runs,
                      size_t *runs)
{
    const char *text = cli_value(arguments, &option_runs);
    *runs = default_runs;
    if (!text)
        return CLI_DONE;
    char *end;
    errno = 0;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || errno || *text == '-' || number < min_runs || number > MAX_RUNS) {
        cli_message("--runs requires a whole number from %zu to %d here, not '%s'", min_runs,
                    MAX_RUNS, text);
        return CLI_USAGE;
    }
    *runs = number;
    return CLI_DONE;
}

static int measure(const struct cli_arguments *arguments, size_t runs,
                   struct fth_fingerprint **fingerprint)
{
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    cli_catch_interrupts();
    int result = cli_open_device(arguments, &device);
    if (result != CLI_DONE)
        return result;
    if (fth_fingerprint_measure(device, runs, &cli_log, fingerprint, &error) != FTH_OK ||
        fth_device_finish(device, &error) != FTH_OK)
        result = cli_fail(&error);
    fth_device_close(device);
    return result;
}

/* Checks that the action is followed by one argument, `what`. */
static int require_argument(const struct cli_arguments *arguments, const char *what)
{
    if (arguments->word_count == 2)
        return CLI_DONE;
    cli_message("'fathom fingerprint %s' requires an argument: %s", arguments->words[0], what);
    return CLI_USAGE;
}

static int reject_argument(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 1)
        return CLI_DONE;
    cli_message("unexpected argument '%s'", arguments->words[1]);
    return CLI_USAGE;
}

/* ---- enroll ---- */

static int enroll(const struct cli_arguments *arguments)
{
    static const struct fth_column columns[] = {{"name", "Name", FTH_COLUMN_TEXT},
                                                {"added", "Added", FTH_COLUMN_NUMBER},
                                                {"runs", "Runs", FTH_COLUMN_NUMBER}};
    struct fth_store *store = NULL;
    struct fth_fingerprint *fingerprint = NULL;
    struct fth_error error = FTH_NO_ERROR;
    size_t runs, total = 0;
    int result = require_argument(arguments, "NAME");
    if (result == CLI_DONE)
        result = parse_runs(arguments, 2, ENROLL_RUNS, &runs);
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    const char *name = arguments->words[1];
    if (fth_store_check_name(name, &error) != FTH_OK)
        return cli_fail(&error);
    /* Open the store before measuring, so that an unusable store is reported at once. */
    result = open_store(arguments, CREATE, &store);
    if (result == CLI_DONE)
        result = measure(arguments, runs, &fingerprint);
    if (result == CLI_DONE && fth_store_enroll(store, name, fingerprint, &total, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE) {
        const struct fth_cell cells[] = {
            {.text = name}, {.number = (double)runs}, {.number = (double)total}};
        result = cli_put_table(arguments, &(struct fth_table){columns, 3, cells, 1});
    }
    fth_fingerprint_destroy(fingerprint);
    fth_store_close(store);
    return result;
}

/* ---- identify ---- */

static int show_identification(const struct cli_arguments *arguments,
                               const struct fth_identification *found)
{
    static const struct fth_column columns[] = {
        {"name", "Name", FTH_COLUMN_TEXT},           {"match", "Match", FTH_COLUMN_TEXT},
        {"distance", "Distance", FTH_COLUMN_NUMBER}, {"limit", "Limit", FTH_COLUMN_NUMBER},
        {"runs", "Runs", FTH_COLUMN_NUMBER},         {"uuid", "UUID", FTH_COLUMN_TEXT},
        {"device", "GPU", FTH_COLUMN_TEXT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct fth_cell *cells = calloc((found->count + 1) * COLUMNS, sizeof *cells);
    if (!cells)
        return cli_no_memory();
    for (size_t i = 0; i < found->count; i++) {
        const struct fth_candidate *candidate = &found->candidates[i];
        struct fth_cell *row = cells + COLUMNS * i;
        row[0].text = candidate->name;
        row[1].text = found->name && i == 0 ? "yes" : "no";
        row[2].number = round(candidate->distance * 1000) / 1000;
        row[3].number = round(found->limit_distance * 1000) / 1000;
        row[4].number = (double)candidate->runs;
        row[5].text = candidate->same_uuid ? "same" : NULL;
        row[6].text = candidate->device;
    }
    int result =
        cli_put_table(arguments, &(struct fth_table){columns, COLUMNS, cells, found->count});
    free(cells);
    return result;
}

/* Prints a message if the UUID from the driver belongs to another GPU than the measurements. */
static void report_contradiction(const struct fth_identification *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->candidates[i].same_uuid &&
            (!found->name || strcmp(found->name, found->candidates[i].name) != 0))
            cli_message(
                "according to its UUID, this GPU is '%s'; if nothing disturbed the measurement, "
                "enroll it again, so that the store knows more of its variation",
                found->candidates[i].name);
}

static int identify(const struct cli_arguments *arguments)
{
    struct fth_store *store = NULL;
    struct fth_fingerprint *fingerprint = NULL;
    struct fth_identification found = {.name = NULL};
    struct fth_error error = FTH_NO_ERROR;
    size_t runs;
    int result = reject_argument(arguments);
    if (result == CLI_DONE)
        result = parse_runs(arguments, 1, IDENTIFY_RUNS, &runs);
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = open_store(arguments, READ, &store);
    if (result == CLI_DONE)
        result = measure(arguments, runs, &fingerprint);
    if (result == CLI_DONE && fth_store_identify(store, fingerprint, &found, &error) != FTH_OK)
        result = cli_fail(&error);
    else if (result == CLI_DONE) {
        result = show_identification(arguments, &found);
        if (result == CLI_DONE && !found.name) {
            cli_message("not identified: %s", found.reason);
            result = CLI_INCONCLUSIVE;
        }
        report_contradiction(&found);
    }
    fth_identification_fini(&found);
    fth_fingerprint_destroy(fingerprint);
    fth_store_close(store);
    return result;
}

/* ---- list ---- */

static const struct fth_column list_columns[] = {
    {"name", "Name", FTH_COLUMN_TEXT},           {"device", "GPU", FTH_COLUMN_TEXT},
    {"uuid", "UUID", FTH_COLUMN_TEXT},           {"driver", "Driver", FTH_COLUMN_TEXT},
    {"first_time", "First", FTH_COLUMN_TEXT},    {"last_time", "Last", FTH_COLUMN_TEXT},
    {"runs", "Runs", FTH_COLUMN_NUMBER},         {"right", "Right", FTH_COLUMN_NUMBER},
    {"wrong", "Wrong", FTH_COLUMN_NUMBER},       {"refused", "Refused", FTH_COLUMN_NUMBER},
    {"accuracy", "Accuracy", FTH_COLUMN_NUMBER},
};
/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {"uuid", "first_time", "driver", "last_time", NULL};
enum { LIST_COLUMNS = 7, ACCURACY_COLUMNS = sizeof list_columns / sizeof list_columns[0] };

struct listing {
    struct fth_cell *cells;
    size_t columns, rows, capacity;
    size_t runs, right, wrong, refused; /* sums over all GPUs */
    bool failed;                        /* out of memory */
};

static const char *copy(struct listing *listing, const char *text)
{
    char *made = text ? strdup(text) : NULL;
    listing->failed = listing->failed || (text && !made);
    return made;
}

static struct fth_cell *add_row(struct listing *listing)
{
    if (listing->rows == listing->capacity) {
        const size_t capacity = listing->capacity ? 2 * listing->capacity : 16;
        void *cells = realloc(listing->cells, capacity * listing->columns * sizeof *listing->cells);
        if (!cells) {
            listing->failed = true;
            return NULL;
        }
        listing->cells = cells;
        listing->capacity = capacity;
    }
    struct fth_cell *row = listing->cells + listing->columns * listing->rows++;
    memset(row, 0, listing->columns * sizeof *row);
    return row;
}

/* Fills the columns from the number of runs on. */
static void set_counts(struct fth_cell *row, size_t columns, size_t runs, size_t right,
                       size_t wrong, size_t refused)
{
    row[6].number = (double)runs;
    if (columns == LIST_COLUMNS)
        return;
    row[7].number = (double)right;
    row[8].number = (double)wrong;
    row[9].number = (double)refused;
    row[10].number = runs ? round(1000.0 * (double)right / (double)runs) / 1000 : (double)NAN;
}

static void add_gpu(void *user, const struct fth_enrolled *enrolled)
{
    struct listing *listing = user;
    struct fth_cell *row = add_row(listing);
    if (!row)
        return;
    row[0].text = copy(listing, enrolled->name);
    row[1].text = copy(listing, enrolled->device);
    row[2].text = copy(listing, enrolled->uuid);
    row[3].text = copy(listing, enrolled->driver);
    row[4].text = copy(listing, enrolled->first_time);
    row[5].text = copy(listing, enrolled->last_time);
    set_counts(row, listing->columns, enrolled->runs, enrolled->right, enrolled->wrong,
               enrolled->refused);
    listing->runs += enrolled->runs;
    listing->right += enrolled->right;
    listing->wrong += enrolled->wrong;
    listing->refused += enrolled->refused;
}

/* Adds a row without a name with the sums over all GPUs, if accuracies are shown. */
static void add_total(struct listing *listing)
{
    struct fth_cell *row = listing->columns == ACCURACY_COLUMNS ? add_row(listing) : NULL;
    if (row)
        set_counts(row, listing->columns, listing->runs, listing->right, listing->wrong,
                   listing->refused);
}

static int list(const struct cli_arguments *arguments)
{
    const bool accuracy = cli_value(arguments, &option_accuracy) != NULL;
    struct listing listing = {.columns = accuracy ? ACCURACY_COLUMNS : LIST_COLUMNS};
    struct fth_store *store = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = reject_argument(arguments);
    if (result == CLI_DONE)
        result = open_store(arguments, READ, &store);
    if (result == CLI_DONE && fth_store_list(store, accuracy, add_gpu, &listing, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        add_total(&listing);
    if (result == CLI_DONE && listing.failed)
        result = cli_no_memory();
    const struct fth_table table = {list_columns, listing.columns, listing.cells, listing.rows};
    if (result == CLI_DONE)
        result = cli_put_table_fit(arguments, &table, drop_columns);
    for (size_t i = 0; i < listing.rows; i++)
        for (size_t j = 0; j < 6; j++)
            free((void *)listing.cells[listing.columns * i + j].text);
    free(listing.cells);
    fth_store_close(store);
    return result;
}

/* ---- forget, export, import ---- */

/* Runs an action that changes the store: `apply` gets the argument and returns the number of runs
 * that were changed. Prints both in a table. */
static int change(const struct cli_arguments *arguments, const char *what, enum use use,
                  enum fth_status (*apply)(struct fth_store *store, const char *word, size_t *runs,
                                           struct fth_error *error),
                  const struct fth_column *columns)
{
    struct fth_store *store = NULL;
    struct fth_error error = FTH_NO_ERROR;
    size_t runs = 0;
    int result = require_argument(arguments, what);
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = open_store(arguments, use, &store);
    if (result == CLI_DONE && apply(store, arguments->words[1], &runs, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE) {
        const struct fth_cell cells[] = {{.text = arguments->words[1]}, {.number = (double)runs}};
        result = cli_put_table(arguments, &(struct fth_table){columns, 2, cells, 1});
    }
    fth_store_close(store);
    return result;
}

static int forget(const struct cli_arguments *arguments)
{
    static const struct fth_column columns[] = {{"name", "Name", FTH_COLUMN_TEXT},
                                                {"forgotten", "Forgotten", FTH_COLUMN_NUMBER}};
    return change(arguments, "NAME", CHANGE, fth_store_forget, columns);
}

static int import(const struct cli_arguments *arguments)
{
    static const struct fth_column columns[] = {{"file", "File", FTH_COLUMN_TEXT},
                                                {"added", "Added", FTH_COLUMN_NUMBER}};
    return change(arguments, "FILE", CREATE, fth_store_import, columns);
}

static int export(const struct cli_arguments *arguments)
{
    const char *format = cli_value(arguments, &cli_option_format);
    const char *output = cli_value(arguments, &cli_option_output);
    struct fth_store *store = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    int result = reject_argument(arguments);
    if (result == CLI_DONE && format && strcmp(format, "json") != 0) {
        cli_message("export only writes JSON, not '%s'", format);
        result = CLI_USAGE;
    }
    if (result == CLI_DONE)
        result = open_store(arguments, READ, &store);
    if (result == CLI_DONE && (fth_store_export(store, &text, &size, &error) != FTH_OK ||
                               fth_file_write(output ? output : "-", text, size, &error) != FTH_OK))
        result = cli_fail(&error);
    fth_free(text);
    fth_store_close(store);
    return result;
}

/* ---- actions ---- */

static const struct cli_action actions[] = {{"enroll", enroll}, {"identify", identify},
                                            {"list", list},     {"forget", forget},
                                            {"export", export}, {"import", import}};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

const char *cli_fingerprint_action(size_t index)
{
    return index < ACTIONS ? actions[index].name : NULL;
}

static int run(const struct cli_arguments *arguments)
{
    return cli_run_action(arguments, actions, ACTIONS,
                          "enroll NAME, identify, list, forget NAME, export or import FILE");
}

static const struct cli_option *const options[] = {
    &cli_option_device,
    &cli_option_record,
    &option_store,
    &option_max_bytes,
    &option_runs,
    &option_accuracy,
    &cli_option_json,
    &cli_option_format,
    &cli_option_output,
    &cli_option_require_gpu,
    &cli_option_max_instructions,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom fingerprint enroll node7-gpu0", "measure this GPU and store its runs"},
    {"fathom fingerprint identify", "which enrolled GPU is this?"},
    {"fathom fingerprint list --accuracy", "how reliably are the GPUs distinguished?"},
    {"fathom fingerprint export -o prints.json", "export all runs for another machine"},
    {"fathom fingerprint import prints.json", "import them there"},
    {"fathom fingerprint forget node7-gpu0", "remove a GPU from the store"},
    {NULL, NULL},
};

const struct cli_command cli_fingerprint = {
    "fingerprint",
    "Recognise a GPU that was measured before",
    "ACTION [NAME | FILE] [OPTION]...",
    "Distinguish GPUs of the same model by measurements: the L2 latency of each SM\n"
    "(the positions of the active SMs differ from chip to chip), the latencies of\n"
    "caches and memory, the times of STREAM's COPY, MUL, ADD and TRIAD with one\n"
    "thread, and the clock.\n"
    "\n"
    "ACTION is one of:\n"
    "\n"
    "  enroll NAME  measure a GPU several times and store the runs under NAME; repeat\n"
    "               this on another day to capture the variation between runs\n"
    "  identify     measure a GPU and rank the enrolled GPUs by their distance from\n"
    "               it, in standard deviations; the exit code is 4 if no GPU is near\n"
    "               enough, or if two GPUs are about equally near\n"
    "  list         list the enrolled GPUs\n"
    "  forget NAME  remove a GPU and its runs\n"
    "  export       write all runs as JSON\n"
    "  import FILE  add the runs of an exported FILE that are not stored yet\n"
    "\n"
    "The fingerprint store is an SQLite database. Several processes can use it at the\n"
    "same time, and each change is atomic.",
    options,
    examples,
    CLI_WORD_FINGERPRINT,
    2,
    run,
};
