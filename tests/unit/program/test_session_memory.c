/* Tests the memory of sessions (program/): where blocks are, how they are found and freed, and what
 * happens if there is no memory. Allocations fail one after the other (failing.h). */
#include "check.h"
#include "failing.h"
#include "program/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char gpu_text[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"sms\": 1},"
    " \"elements\": {\"memory\": {\"size_bytes\": 100000}}}";
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 v = 3;\n"
                          ".visible .entry k(.param .u64 p)\n{ .reg .b64 %w; .reg .b32 %r;\n"
                          "ld.param.u64 %w, [p]; ld.global.u32 %r, [v]; st.global.u32 [%w], %r;\n"
                          "ret; }\n";

enum { STEP = 64 << 10 }; /* of the addresses of host memory */
enum { ANY = 15 };        /* all kinds of memory */

static struct fth_session *open_session(struct fth_gpu **gpu)
{
    struct fth_session *session;
    assert_int_equal(fth_gpu_read_text("gpu", gpu_text, strlen(gpu_text), NULL, gpu, NULL), FTH_OK);
    assert_int_equal(fth_session_create(&(struct fth_session_options){.gpu = *gpu}, &session, NULL),
                     FTH_OK);
    return session;
}

static void close_session(struct fth_session *session, struct fth_gpu *gpu)
{
    fth_session_destroy(session);
    fth_gpu_destroy(gpu);
}

/* Returns the pointer with this address. */
static void *pointer_to(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

/* Returns whether there is memory at an address of this process. */
static bool is_mapped(uint64_t address)
{
    unsigned char resident;
    const uint64_t page = address & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
    const int result = mincore(pointer_to(page), 1, &resident);
    assert_true(result == 0 || errno == ENOMEM);
    return result == 0;
}

/* Blocks are added and freed in any order, and each address is found in its block. Block i has 8
 * bytes at 16 * i. */
static void blocks_are_found_in_any_order(void **state)
{
    (void)state;
    enum { BLOCKS = 7 };
    static const size_t added[BLOCKS] = {3, 1, 6, 0, 5, 2, 4},
                        freed[BLOCKS] = {0, 4, 6, 2, 3, 1, 5};
    static char memory[16 * BLOCKS];
    const uint64_t base = (uint64_t)(uintptr_t)memory;
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    bool exists[BLOCKS] = {false};
    for (size_t step = 0; step < (size_t)2 * BLOCKS; step++) {
        const bool adds = step < BLOCKS;
        const size_t changed = adds ? added[step] : freed[step - BLOCKS];
        const uint64_t address = base + 16 * changed;
        if (adds)
            assert_int_equal(fth_session_register(session, memory + 16 * changed, 8, NULL), FTH_OK);
        else
            assert_int_equal(fth_session_free(session, address, 1u << FTH_MEMORY_REGISTERED, NULL),
                             FTH_OK);
        exists[changed] = adds;
        fth_session_set_owner(session, address, memory + changed);
        fth_session_set_owner(session, address + 1, memory); /* no block begins here */
        for (size_t i = 0; i < sizeof memory; i++) {
            struct fth_session_block block;
            const bool inside = i % 16 < 8 && exists[i / 16];
            assert_int_equal(fth_session_find(session, base + i, &block), inside);
            if (!inside)
                continue;
            assert_int_equal(block.address, base + i / 16 * 16);
            assert_int_equal(block.bytes, 8);
            assert_int_equal(block.kind, FTH_MEMORY_REGISTERED);
            assert_ptr_equal(block.host, memory + i / 16 * 16);
            assert_ptr_equal(block.owner, memory + i / 16);
        }
    }
    close_session(session, gpu);
}

/* Memory is registered only once. It stays after the registration. */
static void registrations_do_not_overlap(void **state)
{
    (void)state;
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    struct fth_session_block block;
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_session_register(session, memory + 8, 8, NULL), FTH_OK);
    assert_int_equal(fth_session_register(session, memory, 9, &error), FTH_INVALID);
    assert_contains(error.cause, "the 9 bytes at 0x");
    assert_int_equal(fth_session_register(session, memory + 15, 8, NULL), FTH_INVALID);
    assert_false(fth_session_find(session, address, &block));
    assert_false(fth_session_find(session, address + 16, &block));
    assert_int_equal(fth_session_register(session, memory, 8, NULL), FTH_OK);
    assert_int_equal(fth_session_register(session, memory + 16, 8, NULL), FTH_OK);
    assert_int_equal(fth_session_free(session, address, ANY, NULL), FTH_OK);
    assert_true(is_mapped(address));
    close_session(session, gpu);
    assert_int_equal(munmap(memory, 4096), 0);
}

static void only_blocks_can_be_freed(void **state)
{
    (void)state;
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    struct fth_error error = NO_ERROR;
    uint64_t address;
    assert_int_equal(fth_session_free(session, 0x1234, ANY, &error), FTH_INVALID);
    assert_string_equal(error.operation, "free memory");
    assert_string_equal(error.cause, "0x1234 is not the address of an allocation");
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_PINNED, 8, &address, NULL), FTH_OK);
    assert_int_equal(fth_session_free(session, address - 1, ANY, NULL), FTH_INVALID);
    assert_int_equal(fth_session_free(session, address + 1, ANY, NULL), FTH_INVALID);
    assert_int_equal(fth_session_free(session, address, 1u << FTH_MEMORY_MANAGED, NULL),
                     FTH_INVALID);
    assert_int_equal(fth_session_free(session, address, ANY, NULL), FTH_OK);
    assert_int_equal(fth_session_free(session, address, ANY, NULL), FTH_INVALID);
    close_session(session, gpu);
}

/* Host memory is at multiples of 64 KiB, with at least 64 KiB between two blocks. Addresses are not
 * used again. */
static void host_memory_has_fixed_places(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, offset; /* of the block, in steps */
    } rows[] = {{1, 0}, {STEP, 3}, {STEP + 1, 6}, {(uint64_t)2 * STEP, 10}, {8, 14}};
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    uint64_t addresses[FTH_COUNT(rows)];
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        assert_int_equal(fth_session_alloc(session, i % 2 ? FTH_MEMORY_PINNED : FTH_MEMORY_MANAGED,
                                           rows[i].bytes, &addresses[i], NULL),
                         FTH_OK);
        assert_int_equal(addresses[i], FTH_SESSION_HOST_BASE + rows[i].offset * STEP);
        assert_true(is_mapped(addresses[i] + rows[i].bytes - 1));
        memset(pointer_to(addresses[i]), 1, rows[i].bytes);
    }
    assert_int_equal(fth_session_free_bytes(session), 100000); /* it is not the GPU's */
    assert_int_equal(fth_session_free(session, addresses[0], ANY, NULL), FTH_OK);
    assert_false(is_mapped(addresses[0]));
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_PINNED, 8, &addresses[0], NULL), FTH_OK);
    assert_int_equal(addresses[0], FTH_SESSION_HOST_BASE + (uint64_t)17 * STEP);
    close_session(session, gpu);
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_false(is_mapped(addresses[i]));
}

/* The engine may read 8 bytes behind a block, so these exist, and are freed with it. */
static void host_memory_continues_after_a_block(void **state)
{
    (void)state;
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (uint64_t behind = 1; behind <= 8; behind++) {
        uint64_t address;
        assert_int_equal(
            fth_session_alloc(session, FTH_MEMORY_PINNED, page - behind, &address, NULL), FTH_OK);
        assert_int_equal(is_mapped(address + page), behind < 8);
        assert_int_equal(fth_session_free(session, address, ANY, NULL), FTH_OK);
        assert_false(is_mapped(address));
        assert_false(is_mapped(address + page));
    }
    close_session(session, gpu);
}

/* Returns the size of the address space of this process that is in use, in pages. */
static unsigned long used_pages(void)
{
    char text[256], *end;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    const unsigned long pages = strtoul(text, &end, 10);
    assert_ptr_not_equal(end, text);
    return pages;
}

/* If other memory is at an address, the next one is tried; the last of 64 attempts for a small
 * block is 126 steps from the first. */
static void host_memory_gives_way(void **state)
{
    (void)state;
    static const struct {
        size_t steps; /* of other memory */
        enum fth_status status;
        uint64_t offset; /* of the block, in steps */
    } rows[] = {{1, FTH_OK, 2},
                {2, FTH_OK, 2},
                {3, FTH_OK, 4},
                {126, FTH_OK, 126},
                {127, FTH_NO_MEMORY, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        void *base = pointer_to(FTH_SESSION_HOST_BASE);
        struct fth_gpu *gpu;
        struct fth_session *session = open_session(&gpu);
        uint64_t address;
        assert_ptr_equal(mmap(base, rows[i].steps * STEP, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                         base);
        const unsigned long before = used_pages();
        assert_int_equal(fth_session_alloc(session, FTH_MEMORY_PINNED,
                                           (uint64_t)sysconf(_SC_PAGESIZE) - 7, &address, NULL),
                         rows[i].status);
        /* A page, and one for the 8 bytes behind the block. */
        assert_int_equal(used_pages() - before, rows[i].status == FTH_OK ? 2 : 0);
        if (rows[i].status == FTH_OK)
            assert_int_equal(address, FTH_SESSION_HOST_BASE + rows[i].offset * STEP);
        else
            assert_int_equal(address, 0);
        close_session(session, gpu);
        assert_int_equal(munmap(base, rows[i].steps * STEP), 0);
    }
}

static void memory_is_limited(void **state)
{
    (void)state;
    static const struct {
        enum fth_session_memory kind;
        uint64_t bytes;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {FTH_MEMORY_DEVICE, 0, FTH_INVALID, "the size must not be 0"},
        {FTH_MEMORY_PINNED, 0, FTH_INVALID, "the size must not be 0"},
        {FTH_MEMORY_DEVICE, 98977, FTH_NO_MEMORY, "96.66 KiB requested, 96.66 KiB free"},
        {FTH_MEMORY_PINNED, UINT64_MAX, FTH_NO_MEMORY, "out of memory"},
        {FTH_MEMORY_PINNED, UINT64_MAX - 1, FTH_NO_MEMORY, "out of memory"},
        {FTH_MEMORY_PINNED, (uint64_t)1 << 62, FTH_NO_MEMORY, "out of memory"},
        {FTH_MEMORY_DEVICE, 98976, FTH_OK, ""},
        {FTH_MEMORY_DEVICE, 1, FTH_NO_MEMORY, "1 B requested, 0 B free"},
    };
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    uint64_t address, first;
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_DEVICE, 1024, &first, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_session_alloc(session, rows[i].kind, rows[i].bytes, &address, &error),
                         rows[i].status);
        assert_string_equal(error.cause, rows[i].cause);
        const bool is_device = rows[i].kind == FTH_MEMORY_DEVICE && rows[i].status == FTH_NO_MEMORY;
        assert_string_equal(error.operation, rows[i].status == FTH_OK ? ""
                                             : is_device              ? "allocate device memory"
                                                                      : "allocate memory");
        assert_int_equal(address != 0, rows[i].status == FTH_OK);
    }
    assert_int_equal(fth_session_free(session, first, ANY, NULL), FTH_OK);
    assert_int_equal(fth_session_free_bytes(session), 1024);
    /* Memory that cannot be allocated takes no addresses. */
    assert_int_equal(fth_session_alloc(session, FTH_MEMORY_PINNED, 8, &address, NULL), FTH_OK);
    assert_int_equal(address, FTH_SESSION_HOST_BASE);
    close_session(session, gpu);
}

static void addresses_of_the_gpu_are_known(void **state)
{
    (void)state;
    int own;
    struct fth_gpu *gpu;
    struct fth_session *session = open_session(&gpu);
    assert_false(fth_session_is_device(FTH_SESSION_BASE - 1));
    assert_true(fth_session_is_device(FTH_SESSION_BASE));
    assert_true(fth_session_is_device(FTH_SESSION_END - 1));
    assert_false(fth_session_is_device(FTH_SESSION_END));
    /* Memory that the session does not know is the host's own. */
    assert_ptr_equal(fth_session_host(session, (uint64_t)(uintptr_t)&own, sizeof own), &own);
    close_session(session, gpu);
}

/* ---- failed allocations ---- */

/* Uses a session in all ways; stops at the first failure. The first block is registered, pinned or
 * the GPU's. */
static enum fth_status use_session(struct fth_session *session, int first, struct fth_error *error)
{
    static char registered[8];
    struct fth_session_module *module;
    enum fth_ptx_fault fault = FTH_FAULT_OTHER;
    uint64_t address;
    FTH_TRY(fth_session_load(session, "test", ptx, strlen(ptx), &module, error));
    for (int i = 0; i < 3; i++) {
        if ((first + i) % 3 == 0)
            FTH_TRY(fth_session_register(session, registered, 8, error));
        else
            FTH_TRY(fth_session_alloc(session,
                                      (first + i) % 3 == 1 ? FTH_MEMORY_PINNED : FTH_MEMORY_DEVICE,
                                      8, &address, error));
    }
    const struct fth_session_launch launch = {.module = module,
                                              .kernel = fth_session_kernel(module, "k"),
                                              .grid = {1, 1, 1},
                                              .block = {1, 1, 1},
                                              .cooperative = true,
                                              .arguments = &address};
    const enum fth_status status = fth_session_run(session, &launch, &fault, error);
    assert_int_equal(fault, FTH_FAULT_NONE);
    FTH_TRY(status);
    return fth_session_alloc(session, FTH_MEMORY_MANAGED, 8, &address, error);
}

/* Opens and uses a session whose launches are traced. */
static enum fth_status trace_session(const struct fth_gpu *gpu, int first, size_t number,
                                     struct fth_error *error)
{
    struct fth_session *session = NULL;
    struct fth_trace_writer *writer;
    char path[] = "/tmp/fathom-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    assert_int_equal(fth_trace_writer_attach(file, "trace", &writer, NULL), FTH_OK);
    const struct fth_session_options options = {.gpu = gpu, .trace = writer, .traced_kernels = "k"};
    fail_from(number, false);
    enum fth_status status = fth_session_create(&options, &session, error);
    if (status == FTH_OK)
        status = use_session(session, first, error);
    else
        assert_null(session);
    const bool failed = has_failed();
    fail_from(0, false);
    assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
    fth_session_destroy(session);
    fth_trace_writer_abort(writer);
    close(file);
    return status;
}

/* Each allocation fails once. The session reports it, and everything is freed (tests/leaks). */
static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    struct fth_gpu *gpu;
    assert_int_equal(fth_gpu_read_text("gpu", gpu_text, strlen(gpu_text), NULL, &gpu, NULL),
                     FTH_OK);
    for (int first = 0; first < 3; first++) {
        bool failed = true;
        for (size_t number = 1; failed; number++) {
            struct fth_error error = NO_ERROR;
            failed = trace_session(gpu, first, number, &error) != FTH_OK;
            assert_contains(error.cause, failed ? "memory" : "");
            assert_int_equal(error.operation[0] != '\0', failed);
            assert_false(is_mapped(FTH_SESSION_HOST_BASE));
        }
    }
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_found_in_any_order),
                                       cmocka_unit_test(registrations_do_not_overlap),
                                       cmocka_unit_test(only_blocks_can_be_freed),
                                       cmocka_unit_test(host_memory_has_fixed_places),
                                       cmocka_unit_test(host_memory_continues_after_a_block),
                                       cmocka_unit_test(host_memory_gives_way),
                                       cmocka_unit_test(memory_is_limited),
                                       cmocka_unit_test(addresses_of_the_gpu_are_known),
                                       cmocka_unit_test(every_failed_allocation_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
