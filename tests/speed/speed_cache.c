/* Measures the throughput of simulated caches in references per second, on the references of mix.h,
 * compared with the plain cache of plain_lru.h. That cache always uses LRU and the index function
 * `mod`. If the configuration does too, the hits must be equal. */
#include "cache/cache.h"
#include "clock.h"
#include "mix.h"
#include "plain_lru.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chosen so that the slowest configurations take about a second on a slow machine. */
enum { REFERENCES = 1 << 19, ROUNDS = 5 };

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
    double seconds = processor_seconds() - start;
    timing->best_s = timing->best_s == 0 || seconds < timing->best_s ? seconds : timing->best_s;
    timing->hits = hits;
}

static uint64_t read_lines(struct fth_cache *cache, const uint64_t *lines, size_t count,
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
    struct fth_cache *cache = NULL;
    struct plain_lru *plain = plain_lru_create(config.sets, config.ways);
    struct timing ours = {0}, reference = {0};
    int result = 1;
    if (!plain || fth_cache_create(&config, &cache, NULL) != FTH_OK)
        goto out;
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_seconds();
        note(&ours, start, read_lines(cache, lines, REFERENCES, config.line_bytes));
        start = processor_seconds();
        note(&reference, start, plain_lru_read(plain, lines, REFERENCES));
    }
    printf("%5llu x %-4llu%-9s%-12s%6.1f %%%10.1f%10.1f%9.2f\n", (unsigned long long)config.sets,
           (unsigned long long)config.ways, config.policy, config.index,
           100.0 * (double)ours.hits / REFERENCES, millions_per_s(&ours),
           millions_per_s(&reference), reference.best_s / ours.best_s);
    bool same = strcmp(config.policy, "lru") == 0 && strcmp(config.index, "mod") == 0;
    result = same && ours.hits != reference.hits;
    if (result)
        fprintf(stderr, "the hits differ: %llu, %llu in the plain cache\n",
                (unsigned long long)ours.hits, (unsigned long long)reference.hits);
out:
    plain_lru_destroy(plain);
    fth_cache_destroy(cache);
    return result;
}

int main(void)
{
    uint64_t *lines = calloc(REFERENCES, sizeof *lines);
    int result = lines && mix_fill(lines, REFERENCES, 1) ? 0 : 1;
    printf("cache: millions of references per second on the mix, and their ratio to those of a "
           "plain LRU cache:\n"
           "sets x ways   policy   index           hits    fathom     plain    ratio\n");
    for (size_t i = 0; i < FTH_COUNT(configs) && result == 0; i++)
        result = run(&configs[i], lines);
    free(lines);
    return result;
}
