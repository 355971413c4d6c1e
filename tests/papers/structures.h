/* Published structures of caches and TLBs, from X. Mei and X. Chu ("Dissecting GPU Memory Hierarchy
 * through Microbenchmarking", IEEE TPDS 28(1), 2017) and, for the P100, from a blog post that
 * repeats their experiments ("Pascal GPU memory and cache hierarchy", 2019). */
#ifndef FTH_TESTS_STRUCTURES_H
#define FTH_TESTS_STRUCTURES_H

#include <stdbool.h>
#include <stdint.h>

/* A column of Table 5 for one GPU and one element. The ways are from the text (Sections 4.3 to 4.5)
 * and Figures 7, 9 and 10. The letters are the symbols of the paper. */
struct structure {
    const char *gpu, *element;
    uint64_t bytes;            /* C; for a TLB: the reach */
    uint64_t line_bytes;       /* b; for a TLB: the page size */
    unsigned sets;             /* T */
    unsigned ways, first_ways; /* of each set; of the first set if different, else 0 */
    bool lru;
    const char *index; /* NULL: not reported, or not defined by bits of the address */
};

static const struct structure structures[] = {
    {"gtx560ti", "l1", 16 << 10, 128, 32, 4, 0, false, NULL},
    {"gtx560ti", "tlb_l1", 32 << 20, 2 << 20, 1, 16, 0, false, NULL},
    {"gtx560ti", "tlb_l2", 130 << 20, 2 << 20, 7, 8, 17, true, NULL},
    {"gtx560ti", "texture", 12 << 10, 32, 4, 96, 0, true, "bits:[7,8]"},
    {"gtx780", "tlb_l1", 32 << 20, 2 << 20, 1, 16, 0, false, NULL},
    {"gtx780", "tlb_l2", 130 << 20, 2 << 20, 7, 8, 17, true, NULL},
    {"gtx780", "texture", 12 << 10, 32, 4, 96, 0, true, "bits:[7,8]"},
    {"gtx780", "readonly", 12 << 10, 32, 4, 96, 0, true, NULL},
    {"gtx980", "l1", 24 << 10, 32, 4, 192, 0, true, NULL},
    {"gtx980", "tlb_l1", 32 << 20, 2 << 20, 1, 16, 0, false, NULL},
    {"gtx980", "tlb_l2", 130 << 20, 2 << 20, 7, 8, 17, true, NULL},
    {"gtx980", "texture", 24 << 10, 32, 4, 192, 0, true,
     "bits:[7,8]"}, /* the paper says "similar" */
    {"gtx980", "readonly", 24 << 10, 32, 4, 192, 0, true, NULL},
    {"p100", "texture", 24 << 10, 32, 4, 192, 0, true, "bits:[7,8]"},
    {"p100", "readonly", 24 << 10, 32, 4, 192, 0, true, NULL},
};

/* Section 4.5: the fraction of replacements that evict each way of Fermi's L1. */
static const double fermi_way_share[] = {1 / 6.0, 1 / 2.0, 1 / 6.0, 1 / 6.0};

/* Figure 8: `missed` entries of the L2 TLB miss in a walk over `mib` MiB with a stride of 2 MiB. */
static const struct {
    unsigned mib, missed;
} tlb_miss_curve[] = {{130, 0},  {132, 17}, {134, 25}, {136, 33},
                      {138, 41}, {140, 49}, {142, 57}, {144, 65}};

/* Figures 13 and 14: the six access patterns, which have different latencies. */
enum pattern {
    P1 = 1 << 1, /* cache hit, L1 TLB hit */
    P2 = 1 << 2, /* cache hit, L1 TLB miss, L2 TLB hit */
    P3 = 1 << 3, /* cache hit, both TLBs miss */
    P4 = 1 << 4, /* cache miss, L1 TLB hit */
    P5 = 1 << 5, /* cache miss, both TLBs miss */
    P6 = 1 << 6  /* as P5, and the GPU has to switch to another page table */
};
/* The patterns that occur on each GPU. */
static const struct {
    const char *gpu;
    bool through_l1; /* the cache is the L1; otherwise the L2 */
    unsigned patterns;
} spectra[] = {
    {"gtx560ti", true, P1 | P2 | P3 | P4 | P5},  /* P2 takes 288 cycles more than P1 */
    {"gtx560ti", false, P1 | P2 | P3 | P4 | P5}, /* P2 takes 27 cycles more than P1 */
    {"gtx780", false, P1 | P2 | P3 | P4 | P5 | P6},
    {"gtx980", true, P1 | P4 | P5 | P6}, /* the L1 needs no translation */
    {"gtx980", false, P1 | P2 | P3 | P4 | P5 | P6},
};
/* Section 5.2: page entries for this much memory are active; accesses to other memory have P6. */
static const uint64_t active_page_bytes = 512 << 20;

/* Section 4.1: the structure of the Kepler texture cache according to two methods that use averages
 * (Figures 4 and 5), and according to single loads, which is correct. */
static const struct {
    const char *method;
    unsigned line_bytes, ways, sets;
} texture_answers[] = {
    {"latency against stride (Saavedra and Smith)", 32, 24, 16},
    {"latency against size (Wong et al.)", 128, 24, 4},
    {"hop by hop (Mei and Chu)", 32, 96, 4},
};

#endif
