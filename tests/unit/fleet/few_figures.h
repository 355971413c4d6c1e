/* Small fleets for tests: GPUs with a few figures, some of which differ. */
#ifndef FTH_TESTS_FEW_FIGURES_H
#define FTH_TESTS_FEW_FIGURES_H

#include "base/base.h"
#include "fleet/fleet.h"
#include "noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct cell {
    size_t gpu;
    const char *figure;
    double number; /* NAN: text */
    const char *text;
    float confidence; /* 0: from the driver */
    double step;      /* is added with each further measurement */
    size_t first;     /* index of the measurement from which on the cell applies */
};

/* Adds measurements of `gpus` GPUs with `runs` each: a number, a measured size, texts, and the
 * cells, which replace them. */
static inline void add_gpus(struct fth_fleet *fleet, size_t gpus, size_t runs,
                            const struct cell *cells, size_t count)
{
    static const struct cell usual[] = {
        {0, "device.sms", 132, NULL, 0, 0, 0},
        {0, "l1.size_bytes", 246784, NULL, 0.9993F, 0, 0},
        {0, "l1.line_bytes", 128, NULL, 0.9F, 0, 0},
        {0, "memory.ecc", NAN, "yes", 0, 0, 0},
        {0, "device.throttling", NAN, "none", 0, 0, 0},
        {0, "device.pcie_lanes", 16, NULL, 0, 0, 0},
        {0, "device.max_pcie_lanes", 16, NULL, 0, 0, 0},
        {0, "device.pcie_generation", 5, NULL, 0, 0, 0},
        {0, "device.max_pcie_generation", 5, NULL, 0, 0, 0},
        {0, "device.nvlinks", 18, NULL, 0, 0, 0},
        {0, "device.nvlinks_active", 18, NULL, 0, 0, 0},
        {0, "device.ecc_uncorrectable_volatile", 0, NULL, 0, 0, 0},
        {0, "device.ecc_uncorrectable", 0, NULL, 0, 0, 0},
        {0, "memory.ecc_uncorrectable", 0, NULL, 0, 0, 0},
        {0, "memory.ecc_correctable", 3, NULL, 0, 0, 0},
        {0, "memory.remap_failure", NAN, "no", 0, 0, 0},
        {0, "memory.remap_pending", NAN, "no", 0, 0, 0},
        {0, "device.pcie_replays", 12, NULL, 0, 0, 0},
    };
    for (size_t g = 0; g < gpus; g++)
        for (size_t r = 0; r < runs; r++) {
            struct fth_fleet_value values[FTH_COUNT(usual)];
            char uuid[32], file[48];
            snprintf(uuid, sizeof uuid, "GPU-%zu", g);
            snprintf(file, sizeof file, "%zu-%zu.json", g, r);
            for (size_t i = 0; i < FTH_COUNT(usual); i++) {
                const struct cell *cell = &usual[i];
                for (size_t c = 0; c < count; c++)
                    if (cells[c].gpu == g && strcmp(cells[c].figure, usual[i].figure) == 0 &&
                        r >= cells[c].first)
                        cell = &cells[c];
                values[i] = (struct fth_fleet_value){
                    .figure = fth_fleet_figure_index(fleet, cell->figure),
                    .confidence = cell->confidence > 0 ? cell->confidence : NAN,
                    .number = cell->text ? NAN : cell->number + cell->step * (double)r,
                    .text = cell->text,
                };
            }
            const struct fth_fleet_draft draft = {
                .gpu = {.name = uuid, .uuid = uuid, .model = "H200", .backend = "cuda"},
                .time = (int64_t)(r + 1),
                .file = file,
                .values = values,
                .value_count = FTH_COUNT(values),
            };
            struct fth_error error = NO_ERROR;
            if (fth_fleet_add(fleet, &draft, &error) != FTH_OK)
                fail_msg("%s", error.cause);
        }
}

static inline struct fth_fleet_judgement *judge(struct fth_fleet *fleet,
                                                const struct fth_fleet_judge_options *options)
{
    struct fth_error error = NO_ERROR;
    struct fth_fleet_judgement *judgement = NULL;
    if (fth_fleet_judge(fleet, options, &judgement, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return judgement;
}

static inline struct fth_fleet *create(void)
{
    struct fth_fleet *fleet = NULL;
    assert_int_equal(fth_fleet_create(&fleet, NULL), FTH_OK);
    return fleet;
}

#endif
