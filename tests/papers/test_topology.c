/* The memory topology thesis as a test: what is discovered on the simulated K20c, 840M, P6000,
 * V100, 2080 Ti and A100 is what its Tables 5.4 to 5.9 say, exact where these are rounded or short.
 */
#include "closure/discovered.h"
#include "papers/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- one row ---- */

/* A row under test; what is wrong with it is printed and counted. */
struct check {
    const struct table *table;
    const struct table_row *row;
    const struct fth_gpu *found;
    int wrong;
};

static void complain(struct check *check, const char *what, double is, double should)
{
    print_message("# Table %s, %s %s: %s is %.10g, not %.10g\n", check->table->number,
                  check->table->name, check->row->element, what, is, should);
    check->wrong++;
}

static double figure(const struct check *check, const char *attribute)
{
    const struct fth_attribute *found =
        fth_gpu_attribute(check->found, check->row->element, attribute);
    return found ? found->number : NAN;
}

static void equals(struct check *check, const char *attribute, double should, double tolerance)
{
    double is = figure(check, attribute);
    if (!(fabs(is - should) <= tolerance))
        complain(check, attribute, is, should);
}

/* What was found lies where the printed figure says that it does. */
static void within(struct check *check, double kib, double low, double high)
{
    if (!(kib >= low && kib <= high))
        complain(check, "size in KiB", kib, kib < low ? low : high);
}

static void check_size(struct check *check)
{
    const struct table_row *row = check->row;
    const double found = figure(check, row->attribute), kib = found / 1024, printed = row->size_kib;
    const double line = row->line_bytes / 1024.0;
    const char *unknown = fth_gpu_unknown(check->found, row->element, row->attribute);
    if (row->size != NOT_CACHED && row->size != TOO_LARGE)
        equals(check, row->attribute, (double)row->exact_bytes, 0);
    switch (row->size) {
    case NOT_CACHED:
        if (!isnan(found) || !unknown || !strstr(unknown, "not cached"))
            complain(check, "a size where nothing is cached", found, NAN);
        break;
    case BESIDE:
        within(check, kib, printed - row->lines_off * line, printed + row->lines_off * line);
        break;
    case SHORT:
        within(check, kib, printed + 5.5, printed + 8.5);
        /* It is what is left of more. */
        within(check, figure(check, SIZE) / 1024, kib * 1.5, INFINITY);
        break;
    case TOO_LARGE:
        if (isnan(found) && (!unknown || !strstr(unknown, "at least 64 KiB")))
            complain(check, "size", found, printed);
        else if (!isnan(found))
            within(check, kib, printed, INFINITY);
        break;
    case BETWEEN: within(check, kib, printed, row->to_kib); break;
    case TOLD: within(check, kib, printed, printed); break;
    case PART: within(check, kib, printed, printed / 0.9); break;
    }
}

static void check_line(struct check *check)
{
    const struct table_row *row = check->row;
    if (row->line_bytes == 0)
        return;
    if (row->line == LINE)
        equals(check, "line_bytes", row->line_bytes, 0);
    if (row->line == FILL)
        equals(check, "fill_bytes", row->line_bytes, 0);
    if (row->line == SECTOR) {
        equals(check, "sector_bytes", row->line_bytes, 0);
        equals(check, "line_bytes", row->exact_line_bytes, 0);
    }
}

/* Those that are named, and no others of the three. */
static void check_sharing(struct check *check)
{
    static const struct {
        const char *element;
        unsigned bit;
    } names[] = {{"l1", L1D}, {"texture", TXT}, {"readonly", RO}};
    const struct fth_attribute *with =
        fth_gpu_attribute(check->found, check->row->element, "shared_with");
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        bool should = check->row->shared_by & names[i].bit;
        if (lists(with, names[i].element) != should) {
            complain(check, "shared with another", !should, should);
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
    /* Single loads, from which that of memory is taken, are as fine as the clock. */
    if (row->latency_cycles > 0)
        equals(&check, "latency_cycles", row->latency_cycles, memory ? 0.5 : 0.05);
    if (row->per_sm)
        equals(&check, "per_sm", row->per_sm, 0);
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

static void table_5_4(void **state)
{
    (void)state;
    check_table("k20c");
}

static void table_5_5(void **state)
{
    (void)state;
    check_table("gf840m");
}

static void table_5_6(void **state)
{
    (void)state;
    check_table("p6000");
}

static void table_5_7(void **state)
{
    (void)state;
    check_table("v100");
}

static void table_5_8(void **state)
{
    (void)state;
    check_table("rtx2080ti");
}

static void table_5_9(void **state)
{
    (void)state;
    check_table("a100");
}

/* ---- what the descriptions leave open ---- */

/* What is found on the simulated GPU of a description in memory. */
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

/* Volta's and Ampere's constant L1.5 is larger than the bank of 64 KiB, and nobody has published
 * how large it is. Where it also holds code, as Turing's does (Jia et al.), code and constants
 * together tell: constants as the tables have them, and a cache of some size for both. */
static void constants_past_the_bank(void **state)
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
        bool shared =
            lists(fth_gpu_attribute(found, "constant_l15", "shared_with"), "instruction_l1");
        if (bytes != cases[i].bytes || !shared) {
            print_message("# %s, %u bytes with code: found %g, %sshared\n", cases[i].capability,
                          cases[i].bytes, bytes, shared ? "" : "not ");
            wrong++;
        }
        fth_gpu_destroy(found);
    }
    assert_int_equal(wrong, 0);
}

/* The thesis puts the missing 6 to 8 KiB down to a policy that is not LRU (after Jia et al.). Which
 * one it is, is not known; with these two the sizes are exact as well. */
static void sizes_whatever_the_policy(void **state)
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
            double max = number_of(found, "l1", "size_bytes") / 1024;
            double min = number_of(found, "l1", "default_size_bytes") / 1024;
            if (max != cases[i].max_kib || min != cases[i].default_kib) {
                print_message("# %s, %s: %g and %g KiB\n", cases[i].name, policies[j], max, min);
                wrong++;
            }
            fth_gpu_destroy(found);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_5_4),
        cmocka_unit_test(table_5_5),
        cmocka_unit_test(table_5_6),
        cmocka_unit_test(table_5_7),
        cmocka_unit_test(table_5_8),
        cmocka_unit_test(table_5_9),
        cmocka_unit_test(constants_past_the_bank),
        cmocka_unit_test(sizes_whatever_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
