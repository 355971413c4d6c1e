/* A simple cache with flags per byte and time stamps per line; see cache_oracle.h. */
#include "cache_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    bool held;                    /* the way holds a line */
    uint64_t address;             /* of the first byte of the line */
    uint64_t allocated, last_use; /* when the line was allocated and last used; see oracle.now */
    uint64_t uses;                /* since it was allocated */
    uint64_t row;                 /* policy clock: the row of the line */
    bool hit;                     /* policy clock: hit since it was allocated */
    uint64_t reserved;            /* policy clock: until when its storage is in use */
    uint64_t access;              /* policy clock: the one that allocated the line */
    int rrpv;                     /* policies srrip and drrip */
    unsigned char *valid, *dirty; /* one flag per byte of the line */
};

struct oracle {
    uint64_t line_bytes, sector_bytes, sets;
    uint64_t *ways, all_ways; /* ways of each set, and their sum */
    struct entry **entries;   /* [set][way] */
    char index[64], policy[16];
    bool masked; /* masks replace `index` */
    struct fth_hash_masks masks;
    double *weights;
    enum fth_write write;
    struct fth_rng rng;
    uint64_t now; /* accesses so far */
    /* policy clock */
    uint64_t rows, row_ways;
    uint64_t *hand; /* [set] */
    bool *pressed;  /* [set] */
    uint64_t time;
    uint64_t begun; /* accesses; 0: each call is one */
    struct {
        uint64_t set, until;
    } * evicted; /* lines that were removed while their storage was in use */
    size_t evicted_count;
    /* policy drrip */
    int psel, bimodal; /* the counter of 10 bits; new lines of BRRIP */
};

struct oracle *oracle_create(const struct fth_cache_config *config)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle)
        return NULL;
    oracle->line_bytes = config->line_bytes;
    oracle->sector_bytes = config->sector_bytes ? config->sector_bytes : config->line_bytes;
    oracle->sets = config->sets;
    oracle->write = config->write;
    snprintf(oracle->index, sizeof oracle->index, "%s", config->index ? config->index : "mod");
    snprintf(oracle->policy, sizeof oracle->policy, "%s", config->policy ? config->policy : "lru");
    fth_rng_init(&oracle->rng, config->seed);
    oracle->psel = 511;
    oracle->masked = config->masks != NULL;
    if (oracle->masked)
        oracle->masks = *config->masks;
    oracle->rows = config->rows ? config->rows : 128;
    oracle->row_ways = config->row_ways ? config->row_ways : 4;
    for (uint64_t set = 0; set < oracle->sets && !config->rows; set++)
        while (oracle->rows * oracle->row_ways <
               (config->set_ways ? config->set_ways[set] : config->ways))
            oracle->rows *= 2;
    oracle->hand = calloc(oracle->sets, sizeof *oracle->hand);
    oracle->pressed = calloc(oracle->sets, sizeof *oracle->pressed);
    oracle->ways = calloc(oracle->sets, sizeof *oracle->ways);
    oracle->entries = calloc(oracle->sets, sizeof *oracle->entries);
    oracle->weights = calloc(config->way_weight_count + 1, sizeof *oracle->weights);
    if (!oracle->ways || !oracle->entries || !oracle->weights || !oracle->hand || !oracle->pressed)
        goto no_memory;
    for (size_t i = 0; i < config->way_weight_count; i++)
        oracle->weights[i] = config->way_weights[i];
    for (uint64_t set = 0; set < oracle->sets; set++) {
        oracle->ways[set] = config->set_ways ? config->set_ways[set] : config->ways;
        oracle->all_ways += oracle->ways[set];
        oracle->entries[set] = calloc(oracle->ways[set], sizeof **oracle->entries);
        if (!oracle->entries[set])
            goto no_memory;
        for (uint64_t way = 0; way < oracle->ways[set]; way++) {
            struct entry *entry = &oracle->entries[set][way];
            entry->valid = calloc(oracle->line_bytes, 1);
            entry->dirty = calloc(oracle->line_bytes, 1);
            if (!entry->valid || !entry->dirty)
                goto no_memory;
        }
    }
    return oracle;
no_memory:
    oracle_destroy(oracle);
    return NULL;
}

void oracle_destroy(struct oracle *oracle)
{
    if (!oracle)
        return;
    for (uint64_t set = 0; oracle->ways && oracle->entries && set < oracle->sets; set++) {
        for (uint64_t way = 0; oracle->entries[set] && way < oracle->ways[set]; way++) {
            free(oracle->entries[set][way].valid);
            free(oracle->entries[set][way].dirty);
        }
        free(oracle->entries[set]);
    }
    free(oracle->ways);
    free(oracle->entries);
    free(oracle->weights);
    free(oracle->hand);
    free(oracle->pressed);
    free(oracle->evicted);
    free(oracle);
}

void oracle_clear(struct oracle *oracle)
{
    for (uint64_t set = 0; set < oracle->sets; set++)
        for (uint64_t way = 0; way < oracle->ways[set]; way++)
            oracle->entries[set][way].held = false;
    memset(oracle->pressed, 0, oracle->sets * sizeof *oracle->pressed);
    oracle->evicted_count = 0;
    oracle->time = 0;
}

/* ---- the set of a line ---- */

/* Returns the number whose bits are the parities of the bits of the address under each mask. */
static uint64_t parities(const uint64_t *masks, size_t count, uint64_t address)
{
    uint64_t number = 0;
    for (size_t i = count; i > 0; i--) {
        bool odd = false;
        for (unsigned bit = 0; bit < 64; bit++)
            odd ^= masks[i - 1] >> bit & address >> bit & 1;
        number = 2 * number + odd;
    }
    return number;
}

/* "mod" and "shift": consecutive lines go to consecutive sets, round robin. A set that has received
 * as many lines as it has ways is skipped. After one line per way, it starts again. */
static uint64_t round_robin_set(const struct oracle *oracle, uint64_t line)
{
    uint64_t left = line % oracle->all_ways;
    for (uint64_t round = 1;; round++)
        for (uint64_t set = 0; set < oracle->sets; set++)
            if (oracle->ways[set] >= round && left-- == 0)
                return set;
}

/* "xor": the exclusive or of the groups of bits of the line number. */
static uint64_t xor_set(const struct oracle *oracle, uint64_t line)
{
    uint64_t group_values = 1; /* number of values of one group of bits */
    while (group_values < oracle->sets)
        group_values *= 2;
    uint64_t folded = 0;
    for (; group_values > 1 && line > 0; line /= group_values)
        folded ^= line % group_values;
    return folded % oracle->sets;
}

/* "prime": modulo the largest prime that is not larger than the number of sets. */
static uint64_t prime_set(const struct oracle *oracle, uint64_t line)
{
    for (uint64_t candidate = oracle->sets; candidate > 1; candidate--) {
        uint64_t divisors = 0;
        for (uint64_t i = 1; i <= candidate; i++)
            divisors += candidate % i == 0;
        if (divisors == 2)
            return line % candidate;
    }
    return 0;
}

/* "bits": the listed address bits form the set index, lowest first. `list` is the text after the
 * opening bracket, such as "7,8]". */
static uint64_t bits_set(const char *list, uint64_t address)
{
    uint64_t set = 0, place_value = 1;
    for (const char *at = list; *at && *at != ']'; place_value *= 2) {
        char *end;
        unsigned long bit = strtoul(at, &end, 10);
        set += place_value * (address >> bit & 1);
        at = *end == ',' ? end + 1 : end;
    }
    return set;
}

static uint64_t set_of(const struct oracle *oracle, uint64_t address)
{
    uint64_t line = address / oracle->line_bytes;
    const char *index = oracle->index;
    if (oracle->masked)
        return parities(oracle->masks.set, oracle->masks.set_count, line * oracle->line_bytes);
    if (strncmp(index, "bits:[", 6) == 0)
        return bits_set(index + 6, line * oracle->line_bytes);
    if (strcmp(index, "xor") == 0)
        return xor_set(oracle, line);
    if (strcmp(index, "prime") == 0)
        return prime_set(oracle, line);
    unsigned long shift = 0;
    if (strncmp(index, "shift:", 6) == 0)
        shift = strtoul(index + 6, NULL, 10);
    for (; shift > 0; shift--)
        line /= 2;
    return round_robin_set(oracle, line);
}

/* ---- lookup, replacement, allocation ---- */

/* Returns the way that holds the line of the address, or NULL. */
static struct entry *find(const struct oracle *oracle, uint64_t set, uint64_t address)
{
    for (uint64_t way = 0; way < oracle->ways[set]; way++) {
        struct entry *entry = &oracle->entries[set][way];
        if (entry->held && address >= entry->address &&
            address - entry->address < oracle->line_bytes)
            return entry;
    }
    return NULL;
}

static uint64_t sector_bit(const struct oracle *oracle, uint64_t byte)
{
    return (uint64_t)1 << byte % oracle->line_bytes / oracle->sector_bytes;
}

static uint64_t dirty_sectors(const struct oracle *oracle, const struct entry *entry)
{
    uint64_t mask = 0;
    for (uint64_t i = 0; i < oracle->line_bytes; i++)
        if (entry->dirty[i])
            mask |= sector_bit(oracle, i);
    return mask;
}

/* With LRU, FIFO or LFU: whether `a` is evicted before `b`. */
static bool is_evicted_before(const struct oracle *oracle, const struct entry *a,
                              const struct entry *b)
{
    if (strcmp(oracle->policy, "fifo") == 0)
        return a->allocated < b->allocated;
    if (strcmp(oracle->policy, "lfu") == 0 && a->uses != b->uses)
        return a->uses < b->uses;
    return a->last_use < b->last_use;
}

/* Returns the time of the last use of any of `count` ways. */
static uint64_t last_use_of(const struct entry *entries, uint64_t count)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++)
        last = entries[i].last_use > last ? entries[i].last_use : last;
    return last;
}

/* PLRU: selects the half of the ways that was used less recently, then half of that, and so on. */
static uint64_t plru_victim(const struct entry *entries, uint64_t count)
{
    if (count == 1)
        return 0;
    uint64_t half = count / 2;
    if (last_use_of(entries, half) < last_use_of(entries + half, half))
        return plru_victim(entries, half);
    return half + plru_victim(entries + half, half);
}

/* SRRIP and DRRIP: the first way with the prediction 3; all predictions grow until there is one. */
static uint64_t rrip_victim(struct entry *entries, uint64_t ways)
{
    for (;;) {
        for (uint64_t way = 0; way < ways; way++)
            if (entries[way].rrpv == 3)
                return way;
        for (uint64_t way = 0; way < ways; way++)
            entries[way].rrpv++;
    }
}

/* DRRIP: returns 'S' or 'B' for a set that always uses SRRIP or BRRIP, 'F' for the others. */
static char role_of(const struct oracle *oracle, uint64_t set)
{
    uint64_t regions = oracle->sets / 4 > 32 ? 32 : oracle->sets / 4;
    if (oracle->sets == 1)
        return 'F';
    if (regions == 0)
        regions = 1;
    const uint64_t size = oracle->sets / regions;
    for (uint64_t region = 0; region < regions; region++) {
        if (set == region * size)
            return 'S';
        if (set == region * size + size / 2)
            return 'B';
    }
    return 'F';
}

/* Returns the prediction of a new line. */
static int first_rrpv(struct oracle *oracle, uint64_t set)
{
    if (strcmp(oracle->policy, "drrip") != 0)
        return 2;
    const char role = role_of(oracle, set);
    if (role == 'S' && oracle->psel < 1023)
        oracle->psel++;
    if (role == 'B' && oracle->psel > 0)
        oracle->psel--;
    if (role == 'S' || (role == 'F' && oracle->psel < 512))
        return 2;
    return ++oracle->bimodal % 32 == 0 ? 2 : 3;
}

/* Returns the way to be evicted from a full set. */
static uint64_t find_victim(struct oracle *oracle, uint64_t set)
{
    uint64_t ways = oracle->ways[set];
    if (strcmp(oracle->policy, "random") == 0)
        return fth_rng_below(&oracle->rng, ways);
    if (strcmp(oracle->policy, "weighted") == 0) {
        double sum = 0, part = 0;
        for (uint64_t way = 0; way < ways; way++)
            sum += oracle->weights[way];
        double u = fth_rng_unit(&oracle->rng) * sum;
        for (uint64_t way = 0; way < ways; way++)
            if ((part += oracle->weights[way]) > u)
                return way;
    }
    if (strstr(oracle->policy, "rrip"))
        return rrip_victim(oracle->entries[set], ways);
    if (strcmp(oracle->policy, "plru") == 0)
        return plru_victim(oracle->entries[set], ways);
    uint64_t first = 0;
    for (uint64_t way = 1; way < ways; way++)
        if (is_evicted_before(oracle, &oracle->entries[set][way], &oracle->entries[set][first]))
            first = way;
    return first;
}

/* ---- policy clock ---- */

/* Returns the number of a line among the lines of its set. */
static uint64_t number_in_set(const struct oracle *oracle, uint64_t line)
{
    const char *index = oracle->index;
    uint64_t sets = oracle->sets, groups = 1, shift = 1;
    if (strncmp(index, "bits:[", 6) == 0) {
        uint64_t number = 0, place = 1;
        for (unsigned bit = 0; bit < 64; bit++) {
            const uint64_t address = (uint64_t)1 << bit;
            if (address < oracle->line_bytes || bits_set(index + 6, address))
                continue;
            number += line * oracle->line_bytes & address ? place : 0;
            place *= 2;
        }
        return number;
    }
    if (strcmp(index, "xor") == 0) {
        while (groups < sets)
            groups *= 2;
        return line / groups;
    }
    if (strcmp(index, "prime") == 0)
        while (sets > 1 && prime_set(oracle, sets) != 0)
            sets--;
    bool equal = true;
    for (uint64_t set = 1; set < oracle->sets; set++)
        equal = equal && oracle->ways[set] == oracle->ways[0];
    if (!equal && strcmp(index, "prime") != 0)
        return line / sets;
    for (unsigned long i = strncmp(index, "shift:", 6) == 0 ? strtoul(index + 6, NULL, 10) : 0;
         i > 0; i--)
        shift *= 2;
    return line / shift / sets * shift + line % shift;
}

/* Returns the row of a line within its set. */
static uint64_t row_of(const struct oracle *oracle, uint64_t line)
{
    uint64_t row = 0;
    if (oracle->masked)
        return parities(oracle->masks.row, oracle->masks.row_count, line * oracle->line_bytes);
    for (uint64_t left = number_in_set(oracle, line); left && oracle->rows > 1;
         left /= oracle->rows)
        row ^= left % oracle->rows;
    if (oracle->rows >= 128) { /* bit i of the row is the parity of the masked number */
        static const uint64_t masks[] = {0x61, 0x52, 0x4e, 0x6c, 0x32, 0x75, 0x45};
        uint64_t hashed = row / 128 * 128;
        for (unsigned bit = 0; bit < 7; bit++)
            hashed += (uint64_t)(__builtin_popcountll(row & masks[bit]) % 2) << bit;
        return hashed;
    }
    uint64_t factor = oracle->rows * 618 / 1000;
    factor += factor % 2 == 0;
    return row * factor % oracle->rows;
}

/* Counts the lines of a row, or of all rows if `row` is UINT64_MAX. */
static uint64_t count_lines(const struct oracle *oracle, uint64_t set, uint64_t row)
{
    uint64_t count = 0;
    for (uint64_t way = 0; way < oracle->ways[set]; way++)
        count += oracle->entries[set][way].held &&
                 (row == UINT64_MAX || oracle->entries[set][way].row == row);
    return count;
}

/* Whether no line of its row was used after `entry`. */
static bool is_newest(const struct oracle *oracle, uint64_t set, const struct entry *entry)
{
    for (uint64_t way = 0; way < oracle->ways[set]; way++) {
        const struct entry *other = &oracle->entries[set][way];
        if (other->held && other->row == entry->row && other->last_use > entry->last_use)
            return false;
    }
    return true;
}

/* Returns the line of a row that is evicted next: the least recently used one. A line that was
 * never hit goes first, unless all tags of the row are in use and the line is the most recently
 * used one. NULL: the row is empty. */
static struct entry *next_of(const struct oracle *oracle, uint64_t set, uint64_t row)
{
    const bool full = count_lines(oracle, set, row) == oracle->row_ways;
    struct entry *victim = NULL;
    bool victim_stays = false;
    for (uint64_t way = 0; way < oracle->ways[set]; way++) {
        struct entry *entry = &oracle->entries[set][way];
        if (!entry->held || entry->row != row)
            continue;
        const bool stays = entry->hit || (full && is_newest(oracle, set, entry));
        const bool older = !victim || entry->last_use < victim->last_use;
        if (!victim || (stays != victim_stays ? victim_stays : older)) {
            victim = entry;
            victim_stays = stays;
        }
    }
    return victim;
}

/* Removes a line. Its storage may still be in use. */
static void discard(struct oracle *oracle, uint64_t set, struct entry *entry)
{
    entry->held = false;
    if (entry->reserved <= oracle->time)
        return;
    oracle->evicted =
        realloc(oracle->evicted, (oracle->evicted_count + 1) * sizeof *oracle->evicted);
    if (!oracle->evicted)
        abort();
    oracle->evicted[oracle->evicted_count].set = set;
    oracle->evicted[oracle->evicted_count++].until = entry->reserved;
}

static void evict_entry(struct oracle *oracle, uint64_t set, struct entry *entry,
                        struct fth_cache_result *result)
{
    discard(oracle, set, entry);
    result->evicted = true;
    result->evicted_line = entry->address;
    result->evicted_dirty = 0;
}

/* Whether all storage of a set is in use. */
static bool is_full(const struct oracle *oracle, uint64_t set)
{
    uint64_t used = count_lines(oracle, set, UINT64_MAX);
    for (size_t i = 0; i < oracle->evicted_count; i++)
        used += oracle->evicted[i].set == set && oracle->evicted[i].until > oracle->time;
    return used >= oracle->ways[set];
}

/* Returns the next time at which storage of a set is no longer reserved. */
static uint64_t next_end(const struct oracle *oracle, uint64_t set)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < oracle->evicted_count; i++)
        if (oracle->evicted[i].set == set && oracle->evicted[i].until > oracle->time &&
            oracle->evicted[i].until < next)
            next = oracle->evicted[i].until;
    for (uint64_t way = 0; way < oracle->ways[set]; way++) {
        const struct entry *entry = &oracle->entries[set][way];
        if (entry->held && entry->reserved > oracle->time && entry->reserved < next)
            next = entry->reserved;
    }
    return next;
}

/* Advances the hand of a set until it has evicted `count` lines. If it evicts none in a complete
 * turn, it waits. */
static void advance_hand(struct oracle *oracle, uint64_t set, uint64_t count,
                         struct fth_cache_result *result)
{
    uint64_t evicted = 0;
    do {
        if (evicted == 0 && !is_full(oracle, set))
            return; /* after a wait */
        for (uint64_t visited = 0; visited < oracle->rows && evicted < count; visited++) {
            struct entry *next = next_of(oracle, set, oracle->hand[set]);
            oracle->hand[set] = (oracle->hand[set] + 1) % oracle->rows;
            if (!next || next->reserved > oracle->time)
                continue;
            evict_entry(oracle, set, next, result);
            evicted++;
            visited = UINT64_MAX; /* a turn begins after each eviction */
        }
        if (evicted == 0)
            oracle->time = next_end(oracle, set);
    } while (evicted == 0);
}

/* Makes room for a line, which goes to a row of a set. */
static void clock_room(struct oracle *oracle, uint64_t set, uint64_t row,
                       struct fth_cache_result *result)
{
    if (count_lines(oracle, set, row) == oracle->row_ways) {
        evict_entry(oracle, set, next_of(oracle, set, row), result);
        oracle->pressed[set] = false;
        if (is_full(oracle, set))
            advance_hand(oracle, set, 1, result);
    } else if (is_full(oracle, set)) {
        advance_hand(oracle, set, oracle->pressed[set] ? 4 : 1, result);
        oracle->pressed[set] = !oracle->pressed[set];
    }
}

/* Allocates a way for the line of the address. All its bytes are invalid. */
static struct entry *allocate(struct oracle *oracle, uint64_t set, uint64_t address,
                              struct fth_cache_result *result)
{
    uint64_t way = 0, row = 0;
    if (strcmp(oracle->policy, "clock") == 0) {
        row = row_of(oracle, address / oracle->line_bytes);
        clock_room(oracle, set, row, result);
    }
    while (way < oracle->ways[set] && oracle->entries[set][way].held)
        way++;
    if (way == oracle->ways[set]) {
        way = find_victim(oracle, set);
        result->evicted = true;
        result->evicted_line = oracle->entries[set][way].address;
        result->evicted_dirty = dirty_sectors(oracle, &oracle->entries[set][way]);
    }
    struct entry *entry = &oracle->entries[set][way];
    entry->held = true;
    entry->address = address - address % oracle->line_bytes;
    entry->allocated = oracle->now;
    entry->uses = 0;
    entry->row = row;
    entry->hit = false;
    entry->reserved = 0;
    entry->access = oracle->begun;
    memset(entry->valid, 0, oracle->line_bytes);
    memset(entry->dirty, 0, oracle->line_bytes);
    return entry;
}

enum fth_cache_outcome oracle_probe(const struct oracle *oracle, uint64_t address, uint64_t bytes)
{
    const struct entry *entry = find(oracle, set_of(oracle, address), address);
    if (!entry)
        return FTH_CACHE_LINE_MISS;
    for (uint64_t i = 0; i < bytes; i++)
        if (!entry->valid[address + i - entry->address])
            return FTH_CACHE_SECTOR_MISS;
    return FTH_CACHE_HIT;
}

bool oracle_invalidate(struct oracle *oracle, uint64_t address, uint64_t *dirty)
{
    struct entry *entry = find(oracle, set_of(oracle, address), address);
    *dirty = entry ? dirty_sectors(oracle, entry) : 0;
    if (entry)
        discard(oracle, set_of(oracle, address), entry);
    return entry != NULL;
}

uint64_t oracle_write_back(struct oracle *oracle, uint64_t address)
{
    struct entry *entry = find(oracle, set_of(oracle, address), address);
    const uint64_t dirty = dirty_sectors(oracle, entry);
    for (uint64_t i = 0; i < oracle->line_bytes; i++)
        if (dirty & sector_bit(oracle, i)) {
            entry->valid[i] = 1;
            entry->dirty[i] = 0;
        }
    return dirty;
}

void oracle_invalidate_sector(struct oracle *oracle, uint64_t address)
{
    struct entry *entry = find(oracle, set_of(oracle, address), address);
    for (uint64_t i = 0; entry && i < oracle->line_bytes; i++)
        if (sector_bit(oracle, i) == sector_bit(oracle, address - entry->address)) {
            entry->valid[i] = 0;
            entry->dirty[i] = 0;
        }
}

size_t oracle_held(const struct oracle *oracle)
{
    size_t held = 0;
    for (uint64_t set = 0; set < oracle->sets; set++)
        for (uint64_t way = 0; way < oracle->ways[set]; way++)
            held += oracle->entries[set][way].held;
    return held;
}

void oracle_begin(struct oracle *oracle, uint64_t now)
{
    oracle->time = now;
    oracle->begun++;
}

uint64_t oracle_time(const struct oracle *oracle)
{
    return oracle->time;
}

void oracle_reserve(struct oracle *oracle, uint64_t address, uint64_t until)
{
    struct entry *entry = find(oracle, set_of(oracle, address), address);
    if (strcmp(oracle->policy, "clock") == 0 && entry->reserved < until)
        entry->reserved = until;
}

/* ---- access ---- */

/* Makes the sectors of the bytes valid and adds those that were not to result->fetch. */
static void read_bytes(struct oracle *oracle, struct entry *entry, uint64_t address, uint64_t bytes,
                       struct fth_cache_result *result)
{
    for (uint64_t i = address - entry->address; i < address - entry->address + bytes; i++) {
        if (entry->valid[i])
            continue;
        result->fetch |= sector_bit(oracle, i);
        uint64_t start = i - i % oracle->sector_bytes;
        for (uint64_t j = start; j < start + oracle->sector_bytes; j++)
            entry->valid[j] = 1;
    }
}

struct fth_cache_result oracle_access(struct oracle *oracle, uint64_t address, uint64_t bytes,
                                      enum fth_cache_kind kind)
{
    uint64_t set = set_of(oracle, address);
    struct fth_cache_result result = {.outcome = oracle_probe(oracle, address, bytes),
                                      .set = (uint32_t)set};
    struct entry *entry = find(oracle, set, address);
    oracle->now++;
    if (entry && (oracle->begun == 0 || entry->access != oracle->begun)) {
        entry->hit = true;
        oracle->pressed[set] = false;
    }
    for (uint64_t i = 0; i < bytes; i++)
        result.sectors |= sector_bit(oracle, address + i);
    if (kind == FTH_CACHE_WRITE && oracle->write != FTH_WRITE_BACK)
        result.below = result.sectors;
    if (kind == FTH_CACHE_WRITE && oracle->write == FTH_WRITE_EVICT) {
        result.way = FTH_NO_WAY;
        if (entry) {
            result.evicted = true;
            result.evicted_line = entry->address;
            discard(oracle, set, entry);
        }
        return result;
    }
    const bool fresh = !entry;
    if (!entry)
        entry = allocate(oracle, set, address, &result);
    entry->rrpv = fresh ? first_rrpv(oracle, set) : 0;
    entry->last_use = oracle->now;
    entry->uses++;
    if (kind == FTH_CACHE_READ) {
        read_bytes(oracle, entry, address, bytes, &result);
    } else {
        for (uint64_t i = address - entry->address; i < address - entry->address + bytes; i++) {
            entry->valid[i] = 1;
            entry->dirty[i] = oracle->write == FTH_WRITE_BACK;
        }
    }
    result.way = (uint32_t)(entry - oracle->entries[set]);
    return result;
}
