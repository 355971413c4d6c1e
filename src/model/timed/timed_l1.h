/* The state of the L1s of the model with time, for timed_l1.c and timed_l1_create.c, and the search
 * of their last requests. */
#ifndef FTH_MODEL_TIMED_L1_H
#define FTH_MODEL_TIMED_L1_H

#include "model/timed/timed.h"

/* A miss can merge with one of the last MERGE_REQUESTS requests of the SM: if the access of the
 * request is followed by that of the miss, or if the request will be sent more than
 * MERGE_LEAD_CYCLES later, so that about 50 others are before it. Measured on an H200
 * (docs/results/h200/requests.md). */
enum { MERGE_REQUESTS = 24, MERGE_LEAD_CYCLES = 55 };

/* Length of the ring of requests: a power of two, at least MERGE_REQUESTS, and a multiple of
 * HASHES_PER_WORD. */
enum { READ_RING = 32, HASHES_PER_WORD = 8 };

/* The last requests of an SM for reads. Request n is at index n modulo READ_RING. A search compares
 * the 8-bit hashes of a word at a time. */
struct last_reads {
    uint64_t hashes[READ_RING / HASHES_PER_WORD]; /* of the lines; the first one in the low bits */
    struct fth_sent_read reads[READ_RING];
};

/* The last store. */
struct recent_store {
    uint64_t line, until;
    uint32_t sectors;
};

struct l1 {
    struct fth_timed_cache *cache; /* its own one, or that of all L1s */
    uint32_t first_set, first_row; /* of this L1 in the cache */
    bool used;                     /* in this launch */
    struct fth_shadow *shadow;     /* NULL: not yet used, or the causes of misses are not wanted */
    uint64_t tags_free_at;         /* when it can look up the next access */
    uint64_t hits_free_at;         /* when it has delivered the data of all hits */
    uint64_t data_free_at;         /* the same of all accesses, as if none had to wait for the L2 */
    struct recent_store store;
    uint32_t accesses; /* so far, not 0 after the first one; wraps around */
    uint32_t requests; /* of the L2 for reads so far; wraps around */
    uint32_t sent;     /* number of the last access that has sent reads */
    uint32_t last;     /* the same, if no store or atomic was sent after it; otherwise 0 */
    struct last_reads reads;
};

/* Returns the last request of an SM for a line if it is one of its last MERGE_REQUESTS requests;
 * otherwise NULL. */
static inline struct fth_sent_read *find_sent(struct l1 *l1, uint64_t line)
{
    const uint64_t ones = 0x0101010101010101u, key = fth_lookup_hash(line, 8) * ones;
    struct fth_sent_read *newest = NULL;
    for (uint32_t word = 0; word < FTH_COUNT(l1->reads.hashes); word++) {
        const uint64_t differ = l1->reads.hashes[word] ^ key;
        /* `found` marks the bytes of `differ` that are 0, and possibly some bytes above such a
         * byte. The comparison of lines below rejects these. */
        for (uint64_t found = (differ - ones) & ~differ & ones << 7; found; found &= found - 1) {
            struct fth_sent_read *sent =
                &l1->reads.reads[word * HASHES_PER_WORD + (uint32_t)__builtin_ctzll(found) / 8];
            const uint32_t age = l1->requests - sent->number;
            if (sent->line == line && sent->sectors && age <= MERGE_REQUESTS &&
                (!newest || age < l1->requests - newest->number))
                newest = sent;
        }
    }
    return newest;
}

/* Adds a request without parts for a line. */
static inline struct fth_sent_read *add_sent(struct l1 *l1, uint64_t line)
{
    const uint32_t number = l1->requests++, index = number % READ_RING;
    const uint32_t shift = index % HASHES_PER_WORD * 8;
    uint64_t *word = &l1->reads.hashes[index / HASHES_PER_WORD];
    *word = (*word & ~(UINT64_C(0xff) << shift)) | (uint64_t)fth_lookup_hash(line, 8) << shift;
    l1->reads.reads[index] = (struct fth_sent_read){.line = line, .number = number};
    return &l1->reads.reads[index];
}

struct fth_timed_l1s {
    struct l1 *l1s;        /* [sms] */
    uint64_t *waits_until; /* [sms] when a line that waited for storage got it */
    uint64_t sms;
    /* [sms] `cache` is NULL before its first use. If the L1s are copies in one structure, only the
     * first one is used. */
    struct fth_timed_cache *caches;
    uint64_t copies;
    uint64_t rows; /* per L1 in one structure; 0: there is none */
    struct fth_shape shape;
    struct fth_timing timing;
    struct fth_timed_l2 *l2;
    struct fth_curves *curves;       /* NULL: not wanted */
    struct fth_model_counts *counts; /* [instructions + 1] */
    size_t instructions;
    struct fth_model_misses *misses; /* [instructions + 1]; NULL: not wanted */
    struct fth_cache_level_totals totals;
};

#endif
