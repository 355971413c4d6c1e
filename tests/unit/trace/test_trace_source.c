/* Tests of trace/: positions of instructions in the source code, in trace files. */
#include "check.h"
#include "folder.h"
#include "trace/trace.h"

#include <unistd.h>

/* Returns an open temporary file with this content. */
static int file_of(const void *data, size_t size)
{
    int fd;
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(pwrite(fd, data, size, 0), size);
    return fd;
}

/* Checks the position of an instruction: innermost first, as "file:line" texts. */
static void check_source(const struct fth_source_position *source, const char *expected)
{
    char text[1024];
    assert_string_equal(fth_source_text(source, text, sizeof text), expected);
}

/* Positions in the source: with inlined calls, without the name of a file, none, and a list of
 * calls that is longer than a trace keeps. Equal instructions at different positions stay apart. */
static void positions_are_kept(void **state)
{
    (void)state;
    enum { DEEP = FTH_MAX_SOURCE_LEVELS + 5 };
    struct fth_source_position deep[DEEP];
    for (uint32_t i = 0; i < DEEP; i++)
        deep[i] = (struct fth_source_position){"d.cu", i + 1, i + 1 < DEEP ? &deep[i + 1] : NULL};
    const struct fth_source_position call = {"/src/k.cu", 7, NULL}, other = {"/src/k.cu", 8, NULL};
    const struct fth_source_position first = {"h.cuh", 2, &call}, second = {"h.cuh", 2, &other};
    const struct fth_source_position unnamed = {NULL, 3, NULL};
    const struct fth_source_position *const sources[] = {&first, &second, &unnamed, NULL, deep};
    const uint32_t one[3] = {1, 1, 1};
    struct fth_trace_writer *writer;
    struct fth_records records = {0};
    assert_int_equal(fth_trace_writer_create("s.trace", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", one, one, NULL), FTH_OK);
    for (size_t i = 0; i < 2 * FTH_COUNT(sources); i++) {
        const struct fth_trace_instruction facts = {
            .line = 9, .bytes = 4, .source = sources[i % FTH_COUNT(sources)]};
        const size_t number = fth_trace_writer_instruction(writer, &facts);
        assert_int_equal(number, i % FTH_COUNT(sources));
        const struct fth_record record = {.number = i, .instruction = (uint32_t)number, .mask = 1};
        assert_true(fth_records_add(&records, &record, &(uint64_t){64 * i}));
    }
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_end(writer, &(struct fth_trace_launch){0}, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    fth_records_fini(&records);

    /* The complete file, and one without its index. */
    struct fth_buffer file = {0};
    assert_int_equal(
        fth_file_read("s.trace", FTH_FILE_LIMIT("a file of the test", 1 << 20), &file, NULL),
        FTH_OK);
    for (size_t cut = 0; cut <= FTH_CONTAINER_TAIL_BYTES; cut += FTH_CONTAINER_TAIL_BYTES) {
        struct fth_trace *trace;
        int fd = file_of(file.data, file.size - cut);
        assert_int_equal(fth_trace_attach(fd, "trace", &trace, NULL), FTH_OK);
        assert_int_equal(fth_trace_instruction_count(trace), FTH_COUNT(sources));
        check_source(fth_trace_instruction_at(trace, 0)->source, "h.cuh:2, inlined at k.cu:7");
        check_source(fth_trace_instruction_at(trace, 1)->source, "h.cuh:2, inlined at k.cu:8");
        assert_string_equal(fth_trace_instruction_at(trace, 1)->source->inlined_at->file,
                            "/src/k.cu");
        check_source(fth_trace_instruction_at(trace, 2)->source, "line 3");
        assert_null(fth_trace_instruction_at(trace, 3)->source);
        uint32_t levels = 0;
        const struct fth_source_position *at = fth_trace_instruction_at(trace, 4)->source;
        for (; at; at = at->inlined_at)
            assert_int_equal(at->line, ++levels);
        assert_int_equal(levels, FTH_MAX_SOURCE_LEVELS);
        fth_trace_close(trace);
        close(fd);
    }
    fth_buffer_fini(&file);
}

/* Positions of a damaged or malicious file. */
static void invalid_positions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        bool valid;
    } rows[] = {
        {"\0", 1, true}, /* unknown */
        {"\1\4k.cu\7", 7, true},
        {"\2\4k.cu\7\0\1", 9, true},
        {"", 0, false},
        {"\1", 1, false},       /* no file */
        {"\1\5k.cu", 6, false}, /* a name that is not complete */
        {"\1\4k.cu", 6, false}, /* no line */
        {"\41", 1, false},      /* 33 positions */
        {"\377\377\377\377\377\377\377\377\377\1", 10, false},
        {"\1\4k.cu\377\377\377\377\177", 11, false}, /* a line of more than 32 bits */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_arena arena = {0};
        const unsigned char *data = (const unsigned char *)rows[i].bytes;
        struct fth_bytes bytes = {.at = data, .end = data + rows[i].size};
        fth_get_source(&bytes, &arena);
        assert_int_equal(!bytes.failed, rows[i].valid);
        if (rows[i].valid)
            assert_ptr_equal(bytes.at, bytes.end);
        assert_false(bytes.no_memory);
        fth_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_kept),
        cmocka_unit_test(invalid_positions_are_refused),
    };
    return cmocka_run_group_tests_name("trace_source", tests, enter_folder, leave_folder);
}
