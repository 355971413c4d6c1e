/* The line requests of an access, for the oracle of timed_oracle.h. */
#ifndef FTH_TESTS_TIMED_REQUESTS_H
#define FTH_TESTS_TIMED_REQUESTS_H

#include "timed_memory.h"

enum { TIMED_MAX_LINE = 256 };

/* The part of an access in one line. */
struct timed_request {
    const struct timed_issue *issue;
    uint32_t turn;
    uint64_t line;                       /* UINT64_MAX: no request yet */
    unsigned char bytes[TIMED_MAX_LINE]; /* flags: the byte is accessed */
    uint64_t sectors;
};

/* Finds the request after *request, or the first one if that has the line UINT64_MAX. Returns false
 * if there is none. */
bool timed_next_request(const struct timed_gpu *gpu, const struct timed_issue *issue,
                        struct timed_request *request);
/* Counts the requests of an access. Returns the cycles that the L1 is busy with them. */
uint64_t timed_l1_cycles(const struct timed_gpu *gpu, const struct timed_issue *issue,
                         uint64_t *count);

/* Returns the fills of the L2 that contain `sectors` of the line of a request. */
uint64_t timed_find_fills(const struct timed_gpu *gpu, const struct timed_request *request,
                          uint64_t sectors);

#endif
