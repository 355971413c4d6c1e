/* Compares what fth_discover() finds on six simulated GPUs (K20c, 840M, P6000, V100, RTX 2080 Ti
 * and A100) with Tables 5.4 to 5.9 of the thesis on the memory topology of GPUs (tables.h). The
 * sizes must be exact, even where those of the thesis are rounded or too small. */
#include "closure/discovered.h"
#include "papers/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- one row ---- */

/* A row that is being checked. Differences are printed and counted. */
struct check {
    const struct table *table;
    const struct table_row *row;
    const struct fth_gpu *found;
    int wrong;
};

static void report_difference(struct check *check, const char *what, double actual, double expected)
{
    print_message("# Table %s, %s %s: %s is %.10g, not %.10g\n", check->table->number,
                  check->table->name, check->row->element, what, actual, expected);
    check->wrong++;
}

/* Returns a figure that was found, NAN if it was not. */
static double figure(const struct check *check, const char *attribute)
{
    const struct fth_attribute *found =
        fth_gpu_attribute(check->found, check->row->element, attribute);
    return found ? found->number : NAN;
}

static void check_equal(struct check *check, const char *attribute, double expected,
                        double tolerance)
{
    double actual = figure(check, attribute);
    if (!(fabs(actual - expected) <= tolerance))
        report_difference(check, attribute, actual, expected);
}

/* Checks that the size lies between `low` and `high`. */
static void check_within(struct check *check, double kib, double low, double high)
{
    if (!(kib >= low && kib <= high))
        report_difference(check, "size in KiB", kib, kib < low ? low : high);
}

static void check_size(struct check *check)
{
    const struct table_row *row = check->row;
    const double found = figure(check, row->attribute), kib = found / 1024, printed = row->size_kib;
    const double line = row->line_bytes / 1024.0;
    const char *unknown = fth_gpu_unknown(check->found, row->element, row->attribute);
    if (row->size != NOT_CACHED && row->size != LOWER_BOUND)
        check_equal(check, row->attribute, (double)row->exact_bytes, 0);
    switch (row->size) {
    case NOT_CACHED:
        if (!isnan(found) || !unknown || !strstr(unknown, "not cached"))
            report_difference(check, "size of what is not cached", found, NAN);
        break;
    case APPROX:
        check_within(check, kib, printed - row->lines_off * line, printed + row->lines_off * line);
        break;
    case TOO_SMALL:
        check_within(check, kib, printed + 5.5, printed + 8.5);
        /* It is the L1 with the largest carve-out. Without carve-out, the L1 is larger. */
        check_within(check, figure(check, SIZE) / 1024, kib * 1.5, INFINITY);
        break;
    case LOWER_BOUND:
        if (isnan(found) && (!unknown || !strstr(unknown, "at least 64 KiB")))
            report_difference(check, "size", found, printed);
        else if (!isnan(found))
            check_within(check, kib, printed, INFINITY);
        break;
    case BETWEEN: check_within(check, kib, printed, row->to_kib); break;
    case SAME: check_within(check, kib, printed, printed); break;
    case PART: check_within(check, kib, printed, printed / 0.9); break;
    }
}

static void check_line(struct check *check)
{
    const struct table_row *row = check->row;
    if (row->line_bytes == 0)
        return;
    if (row->line == LINE)
        check_equal(check, "line_bytes", row->line_bytes, 0);
    if (row->line == FILL)
        check_equal(check, "fill_bytes", row->line_bytes, 0);
    if (row->line == SECTOR) {
        check_equal(check, "sector_bytes", row->line_bytes, 0);
        check_equal(check, "line_bytes", row->exact_line_bytes, 0);
    }
}

/* The element must share storage with exactly the caches that the table names. */
static void check_sharing(struct check *check)
{
    static const struct {
        const char *element;
        unsigned bit;
    } names[] = {{"l1", L1D}, {"texture", TXT}, {"readonly", RO}};
    const struct fth_attribute *with =
        fth_gpu_attribute(check->found, check->row->element, "shared_with");
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        bool expected = check->row->shared_by & names[i].bit;
        if (list_contains(with, names[i].element) != expected) {
            report_difference(check, "shared with the element below", !expected, expected);
            print_message("#   %s\n", names[i].element);
        }
    }
}

static int check_row(const struct table *table, const struct table_row *row,
                     const struct fth_gpu *found)
{
    struct check check = {.table = table, .row = row, .found = found};
    const bool memory = strcmp(row->element, "memory") == 0;
    check_size(&check);
    check_line(&check);
    check_sharing(&check);
    /* The latency of memory comes from single loads, which are measured in whole cycles. */
    if (row->latency_cycles > 0)
        check_equal(&check, "latency_cycles", row->latency_cycles, memory ? 0.5 : 0.05);
    if (row->per_sm)
        check_equal(&check, "per_sm", row->per_sm, 0);
    return check.wrong;
}

static void check_table(const char *name)
{
    const struct table *table = NULL;
    for (size_t i = 0; i < FTH_COUNT(tables); i++)
        if (strcmp(tables[i].name, name) == 0)
            table = &tables[i];
    assert_non_null(table);
    struct fth_gpu *found = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (discover_simulated(name, NULL, &found, &error) != FTH_OK)
        fail_msg("%s: %s", name, error.cause);
    int wrong = 0;
    for (size_t i = 0; i < TABLE_ROWS; i++)
        wrong += check_row(table, &table->rows[i], found);
    fth_gpu_destroy(found);
    assert_int_equal(wrong, 0);
}

static void k20c_matches_table_5_4(void **state)
{
    (void)state;
    check_table("k20c");
}

static void gf840m_matches_table_5_5(void **state)
{
    (void)state;
    check_table("gf840m");
}

static void p6000_matches_table_5_6(void **state)
{
    (void)state;
    check_table("p6000");
}

static void v100_matches_table_5_7(void **state)
{
    (void)state;
    check_table("v100");
}

static void rtx2080ti_matches_table_5_8(void **state)
{
    (void)state;
    check_table("rtx2080ti");
}

static void a100_matches_table_5_9(void **state)
{
    (void)state;
    check_table("a100");
}

/* ---- properties that the descriptions of these GPUs leave open ---- */

/* Measures the simulated GPU of a description that is given as a printf format. Returns what was
 * found; the caller owns it. */
static struct fth_gpu *discover_text(const char *only, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct fth_gpu *discover_text(const char *only, const char *format, ...)
{
    char text[2048], path[] = "/tmp/fathom-papers-XXXXXX";
    struct fth_gpu *found = NULL;
    struct fth_error error = FTH_NO_ERROR;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int file = mkstemp(path);
    assert_true(file >= 0 && size > 0 && (size_t)size < sizeof text);
    close(file);
    assert_int_equal(fth_file_write(path, text, (size_t)size, NULL), FTH_OK);
    if (discover_simulated(path, only, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    unlink(path);
    return found;
}

static double number_of(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    const struct fth_attribute *found = fth_gpu_attribute(gpu, element, attribute);
    return found ? found->number : NAN;
}

/* The constant L1.5 of Volta and Ampere is larger than the constant bank of 64 KiB. Its size is not
 * published. If it also holds code, as on Turing (Jia et al.), fathom can measure it with code and
 * constants together. The latencies are those of the tables, the sizes are assumed. */
static void finds_constant_caches_larger_than_a_bank(void **state)
{
    (void)state;
    static const struct {
        const char *capability;
        double l1_cycles, l15_cycles, l2_cycles;
        unsigned code_l0_bytes, bytes;
    } cases[] = {
        {"7.0", 32, 105, 215, 12288, 96 << 10},
        {"7.0", 32, 105, 215, 12288, 128 << 10},
        {"8.0", 34, 114, 223, 32768, 96 << 10},
        {"8.0", 34, 114, 223, 32768, 128 << 10},
    };
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_gpu *found = discover_text(
            "constant_l15,instruction_l1",
            "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"constants and code\", "
            "\"compute_capability\": \"%s\"}, \"elements\": {"
            "\"constant_l1\": {\"size_bytes\": 2048, \"line_bytes\": 64, \"latency_cycles\": %g}, "
            "\"constant_l15\": {\"size_bytes\": %u, \"line_bytes\": 256, \"latency_cycles\": %g, "
            "\"shared_with\": [\"instruction_l1\"]}, "
            "\"instruction_l0\": {\"size_bytes\": %u}, "
            "\"instruction_l1\": {\"size_bytes\": %u, \"shared_with\": [\"constant_l15\"]}, "
            "\"l2\": {\"size_bytes\": 6291456, \"latency_cycles\": %g}}}",
            cases[i].capability, cases[i].l1_cycles, cases[i].bytes, cases[i].l15_cycles,
            cases[i].code_l0_bytes, cases[i].bytes, cases[i].l2_cycles);
        double bytes = number_of(found, "constant_l15", "size_bytes");
        bool shared = list_contains(fth_gpu_attribute(found, "constant_l15", "shared_with"),
                                    "instruction_l1");
        if (bytes != cases[i].bytes || !shared) {
            print_message("# %s, %u bytes shared with code: found %g, %sshared\n",
                          cases[i].capability, cases[i].bytes, bytes, shared ? "" : "not ");
            wrong++;
        }
        fth_gpu_destroy(found);
    }
    assert_int_equal(wrong, 0);
}

/* The thesis attributes the missing 6 to 8 KiB to a replacement policy other than LRU (after Jia et
 * al.). That policy is not known. With these two policies, too, the sizes that fathom finds must be
 * exact. */
static void finds_l1_sizes_with_other_policies(void **state)
{
    (void)state;
    static const struct {
        const char *name, *capability;
        unsigned unified_kib, max_kib, default_kib;
    } cases[] = {{"Volta", "7.0", 128, 128, 32},
                 {"Turing", "7.5", 96, 64, 32},
                 {"Ampere", "8.0", 192, 192, 28}};
    static const char *const policies[] = {"random", "fifo"};
    int wrong = 0;
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        for (size_t j = 0; j < FTH_COUNT(policies); j++) {
            struct fth_gpu *found = discover_text(
                "l1",
                "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"%s\", "
                "\"compute_capability\": \"%s\"}, \"elements\": {"
                "\"l1\": {\"size_bytes\": %u, \"default_size_bytes\": %u, \"unified_bytes\": %u, "
                "\"line_bytes\": 128, \"sector_bytes\": 32, \"policy\": \"%s\"}, "
                "\"shared\": {\"size_bytes\": %u}}}",
                cases[i].name, cases[i].capability, cases[i].max_kib << 10,
                cases[i].default_kib << 10, cases[i].unified_kib << 10, policies[j],
                (cases[i].unified_kib - cases[i].default_kib) << 10);
            double max_kib = number_of(found, "l1", "size_bytes") / 1024;
            double default_kib = number_of(found, "l1", "default_size_bytes") / 1024;
            if (max_kib != cases[i].max_kib || default_kib != cases[i].default_kib) {
                print_message("# %s, %s: found %g KiB, %g KiB with the largest carve-out\n",
                              cases[i].name, policies[j], max_kib, default_kib);
                wrong++;
            }
            fth_gpu_destroy(found);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k20c_matches_table_5_4),
        cmocka_unit_test(gf840m_matches_table_5_5),
        cmocka_unit_test(p6000_matches_table_5_6),
        cmocka_unit_test(v100_matches_table_5_7),
        cmocka_unit_test(rtx2080ti_matches_table_5_8),
        cmocka_unit_test(a100_matches_table_5_9),
        cmocka_unit_test(finds_constant_caches_larger_than_a_bank),
        cmocka_unit_test(finds_l1_sizes_with_other_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
