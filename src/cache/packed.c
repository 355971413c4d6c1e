/* Long streams through LRU sets of 5 to 16 ways: rows as in batch.c, of 16 bits a line, which a
 * machine compares and moves eight at a time.
 *
 * Sixteen bits tell the lines of a set apart as long as what is read lies within 2^16 times as many
 * lines as there are sets (8 GiB with 1,024 sets of 128-byte lines), where the set is the lowest
 * bits of the line number, and otherwise within 2^16 lines; where a stream leaves that, the rest of
 * it goes row by row.
 *
 * One plus the place of the line, or 0, is gathered from a comparison of the whole row and handed
 * to every lane; lanes up to there take what is one before them, the others stay. There is no
 * branch on what is found, and so none that a processor guesses wrong. Measured on the mix of
 * bench/ and a Neoverse V1, 1,024 sets of 16 ways: docs/model.md. */
#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)

enum { LANES = 8, BLOCK = 64, NO_TAG = UINT16_MAX };
#define UNROLL _Pragma("GCC unroll 4")

typedef uint16_t lanes __attribute__((vector_size(LANES * sizeof(uint16_t)), may_alias));
typedef uint32_t four __attribute__((vector_size(4 * sizeof(uint32_t))));

/* The lanes of b, one further, behind the last of a; and the lanes of one, turned. */
#if defined(__clang__)
#define FOLLOW(a, b) __builtin_shufflevector(a, b, 7, 8, 9, 10, 11, 12, 13, 14)
#define TURN4(a) __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3)
#define TURN2(a) __builtin_shufflevector(a, a, 2, 3, 4, 5, 6, 7, 0, 1)
#define TURN1(a) __builtin_shufflevector(a, a, 1, 2, 3, 4, 5, 6, 7, 0)
#define FOUR_TURN2(a) __builtin_shufflevector(a, a, 2, 3, 0, 1)
#define FOUR_TURN1(a) __builtin_shufflevector(a, a, 1, 2, 3, 0)
#else
#define FOLLOW(a, b) __builtin_shuffle(a, b, (lanes){7, 8, 9, 10, 11, 12, 13, 14})
#define TURN4(a) __builtin_shuffle(a, (lanes){4, 5, 6, 7, 0, 1, 2, 3})
#define TURN2(a) __builtin_shuffle(a, (lanes){2, 3, 4, 5, 6, 7, 0, 1})
#define TURN1(a) __builtin_shuffle(a, (lanes){1, 2, 3, 4, 5, 6, 7, 0})
#define FOUR_TURN2(a) __builtin_shuffle(a, (four){2, 3, 0, 1})
#define FOUR_TURN1(a) __builtin_shuffle(a, (four){1, 2, 3, 0})
#endif

struct row {
    lanes parts[2];
};

/* What a line is called in its set. */
struct naming {
    uint64_t base; /* the first line that has a tag */
    unsigned shift;
};

static FTH_INLINE struct row load(const lanes *from, uint32_t size)
{
    struct row row;
    UNROLL for (uint32_t i = 0; i < size; i++) row.parts[i] = from[i];
    return row;
}

static FTH_INLINE void store(lanes *to, const struct row *row, uint32_t size)
{
    UNROLL for (uint32_t i = 0; i < size; i++) to[i] = row->parts[i];
}

/* Puts the tag in front of a row of `size` vectors, of whose lanes the first `ways` count; whether
 * it was there. */
static FTH_INLINE uint64_t shift(struct row *row, uint32_t size, uint16_t ways, uint16_t tag)
{
    const lanes places[] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}};
    const lanes key = {tag, tag, tag, tag, tag, tag, tag, tag};
    lanes place = {0}, before = key;
    UNROLL for (uint32_t i = 0; i < size; i++) place |= (lanes)(row->parts[i] == key) & places[i];
    place |= TURN4(place);
    place |= TURN2(place);
    place |= TURN1(place);
    const lanes end = place | ((lanes)(place == 0) & ways);
    UNROLL for (uint32_t i = 0; i < size; i++)
    {
        const lanes old = row->parts[i], moves = (lanes)(places[i] <= end);
        row->parts[i] = (FOLLOW(before, old) & moves) | (old & ~moves);
        before = old;
    }
    return place[0] != 0;
}

/* Whether two of four sets are the same. */
static FTH_INLINE bool any_same(const uint32_t *sets)
{
    four these;
    memcpy(&these, sets, sizeof these);
    const four same = (four)(these == FOUR_TURN1(these)) | (four)(these == FOUR_TURN2(these));
    const four half = same | FOUR_TURN2(same);
    return half[0] | half[1];
}

/* Four at a time, where they are of different sets: a processor that has seen a row read soon after
 * it was written waits with the next reads until the writes before them are done. */
static FTH_INLINE uint64_t run_four(lanes *rows, uint32_t size, uint16_t ways, const uint16_t *tags,
                                    const uint32_t *sets)
{
    struct row got[4];
    uint64_t hits = 0;
    if (any_same(sets)) {
        for (uint32_t i = 0; i < 4; i++) {
            got[0] = load(rows + (size_t)sets[i] * size, size);
            hits |= shift(&got[0], size, ways, tags[i]) << i;
            store(rows + (size_t)sets[i] * size, &got[0], size);
        }
        return hits;
    }
    UNROLL for (uint32_t i = 0; i < 4; i++) got[i] = load(rows + (size_t)sets[i] * size, size);
    UNROLL for (uint32_t i = 0; i < 4; i++) hits |= shift(&got[i], size, ways, tags[i]) << i;
    UNROLL for (uint32_t i = 0; i < 4; i++) store(rows + (size_t)sets[i] * size, &got[i], size);
    return hits;
}

/* The tags of a block; false where a line has none. */
static FTH_INLINE bool name(struct naming naming, const uint64_t *restrict lines,
                            uint16_t *restrict tags)
{
    uint64_t large = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        const uint64_t tag = (lines[i] - naming.base) >> naming.shift;
        large |= tag | (tag + 1);
        tags[i] = (uint16_t)tag;
    }
    return large >> 16 == 0;
}

/* Up to the first block that is not full, or with a line that has no tag; how far that is. */
static FTH_INLINE size_t run(const struct fth_cache *cache, struct naming naming, lanes *rows,
                             uint32_t size, const uint64_t *lines, size_t count, uint64_t *hit_bits,
                             uint64_t *hits)
{
    const uint16_t ways = (uint16_t)cache->max_ways;
    size_t done = 0;
    for (; count - done >= BLOCK; done += BLOCK) {
        uint16_t tags[BLOCK];
        uint32_t sets[BLOCK];
        uint64_t word = 0;
        if (!name(naming, lines + done, tags))
            break;
        fth_index_sets(&cache->index, lines + done, BLOCK, sets);
        for (uint32_t i = 0; i < BLOCK; i += 4)
            word |= run_four(rows, size, ways, tags + i, sets + i) << i;
        *hits += (uint64_t)__builtin_popcountll(word);
        if (hit_bits)
            hit_bits[done / BLOCK] = word;
    }
    return done;
}

/* Tags for as many lines below the first as above it. */
static struct naming choose_names(const struct fth_cache *cache, uint64_t line)
{
    struct naming naming = {0, 0};
    if (cache->index.kind == FTH_INDEX_MASK && cache->index.shift == 0)
        naming.shift = (unsigned)__builtin_ctzll(cache->index.modulus);
    const uint64_t below = UINT64_C(1) << (15 + naming.shift);
    if (line > below)
        naming.base = (line - below) >> naming.shift << naming.shift;
    return naming;
}

/* From the rows of the array; NULL where a line has no tag, or there is no memory for it. */
static uint16_t *pack(const struct fth_cache *cache, const uint64_t *held, struct naming naming,
                      size_t width)
{
    uint16_t *rows = aligned_alloc(64, (cache->sets * width * sizeof *rows + 63) / 64 * 64);
    if (!rows)
        return NULL;
    memset(rows, 0xff, cache->sets * width * sizeof *rows);
    for (uint32_t slot = 0; slot < cache->slots; slot++) {
        const uint64_t tag = (held[slot] - naming.base) >> naming.shift;
        if (held[slot] == FTH_NO_LINE)
            continue;
        if (tag >= NO_TAG) {
            free(rows);
            return NULL;
        }
        rows[slot / cache->max_ways * width + slot % cache->max_ways] = (uint16_t)tag;
    }
    return rows;
}

static void unpack(const struct fth_cache *cache, uint64_t *held, struct naming naming,
                   const uint16_t *rows, size_t width)
{
    for (uint32_t slot = 0; slot < cache->slots; slot++) {
        const uint32_t set = slot / cache->max_ways;
        const uint64_t tag = rows[set * width + slot % cache->max_ways];
        /* What the shift left out is the set. */
        held[slot] = tag == NO_TAG  ? FTH_NO_LINE
                     : naming.shift ? naming.base + (tag << naming.shift) + set
                                    : naming.base + tag;
    }
}

size_t fth_packed_run(const struct fth_cache *cache, uint64_t *held, const uint64_t *lines,
                      size_t count, uint64_t *hit_bits, uint64_t *hits)
{
    const uint32_t ways = cache->max_ways, size = ways <= LANES ? 1 : 2;
    if (!cache->even_ways || ways <= 4 || ways > 2 * LANES || count < BLOCK)
        return 0;
    const struct naming naming = choose_names(cache, lines[0]);
    uint16_t *rows = pack(cache, held, naming, (size_t)size * LANES);
    if (!rows)
        return 0;
    lanes *vectors = (lanes *)(void *)rows;
    const size_t done = size == 1 ? run(cache, naming, vectors, 1, lines, count, hit_bits, hits)
                                  : run(cache, naming, vectors, 2, lines, count, hit_bits, hits);
    unpack(cache, held, naming, rows, (size_t)size * LANES);
    free(rows);
    return done;
}

#else

size_t fth_packed_run(const struct fth_cache *cache, uint64_t *held, const uint64_t *lines,
                      size_t count, uint64_t *hit_bits, uint64_t *hits)
{
    (void)cache, (void)held, (void)lines, (void)count, (void)hit_bits, (void)hits;
    return 0;
}

#endif
