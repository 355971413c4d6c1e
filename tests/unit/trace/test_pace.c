/* Tests of the pace in trace/: steps between accesses (format/pace.c), their encoding, files with
 * and without them, hostile content, and what the recorder counts. */
#define _GNU_SOURCE /* for memmem */
#include "check.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- steps ---- */

/* More steps than the first hash table has slots. */
static void finds_the_steps_that_were_added(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    struct fth_pace pace = {0}, more = {0};
    assert_null(fth_pace_find(&pace, 1, 2));
    for (uint32_t from = 0; from < COUNT; from++)
        for (uint32_t to = 0; to < COUNT; to++) {
            struct fth_pace_step *step = fth_pace_step(&pace, from ? from : FTH_PACE_START, to);
            assert_non_null(step);
            step->count = 1;
            step->instructions = 100 * (uint64_t)from + to;
        }
    assert_int_equal(pace.count, COUNT * COUNT);
    for (uint32_t from = 0; from < COUNT; from++)
        for (uint32_t to = 0; to < COUNT; to++) {
            const uint32_t known = from ? from : FTH_PACE_START;
            const struct fth_pace_step *step = fth_pace_find(&pace, known, to);
            assert_non_null(step);
            assert_int_equal(step->from, known);
            assert_int_equal(step->to, to);
            assert_int_equal(step->instructions, 100 * from + to);
            assert_ptr_equal(fth_pace_step(&pace, known, to), step);
        }
    assert_null(fth_pace_find(&pace, 0, 0));
    assert_null(fth_pace_find(&pace, 1, COUNT));
    *fth_pace_step(&more, 3, 4) = (struct fth_pace_step){3, 4, 10, 1000, 20, 30, 40, 50};
    *fth_pace_step(&more, 77, 4) = (struct fth_pace_step){77, 4, 1, 2, 3, 4, 5, 6};
    assert_true(fth_pace_add(&pace, &more));
    assert_int_equal(pace.count, COUNT * COUNT + 1);
    const struct fth_pace_step *sum = fth_pace_find(&pace, 3, 4);
    assert_memory_equal(sum, (&(struct fth_pace_step){3, 4, 11, 1304, 20, 30, 40, 50}),
                        sizeof *sum);
    assert_memory_equal(fth_pace_find(&pace, 77, 4), &more.steps[1], sizeof *sum);
    fth_pace_fini(&pace);
    fth_pace_fini(&more);
    assert_int_equal(pace.count, 0);
}

/* ---- files ---- */

/* Writes a trace with a launch for each pace. Each launch has one access of each of three
 * instructions, in the order of their numbers from the last to the first, so that the numbers in
 * the file are others. NULL: a launch without a pace. */
static struct fth_buffer write_trace(const struct fth_pace *const *paces, size_t launches)
{
    struct fth_trace_writer *writer;
    struct fth_buffer file = {0};
    struct fth_error error = NO_ERROR;
    int fd;
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_attach(fd, "t", &writer, &error), FTH_OK);
    for (size_t l = 0; l < launches; l++) {
        struct fth_records records = {0};
        const uint32_t one[3] = {1, 1, 1};
        assert_int_equal(fth_trace_writer_begin(writer, "k", one, one, &error), FTH_OK);
        for (uint32_t i = 0; i < 4; i++) { /* the last one has no access */
            const struct fth_trace_instruction facts = {
                .line = i + 1, .bytes = 4, .wait = i ? 10 * i : UINT32_MAX};
            assert_int_equal(fth_trace_writer_instruction(writer, &facts), i);
        }
        for (uint32_t i = 0; i < 3; i++) {
            const struct fth_record record = {.number = i, .instruction = 2 - i, .mask = 1};
            assert_true(fth_records_add(&records, &record, &(uint64_t){64}));
        }
        assert_int_equal(fth_trace_writer_add(writer, &records, &error), FTH_OK);
        if (paces[l])
            fth_trace_writer_set_pace(writer, paces[l]);
        assert_int_equal(
            fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared_bytes = 0}, &error),
            FTH_OK);
        fth_records_fini(&records);
    }
    assert_int_equal(fth_trace_writer_commit(writer, &error), FTH_OK);
    const off_t size = lseek(fd, 0, SEEK_END);
    file.data = malloc((size_t)size);
    file.size = (size_t)size;
    assert_non_null(file.data);
    assert_int_equal(pread(fd, file.data, file.size, 0), size);
    close(fd);
    return file;
}

/* Opens the first `size` bytes of a file. */
static struct fth_trace *open_part(const struct fth_buffer *file, size_t size)
{
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    int fd;
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(pwrite(fd, file->data, size, 0), size);
    assert_int_equal(fth_trace_attach(fd, "t", &trace, &error), FTH_OK);
    close(fd);
    return trace;
}

/* The pace of a launch with the numbers of the writer. Instruction 3 has no access, so a step with
 * it is not written. */
static void fill(struct fth_pace *pace, uint64_t factor)
{
    *fth_pace_step(pace, 2, 1) = (struct fth_pace_step){2, 1, 7, 70 * factor, 8, 1, 0, 0};
    *fth_pace_step(pace, FTH_PACE_START, 2) =
        (struct fth_pace_step){FTH_PACE_START, 2, 7, 21, UINT64_MAX, 0, 2, 0};
    *fth_pace_step(pace, 0, 0) = (struct fth_pace_step){0, 0, 1, 5, 0, 0, 0, 0};
    *fth_pace_step(pace, 1, 0) = (struct fth_pace_step){1, 0, 6, 30, 1, 2, 3, 0};
    *fth_pace_step(pace, 0, FTH_PACE_END) =
        (struct fth_pace_step){0, FTH_PACE_END, 7, 9, 10, 11, 12, 0};
    *fth_pace_step(pace, 3, 0) = (struct fth_pace_step){3, 0, 1, 1, 1, 1, 1, 0};
    *fth_pace_step(pace, 0, 3) = (struct fth_pace_step){0, 3, 1, 1, 1, 1, 1, 0};
}

/* Compares a pace of a file with fill(). */
static void check_pace(const struct fth_pace *pace, uint64_t factor)
{
    assert_non_null(pace);
    assert_int_equal(pace->count, 5);
    /* In the file, the instructions have the numbers 0 to 2 in the reverse order. */
    const struct fth_pace_step expected[] = {{FTH_PACE_START, 0, 7, 21, UINT64_MAX, 0, 2, 0},
                                             {0, 1, 7, 70 * factor, 8, 1, 0, 0},
                                             {1, 2, 6, 30, 1, 2, 3, 0},
                                             {2, 2, 1, 5, 0, 0, 0, 0},
                                             {2, FTH_PACE_END, 7, 9, 10, 11, 12, 0}};
    assert_memory_equal(pace->steps, expected, sizeof expected);
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        assert_ptr_equal(fth_pace_find(pace, expected[i].from, expected[i].to), &pace->steps[i]);
    assert_null(fth_pace_find(pace, 0, 0));
    assert_null(fth_pace_find(pace, 2, 3));
}

static void files_keep_the_pace_of_each_launch(void **state)
{
    (void)state;
    struct fth_pace first = {0}, second = {0};
    fill(&first, 1);
    fill(&second, 2);
    struct fth_buffer file = write_trace((const struct fth_pace *[]){&first, NULL, &second}, 3);
    struct fth_trace *trace = open_part(&file, file.size);
    assert_int_equal(fth_trace_launch_count(trace), 3);
    check_pace(fth_trace_pace(trace, 0), 1);
    assert_null(fth_trace_pace(trace, 1));
    check_pace(fth_trace_pace(trace, 2), 2);
    assert_null(fth_trace_pace(trace, 3));
    assert_int_equal(fth_trace_instruction_at(trace, 0)->wait, 20);
    assert_int_equal(fth_trace_instruction_at(trace, 1)->wait, 10);
    assert_int_equal(fth_trace_instruction_at(trace, 2)->wait, UINT32_MAX);
    fth_trace_close(trace);
    fth_buffer_fini(&file);
    fth_pace_fini(&first);
    fth_pace_fini(&second);
}

/* The first launch has no loads of different constants, and the file nothing about them. */
static void files_keep_loads_of_constants(void **state)
{
    (void)state;
    struct fth_pace first = {0}, second = {0};
    fill(&first, 1);
    fill(&second, 1);
    fth_pace_step(&second, 2, 1)->constants = 9;
    fth_pace_step(&second, 0, 0)->constants = UINT64_MAX;
    fth_pace_step(&second, 0, FTH_PACE_END)->constants = 290;
    fth_pace_step(&second, 3, 0)->constants = 1;
    struct fth_buffer file = write_trace((const struct fth_pace *[]){&first, &second}, 2);
    struct fth_trace *trace = open_part(&file, file.size);
    check_pace(fth_trace_pace(trace, 0), 1);
    const struct fth_pace *pace = fth_trace_pace(trace, 1);
    const uint64_t expected[] = {0, 9, 0, UINT64_MAX, 290};
    assert_int_equal(pace->count, FTH_COUNT(expected));
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        assert_int_equal(pace->steps[i].constants, expected[i]);
    fth_trace_close(trace);
    struct fth_buffer without = write_trace((const struct fth_pace *[]){&first, &first}, 2);
    assert_true(without.size < file.size);
    assert_null(memmem(without.data, without.size, "CNST", 4));
    assert_non_null(memmem(file.data, file.size, "CNST", 4));
    fth_buffer_fini(&without);
    fth_buffer_fini(&file);
    fth_pace_fini(&first);
    fth_pace_fini(&second);
}

/* As those of the import, and of earlier versions. */
static void traces_without_a_pace_are_read(void **state)
{
    (void)state;
    struct fth_buffer file = write_trace((const struct fth_pace *[]){NULL, NULL}, 2);
    struct fth_trace *trace = open_part(&file, file.size);
    assert_null(fth_trace_pace(trace, 0));
    assert_null(fth_trace_pace(trace, 1));
    for (size_t i = 0; i < fth_trace_instruction_count(trace); i++)
        assert_int_equal(fth_trace_instruction_at(trace, i)->wait, UINT32_MAX);
    fth_trace_close(trace);
    fth_buffer_fini(&file);
}

/* A file that is cut off has the paces of the launches that are complete. */
static void truncated_files_keep_complete_paces(void **state)
{
    (void)state;
    struct fth_pace pace = {0};
    size_t with_first = 0, with_second = 0;
    fill(&pace, 1);
    struct fth_buffer file = write_trace((const struct fth_pace *[]){&pace, &pace}, 2);
    for (size_t size = 8; size < file.size; size++) {
        struct fth_trace *trace = open_part(&file, size);
        const struct fth_pace *first = fth_trace_pace(trace, 0), *second = fth_trace_pace(trace, 1);
        if (first)
            check_pace(first, 1);
        if (second)
            check_pace(second, 1);
        assert_true(first || !second);
        assert_true(first || !with_first);
        with_first += first != NULL;
        with_second += second != NULL;
        fth_trace_close(trace);
    }
    assert_true(with_second && with_second < with_first && with_first < file.size - 8);
    fth_buffer_fini(&file);
    fth_pace_fini(&pace);
}

/* ---- hostile content ---- */

/* Contents of a part of a file with two launches and three instructions. */
static const struct {
    const char *bytes;
    size_t size;
    bool valid;
} parts[] = {
#define PART(VALID, BYTES)                                                                         \
    {                                                                                              \
        BYTES, sizeof(BYTES) - 1, VALID                                                            \
    }
    /* launch; to + 1, wait + 1, steps; from + 1, count, instructions, cycles, barriers, shared */
    PART(true, "\1\1\5\1\0\1\2\3\4\5"),
    PART(true, "\0"),
    PART(true, "\1\1\5\2\1\1\2\3\4\5\0\1\2\3\4\5\3\0\1\0\1\2\3\4\5"),
    /* to the end of the warp */
    PART(true, "\1\1\5\1\0\1\2\3\4\5\0\0\2\1\1\2\3\4\5\0\1\2\3\4\5"),
    PART(false, "\1\0\0\1\0\1\2\3\4\5\1\5\1\0\1\2\3\4\5"),
    /* no launch; a launch that does not exist */
    PART(false, ""),
    PART(false, "\2\1\5\1\0\1\2\3\4\5"),
    PART(false, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\5\1\0\1\2\3\4\5"),
    /* instructions that do not exist */
    PART(false, "\1\4\5\1\0\1\2\3\4\5"),
    PART(false, "\1\1\5\1\4\1\2\3\4\5"),
    PART(false, "\1\xff\xff\xff\xff\xf\5\1\0\1\2\3\4\5"),
    PART(false, "\1\1\5\1\xff\xff\xff\xff\xf\1\2\3\4\5"),
    /* numbers of more than 32 bits */
    PART(false, "\1\x80\x80\x80\x80\x10\5\1\0\1\2\3\4\5"),
    PART(false, "\1\1\x80\x80\x80\x80\x10\1\0\1\2\3\4\5"),
    PART(false, "\1\1\5\1\x80\x80\x80\x80\x10\1\2\3\4\5"),
    /* no steps; more steps than there are; a step that is not complete */
    PART(false, "\1\1\5\0"),
    PART(false, "\1\1\5\2\0\1\2\3\4\5"),
    PART(false, "\1\1\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\1\2\3\4\5"),
    PART(false, "\1\1\5\1\0\1\2\3\4"),
    PART(false, "\1\1\5"),
    /* a step that never happens */
    PART(false, "\1\1\5\1\0\0\2\3\4\5"),
    /* steps twice, and in another order */
    PART(false, "\1\1\5\2\1\1\2\3\4\5\1\1\2\3\4\5"),
    PART(false, "\1\1\5\2\0\1\2\3\4\5\1\1\2\3\4\5"),
    PART(false, "\1\1\5\1\0\1\2\3\4\5\1\5\1\0\1\2\3\4\5"),
    PART(false, "\1\2\5\1\0\1\2\3\4\5\1\5\1\0\1\2\3\4\5"),
#undef PART
};

static void refuses_hostile_content(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(parts); i++) {
        struct fth_trace_instruction instructions[3] = {{.wait = 1}, {.wait = 1}, {.wait = 1}};
        struct fth_paces paces = {0};
        struct fth_bytes bytes = {.at = (const unsigned char *)parts[i].bytes};
        bytes.end = bytes.at + parts[i].size;
        const bool ok = fth_paces_get(&paces, &bytes, 2, instructions, 3);
        if (ok != parts[i].valid)
            fail_msg("part %zu is %s", i, ok ? "accepted" : "refused");
        assert_false(bytes.no_memory);
        /* The launch has a pace already. */
        bytes.at = (const unsigned char *)parts[0].bytes;
        bytes.end = bytes.at + parts[0].size;
        if (ok && paces.items[1].count)
            assert_false(fth_paces_get(&paces, &bytes, 2, instructions, 3));
        fth_paces_fini(&paces);
    }
}

/* Contents of a part with the loads of constants of launch 1, whose pace has three steps. */
static const struct {
    const char *bytes;
    size_t size;
    bool valid;
} constant_parts[] = {
#define PART(VALID, BYTES)                                                                         \
    {                                                                                              \
        BYTES, sizeof(BYTES) - 1, VALID                                                            \
    }
    /* launch; steps without, constants */
    PART(true, "\1"),
    PART(true, "\1\0\5"),
    PART(true, "\1\2\5"),
    PART(true, "\1\0\5\0\6\0\7"),
    PART(true, "\1\0\5\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
    /* no launch; one without a pace; one that does not exist */
    PART(false, ""),
    PART(false, "\0\0\5"),
    PART(false, "\2\0\5"),
    /* steps that do not exist */
    PART(false, "\1\3\5"),
    PART(false, "\1\2\5\0\5"),
    PART(false, "\1\0\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\5"),
    /* a step that is not complete; one without constants */
    PART(false, "\1\0"),
    PART(false, "\1\0\0"),
#undef PART
};

static void refuses_hostile_constants(void **state)
{
    (void)state;
    const char pace[] = "\1\1\5\2\1\1\2\3\4\5\0\1\2\3\4\5\3\0\1\0\1\2\3\4\5";
    for (size_t i = 0; i < FTH_COUNT(constant_parts); i++) {
        struct fth_trace_instruction instructions[3] = {{.wait = 1}, {.wait = 1}, {.wait = 1}};
        struct fth_paces paces = {0};
        struct fth_bytes bytes = {.at = (const unsigned char *)pace};
        bytes.end = bytes.at + sizeof pace - 1;
        assert_true(fth_paces_get(&paces, &bytes, 2, instructions, 3));
        assert_int_equal(paces.items[1].count, 3);
        bytes.at = (const unsigned char *)constant_parts[i].bytes;
        bytes.end = bytes.at + constant_parts[i].size;
        const bool ok = fth_paces_get_constants(&paces, &bytes);
        if (ok != constant_parts[i].valid)
            fail_msg("part %zu is %s", i, ok ? "accepted" : "refused");
        /* The first step has constants already. */
        bytes.at = (const unsigned char *)constant_parts[1].bytes;
        bytes.end = bytes.at + constant_parts[1].size;
        if (ok && paces.items[1].steps[0].constants)
            assert_false(fth_paces_get_constants(&paces, &bytes));
        fth_paces_fini(&paces);
    }
}

/* ---- the recorder ---- */

static const char kernel[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 in)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .shared .b32 s[64];\n"
    "ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    /* the blocks after the first one end here */
    "setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE;\n"
    "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; mov.u32 %r3, 0;\n"
    "NEXT:\n"
    "ld.global.f32 %f1, [%rd3];\n" /* from the start, and from the store */
    "st.shared.f32 [s], %f1; bar.sync 0; ld.shared.f32 %f2, [s+4]; bar.sync 0;\n"
    "fma.rn.f32 %f3, %f1, %f2, %f2; fma.rn.f32 %f3, %f3, %f2, %f2;\n"
    "st.global.f32 [%rd3], %f3;\n"
    "add.s32 %r3, %r3, 1; setp.lt.s32 %p2, %r3, 3; @%p2 bra NEXT;\n"
    "DONE:\nret;\n}\n";

/* The warps wait at the barrier of their cluster. */
static const char cluster_kernel[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 in) .reqnctapercluster 3, 1, 1\n{\n"
    ".reg .b64 %rd1; .reg .f32 %f1;\n"
    "ld.param.u64 %rd1, [in]; ld.global.f32 %f1, [%rd1];\n"
    "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait;\n"
    "st.global.f32 [%rd1], %f1; ret;\n}\n";

/* Records two launches of three blocks with two warps each. Returns the trace. */
static struct fth_trace *record(const char *text, unsigned threads)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_trace_writer *writer;
    struct fth_trace_recorder *recorder;
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR, engine_error = NO_ERROR;
    uint64_t buffer;
    int fd;
    const uint32_t grid[3] = {3, 1, 1}, block[3] = {64, 1, 1};
    assert_int_equal(fth_ptx_read_text("t", text, strlen(text), &module, &error), FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, &error), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, &error), FTH_OK);
    assert_int_equal(fth_temporary_open(&fd, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_attach(fd, "t", &writer, &error), FTH_OK);
    assert_int_equal(fth_trace_recorder_create(writer, &recorder, &error), FTH_OK);
    for (int launches = 0; launches < 2; launches++) {
        assert_int_equal(fth_trace_recorder_begin(recorder, "k", grid, block, NULL, &error),
                         FTH_OK);
        const struct fth_ptx_launch launch = {.kernel = "k",
                                              .grid = {3, 1, 1},
                                              .block = {64, 1, 1},
                                              .arguments = &buffer,
                                              .argument_bytes = sizeof buffer,
                                              .threads = threads,
                                              .observer = fth_trace_recorder_observer(recorder)};
        const enum fth_status status = fth_ptx_run(machine, &launch, NULL, &engine_error);
        assert_int_equal(fth_trace_recorder_end(recorder, status, 256, &engine_error, &error),
                         FTH_OK);
    }
    fth_trace_recorder_destroy(recorder);
    assert_int_equal(fth_trace_writer_commit(writer, &error), FTH_OK);
    assert_int_equal(fth_trace_attach(fd, "t", &trace, &error), FTH_OK);
    close(fd);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return trace;
}

/* Two warps of one block execute three iterations each. */
static void the_recorder_adds_up_steps(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct fth_trace *trace = record(kernel, threads);
        for (size_t launch = 0; launch < 2; launch++) {
            const struct fth_pace *pace = fth_trace_pace(trace, launch);
            assert_non_null(pace);
            assert_int_equal(pace->count, 5);
            /* two at the start of a kernel, ld.param, two special registers, setp, bra, IMAD.WIDE,
             * and the load */
            const struct fth_pace_step *start = fth_pace_find(pace, FTH_PACE_START, 0);
            assert_non_null(start);
            assert_int_equal(start->count, 2);
            assert_int_equal(start->instructions, 2 * 9);
            assert_int_equal(start->barriers, 0);
            assert_int_equal(start->shared, 0);
            /* two accesses to shared memory, two barriers, two products, and the store */
            const struct fth_pace_step *body = fth_pace_find(pace, 0, 1);
            assert_non_null(body);
            assert_int_equal(body->count, 6);
            assert_int_equal(body->instructions, 6 * 7);
            assert_int_equal(body->latency_cycles, 6 * 8);
            assert_int_equal(body->barriers, 6 * 2);
            assert_int_equal(body->shared, 6 * 2);
            /* add, setp, bra, and the load */
            const struct fth_pace_step *back = fth_pace_find(pace, 1, 0);
            assert_non_null(back);
            assert_int_equal(back->count, 4);
            assert_int_equal(back->instructions, 4 * 4);
            assert_int_equal(back->barriers, 0);
            /* add, setp, bra, ret */
            const struct fth_pace_step *end = fth_pace_find(pace, 1, FTH_PACE_END);
            assert_non_null(end);
            assert_int_equal(end->count, 2);
            assert_int_equal(end->instructions, 2 * 4);
            /* the warps of the other blocks, which have no access: two at the start, ld.param,
             * two special registers, setp, bra, ret */
            const struct fth_pace_step *none = fth_pace_find(pace, FTH_PACE_START, FTH_PACE_END);
            assert_non_null(none);
            assert_int_equal(none->count, 4);
            assert_int_equal(none->instructions, 4 * 8);
        }
        assert_int_equal(fth_trace_instruction_count(trace), 4); /* two access shared memory */
        assert_int_equal(fth_trace_instruction_at(trace, 0)->wait, 1);
        assert_int_equal(fth_trace_instruction_at(trace, 1)->wait, UINT32_MAX);
        fth_trace_close(trace);
    }
}

/* Four loads of consecutive words of shared memory, which an assembler merges. The lanes read the
 * addresses %tid.x / divisor * 16. */
static void merged_loads_are_one_request(void **state)
{
    (void)state;
    static const struct {
        unsigned divisor, shared;
    } rows[] = {{64, 1}, {4, 1}, {2, 4}, {1, 4}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in)\n{"
            ".reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .f32 %%f<9>;\n"
            ".shared .align 16 .b8 s[1024];\n"
            "ld.param.u64 %%rd1, [in]; mov.u32 %%r1, %%tid.x; div.u32 %%r2, %%r1, %u;\n"
            "shl.b32 %%r3, %%r2, 4; mov.u32 %%r4, s; add.u32 %%r5, %%r3, %%r4;\n"
            "ld.global.f32 %%f0, [%%rd1];\n"
            "ld.shared.f32 %%f1, [%%r5]; ld.shared.f32 %%f2, [%%r5+4];\n"
            "ld.shared.f32 %%f3, [%%r5+8]; ld.shared.f32 %%f4, [%%r5+12];\n"
            "add.f32 %%f5, %%f1, %%f2; add.f32 %%f6, %%f3, %%f4; add.f32 %%f7, %%f5, %%f6;\n"
            "add.f32 %%f7, %%f7, %%f0;\n"
            "st.global.f32 [%%rd1], %%f7;\nret;\n}\n",
            rows[i].divisor);
        struct fth_trace *trace = record(text, 1);
        const struct fth_pace_step *step = fth_pace_find(fth_trace_pace(trace, 0), 0, 1);
        assert_non_null(step);
        assert_int_equal(step->shared, step->count * rows[i].shared);
        fth_trace_close(trace);
    }
}

/* The lanes load the constants %tid.x / divisor. A load with one address is free. A warp waits 11
 * cycles for each further address. */
static void the_recorder_counts_addresses_of_constants(void **state)
{
    (void)state;
    static const struct {
        unsigned divisor, threads, addresses;
    } rows[] = {{64, 1, 0}, {32, 1, 0}, {16, 1, 2}, {8, 2, 4}, {1, 1, 32}};
    uint64_t latency = 0;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 ".version 8.4\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[256];\n"
                 ".visible .entry k(.param .u64 in)\n{"
                 ".reg .b32 %%r<9>; .reg .b64 %%rd<9>; .reg .f32 %%f<9>;\n"
                 "ld.param.u64 %%rd1, [in]; mov.u32 %%r1, %%tid.x; div.u32 %%r2, %%r1, %u;\n"
                 "mul.wide.u32 %%rd2, %%r2, 4; mov.u64 %%rd3, table; add.u64 %%rd4, %%rd3, %%rd2;\n"
                 "ld.global.f32 %%f0, [%%rd1];\n"
                 "ld.const.f32 %%f1, [%%rd4]; ld.const.f32 %%f2, [table];\n"
                 "add.f32 %%f1, %%f1, %%f2; add.f32 %%f1, %%f1, %%f0;\n"
                 "st.global.f32 [%%rd1], %%f1;\nret;\n}\n",
                 rows[i].divisor);
        struct fth_trace *trace = record(text, rows[i].threads);
        const struct fth_pace *pace = fth_trace_pace(trace, 0);
        const struct fth_pace_step *step = fth_pace_find(pace, 0, 1);
        assert_non_null(step);
        latency = i ? latency : step->latency_cycles;
        const uint64_t further = rows[i].addresses ? rows[i].addresses - 1 : 0;
        assert_int_equal(step->constants, step->count * rows[i].addresses);
        assert_int_equal(step->latency_cycles, latency + step->count * 11 * further);
        assert_int_equal(fth_pace_find(pace, FTH_PACE_START, 0)->constants, 0);
        assert_int_equal(fth_pace_find(pace, 1, FTH_PACE_END)->constants, 0);
        fth_trace_close(trace);
    }
}

static void the_recorder_counts_barriers_of_clusters(void **state)
{
    (void)state;
    struct fth_trace *trace = record(cluster_kernel, 1);
    const struct fth_pace *pace = fth_trace_pace(trace, 0);
    assert_non_null(pace);
    const struct fth_pace_step *step = fth_pace_find(pace, 0, 1);
    assert_non_null(step);
    assert_int_equal(step->count, 6);
    assert_int_equal(step->barriers, 6 * 2);
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_steps_that_were_added),
        cmocka_unit_test(files_keep_the_pace_of_each_launch),
        cmocka_unit_test(files_keep_loads_of_constants),
        cmocka_unit_test(traces_without_a_pace_are_read),
        cmocka_unit_test(truncated_files_keep_complete_paces),
        cmocka_unit_test(refuses_hostile_content),
        cmocka_unit_test(refuses_hostile_constants),
        cmocka_unit_test(the_recorder_adds_up_steps),
        cmocka_unit_test(the_recorder_counts_barriers_of_clusters),
        cmocka_unit_test(merged_loads_are_one_request),
        cmocka_unit_test(the_recorder_counts_addresses_of_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
