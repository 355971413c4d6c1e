/* See timed_requests.h. */
#include "timed_requests.h"

enum { TURNS = 32, BANKS = 32, BANK_BYTES = 4, TAGS_PER_CYCLE = 4, WIDE_BYTES = 16 };

/* Returns the turn of a byte of a lane. Lanes of an atomic with the same address take turns, unless
 * all lanes have this address. So do the words of an access to local memory, and the requests of a
 * texture. */
static uint32_t turn_of(const struct timed_issue *issue, uint32_t lane, uint32_t byte)
{
    const uint64_t *addresses = issue->access->addresses;
    uint32_t before = 0, others = 0;
    if (issue->instruction->local)
        return byte / ORACLE_WORD;
    if (issue->instruction->together)
        return lane / issue->instruction->together;
    if (issue->instruction->kind != FTH_TRACE_ATOMIC)
        return 0;
    for (uint32_t t = 0; t < issue->access->threads; t++) {
        before += t < lane && addresses[t] == addresses[lane];
        others += addresses[t] != addresses[lane];
    }
    return others ? before : 0;
}

/* Returns the address of a byte of a lane. */
static uint64_t address_of(const struct timed_issue *issue, uint32_t lane, uint32_t byte)
{
    const uint64_t address = issue->base + issue->access->addresses[lane];
    return issue->instruction->local
               ? address + (uint64_t)(byte / ORACLE_WORD) * ORACLE_WORD_DISTANCE +
                     byte % ORACLE_WORD
               : address + byte;
}

/* Finds the first line of a turn of an access from the address `from` on, and the bytes that it
 * accesses there. */
static bool find_request(const struct timed_gpu *gpu, const struct timed_issue *issue,
                         uint32_t turn, uint64_t from, struct timed_request *request)
{
    *request = (struct timed_request){.issue = issue, .turn = turn, .line = UINT64_MAX};
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t t = 0; t < issue->access->threads; t++)
            for (uint32_t b = 0; b < issue->instruction->bytes; b++) {
                const uint64_t address = address_of(issue, t, b);
                const uint64_t line = address / gpu->line_bytes * gpu->line_bytes;
                if (turn_of(issue, t, b) != turn)
                    continue;
                if (pass == 0 && line >= from && line < request->line)
                    request->line = line;
                if (pass == 1 && line == request->line) {
                    request->bytes[address - line] = 1;
                    request->sectors |= UINT64_C(1) << ((address - line) / gpu->sector_bytes);
                }
            }
    return request->line != UINT64_MAX;
}

bool timed_next_request(const struct timed_gpu *gpu, const struct timed_issue *issue,
                        struct timed_request *request)
{
    const bool first = request->line == UINT64_MAX;
    uint64_t from = first ? 0 : request->line + gpu->line_bytes;
    for (uint32_t turn = first ? 0 : request->turn; turn < TURNS; turn++, from = 0)
        if (find_request(gpu, issue, turn, from, request))
            return true;
    return false;
}

uint64_t timed_l1_cycles(const struct timed_gpu *gpu, const struct timed_issue *issue,
                         uint64_t *count)
{
    struct timed_request request = {.line = UINT64_MAX};
    uint64_t words[BANKS] = {0}, most = 0, lines_of_turn[TURNS] = {0}, texture = 0;
    for (*count = 0; timed_next_request(gpu, issue, &request); ++*count) {
        texture += lines_of_turn[request.turn]++ % TAGS_PER_CYCLE == 0;
        for (uint64_t word = 0; word < gpu->line_bytes / BANK_BYTES; word++) {
            bool needed = false;
            for (uint64_t i = 0; i < BANK_BYTES; i++)
                needed = needed || request.bytes[word * BANK_BYTES + i];
            words[(request.line / BANK_BYTES + word) % BANKS] += needed;
        }
    }
    if (issue->instruction->together)
        return texture;
    if (issue->instruction->kind != FTH_TRACE_READ)
        return *count;
    for (uint64_t bank = 0; bank < BANKS; bank++)
        most = words[bank] > most ? words[bank] : most;
    if (most > 1 && issue->instruction->bytes < WIDE_BYTES)
        most++;
    const uint64_t tags = (*count + TAGS_PER_CYCLE - 1) / TAGS_PER_CYCLE;
    return tags > most ? tags : most;
}

uint64_t timed_find_fills(const struct timed_gpu *gpu, const struct timed_request *request,
                          uint64_t sectors)
{
    const uint64_t hinted = request->issue->instruction->l2_fill_bytes;
    uint64_t bytes = hinted ? hinted : gpu->fill_bytes, fills = 0;
    bytes = bytes > gpu->sector_bytes ? bytes : gpu->sector_bytes;
    bytes = bytes < gpu->line_bytes ? bytes : gpu->line_bytes;
    const uint64_t count = gpu->line_bytes / gpu->sector_bytes, each = bytes / gpu->sector_bytes;
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t k = 0; k < count; k++)
            if (i / each == k / each && sectors >> i & 1)
                fills |= UINT64_C(1) << k;
    return fills;
}
