/* Tests the import of traces in text form and of .traceg files: complete imports, written as text
 * again, and the message for each fault. Also tests the totals of imported traces. */
#include "check.h"
#include "folder.h"
#include "trace/trace.h"

#include <stdio.h>

/* Imports a text. Returns NULL, and sets the error, if it is refused. */
static struct fth_trace *import(const char *text, struct fth_error *error)
{
    struct fth_trace *trace = NULL;
    write_plain("import", text, strlen(text));
    if (fth_trace_obtain("import", NULL, &trace, error) != FTH_OK)
        assert_null(trace);
    return trace;
}

static void describe_launch(const struct fth_trace *trace, size_t index, struct fth_buffer *out)
{
    static const char kinds[] = "RWA";
    const struct fth_trace_launch *launch = fth_trace_launch_at(trace, index);
    const struct fth_trace_access *access;
    struct fth_trace_cursor *cursor;
    fth_buffer_format(out, "%s %u,%u,%u %u,%u,%u: shared %llu, local %llu, const %llu, tex %llu\n",
                      launch->kernel, launch->grid[0], launch->grid[1], launch->grid[2],
                      launch->block[0], launch->block[1], launch->block[2],
                      (unsigned long long)launch->shared, (unsigned long long)launch->local,
                      (unsigned long long)launch->constant, (unsigned long long)launch->texture);
    assert_int_equal(fth_trace_cursor_open(trace, index, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
    while (fth_trace_next(cursor, &access, NULL) == FTH_OK && access) {
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(trace, access->instruction);
        char position[80];
        fth_buffer_format(out, "%llu %llu %u %c%u@%u:%u %x", (unsigned long long)access->number,
                          (unsigned long long)access->block, access->warp, kinds[instruction->kind],
                          instruction->bytes, instruction->line, instruction->source_line,
                          access->mask);
        for (uint32_t i = 0; i < access->threads; i++)
            fth_buffer_format(out, " %llx", (unsigned long long)access->addresses[i]);
        if (instruction->source)
            fth_buffer_format(out, " (%s)",
                              fth_source_text(instruction->source, position, sizeof position));
        fth_buffer_text(out, "\n");
    }
    fth_trace_cursor_close(cursor);
}

static void assert_imported(const char *text, const char *expected)
{
    struct fth_error error = NO_ERROR;
    struct fth_buffer out = {0};
    struct fth_trace *trace = import(text, &error);
    if (!trace)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++)
        describe_launch(trace, i, &out);
    assert_string_equal(out.data, expected);
    fth_buffer_fini(&out);
    fth_trace_close(trace);
}

static void texts_are_imported_completely(void **state)
{
    (void)state;
    assert_imported("# kernel first\n# grid 2 3 4\r\n# block 33 1 1\n"
                    "# instruction 1 bytes 8 line 57 source 12\n"
                    "#source 1 12 folder/a file.h\n# source 1 30 b.cu\n# another remark\n"
                    "0 23 32 R:1 0x10\n"
                    "  1,{0}(1) W 0x20\n"
                    "2 1 0 A 2/0x80000001 5 0X1F\r\n"
                    "0 0 31 0 007\n"
                    "# kernel second\n"
                    "0 5 0 1 1/4 9\n"
                    "3 0 1023 A:0 8\n"
                    "\n"
                    "   # kernel third\n",
                    "first 2,3,4 33,1,1: shared 0, local 0, const 0, tex 0\n"
                    "0 0 0 R4@0:0 80000000 7\n"
                    "0 23 1 R8@57:12 1 10 (a file.h:12, inlined at b.cu:30)\n"
                    "1 0 0 W4@0:0 2 20\n"
                    "2 1 0 A4@0:0 80000001 5 1f\n"
                    "second 6,1,1 1024,1,1: shared 0, local 0, const 0, tex 0\n"
                    "0 5 0 W4@0:0 4 9\n"
                    "3 0 31 A4@0:0 80000000 8\n"
                    "third 1,1,1 1,1,1: shared 0, local 0, const 0, tex 0\n");
}

/* The highest number of an instruction, the largest access, and the largest block. */
static void local_memory_is_imported(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    struct fth_trace *trace = import("# instruction 0 bytes 4 line 5 source 0 local\n"
                                     "# instruction 1 bytes 8 line 6 source 0\n"
                                     "# kernel a\n# local 48\n0 0 0 R:0 1 0x80\n1 0 0 R:1 1 0x80\n"
                                     "# kernel b\n0 0 0 W:1 1 0x80\n",
                                     &error);
    assert_non_null(trace);
    assert_int_equal(fth_trace_launch_at(trace, 0)->local_bytes, 48);
    assert_int_equal(fth_trace_launch_at(trace, 1)->local_bytes, 0);
    assert_int_equal(fth_trace_instruction_at(trace, 0)->hints, FTH_TRACE_LOCAL);
    assert_int_equal(fth_trace_instruction_at(trace, 1)->hints, 0);
    assert_int_equal(fth_trace_instruction_at(trace, 2)->hints, 0);
    fth_trace_close(trace);
    assert_null(import("# kernel a\n# local x\n0 0 0 R 1 0x80\n", &error));
    assert_non_null(strstr(error.cause, "expected 'local N'"));
}

static void limits_are_imported(void **state)
{
    (void)state;
    assert_imported("# kernel k\n# grid 2147483647 2 1\n# block 32 32 1\n"
                    "# instruction 65535 bytes 64 line 4294967295 source 4294967295\n"
                    "# instruction 2 bytes 1 line 0 source 0\n"
                    "0 0 1023 R:65535 18446744073709551615\n0 4294967293 0 R:2 0\n",
                    "k 2147483647,2,1 32,32,1: shared 0, local 0, const 0, tex 0\n"
                    "0 0 31 R64@4294967295:4294967295 80000000 ffffffffffffffff\n"
                    "0 4294967293 0 R1@0:0 1 0\n");
}

#define TUPLE_FAULT "expected AN BID TID S ADD or AN BID WID S NT ADD..."
#define RANGE_FAULT "out of range: BID must be below 2^32 - 1, TID below 1024 and WID below 32"
#define COUNT_FAULT "NT must be from 1 to 32 and equal to the number of addresses"
#define MASK_FAULT "the mask after NT must have NT bits set"
#define INSTRUCTION_FAULT                                                                          \
    "expected 'instruction N bytes N line N source N', with 1 to 64 bytes per lane"
#define TEXTURE_FAULT                                                                              \
    "expected 'texture N N', with 1, 2 or 4 texels per lane and 1, 2, 4 or 8 lanes per request"
#define SOURCE_FAULT "expected 'source N LINE FILE', with the number N of an instruction above"

static const struct {
    const char *text, *cause;
} text_faults[] = {
    {"0 0 0 R", TUPLE_FAULT},
    {"x 0 0 R 4", TUPLE_FAULT},
    {"0 -1 0 R 4", TUPLE_FAULT},
    {"0 0 0x R 4", TUPLE_FAULT},
    {"0 0 1024 R 4", RANGE_FAULT},
    {"0 0 32 R 1 4", RANGE_FAULT},
    {"0 4294967295 0 R 4", RANGE_FAULT},
    {"0 0 0 X 4", "S must be R, W, A, 0 or 1"},
    {"0 0 0 RR 4", "S must be R, W, A, 0 or 1"},
    {"0 0 0 R:0 4", "no '# instruction' line describes this instruction"},
    {"0 0 0 R:x 4", "no '# instruction' line describes this instruction"},
    {"0 0 0 R 4x", "invalid address"},
    {"0 0 0 R 18446744073709551616", "invalid address"},
    {"0 0 0 R 2 4 x", "invalid address"},
    {"0 0 0 R 0 4", COUNT_FAULT},
    {"0 0 0 R 2 4", COUNT_FAULT},
    {"0 0 0 R x 4", COUNT_FAULT},
    {"0 0 0 R 1 4 5", COUNT_FAULT},
    {"0 0 0 R 33 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 "
     "30 31 32 33",
     COUNT_FAULT},
    {"0 0 0 R 1/3 4", MASK_FAULT},
    {"0 0 0 R 1/x 4", MASK_FAULT},
    {"0 0 0 R 1/0x100000000 4", MASK_FAULT},
    {"# grid 1 1", "expected three positive integers"},
    {"# grid 0 1 1", "expected three positive integers"},
    {"# grid 1 0 1", "expected three positive integers"},
    {"# grid 1 1 0", "expected three positive integers"},
    {"# grid 2147483648 1 1", "expected three positive integers"},
    {"# block 32 33 1", "a block has at most 1024 threads"},
    {"# block 2147483647 2147483647 2147483647", "a block has at most 1024 threads"},
    {"# instruction x bytes 4 line 1 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 bytes 4 line 1 source 1 texture 3 4", TEXTURE_FAULT},
    {"# instruction 0 bytes 4 line 1 source 1 texture 4 16", TEXTURE_FAULT},
    {"# instruction 0 bytes 4 line 1 source 1 texture 4", TEXTURE_FAULT},
    {"# instruction 65536 bytes 4 line 1 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 bytes 0 line 1 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 bytes 65 line 1 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 line 1 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 bytes 4 source 1", INSTRUCTION_FAULT},
    {"# instruction 0 bytes 4 line 1", INSTRUCTION_FAULT},
    {"# source 0 1 x", SOURCE_FAULT},
    {"# source x", SOURCE_FAULT},
};

static void faults_of_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(text_faults); i++) {
        char text[256], cause[256];
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text, "# a remark\n0 0 0 R 4\n%s\n", text_faults[i].text);
        if (import(text, &error))
            fail_msg("%s is accepted", text_faults[i].text);
        snprintf(cause, sizeof cause, "line 3: %s", text_faults[i].cause);
        if (strcmp(error.cause, cause) != 0)
            fail_msg("%s: %s", text_faults[i].text, error.cause);
        assert_int_equal(error.status, FTH_INVALID);
    }
}

/* If the text states the sizes, accesses must be inside. */
static void accesses_outside_of_the_launch_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"# grid 2 3 4\n0 23 0 R 4\n0 24 0 R 4\n",
         "line 3: block 24 is outside of the grid, which is 2x3x4; correct '# grid' or leave it "
         "out"},
        {"# block 4 2 5\n0 0 39 R 4\n0 0 40 R 4\n",
         "line 3: thread 40 is outside of the block, which is 4x2x5; correct '# block' or leave it "
         "out"},
        {"# block 4 2 5\n0 0 1 R 1/0x80 4\n0 0 1 R 1/0x100 4\n",
         "line 3: thread 40 is outside of the block"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_null(import(rows[i][0], &error));
        assert_contains(error.cause, rows[i][1]);
    }
}

#define HEADER "-kernel name = k\n-grid dim = (3,2,2)\n-block dim = (64,1,1)\n"
#define VERSION "-accelsim tracer version = 3\n"
#define BLOCK "thread block = 2,1,1\nwarp = 1\n"

static void accel_sim_traces_are_imported_completely(void **state)
{
    (void)state;
    assert_imported(HEADER VERSION
                    "-shmem base_addr = 0x1000000000\n-local mem base_addr = 0x2000000000\n"
                    "#BEGIN_TB\n" BLOCK "insts = 20\n"
                    "0010 00000003 1 R1 LDG.E.64 1 R2 8 1 0x100 -8\n"
                    "0020 0000000d 1 R1 LDG.E.U8 1 R2 4 2 0x100 4 -2\n"
                    "0030 80000001 0 STG.E.S16.X 2 R2 R3 4 0 0x300 a0\n"
                    "0040 00000001 0 ATOMG.E 0 4 0 0x400\n"
                    "0050 00000001 0 REDG.E.256 0 4 0 0x500\n"
                    "0060 00000001 0 RED.E.264 0 4 0 0x600\n"
                    "0070 00000001 0 LDGSTS.E.12 0 4 0 0x700\n"
                    "0080 00000001 0 LD.E 0 4 0 0x1000ffffff\n"
                    "0081 00000001 0 LD.E 0 4 0 0x1001000000\n"
                    "0090 00000001 0 ST.E 0 4 0 0x2000ffffff\n"
                    "0091 00000001 0 ATOM.E 0 4 0 0x2001000000\n"
                    "00a0 00000001 0 LDS 0 4 0 0x0\n00a0 00000001 0 STS 0 4 0 0x0\n"
                    "00a0 00000001 0 LDSM 0 4 0 0x0\n00a0 00000001 0 ATOMS 0 4 0 0x0\n"
                    "00b0 00000001 0 LDL 0 4 0 0x0\n00b0 00000001 0 STL 0 4 0 0x0\n"
                    "00c0 00000001 0 LDC 0 4 0 0x0\n"
                    "00d0 00000001 0 TEX 0 4 0 0x0\n00d0 00000001 0 TLD 0 4 0 0x0\n"
                    "00e0 00000000 0 LDG 0 4\n00f0 00000001 0 LDG 0 0\n0100 00000001 0 NOP 0 4\n"
                    "warp = 0\n0110 00000001 0 LDG 0 4 0 0x800\n"
                    "#END_TB\nthread block = 0,0,1\nwarp = 1\n0120 00000001 0 LDG 0 4 0 0x900\n",
                    "k 3,2,2 64,1,1: shared 5, local 3, const 1, tex 2\n"
                    "0 6 1 R4@288:0 1 900\n"
                    "0 11 0 R4@272:0 1 800\n"
                    "0 11 1 R8@16:0 3 100 f8\n"
                    "1 11 1 R1@32:0 d 100 104 102\n"
                    "2 11 1 W2@48:0 80000001 300 a0\n"
                    "3 11 1 A4@64:0 1 400\n"
                    "4 11 1 A32@80:0 1 500\n"
                    "5 11 1 A4@96:0 1 600\n"
                    "6 11 1 R4@112:0 1 700\n"
                    "7 11 1 R4@129:0 1 1001000000\n"
                    "8 11 1 A4@145:0 1 2001000000\n");
    /* Before version 3, block and warp come first; lineinfo adds a line of the source. */
    assert_imported("-grid dim = (1,1,1)\n-block dim = (1024,1,1)\n"
                    "-accelsim tracer version = 2\n-enable lineinfo = 1\n"
                    "thread block = 0,0,0\nwarp = 31\n0 0 0 31 77 0010 1 0 LDG 0 4 0 0x100\n",
                    "kernel 1,1,1 1024,1,1: shared 0, local 0, const 0, tex 0\n"
                    "0 0 31 R4@16:77 1 100\n");
}

static void faults_of_accel_sim_traces_are_refused(void **state)
{
    (void)state;
    static const char instruction[] = "expected an instruction as Accel-Sim's tracer writes it";
    static const char addresses[] = "expected one address per active thread";
    static const char shape[] = "the header has no valid '-grid dim' and '-block dim'";
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {HEADER VERSION "thread block = 1,2", "expected 'thread block = X,Y,Z'"},
        {"-grid dim = (1,1,1)\n-x\n-x\n-x\nthread block = 0,0,0", shape},
        {"-block dim = (1,1,1)\n-x\n-x\n-x\nthread block = 0,0,0", shape},
        {"-grid dim = (1,0,1)\n-block dim = (1,1,1)\n-x\n-x\nthread block = 0,0,0", shape},
        {"-grid dim = (1,1,0)\n-block dim = (1,1,1)\n-x\n-x\nthread block = 0,0,0", shape},
        {"-grid dim = (1,1,1)\n-block dim = (32,33,1)\n-x\n-x\nthread block = 0,0,0", shape},
        {"-grid dim = (1,1,1)\n-block dim = (1025,1,1)\n-x\n-x\nthread block = 0,0,0", shape},
        {HEADER VERSION "warp = 2", "the warp index is outside the block"},
        {HEADER VERSION "warp = x", "the warp index is outside the block"},
        {HEADER VERSION "0010 1 0 LDG 0 4 0 0x1",
         "an instruction before the first 'thread block' line"},
        {HEADER "thread block = 0,0,0\n0 0 0 x",
         "expected block and warp at the start of an instruction"},
        {HEADER "-enable lineinfo = 1\n" BLOCK "0 0 0 0 x",
         "expected a source line number at the start of an instruction"},
        {HEADER VERSION BLOCK "x", instruction},
        {HEADER VERSION BLOCK "10 x", instruction},
        {HEADER VERSION BLOCK "10 100000000 0 LDG 0 4 0 0x1", instruction},
        {HEADER VERSION BLOCK "10 1 17 R R R R R R R R R R R R R R R R R LDG 0 0", instruction},
        {HEADER VERSION BLOCK "10 1 x LDG 0 0", instruction},
        {HEADER VERSION BLOCK "10 1 2 R", instruction},
        {HEADER VERSION BLOCK "10 1 0", instruction},
        {HEADER VERSION BLOCK "10 1 0 LDG", instruction},
        {HEADER VERSION BLOCK "10 1 0 LDG 0", instruction},
        {HEADER VERSION BLOCK "10 1 0 LDG 0 4", addresses},
        {HEADER VERSION BLOCK "10 1 0 LDG 0 4 3 0x1", addresses},
        {HEADER VERSION BLOCK "10 1 0 LDG 0 4 0", addresses},
        {HEADER VERSION BLOCK "10 3 0 LDG 0 4 0 0x1", addresses},
        {HEADER VERSION BLOCK "10 3 0 LDG 0 4 1 0x1", addresses},
        {HEADER VERSION BLOCK "10 7 0 LDG 0 4 2 0x1 4", addresses},
        {HEADER VERSION, "the file ends without a 'thread block' line"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char cause[160];
        struct fth_error error = NO_ERROR;
        size_t number = 1; /* of the last line, or of the line after the last newline */
        for (const char *at = rows[i].text; *at; at++)
            number += *at == '\n' && at[1];
        if (import(rows[i].text, &error))
            fail_msg("%s is accepted", rows[i].text);
        snprintf(cause, sizeof cause, "line %zu: %s", number, rows[i].cause);
        if (strcmp(error.cause, cause) != 0)
            fail_msg("%s: %s", rows[i].text, error.cause);
    }
    assert_imported(HEADER VERSION BLOCK "10 1 16 R R R R R R R R R R R R R R R R LDG 0 4 0 0x1\n",
                    "k 3,2,2 64,1,1: shared 0, local 0, const 0, tex 0\n0 11 1 R4@16:0 1 1\n");
}

static void long_lines_are_refused(void **state)
{
    (void)state;
    enum { LIMIT = 65536 };
    static char text[LIMIT + 16];
    struct fth_error error = NO_ERROR;
    memset(text, '#', LIMIT);
    snprintf(text + LIMIT, 16, "\n0 0 0 R 4\n");
    struct fth_trace *trace = import(text, &error);
    if (!trace)
        fail_msg("%s", error.cause);
    fth_trace_close(trace);
    snprintf(text + LIMIT, 16, "#\n0 0 0 R 4\n");
    assert_null(import(text, &error));
    assert_contains(error.cause, "line 1 is longer than 65536 bytes");
}

/* ---- totals ---- */

static void describe_row(const struct fth_trace_row *row, struct fth_buffer *out)
{
    const uint64_t *const counts[] = {row->requests, row->accesses, row->sectors, row->lines,
                                      row->footprint_bytes};
    fth_buffer_format(out, "%s %u launches %llu longest %llu:", row->kernel,
                      row->instruction ? row->instruction->line : 0,
                      (unsigned long long)row->launches, (unsigned long long)row->longest);
    for (size_t i = 0; i < FTH_COUNT(counts); i++)
        fth_buffer_format(out, " %llu,%llu,%llu", (unsigned long long)counts[i][0],
                          (unsigned long long)counts[i][1], (unsigned long long)counts[i][2]);
    fth_buffer_format(out, " %llu\n", (unsigned long long)row->footprint_all_bytes);
}

/* The counts are requests, threads, sectors, lines and footprint, each for reads, writes and
 * atomics, and the footprint of all kinds. Instruction 1 has 8 bytes: its access at 28 touches two
 * sectors, and that at 124 two sectors of two lines. The write at 0x20 shares its sector with the
 * reads. Sector 128 is in another page of 2048 bytes. */
static void totals_are_counted(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    struct fth_buffer out = {0};
    struct fth_trace_stats *stats = NULL;
    struct fth_trace *trace = import("# kernel k\n# instruction 1 bytes 8 line 57 source 0\n"
                                     "# instruction 2 bytes 4 line 58 source 0\n"
                                     "0 0 0 R:1 3 28 124 28\n1 0 0 W:2 2 0x20 0x1000\n"
                                     "2 0 0 W:2 2 0x1000 0x20\n"
                                     "# kernel m\n0 0 0 A:2 1/2 64\n"
                                     "# kernel k\n0 1 0 R:1 1/1 24\n",
                                     &error);
    if (!trace || fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    size_t count = 0;
    for (const struct fth_trace_row *row; (row = fth_trace_stats_row(stats, count)); count++)
        describe_row(row, &out);
    assert_string_equal(out.data, "k 0 launches 2 longest 3: 2,2,0 4,4,0 5,4,0 3,4,0 128,64,0 160\n"
                                  "k 57 launches 2 longest 0: 2,0,0 4,0,0 5,0,0 3,0,0 128,0,0 128\n"
                                  "k 58 launches 2 longest 0: 0,2,0 0,4,0 0,4,0 0,4,0 0,64,0 64\n"
                                  "m 0 launches 1 longest 1: 0,0,1 0,0,1 0,0,1 0,0,1 0,0,32 32\n"
                                  "m 58 launches 1 longest 0: 0,0,1 0,0,1 0,0,1 0,0,1 0,0,32 32\n");
    assert_int_equal(count, 5);
    fth_buffer_fini(&out);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
}

/* More pages than the table has at first: 2000 pages of 2048 bytes. */
static void large_footprints_are_counted(void **state)
{
    (void)state;
    enum { PAGES = 2000 };
    struct fth_buffer text = {0};
    struct fth_error error = NO_ERROR;
    struct fth_trace_stats *stats = NULL;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < PAGES; i++)
            fth_buffer_format(&text, "%d 0 0 R %d\n", round * PAGES + i, i * 2048 + 2016 * round);
    struct fth_trace *trace = import(text.data, &error);
    if (!trace || fth_trace_stats_create(trace, NULL, &stats, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const struct fth_trace_row *row = fth_trace_stats_row(stats, 0);
    assert_int_equal(row->footprint_bytes[0], 2 * PAGES * 32);
    assert_int_equal(row->footprint_all_bytes, 2 * PAGES * 32);
    assert_int_equal(row->sectors[0], 2 * PAGES);
    assert_int_equal(row->longest, 2 * PAGES);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
    fth_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_imported_completely),
        cmocka_unit_test(limits_are_imported),
        cmocka_unit_test(local_memory_is_imported),
        cmocka_unit_test(faults_of_texts_are_refused),
        cmocka_unit_test(accesses_outside_of_the_launch_are_refused),
        cmocka_unit_test(accel_sim_traces_are_imported_completely),
        cmocka_unit_test(faults_of_accel_sim_traces_are_refused),
        cmocka_unit_test(long_lines_are_refused),
        cmocka_unit_test(totals_are_counted),
        cmocka_unit_test(large_footprints_are_counted),
    };
    return cmocka_run_group_tests_name("import", tests, enter_folder, leave_folder);
}
