/* What X. Mei and X. Chu found out about the structure of caches and TLBs (Dissecting GPU Memory
 * Hierarchy through Microbenchmarking, IEEE TPDS 28(1), 2017), and the walk-through that repeats
 * it on a P100 (Pascal GPU memory and cache hierarchy, blog post, 2019). */
#ifndef FTH_TESTS_STRUCTURES_H
#define FTH_TESTS_STRUCTURES_H

#include <stdbool.h>
#include <stdint.h>

/* A column of Table 5 for one GPU and one element, with the ways from the text: Sections 4.3 to
 * 4.5, figures 7, 9 and 10. */
struct structure {
    const char *gpu, *element;
    uint64_t bytes;            /* C; of a TLB the reach */
    uint64_t line_bytes;       /* b; of a TLB the page */
    unsigned sets;             /* T */
    unsigned ways, first_ways; /* of each set; of the first one where that differs, or 0 */
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
    {"gtx980", "texture", 24 << 10, 32, 4, 192, 0, true, "bits:[7,8]"}, /* "similar" */
    {"gtx980", "readonly", 24 << 10, 32, 4, 192, 0, true, NULL},
    {"p100", "texture", 24 << 10, 32, 4, 192, 0, true, "bits:[7,8]"},
    {"p100", "readonly", 24 << 10, 32, 4, 192, 0, true, NULL},
};

/* Section 4.5: how often each way of Fermi's L1 is replaced. */
static const double fermi_way_share[] = {1 / 6.0, 1 / 2.0, 1 / 6.0, 1 / 6.0};

/* Figure 8: entries of the L2 TLB that a walk over so many MiB misses, 2 MiB at a time. */
static const struct {
    unsigned mib, missed;
} tlb_staircase[] = {{130, 0},  {132, 17}, {134, 25}, {136, 33},
                     {138, 41}, {140, 49}, {142, 57}, {144, 65}};

/* Figures 13 and 14: which of the six patterns of latency there are. */
enum pattern {
    P1 = 1 << 1, /* in the cache, page in the L1 TLB */
    P2 = 1 << 2, /* in the cache, page in the L2 TLB */
    P3 = 1 << 3, /* in the cache, page in neither */
    P4 = 1 << 4, /* not in the cache, page in the L1 TLB */
    P5 = 1 << 5, /* not in the cache, page in neither */
    P6 = 1 << 6  /* the same, and the page table has to be switched */
};
static const struct {
    const char *gpu;
    bool through_l1;
    unsigned patterns;
} spectra[] = {
    {"gtx560ti", true, P1 | P2 | P3 | P4 | P5},  /* 288 cycles from P1 to P2 */
    {"gtx560ti", false, P1 | P2 | P3 | P4 | P5}, /* 27 */
    {"gtx780", false, P1 | P2 | P3 | P4 | P5 | P6},
    {"gtx980", true, P1 | P4 | P5 | P6}, /* L1 is looked up without the TLBs */
    {"gtx980", false, P1 | P2 | P3 | P4 | P5 | P6},
};
static const uint64_t active_page_bytes = 512 << 20; /* more than that at a time has P6 */

/* Section 4.1: what the methods of averages say of the Kepler texture cache (figures 4 and 5), and
 * what it is. */
static const struct {
    const char *method;
    unsigned line_bytes, ways, sets;
} texture_answers[] = {
    {"latency against stride (Saavedra and Smith)", 32, 24, 16},
    {"latency against size (Wong et al.)", 128, 24, 4},
    {"hop by hop (Mei and Chu)", 32, 96, 4},
};

#endif
