/* Tests of addresses whose memory repeats: which calls of the driver allocate them
 * (device/cuda/cuda_repeating.c), and which chains use them (device/chase/chase_layout.c). Also
 * tests how often the clock is measured. Neither a driver nor a GPU executes anything. */
#include "device/chase/chase.h"
#include "device/cuda/cuda.h"
#include "fake_machine.h"

static const uint64_t gib = UINT64_C(1) << 30;

/* ---- the driver ---- */

/* A driver that logs its calls in `fake.log`. The call with the number `fails_at`, from 1, fails.
 */
static fth_cu_result log_call(const char *name, uint64_t first, uint64_t second, uint64_t third)
{
    fake_log("%s %llx %llx %llx\n", name, full(first), full(second), full(third));
    return ++fake.count == fake.fails_at ? FTH_CU_OUT_OF_MEMORY : 0;
}

static fth_cu_result address_reserve(uint64_t *address, size_t bytes, size_t alignment,
                                     uint64_t wanted, unsigned long long flags)
{
    assert_true(alignment == 0 && wanted == 0 && flags == 0);
    const fth_cu_result result = log_call("reserve", bytes, 0, 0);
    if (result == 0)
        *address = gib << 10;
    return result;
}

static fth_cu_result address_free(uint64_t address, size_t bytes)
{
    return log_call("free", address, bytes, 0);
}

static fth_cu_result address_map(uint64_t address, size_t bytes, size_t offset,
                                 unsigned long long handle, unsigned long long flags)
{
    assert_true(offset == 0 && flags == 0);
    return log_call("map", address, bytes, handle);
}

static fth_cu_result address_unmap(uint64_t address, size_t bytes)
{
    return log_call("unmap", address, bytes, 0);
}

static fth_cu_result address_access(uint64_t address, size_t bytes,
                                    const struct fth_cu_access *access, size_t count)
{
    assert_true(access->place.type == 1 && access->place.id == 5 && access->flags == 3);
    return log_call("access", address, bytes, count);
}

static fth_cu_result physical_create(unsigned long long *handle, size_t bytes,
                                     const struct fth_cu_memory_kind *kind,
                                     unsigned long long flags)
{
    assert_true(kind->type == 1 && kind->handle_types == 0 && kind->place.type == 1 &&
                kind->place.id == 5 && flags == 0);
    *handle = ++fake.next;
    fake.live++;
    const fth_cu_result result = log_call("create", bytes, 0, 0);
    fake.live -= result != 0;
    return result;
}

static fth_cu_result physical_release(unsigned long long handle)
{
    fake.live--;
    fake_log("release %llx\n", handle);
    return 0;
}

static const struct fth_cuda driver = {.address_reserve = address_reserve,
                                       .address_free = address_free,
                                       .address_map = address_map,
                                       .address_unmap = address_unmap,
                                       .address_access = address_access,
                                       .physical_create = physical_create,
                                       .physical_release = physical_release};

/* The first period has memory of its own, and all further ones share theirs. */
static void the_same_memory_is_mapped_repeatedly(void **state)
{
    (void)state;
    uint64_t address = 0, period = 0;
    struct fth_error error = NO_ERROR;
    memset(&fake, 0, sizeof fake);
    assert_int_equal(fth_cuda_repeating_alloc(&driver, 5, 7 * gib, &address, &period, &error),
                     FTH_OK);
    assert_true(address == gib << 10 && period == 2 * gib);
    expect_log("reserve 200000000 0 0\n"
               "create 80000000 0 0\nmap 10000000000 80000000 1\nrelease 1\n"
               "create 80000000 0 0\nmap 10080000000 80000000 2\nmap 10100000000 80000000 2\n"
               "map 10180000000 80000000 2\nrelease 2\naccess 10000000000 200000000 1\n");
    fth_cuda_repeating_free(&driver, address, 7 * gib);
    expect_log("unmap 10000000000 80000000 0\nunmap 10080000000 80000000 0\n"
               "unmap 10100000000 80000000 0\nunmap 10180000000 80000000 0\n"
               "free 10000000000 200000000 0\n");
    fth_cuda_repeating_free(&driver, 0, 7 * gib);
    expect_log("");
}

/* Whichever call fails, the physical memory and the addresses are released. */
static void repeating_memory_is_released_on_failure(void **state)
{
    (void)state;
    uint64_t address, period;
    enum { CALLS = 8 }; /* one reservation, two creations, four mappings, one access */
    for (unsigned i = 1; i <= CALLS; i++) {
        struct fth_error error = NO_ERROR;
        memset(&fake, 0, sizeof fake);
        fake.fails_at = i;
        assert_int_equal(fth_cuda_repeating_alloc(&driver, 5, 7 * gib, &address, &period, &error),
                         FTH_NO_MEMORY);
        assert_true(address == 0 && fake.live == 0);
        assert_int_equal(strstr(fake.log, "\nfree 10000000000 ") != NULL, i > 1);
    }
}

static void small_ranges_and_old_drivers_do_not_repeat(void **state)
{
    (void)state;
    uint64_t address, period;
    struct fth_error error = NO_ERROR;
    struct fth_cuda old = driver;
    memset(&fake, 0, sizeof fake);
    assert_int_equal(fth_cuda_repeating_alloc(&driver, 5, 4 * gib, &address, &period, &error),
                     FTH_UNSUPPORTED);
    old.address_map = NULL;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_repeating_alloc(&old, 5, 7 * gib, &address, &period, &error),
                     FTH_UNSUPPORTED);
    expect_log("");
}

/* ---- chains ---- */

static enum fth_status alloc_repeating(void *machine, uint64_t bytes, uint64_t *address,
                                       uint64_t *period, struct fth_error *error)
{
    (void)machine;
    (void)error;
    *address = 0x100000;
    *period = 2 * gib;
    fake_log("repeating %llu\n", full(bytes));
    fake.live++;
    return FTH_OK;
}

static void free_repeating(void *machine, uint64_t address, uint64_t bytes)
{
    (void)machine;
    assert_int_equal(address, 0x100000);
    fake_log("end %llu\n", full(bytes));
    fake.live--;
}

/* Every request was served. */
static void answer_served(void *data, uint64_t address, uint64_t bytes)
{
    (void)address;
    memset(data, 1, bytes);
}

/* Executes a chase on the runner. */
static void run_chase(struct fth_runner *runner, const char *text)
{
    struct fth_error error = NO_ERROR;
    struct fth_samples samples = {.status = FTH_OK};
    struct fth_request request;
    struct fth_job job = {.samples = &samples};
    if (fth_request_read(text, strlen(text), &request, &error) != FTH_OK ||
        fth_request_lower(runner, &request, &job.lowered, &error) != FTH_OK ||
        fth_family_of(FTH_FAMILY_CHASE)
                ->run_together(runner, &runner->slots[FTH_FAMILY_CHASE], &job, 1, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    assert_int_equal(samples.status, FTH_OK);
    fth_samples_fini(&samples);
}

/* Runs the requests in order. The log of their allocations of more than 1 GiB, and of the chains
 * that were built, must be as expected. */
static void check_allocations(const char *const *texts, size_t count, const char *expected)
{
    struct fth_runner runner = fake_runner();
    struct fth_machine_ops ops = fake_ops;
    ops.alloc_repeating = alloc_repeating;
    ops.free_repeating = free_repeating;
    runner.ops = &ops;
    fake.answer = answer_served;
    struct fth_family_slot *slot = &runner.slots[FTH_FAMILY_CHASE];
    assert_int_equal(fth_family_of(FTH_FAMILY_CHASE)->open(&runner, &slot->state, NULL), FTH_OK);
    for (size_t i = 0; i < count; i++)
        run_chase(&runner, texts[i]);
    fth_family_of(FTH_FAMILY_CHASE)->release(&runner, slot->state);
    assert_int_equal(fake.live, 0);
    char found[1024] = "", *line = strtok(fake.log, "\n");
    for (; line; line = strtok(NULL, "\n")) {
        unsigned long long bytes;
        const bool is_large = sscanf(line, "alloc %llu", &bytes) == 1 && bytes >= gib;
        if (is_large || strncmp(line, "repeating", 9) == 0 || strncmp(line, "end", 3) == 0)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s\n",
                     (int)strcspn(line, "a") == 0 ? (int)strcspn(line + 6, " ") + 6
                                                  : (int)strlen(line),
                     line);
    }
    assert_string_equal(found, expected);
}

static void sparse_chains_use_memory_that_repeats(void **state)
{
    (void)state;
    static const struct {
        const char *texts[2];
        const char *expected;
    } rows[] = {
        {{"time-hops cg 8:33554688x200", "time-hops cg 8:41473664x160"},
         "repeating 8589934592\nend 8589934592\n"},
        /* Too dense. */
        {{"time-hops cg 0:32768x262144"}, "alloc 10737418240\n"},
        /* Loads 1 and 33 would be in the same memory. */
        {{"time-hops cg 8:67108864x100"},
         "repeating 8589934592\nend 8589934592\nalloc 8589934592\n"},
        {{"time-hops cg 8:67108864x31"}, "repeating 3221225472\nend 3221225472\n"},
        /* Two chains in one array, 128 bytes apart modulo 256 bytes, and 512 bytes apart. */
        {{"walk cg 8+4224:33554688x200; time-hops cg 8:33554688x200"},
         "repeating 8589934592\nend 8589934592\n"},
        {{"walk cg 8+512:33554688x200; time-hops cg 8:33554688x200"},
         "repeating 8589934592\nend 8589934592\nalloc 8589934592\n"},
        /* Three chains. */
        {{"walk cg 8+128:33554688x200; walk cg 8+64:33554688x200; time-hops cg 8:33554688x200"},
         "repeating 8589934592\nend 8589934592\nalloc 8589934592\n"},
        /* A dense chain replaces the memory. */
        {{"time-hops cg 8:33554688x200", "time-hops cg 0:32768x131072"},
         "repeating 8589934592\nend 8589934592\nalloc 6442450944\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        check_allocations(rows[i].texts, rows[i].texts[1] ? 2 : 1, rows[i].expected);
}

/* The first request of a sparse chain builds the whole array, so that others build nothing. */
static void sparse_chains_are_built_at_once(void **state)
{
    (void)state;
    struct fth_runner runner = fake_runner();
    fake.answer = answer_served;
    struct fth_family_slot *slot = &runner.slots[FTH_FAMILY_CHASE];
    assert_int_equal(fth_family_of(FTH_FAMILY_CHASE)->open(&runner, &slot->state, NULL), FTH_OK);
    run_chase(&runner, "time-pass cg 8+6488064:65536x1");
    assert_non_null(strstr(fake.log, " 10000 64 1 8 0\n")); /* 100 elements, 64 KiB apart */
    fake.log[0] = '\0';
    run_chase(&runner, "time-pass cg 8+65536:65536x50");
    assert_null(strstr(fake.log, "launch build"));
    fth_family_of(FTH_FAMILY_CHASE)->release(&runner, slot->state);
}

/* ---- the clock ---- */

static void answer_clock(void *data, uint64_t address, uint64_t bytes)
{
    const uint64_t stamps[] = {700, 5000, 1700, 6000};
    (void)address;
    assert_int_equal(bytes, sizeof stamps);
    memcpy(data, stamps, sizeof stamps);
}

/* Short batches are not followed by a measurement of the clock, unless there are many. */
static void the_clock_is_not_measured_after_short_batches(void **state)
{
    (void)state;
    static const struct {
        uint64_t cycles;
        unsigned batches; /* until the clock is measured */
    } rows[] = {{2000000, 1}, {1999999, 2}, {1000000, 2}, {999999, 3}, {0, 16}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_runner runner = fake_runner();
        double mean = 0;
        fake.answer = answer_clock;
        runner.clock_mhz = 1000;
        for (unsigned round = 0; round < 2; round++)
            for (unsigned batch = 1; batch <= rows[i].batches; batch++) {
                fake.log[0] = '\0';
                assert_int_equal(fth_runner_check_clock(&runner, rows[i].cycles, &mean, NULL),
                                 FTH_OK);
                assert_int_equal(strstr(fake.log, "launch pace") != NULL, batch == rows[i].batches);
                assert_true(mean == 1000);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_memory_is_mapped_repeatedly),
        cmocka_unit_test(repeating_memory_is_released_on_failure),
        cmocka_unit_test(small_ranges_and_old_drivers_do_not_repeat),
        cmocka_unit_test(sparse_chains_use_memory_that_repeats),
        cmocka_unit_test(sparse_chains_are_built_at_once),
        cmocka_unit_test(the_clock_is_not_measured_after_short_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
