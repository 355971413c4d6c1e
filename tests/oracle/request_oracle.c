/* See request_oracle.h. */
#include "request_oracle.h"

#include <stdlib.h>
#include <string.h>

void *oracle_grow(void *items, size_t count, size_t size)
{
    void *grown = realloc(items, (count + 1) * size);
    if (!grown)
        abort();
    return grown;
}

struct request *oracle_add_byte(struct request *requests, size_t *count, size_t from,
                                uint64_t line_bytes, uint64_t address,
                                const struct request *template)
{
    const uint64_t line = address / line_bytes * line_bytes;
    size_t at = from;
    while (at < *count && requests[at].line < line)
        at++;
    if (at == *count || requests[at].line != line) {
        requests = oracle_grow(requests, *count, sizeof *requests);
        memmove(requests + at + 1, requests + at, (*count - at) * sizeof *requests);
        requests[at] = *template;
        requests[at].line = line;
        ++*count;
    }
    requests[at].bytes[address - line] = 1;
    return requests;
}

struct request *oracle_make_requests(const struct oracle_model *model,
                                     const struct placed_access *first,
                                     const struct placed_access *end, size_t *count)
{
    struct request *requests = NULL;
    *count = 0;
    for (const struct placed_access *placed = first; placed < end; placed++) {
        const struct oracle_access *access = &placed->access;
        const struct request template = {.kind = access->kind,
                                         .warp = access->warp,
                                         .l1 = access->l1,
                                         .l2_fill_bytes = access->l2_fill_bytes};
        for (uint32_t turn = 0; turn < 32; turn++) {
            const size_t from = *count;
            for (uint32_t t = 0; t < access->threads; t++)
                for (uint32_t b = 0; b < access->bytes; b++)
                    if (oracle_turn(access, t, b) == turn)
                        requests = oracle_add_byte(requests, count, from, model->l1.line_bytes,
                                                   oracle_address(access, t, b), &template);
        }
    }
    return requests;
}
