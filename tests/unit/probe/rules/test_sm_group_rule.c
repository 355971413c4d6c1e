/* The rules that divide SMs into groups: into GPCs and TPCs by the clusters that they execute
 * (src/probe/place/place_groups.c), and by their latencies to the slices of the L2
 * (src/probe/l2/slice_groups.c). */
#include "check.h"
#include "probe/l2/probe_l2.h"
#include "probe/place/probe_place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- clusters ---- */

enum { SMS = 24 };

/* Where a GPU executes the blocks of clusters. */
struct clusters {
    uint32_t gpc_sms;  /* SMs per GPC */
    uint32_t largest;  /* blocks of the largest clusters; 0: it has no clusters */
    uint32_t tpc_sms;  /* SMs per TPC, on which clusters of 2 run; 1: on any two of a GPC */
    uint32_t unused;   /* SMs at the end that execute no clusters */
    uint32_t wrong_sm; /* number that is reported for SM 0 */
};

/* Returns the SM of block `rank` of cluster `cluster` of `size` blocks. Clusters are distributed
 * over the GPCs in turn; each begins at another TPC of its GPC. */
static uint32_t place(const struct clusters *truth, uint32_t cluster, uint32_t size, uint32_t rank)
{
    const uint32_t used = SMS - truth->unused, gpcs = used / truth->gpc_sms;
    const uint32_t gpc = cluster % gpcs, turn = cluster / gpcs;
    const uint32_t shift =
        truth->tpc_sms == 1 ? turn : turn * size / truth->tpc_sms * truth->tpc_sms;
    const uint32_t sm = gpc * truth->gpc_sms + (shift + rank) % truth->gpc_sms;
    return sm == 0 ? truth->wrong_sm : sm;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    const struct clusters *truth = state;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_place_request *request = &requests[i].place;
        samples[i] = (struct fth_samples){.status = FTH_OK, .clock_mhz = 1000};
        if (request->cluster > truth->largest) {
            samples[i].status = FTH_UNSUPPORTED;
            continue;
        }
        samples[i].count = 2 * (size_t)request->blocks;
        samples[i].cycles = calloc(samples[i].count, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        for (uint32_t k = 0; k < request->blocks; k++)
            samples[i].cycles[2 * (size_t)k] =
                place(truth, k / request->cluster, request->cluster, k % request->cluster);
    }
    return FTH_OK;
}

static void blocks_of_a_cluster_show_gpcs_and_tpcs(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure};
    static const struct {
        struct clusters truth;
        enum fth_status status;
        bool gpcs, tpcs; /* which are found */
        const char *reason;
    } rows[] = {
        {{.gpc_sms = 12, .largest = 16, .tpc_sms = 2}, FTH_OK, true, true, NULL},
        {{.gpc_sms = 6, .largest = 16, .tpc_sms = 2}, FTH_OK, true, true, NULL},
        {{.gpc_sms = 12, .largest = 8, .tpc_sms = 2}, FTH_OK, true, true, NULL},
        /* Clusters of two run on any two SMs. */
        {{.gpc_sms = 6, .largest = 16, .tpc_sms = 1}, FTH_OK, true, false, "also ran with others"},
        /* GPCs of 8 SMs and clusters of 8 blocks: these can be parts of larger GPCs. */
        {{.gpc_sms = 8, .largest = 8, .tpc_sms = 2}, FTH_OK, false, false, "parts of one GPC"},
        {{.gpc_sms = 6, .largest = 16, .tpc_sms = 2, .unused = 6},
         FTH_OK,
         false,
         false,
         "6 SMs executed no block"},
        {{.gpc_sms = 6, .largest = 0, .tpc_sms = 2}, FTH_UNSUPPORTED, false, false, "clusters"},
        {{.gpc_sms = 6, .largest = 16, .tpc_sms = 2, .wrong_sm = 99},
         FTH_INCONCLUSIVE,
         false,
         false,
         "ran on SM 99"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct clusters truth = rows[i].truth;
        struct fth_device device = {.ops = &ops, .state = &truth, .id = "scripted"};
        const struct fth_prober prober = {.device = &device, .sms = SMS};
        struct fth_sm_groups groups;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_probe_sm_groups(&prober, &groups, &error), rows[i].status);
        const char *reason = rows[i].status != FTH_OK ? error.cause
                             : rows[i].gpcs           ? groups.tpc_reason
                                                      : groups.gpc_reason;
        if (rows[i].reason)
            assert_contains(reason, rows[i].reason);
        assert_int_equal(groups.map.sms, rows[i].gpcs ? SMS : 0);
        assert_int_equal(groups.tpcs_known, rows[i].tpcs);
        for (uint32_t sm = 0; sm < groups.map.sms; sm++) {
            assert_int_equal(groups.map.gpc[sm], sm / truth.gpc_sms);
            assert_int_equal(groups.map.tpc[sm], sm / (rows[i].tpcs ? 2 : 1));
        }
        if (rows[i].gpcs)
            assert_true(fth_confidence(groups.gpc_evidence) > 0.99);
        if (rows[i].gpcs)
            assert_int_equal(fth_confidence(groups.tpc_evidence) > 0.99, rows[i].tpcs);
    }
}

/* ---- latencies to slices ---- */

enum { SLICES = 16 };

/* SMs whose latencies to each slice are those of their group, with noise. Groups of one route
 * differ by `between` cycles, and SMs of a group by up to `within`. */
struct latencies {
    double between, within;
    bool routes_differ; /* each pair of groups is on a route of its own */
    uint32_t seed;
};

/* Each SM is in a group with the SM 12 after it. */
static void draw(const struct latencies *truth, double *cycles, uint32_t *routes)
{
    struct fth_rng rng;
    fth_rng_init(&rng, truth->seed);
    for (uint32_t sm = 0; sm < SMS; sm++) {
        const uint32_t group = sm % 12;
        routes[sm] = truth->routes_differ ? group / 2 : 0;
        /* On different routes, every second group has the same latencies. */
        const double level = truth->routes_differ ? group % 2 : group;
        for (uint32_t i = 0; i < SLICES; i++)
            cycles[sm * SLICES + i] = 250 + 3.0 * (i * 5 % SLICES) + truth->between * level +
                                      truth->within * (double)fth_rng_below(&rng, 1001) / 1000;
    }
}

static void sms_with_equal_latencies_are_a_group(void **state)
{
    (void)state;
    static const struct {
        struct latencies truth;
        size_t groups;
        bool clear;
    } rows[] = {
        {{.between = 3, .within = 0}, 12, true},
        {{.between = 3, .within = 1.5}, 12, true}, /* about 0.5 cycles on average */
        /* Equal latencies on different routes are different groups. */
        {{.between = 3, .within = 1, .routes_differ = true}, 12, true},
        {{.between = 0, .within = 1, .routes_differ = true}, 6, true},
        {{.between = 0, .within = 1}, 1, true},
        /* Distances form a continuum: the limit would cut it somewhere. */
        {{.between = 0.9, .within = 1}, 0, false},
        {{.between = 1.5, .within = 4}, 0, false},
        {{.between = 1.0, .within = 0}, 0, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            double cycles[SMS * SLICES];
            uint32_t routes[SMS], numbers[SMS], next = 0;
            struct latencies truth = rows[i].truth;
            truth.seed = seed;
            draw(&truth, cycles, routes);
            struct fth_slice_groups found = {.groups = numbers};
            const struct fth_slice_profiles profiles = {
                .cycles = cycles, .routes = routes, .sms = SMS, .slices = SLICES};
            assert_int_equal(fth_find_slice_groups(&profiles, &found, NULL), FTH_OK);
            if (found.clear != rows[i].clear)
                fail_msg("row %zu, seed %u: clear is %d, %g and %g cycles", i, seed, found.clear,
                         found.widest_cycles, found.closest_cycles);
            /* Groups are numbered in the order of their first SMs. */
            for (uint32_t sm = 0; sm < SMS; sm++) {
                assert_true(numbers[sm] <= next);
                next += numbers[sm] == next;
            }
            assert_int_equal(found.count, next);
            if (!rows[i].clear)
                continue;
            assert_int_equal(found.count, rows[i].groups);
            for (uint32_t sm = 12; sm < SMS; sm++)
                assert_int_equal(numbers[sm], numbers[sm - 12]);
        }
}

static void latencies_must_be_finite(void **state)
{
    (void)state;
    const double cycles[] = {250, NAN};
    const uint32_t routes[] = {0, 0};
    uint32_t numbers[2];
    struct fth_slice_groups found = {.groups = numbers};
    const struct fth_slice_profiles profiles = {
        .cycles = cycles, .routes = routes, .sms = 2, .slices = 1};
    assert_int_equal(fth_find_slice_groups(&profiles, &found, NULL), FTH_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_a_cluster_show_gpcs_and_tpcs),
        cmocka_unit_test(sms_with_equal_latencies_are_a_group),
        cmocka_unit_test(latencies_must_be_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
