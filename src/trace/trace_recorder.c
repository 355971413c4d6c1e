/* The recorder: an observer of the PTX engine that passes the accesses of all blocks to a trace
 * writer. Each host thread collects the accesses of its current block (or cluster of blocks)
 * without locking. When the block has ended, its accesses are written. Blocks are written in the
 * order of their index, so that the same launch gives the same file with any number of host
 * threads. A block that ends early waits in memory for the blocks before it, within the limits
 * below. */
#include "ptx/ptx.h"
#include "trace/counters/counters.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* MAX_WARPS are the warps of the largest block. The sizes of the caches are chosen: most kernels
 * have fewer memory instructions. */
enum { MAX_WARPS = 32, INSTRUCTION_CACHE_SLOTS = 1024, STEP_CACHE_SLOTS = 256 };

/* Limits of the memory for records, in bytes and in accesses. Chosen, not derived. When the pending
 * clusters exceed MAX_PENDING_BYTES, or a running block has MAX_BLOCK_ACCESSES accesses, records
 * are written at once; the order of the file then depends on the timing of the host threads. */
#define MAX_PENDING_BYTES ((size_t)128 << 20)
#define MAX_BLOCK_ACCESSES ((size_t)1 << 20)

/* What a warp has done up to its last access to global memory, and since then. */
struct progress {
    uint32_t instruction; /* of its last access; FTH_PACE_START: none yet */
    uint32_t barriers;    /* at which it has waited since its last access */
    uint64_t shared;      /* wavefronts of shared memory since its last access */
    uint64_t constants;   /* addresses of loads of different constants since its last access */
    uint64_t waited;      /* cycles of these loads that are not in `cycles` */
    uint64_t issued;      /* machine instructions up to its last access */
    uint64_t cycles;      /* of chains of dependent instructions up to its last access */
};

/* A block that is running. */
struct block {
    uint64_t index;
    uint64_t next_numbers[MAX_WARPS]; /* per warp: the number of its next access */
    struct progress progress[MAX_WARPS];
    struct fth_records records;
};

/* An instruction and the writer's number of it. */
struct instruction_slot {
    size_t number; /* SIZE_MAX: the slot is empty */
    uint32_t line, index, bytes;
    enum fth_ptx_access_kind kind;
    enum fth_ptx_cache_op cache_op;
    uint32_t hints; /* fth_ptx_pack_hints() */
    const struct fth_source_position *source;
};

/* The state of one host thread. */
struct worker {
    struct worker *next;
    /* The running block, the blocks of the running cluster or, of a cooperative launch, all blocks.
     * Those from block_count on are not in use, but their records may have memory. */
    struct block *blocks;
    size_t block_count, block_capacity;
    size_t last_block; /* index of the block of the last access */
    /* Direct-mapped cache of the writer's instruction numbers, to avoid taking the lock. */
    struct instruction_slot instruction_cache[INSTRUCTION_CACHE_SLOTS];
    uint64_t shared, local, constant, texture; /* requests of warps to other memory spaces */
    uint64_t local_bytes; /* end of the local memory of a thread that is accessed */
    struct fth_pace pace;
    struct fth_shared_table shared_table;
    struct fth_shared_cache *shared_cache;
    /* Direct-mapped cache: the index in `pace` of the last step to an instruction. */
    uint32_t step_cache[STEP_CACHE_SLOTS];
};

/* A cluster (or a block without a cluster) that has ended before an earlier one. */
struct pending {
    struct pending *next;
    uint64_t index;
    struct fth_records records;
};

struct fth_trace_recorder {
    struct fth_trace_writer *writer;
    pthread_key_t key;    /* the worker of the current host thread */
    pthread_mutex_t lock; /* protects the following fields and the writer */
    struct worker *workers;
    struct pending *pending;      /* sorted by index */
    struct pending *last_pending; /* valid if there is one */
    size_t pending_bytes;
    struct fth_shared_cache *free_caches; /* of the workers of earlier launches */
    struct fth_records spare; /* memory for the records of a block, without any record */
    uint64_t next;            /* index of the next cluster to write */
    const struct fth_log *log;
    enum fth_status status;
    struct fth_error error;
    struct fth_ptx_observer observer;
};

/* Records the first failure; FTH_OK stands for exhausted memory. Always returns false. */
static bool fail(struct fth_trace_recorder *recorder, enum fth_status status)
{
    if (recorder->status == FTH_OK)
        recorder->status = status == FTH_OK ? FTH_NO_MEMORY : status;
    if (status == FTH_OK)
        fth_no_memory(&recorder->error, "write trace", NULL);
    return false;
}

/* Returns the worker of the calling host thread and creates it at the first call. NULL: memory is
 * exhausted. */
static struct worker *current_worker(struct fth_trace_recorder *recorder)
{
    struct worker *worker = pthread_getspecific(recorder->key);
    if (worker)
        return worker;
    worker = calloc(1, sizeof *worker);
    if (!worker || pthread_setspecific(recorder->key, worker) != 0) {
        free(worker);
        return NULL;
    }
    for (size_t i = 0; i < INSTRUCTION_CACHE_SLOTS; i++)
        worker->instruction_cache[i].number = SIZE_MAX;
    pthread_mutex_lock(&recorder->lock);
    worker->next = recorder->workers;
    recorder->workers = worker;
    worker->shared_cache = recorder->free_caches;
    if (worker->shared_cache)
        recorder->free_caches = worker->shared_cache->next;
    pthread_mutex_unlock(&recorder->lock);
    return worker;
}

/* Returns the running block with this index and adds it if it is new. NULL: memory is exhausted. */
static struct block *search_block(struct worker *worker, uint64_t index)
{
    for (size_t i = 0; i < worker->block_count; i++) {
        const size_t at = (worker->last_block + i) % worker->block_count;
        if (worker->blocks[at].index == index) {
            worker->last_block = at;
            return &worker->blocks[at];
        }
    }
    if (worker->block_count == worker->block_capacity) {
        const size_t capacity = worker->block_capacity ? 2 * worker->block_capacity : 1;
        struct block *blocks = realloc(worker->blocks, capacity * sizeof *blocks);
        if (!blocks)
            return NULL;
        memset(blocks + worker->block_capacity, 0,
               (capacity - worker->block_capacity) * sizeof *blocks);
        worker->blocks = blocks;
        worker->block_capacity = capacity;
    }
    worker->last_block = worker->block_count++;
    struct block *block = &worker->blocks[worker->last_block];
    block->index = index;
    memset(block->next_numbers, 0, sizeof block->next_numbers);
    memset(block->progress, 0, sizeof block->progress);
    for (size_t i = 0; i < MAX_WARPS; i++)
        block->progress[i].instruction = FTH_PACE_START;
    return block;
}

/* The same. Blocks take turns, so the last one is tried first. */
static inline struct block *find_block(struct worker *worker, uint64_t index)
{
    const size_t last = worker->last_block;
    return last < worker->block_count && worker->blocks[last].index == index
               ? &worker->blocks[last]
               : search_block(worker, index);
}

/* Returns what a trace keeps of the instruction of an access. */
static struct fth_trace_instruction facts_of(const struct fth_ptx_access *access, uint32_t hints)
{
    return (struct fth_trace_instruction){.line = access->line,
                                          .source_file = access->source_file,
                                          .source_line = access->source ? access->source->line : 0,
                                          .index = access->instruction,
                                          .kind = access->kind == FTH_ACCESS_READ ? FTH_TRACE_READ
                                                  : access->kind == FTH_ACCESS_WRITE
                                                      ? FTH_TRACE_WRITE
                                                      : FTH_TRACE_ATOMIC,
                                          .bytes = access->bytes,
                                          .cache_op = (uint32_t)access->cache_op,
                                          .hints = hints,
                                          .source = access->source,
                                          .wait = access->wait};
}

/* Returns the writer's number of an instruction with these packed hints; SIZE_MAX: memory is
 * exhausted. */
static inline size_t instruction_of(struct fth_trace_recorder *recorder, struct worker *worker,
                                    const struct fth_ptx_access *access, uint32_t hints)
{
    struct instruction_slot *slot =
        &worker
             ->instruction_cache[(access->instruction +
                                  (hints & FTH_TRACE_CONTINUES ? INSTRUCTION_CACHE_SLOTS / 2 : 0)) %
                                 INSTRUCTION_CACHE_SLOTS];
    /* The position in the PTX text determines the position in the source. */
    if (slot->number != SIZE_MAX && slot->line == access->line &&
        slot->index == access->instruction && slot->kind == access->kind &&
        slot->bytes == access->bytes && slot->cache_op == access->cache_op &&
        slot->hints == hints && slot->source == access->source)
        return slot->number;
    const struct fth_trace_instruction facts = facts_of(access, hints);
    pthread_mutex_lock(&recorder->lock);
    const size_t number = fth_trace_writer_instruction(recorder->writer, &facts);
    pthread_mutex_unlock(&recorder->lock);
    *slot = (struct instruction_slot){.number = number,
                                      .line = access->line,
                                      .index = access->instruction,
                                      .bytes = access->bytes,
                                      .kind = access->kind,
                                      .cache_op = access->cache_op,
                                      .hints = hints,
                                      .source = access->source};
    return number;
}

/* Passes records to the writer and clears them. The caller holds the lock. */
static bool write_records(struct fth_trace_recorder *recorder, struct fth_records *records)
{
    if (recorder->status != FTH_OK)
        return false;
    enum fth_status status = fth_trace_writer_add(recorder->writer, records, &recorder->error);
    fth_records_clear(records);
    return status == FTH_OK || fail(recorder, status);
}

/* Counts accesses to memory spaces other than global. Returns false for an access that is traced:
 * to global memory unless the assembler removes it, to local memory unless the assembler makes it
 * an access to registers, and the first one of an instruction on a texture, which has all its
 * texels. */
static bool count_untraced(struct worker *worker, const struct fth_ptx_access *access)
{
    switch (access->space) {
    case FTH_SPACE_SHARED: worker->shared++; return true;
    case FTH_SPACE_LOCAL: worker->local += !access->in_registers; return access->in_registers;
    case FTH_SPACE_CONST: worker->constant++; return true;
    case FTH_SPACE_TEXTURE: worker->texture += access->texels != NULL; return !access->texels;
    case FTH_SPACE_GLOBAL: worker->texture += access->texels != NULL; return access->is_removed;
    default: return true;
    }
}

/* Adds an access to local memory. On a GPU, the words of the 32 lanes are interleaved
 * (docs/results/counting-rules.md): see FTH_TRACE_LOCAL. */
static bool add_local(struct worker *worker, struct fth_records *records,
                      const struct fth_record *record, const struct fth_ptx_access *access)
{
    uint64_t active[32];
    size_t count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const uint64_t offset = access->addresses[lane], end = offset + access->bytes;
        active[count++] = offset / 4 * 128 + 4 * (uint64_t)lane + offset % 4;
        worker->local_bytes = end > worker->local_bytes ? end : worker->local_bytes;
    }
    return fth_records_add(records, record, active);
}

static bool add_record(struct worker *worker, struct fth_records *records,
                       const struct fth_record *record, const struct fth_ptx_access *access)
{
    uint64_t active[32];
    size_t count = 0;
    if (access->space == FTH_SPACE_LOCAL)
        return add_local(worker, records, record, access);
    if (!access->addresses)
        return fth_records_add_linear(records, record, access->linear, access->row_lanes);
    if (access->mask == UINT32_MAX)
        return fth_records_add(records, record, access->addresses);
    for (uint32_t left = access->mask; left; left &= left - 1)
        active[count++] = access->addresses[__builtin_ctz(left)];
    return fth_records_add(records, record, active);
}

/* Records that memory is exhausted. Returns false. */
static bool fail_locked(struct fth_trace_recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    fail(recorder, FTH_OK);
    pthread_mutex_unlock(&recorder->lock);
    return false;
}

/* Returns the step between two instructions; NULL: memory is exhausted. */
static inline struct fth_pace_step *step_of(struct worker *worker, uint32_t from, uint32_t to)
{
    struct fth_pace *pace = &worker->pace;
    uint32_t *slot = &worker->step_cache[to % STEP_CACHE_SLOTS];
    if (*slot < pace->count && pace->steps[*slot].to == to && pace->steps[*slot].from == from)
        return &pace->steps[*slot];
    struct fth_pace_step *step = fth_pace_step(pace, from, to);
    if (step)
        *slot = (uint32_t)(step - pace->steps);
    return step;
}

/* Adds what the warp has done since its last access to the pace of the launch. `to`: its next
 * access, or FTH_PACE_END. */
static inline bool add_step(struct worker *worker, struct progress *progress, uint32_t to,
                            uint64_t issued, uint64_t cycles)
{
    struct fth_pace_step *step = step_of(worker, progress->instruction, to);
    if (!step)
        return false;
    step->count++;
    step->instructions += issued - progress->issued;
    step->latency_cycles += cycles - progress->cycles + progress->waited;
    step->barriers += progress->barriers;
    step->shared += progress->shared;
    step->constants += progress->constants;
    *progress = (struct progress){.instruction = to, .issued = issued, .cycles = cycles};
    return true;
}

static bool on_ended(void *user, const struct fth_ptx_warp_id *who, uint64_t issued,
                     uint64_t cycles)
{
    struct worker *worker = current_worker(user);
    struct block *block = worker ? find_block(worker, who->block) : NULL;
    return (block && add_step(worker, &block->progress[who->warp], FTH_PACE_END, issued, cycles)) ||
           fail_locked(user);
}

/* Counts a barrier for the warps that waited at it. */
static bool on_barrier(void *user, uint64_t index, uint32_t barrier, uint32_t warps)
{
    struct worker *worker = current_worker(user);
    struct block *block = worker ? find_block(worker, index) : NULL;
    (void)barrier;
    if (!block)
        return fail_locked(user);
    for (uint32_t left = warps; left; left &= left - 1)
        block->progress[__builtin_ctz(left)].barriers++;
    return true;
}

static bool on_cluster_barrier(void *user, const struct fth_ptx_warp_id *who, uint32_t phase,
                               bool waited)
{
    (void)phase;
    return !waited || on_barrier(user, who->block, 0, 1u << who->warp);
}

/* Counts an access to shared memory, and the wavefronts of the warp since its last access to global
 * memory. For loads that are merged to one of four words, the latter are those of that load. */
static bool add_shared(struct fth_trace_recorder *recorder, struct worker *worker,
                       struct block *block, const struct fth_ptx_access *access)
{
    uint64_t *pace = &block->progress[access->who.warp].shared;
    if (access->unit != FTH_UNIT_LANES && access->unit != FTH_UNIT_MATRIX) {
        (*pace)++; /* a copy, an mbarrier or wgmma: counted as one, without an instruction */
        return true;
    }
    const uint32_t hints = fth_ptx_pack_hints(access) | FTH_TRACE_SHARED;
    const size_t instruction = instruction_of(recorder, worker, access, hints);
    const struct fth_shared_table *table = &worker->shared_table;
    struct fth_trace_shared *row = instruction < table->count ? &table->rows[instruction]
                                   : instruction == SIZE_MAX
                                       ? NULL
                                       : fth_shared_row(&worker->shared_table, instruction);
    if (!worker->shared_cache)
        worker->shared_cache = calloc(1, sizeof *worker->shared_cache);
    if (!row || !worker->shared_cache)
        return fail_locked(recorder);
    const struct fth_shared_cost cost = fth_shared_cache_find(worker->shared_cache, access);
    row->requests++;
    row->threads += (uint32_t)__builtin_popcount(access->mask);
    row->wavefronts += cost.wavefronts;
    row->ideal_wavefronts += cost.ideal;
    row->padded_wavefronts += cost.padded;
    if (access->is_merged || access->begins_merged)
        *pace += fth_shares_request(access) ? 0 : 1;
    else
        *pace += cost.wavefronts ? cost.wavefronts : 1;
    return true;
}

/* Counts the addresses of a load of constants, if the lanes use several. */
static void add_constants(struct progress *progress, const struct fth_ptx_access *access)
{
    const struct fth_constant_cost cost = fth_access_constant_cost(access);
    progress->constants += cost.addresses;
    progress->waited += cost.cycles;
}

/* Adds a record of an access with the given instruction and lanes. `texels`: the addresses of an
 * access to a texture, one per bit of the mask; NULL for others. */
static bool add_access(struct fth_trace_recorder *recorder, struct worker *worker,
                       struct block *block, const struct fth_ptx_access *access, uint32_t hints,
                       uint32_t mask, const uint64_t *texels)
{
    const size_t instruction = instruction_of(recorder, worker, access, hints);
    if (instruction == SIZE_MAX)
        return false;
    const struct fth_record record = {.number = block->next_numbers[access->who.warp]++,
                                      .block = access->who.block,
                                      .instruction = (uint32_t)instruction,
                                      .warp = access->who.warp,
                                      .mask = mask};
    return (texels ? fth_records_add(&block->records, &record, texels)
                   : add_record(worker, &block->records, &record, access)) &&
           add_step(worker, &block->progress[access->who.warp], (uint32_t)instruction,
                    access->issued, access->cycles);
}

/* Positions in the hints of an instruction: see FTH_TRACE_TEXELS and FTH_TRACE_TEXTURE_LANES. */
enum { TEXELS_SHIFT = 14, LANES_SHIFT = 16, MAX_LANES = 32 };

/* Adds the accesses of one pass of an instruction on a texture or surface. *hints gets
 * FTH_TRACE_CONTINUES after the first access. */
static bool add_pass(struct fth_trace_recorder *recorder, struct worker *worker,
                     struct block *block, const struct fth_ptx_access *access, uint32_t most,
                     uint32_t shift, uint32_t *hints)
{
    const struct fth_ptx_texels *texels = access->texels;
    const uint32_t lanes = MAX_LANES >> shift, per_lane = 1u << shift;
    for (uint32_t first = 0; first < MAX_LANES; first += lanes)
        for (uint32_t from = 0; from < most; from += per_lane) {
            uint64_t addresses[MAX_LANES];
            uint32_t mask = 0, count = 0;
            for (uint32_t bit = 0; bit < MAX_LANES; bit++) {
                const uint32_t lane = first + (bit >> shift), texel = from + bit % per_lane;
                if (texel >= texels->counts[lane])
                    continue;
                mask |= 1u << bit;
                addresses[count++] = texels->addresses[lane][texel];
            }
            if (!mask)
                continue;
            if (!add_access(recorder, worker, block, access, *hints, mask, addresses))
                return false;
            *hints |= FTH_TRACE_CONTINUES;
        }
    return true;
}

/* Adds the accesses of an instruction on a texture or surface: see FTH_TRACE_TEXTURE. The eight
 * texels of an interpolation in three dimensions are two accesses, one for each image. */
static bool add_texels(struct fth_trace_recorder *recorder, struct worker *worker,
                       struct block *block, const struct fth_ptx_access *access)
{
    enum { MAX_TEXELS = 4 }; /* per lane and access */
    const struct fth_texture_rule rule = fth_find_texture_rule(access);
    uint32_t most = 0, shift = 0;
    for (uint32_t lane = 0; lane < MAX_LANES; lane++)
        most = access->texels->counts[lane] > most ? access->texels->counts[lane] : most;
    while (1u << shift < most && 1u << shift < MAX_TEXELS)
        shift++;
    uint32_t hints = fth_ptx_pack_hints(access) | FTH_TRACE_TEXTURE | shift << TEXELS_SHIFT |
                     rule.lanes_shift << LANES_SHIFT;
    for (uint32_t pass = 0; pass < rule.passes; pass++)
        if (!add_pass(recorder, worker, block, access, most, shift, &hints))
            return false;
    return true;
}

/* Adds the accesses of an instruction that is not one on a texture: the access, or its parts. */
static bool add_plain(struct fth_trace_recorder *recorder, struct worker *worker,
                      struct block *block, const struct fth_ptx_access *access)
{
    const uint32_t hints = fth_ptx_pack_hints(access);
    if (!access->parts.count)
        return add_access(recorder, worker, block, access, hints, access->mask, NULL);
    struct fth_ptx_access_part part;
    for (unsigned i = 0; i < access->parts.count; i++) {
        fth_ptx_take_part(access, i, &part);
        if (!add_access(recorder, worker, block, &part.access, hints, access->mask, NULL))
            return false;
    }
    return true;
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct fth_trace_recorder *recorder = user;
    struct worker *worker = current_worker(recorder);
    struct block *block = worker ? find_block(worker, access->who.block) : NULL;
    if (block && count_untraced(worker, access)) {
        if (access->space == FTH_SPACE_CONST)
            add_constants(&block->progress[access->who.warp], access);
        return access->space != FTH_SPACE_SHARED || add_shared(recorder, worker, block, access);
    }
    bool ok = block && (access->texels ? add_texels(recorder, worker, block, access)
                                       : add_plain(recorder, worker, block, access));
    if (ok && block->records.count < MAX_BLOCK_ACCESSES)
        return true;
    pthread_mutex_lock(&recorder->lock);
    ok = ok ? write_records(recorder, &block->records) : fail(recorder, FTH_OK);
    pthread_mutex_unlock(&recorder->lock);
    return ok;
}

/* Writes and frees the pending clusters that directly follow those already written. */
static bool write_pending(struct fth_trace_recorder *recorder)
{
    bool ok = true;
    while (recorder->pending && recorder->pending->index == recorder->next) {
        struct pending *first = recorder->pending;
        recorder->pending = first->next;
        recorder->next++;
        recorder->pending_bytes -= fth_records_bytes(&first->records);
        ok = write_records(recorder, &first->records) && ok;
        fth_records_fini(&recorder->spare);
        recorder->spare = first->records;
        free(first);
    }
    return ok;
}

/* Adds a cluster that has ended early to the pending ones. If too many bytes are pending already,
 * its accesses are written at once and only its index is kept. */
static bool defer_cluster(struct fth_trace_recorder *recorder, struct worker *worker,
                          uint64_t index)
{
    struct pending *pending = calloc(1, sizeof *pending);
    struct pending **at = &recorder->pending;
    bool ok = pending != NULL;
    bool write = recorder->pending_bytes > MAX_PENDING_BYTES;
    if (!pending)
        return fail(recorder, FTH_OK);
    pending->index = index;
    for (size_t i = 0; i < worker->block_count && ok; i++) {
        struct fth_records *records = &worker->blocks[i].records;
        if (write) {
            ok = write_records(recorder, records);
        } else if (worker->block_count == 1) { /* no copies */
            pending->records = *records;
            *records = recorder->spare;
            recorder->spare = (struct fth_records){0};
        } else {
            ok = fth_records_append(&pending->records, records) || fail(recorder, FTH_OK);
        }
        fth_records_clear(records);
    }
    recorder->pending_bytes += fth_records_bytes(&pending->records);
    /* Most clusters are the last one: those of a host thread have increasing indices. */
    if (*at && recorder->last_pending->index < index)
        at = &recorder->last_pending->next;
    while (*at && (*at)->index < index)
        at = &(*at)->next;
    pending->next = *at;
    *at = pending;
    if (!pending->next)
        recorder->last_pending = pending;
    return ok;
}

static bool on_done(void *user, uint64_t index)
{
    struct fth_trace_recorder *recorder = user;
    struct worker *worker = current_worker(recorder);
    bool ok = worker != NULL;
    pthread_mutex_lock(&recorder->lock);
    if (fth_log_interrupted(recorder->log)) {
        fth_fail(&recorder->error, FTH_INTERRUPTED, "run launches", NULL, "interrupted");
        ok = fail(recorder, FTH_INTERRUPTED);
    } else if (!worker) {
        fail(recorder, FTH_OK);
    } else if (index != recorder->next) {
        ok = defer_cluster(recorder, worker, index);
    } else {
        for (size_t i = 0; i < worker->block_count && ok; i++)
            ok = write_records(recorder, &worker->blocks[i].records);
        recorder->next++;
        ok = write_pending(recorder) && ok;
    }
    pthread_mutex_unlock(&recorder->lock);
    if (worker)
        worker->block_count = worker->last_block = 0;
    return ok;
}

/* ---- launches ---- */

/* Frees all workers and pending clusters; adds the counts of the workers to *totals, *pace and
 * *shared.
 * Returns false if memory is exhausted; everything is freed all the same. */
static bool free_workers(struct fth_trace_recorder *recorder, struct fth_trace_launch *totals,
                         struct fth_pace *pace, struct fth_shared_table *shared)
{
    bool ok = true;
    while (recorder->workers) {
        struct worker *worker = recorder->workers;
        recorder->workers = worker->next;
        totals->shared += worker->shared;
        totals->local += worker->local;
        totals->constant += worker->constant;
        totals->texture += worker->texture;
        const uint64_t local_bytes = (worker->local_bytes + 15) / 16 * 16;
        if (local_bytes > totals->local_bytes)
            totals->local_bytes = local_bytes;
        for (size_t i = 0; i < worker->block_capacity; i++)
            fth_records_fini(&worker->blocks[i].records);
        ok = fth_pace_add(pace, &worker->pace) && ok;
        ok = fth_shared_table_add(shared, &worker->shared_table) && ok;
        fth_pace_fini(&worker->pace);
        fth_shared_table_fini(&worker->shared_table);
        if (worker->shared_cache) {
            worker->shared_cache->next = recorder->free_caches;
            recorder->free_caches = worker->shared_cache;
        }
        free(worker->blocks);
        free(worker);
    }
    while (recorder->pending) {
        struct pending *pending = recorder->pending;
        recorder->pending = pending->next;
        fth_records_fini(&pending->records);
        free(pending);
    }
    fth_records_fini(&recorder->spare);
    return ok;
}

enum fth_status fth_trace_recorder_create(struct fth_trace_writer *writer,
                                          struct fth_trace_recorder **out, struct fth_error *error)
{
    struct fth_trace_recorder *recorder = *out = calloc(1, sizeof *recorder);
    if (!recorder || pthread_key_create(&recorder->key, NULL) != 0) {
        free(recorder);
        *out = NULL;
        return fth_no_memory(error, "trace launch", NULL);
    }
    pthread_mutex_init(&recorder->lock, NULL);
    recorder->writer = writer;
    recorder->observer = (struct fth_ptx_observer){.user = recorder,
                                                   .parallel = true,
                                                   .takes_linear = true,
                                                   .access = on_access,
                                                   .barrier = on_barrier,
                                                   .cluster_barrier = on_cluster_barrier,
                                                   .ended = on_ended,
                                                   .done = on_done};
    return FTH_OK;
}

void fth_trace_recorder_destroy(struct fth_trace_recorder *recorder)
{
    if (!recorder)
        return;
    while (recorder->free_caches) {
        struct fth_shared_cache *cache = recorder->free_caches;
        recorder->free_caches = cache->next;
        free(cache);
    }
    pthread_mutex_destroy(&recorder->lock);
    pthread_key_delete(recorder->key);
    free(recorder);
}

const struct fth_ptx_observer *fth_trace_recorder_observer(
    const struct fth_trace_recorder *recorder)
{
    return &recorder->observer;
}

enum fth_status fth_trace_recorder_begin(struct fth_trace_recorder *recorder, const char *kernel,
                                         const uint32_t grid[3], const uint32_t block[3],
                                         const struct fth_log *log, struct fth_error *error)
{
    recorder->next = 0;
    recorder->pending_bytes = 0;
    recorder->log = log;
    return fth_trace_writer_begin(recorder->writer, kernel, grid, block, error);
}

enum fth_status fth_trace_recorder_end(struct fth_trace_recorder *recorder, enum fth_status status,
                                       uint64_t shared_bytes, struct fth_error *engine_error,
                                       struct fth_error *error)
{
    struct fth_trace_launch counted = {.shared_bytes = shared_bytes};
    /* The worker of the calling thread is freed below; the next launch must not find it. */
    pthread_setspecific(recorder->key, NULL);
    struct fth_pace pace = {0};
    struct fth_shared_table shared = {0};
    if (!free_workers(recorder, &counted, &pace, &shared))
        (void)fail(recorder, FTH_OK);
    /* If writing failed, the engine only reports that the observer stopped it; the recorder has the
     * cause. */
    if (recorder->status != FTH_OK)
        status = recorder->status;
    if (status == FTH_OK) {
        fth_trace_writer_set_pace(recorder->writer, &pace);
        fth_trace_writer_set_shared(recorder->writer, &shared);
        status = fth_trace_writer_end(recorder->writer, &counted, error);
    } else {
        fth_error_move(error, recorder->status != FTH_OK ? &recorder->error : engine_error);
    }
    fth_pace_fini(&pace);
    fth_shared_table_fini(&shared);
    return status;
}
