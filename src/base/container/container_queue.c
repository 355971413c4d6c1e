/* Compresses parts of a container in threads, and writes them in the order in which they were put.
 *
 * One thread puts parts into a ring of jobs. The threads of the queue take them and compress them.
 * The thread that finds the oldest job compressed writes it, and those after it that are compressed
 * as well; only one thread writes at a time. */
#include "base/container/container_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RING_JOBS = 64, /* at least twice the number of threads, so that none of them waits */
    /* Maximum size of all contents in the ring. If one content is larger, the ring has no other. */
    RING_BYTES = 64 << 20,
    /* Buffers that are larger than this are freed after their use. */
    KEPT_BYTES = 4 << 20
};

struct job {
    uint32_t type;
    struct fth_buffer content, part;
    bool is_compressed;
    bool has_failed; /* memory was exhausted */
};

struct fth_part_queue {
    const struct fth_container_format *format;
    fth_append_part *append;
    void *context; /* the first argument of `append` */
    pid_t process; /* the process that has the threads; a child that it forks has none */
    pthread_mutex_t lock;
    pthread_cond_t was_put, was_written;
    struct job jobs[RING_JOBS];
    uint64_t put, taken, written; /* jobs so far */
    size_t bytes;                 /* of the contents of the jobs that were not written yet */
    bool is_writing;              /* a thread writes */
    bool is_ending;
    struct fth_error failure; /* the first one */
    pthread_t threads[FTH_PART_MAX_THREADS];
    ZSTD_CCtx *zstd[FTH_PART_MAX_THREADS]; /* of each thread */
    size_t thread_count, numbered_threads;
};

static struct job *job_at(struct fth_part_queue *queue, uint64_t index)
{
    return &queue->jobs[index % RING_JOBS];
}

static void release(struct fth_buffer *buffer)
{
    buffer->size = 0;
    if (buffer->capacity > KEPT_BYTES)
        fth_buffer_fini(buffer);
}

/* Writes the oldest jobs, as far as they are compressed, unless another thread does. To be called
 * with the lock held; releases it while writing. */
static void write_compressed(struct fth_part_queue *queue)
{
    if (queue->is_writing)
        return;
    queue->is_writing = true;
    while (queue->written < queue->taken && job_at(queue, queue->written)->is_compressed) {
        struct job *job = job_at(queue, queue->written);
        if (queue->failure.status == FTH_OK) {
            struct fth_error error = FTH_NO_ERROR;
            pthread_mutex_unlock(&queue->lock);
            enum fth_status status = job->has_failed
                                         ? fth_no_memory(&error, queue->format->write, NULL)
                                         : queue->append(queue->context, &job->part, &error);
            pthread_mutex_lock(&queue->lock);
            if (status != FTH_OK)
                queue->failure = error;
        }
        queue->bytes -= job->content.size;
        release(&job->content);
        release(&job->part);
        job->is_compressed = false;
        queue->written++;
        pthread_cond_broadcast(&queue->was_written);
    }
    queue->is_writing = false;
}

static void *thread_main(void *context)
{
    struct fth_part_queue *queue = context;
    pthread_mutex_lock(&queue->lock);
    ZSTD_CCtx *zstd = queue->zstd[queue->numbered_threads++];
    for (;;) {
        while (queue->taken == queue->put && !queue->is_ending)
            pthread_cond_wait(&queue->was_put, &queue->lock);
        if (queue->taken == queue->put)
            break;
        struct job *job = job_at(queue, queue->taken++);
        pthread_mutex_unlock(&queue->lock);
        job->has_failed =
            !fth_part_compress(queue->format, zstd, job->type, &job->content, &job->part);
        pthread_mutex_lock(&queue->lock);
        job->is_compressed = true;
        write_compressed(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

struct fth_part_queue *fth_part_queue_create(const struct fth_container_format *format,
                                             size_t threads, fth_append_part *append, void *context)
{
    struct fth_part_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->format = format;
    queue->append = append;
    queue->context = context;
    queue->process = getpid();
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->was_put, NULL);
    pthread_cond_init(&queue->was_written, NULL);
    pthread_mutex_lock(&queue->lock); /* the threads begin when all fields are set */
    for (size_t i = 0; i < FTH_MIN(threads, (size_t)FTH_PART_MAX_THREADS); i++) {
        queue->zstd[i] = ZSTD_createCCtx();
        if (!queue->zstd[i] || pthread_create(&queue->threads[i], NULL, thread_main, queue) != 0)
            break;
        queue->thread_count++;
    }
    pthread_mutex_unlock(&queue->lock);
    if (queue->thread_count > 0)
        return queue;
    fth_part_queue_destroy(queue);
    return NULL;
}

enum fth_status fth_part_queue_put(struct fth_part_queue *queue, uint32_t type,
                                   const struct fth_buffer *content, struct fth_error *error)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->put - queue->written == RING_JOBS ||
           (queue->bytes > 0 && queue->bytes + content->size > RING_BYTES))
        pthread_cond_wait(&queue->was_written, &queue->lock);
    const struct fth_error failure = queue->failure;
    pthread_mutex_unlock(&queue->lock);
    if (failure.status != FTH_OK)
        return fth_error_move(error, &failure);
    /* No other thread uses this job before `put` is incremented. */
    struct job *job = job_at(queue, queue->put);
    job->type = type;
    if (!fth_buffer_reserve(&job->content, content->size + 1)) {
        job->content.failed = false;
        return fth_no_memory(error, queue->format->write, NULL);
    }
    fth_buffer_append(&job->content, content->data, content->size);
    pthread_mutex_lock(&queue->lock);
    queue->bytes += content->size;
    queue->put++;
    pthread_cond_signal(&queue->was_put);
    pthread_mutex_unlock(&queue->lock);
    return FTH_OK;
}

size_t fth_part_queue_bytes(struct fth_part_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const size_t bytes = queue->bytes;
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}

enum fth_status fth_part_queue_wait(struct fth_part_queue *queue, struct fth_error *error)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->written < queue->put)
        pthread_cond_wait(&queue->was_written, &queue->lock);
    const struct fth_error failure = queue->failure;
    pthread_mutex_unlock(&queue->lock);
    return failure.status == FTH_OK ? FTH_OK : fth_error_move(error, &failure);
}

void fth_part_queue_destroy(struct fth_part_queue *queue)
{
    if (!queue)
        return;
    if (queue->process == getpid()) {
        pthread_mutex_lock(&queue->lock);
        queue->is_ending = true;
        pthread_cond_broadcast(&queue->was_put);
        pthread_mutex_unlock(&queue->lock);
        for (size_t i = 0; i < queue->thread_count; i++)
            pthread_join(queue->threads[i], NULL);
        pthread_mutex_destroy(&queue->lock);
        pthread_cond_destroy(&queue->was_put);
        pthread_cond_destroy(&queue->was_written);
    }
    for (size_t i = 0; i < FTH_PART_MAX_THREADS; i++)
        ZSTD_freeCCtx(queue->zstd[i]);
    for (size_t i = 0; i < RING_JOBS; i++) {
        fth_buffer_fini(&queue->jobs[i].content);
        fth_buffer_fini(&queue->jobs[i].part);
    }
    free(queue);
}
