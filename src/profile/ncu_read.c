/* Reads the counters of Nsight Compute, as 'ncu --csv' prints them. There are two layouts:
 *
 *   --page raw      one record per launch; a column per metric; the first record has the units
 *   --page details  one record per launch and metric; the columns "Metric Name", "Metric Unit" and
 *                   "Metric Value"; this is the layout without --page
 *
 * Nsight Compute scales times and bytes, unless it has --print-units base, and writes numbers with
 * commas between thousands. */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limit of a profile. Chosen: a launch with 60 metrics takes about 2 KB. */
enum { MAX_PROFILE_BYTES = 1 << 29 };

static const char OPERATION[] = "read counters";

/* Metrics and what they count. The first metric of a counter that a file has is used. The rules by
 * which an H200 counts are in docs/results/counters-h200.md and docs/results/counting-rules.md. */
static const struct metric {
    const char *name;
    enum fth_profile_counter counter;
    double scale;
} metrics[] = {
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", FTH_PROFILE_L1_READ_SECTORS, 1},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", FTH_PROFILE_L1_READ_HITS, 1},
    {"l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", FTH_PROFILE_L1_READ_HIT_PERCENT, 1},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", FTH_PROFILE_L1_WRITE_SECTORS, 1},
    {"lts__t_sectors_srcunit_tex_op_read.sum", FTH_PROFILE_L2_READ_SECTORS, 1},
    {"lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", FTH_PROFILE_L2_READ_HITS, 1},
    {"lts__t_sector_op_read_hit_rate.pct", FTH_PROFILE_L2_READ_HIT_PERCENT, 1},
    {"lts__t_sectors_srcunit_tex_op_write.sum", FTH_PROFILE_L2_WRITE_SECTORS, 1},
    {"dram__sectors_read.sum", FTH_PROFILE_DRAM_READ_BYTES, 32},
    {"dram__bytes_read.sum", FTH_PROFILE_DRAM_READ_BYTES, 1},
    {"dram__sectors_write.sum", FTH_PROFILE_DRAM_WRITE_BYTES, 32},
    {"dram__bytes_write.sum", FTH_PROFILE_DRAM_WRITE_BYTES, 1},
    {"gpu__time_duration.sum", FTH_PROFILE_TIME_US, 1e-3},
};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

const char *fth_ncu_metrics(void)
{
    return "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,"
           "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum,"
           "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,"
           "lts__t_sectors_srcunit_tex_op_read.sum,"
           "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum,"
           "lts__t_sectors_srcunit_tex_op_write.sum,"
           "dram__sectors_read.sum,dram__sectors_write.sum,gpu__time_duration.sum";
}

/* Units that Nsight Compute scales, with their size in bytes, nanoseconds or sectors. Its kilobyte
 * has 1,000 bytes. All other units are those of the metric. */
static double unit_scale(const char *unit)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {
        {"Kbyte", 1e3},   {"Mbyte", 1e6},   {"Gbyte", 1e9},   {"Tbyte", 1e12}, {"us", 1e3},
        {"usecond", 1e3}, {"ms", 1e6},      {"msecond", 1e6}, {"s", 1e9},      {"second", 1e9},
        {"Ksector", 1e3}, {"Msector", 1e6}, {"Gsector", 1e9},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].scale;
    return 1;
}

/* Reads a number with commas between thousands; NAN: the text is no number, such as "n/a", or no
 * count that a GPU could have. */
static double read_number(char *text)
{
    char *to = text, *end;
    for (const char *from = text; *from; from++)
        if (*from != ',')
            *to++ = *from;
    *to = '\0';
    const double number = fth_strtod(text, &end);
    return *text && !*end && number >= 0 && number < 1e18 ? number : (double)NAN;
}

struct fth_profile_kernel *fth_profile_kernel(struct fth_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->count; i++)
        if (strcmp(profile->kernels[i].name, name) == 0)
            return &profile->kernels[i];
    void *kernels = profile->kernels;
    char *copy = strdup(name);
    if (!copy ||
        !fth_grow(&kernels, profile->count, &profile->capacity, sizeof *profile->kernels)) {
        free(copy);
        return NULL;
    }
    profile->kernels = kernels;
    struct fth_profile_kernel *kernel = &profile->kernels[profile->count++];
    *kernel = (struct fth_profile_kernel){.name = copy};
    for (size_t i = 0; i < FTH_PROFILE_COUNT; i++)
        kernel->values[i] = NAN;
    return kernel;
}

void fth_profile_count(struct fth_profile_kernel *kernel, enum fth_profile_counter counter,
                       double value, uint64_t launches)
{
    double *sum = &kernel->values[counter];
    *sum = isnan(*sum) ? value : *sum + value;
    kernel->known[counter] += launches;
}

void fth_profile_fini(struct fth_profile *profile)
{
    for (size_t i = 0; i < profile->count; i++)
        free(profile->kernels[i].name);
    free(profile->kernels);
}

enum { NO_COLUMN = -1, MAX_COLUMNS = 4096 };

/* The columns of the table and the launch that is being read. */
struct table {
    int id, kernel, name, unit, value; /* columns; NO_COLUMN: there is none */
    int of_metric[METRICS];            /* layout raw: the column of each metric */
    double scales[METRICS];            /* layout raw: the units of the columns */
    int used[FTH_PROFILE_COUNT];       /* layout details: the metric that states it; -1: none yet */
    char launch[64];                   /* ID of the last launch */
    struct fth_profile *profile;
    bool found; /* a counter that is compared */
};

static int find_column(const struct fth_csv_reader *csv, const char *name)
{
    for (size_t i = 0; i < csv->count && i < MAX_COLUMNS; i++)
        if (strcmp(csv->fields[i], name) == 0)
            return (int)i;
    return NO_COLUMN;
}

static char *field(const struct fth_csv_reader *csv, int column)
{
    return column != NO_COLUMN && (size_t)column < csv->count ? csv->fields[column] : NULL;
}

static void read_header(struct table *table, const struct fth_csv_reader *csv)
{
    bool has[FTH_PROFILE_COUNT] = {false};
    table->id = find_column(csv, "ID");
    table->kernel = find_column(csv, "Kernel Name");
    table->name = find_column(csv, "Metric Name");
    table->unit = find_column(csv, "Metric Unit");
    table->value = find_column(csv, "Metric Value");
    for (size_t i = 0; i < FTH_PROFILE_COUNT; i++)
        table->used[i] = -1;
    for (size_t i = 0; i < METRICS; i++) {
        table->scales[i] = 1;
        table->of_metric[i] =
            has[metrics[i].counter] ? NO_COLUMN : find_column(csv, metrics[i].name);
        if (table->of_metric[i] != NO_COLUMN)
            has[metrics[i].counter] = true;
    }
}

/* Adds the metrics of a launch that is a record of its own. */
static void read_launch(struct table *table, const struct fth_csv_reader *csv,
                        struct fth_profile_kernel *kernel)
{
    for (size_t i = 0; i < METRICS; i++) {
        char *text = field(csv, table->of_metric[i]);
        const double number = text ? read_number(text) : (double)NAN;
        if (isnan(number))
            continue;
        fth_profile_count(kernel, metrics[i].counter, number * metrics[i].scale * table->scales[i],
                          1);
        table->found = true;
    }
}

/* Adds the metric that a record has. Of two metrics that state the same counter, the one that the
 * file has first is used. */
static void read_metric(struct table *table, const struct fth_csv_reader *csv,
                        struct fth_profile_kernel *kernel)
{
    const char *name = field(csv, table->name), *unit = field(csv, table->unit);
    char *text = field(csv, table->value);
    for (size_t i = 0; name && text && i < METRICS; i++) {
        if (strcmp(name, metrics[i].name) != 0)
            continue;
        const double number = read_number(text) * unit_scale(unit ? unit : "");
        int *used = &table->used[metrics[i].counter];
        *used = *used < 0 ? (int)i : *used;
        if (isnan(number) || *used != (int)i)
            return;
        fth_profile_count(kernel, metrics[i].counter, number * metrics[i].scale, 1);
        table->found = true;
        return;
    }
}

static enum fth_status read_record(struct table *table, const struct fth_csv_reader *csv,
                                   const char *path, struct fth_error *error)
{
    const char *id = field(csv, table->id), *name = field(csv, table->kernel);
    if (!id || !name)
        return FTH_OK; /* a message of ncu behind the table */
    if (!*id) {
        for (size_t i = 0; i < METRICS; i++)
            if (field(csv, table->of_metric[i]))
                table->scales[i] = unit_scale(field(csv, table->of_metric[i]));
        return FTH_OK;
    }
    struct fth_profile_kernel *kernel = fth_profile_kernel(table->profile, name);
    if (!kernel)
        return fth_no_memory(error, OPERATION, path);
    const bool is_new = table->value == NO_COLUMN || strcmp(table->launch, id) != 0;
    kernel->launches += is_new;
    fth_format(table->launch, sizeof table->launch, "%s", id);
    if (table->value == NO_COLUMN)
        read_launch(table, csv, kernel);
    else
        read_metric(table, csv, kernel);
    return FTH_OK;
}

/* Returns the beginning of the table: the line that begins with the column "ID"; NULL: there is
 * none. */
static char *find_table(char *text)
{
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "\"ID\",", 5) == 0 || strncmp(line, "ID,", 3) == 0)
            return line;
    }
    return NULL;
}

static enum fth_status read_table(struct table *table, char *text, const char *path,
                                  struct fth_error *error)
{
    struct fth_csv_reader csv = {.at = text};
    bool more = true;
    enum fth_status status = fth_csv_next(&csv, &more, error);
    if (status == FTH_OK)
        read_header(table, &csv);
    while (status == FTH_OK && more) {
        status = fth_csv_next(&csv, &more, error);
        if (status == FTH_OK && more)
            status = read_record(table, &csv, path, error);
    }
    fth_csv_fini(&csv);
    return status;
}

enum fth_status fth_ncu_parse(const char *path, char *text, struct fth_profile *profile,
                              struct fth_error *error)
{
    struct table table = {.profile = profile};
    char *start = find_table(text);
    if (!start)
        return fth_fail(error, FTH_INVALID, OPERATION, path,
                        "there is no line that begins with the column \"ID\"; write the file "
                        "with 'ncu --csv --page raw --log-file FILE'");
    FTH_TRY(read_table(&table, start, path, error));
    if (!table.found)
        return fth_fail(error, FTH_INVALID, OPERATION, path,
                        "it has none of the counters that fathom compares; measure with "
                        "'ncu --csv --page raw --metrics $(fathom compare --metrics)'");
    return FTH_OK;
}

enum fth_status fth_ncu_read(const char *path, struct fth_profile *profile, struct fth_error *error)
{
    struct fth_buffer content = {0};
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a profile", MAX_PROFILE_BYTES), &content, error);
    if (status == FTH_OK) {
        fth_buffer_append(&content, "", 1);
        status = content.failed ? fth_no_memory(error, OPERATION, path)
                                : fth_ncu_parse(path, content.data, profile, error);
    }
    fth_buffer_fini(&content);
    return status;
}
