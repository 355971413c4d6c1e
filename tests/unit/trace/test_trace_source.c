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

/* Writes s.trace, with two accesses of an instruction at each of these positions. */
static void write_trace(const struct fth_source_position *const *sources, size_t count)
{
    const uint32_t one[3] = {1, 1, 1};
    struct fth_trace_writer *writer;
    struct fth_records records = {0};
    assert_int_equal(fth_trace_writer_create("s.trace", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", one, one, NULL), FTH_OK);
    for (size_t i = 0; i < 2 * count; i++) {
        const struct fth_trace_instruction facts = {
            .line = 9, .bytes = 4, .source = sources[i % count]};
        const size_t number = fth_trace_writer_instruction(writer, &facts);
        assert_int_equal(number, i % count);
        const struct fth_record record = {.number = i, .instruction = (uint32_t)number, .mask = 1};
        assert_true(fth_records_add(&records, &record, &(uint64_t){64 * i}));
    }
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_end(writer, &(struct fth_trace_launch){0}, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    fth_records_fini(&records);
}

/* Checks the functions of instructions 5 and 6, whose positions differ only in the function. */
static void check_functions(const struct fth_trace *trace)
{
    for (size_t i = 5; i < 7; i++) {
        const struct fth_source_position *at = fth_trace_instruction_at(trace, i)->source;
        check_source(at, "h.cuh:9, inlined at h.cuh:2, inlined at k.cu:7");
        assert_string_equal(at->function, i == 5 ? "_Z4loadIfET_PKS0_i" : "_Z4loadIdET_PKS0_i");
        assert_string_equal(at->inlined_at->function, "middle");
        assert_null(at->inlined_at->inlined_at->function);
    }
    assert_null(fth_trace_instruction_at(trace, 0)->source->function);
}

/* Positions in the source: with inlined calls, without the name of a file, none, and a list of
 * calls that is longer than a trace keeps. Equal instructions at different positions stay apart. */
static void positions_are_kept(void **state)
{
    (void)state;
    enum { DEEP = FTH_MAX_SOURCE_LEVELS + 5 };
    struct fth_source_position deep[DEEP];
    for (uint32_t i = 0; i < DEEP; i++)
        deep[i] = (struct fth_source_position){
            .file = "d.cu", .line = i + 1, .inlined_at = i + 1 < DEEP ? &deep[i + 1] : NULL};
    const struct fth_source_position call = {.file = "/src/k.cu", .line = 7},
                                     other = {.file = "/src/k.cu", .line = 8};
    const struct fth_source_position first = {.file = "h.cuh", .line = 2, .inlined_at = &call},
                                     second = {.file = "h.cuh", .line = 2, .inlined_at = &other};
    const struct fth_source_position unnamed = {.line = 3};
    const struct fth_source_position named_call = {
        .file = "h.cuh", .line = 2, .inlined_at = &call, .function = "middle"};
    const struct fth_source_position named = {
        .file = "h.cuh", .line = 9, .inlined_at = &named_call, .function = "_Z4loadIfET_PKS0_i"};
    /* Positions that differ only in the function. */
    const struct fth_source_position twin = {
        .file = "h.cuh", .line = 9, .inlined_at = &named_call, .function = "_Z4loadIdET_PKS0_i"};
    const struct fth_source_position *const sources[] = {&first, &second, &unnamed, NULL,
                                                         deep,   &named,  &twin};
    write_trace(sources, FTH_COUNT(sources));

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
        check_functions(trace);
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

/* Functions of a damaged or malicious file. The instruction has two positions. */
static void invalid_functions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *inner, *outer; /* names */
        bool valid;
    } rows[] = {
        {"\0\1\1a\1\0", 6, "a", NULL, true},
        {"\0\2\1a\1b\2\1", 8, "b", "a", true},
        {"\0\0\0\0", 4, NULL, NULL, true},
        {"\0\0", 2, NULL, NULL, true}, /* functions of no instruction */
        {"", 0, NULL, NULL, false},
        {"\0", 1, NULL, NULL, false},                 /* no number of names */
        {"\0\2\1a", 4, NULL, NULL, false},            /* a name is missing */
        {"\0\377\377\377\177", 5, NULL, NULL, false}, /* more names than bytes */
        {"\0\1\1a\2\0", 6, NULL, NULL, false},        /* no such name */
        {"\0\1\1a\1", 5, "a", NULL, false},           /* one position is missing */
        {"\0\1\1a\1\1\1", 7, "a", "a", false},        /* there is no second instruction */
        {"\1\1\1a\1\1", 6, NULL, NULL, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_arena arena = {0};
        struct fth_source_position outer = {.file = "k.cu", .line = 7};
        struct fth_source_position inner = {.file = "k.cu", .line = 2, .inlined_at = &outer};
        struct fth_trace_instruction instruction = {.source = &inner};
        const unsigned char *data = (const unsigned char *)rows[i].bytes;
        struct fth_bytes bytes = {.at = data, .end = data + rows[i].size};
        fth_get_sources(FTH_PART_FUNCTIONS, &instruction, 1, &bytes, &arena);
        assert_int_equal(!bytes.failed && bytes.at == bytes.end, rows[i].valid);
        assert_string_equal(inner.function ? inner.function : "",
                            rows[i].inner ? rows[i].inner : "");
        assert_string_equal(outer.function ? outer.function : "",
                            rows[i].outer ? rows[i].outer : "");
        assert_false(bytes.no_memory);
        fth_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_kept),
        cmocka_unit_test(invalid_positions_are_refused),
        cmocka_unit_test(invalid_functions_are_refused),
    };
    return cmocka_run_group_tests_name("trace_source", tests, enter_folder, leave_folder);
}
