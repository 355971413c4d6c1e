/* The copies family: asynchronous copies between global and shared memory, and loads and stores
 * that do the same (kernels/copies.ptx); copies to the shared memory of other blocks of a cluster
 * (kernels/exchange.ptx). The canonical text is "copies KIND BYTES", followed by the members that
 * do not have their default value, for example
 *
 *   copies bulk-load 4096 depth 8 count 64 span 131072 passes 9
 *   copies tensor-load 4096 rank 2 row 128 span 131072 sms 1 passes 9; cold
 *   copies cluster 1024 depth 2 count 16 cluster 8 partner 4
 *   copies async-cg 16 threads 256 depth 4 count 64 span 65536
 *
 * The default of `depth`, `threads` and `passes` is 1, that of `count` is `depth`. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request";

enum {
    MAX_CLUSTER = 16,   /* blocks of a cluster, on Hopper and Blackwell */
    MAX_THREADS = 1024, /* of a block */
    WARP = 32,
    UNIT = 16,       /* bulk copies consist of as many bytes */
    LINE = 128,      /* alignment of copies in global memory, and of tensors in shared memory */
    MAX_BOX = 256,   /* elements of a box in one dimension, a limit of CUDA */
    ELEMENT = 4,     /* bytes of an element of a tensor */
    STORE_ASYNC = 8, /* bytes of a store */
    MAX_UNROLL = 8   /* loads in flight per thread, which need registers */
};
/* Limits, chosen: more bytes than an mbarrier can count in one copy, more copies and passes than a
 * measurement needs, and a span with which the arrays of 1024 SMs are still below
 * FTH_MAX_GLOBAL_BYTES. */
#define MAX_BYTES (UINT32_C(1) << 19)
#define MAX_COUNT (UINT32_C(1) << 20)
#define MAX_SPAN_BYTES (UINT64_C(1) << 36)
/* A copy that takes longer counts as hung. Chosen: far more than any access to memory takes. */
static const double max_copy_s = 50e-6;

/* ---- requests ---- */

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

static enum fth_status refuse(struct fth_error *error, const char *member, const char *rule)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%s", rule);
}

static enum fth_status check_bytes(const struct fth_copies *copies, struct fth_error *error)
{
    const uint32_t bytes = copies->bytes;
    if (fth_copies_by_threads(copies->kind)) {
        const bool fits =
            bytes == 16 || ((bytes == 4 || bytes == 8) && copies->kind != FTH_COPIES_ASYNC_CG);
        return fits ? FTH_OK : refuse(error, "copies.bytes", "a thread cannot copy as many bytes");
    }
    if (copies->kind == FTH_COPIES_STORE_ASYNC)
        return bytes == STORE_ASYNC ? FTH_OK
                                    : refuse(error, "copies.bytes", "a store must have 8 bytes");
    return bytes && bytes % UNIT == 0 && bytes <= MAX_BYTES
               ? FTH_OK
               : refuse(error, "copies.bytes", "not a multiple of 16 in the range 16 to 524288");
}

static enum fth_status check_shape(const struct fth_copies *copies, struct fth_error *error)
{
    const bool tensor = copies->kind == FTH_COPIES_TENSOR_LOAD;
    const bool in_cluster = fth_copies_in_cluster(copies->kind);
    const uint32_t cluster = copies->cluster;
    if (tensor ? copies->rank == 0 || copies->rank > FTH_TENSOR_MAX_RANK : copies->rank != 0)
        return refuse(error, "copies.rank", "must be 1 to 5 for tensors, and 0 otherwise");
    if (!tensor && copies->row_bytes)
        return refuse(error, "copies.row_bytes", "must be 0, except for tensors");
    if (tensor && (!is_power_of_two(copies->bytes) || !is_power_of_two(copies->row_bytes) ||
                   copies->row_bytes < UNIT || copies->row_bytes > MAX_BOX * ELEMENT ||
                   copies->row_bytes > copies->bytes ||
                   (copies->rank == 1 && copies->row_bytes != copies->bytes) ||
                   (copies->rank == 2 && copies->bytes / copies->row_bytes > MAX_BOX)))
        return refuse(error, "copies.row_bytes",
                      "no box of this rank has as many bytes and rows of this length");
    if (in_cluster ? !is_power_of_two(cluster) || cluster < 2 || cluster > MAX_CLUSTER
                   : cluster != 0)
        return refuse(error, "copies.cluster",
                      "must be a power of two from 2 to 16 for copies in a cluster, and 0 "
                      "otherwise");
    const bool pair = in_cluster && copies->kind != FTH_COPIES_MULTICAST;
    if (pair ? copies->partner == 0 || copies->partner >= cluster : copies->partner != 0)
        return refuse(error, "copies.partner", "the cluster has no such block");
    return FTH_OK;
}

/* Returns the bytes from one copy of a block in global memory to its next. */
static uint64_t step_bytes(const struct fth_copies *copies)
{
    if (fth_copies_by_threads(copies->kind))
        return (uint64_t)copies->bytes * copies->threads *
               (copies->kind == FTH_COPIES_LOAD_STORE ? copies->depth : 1);
    return ((uint64_t)copies->bytes + LINE - 1) / LINE * LINE;
}

/* Checks the members that do not matter in a cluster. */
static enum fth_status check_alone(const struct fth_copies *copies, struct fth_error *error)
{
    const uint64_t parts = fth_copies_by_threads(copies->kind) ? 1 : copies->threads;
    const uint32_t max_threads =
        fth_copies_by_threads(copies->kind) ? MAX_THREADS : MAX_THREADS / WARP;
    if (copies->threads == 0 || copies->threads > max_threads)
        return fth_fail(error, FTH_INVALID, operation, "copies.threads",
                        "%" PRIu32 " is not in the range 1 to %" PRIu32, copies->threads,
                        max_threads);
    if (parts * copies->depth > FTH_COPIES_MAX_STAGES)
        return refuse(error, "copies.depth", "a block has at most 128 copies in flight");
    const uint64_t together = step_bytes(copies) * parts;
    return copies->span_bytes == 0 || copies->span_bytes > MAX_SPAN_BYTES || together == 0 ||
                   copies->span_bytes % together
               ? refuse(error, "copies.span_bytes",
                        "must be a multiple of the copies of all threads, and at most 64 GiB")
               : FTH_OK;
}

static enum fth_status check_amounts(const struct fth_copies *copies, struct fth_error *error)
{
    const bool in_cluster = fth_copies_in_cluster(copies->kind);
    const uint32_t max_depth =
        copies->kind == FTH_COPIES_LOAD_STORE ? MAX_UNROLL : FTH_COPIES_MAX_STAGES;
    if (copies->depth == 0 || copies->depth > max_depth)
        return fth_fail(error, FTH_INVALID, operation, "copies.depth",
                        "%" PRIu32 " is not in the range 1 to %" PRIu32, copies->depth, max_depth);
    if (copies->count == 0 || copies->count > MAX_COUNT ||
        (!in_cluster && copies->count % copies->depth))
        return refuse(error, "copies.count",
                      "must be a multiple of the copies in flight, and at most 1048576");
    if (copies->passes == 0 || copies->passes > MAX_COUNT)
        return refuse(error, "copies.passes", "not in the range 1 to 1048576");
    if (!in_cluster)
        return check_alone(copies, error);
    return copies->span_bytes || copies->sms || copies->threads != 1 ||
                   (uint64_t)copies->bytes * copies->depth > MAX_BYTES
               ? refuse(error, "copies.span_bytes",
                        "copies in a cluster have one thread, no span and no number of SMs, and "
                        "at most 524288 bytes at a time")
               : FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_copies *copies = &request->copies;
    if ((unsigned)copies->kind >= FTH_COPIES_KINDS)
        return refuse(error, "copies.kind", "unknown");
    if (request->sm != FTH_ANY_SM)
        return refuse(error, "sm", "the SM cannot be chosen for this family");
    if (request->cold && fth_copies_in_cluster(copies->kind))
        return refuse(error, "cold", "not available for copies in a cluster");
    FTH_TRY(fth_check_carveout(request, error));
    FTH_TRY(check_bytes(copies, error));
    FTH_TRY(check_shape(copies, error));
    return check_amounts(copies, error);
}

static void write_option(struct fth_buffer *text, const char *word, uint64_t number,
                         uint64_t default_number)
{
    if (number != default_number)
        fth_buffer_format(text, " %s %" PRIu64, word, number);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_copies *copies = &request->copies;
    fth_buffer_format(text, "copies %s %" PRIu32, fth_copies_kind_name(copies->kind),
                      copies->bytes);
    write_option(text, "rank", copies->rank, 0);
    write_option(text, "row", copies->row_bytes, 0);
    write_option(text, "threads", copies->threads, 1);
    write_option(text, "depth", copies->depth, 1);
    write_option(text, "count", copies->count, copies->depth);
    write_option(text, "span", copies->span_bytes, 0);
    write_option(text, "cluster", copies->cluster, 0);
    write_option(text, "partner", copies->partner, 0);
    write_option(text, "sms", copies->sms, 0);
    write_option(text, "passes", copies->passes, 1);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_copies *copies = &request->copies;
    unsigned kind = 0;
    while (kind < FTH_COPIES_KINDS &&
           !fth_scan_name(scanner, fth_copies_kind_name((enum fth_copies_kind)kind)))
        kind++;
    *copies = (struct fth_copies){
        .kind = (enum fth_copies_kind)kind, .threads = 1, .depth = 1, .passes = 1};
    if (kind == FTH_COPIES_KINDS || !fth_scan(scanner, " ") ||
        !fth_scan_u32(scanner, &copies->bytes) ||
        !fth_scan_option_u32(scanner, " rank ", &copies->rank) ||
        !fth_scan_option_u32(scanner, " row ", &copies->row_bytes) ||
        !fth_scan_option_u32(scanner, " threads ", &copies->threads) ||
        !fth_scan_option_u32(scanner, " depth ", &copies->depth))
        return false;
    copies->count = copies->depth;
    return fth_scan_option_u32(scanner, " count ", &copies->count) &&
           fth_scan_option(scanner, " span ", &copies->span_bytes) &&
           fth_scan_option_u32(scanner, " cluster ", &copies->cluster) &&
           fth_scan_option_u32(scanner, " partner ", &copies->partner) &&
           fth_scan_option_u32(scanner, " sms ", &copies->sms) &&
           fth_scan_option_u32(scanner, " passes ", &copies->passes);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return request->copies.passes;
}

/* ---- requests on this GPU ---- */

/* Sets the extents of a box: the innermost dimension is a row, and the others divide the number of
 * rows among them, the outermost ones get more. */
static void set_box(const struct fth_copies *copies, uint32_t box[FTH_TENSOR_MAX_RANK])
{
    unsigned bits = 0;
    while (copies->row_bytes << bits < copies->bytes)
        bits++;
    box[0] = copies->row_bytes / ELEMENT;
    for (uint32_t i = 1; i < copies->rank; i++) {
        const unsigned part = bits / (copies->rank - i);
        box[i] = UINT32_C(1) << part;
        bits -= part;
    }
}

static enum fth_status check_support(const struct fth_runner *runner,
                                     const struct fth_lowered *lowered, uint64_t needed,
                                     struct fth_error *error)
{
    const struct fth_copies *copies = &lowered->request->copies;
    const struct fth_machine_facts *facts = &runner->facts;
    const unsigned min = fth_copies_capability(copies->kind);
    if (facts->capability && facts->capability < min)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "copies of the kind '%s' require compute capability %u.%u or later",
                        fth_copies_kind_name(copies->kind), min / 10, min % 10);
    if (copies->sms > facts->sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "%" PRIu32 " SMs requested, the GPU has %" PRIu32, copies->sms, facts->sms);
    if (copies->cluster > facts->sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the cluster has more blocks than the GPU has SMs");
    if (facts->block_shared_bytes && needed > facts->block_shared_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    return FTH_OK;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_copies *copies = &lowered->request->copies;
    struct fth_lowered_copies *plan = &lowered->copies;
    const bool by_threads = fth_copies_by_threads(copies->kind);
    const bool in_cluster = fth_copies_in_cluster(copies->kind);
    const uint64_t parts = by_threads ? 1 : copies->threads;
    lowered->blocks = in_cluster ? copies->cluster : copies->sms ? copies->sms : runner->facts.sms;
    lowered->threads = in_cluster ? 1 : copies->threads * (by_threads ? 1 : WARP);
    lowered->cluster = copies->cluster;
    plan->stage_bytes = by_threads ? (uint64_t)copies->bytes * copies->threads
                                   : ((uint64_t)copies->bytes + LINE - 1) / LINE * LINE;
    plan->step_bytes = step_bytes(copies);
    plan->array_bytes = copies->kind == FTH_COPIES_MULTICAST ? plan->stage_bytes * copies->depth
                                                             : copies->span_bytes * lowered->blocks;
    if (copies->kind == FTH_COPIES_TENSOR_LOAD)
        set_box(copies, plan->box);
    const uint64_t needed = FTH_COPIES_HEAD_BYTES + plan->stage_bytes * copies->depth * parts;
    const uint64_t max = runner->facts.block_shared_bytes;
    /* Each block requests the maximum of shared memory, so that no two blocks share an SM. */
    lowered->shared_bytes = max ? max : needed;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)(copies->passes + 1) * (double)copies->count * max_copy_s;
    return check_support(runner, lowered, needed, error);
}

/* ---- execution ---- */

enum { MAX_MODULES = 64 };

struct copies_state {
    /* The arrays; those of cold requests, which use one part after the other; a counter, then the
     * samples. */
    struct fth_pool arrays, cold, control;
    struct {
        struct fth_copies_code code;
        struct fth_machine_module *module;
    } modules[MAX_MODULES];
    size_t module_count;
};

/* The distance of the samples from the counter at which blocks meet: another line. */
enum { SAMPLES_OFFSET = 128 };

static struct fth_copies_code code_of(const struct fth_copies *copies)
{
    return (struct fth_copies_code){.kind = copies->kind,
                                    .bytes =
                                        fth_copies_by_threads(copies->kind) ? copies->bytes : 0,
                                    .depth = fth_copies_counted(copies->kind) ? 0 : copies->depth,
                                    .rank = copies->rank};
}

static enum fth_status request_ptx(const struct fth_request *request, struct fth_buffer *ptx,
                                   struct fth_error *error)
{
    const struct fth_copies_code code = code_of(&request->copies);
    return fth_kernels_copies(&code, ptx, error);
}

/* Returns the module of a request; loads it on first use. The oldest module makes room for it if
 * there are too many. */
static enum fth_status load(const struct fth_runner *runner, struct copies_state *state,
                            const struct fth_request *request, struct fth_machine_module **module,
                            struct fth_error *error)
{
    const struct fth_copies_code code = code_of(&request->copies);
    for (size_t i = 0; i < state->module_count; i++) {
        const struct fth_copies_code *other = &state->modules[i].code;
        *module = state->modules[i].module;
        if (other->kind == code.kind && other->bytes == code.bytes && other->depth == code.depth &&
            other->rank == code.rank)
            return FTH_OK;
    }
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_copies(&code, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "copies", ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    if (status != FTH_OK)
        return status;
    if (state->module_count == MAX_MODULES) {
        runner->ops->unload(runner->machine, state->modules[0].module);
        memmove(state->modules, state->modules + 1, (MAX_MODULES - 1) * sizeof *state->modules);
        state->module_count--;
    }
    state->modules[state->module_count].code = code;
    state->modules[state->module_count++].module = *module;
    return FTH_OK;
}

/* Encodes the map of a tensor over the arrays of all blocks. Copies are next to each other along
 * the outermost dimension. */
static enum fth_status make_map(const struct fth_runner *runner, const struct fth_lowered *lowered,
                                uint64_t address, unsigned char *bytes, struct fth_error *error)
{
    const struct fth_copies *copies = &lowered->request->copies;
    const struct fth_lowered_copies *plan = &lowered->copies;
    const unsigned last = copies->rank - 1;
    struct fth_ptx_tensor_map map = {
        .type = FTH_TENSOR_U32, .rank = copies->rank, .address = address};
    uint64_t stride = ELEMENT;
    for (unsigned i = 0; i <= last; i++) {
        map.box[i] = plan->box[i];
        map.element_strides[i] = 1;
        map.sizes[i] =
            i < last ? plan->box[i] : plan->array_bytes / copies->bytes * plan->box[last];
        stride *= plan->box[i];
        if (i < last)
            map.strides[i] = stride;
    }
    return runner->ops->tensor_map(runner->machine, &map, bytes, error);
}

/* The arguments of the kernels, in the order of copies.ptx and exchange.ptx. */
struct copies_arguments {
    unsigned char map[FTH_TENSOR_MAP_BYTES];
    uint64_t array, block_step, part_step, part_shared, step, span, depth, count, stage_step, bytes,
        passes, meeting, samples;
};
struct exchange_arguments {
    uint64_t array, partner, depth, stage_step, bytes, count, passes, samples;
};
enum { PARAMETERS = 14 };

struct copies_run {
    struct fth_runner *runner;
    const struct fth_lowered *lowered;
    struct fth_machine_module *module;
    uint64_t array, control;
};

/* Sets the counter and the samples to 0, and executes the kernel. */
static enum fth_status launch(const struct copies_run *run, struct fth_machine_launch launch,
                              struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    launch.module = run->module;
    FTH_TRY(runner->ops->fill(runner->machine, run->control, 0,
                              SAMPLES_OFFSET + run->lowered->sample_count * 4, error));
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    return runner->ops->wait(runner->machine, run->lowered->time_limit_s, error);
}

/* Executes the launch after bringing its bytes into the L2, with the same launch. */
static enum fth_status launch_prepared(const struct copies_run *run,
                                       const struct fth_machine_launch *kernel,
                                       struct fth_error *error)
{
    if (!run->lowered->request->cold && run->lowered->copies.array_bytes)
        FTH_TRY(launch(run, *kernel, error));
    return launch(run, *kernel, error);
}

static enum fth_status run_exchange(const struct copies_run *run, struct fth_error *error)
{
    const struct fth_copies *copies = &run->lowered->request->copies;
    const struct exchange_arguments arguments = {.array = run->array,
                                                 .partner = copies->partner,
                                                 .depth = copies->depth,
                                                 .stage_step = run->lowered->copies.stage_bytes,
                                                 .bytes = copies->bytes,
                                                 .count = copies->count,
                                                 .passes = copies->passes,
                                                 .samples = run->control + SAMPLES_OFFSET};
    struct fth_machine_launch kernel = fth_lowered_launch(run->lowered);
    kernel.kernel = "exchange";
    kernel.arguments = &arguments;
    kernel.argument_bytes = sizeof arguments;
    return launch_prepared(run, &kernel, error);
}

/* Sets the arguments. For a tensor, addresses are coordinates of its outermost dimension. A kernel
 * of loads and stores has its `depth` loads in one step. */
static void set_arguments(const struct copies_run *run, struct copies_arguments *arguments)
{
    const struct fth_copies *copies = &run->lowered->request->copies;
    const struct fth_lowered_copies *plan = &run->lowered->copies;
    const bool unrolled = copies->kind == FTH_COPIES_LOAD_STORE;
    const bool by_threads = fth_copies_by_threads(copies->kind);
    const bool tensor = copies->kind == FTH_COPIES_TENSOR_LOAD;
    /* Coordinates per copy of a tensor; otherwise bytes. */
    const uint64_t unit = tensor ? plan->box[copies->rank - 1] : plan->step_bytes;
    const uint64_t span = copies->span_bytes / plan->step_bytes * unit;
    arguments->array = tensor ? 0 : run->array;
    arguments->block_step = span;
    arguments->part_step = by_threads ? copies->bytes : span / copies->threads;
    arguments->part_shared = by_threads ? copies->bytes : plan->stage_bytes * copies->depth;
    arguments->step = unit;
    arguments->span = by_threads ? span : span / copies->threads;
    arguments->depth = unrolled ? 1 : copies->depth;
    arguments->count = unrolled ? copies->count / copies->depth : copies->count;
    arguments->stage_step = plan->stage_bytes;
    arguments->bytes = copies->bytes;
    arguments->passes = copies->passes;
    arguments->meeting =
        run->runner->facts.concurrent && run->lowered->blocks > 1 ? run->control : 0;
    arguments->samples = run->control + SAMPLES_OFFSET;
}

static enum fth_status run_alone(const struct copies_run *run, struct fth_error *error)
{
    struct copies_arguments arguments = {.array = 0};
    struct fth_ptx_parameter parameters[PARAMETERS] = {
        {.name = "map", .bytes = FTH_TENSOR_MAP_BYTES, .type = "b8"}};
    for (size_t i = 1; i < PARAMETERS; i++)
        parameters[i] = (struct fth_ptx_parameter){.name = "number",
                                                   .offset = FTH_TENSOR_MAP_BYTES + 8 * (i - 1),
                                                   .bytes = 8,
                                                   .type = "u64"};
    set_arguments(run, &arguments);
    if (run->lowered->request->copies.kind == FTH_COPIES_TENSOR_LOAD)
        FTH_TRY(make_map(run->runner, run->lowered, run->array, arguments.map, error));
    struct fth_machine_launch kernel = fth_lowered_launch(run->lowered);
    kernel.kernel = "copies";
    kernel.arguments = &arguments;
    kernel.argument_bytes = sizeof arguments;
    kernel.parameters = parameters;
    kernel.parameter_count = PARAMETERS;
    return launch_prepared(run, &kernel, error);
}

static enum fth_status run_copies(struct fth_runner *runner, struct fth_family_slot *slot,
                                  const struct fth_lowered *lowered, uint32_t *cycles,
                                  struct fth_error *error)
{
    struct copies_state *state = slot->state;
    const uint64_t sample_bytes = lowered->sample_count * 4;
    struct copies_run run = {.runner = runner, .lowered = lowered};
    FTH_TRY(load(runner, state, lowered->request, &run.module, error));
    FTH_TRY(fth_pool_grow(runner, &state->control, SAMPLES_OFFSET + sample_bytes, error));
    const uint64_t bytes = lowered->copies.array_bytes;
    if (lowered->request->cold) {
        FTH_TRY(fth_pool_grow(runner, &state->cold, fth_pool_cold_bytes(runner, bytes), error));
        run.array = fth_pool_take(&state->cold, bytes);
    } else if (bytes) {
        FTH_TRY(fth_pool_grow(runner, &state->arrays, bytes, error));
        run.array = state->arrays.address;
    }
    run.control = state->control.address;
    FTH_TRY(fth_copies_in_cluster(lowered->request->copies.kind) ? run_exchange(&run, error)
                                                                 : run_alone(&run, error));
    return runner->ops->download(runner->machine, cycles, run.control + SAMPLES_OFFSET,
                                 sample_bytes, error);
}

static enum fth_status open_copies(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct copies_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_copies(struct fth_runner *runner, void *memory)
{
    struct copies_state *state = memory;
    for (size_t i = 0; i < state->module_count; i++)
        runner->ops->unload(runner->machine, state->modules[i].module);
    fth_pool_release(runner, &state->arrays);
    fth_pool_release(runner, &state->cold);
    fth_pool_release(runner, &state->control);
    free(state);
}

const struct fth_family_ops fth_family_copies = {.word = "copies",
                                                 .check = check,
                                                 .write = write_text,
                                                 .read = read_text,
                                                 .samples = count_samples,
                                                 .lower = lower,
                                                 .open = open_copies,
                                                 .release = release_copies,
                                                 .request_ptx = request_ptx,
                                                 .disturbs = FTH_DISTURBS_L2,
                                                 .run = run_copies};
