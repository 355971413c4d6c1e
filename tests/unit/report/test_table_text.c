/* Tests tables for the terminal: how they are fitted to its width. */
#include "expected.h"

#include <math.h>

/* Writes a table, and checks that no line is wider than the limit. */
static char *write_table(const struct fth_table *table, const char *const *drop, unsigned columns)
{
    struct fth_buffer out = {0};
    const struct fth_report_options options = FTH_REPORT_OPTIONS(.utf8 = true, .columns = columns);
    fth_text_table_fit(table, drop, &options, &out);
    assert_false(out.failed);
    for (const char *line = out.data; *line; line += strcspn(line, "\n") + 1) {
        char text[512];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        const size_t width = fth_text_columns(text);
        if (width > columns)
            fail_msg("%zu columns instead of %u: %s", width, columns, text);
        assert_true(width == 0 || text[strlen(text) - 1] != ' ');
    }
    return out.data;
}

static void check_table(const struct fth_table *table, const char *const *drop, unsigned columns,
                        const char *expected)
{
    char *text = write_table(table, drop, columns);
    assert_string_equal(text, expected);
    free(text);
}

static const struct fth_column columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL}, {"reads", "Read sectors", FTH_COLUMN_NUMBER},
    {"writes", "Writes", FTH_COLUMN_NUMBER}, {"atomics", "Atomics", FTH_COLUMN_NUMBER},
    {"size", "Footprint", FTH_COLUMN_BYTES}, {"reason", "Reason", FTH_COLUMN_TEXT},
};
static const struct fth_cell cells[] = {
    {"rows", 0},         {NULL, 12},   {NULL, 3},
    {NULL, 0},           {NULL, 1024}, {NULL, 0},
    {"cols", 0},         {NULL, 1},    {NULL, 2},
    {NULL, (double)NAN}, {NULL, 64},   {"the launch accesses more memory than that", 0},
};
static const struct fth_table table = {columns, 6, cells, 2};

/* A table that fits is written as it is. */
static void wide_tables_have_one_line_per_row(void **state)
{
    (void)state;
    check_table(&table, NULL, 94,
                "Kernel  Read sectors  Writes  Atomics  Footprint  Reason\n"
                "rows              12       3        0      1 KiB  –\n"
                "cols               1       2        –       64 B  the launch accesses more memory "
                "than that\n");
}

/* First the heads are broken, then the texts. */
static void heads_and_texts_are_broken(void **state)
{
    (void)state;
    check_table(&table, NULL, 90,
                "           Read\n"
                "Kernel  sectors  Writes  Atomics  Footprint  Reason\n"
                "rows         12       3        0      1 KiB  –\n"
                "cols          1       2        –       64 B  the launch accesses more memory than "
                "that\n");
    /* Texts must be broken anyway, so the heads are not. */
    check_table(&table, NULL, 75,
                "Kernel  Read sectors  Writes  Atomics  Footprint  Reason\n"
                "rows              12       3        0      1 KiB  –\n"
                "cols               1       2        –       64 B  the launch accesses more\n"
                "                                                  memory than that\n");
}

/* Then columns are left out: those without values first, then in the order of the list. Keys that
 * the table does not have are ignored. */
static void columns_are_left_out(void **state)
{
    (void)state;
    static const char *const drop[] = {"none", "writes", "atomics", "size", "reads", NULL};
    check_table(&table, drop, 62,
                "Kernel  Read sectors  Writes  Footprint  Reason\n"
                "rows              12       3      1 KiB  –\n"
                "cols               1       2       64 B  the launch accesses\n"
                "                                         more memory than that\n"
                "Left out: Atomics (1 column); COLUMNS=63 shows it.\n");
    check_table(&table, drop, 53,
                "Kernel  Read sectors  Footprint  Reason\n"
                "rows              12      1 KiB  –\n"
                "cols               1       64 B  the launch accesses\n"
                "                                 more memory than\n"
                "                                 that\n"
                "Left out: Atomics, Writes (2 columns); COLUMNS=63\n"
                "  shows them.\n");
}

/* Without a list of columns, texts get narrow. If that is not enough, the table is written in
 * parts.
 */
static void narrow_tables_have_parts(void **state)
{
    (void)state;
    check_table(&table, NULL, 60,
                "           Read\n"
                "Kernel  sectors  Writes  Atomics  Footprint  Reason\n"
                "rows         12       3        0      1 KiB  –\n"
                "cols          1       2        –       64 B  the launch\n"
                "                                             accesses more\n"
                "                                             memory than\n"
                "                                             that\n");
    check_table(&table, NULL, 42,
                "Kernel  Read sectors  Writes  Atomics\n"
                "rows              12       3        0\n"
                "cols               1       2        –\n"
                "\n"
                "Kernel  Footprint  Reason\n"
                "rows        1 KiB  –\n"
                "cols         64 B  the launch accesses\n"
                "                   more memory than that\n");
}

/* Texts of the last column that would have more than four lines are written below the rows. */
static void long_texts_are_written_below(void **state)
{
    (void)state;
    static const struct fth_column four[] = {{"kernel", "Kernel", FTH_COLUMN_KERNEL},
                                             {"launches", "Launches", FTH_COLUMN_NUMBER},
                                             {"exact", "Exact", FTH_COLUMN_NUMBER},
                                             {"reason", "Reason", FTH_COLUMN_TEXT}};
    static const struct fth_cell rows[] = {
        {"rows", 0}, {NULL, 1},
        {NULL, 1},   {NULL, 0},
        {"cols", 0}, {NULL, 1},
        {NULL, 0},   {"one \033 two three four five six seven eight nine ten eleven twelve", 0},
    };
    check_table(&(struct fth_table){four, 4, rows, 2}, NULL, 36,
                "Kernel  Launches  Exact\n"
                "rows           1      1\n"
                "cols           1      0\n"
                "  Reason: one ? two three four five\n"
                "    six seven eight nine ten eleven\n"
                "    twelve\n");
}

/* Parts repeat a second column if the first one does not identify the rows. */
static void parts_identify_their_rows(void **state)
{
    (void)state;
    static const struct fth_column five[] = {{"kernel", "Kernel", FTH_COLUMN_KERNEL},
                                             {"gpu", "GPU", FTH_COLUMN_TEXT},
                                             {"launch", "Launch", FTH_COLUMN_NUMBER},
                                             {"hits", "Hits", FTH_COLUMN_NUMBER},
                                             {"misses", "Misses", FTH_COLUMN_NUMBER}};
    static const struct fth_cell rows[] = {
        {"rows", 0}, {"h200", 0}, {NULL, 1}, {NULL, 12}, {NULL, 3},
        {"rows", 0}, {"h200", 0}, {NULL, 2}, {NULL, 12}, {NULL, 4},
        {"cols", 0}, {"h200", 0}, {NULL, 2}, {NULL, 5},  {NULL, 6},
    };
    check_table(&(struct fth_table){five, 5, rows, 3}, NULL, 24,
                "Kernel  Launch  GPU\n"
                "rows         1  h200\n"
                "rows         2  h200\n"
                "cols         2  h200\n"
                "\n"
                "Kernel  Launch  Hits\n"
                "rows         1    12\n"
                "rows         2    12\n"
                "cols         2     5\n"
                "\n"
                "Kernel  Launch  Misses\n"
                "rows         1       3\n"
                "rows         2       4\n"
                "cols         2       6\n");
}

/* Words are only broken if they are wider than 30 characters or if nothing else helps, and after
 * punctuation marks if possible. Names of kernels are cut after three lines. */
static void words_are_broken_last(void **state)
{
    (void)state;
    static const struct fth_column two[] = {{"kernel", "Kernel", FTH_COLUMN_KERNEL},
                                            {"metric", "Metric", FTH_COLUMN_TEXT}};
    static const struct fth_cell names[] = {
        {"abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_"
         "abcdefghijklmnopqrstuvwxyz",
         0},
        {"words_of_twenty_four_abc x", 0}};
    check_table(&(struct fth_table){two, 2, names, 1}, NULL, 56,
                "Kernel                          Metric\n"
                "abcdefghijklmnopqrstuvwxyz_     words_of_twenty_four_abc\n"
                "abcdefghijklmnopqrstuvwxyz_     x\n"
                "abcdefghijklmnopqrstuvwxyz_ab…\n");
    check_table(&(struct fth_table){two, 2, names, 1}, NULL, 29,
                "Kernel          Metric\n"
                "abcdefghijklmn  words_of_\n"
                "opqrstuvwxyz_   twenty_four_\n"
                "abcdefghijklm…  abc x\n");
}

/* Nothing is lost at any width: the table has every cell, or says that a column is left out. */
static void every_width_shows_everything(void **state)
{
    (void)state;
    static const char *const drop[] = {"writes", NULL};
    for (unsigned width = 30; width < 130; width++) {
        char *text = write_table(&table, drop, width);
        assert_contains(text, "launch");
        assert_contains(text, "1 KiB");
        assert_contains(text, "12");
        assert_true(strstr(text, "  3") || strstr(text, "Left out: Writes"));
        free(text);
    }
}

/* Columns after the 128th are not shown. */
static void tables_have_at_most_128_columns(void **state)
{
    (void)state;
    enum { COLUMNS = 129 };
    struct fth_column many[COLUMNS];
    struct fth_cell zeros[COLUMNS] = {{NULL, 0}};
    for (size_t i = 0; i < COLUMNS; i++)
        many[i] = (struct fth_column){"h", "h", FTH_COLUMN_NUMBER};
    char *text = write_table(&(struct fth_table){many, COLUMNS, zeros, 1}, NULL, 500);
    assert_int_equal(strlen(text), 2 * (128 + 127 * 2 + 1));
    free(text);
}

/* The keys of the options do the same, and colours do not count as characters. */
static void options_name_columns_to_leave_out(void **state)
{
    (void)state;
    static const char *const drop[] = {"atomics", NULL};
    const struct fth_report_options options =
        FTH_REPORT_OPTIONS(.colour = true, .columns = 62, .drop = drop);
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_table("text", &table, &options, &text, &size, NULL), FTH_OK);
    assert_contains(text, "\033[1mKernel  Read sectors  Writes  Footprint  Reason\033[0m\n");
    assert_contains(text, "Left out: Atomics (1 column); COLUMNS=63 shows it.\n");
    fth_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_tables_have_one_line_per_row),
        cmocka_unit_test(heads_and_texts_are_broken),
        cmocka_unit_test(columns_are_left_out),
        cmocka_unit_test(narrow_tables_have_parts),
        cmocka_unit_test(long_texts_are_written_below),
        cmocka_unit_test(parts_identify_their_rows),
        cmocka_unit_test(words_are_broken_last),
        cmocka_unit_test(every_width_shows_everything),
        cmocka_unit_test(tables_have_at_most_128_columns),
        cmocka_unit_test(options_name_columns_to_leave_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
