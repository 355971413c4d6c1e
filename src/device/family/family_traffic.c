/* The traffic family: reads and writes of parts of an array by all threads of a grid, timed as a
 * whole (kernels/traffic.ptx). Examples of the canonical text:
 *
 *   traffic device 1073741824 264x1024x16 part 32 of 128 repeats 3; cold
 *   traffic host 67108864 16x1024x4 part 4096 of 4096 writes 32 repeats 3
 *
 * The form is "traffic MEMORY BYTES BLOCKSxTHREADSxVECTOR part USED of STRIDE [writes WRITES]
 * [repeats REPEATS]". */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Limits of requests: CUDA's limit of threads per block, and generous bounds. */
#define MAX_BYTES (UINT64_C(1) << 46)
#define MAX_BLOCKS (UINT32_C(1) << 24)
enum { WARP = 32, MAX_THREADS = 1024, MAX_REPEATS = 1 << 16, MAX_WRITES = 32, VECTOR_SIZES = 3 };
#define MAX_STRIDE_BYTES (UINT64_C(1) << 30)
/* Rates that every GPU exceeds in its own memory, and with memory of the host, for the time limit.
 * Chosen, not derived. */
static const double min_device_bytes_per_s = 1e7, min_host_bytes_per_s = 1e6;

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

/* ---- requests ---- */

/* The bytes that a warp has in flight. */
static uint64_t group_bytes(const struct fth_traffic *traffic)
{
    return (uint64_t)WARP * FTH_TRAFFIC_UNROLL * traffic->vector_bytes;
}

/* The bytes from the start of the array to the end of its last part. */
static uint64_t footprint(const struct fth_traffic *traffic)
{
    const uint64_t parts = (traffic->bytes + traffic->used_bytes - 1) / traffic->used_bytes;
    return parts * traffic->stride_bytes;
}

static enum fth_status check_shape(const struct fth_traffic *traffic, struct fth_error *error)
{
    if (traffic->vector_bytes != 4 && traffic->vector_bytes != 8 && traffic->vector_bytes != 16)
        return fth_fail(error, FTH_INVALID, operation, "traffic.vector_bytes",
                        "%" PRIu32 " is not 4, 8 or 16", traffic->vector_bytes);
    if (traffic->threads == 0 || traffic->threads > MAX_THREADS || traffic->threads % WARP)
        return fth_fail(error, FTH_INVALID, operation, "traffic.threads",
                        "%" PRIu32 " is not a multiple of %d up to %d", traffic->threads, WARP,
                        MAX_THREADS);
    if (traffic->blocks == 0 || traffic->blocks > MAX_BLOCKS)
        return fth_fail(error, FTH_INVALID, operation, "traffic.blocks",
                        "%" PRIu32 " is not in the range 1 to %" PRIu32, traffic->blocks,
                        MAX_BLOCKS);
    if (traffic->repeats == 0 || traffic->repeats > MAX_REPEATS)
        return fth_fail(error, FTH_INVALID, operation, "traffic.repeats",
                        "%" PRIu32 " is not in the range 1 to %d", traffic->repeats, MAX_REPEATS);
    if (traffic->writes > MAX_WRITES)
        return fth_fail(error, FTH_INVALID, operation, "traffic.writes",
                        "%" PRIu32 " is more than %d", traffic->writes, MAX_WRITES);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_traffic *traffic = &request->traffic;
    FTH_TRY(fth_check_residence(traffic->residence, traffic->prefetched, error));
    FTH_TRY(check_shape(traffic, error));
    if (!is_power_of_two(traffic->used_bytes) || traffic->used_bytes < traffic->vector_bytes)
        return fth_fail(error, FTH_INVALID, operation, "traffic.used_bytes",
                        "%" PRIu64 " is not a power of two of at least a vector",
                        traffic->used_bytes);
    if (traffic->stride_bytes < traffic->used_bytes || traffic->stride_bytes > MAX_STRIDE_BYTES ||
        traffic->stride_bytes % traffic->vector_bytes)
        return fth_fail(error, FTH_INVALID, operation, "traffic.stride_bytes",
                        "%" PRIu64 " is not a multiple of a vector from the used bytes to "
                        "%" PRIu64,
                        traffic->stride_bytes, MAX_STRIDE_BYTES);
    if (traffic->bytes == 0 || traffic->bytes % group_bytes(traffic) ||
        traffic->bytes / traffic->used_bytes >= MAX_BYTES / traffic->stride_bytes)
        return fth_fail(error, FTH_INVALID, operation, "traffic.bytes",
                        "%" PRIu64 " is not a positive multiple of %" PRIu64 ", or the array is "
                        "too large",
                        traffic->bytes, group_bytes(traffic));
    if (request->sm != FTH_ANY_SM || request->carveout_percent != -1)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM and the carve-out cannot be chosen for this family");
    if (request->cold && traffic->residence != FTH_RESIDES_DEVICE)
        return fth_fail(error, FTH_INVALID, operation, "cold",
                        "only the GPU's memory is cached in the L2");
    return FTH_OK;
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_traffic *traffic = &request->traffic;
    fth_buffer_format(text,
                      "traffic %s %" PRIu64 " %" PRIu32 "x%" PRIu32 "x%" PRIu32 " part %" PRIu64
                      " of %" PRIu64,
                      fth_residence_word(traffic->residence, traffic->prefetched), traffic->bytes,
                      traffic->blocks, traffic->threads, traffic->vector_bytes, traffic->used_bytes,
                      traffic->stride_bytes);
    if (traffic->writes)
        fth_buffer_format(text, " writes %" PRIu32, traffic->writes);
    if (traffic->repeats != 1)
        fth_buffer_format(text, " repeats %" PRIu32, traffic->repeats);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_traffic *traffic = &request->traffic;
    traffic->repeats = 1;
    return fth_scan_residence(scanner, &traffic->residence, &traffic->prefetched) &&
           fth_scan(scanner, " ") && fth_scan_number(scanner, UINT64_MAX, &traffic->bytes) &&
           fth_scan(scanner, " ") && fth_scan_u32(scanner, &traffic->blocks) &&
           fth_scan(scanner, "x") && fth_scan_u32(scanner, &traffic->threads) &&
           fth_scan(scanner, "x") && fth_scan_u32(scanner, &traffic->vector_bytes) &&
           fth_scan(scanner, " part ") &&
           fth_scan_number(scanner, UINT64_MAX, &traffic->used_bytes) &&
           fth_scan(scanner, " of ") &&
           fth_scan_number(scanner, UINT64_MAX, &traffic->stride_bytes) &&
           fth_scan_option_u32(scanner, " writes ", &traffic->writes) &&
           fth_scan_option_u32(scanner, " repeats ", &traffic->repeats);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return request->traffic.repeats;
}

/* ---- execution ---- */

struct traffic_state {
    struct fth_machine_module *modules[VECTOR_SIZES]; /* vectors of 4, 8 and 16 bytes */
    uint64_t sink;
};

static enum fth_status open_state(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct traffic_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_state(struct fth_runner *runner, void *opaque)
{
    struct traffic_state *state = opaque;
    for (size_t i = 0; i < FTH_COUNT(state->modules); i++)
        if (state->modules[i])
            runner->ops->unload(runner->machine, state->modules[i]);
    if (state->sink)
        runner->ops->free(runner->machine, state->sink);
    free(state);
}

static enum fth_status load(struct fth_runner *runner, uint32_t vector_bytes,
                            struct fth_machine_module **module, struct fth_error *error)
{
    if (*module)
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_traffic(vector_bytes, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "traffic", ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    return status;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    (void)runner;
    (void)error;
    const struct fth_traffic *traffic = &lowered->request->traffic;
    lowered->blocks = traffic->blocks;
    lowered->threads = traffic->threads;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)traffic->bytes / (traffic->residence == FTH_RESIDES_DEVICE
                                                             ? min_device_bytes_per_s
                                                             : min_host_bytes_per_s);
    return FTH_OK;
}

static unsigned log2_of(uint64_t number)
{
    return (unsigned)__builtin_ctzll(number);
}

/* Times one launch over the array at `memory`. `ns` can be NULL. */
static enum fth_status time_launch(struct fth_runner *runner, const struct traffic_state *state,
                                   const struct fth_lowered *lowered, uint64_t memory, uint32_t *ns,
                                   struct fth_error *error)
{
    const struct fth_traffic *traffic = &lowered->request->traffic;
    const uint64_t arguments[] = {memory,
                                  traffic->bytes / group_bytes(traffic),
                                  log2_of(traffic->used_bytes / traffic->vector_bytes),
                                  traffic->stride_bytes,
                                  traffic->writes,
                                  state->sink};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = state->modules[log2_of(traffic->vector_bytes) - 2];
    launch.kernel = "traffic";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    double passed = 0;
    FTH_TRY(fth_runner_queue_delay(runner, error));
    FTH_TRY(runner->ops->mark(runner->machine, false, error));
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    FTH_TRY(runner->ops->mark(runner->machine, true, error));
    FTH_TRY(runner->ops->wait(runner->machine, lowered->time_limit_s, error));
    FTH_TRY(runner->ops->marked_ns(runner->machine, &passed, error));
    if (ns)
        *ns = passed < UINT32_MAX ? (uint32_t)(passed + 0.5) : UINT32_MAX;
    return FTH_OK;
}

/* Runs the launches in memory of the GPU. Cold ones take another piece of the pool each time. */
static enum fth_status run_on_device(struct fth_runner *runner, const struct traffic_state *state,
                                     const struct fth_lowered *lowered, uint32_t *ns,
                                     struct fth_error *error)
{
    const struct fth_traffic *traffic = &lowered->request->traffic;
    const bool cold = lowered->request->cold;
    const uint64_t piece = footprint(traffic);
    FTH_TRY(fth_pool_grow(runner, &runner->arrays,
                          cold ? fth_pool_cold_bytes(runner, piece) : piece, error));
    uint64_t memory = fth_pool_take(&runner->arrays, piece);
    if (!cold)
        FTH_TRY(time_launch(runner, state, lowered, memory, NULL, error));
    for (uint32_t i = 0; i < traffic->repeats; i++) {
        FTH_TRY(time_launch(runner, state, lowered, memory, &ns[i], error));
        if (cold)
            memory = fth_pool_take(&runner->arrays, piece);
    }
    return FTH_OK;
}

static enum fth_status run_on_host(struct fth_runner *runner, const struct traffic_state *state,
                                   const struct fth_lowered *lowered, uint32_t *ns,
                                   struct fth_error *error)
{
    const struct fth_traffic *traffic = &lowered->request->traffic;
    struct fth_host_memory host = {0};
    FTH_TRY(fth_host_memory_alloc(runner, traffic->residence, traffic->prefetched,
                                  footprint(traffic), &host, error));
    enum fth_status status = FTH_OK;
    if (traffic->residence == FTH_RESIDES_HOST)
        status = time_launch(runner, state, lowered, host.address, NULL, error);
    for (uint32_t i = 0; i < traffic->repeats && status == FTH_OK; i++)
        status = time_launch(runner, state, lowered, host.address, &ns[i], error);
    runner->ops->host_free(runner->machine, &host);
    return status;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *ns, struct fth_error *error)
{
    const struct fth_traffic *traffic = &lowered->request->traffic;
    struct traffic_state *state = slot->state;
    FTH_TRY(load(runner, traffic->vector_bytes, &state->modules[log2_of(traffic->vector_bytes) - 2],
                 error));
    if (!state->sink)
        FTH_TRY(fth_runner_alloc(runner, sizeof(uint32_t), &state->sink, error));
    return traffic->residence == FTH_RESIDES_DEVICE
               ? run_on_device(runner, state, lowered, ns, error)
               : run_on_host(runner, state, lowered, ns, error);
}

const struct fth_family_ops fth_family_traffic = {.word = "traffic",
                                                  .check = check,
                                                  .write = write,
                                                  .read = read_text,
                                                  .samples = count_samples,
                                                  .lower = lower,
                                                  .open = open_state,
                                                  .release = release_state,
                                                  .disturbs = FTH_DISTURBS_L2 | FTH_DISTURBS_ARRAYS,
                                                  .run = run};
