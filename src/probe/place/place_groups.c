/* The GPC and the TPC of each SM.
 *
 * CUDA guarantees that the blocks of a cluster run in one GPC (CUDA C++ Programming Guide, "Thread
 * Block Clusters"). The probe launches grids in clusters of 16, 8, 4 and 2 blocks and forms the
 * union of all SMs that executed blocks of the same cluster. Several blocks fit on an SM, so that
 * clusters also use the SMs that are left over if the SMs of a GPC are no multiple of the size.
 *
 * On an H200, 8 of the 132 SMs never execute a block of a cluster of more than 2. Each two of them
 * form a group of their own here, which is counted as a GPC.
 *
 * A cluster of 2 runs on the two SMs of a TPC. This is an observation on H200s, not documented. The
 * TPCs are therefore only known if every SM has always the same partner. */
#include "probe/place/probe_place.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LARGEST_CLUSTER = 16, /* of Hopper and Blackwell */
    THREADS = 128,        /* so that all blocks of a grid are resident at the same time */
    BLOCKS_PER_SM = 3,
    HOLD_NS = 8000, /* longer than it takes to start all blocks, which is 1 us on an H200 */
    REPEATS = 2,    /* launches per size, to judge the confidence */
    NO_SM = 0xffff
};

/* What the launches show. */
struct evidence {
    uint32_t sms;
    uint32_t *parent;        /* [sms] union of SMs of the same cluster */
    uint32_t *largest;       /* [sms] the largest cluster that the SM was in; 0: none */
    uint32_t *partner;       /* [sms] in clusters of 2; NO_SM: none so far */
    size_t pairs, conflicts; /* clusters of 2, and those with another partner than before */
};

static uint32_t find_root(const struct evidence *evidence, uint32_t sm)
{
    while (evidence->parent[sm] != sm)
        sm = evidence->parent[sm];
    return sm;
}

/* Adds a pair of SMs of a cluster of 2. */
static void add_pair(struct evidence *evidence, uint32_t a, uint32_t b)
{
    evidence->pairs++;
    if (a == b || (evidence->partner[a] != NO_SM && evidence->partner[a] != b) ||
        (evidence->partner[b] != NO_SM && evidence->partner[b] != a))
        evidence->conflicts++;
    evidence->partner[a] = b;
    evidence->partner[b] = a;
}

/* Adds the clusters of one launch. Fails if an SM has a number that the GPU should not have. */
static enum fth_status add_launch(struct evidence *evidence, const struct fth_samples *samples,
                                  uint32_t size, struct fth_error *error)
{
    for (size_t i = 0; i < samples->count / 2; i++) {
        const uint32_t sm = samples->cycles[2 * i], first = samples->cycles[2 * (i / size * size)];
        if (sm >= evidence->sms || first >= evidence->sms)
            return fth_fail(error, FTH_INCONCLUSIVE, "find the GPCs of SMs", NULL,
                            "a block ran on SM %lu, but the GPU has %lu SMs", (unsigned long)sm,
                            (unsigned long)evidence->sms);
        const uint32_t a = find_root(evidence, sm), b = find_root(evidence, first);
        /* The root is the SM with the lowest number. */
        evidence->parent[a < b ? b : a] = a < b ? a : b;
        if (evidence->largest[sm] < size)
            evidence->largest[sm] = size;
        if (size == 2 && i % 2)
            add_pair(evidence, first, sm);
    }
    return FTH_OK;
}

/* Launches grids in clusters of one size. *supported: whether the GPU has such clusters. */
static enum fth_status launch_clusters(const struct fth_prober *prober, uint32_t size,
                                       struct evidence *evidence, struct fth_sm_groups *groups,
                                       bool *supported, struct fth_error *error)
{
    struct fth_request requests[REPEATS];
    struct fth_answers answers;
    struct fth_error fault = FTH_NO_ERROR;
    const uint32_t clusters = (BLOCKS_PER_SM * evidence->sms + size - 1) / size;
    for (size_t i = 0; i < REPEATS; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_PLACE;
        requests[i].place = (struct fth_place_request){
            .blocks = clusters * size, .threads = THREADS, .cluster = size, .hold_ns = HOLD_NS};
    }
    enum fth_status status = fth_ask(prober, requests, REPEATS, &answers, &fault);
    *supported = status == FTH_OK;
    if (status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK;
    if (status != FTH_OK)
        return fth_error_move(error, &fault);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++) {
        status = add_launch(evidence, &answers.items[i], size, error);
        groups->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    return status;
}

/* Numbers the groups in the order of their lowest SMs; those that were only in clusters of 2 are
 * last. */
static void number_gpcs(const struct evidence *evidence, struct fth_sm_groups *groups)
{
    struct fth_sm_map *map = &groups->map;
    uint16_t next = 0;
    for (int singles = 0; singles < 2; singles++)
        for (uint32_t sm = 0; sm < evidence->sms; sm++) {
            const uint32_t root = find_root(evidence, sm);
            const bool single = groups->largest_cluster > 2 && evidence->largest[sm] <= 2;
            if (single != (singles == 1))
                continue;
            map->gpc[sm] = root == sm ? next++ : map->gpc[root];
            map->first[sm] = single;
            groups->single_sms += single;
        }
}

/* Numbers the TPCs in the order of their lowest SMs. */
static void number_tpcs(const struct evidence *evidence, struct fth_sm_groups *groups)
{
    uint16_t next = 0;
    size_t alone = 0;
    for (uint32_t sm = 0; sm < evidence->sms; sm++) {
        const uint32_t partner = evidence->partner[sm];
        alone += partner == NO_SM;
        groups->map.tpc[sm] = partner != NO_SM && partner < sm ? groups->map.tpc[partner] : next++;
    }
    groups->tpcs_known = !evidence->conflicts && !alone;
    groups->tpc_evidence =
        (struct fth_evidence){.repeats = (double)evidence->pairs,
                              .agree = (double)(evidence->pairs - evidence->conflicts)};
    if (!groups->tpcs_known)
        snprintf(groups->tpc_reason, sizeof groups->tpc_reason,
                 "%zu of %zu clusters of 2 blocks had SMs that also ran with others, and %zu SMs "
                 "were in none",
                 evidence->conflicts, evidence->pairs, alone);
    for (uint32_t sm = 0; sm < evidence->sms && !groups->tpcs_known; sm++)
        groups->map.tpc[sm] = (uint16_t)sm;
}

/* Decides what the clusters show. */
static void decide(const struct evidence *evidence, struct fth_sm_groups *groups)
{
    size_t missing = 0, whole = 0;
    uint32_t sizes[FTH_MAX_MAPPED_SMS] = {0};
    for (uint32_t sm = 0; sm < evidence->sms; sm++) {
        missing += evidence->largest[sm] == 0;
        sizes[find_root(evidence, sm)]++;
    }
    /* A GPC whose SMs are a multiple of the largest clusters looks like several, unless the
     * clusters are as large as a GPC can be. */
    for (uint32_t sm = 0; sm < evidence->sms; sm++)
        whole += groups->largest_cluster < LARGEST_CLUSTER && groups->largest_cluster &&
                 sizes[sm] == groups->largest_cluster;
    if (missing)
        snprintf(groups->gpc_reason, sizeof groups->gpc_reason,
                 "%zu SMs executed no block of a cluster", missing);
    else if (whole > 1)
        snprintf(groups->gpc_reason, sizeof groups->gpc_reason,
                 "clusters have at most %lu blocks, and %zu groups as many SMs: they can be parts "
                 "of one GPC",
                 (unsigned long)groups->largest_cluster, whole);
    if (missing || whole > 1)
        return;
    number_gpcs(evidence, groups);
    number_tpcs(evidence, groups);
    groups->map.sms = evidence->sms;
    /* All blocks agree: each of them could have shown that two groups are one. */
    const double blocks = (double)groups->samples / 2;
    groups->gpc_evidence = (struct fth_evidence){.repeats = blocks, .agree = blocks};
}

enum fth_status fth_probe_sm_groups(const struct fth_prober *prober, struct fth_sm_groups *groups,
                                    struct fth_error *error)
{
    const uint32_t sms = (uint32_t)prober->sms;
    struct evidence evidence = {.sms = sms};
    enum fth_status status = FTH_OK;
    *groups = (struct fth_sm_groups){0};
    if (prober->sms == 0 || prober->sms > FTH_MAX_MAPPED_SMS)
        return fth_fail(error, FTH_UNSUPPORTED, "find the GPCs of SMs", NULL,
                        "GPUs with more than %d SMs are not supported", FTH_MAX_MAPPED_SMS);
    evidence.parent = calloc(sms, sizeof *evidence.parent);
    evidence.largest = calloc(sms, sizeof *evidence.largest);
    evidence.partner = calloc(sms, sizeof *evidence.partner);
    if (!evidence.parent || !evidence.largest || !evidence.partner)
        status = fth_no_memory(error, "find the GPCs of SMs", NULL);
    for (uint32_t sm = 0; sm < sms && status == FTH_OK; sm++) {
        evidence.parent[sm] = sm;
        evidence.partner[sm] = NO_SM;
    }
    for (uint32_t size = LARGEST_CLUSTER; size >= 2 && status == FTH_OK; size /= 2) {
        bool supported = false;
        status = launch_clusters(prober, size, &evidence, groups, &supported, error);
        if (supported && !groups->largest_cluster)
            groups->largest_cluster = size;
    }
    if (status == FTH_OK && !groups->largest_cluster)
        status = fth_fail(error, FTH_UNSUPPORTED, "find the GPCs of SMs", NULL,
                          "the GPU does not execute clusters, which show them");
    if (status == FTH_OK)
        decide(&evidence, groups);
    free(evidence.parent);
    free(evidence.largest);
    free(evidence.partner);
    return status;
}
