/* A cache of decompressed parts with chunks, which threads share.
 *
 * The lock is held only to find a slot. A thread that copies from a slot, or that fills it, has
 * pinned it, so that no other thread replaces it. A thread that needs a part which another thread
 * is reading waits for it. */
#include "capsule/capsule_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Number of slots. Chosen: enough for the images of one launch, which are read one after another,
 * and for as many threads as read at the same time; at most 64 MiB with parts as writers make them.
 */
enum { SLOTS = 32 };

struct slot {
    uint64_t part; /* offset of the part; 0: the slot is empty */
    struct fth_buffer content;
    uint64_t used;   /* time of the last use */
    size_t pins;     /* threads that use it */
    bool is_loading; /* one of them is reading the part */
};

struct fth_chunk_cache {
    const struct fth_container *container;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot was filled or is not pinned any more */
    uint64_t now;           /* counts the uses */
    struct slot slots[SLOTS];
};

enum fth_status fth_chunk_cache_create(const struct fth_container *container,
                                       struct fth_chunk_cache **out, struct fth_error *error)
{
    struct fth_chunk_cache *cache = calloc(1, sizeof *cache);
    *out = cache;
    if (!cache)
        return fth_no_memory(error, fth_capsule_format.read, fth_container_path(container));
    cache->container = container;
    /* These do not fail with the default attributes on Linux. */
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->changed, NULL);
    return FTH_OK;
}

void fth_chunk_cache_destroy(struct fth_chunk_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        fth_buffer_fini(&cache->slots[i].content);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* Finds the slot of a part or, if there is none, the slot that was not used for longest. Returns
 * NULL if all of them are pinned. The caller holds the lock. */
static struct slot *find(struct fth_chunk_cache *cache, uint64_t part)
{
    struct slot *oldest = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &cache->slots[i];
        if (slot->part == part)
            return slot;
        if (!slot->pins && (!oldest || slot->used < oldest->used))
            oldest = slot;
    }
    return oldest;
}

/* Reads a part into a pinned slot. The caller holds the lock, which is released meanwhile. */
static enum fth_status load(struct fth_chunk_cache *cache, struct slot *slot, uint64_t part,
                            size_t bytes, struct fth_error *error)
{
    uint32_t type = 0;
    uint64_t next;
    slot->part = part;
    slot->is_loading = true;
    pthread_mutex_unlock(&cache->lock);
    slot->content.failed = false;
    enum fth_status status =
        fth_container_get(cache->container, part, &type, &slot->content, &next, error);
    if (status == FTH_UNAVAILABLE ||
        (status == FTH_OK && (type != FTH_CAPSULE_PART_CHUNKS || slot->content.size != bytes)))
        status = fth_container_damaged(cache->container, part,
                                       "it changed after the capsule was opened", error);
    pthread_mutex_lock(&cache->lock);
    slot->is_loading = false;
    if (status != FTH_OK)
        slot->part = 0;
    pthread_cond_broadcast(&cache->changed);
    return status;
}

/* Pins the slot of a part, and reads the part if the cache does not have it. The caller holds the
 * lock. */
static enum fth_status pin(struct fth_chunk_cache *cache, uint64_t part, size_t bytes,
                           struct slot **out, struct fth_error *error)
{
    struct slot *slot = find(cache, part);
    while (!slot || slot->is_loading) {
        pthread_cond_wait(&cache->changed, &cache->lock);
        slot = find(cache, part);
    }
    enum fth_status status = FTH_OK;
    slot->pins++;
    slot->used = ++cache->now;
    if (slot->part != part)
        status = load(cache, slot, part, bytes, error);
    *out = slot;
    if (status != FTH_OK)
        slot->pins--;
    return status;
}

enum fth_status fth_chunk_cache_read(struct fth_chunk_cache *cache, uint64_t part, size_t bytes,
                                     size_t offset, void *data, size_t size,
                                     struct fth_error *error)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&cache->lock);
    enum fth_status status = pin(cache, part, bytes, &slot, error);
    pthread_mutex_unlock(&cache->lock);
    if (status != FTH_OK)
        return status;
    memcpy(data, slot->content.data + offset, size);
    pthread_mutex_lock(&cache->lock);
    if (--slot->pins == 0)
        pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    return FTH_OK;
}
