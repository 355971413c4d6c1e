/* Simulates long streams of whole-line reads through LRU sets of 5 to 16 ways. The rows are those
 * of batch.c, but with a tag of 16 bits per line. Vector instructions compare and move eight tags
 * at a time.
 *
 * Sixteen bits distinguish the lines of a set if the set number is the lowest bits of the line
 * number and all lines are within a range of 2^16 * sets lines (8 GiB for 1,024 sets of 128-byte
 * lines). With other index functions, the range is 2^16 lines. When a stream leaves the range,
 * batch.c simulates the rest of it.
 *
 * A comparison of the whole row gives the position of the line, counted from 1, or 0 if it is not
 * in the row. The position is copied to every lane. Lanes up to this position take the value of the
 * preceding lane; the others keep theirs. No branch depends on the result, so there are no branch
 * mispredictions. docs/model.md has measurements on a Neoverse V1 with 1,024 sets of 16 ways and
 * the access mix of bench/. */
#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)

enum {
    LANES = 8,          /* tags per vector */
    BLOCK = 64,         /* reads per word of hit_bits */
    NO_TAG = UINT16_MAX /* tag of an empty way */
};
#define UNROLL _Pragma("GCC unroll 4")

typedef uint16_t u16x8 __attribute__((vector_size(LANES * sizeof(uint16_t)), may_alias));
typedef uint32_t u32x4 __attribute__((vector_size(4 * sizeof(uint32_t))));

/* SHIFT_IN shifts the lanes of b up by one and inserts the last lane of a. ROTATEn rotates the
 * lanes of a vector by n. */
#if defined(__clang__)
#define SHIFT_IN(a, b) __builtin_shufflevector(a, b, 7, 8, 9, 10, 11, 12, 13, 14)
#define ROTATE4(a) __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3)
#define ROTATE2(a) __builtin_shufflevector(a, a, 2, 3, 4, 5, 6, 7, 0, 1)
#define ROTATE1(a) __builtin_shufflevector(a, a, 1, 2, 3, 4, 5, 6, 7, 0)
#define ROTATE2_U32(a) __builtin_shufflevector(a, a, 2, 3, 0, 1)
#define ROTATE1_U32(a) __builtin_shufflevector(a, a, 1, 2, 3, 0)
#else
#define SHIFT_IN(a, b) __builtin_shuffle(a, b, (u16x8){7, 8, 9, 10, 11, 12, 13, 14})
#define ROTATE4(a) __builtin_shuffle(a, (u16x8){4, 5, 6, 7, 0, 1, 2, 3})
#define ROTATE2(a) __builtin_shuffle(a, (u16x8){2, 3, 4, 5, 6, 7, 0, 1})
#define ROTATE1(a) __builtin_shuffle(a, (u16x8){1, 2, 3, 4, 5, 6, 7, 0})
#define ROTATE2_U32(a) __builtin_shuffle(a, (u32x4){2, 3, 0, 1})
#define ROTATE1_U32(a) __builtin_shuffle(a, (u32x4){1, 2, 3, 0})
#endif

/* The tags of one set, newest first. Only the first one or two parts are in use. */
struct row {
    u16x8 parts[2];
};

/* Maps a line to its tag: (line - base) >> shift. */
struct tag_map {
    uint64_t base;  /* the first line that has a tag */
    unsigned shift; /* bits of the set number, if it is the lowest bits of the line; otherwise 0 */
};

static FTH_INLINE struct row load_row(const u16x8 *from, uint32_t size)
{
    struct row row;
    UNROLL for (uint32_t i = 0; i < size; i++) row.parts[i] = from[i];
    return row;
}

static FTH_INLINE void store_row(u16x8 *to, const struct row *row, uint32_t size)
{
    UNROLL for (uint32_t i = 0; i < size; i++) to[i] = row->parts[i];
}

/* Moves the tag to the front of a row of `size` vectors, of which the first `ways` lanes are in
 * use. Returns 1 if the tag was in the row, otherwise 0. */
static FTH_INLINE uint64_t move_to_front(struct row *row, uint32_t size, uint16_t ways,
                                         uint16_t tag)
{
    const u16x8 positions[] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}};
    const u16x8 key = {tag, tag, tag, tag, tag, tag, tag, tag};
    u16x8 position = {0}, before = key;
    UNROLL for (uint32_t i = 0; i < size; i++)
    {
        position |= (u16x8)(row->parts[i] == key) & positions[i];
    }
    position |= ROTATE4(position);
    position |= ROTATE2(position);
    position |= ROTATE1(position);
    const u16x8 end = position | ((u16x8)(position == 0) & ways);
    UNROLL for (uint32_t i = 0; i < size; i++)
    {
        const u16x8 old = row->parts[i], moves = (u16x8)(positions[i] <= end);
        row->parts[i] = (SHIFT_IN(before, old) & moves) | (old & ~moves);
        before = old;
    }
    return position[0] != 0;
}

/* Returns whether any two of four sets are equal. */
static FTH_INLINE bool any_same(const uint32_t *sets)
{
    u32x4 these;
    memcpy(&these, sets, sizeof these);
    const u32x4 same = (u32x4)(these == ROTATE1_U32(these)) | (u32x4)(these == ROTATE2_U32(these));
    const u32x4 half = same | ROTATE2_U32(same);
    return half[0] | half[1];
}

/* Reads four lines and returns a mask of the hits. If the four sets are different, all rows are
 * loaded before any is stored. Otherwise, each row is loaded after the previous one was stored. A
 * processor that has observed a load soon after a store to the same address delays later loads
 * until the stores before them are complete, so the first variant is faster. */
static FTH_INLINE uint64_t read_four(u16x8 *rows, uint32_t size, uint16_t ways,
                                     const uint16_t *tags, const uint32_t *sets)
{
    struct row loaded[4];
    uint64_t hits = 0;
    if (any_same(sets)) {
        for (uint32_t i = 0; i < 4; i++) {
            loaded[0] = load_row(rows + (size_t)sets[i] * size, size);
            hits |= move_to_front(&loaded[0], size, ways, tags[i]) << i;
            store_row(rows + (size_t)sets[i] * size, &loaded[0], size);
        }
        return hits;
    }
    UNROLL for (uint32_t i = 0; i < 4; i++)
    {
        loaded[i] = load_row(rows + (size_t)sets[i] * size, size);
    }
    UNROLL for (uint32_t i = 0; i < 4; i++)
    {
        hits |= move_to_front(&loaded[i], size, ways, tags[i]) << i;
    }
    UNROLL for (uint32_t i = 0; i < 4; i++)
    {
        store_row(rows + (size_t)sets[i] * size, &loaded[i], size);
    }
    return hits;
}

/* Computes the tags of a block of lines. Returns false if a line is outside the range of tags. */
static FTH_INLINE bool compute_tags(struct tag_map tag_map, const uint64_t *restrict lines,
                                    uint16_t *restrict tags)
{
    uint64_t large = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        const uint64_t tag = (lines[i] - tag_map.base) >> tag_map.shift;
        large |= tag | (tag + 1);
        tags[i] = (uint16_t)tag;
    }
    return large >> 16 == 0;
}

/* Reads whole blocks up to the first one with a line that has no tag. Returns the number of lines
 * that were read. */
static FTH_INLINE size_t read_blocks(const struct fth_cache *cache, struct tag_map tag_map,
                                     u16x8 *rows, uint32_t size, const uint64_t *lines,
                                     size_t count, uint64_t *hit_bits, uint64_t *hits)
{
    const uint16_t ways = (uint16_t)cache->max_ways;
    size_t done = 0;
    for (; count - done >= BLOCK; done += BLOCK) {
        uint16_t tags[BLOCK];
        uint32_t sets[BLOCK];
        uint64_t word = 0;
        if (!compute_tags(tag_map, lines + done, tags))
            break;
        fth_index_sets(&cache->index, lines + done, BLOCK, sets);
        for (uint32_t i = 0; i < BLOCK; i += 4)
            word |= read_four(rows, size, ways, tags + i, sets + i) << i;
        *hits += (uint64_t)__builtin_popcountll(word);
        if (hit_bits)
            hit_bits[done / BLOCK] = word;
    }
    return done;
}

/* Centers the range of tags on the first line of the stream. */
static struct tag_map choose_tag_map(const struct fth_cache *cache, uint64_t line)
{
    struct tag_map tag_map = {0, 0};
    if (cache->index.kind == FTH_INDEX_MASK && cache->index.shift == 0)
        tag_map.shift = (unsigned)__builtin_ctzll(cache->index.modulus);
    const uint64_t below = UINT64_C(1) << (15 + tag_map.shift);
    if (line > below)
        tag_map.base = (line - below) >> tag_map.shift << tag_map.shift;
    return tag_map;
}

/* Converts the lines of each set (`held`) to rows of `width` tags. Returns NULL if a line has no
 * tag or if memory is insufficient. The caller frees the rows. */
static uint16_t *pack(const struct fth_cache *cache, const uint64_t *held, struct tag_map tag_map,
                      size_t width)
{
    uint16_t *rows = aligned_alloc(64, (cache->sets * width * sizeof *rows + 63) / 64 * 64);
    if (!rows)
        return NULL;
    memset(rows, 0xff, cache->sets * width * sizeof *rows);
    for (uint32_t slot = 0; slot < cache->slots; slot++) {
        const uint64_t tag = (held[slot] - tag_map.base) >> tag_map.shift;
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

/* Converts the rows back to lines. */
static void unpack(const struct fth_cache *cache, uint64_t *held, struct tag_map tag_map,
                   const uint16_t *rows, size_t width)
{
    for (uint32_t slot = 0; slot < cache->slots; slot++) {
        const uint32_t set = slot / cache->max_ways;
        const uint64_t tag = rows[set * width + slot % cache->max_ways];
        /* The bits that the shift removed are the set number. */
        held[slot] = tag == NO_TAG   ? FTH_NO_LINE
                     : tag_map.shift ? tag_map.base + (tag << tag_map.shift) + set
                                     : tag_map.base + tag;
    }
}

size_t fth_packed_run(const struct fth_cache *cache, uint64_t *held, const uint64_t *lines,
                      size_t count, uint64_t *hit_bits, uint64_t *hits)
{
    const uint32_t ways = cache->max_ways, size = ways <= LANES ? 1 : 2;
    if (!cache->uniform_ways || ways <= 4 || ways > 2 * LANES || count < BLOCK)
        return 0;
    const struct tag_map tag_map = choose_tag_map(cache, lines[0]);
    uint16_t *rows = pack(cache, held, tag_map, (size_t)size * LANES);
    if (!rows)
        return 0;
    u16x8 *vectors = (u16x8 *)(void *)rows;
    const size_t done = size == 1
                            ? read_blocks(cache, tag_map, vectors, 1, lines, count, hit_bits, hits)
                            : read_blocks(cache, tag_map, vectors, 2, lines, count, hit_bits, hits);
    unpack(cache, held, tag_map, rows, (size_t)size * LANES);
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
