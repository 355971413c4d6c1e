/* The observer that turns a launch on the PTX engine into a trace. Each host thread collects what
 * its block does, without asking anybody; when the block has ended, its accesses go to the writer,
 * in the order of blocks where that does not make too much wait, so that the same launch gives the
 * same file on any number of threads. */
#include "trace/launch.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLUSTER = 16, MAX_WARPS = 32, KNOWN = 256 };

/* What may wait for an earlier block, and the accesses after which a block does not wait for its
 * own end. */
#define MAX_HELD_BYTES ((size_t)128 << 20)
#define MAX_BLOCK_ACCESSES ((size_t)1 << 20)

/* A block that is running. */
struct block {
    uint64_t index;
    uint64_t numbers[MAX_WARPS]; /* accesses so far, of each warp */
    struct fth_records records;
};

/* What a host thread holds. */
struct worker {
    struct worker *next;
    struct block blocks[MAX_CLUSTER];
    size_t block_count;
    struct {
        struct fth_trace_instruction facts;
        size_t number; /* SIZE_MAX: none yet */
    } known[KNOWN];
    uint64_t shared, local, constant, texture;
};

/* A cluster that has ended while an earlier one has not. */
struct held {
    struct held *next;
    uint64_t index;
    struct fth_records records;
};

struct recorder {
    struct fth_trace_writer *writer;
    pthread_key_t key;
    pthread_mutex_t lock; /* of everything below, and of the writer */
    struct worker *workers;
    struct held *held; /* by index */
    size_t held_bytes;
    uint64_t next; /* the cluster whose turn it is */
    const struct fth_log *log;
    enum fth_status status;
    struct fth_error error;
};

static bool fail(struct recorder *recorder, enum fth_status status)
{
    if (recorder->status == FTH_OK)
        recorder->status = status == FTH_OK ? FTH_NO_MEMORY : status;
    if (status == FTH_OK)
        fth_fail(&recorder->error, FTH_NO_MEMORY, "write trace", NULL, "out of memory");
    return false;
}

static struct worker *this_worker(struct recorder *recorder)
{
    struct worker *worker = pthread_getspecific(recorder->key);
    if (worker)
        return worker;
    worker = calloc(1, sizeof *worker);
    if (!worker || pthread_setspecific(recorder->key, worker) != 0) {
        free(worker);
        return NULL;
    }
    for (size_t i = 0; i < KNOWN; i++)
        worker->known[i].number = SIZE_MAX;
    pthread_mutex_lock(&recorder->lock);
    worker->next = recorder->workers;
    recorder->workers = worker;
    pthread_mutex_unlock(&recorder->lock);
    return worker;
}

static struct block *find_block(struct worker *worker, uint64_t index)
{
    for (size_t i = 0; i < worker->block_count; i++)
        if (worker->blocks[i].index == index)
            return &worker->blocks[i];
    if (worker->block_count == MAX_CLUSTER)
        return NULL;
    struct block *block = &worker->blocks[worker->block_count++];
    block->index = index;
    memset(block->numbers, 0, sizeof block->numbers);
    return block;
}

static bool same_instruction(const struct fth_trace_instruction *a,
                             const struct fth_trace_instruction *b)
{
    return a->line == b->line && a->index == b->index && a->kind == b->kind &&
           a->bytes == b->bytes && a->cache_op == b->cache_op && a->source_line == b->source_line &&
           a->source_file == b->source_file;
}

/* The writer's number of an instruction; each worker remembers those it has met. */
static size_t instruction_of(struct recorder *recorder, struct worker *worker,
                             const struct fth_ptx_access *access)
{
    const struct fth_trace_instruction facts = {
        .line = access->line,
        .source_file = access->source_file,
        .source_line = access->source_line,
        .index = access->instruction,
        .kind = access->kind == FTH_ACCESS_READ    ? FTH_TRACE_READ
                : access->kind == FTH_ACCESS_WRITE ? FTH_TRACE_WRITE
                                                   : FTH_TRACE_ATOMIC,
        .bytes = access->bytes,
        .cache_op = (uint32_t)access->cache_op};
    size_t slot = (access->line * 7u + access->instruction) % KNOWN;
    if (worker->known[slot].number != SIZE_MAX &&
        same_instruction(&worker->known[slot].facts, &facts))
        return worker->known[slot].number;
    pthread_mutex_lock(&recorder->lock);
    size_t number = fth_trace_writer_instruction(recorder->writer, &facts);
    pthread_mutex_unlock(&recorder->lock);
    worker->known[slot].facts = facts;
    worker->known[slot].number = number;
    return number;
}

static bool write_records(struct recorder *recorder, struct fth_records *records)
{
    if (recorder->status != FTH_OK)
        return false;
    enum fth_status status = fth_trace_writer_add(recorder->writer, records, &recorder->error);
    fth_records_clear(records);
    return status == FTH_OK || fail(recorder, status);
}

/* Counts what is not traced. */
static bool count_other(struct worker *worker, enum fth_ptx_space space)
{
    switch (space) {
    case FTH_SPACE_SHARED: worker->shared++; return true;
    case FTH_SPACE_LOCAL: worker->local++; return true;
    case FTH_SPACE_CONST: worker->constant++; return true;
    case FTH_SPACE_TEXTURE: worker->texture++; return true;
    case FTH_SPACE_GLOBAL: return false;
    default: return true;
    }
}

static bool see_access(void *user, const struct fth_ptx_access *access)
{
    struct recorder *recorder = user;
    struct worker *worker = this_worker(recorder);
    if (worker && count_other(worker, access->space))
        return true;
    struct block *block = worker ? find_block(worker, access->who.block) : NULL;
    size_t instruction = block ? instruction_of(recorder, worker, access) : SIZE_MAX;
    uint64_t addresses[32];
    size_t count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1)
        addresses[count++] = access->addresses[__builtin_ctz(left)];
    bool fine = instruction != SIZE_MAX;
    if (fine) {
        const struct fth_record record = {.number = block->numbers[access->who.warp]++,
                                          .block = access->who.block,
                                          .instruction = (uint32_t)instruction,
                                          .warp = access->who.warp,
                                          .mask = access->mask};
        fine = fth_records_add(&block->records, &record, addresses);
    }
    if (fine && block->records.count < MAX_BLOCK_ACCESSES)
        return true;
    pthread_mutex_lock(&recorder->lock);
    fine = fine ? write_records(recorder, &block->records) : fail(recorder, FTH_OK);
    pthread_mutex_unlock(&recorder->lock);
    return fine;
}

/* Writes those whose turn has come, and frees them. */
static bool release_held(struct recorder *recorder)
{
    bool fine = true;
    while (recorder->held && recorder->held->index == recorder->next) {
        struct held *first = recorder->held;
        recorder->held = first->next;
        recorder->next++;
        recorder->held_bytes -= fth_records_bytes(&first->records);
        fine = write_records(recorder, &first->records) && fine;
        fth_records_fini(&first->records);
        free(first);
    }
    return fine;
}

/* Keeps the place of a cluster that came early; with its accesses, unless too much is held. */
static bool hold(struct recorder *recorder, struct worker *worker, uint64_t index)
{
    struct held *held = calloc(1, sizeof *held);
    struct held **at = &recorder->held;
    bool fine = held != NULL;
    bool write = recorder->held_bytes > MAX_HELD_BYTES;
    if (!held)
        return fail(recorder, FTH_OK);
    held->index = index;
    for (size_t i = 0; i < worker->block_count && fine; i++) {
        struct fth_records *records = &worker->blocks[i].records;
        fine = write ? write_records(recorder, records)
                     : fth_records_append(&held->records, records) || fail(recorder, FTH_OK);
        fth_records_clear(records);
    }
    recorder->held_bytes += fth_records_bytes(&held->records);
    while (*at && (*at)->index < index)
        at = &(*at)->next;
    held->next = *at;
    *at = held;
    return fine;
}

static bool see_done(void *user, uint64_t index)
{
    struct recorder *recorder = user;
    struct worker *worker = this_worker(recorder);
    bool fine = worker != NULL;
    pthread_mutex_lock(&recorder->lock);
    if (fth_log_interrupted(recorder->log)) {
        fth_fail(&recorder->error, FTH_INTERRUPTED, "run launches", NULL, "interrupted");
        fine = fail(recorder, FTH_INTERRUPTED);
    } else if (!worker) {
        fail(recorder, FTH_OK);
    } else if (index != recorder->next) {
        fine = hold(recorder, worker, index);
    } else {
        for (size_t i = 0; i < worker->block_count && fine; i++)
            fine = write_records(recorder, &worker->blocks[i].records);
        recorder->next++;
        fine = release_held(recorder) && fine;
    }
    pthread_mutex_unlock(&recorder->lock);
    if (worker)
        worker->block_count = 0;
    return fine;
}

/* ---- launches ---- */

/* The engine, with a launch of the trace around each step. */
struct tracing {
    struct fth_executor engine;
    struct recorder recorder;
    struct fth_ptx_observer observer;
};

static void free_workers(struct recorder *recorder, struct fth_trace_launch *totals)
{
    while (recorder->workers) {
        struct worker *worker = recorder->workers;
        recorder->workers = worker->next;
        totals->shared += worker->shared;
        totals->local += worker->local;
        totals->constant += worker->constant;
        totals->texture += worker->texture;
        for (size_t i = 0; i < MAX_CLUSTER; i++)
            fth_records_fini(&worker->blocks[i].records);
        free(worker);
    }
    while (recorder->held) {
        struct held *held = recorder->held;
        recorder->held = held->next;
        fth_records_fini(&held->records);
        free(held);
    }
}

static enum fth_status traced_run(void *context, const struct fth_launch_step *step,
                                  const void *arguments, size_t argument_bytes,
                                  const struct fth_run_options *options,
                                  struct fth_launch_totals *totals, struct fth_error *error)
{
    struct tracing *tracing = context;
    struct recorder *recorder = &tracing->recorder;
    struct fth_trace_launch counted = {.shared_bytes =
                                           step->kernel->shared_bytes + step->shared_bytes};
    struct fth_error engines = FTH_NO_ERROR;
    recorder->next = 0;
    recorder->held_bytes = 0;
    recorder->log = options->log;
    enum fth_status status = fth_trace_writer_begin(recorder->writer, step->kernel->name,
                                                    step->grid, step->block, error);
    if (status == FTH_OK)
        status = tracing->engine.run(tracing->engine.context, step, arguments, argument_bytes,
                                     options, totals, &engines);
    /* What the calling thread remembers would be taken for its own by the next launch. */
    pthread_setspecific(recorder->key, NULL);
    free_workers(recorder, &counted);
    /* Where writing failed the engine only knows that it was told to stop. */
    if (recorder->status != FTH_OK)
        status = recorder->status;
    if (error && error->status == FTH_OK && status != FTH_OK)
        *error = recorder->status != FTH_OK ? recorder->error : engines;
    return status == FTH_OK ? fth_trace_writer_end(recorder->writer, &counted, error) : status;
}

static enum fth_status traced_alloc(void *context, uint64_t bytes, uint64_t *address,
                                    struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.alloc(tracing->engine.context, bytes, address, error);
}

static enum fth_status traced_write(void *context, uint64_t address, const void *data,
                                    uint64_t bytes, struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.write(tracing->engine.context, address, data, bytes, error);
}

static enum fth_status traced_read(void *context, uint64_t address, void *data, uint64_t bytes,
                                   struct fth_error *error)
{
    struct tracing *tracing = context;
    return tracing->engine.read(tracing->engine.context, address, data, bytes, error);
}

static void traced_close(void *context)
{
    struct tracing *tracing = context;
    tracing->engine.close(tracing->engine.context);
    pthread_mutex_destroy(&tracing->recorder.lock);
    pthread_key_delete(tracing->recorder.key);
    free(tracing);
}

static enum fth_status open_tracing(const struct fth_launch *launch,
                                    struct fth_trace_writer *writer, struct fth_executor *executor,
                                    struct fth_error *error)
{
    struct tracing *tracing = calloc(1, sizeof *tracing);
    if (!tracing || pthread_key_create(&tracing->recorder.key, NULL) != 0) {
        free(tracing);
        return fth_fail(error, FTH_NO_MEMORY, "trace launch", NULL, "out of memory");
    }
    pthread_mutex_init(&tracing->recorder.lock, NULL);
    tracing->recorder.writer = writer;
    tracing->observer = (struct fth_ptx_observer){
        .user = &tracing->recorder, .parallel = true, .access = see_access, .done = see_done};
    enum fth_status status =
        fth_engine_open(launch->module, &tracing->observer, &tracing->engine, error);
    if (status != FTH_OK) {
        pthread_mutex_destroy(&tracing->recorder.lock);
        pthread_key_delete(tracing->recorder.key);
        free(tracing);
        return status;
    }
    *executor = (struct fth_executor){
        .context = tracing,
        .alloc = traced_alloc,
        .write = traced_write,
        .read = traced_read,
        .run = traced_run,
        .close = traced_close,
    };
    return FTH_OK;
}

enum fth_status fth_launch_trace(struct fth_launch *launch, const char *path,
                                 const struct fth_run_options *options,
                                 struct fth_launch_totals *totals, struct fth_error *error)
{
    struct fth_trace_writer *writer;
    struct fth_executor executor;
    enum fth_status status = fth_trace_writer_create(path, &writer, error);
    if (status != FTH_OK)
        return status;
    status = open_tracing(launch, writer, &executor, error);
    if (status == FTH_OK)
        status = fth_launch_run_on(launch, &executor, options, totals, error);
    if (status == FTH_OK)
        return fth_trace_writer_commit(writer, error);
    fth_trace_writer_abort(writer);
    return status;
}
