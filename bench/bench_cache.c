/* Measures the throughput of simulated caches in references per second, on the references of mix.h:
 * in batches, one reference at a time, and for comparison with a plain implementation. The plain
 * cache searches a set way by way and, on a miss, replaces the way with the oldest time stamp. It
 * always uses LRU and the index function `mod`. If the configuration does too, the hits must be
 * equal. */
#include "cache/cache.h"
#include "clock.h"
#include "mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCES = 1 << 22, ROUNDS = 7 };

/* ---- the plain cache ---- */

struct plain {
    uint64_t sets, ways, clock;
    uint64_t mask; /* sets - 1 if `sets` is a power of two, which avoids a division; otherwise 0 */
    struct {
        uint64_t line, last_use;
    } entries[];
};

static struct plain *plain_create(uint64_t sets, uint64_t ways)
{
    struct plain *plain = calloc(1, sizeof *plain + sets * ways * sizeof plain->entries[0]);
    if (!plain)
        return NULL;
    plain->sets = sets;
    plain->ways = ways;
    plain->mask = sets & (sets - 1) ? 0 : sets - 1;
    for (uint64_t i = 0; i < sets * ways; i++)
        plain->entries[i].line = UINT64_MAX;
    return plain;
}

/* Reads the lines and returns the number of hits. */
static uint64_t plain_read(struct plain *plain, const uint64_t *lines, size_t count)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t set = plain->mask ? lines[i] & plain->mask : lines[i] % plain->sets;
        uint64_t first = set * plain->ways, end = first + plain->ways, at;
        for (at = first; at < end; at++)
            if (plain->entries[at].line == lines[i])
                break;
        if (at < end) {
            hits++;
        } else {
            at = first;
            for (uint64_t j = first + 1; j < end; j++)
                if (plain->entries[j].last_use < plain->entries[at].last_use)
                    at = j;
            plain->entries[at].line = lines[i];
        }
        plain->entries[at].last_use = ++plain->clock;
    }
    return hits;
}

/* ---- comparison ---- */

/* Relative probabilities with which Fermi's L1 replaces its ways (Mei and Chu, Section 4.5). */
static const double fermi_weights[] = {1, 3, 1, 1};

static const struct fth_cache_config configs[] = {
    {.sets = 64, .ways = 4},
    {.sets = 64, .ways = 4, .index = "xor"},
    {.sets = 61, .ways = 4},
    {.sets = 64, .ways = 8},
    {.sets = 1024, .ways = 16},
    {.sets = 4, .ways = 96, .index = "bits:[9,10]"},
    {.sets = 4, .ways = 512},
    {.sets = 32,
     .ways = 4,
     .policy = "weighted",
     .way_weights = fermi_weights,
     .way_weight_count = 4},
    {.sets = 64, .ways = 4, .policy = "fifo"},
    {.sets = 64, .ways = 4, .policy = "lfu"},
    {.sets = 64, .ways = 4, .policy = "random"},
};

/* The fastest of ROUNDS rounds. Each round reads all references and starts with the cache content
 * that the previous round left. */
struct timing {
    double best_s;
    uint64_t hits; /* of the last round */
};

static void note(struct timing *timing, double start, uint64_t hits)
{
    double seconds = now() - start;
    timing->best_s = timing->best_s == 0 || seconds < timing->best_s ? seconds : timing->best_s;
    timing->hits = hits;
}

static uint64_t read_singly(struct fth_cache *cache, const uint64_t *lines, size_t count,
                            uint64_t line_bytes)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        struct fth_cache_result result;
        hits += fth_cache_access(cache, lines[i] * line_bytes, 4, FTH_CACHE_READ, &result) ==
                FTH_CACHE_HIT;
    }
    return hits;
}

static double millions_per_s(const struct timing *timing)
{
    return 1e-6 * REFERENCES / timing->best_s;
}

/* Measures a configuration and prints its row. Returns 1 on failure or if the hits differ. */
static int run(const struct fth_cache_config *shape, const uint64_t *lines)
{
    struct fth_cache_config config = *shape;
    config.line_bytes = 128;
    config.index = config.index ? config.index : "mod";
    config.policy = config.policy ? config.policy : "lru";
    struct fth_cache *batch = NULL, *single = NULL;
    struct plain *plain = plain_create(config.sets, config.ways);
    struct timing batch_time = {0}, single_time = {0}, plain_time = {0};
    int result = 1;
    if (!plain || fth_cache_create(&config, &batch, NULL) != FTH_OK ||
        fth_cache_create(&config, &single, NULL) != FTH_OK)
        goto out;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        note(&batch_time, start, fth_cache_read_lines(batch, lines, REFERENCES, NULL));
        start = now();
        note(&single_time, start, read_singly(single, lines, REFERENCES, config.line_bytes));
        start = now();
        note(&plain_time, start, plain_read(plain, lines, REFERENCES));
    }
    printf("%5llu x %-4llu%-9s%-12s%6.1f %%%10.1f%10.1f%10.1f%9.2f\n",
           (unsigned long long)config.sets, (unsigned long long)config.ways, config.policy,
           config.index, 100.0 * (double)batch_time.hits / REFERENCES, millions_per_s(&batch_time),
           millions_per_s(&single_time), millions_per_s(&plain_time),
           plain_time.best_s / batch_time.best_s);
    bool same = strcmp(config.policy, "lru") == 0 && strcmp(config.index, "mod") == 0;
    result = batch_time.hits != single_time.hits || (same && batch_time.hits != plain_time.hits);
    if (result)
        fprintf(stderr,
                "the hits differ: %llu in batches, %llu one at a time, %llu in the plain cache\n",
                (unsigned long long)batch_time.hits, (unsigned long long)single_time.hits,
                (unsigned long long)plain_time.hits);
out:
    free(plain);
    fth_cache_destroy(batch);
    fth_cache_destroy(single);
    return result;
}

int main(void)
{
    uint64_t *lines = calloc(REFERENCES, sizeof *lines);
    int result = lines && mix_fill(lines, REFERENCES, 1) ? 0 : 1;
    printf("cache: millions of references per second on the mix, and the ratio of batch to plain:\n"
           "sets x ways   policy   index           hits     batch    single     plain    ratio\n");
    for (size_t i = 0; i < FTH_COUNT(configs) && result == 0; i++)
        result = run(&configs[i], lines);
    free(lines);
    return result;
}
