/* The state of L1s, L2 and memory of the oracle, and what the L1s need of the L2. */
#ifndef FTH_TESTS_TIMED_PARTS_H
#define FTH_TESTS_TIMED_PARTS_H

#include "timed_lines.h"
#include "timed_memory.h"
#include "timed_requests.h"

enum {
    JOIN_ENTRIES = 8192,
    ATOMIC_ENTRIES = 4096,
    LOOKUP_LEAD = 64 * CYCLE,
    PORT_LEAD = 256 * CYCLE,
    MERGE_LEAD = 55 * CYCLE,
    MERGE_REQUESTS = 24,
    INPUT_LEAD = 256 * CYCLE
};

struct store_entry {
    uint64_t line, time, sectors;
    bool used;
};

/* A request of an L1 with the misses that are its parts. */
struct sent_request {
    uint64_t line, sent, sectors, fetched;
    uint64_t access; /* number of the access that added the last part */
    bool joined;
};

struct l1 {
    struct timed_lines cache;
    uint64_t tags_free_at, hits_free_at, data_free_at, port_free_at;
    uint64_t stalled_until; /* when the last line that waited for storage had it */
    struct store_entry store;
    struct sent_request last_reads[MERGE_REQUESTS]; /* the newest is the first */
    uint64_t accesses, requests;                    /* so far */
    uint64_t last;                                  /* the last access, if it sent reads; 0: none */
    uint64_t sent;                                  /* the last access that sent reads */
};

struct join_entry {
    uint64_t line, sectors;
    uint64_t first;   /* sectors of the first part */
    bool closed;      /* a read of other sectors came */
    uint64_t arrived; /* at the join unit */
    uint64_t back;    /* there, with its data */
    uint64_t at_sm;
    uint64_t reads;
};

struct timed_memory {
    const struct timed_gpu *gpu;
    struct timed_oracle_result *result;
    struct l1 *l1s;
    struct timed_lines sides[TIMED_MAX_SIDES];
    uint64_t side_free_at[TIMED_MAX_SIDES], memory_free_at, stores_free_at, input_free_at;
    uint64_t event; /* time of the event whose access is performed */
    struct {
        uint64_t unit, free_at;
    } atomics[ATOMIC_ENTRIES];
    struct join_entry (*joins)[JOIN_ENTRIES]; /* [groups] */
    uint64_t launches;                        /* so far */
};

/* Uses a line and makes sectors present. Returns its reuse distance. At least one byte of the line
 * is present if there are none of them. */
uint32_t timed_use_line(struct timed_memory *memory, struct timed_lines *cache, uint64_t line,
                        uint64_t sectors);
/* Sectors that were fetched at `now` arrive at `ready`. `fresh`: their line was allocated then. */
void timed_add_flight(struct timed_lines *cache, uint64_t line, uint64_t sectors, bool fresh,
                      uint64_t now, uint64_t ready);
/* Notes which sectors a read misses and fetches. */
void timed_note_read(struct timed_lines *cache, uint64_t line, uint64_t missed, uint64_t fetched,
                     uint64_t *counts);
/* Writes the bytes of a request. Returns the reuse distance of their line. */
uint32_t timed_write_bytes(struct timed_memory *memory, struct timed_lines *cache,
                           const struct timed_request *request);
/* Counts sectors, of which `hits` are hits. */
void timed_count(struct timed_oracle_counts *counts, enum fth_trace_access_kind kind,
                 uint64_t sectors, uint64_t hits, uint64_t flying, uint64_t distance,
                 uint64_t ways);
/* Reads sectors as the next part of a request. Returns when they arrive at the SM. */
uint64_t timed_read_l2(struct timed_memory *memory, const struct timed_request *request,
                       uint64_t sectors, uint64_t now, struct sent_request *sent);
uint64_t timed_write_l2(struct timed_memory *memory, const struct timed_request *request,
                        uint64_t counted, uint64_t now);
uint64_t timed_atomic_l2(struct timed_memory *memory, const struct timed_request *request,
                         uint64_t now);

#endif
