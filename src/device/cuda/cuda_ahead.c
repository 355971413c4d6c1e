/* Compiling modules ahead of their use, in other threads. The driver takes about a second to
 * compile the code of the instruction cache experiments, and 20 ms for each stream kernel. A
 * compilation uses one processor and not the GPU, so the measurements of the caller go on
 * meanwhile.
 *
 * The threads compile with the driver's linker (cuLinkAddData), not by loading modules: while
 * cuModuleLoadDataEx compiles, launches of other threads wait. On an H200, launches beside the
 * linker take as long as without it. The linker, too, finds its results in the driver's cache on
 * disk.
 *
 * The caller adds texts to a list. Threads take them from the list, first come, first served, and
 * compile them. When the caller needs a module, it takes its machine code out of the list, and
 * waits for a compilation that has begun. A text that no thread has begun with, or that failed, is
 * left to the caller, who reports the error. */
#include "device/cuda/cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The number of threads: one for the long compilation, one for the others. */
enum { THREADS = 2 };
/* A CUjitInputType, from the driver's documentation. */
enum { INPUT_PTX = 1 };

enum state { WAITING, COMPILING, DONE };

struct entry {
    struct entry *next;
    enum state state;
    void *cubin; /* NULL before DONE, or if the compilation failed */
    size_t size;
    char text[]; /* with a NUL at the end */
};

struct fth_cuda_ahead {
    const struct fth_cuda *cuda;
    fth_cu_context context;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an entry was added or is done, or `ending` was set */
    pthread_t threads[THREADS];
    size_t started;
    bool ending;
    struct entry *entries; /* in the order in which they were added */
};

static struct entry *find_waiting(const struct fth_cuda_ahead *ahead)
{
    struct entry *entry = ahead->entries;
    while (entry && entry->state != WAITING)
        entry = entry->next;
    return entry;
}

static bool is_same(const struct entry *entry, const char *ptx, size_t size)
{
    return entry->size == size && memcmp(entry->text, ptx, size) == 0;
}

/* Returns the machine code of the text, or NULL. The caller frees it. */
static void *compile(const struct fth_cuda *cuda, struct entry *entry)
{
    void *link = NULL, *cubin = NULL, *copy = NULL;
    size_t bytes = 0;
    if (cuda->link_create(0, NULL, NULL, &link) != 0)
        return NULL;
    if (cuda->link_add(link, INPUT_PTX, entry->text, entry->size + 1, "fathom", 0, NULL, NULL) ==
            0 &&
        cuda->link_complete(link, &cubin, &bytes) == 0 && bytes)
        copy = malloc(bytes);
    if (copy)
        memcpy(copy, cubin, bytes); /* the driver frees its own with the link */
    cuda->link_destroy(link);
    return copy;
}

static void *compile_entries(void *user)
{
    struct fth_cuda_ahead *ahead = user;
    const bool usable = ahead->cuda->context_set(ahead->context) == 0;
    pthread_mutex_lock(&ahead->lock);
    while (usable && !ahead->ending) {
        struct entry *entry = find_waiting(ahead);
        if (!entry) {
            pthread_cond_wait(&ahead->changed, &ahead->lock);
            continue;
        }
        entry->state = COMPILING;
        pthread_mutex_unlock(&ahead->lock);
        void *cubin = compile(ahead->cuda, entry);
        pthread_mutex_lock(&ahead->lock);
        entry->cubin = cubin;
        entry->state = DONE;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct fth_cuda_ahead *fth_cuda_ahead_create(const struct fth_cuda *cuda, fth_cu_context context)
{
    if (!cuda->link_create || !cuda->link_add || !cuda->link_complete || !cuda->link_destroy)
        return NULL;
    struct fth_cuda_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->cuda = cuda;
    ahead->context = context;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    while (ahead->started < THREADS &&
           pthread_create(&ahead->threads[ahead->started], NULL, compile_entries, ahead) == 0)
        ahead->started++;
    return ahead;
}

void fth_cuda_ahead_add(struct fth_cuda_ahead *ahead, const char *ptx, size_t size)
{
    struct entry *entry = calloc(1, sizeof *entry + size + 1), **last;
    if (!entry)
        return;
    memcpy(entry->text, ptx, size);
    entry->size = size;
    pthread_mutex_lock(&ahead->lock);
    for (last = &ahead->entries; *last && !is_same(*last, ptx, size); last = &(*last)->next) {
    }
    if (!*last) {
        *last = entry;
        entry = NULL;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    free(entry); /* the same text is in the list already */
}

void *fth_cuda_ahead_take(struct fth_cuda_ahead *ahead, const char *ptx, size_t size)
{
    void *cubin = NULL;
    pthread_mutex_lock(&ahead->lock);
    struct entry **link = &ahead->entries;
    while (*link && !is_same(*link, ptx, size))
        link = &(*link)->next;
    struct entry *entry = *link;
    while (entry && entry->state == COMPILING)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    if (entry) {
        /* Only this function and fth_cuda_ahead_destroy remove entries, so `link` is still valid:
         * entries are added at the end. */
        *link = entry->next;
        cubin = entry->cubin;
        free(entry);
    }
    pthread_mutex_unlock(&ahead->lock);
    return cubin;
}

void fth_cuda_ahead_destroy(struct fth_cuda_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->ending = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    for (size_t i = 0; i < ahead->started; i++)
        pthread_join(ahead->threads[i], NULL);
    while (ahead->entries) {
        struct entry *entry = ahead->entries;
        ahead->entries = entry->next;
        free(entry->cubin);
        free(entry);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
