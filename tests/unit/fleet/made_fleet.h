/* Fleets for tests, made of random numbers: each figure has a value, a spread between GPUs and a
 * noise from run to run. The figures of an H200 are as four real ones were measured. */
#ifndef FTH_TESTS_MADE_FLEET_H
#define FTH_TESTS_MADE_FLEET_H

#include "base/base.h"
#include "fleet/fleet.h"
#include "noise.h"

#include <math.h>
#include <stdio.h>

struct made_figure {
    const char *name;
    double centre;
    double between, noise; /* standard deviations of the logarithm */
    double confidence;     /* of exact figures; 0: from the driver */
};

static const struct made_figure h200[] = {
    {"memory.read_bytes_per_s", 4.6075e12, 0.0018, 0.0052, 0},
    {"memory.write_bytes_per_s", 4.742e12, 0.0036, 0.0045, 0},
    {"memory.copy_bytes_per_s", 4.398e12, 0.0022, 0.0048, 0},
    {"memory.latency_cycles", 528.7, 0.0005, 0.0004, 0},
    {"memory.latency_ns", 267.1, 0.0005, 0.0005, 0},
    {"memory.far_latency_cycles", 710.4, 0.0006, 0.0005, 0},
    {"memory.cold_latency_cycles", 627.5, 0.0005, 0.0005, 0},
    {"l2.latency_cycles", 277.9, 0.0008, 0.0018, 0},
    {"l2.latency_ns", 140.4, 0.0008, 0.002, 0},
    {"l2.far_latency_cycles", 457.75, 0.0008, 0.001, 0},
    {"l2.read_bytes_per_s", 8.824e12, 0.0012, 0.003, 0},
    {"l2.write_bytes_per_s", 4.408e12, 0.001, 0.0085, 0},
    {"l2.copy_bytes_per_s", 7.646e12, 0.001, 0.0145, 0},
    {"shared.latency_ns", 11.6, 0.0001, 0.001, 0},
    {"shared.latency_cycles", 23, 0, 0, 0},
    {"shared.read_bytes_per_s", 3.326e13, 0.0008, 0.0012, 0},
    {"shared.write_bytes_per_s", 3.345e13, 0.0008, 0.0012, 0},
    {"shared.copy_bytes_per_s", 3.344e13, 0.0008, 0.0014, 0},
    {"l1.latency_cycles", 32, 0, 0, 0},
    {"l1.latency_ns", 16.2, 0, 0, 0},
    {"l1.read_bytes_per_s", 3.308e13, 0.0001, 0.0012, 0},
    {"l1.write_bytes_per_s", 4.3095e12, 0.0015, 0.008, 0},
    {"texture.latency_ns", 44.5, 0, 0.0011, 0},
    {"texture.read_bytes_per_s", 8.326e12, 0.0005, 0.0012, 0},
    {"readonly.read_bytes_per_s", 3.308e13, 0.0002, 0.0011, 0},
    {"cluster_shared.read_bytes_per_s", 4.1475e12, 0.0008, 0.0018, 0},
    {"cluster_shared.write_bytes_per_s", 4.69e12, 0.0008, 0.0094, 0},
    {"constant_l1.read_bytes_per_s", 1.043e12, 0.0005, 0.002, 0},
    {"tlb_l1.miss_penalty_cycles", 10.1, 0.005, 0.02, 0},
    {"tlb_l2.miss_penalty_cycles", 89.3, 0.0015, 0.002, 0},
    {"device.sms", 132, 0, 0, 0},
    {"l2.size_bytes", 62914560, 0, 0, 0},
    {"memory.size_bytes", 150109880320, 0, 0, 0},
    {"l2.partitions", 2, 0, 0, 0.9993},
    {"l1.size_bytes", 246784, 0, 0, 0.9993},
    {"l1.line_bytes", 128, 0, 0, 0.999},
    {"tlb_l1.entries", 16, 0, 0, 0.9993},
    {"device.pcie_lanes", 16, 0, 0, 0},
    {"device.max_pcie_lanes", 16, 0, 0, 0},
};

/* A change of the figures of one GPU: those whose names begin with `figures` are multiplied by
 * `factor` in `runs` of its measurements (0: in all). A list ends with a NULL. */
struct made_fault {
    const char *figures;
    double factor;
    size_t runs;
};
struct made_plan {
    size_t gpus, runs;
    uint64_t seed;
    double scale;   /* of all spreads; 0: 1 */
    double freedom; /* of Student's t distribution of the spreads; 0: normal */
    size_t gpus_per_host;
    double jitter;      /* if not 0: GPUs are equal but for bandwidths, +- this fraction */
    const char *driver; /* NULL: "580" */
    size_t first;       /* index of the first GPU, for its name */
    size_t faulty;      /* this many GPUs, from the first on, have the faults */
    struct made_fault faults[8];
};

/* Returns a number of Student's t distribution with a whole number of degrees of freedom, scaled so
 * that its quartiles are those of the normal distribution (3 degrees: 0.7649 instead of 0.6745). */
static inline double made_noise(struct fth_rng *rng, double freedom)
{
    const double value = normal(rng);
    if (!(freedom > 0))
        return value;
    double sum = 0;
    for (int i = 0; i < (int)freedom; i++) {
        const double part = normal(rng);
        sum += part * part;
    }
    return value / sqrt(sum / freedom) * 0.6745 / (freedom > 4 ? 0.7267 : 0.7649);
}

/* Rounds as descriptions do: latencies to tenths, other numbers to four digits. */
static inline double made_rounded(const char *name, double value)
{
    if (!(value > 0) || !isfinite(value))
        return value;
    if (strstr(name, "_cycles") || strstr(name, "_ns"))
        return round(value * 10) / 10;
    const double unit = pow(10, floor(log10(value)) - 3);
    return round(value / unit) * unit;
}

static inline double made_value(const struct made_plan *plan, const struct made_figure *figure,
                                size_t gpu, size_t run, double offset, struct fth_rng *rng)
{
    const double scale = plan->scale > 0 ? plan->scale : 1;
    const double deviation =
        plan->jitter > 0
            ? (strstr(figure->name, "_per_s") ? plan->jitter * (2 * fth_rng_unit(rng) - 1) : 0)
            : scale * (offset + figure->noise * made_noise(rng, plan->freedom));
    double value = figure->centre * exp(deviation);
    for (size_t i = 0; i < FTH_COUNT(plan->faults) && gpu < plan->faulty; i++) {
        const struct made_fault *fault = &plan->faults[i];
        if (fault->figures && strncmp(figure->name, fault->figures, strlen(fault->figures)) == 0 &&
            (fault->runs == 0 || run < fault->runs))
            value *= fault->factor;
    }
    return figure->noise > 0 || strstr(figure->name, "_ns") ? made_rounded(figure->name, value)
                                                            : value;
}

/* Adds the measurements of a plan to a fleet. */
static inline void made_add(struct fth_fleet *fleet, const struct made_plan *plan)
{
    struct fth_rng rng;
    fth_rng_init(&rng, plan->seed);
    for (size_t g = 0; g < plan->gpus; g++) {
        double offsets[FTH_COUNT(h200)];
        for (size_t f = 0; f < FTH_COUNT(h200); f++)
            offsets[f] = h200[f].between * made_noise(&rng, plan->freedom);
        for (size_t r = 0; r < plan->runs; r++) {
            struct fth_fleet_value values[FTH_COUNT(h200)];
            char uuid[40], host[40], file[80];
            snprintf(uuid, sizeof uuid, "GPU-%06zu", g + plan->first);
            snprintf(host, sizeof host, "node%zu",
                     (g + plan->first) / (plan->gpus_per_host ? plan->gpus_per_host : 1));
            snprintf(file, sizeof file, "%s-%zu.json", uuid, r);
            for (size_t f = 0; f < FTH_COUNT(h200); f++)
                values[f] = (struct fth_fleet_value){
                    .figure = fth_fleet_figure_index(fleet, h200[f].name),
                    .confidence = h200[f].confidence > 0 ? (float)h200[f].confidence : NAN,
                    .number = made_value(plan, &h200[f], g, r, offsets[f], &rng),
                };
            const struct fth_fleet_draft draft = {
                .gpu = {.name = uuid,
                        .uuid = uuid,
                        .host = host,
                        .model = "NVIDIA H200",
                        .driver = plan->driver ? plan->driver : "580",
                        .board = "692-2G520",
                        .backend = "cuda"},
                .time = (int64_t)(1000 * r + 1),
                .file = file,
                .values = values,
                .value_count = FTH_COUNT(h200),
            };
            struct fth_error error = NO_ERROR;
            if (fth_fleet_add(fleet, &draft, &error) != FTH_OK)
                fail_msg("%s", error.cause);
        }
    }
}

/* Makes and judges a fleet; the caller releases both. */
static inline struct fth_fleet_judgement *made_judge(const struct made_plan *plan,
                                                     const struct fth_fleet_judge_options *options,
                                                     struct fth_fleet **fleet)
{
    struct fth_error error = NO_ERROR;
    struct fth_fleet_judgement *judgement = NULL;
    if (fth_fleet_create(fleet, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    made_add(*fleet, plan);
    if (fth_fleet_judge(*fleet, options, &judgement, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return judgement;
}

#endif
