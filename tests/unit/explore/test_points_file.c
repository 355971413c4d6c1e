/* Tests the files of finished points: lines and their checksums, limits, and files that an
 * exploration must not change. */
#include "explore/explore.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static struct fth_exploration *explore_tuples(void)
{
    struct fth_model_params *params = NULL;
    struct fth_exploration *exploration = NULL;
    struct fth_error error = NO_ERROR;
    write_plain("tuples", "0 0 0 R 4\n", 10);
    if (fth_model_params_create(NULL, &params, &error) != FTH_OK ||
        fth_explore_create(params, &exploration, &error) != FTH_OK ||
        fth_explore_trace(exploration, "tuples", NULL, NULL, &error) != FTH_OK ||
        fth_explore_vary(exploration, "l1.ways=2,4,8", &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return exploration;
}

/* Runs an exploration into a file. */
static enum fth_status run(const char *output, uint64_t max_bytes, size_t *computed,
                           struct fth_error *error)
{
    struct fth_exploration *exploration = explore_tuples();
    struct fth_explore_outcome outcome;
    const struct fth_explore_options options =
        FTH_EXPLORE_OPTIONS(.threads = 1, .output = output, .max_bytes = max_bytes);
    enum fth_status status = fth_explore_run(exploration, &options, &outcome, error);
    *computed = outcome.computed;
    fth_free(outcome.text);
    fth_explore_destroy(exploration);
    return status;
}

static struct fth_buffer content_of(const char *path)
{
    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL), FTH_OK);
    return content;
}

/* Writes a compressed copy of a file, which has `repeats` more bytes 'x' at its end. */
static void compress_file(const char *from, const char *to, size_t repeats)
{
    struct fth_buffer content = content_of(from);
    struct fth_zwriter *writer = NULL;
    static char filler[1 << 16];
    memset(filler, 'x', sizeof filler);
    assert_int_equal(fth_zwriter_open(to, 3, &writer, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_write(writer, content.data, content.size, NULL), FTH_OK);
    for (size_t i = 0; i < repeats; i++)
        assert_int_equal(fth_zwriter_write(writer, filler, sizeof filler, NULL), FTH_OK);
    assert_int_equal(fth_zwriter_commit(writer, NULL), FTH_OK);
    fth_buffer_fini(&content);
}

/* Returns the bytes of a file as they are, also if it is compressed. */
static struct fth_buffer raw_content_of(const char *path)
{
    struct fth_buffer content = {0};
    char bytes[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        fth_buffer_append(&content, bytes, got);
    fclose(file);
    return content;
}

/* Runs an exploration into a file that it must refuse, and checks that the file stays the same. */
static void assert_refused(const char *path, uint64_t max_bytes, enum fth_status status,
                           const char *cause)
{
    struct fth_error error = NO_ERROR;
    struct fth_buffer before = raw_content_of(path);
    size_t computed;
    assert_int_equal(run(path, max_bytes, &computed, &error), status);
    assert_contains(error.cause, cause);
    struct fth_buffer after = raw_content_of(path);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    fth_buffer_fini(&before);
    fth_buffer_fini(&after);
}

static void a_compressed_file_is_not_changed(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    size_t computed;
    assert_int_equal(run("points", 0, &computed, &error), FTH_OK);
    assert_int_equal(computed, 3);
    compress_file("points", "points.zst", 0);
    assert_refused("points.zst", 0, FTH_INVALID, "compressed");
    /* Also if points are missing. */
    struct fth_buffer content = content_of("points");
    write_plain("cut", content.data, content.size - 100);
    compress_file("cut", "cut.zst", 0);
    assert_refused("cut.zst", 0, FTH_INVALID, "compressed");
    /* The uncompressed file is continued. */
    assert_int_equal(run("cut", 0, &computed, &error), FTH_OK);
    assert_true(computed > 0 && computed < 3);
    struct fth_buffer whole = content_of("cut");
    assert_string_equal(whole.data, content.data);
    fth_buffer_fini(&content);
    fth_buffer_fini(&whole);
}

static void a_locked_file_is_unavailable(void **state)
{
    (void)state;
    const int fd = open("points", O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_refused("points", 0, FTH_UNAVAILABLE, "another process is writing to it");
    close(fd);
}

static void other_files_are_not_changed(void **state)
{
    (void)state;
    write_plain("letter", "dear reader\n", 12);
    assert_refused("letter", 0, FTH_INVALID, "not a file of 'fathom explore'");
    struct fth_buffer content = raw_content_of("points");
    assert_refused("points", content.size - 1, FTH_INVALID, "use --max-bytes");
    fth_buffer_fini(&content);
}

static void merged_files_keep_their_mode(void **state)
{
    (void)state;
    /* The points of a file that is not in order are sorted at the end: the file is replaced. */
    struct fth_buffer content = content_of("points");
    const char *lines[6] = {content.data};
    for (int i = 1; i < 5; i++)
        lines[i] = strchr(lines[i - 1], '\n') + 1;
    FILE *file = fopen("unordered", "w");
    static const int order[] = {0, 2, 1};
    for (int i = 0; i < 3; i++)
        fwrite(lines[order[i]], 1, (size_t)(lines[order[i] + 1] - lines[order[i]]), file);
    fclose(file);
    assert_int_equal(chmod("unordered", 0600), 0);
    size_t computed;
    struct stat info;
    assert_int_equal(run("unordered", 0, &computed, NULL), FTH_OK);
    assert_int_equal(computed, 1);
    assert_int_equal(stat("unordered", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    struct fth_buffer sorted = content_of("unordered");
    assert_string_equal(sorted.data, content.data);
    fth_buffer_fini(&sorted);
    fth_buffer_fini(&content);
}

static enum fth_status merge(const char *const *paths, size_t count, uint64_t max_bytes,
                             char **text, struct fth_error *error)
{
    const struct fth_merge_options options = FTH_MERGE_OPTIONS(.max_bytes = max_bytes);
    size_t size;
    return fth_merge(paths, count, &options, text, &size, error);
}

/* Computes one of two shards into a file. */
static void run_shard(size_t shard, const char *output)
{
    struct fth_exploration *exploration = explore_tuples();
    struct fth_explore_outcome outcome;
    const struct fth_explore_options options =
        FTH_EXPLORE_OPTIONS(.shard = shard, .shards = 2, .threads = 1, .output = output);
    assert_int_equal(fth_explore_run(exploration, &options, &outcome, NULL), FTH_OK);
    fth_free(outcome.text);
    fth_explore_destroy(exploration);
}

static void count_message(void *user, enum fth_level level, const char *text)
{
    assert_int_equal(level, FTH_LOG_WARNING);
    assert_contains(text, "both belong to shard");
    ++*(int *)user;
}

static void shards_are_merged_to_the_file_of_one_process(void **state)
{
    (void)state;
    static const char *const parts[] = {"part.2", "part.1", "part.2"};
    struct fth_buffer whole = content_of("points"), part = {0};
    struct fth_error error = NO_ERROR;
    struct fth_points points;
    int warnings = 0;
    char *text;
    size_t size;
    const struct fth_log log = {.message = count_message, .user = &warnings};
    const struct fth_merge_options options = FTH_MERGE_OPTIONS(.log = &log);
    run_shard(1, "part.1");
    run_shard(2, "part.2");
    part = content_of("part.2");
    assert_contains(part.data, "\"shard\":\"2/2\"");
    assert_int_equal(fth_points_read("part.2", FTH_MAX_POINTS_BYTES, &points, NULL), FTH_OK);
    assert_int_equal(points.shard, 2);
    assert_int_equal(points.shards, 2);
    assert_int_equal(points.found, 1);
    assert_int_equal(points.damaged, 0);
    assert_int_equal(points.header_points, 3);
    fth_points_fini(&points);
    assert_int_equal(fth_merge(parts, 2, &options, &text, &size, NULL), FTH_OK);
    assert_int_equal(size, whole.size);
    assert_string_equal(text, whole.data);
    assert_int_equal(warnings, 0);
    fth_free(text);
    /* A shard that is given twice is a warning, one that is missing is an error. */
    assert_int_equal(fth_merge(parts, 3, &options, &text, &size, NULL), FTH_OK);
    assert_string_equal(text, whole.data);
    assert_int_equal(warnings, 1);
    fth_free(text);
    assert_int_equal(fth_merge(parts, 1, NULL, &text, &size, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "2 of 3 points are missing, the first is 0: no file of shard "
                                     "1/2 was given");
    const struct fth_merge_options partial = FTH_MERGE_OPTIONS(.partial = true);
    assert_int_equal(fth_merge(parts, 1, &partial, &text, &size, NULL), FTH_OK);
    fth_free(text);
    error = NO_ERROR;
    assert_int_equal(fth_merge(parts, 0, NULL, &text, &size, &error), FTH_INVALID);
    assert_null(text);
    assert_int_equal(size, 0);
    assert_refused("part.1", 0, FTH_INVALID, "it holds shard 1 of 2, but this is shard 1 of 1");
    fth_buffer_fini(&whole);
    fth_buffer_fini(&part);
}

/* The number of an earlier error says nothing about the lock. */
static void an_earlier_error_is_no_lock(void **state)
{
    (void)state;
    const struct fth_output_plan plan = {
        .path = "unlocked", .shard = 1, .shards = 1, .max_bytes = FTH_MAX_POINTS_BYTES};
    struct fth_exploration *exploration = explore_tuples();
    struct fth_output *output = NULL;
    assert_int_equal(fth_plan_complete(exploration, NULL), FTH_OK);
    errno = EWOULDBLOCK;
    assert_int_equal(fth_output_open(exploration, &plan, &output, NULL), FTH_OK);
    fth_output_close(output);
    assert_int_equal(unlink("unlocked"), 0);
    fth_explore_destroy(exploration);
}

/* A file whose points are in order is not written again. */
static void a_finished_file_stays_the_same_file(void **state)
{
    (void)state;
    struct stat before, after;
    struct fth_exploration *exploration = explore_tuples();
    struct fth_explore_outcome outcome;
    struct fth_explore_options options = FTH_EXPLORE_OPTIONS(.threads = 1, .output = "points");
    assert_int_equal(stat("points", &before), 0);
    assert_int_equal(fth_explore_run(exploration, &options, &outcome, NULL), FTH_OK);
    assert_int_equal(outcome.found, 3);
    assert_int_equal(outcome.computed, 0);
    struct fth_buffer content = content_of("points");
    assert_string_equal(outcome.text, content.data);
    fth_buffer_fini(&content);
    fth_free(outcome.text);
    assert_int_equal(stat("points", &after), 0);
    assert_true(before.st_ino == after.st_ino);
    /* Without a file. */
    options.output = NULL;
    assert_int_equal(fth_explore_run(exploration, &options, &outcome, NULL), FTH_OK);
    assert_int_equal(outcome.found, 0);
    assert_int_equal(outcome.computed, 3);
    fth_free(outcome.text);
    fth_explore_destroy(exploration);
}

/* Reads a file with one line: a header with these members, and right checksums. */
static enum fth_status read_header(const char *members, const char *after, struct fth_error *error)
{
    struct fth_buffer text = {0};
    struct fth_points points;
    fth_buffer_format(&text, "{%s", members);
    fth_buffer_format(&text, ",\"exploration\":\"%016llx\"%s",
                      (unsigned long long)fth_line_checksum(text.data, text.size, FTH_LINE_START),
                      after);
    fth_line_add_checksum(&text, 0);
    fth_buffer_text(&text, "\n");
    const enum fth_status status = fth_points_parse("made-up", &text, &points, error);
    if (status == FTH_OK)
        fth_points_fini(&points);
    return status;
}

static void headers_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *members, *after;
        bool is_valid;
    } rows[] = {
        {"\"points\":3", "", true},
        {"\"points\":1", "", true},
        {"\"points\":0", "", false},
        {"\"points\":-1", "", false},
        {"\"points\":4194304", "", true},
        {"\"points\":4194305", "", false},
        {"\"schema\":\"s\"", "", false},
        {"\"points\":3", ",\"shard\":\"2/2\"", true},
        {"\"points\":3", ",\"shard\":\"3/2\"", false},
        {"\"points\":3", ",\"shard\":\"x\"", false},
        {"\"points\":0", ",\"shard\":\"2/2\"", false},
        /* the identity is not that of the text before it */
        {"\"points\":3", ",\"a\":{\"b\":1,\"exploration\":\"1\"}", false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        const enum fth_status status = read_header(rows[i].members, rows[i].after, &error);
        if (status != (rows[i].is_valid ? FTH_OK : FTH_INVALID))
            fail_msg("{%s%s}: %d %s", rows[i].members, rows[i].after, (int)status, error.cause);
        if (!rows[i].is_valid)
            assert_string_equal(error.cause, "its header is not valid");
    }
}

static void merging_has_a_limit(void **state)
{
    (void)state;
    static const char *const twice[] = {"points", "points.zst"}, *const bomb[] = {"bomb.zst"};
    struct fth_buffer content = content_of("points");
    struct fth_error error = NO_ERROR;
    char *text;
    /* A compressed file can be merged; the limit applies to all files together. */
    assert_int_equal(merge(twice, 2, 0, &text, &error), FTH_OK);
    assert_string_equal(text, content.data);
    fth_free(text);
    assert_int_equal(merge(twice, 2, 2 * content.size, &text, &error), FTH_OK);
    fth_free(text);
    assert_int_equal(merge(twice, 2, 2 * content.size - 1, &text, &error), FTH_INVALID);
    assert_null(text);
    assert_contains(error.cause, "the limit for files of points; to raise it, use --max-bytes");
    assert_string_equal(error.argument, "all files together");
    error = NO_ERROR;
    compress_file("points", "bomb.zst", 64);
    assert_int_equal(merge(bomb, 1, 1 << 20, &text, &error), FTH_INVALID);
    assert_contains(error.cause, "larger than 1 MiB, the limit for files of points");
    assert_string_equal(error.argument, "bomb.zst");
    fth_buffer_fini(&content);
}

/* The functions get a text without a final NUL, in memory of exactly its size, so that a sanitizer
 * notices a read behind it. */
static void lines_are_not_read_beyond_their_end(void **state)
{
    (void)state;
    struct fth_buffer line = {0};
    fth_buffer_text(&line, "{\"point\": 12");
    fth_line_add_checksum(&line, 0);
    /* The checksum is that of one line, not of what is before it. */
    struct fth_buffer second = {0};
    fth_buffer_format(&second, "%s\n", line.data);
    const size_t from = second.size;
    fth_buffer_text(&second, "{\"point\": 12");
    fth_line_add_checksum(&second, from);
    assert_string_equal(second.data + from, line.data);
    fth_buffer_fini(&second);
    for (size_t size = 0; size <= line.size; size++) {
        char *copy = malloc(size + !size);
        memcpy(copy, line.data, size);
        assert_int_equal(fth_line_verify(copy, size), size == line.size);
        /* A line whose checksum was verified goes on behind the number. */
        if (size < 10 || size == line.size)
            assert_true(fth_line_point(copy, size) == (size == line.size ? 12 : SIZE_MAX));
        free(copy);
    }
    assert_true(fth_line_point("{\"points\": 12}", 14) == SIZE_MAX);
    assert_true(fth_line_point("{\"point\": 7}", 12) == 7);
    /* Every byte counts. */
    for (size_t i = 0; i < line.size; i++) {
        line.data[i] ^= 1;
        assert_false(fth_line_verify(line.data, line.size));
        line.data[i] ^= 1;
    }
    assert_true(fth_line_verify(line.data, line.size));
    fth_buffer_fini(&line);
}

/* Two processes can have written the same point. */
static void a_point_with_two_lines_counts_once(void **state)
{
    (void)state;
    size_t computed;
    struct fth_points points;
    assert_int_equal(run("points", 0, &computed, NULL), FTH_OK);
    struct fth_buffer content = content_of("points"), twice = {0};
    size_t first = content.size - 1; /* of the last line */
    while (content.data[first - 1] != '\n')
        first--;
    fth_buffer_append(&twice, content.data, content.size);
    fth_buffer_append(&twice, content.data + first, content.size - first);
    write_plain("points", twice.data, twice.size);
    assert_int_equal(fth_points_read("points", FTH_MAX_POINTS_BYTES, &points, NULL), FTH_OK);
    assert_int_equal(points.found, 3);
    assert_int_equal(points.at[2], first);
    fth_points_fini(&points);
    fth_buffer_fini(&content);
    fth_buffer_fini(&twice);
}

/* FNV-1a of its authors' test vectors. */
static void the_checksum_is_fnv_1a(void **state)
{
    (void)state;
    assert_true(fth_line_checksum("", 0, FTH_LINE_START) == UINT64_C(0xcbf29ce484222325));
    assert_true(fth_line_checksum("a", 1, FTH_LINE_START) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(fth_line_checksum("foobar", 6, FTH_LINE_START) == UINT64_C(0x85944171f73967e8));
    assert_true(fth_line_checksum("bar", 3, fth_line_checksum("foo", 3, FTH_LINE_START)) ==
                UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compressed_file_is_not_changed),
        cmocka_unit_test(a_locked_file_is_unavailable),
        cmocka_unit_test(other_files_are_not_changed),
        cmocka_unit_test(merged_files_keep_their_mode),
        cmocka_unit_test(shards_are_merged_to_the_file_of_one_process),
        cmocka_unit_test(an_earlier_error_is_no_lock),
        cmocka_unit_test(a_finished_file_stays_the_same_file),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(merging_has_a_limit),
        cmocka_unit_test(lines_are_not_read_beyond_their_end),
        cmocka_unit_test(a_point_with_two_lines_counts_once),
        cmocka_unit_test(the_checksum_is_fnv_1a),
    };
    return cmocka_run_group_tests_name("points file", tests, enter_folder, leave_folder);
}
