/* Tests sessions (program/): memory that host and kernels share, modules, launches and traces. */
#include "check.h"
#include "program/program.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Adds the second buffer to the first one, and 5 times the variable v. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 v = 3;\n"
    ".visible .entry add(.param .u64 to, .param .u64 from)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %w<5>;\n"
    "  ld.param.u64 %w0, [to]; ld.param.u64 %w1, [from]; mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %w2, %r0, 4; add.u64 %w0, %w0, %w2; add.u64 %w1, %w1, %w2;\n"
    "  ld.global.u32 %r1, [%w0]; ld.global.u32 %r2, [%w1]; add.u32 %r1, %r1, %r2;\n"
    "  ld.global.u32 %r3, [v]; mad.lo.u32 %r1, %r3, 5, %r1; st.global.u32 [%w0], %r1; ret; }\n"
    /* Each block counts itself and waits for all others. */
    ".visible .entry meet(.param .u64 count)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %w; .reg .pred %p;\n"
    "  ld.param.u64 %w, [count]; mov.u32 %r0, %nctaid.x; atom.global.add.u32 %r1, [%w], 1;\n"
    "  wait: ld.acquire.gpu.global.u32 %r2, [%w]; setp.lt.u32 %p, %r2, %r0; @%p bra wait; ret; }\n"
    /* Stores the address of the workspace of the grid. */
    ".visible .entry workspace(.param .u64 to)\n"
    "{ .reg .b32 %r<2>; .reg .b64 %w; ld.param.u64 %w, [to];\n"
    "  mov.u32 %r0, %envreg2; mov.u32 %r1, %envreg1; st.global.v2.u32 [%w], {%r0, %r1}; ret; }\n";

struct fixture {
    struct fth_gpu *gpu;
    struct fth_session *session;
    struct fth_session_module *module;
    struct fth_trace_writer *writer;
    int file;
};

static void open_session(struct fixture *fixture, bool traced)
{
    struct fth_catalogue *catalogue;
    *fixture = (struct fixture){.file = -1};
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &fixture->gpu, NULL), FTH_OK);
    fth_catalogue_close(catalogue);
    if (traced) {
        char path[] = "/tmp/fathom-test-XXXXXX";
        fixture->file = mkstemp(path);
        assert_true(fixture->file >= 0);
        unlink(path);
        assert_int_equal(fth_trace_writer_attach(fixture->file, "trace", &fixture->writer, NULL),
                         FTH_OK);
    }
    const struct fth_session_options options = {.gpu = fixture->gpu, .trace = fixture->writer};
    assert_int_equal(fth_session_create(&options, &fixture->session, NULL), FTH_OK);
    assert_int_equal(
        fth_session_load(fixture->session, "test", text, sizeof text - 1, &fixture->module, NULL),
        FTH_OK);
}

static void close_session(struct fixture *fixture)
{
    fth_session_destroy(fixture->session);
    fth_gpu_destroy(fixture->gpu);
}

static enum fth_status launch(struct fixture *fixture, uint64_t to, uint64_t from, uint32_t threads,
                              struct fth_error *error)
{
    const uint64_t arguments[] = {to, from};
    return fth_session_run(
        fixture->session,
        &(struct fth_session_launch){.module = fixture->module,
                                     .kernel = fth_session_kernel(fixture->module, "add"),
                                     .grid = {1, 1, 1},
                                     .block = {threads, 1, 1},
                                     .arguments = arguments},
        error);
}

/* Kernels access all kinds of memory, and the host accesses those that are its own directly. */
static void kernels_access_all_kinds_of_memory(void **state)
{
    (void)state;
    struct fixture fixture;
    open_session(&fixture, false);
    uint32_t *own = calloc(16, sizeof *own);
    uint64_t address;
    for (int kind = FTH_MEMORY_DEVICE; kind <= FTH_MEMORY_REGISTERED; kind++) {
        if (kind == FTH_MEMORY_REGISTERED) {
            address = (uint64_t)(uintptr_t)own;
            assert_int_equal(fth_session_register(fixture.session, own, 32, NULL), FTH_OK);
        } else {
            assert_int_equal(fth_session_alloc(fixture.session, (enum fth_session_memory)kind, 32,
                                               &address, NULL),
                             FTH_OK);
        }
        uint32_t *host = fth_session_host(fixture.session, address, 32);
        assert_non_null(host);
        /* The memory of the GPU is at addresses that the host does not have. */
        assert_int_equal((uint64_t)(uintptr_t)host == address, kind != FTH_MEMORY_DEVICE);
        for (uint32_t i = 0; i < 8; i++)
            host[i] = i;
        assert_int_equal(launch(&fixture, address, address, 8, NULL), FTH_OK);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(host[i], 2 * i + 15);
        struct fth_session_block block;
        assert_true(fth_session_find(fixture.session, address + 31, &block));
        assert_int_equal(block.kind, kind);
        assert_int_equal(block.address, address);
        assert_int_equal(block.bytes, 32);
        assert_false(fth_session_find(fixture.session, address + 32, &block));
        assert_int_equal(fth_session_free(fixture.session, address, ~(1u << kind), NULL),
                         FTH_INVALID);
        assert_int_equal(fth_session_free(fixture.session, address, 1u << kind, NULL), FTH_OK);
        assert_false(fth_session_find(fixture.session, address, &block));
    }
    free(own);
    close_session(&fixture);
}

/* A launch that fails says what ended it. */
static void faults_have_a_kind(void **state)
{
    (void)state;
    struct fixture fixture;
    uint64_t address;
    open_session(&fixture, false);
    assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 32, &address, NULL),
                     FTH_OK);
    const struct {
        uint64_t address;
        enum fth_ptx_fault fault;
    } cases[] = {{address + 256, FTH_FAULT_OUTSIDE}, {address + 1, FTH_FAULT_ALIGNMENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum fth_ptx_fault fault = FTH_FAULT_OTHER;
        const uint64_t arguments[] = {cases[i].address, address};
        const struct fth_session_launch one = {.module = fixture.module,
                                               .kernel = fth_session_kernel(fixture.module, "add"),
                                               .grid = {1, 1, 1},
                                               .block = {1, 1, 1},
                                               .arguments = arguments,
                                               .fault = &fault};
        assert_int_equal(fth_session_run(fixture.session, &one, NULL), FTH_INVALID);
        assert_int_equal(fault, cases[i].fault);
    }
    close_session(&fixture);
}

/* Two runs of a program get the same addresses. */
static void addresses_do_not_change(void **state)
{
    (void)state;
    uint64_t addresses[2][4];
    for (int run = 0; run < 2; run++) {
        struct fixture fixture;
        open_session(&fixture, false);
        for (int i = 0; i < 4; i++)
            assert_int_equal(fth_session_alloc(fixture.session,
                                               i % 2 ? FTH_MEMORY_PINNED : FTH_MEMORY_DEVICE,
                                               100000, &addresses[run][i], NULL),
                             FTH_OK);
        close_session(&fixture);
    }
    assert_memory_equal(addresses[0], addresses[1], sizeof addresses[0]);
    assert_int_equal(addresses[0][1], FTH_SESSION_HOST_BASE);
    assert_true(addresses[0][0] >= FTH_SESSION_BASE);
}

static void memory_is_limited(void **state)
{
    (void)state;
    struct fixture fixture;
    struct fth_error error = NO_ERROR;
    uint64_t address;
    open_session(&fixture, false);
    const uint64_t before = fth_session_free_bytes(fixture.session);
    assert_int_equal(
        fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, before + 1, &address, &error),
        FTH_NO_MEMORY);
    assert_contains(error.cause, " free");
    assert_int_equal(address, 0);
    assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 0, &address, NULL),
                     FTH_INVALID);
    assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 1000, &address, NULL),
                     FTH_OK);
    assert_int_equal(fth_session_free_bytes(fixture.session), before - 1000);
    /* A range that is only partly inside an allocation is none of the host. */
    assert_non_null(fth_session_host(fixture.session, address, 1000));
    assert_null(fth_session_host(fixture.session, address, 1001));
    close_session(&fixture);
}

static void faults_name_the_kernel(void **state)
{
    (void)state;
    struct fixture fixture;
    struct fth_error error = NO_ERROR;
    uint64_t address;
    open_session(&fixture, false);
    assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 32, &address, NULL),
                     FTH_OK);
    assert_int_equal(launch(&fixture, address, address, 9, &error), FTH_INVALID);
    assert_contains(error.cause, "outside the global memory");
    close_session(&fixture);
}

static void launches_are_traced(void **state)
{
    (void)state;
    struct fixture fixture;
    struct fth_trace *trace;
    uint64_t address;
    open_session(&fixture, true);
    assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 256, &address, NULL),
                     FTH_OK);
    const double before = fth_session_time_ns(fixture.session);
    for (int i = 0; i < 3; i++)
        assert_int_equal(launch(&fixture, address, address, 64, NULL), FTH_OK);
    assert_true(fth_session_time_ns(fixture.session) > before);
    fth_session_destroy(fixture.session);
    fixture.session = NULL;
    assert_int_equal(fth_trace_writer_commit(fixture.writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_attach(fixture.file, "trace", &trace, NULL), FTH_OK);
    assert_int_equal(fth_trace_launch_count(trace), 3);
    fth_trace_close(trace);
    close(fixture.file);
    close_session(&fixture);
}

static enum fth_status launch_grid(struct fixture *fixture, const char *kernel, uint64_t argument,
                                   uint32_t blocks, bool cooperative)
{
    return fth_session_run(
        fixture->session,
        &(struct fth_session_launch){.module = fixture->module,
                                     .kernel = fth_session_kernel(fixture->module, kernel),
                                     .grid = {blocks, 1, 1},
                                     .block = {1, 1, 1},
                                     .cooperative = cooperative,
                                     .arguments = &argument},
        NULL);
}

/* The blocks of a cooperative launch can wait for each other, also if they are traced. They have a
 * workspace, which stays the same. */
static void blocks_of_cooperative_launches_meet(void **state)
{
    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        struct fixture fixture;
        uint64_t address, workspace, again;
        open_session(&fixture, traced);
        assert_int_equal(fth_session_alloc(fixture.session, FTH_MEMORY_DEVICE, 8, &address, NULL),
                         FTH_OK);
        void *host = fth_session_host(fixture.session, address, 8);
        assert_int_equal(launch_grid(&fixture, "meet", address, 40, true), FTH_OK);
        assert_int_equal(*(uint32_t *)host, 40);
        assert_int_equal(launch_grid(&fixture, "workspace", address, 1, true), FTH_OK);
        memcpy(&workspace, host, sizeof workspace);
        assert_int_equal(launch_grid(&fixture, "workspace", address, 1, true), FTH_OK);
        memcpy(&again, host, sizeof again);
        assert_int_equal(workspace, again);
        assert_non_null(fth_session_host(fixture.session, workspace, 8));
        assert_true(workspace >= FTH_SESSION_BASE);
        assert_int_equal(launch_grid(&fixture, "workspace", address, 1, false), FTH_OK);
        memcpy(&again, host, sizeof again);
        assert_int_equal(again, 0);
        fth_trace_writer_abort(fixture.writer);
        if (traced)
            close(fixture.file);
        close_session(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_access_all_kinds_of_memory),
                                       cmocka_unit_test(faults_have_a_kind),
                                       cmocka_unit_test(addresses_do_not_change),
                                       cmocka_unit_test(memory_is_limited),
                                       cmocka_unit_test(faults_name_the_kernel),
                                       cmocka_unit_test(launches_are_traced),
                                       cmocka_unit_test(blocks_of_cooperative_launches_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
