/* The requests of accesses to caches, for the oracle of model_oracle.h. */
#ifndef FTH_TESTS_REQUEST_ORACLE_H
#define FTH_TESTS_REQUEST_ORACLE_H

#include "model_oracle.h"

enum { MAX_LINE = 256 };

/* A request: the bytes of one line that a warp accesses. */
struct request {
    uint64_t line;                 /* address of its first byte */
    unsigned char bytes[MAX_LINE]; /* flags: the byte is accessed */
    enum fth_trace_access_kind kind;
    uint64_t next_level_sectors; /* sectors that go to the next level */
    uint64_t warp;               /* its priority: in the L2, its position in the order of arrival */
    enum oracle_l1 l1;
    uint64_t l2_fill_bytes;
    bool done;
};

/* Makes space for one more item. */
void *oracle_grow(void *items, size_t count, size_t size);
/* Adds a byte to the requests of an access, which are sorted by line and begin at index `from`.
 * Returns the list, which may have moved. */
struct request *oracle_add_byte(struct request *requests, size_t *count, size_t from,
                                uint64_t line_bytes, uint64_t address,
                                const struct request *template);
/* Turns the accesses of a group, `first` up to `end`, into requests. The caller frees them. */
struct request *oracle_make_requests(const struct oracle_model *model,
                                     const struct placed_access *first,
                                     const struct placed_access *end, size_t *count);

#endif
