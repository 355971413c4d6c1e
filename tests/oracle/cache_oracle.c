/* See cache_oracle.h: flags for every byte, time stamps, and no cleverness. */
#include "cache_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    bool held;
    uint64_t address; /* of the first byte */
    uint64_t came, last_use, uses;
    unsigned char *here, *dirty; /* one flag a byte of the line */
};

struct oracle {
    uint64_t line_bytes, sector_bytes, sets;
    uint64_t *ways, all_ways; /* of each set, and together */
    struct entry **entries;   /* [set][way] */
    char index[64], policy[16];
    double *weights;
    enum fth_write write;
    struct fth_rng rng;
    uint64_t now;
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
    oracle->ways = calloc(oracle->sets, sizeof *oracle->ways);
    oracle->entries = calloc(oracle->sets, sizeof *oracle->entries);
    oracle->weights = calloc(config->way_weight_count + 1, sizeof *oracle->weights);
    if (!oracle->ways || !oracle->entries || !oracle->weights)
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
            entry->here = calloc(oracle->line_bytes, 1);
            entry->dirty = calloc(oracle->line_bytes, 1);
            if (!entry->here || !entry->dirty)
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
            free(oracle->entries[set][way].here);
            free(oracle->entries[set][way].dirty);
        }
        free(oracle->entries[set]);
    }
    free(oracle->ways);
    free(oracle->entries);
    free(oracle->weights);
    free(oracle);
}

void oracle_clear(struct oracle *oracle)
{
    for (uint64_t set = 0; set < oracle->sets; set++)
        for (uint64_t way = 0; way < oracle->ways[set]; way++)
            oracle->entries[set][way].held = false;
}

/* ---- the set of a line ---- */

static uint64_t dealt_set(const struct oracle *oracle, uint64_t line)
{
    /* Deal cards until this one is dealt; a full table is cleared. */
    uint64_t left = line % oracle->all_ways;
    for (uint64_t round = 1;; round++)
        for (uint64_t set = 0; set < oracle->sets; set++)
            if (oracle->ways[set] >= round && left-- == 0)
                return set;
}

static uint64_t folded_set(const struct oracle *oracle, uint64_t line)
{
    uint64_t groups = 1; /* values that a group of bits can have */
    while (groups < oracle->sets)
        groups *= 2;
    uint64_t folded = 0;
    for (; groups > 1 && line > 0; line /= groups)
        folded ^= line % groups;
    return folded % oracle->sets;
}

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

static uint64_t chosen_set(const char *list, uint64_t address)
{
    uint64_t set = 0, worth = 1;
    for (const char *at = list; *at && *at != ']'; worth *= 2) {
        char *end;
        unsigned long bit = strtoul(at, &end, 10);
        set += worth * (address >> bit & 1);
        at = *end == ',' ? end + 1 : end;
    }
    return set;
}

static uint64_t set_of(const struct oracle *oracle, uint64_t address)
{
    uint64_t line = address / oracle->line_bytes;
    const char *index = oracle->index;
    if (strncmp(index, "bits:[", 6) == 0)
        return chosen_set(index + 6, line * oracle->line_bytes);
    if (strcmp(index, "xor") == 0)
        return folded_set(oracle, line);
    if (strcmp(index, "prime") == 0)
        return prime_set(oracle, line);
    unsigned long halvings = 0;
    if (strncmp(index, "shift:", 6) == 0)
        halvings = strtoul(index + 6, NULL, 10);
    for (; halvings > 0; halvings--)
        line /= 2;
    return dealt_set(oracle, line);
}

/* ---- what is here ---- */

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

static bool comes_before(const struct oracle *oracle, const struct entry *a, const struct entry *b)
{
    if (strcmp(oracle->policy, "fifo") == 0)
        return a->came < b->came;
    if (strcmp(oracle->policy, "lfu") == 0 && a->uses != b->uses)
        return a->uses < b->uses;
    return a->last_use < b->last_use;
}

/* When one of so many ways was last used. */
static uint64_t last_of(const struct entry *entries, uint64_t count)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++)
        last = entries[i].last_use > last ? entries[i].last_use : last;
    return last;
}

/* The half that was not used last, and of it the half … */
static uint64_t less_recent(const struct entry *entries, uint64_t count)
{
    if (count == 1)
        return 0;
    uint64_t half = count / 2;
    if (last_of(entries, half) < last_of(entries + half, half))
        return less_recent(entries, half);
    return half + less_recent(entries + half, half);
}

static uint64_t victim(struct oracle *oracle, uint64_t set)
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
    if (strcmp(oracle->policy, "plru") == 0)
        return less_recent(oracle->entries[set], ways);
    uint64_t first = 0;
    for (uint64_t way = 1; way < ways; way++)
        if (comes_before(oracle, &oracle->entries[set][way], &oracle->entries[set][first]))
            first = way;
    return first;
}

static struct entry *bring_in(struct oracle *oracle, uint64_t set, uint64_t address,
                              struct fth_cache_result *result)
{
    uint64_t way = 0;
    while (way < oracle->ways[set] && oracle->entries[set][way].held)
        way++;
    if (way == oracle->ways[set]) {
        way = victim(oracle, set);
        result->evicted = true;
        result->evicted_line = oracle->entries[set][way].address;
        result->evicted_dirty = dirty_sectors(oracle, &oracle->entries[set][way]);
    }
    struct entry *entry = &oracle->entries[set][way];
    entry->held = true;
    entry->address = address - address % oracle->line_bytes;
    entry->came = oracle->now;
    entry->uses = 0;
    memset(entry->here, 0, oracle->line_bytes);
    memset(entry->dirty, 0, oracle->line_bytes);
    return entry;
}

enum fth_cache_outcome oracle_probe(const struct oracle *oracle, uint64_t address, uint64_t bytes)
{
    const struct entry *entry = find(oracle, set_of(oracle, address), address);
    if (!entry)
        return FTH_CACHE_LINE_MISS;
    for (uint64_t i = 0; i < bytes; i++)
        if (!entry->here[address + i - entry->address])
            return FTH_CACHE_SECTOR_MISS;
    return FTH_CACHE_HIT;
}

bool oracle_invalidate(struct oracle *oracle, uint64_t address, uint64_t *dirty)
{
    struct entry *entry = find(oracle, set_of(oracle, address), address);
    *dirty = entry ? dirty_sectors(oracle, entry) : 0;
    if (entry)
        entry->held = false;
    return entry != NULL;
}

size_t oracle_held(const struct oracle *oracle)
{
    size_t held = 0;
    for (uint64_t set = 0; set < oracle->sets; set++)
        for (uint64_t way = 0; way < oracle->ways[set]; way++)
            held += oracle->entries[set][way].held;
    return held;
}

/* ---- access ---- */

static void read_bytes(struct oracle *oracle, struct entry *entry, uint64_t address, uint64_t bytes,
                       struct fth_cache_result *result)
{
    for (uint64_t i = address - entry->address; i < address - entry->address + bytes; i++) {
        if (entry->here[i])
            continue;
        result->fetch |= sector_bit(oracle, i);
        uint64_t start = i - i % oracle->sector_bytes;
        for (uint64_t j = start; j < start + oracle->sector_bytes; j++)
            entry->here[j] = 1;
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
    for (uint64_t i = 0; i < bytes; i++)
        result.sectors |= sector_bit(oracle, address + i);
    if (kind == FTH_CACHE_WRITE && oracle->write != FTH_WRITE_BACK)
        result.below = result.sectors;
    if (kind == FTH_CACHE_WRITE && oracle->write == FTH_WRITE_EVICT) {
        result.way = FTH_NO_WAY;
        if (entry) {
            result.evicted = true;
            result.evicted_line = entry->address;
            entry->held = false;
        }
        return result;
    }
    if (!entry)
        entry = bring_in(oracle, set, address, &result);
    entry->last_use = oracle->now;
    entry->uses++;
    if (kind == FTH_CACHE_READ) {
        read_bytes(oracle, entry, address, bytes, &result);
    } else {
        for (uint64_t i = address - entry->address; i < address - entry->address + bytes; i++) {
            entry->here[i] = 1;
            entry->dirty[i] = oracle->write == FTH_WRITE_BACK;
        }
    }
    result.way = (uint32_t)(entry - oracle->entries[set]);
    return result;
}
