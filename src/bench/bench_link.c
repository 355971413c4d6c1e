/* The link to the host: the bandwidth of copies by the driver from and to pinned and pageable host
 * memory, in one direction and in both at the same time, and of copies between GPUs; and the
 * latency of the smallest copy. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>

enum {
    REPEATS = 5,         /* timed copies of each size; these two are chosen, not derived */
    SMALL_REPEATS = 200, /* of the smallest copy, whose time varies more */
    SMALL_BYTES = 4,     /* the smallest copy: one word */
    MAX_PEERS = 16,      /* limits the time; chosen, not derived */
    MAX_GENERATION = 6   /* of PCI Express */
};
static const uint64_t sizes[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};

struct direction {
    const char *title;
    enum fth_transfer_kind kind;
    bool pinned;
    unsigned ways;
};
static const struct direction directions[] = {
    {"to device, pinned", FTH_TRANSFER_TO_DEVICE, true, 1},
    {"from device, pinned", FTH_TRANSFER_FROM_DEVICE, true, 1},
    {"both, pinned", FTH_TRANSFER_BOTH, true, 2},
    {"to device, pageable", FTH_TRANSFER_TO_DEVICE, false, 1},
    {"from device, pageable", FTH_TRANSFER_FROM_DEVICE, false, 1},
    {"both, pageable", FTH_TRANSFER_BOTH, false, 2},
};
static const struct direction peers[] = {
    {"to GPU", FTH_TRANSFER_TO_PEER, false, 1},
    {"to GPU and back", FTH_TRANSFER_PEERS, false, 2},
};

static const struct fth_column columns[] = {
    {"direction", "Copy", FTH_COLUMN_TEXT},
    {"copy_mib", "MiB", FTH_COLUMN_NUMBER},
    {"best_gb_per_s", "Best GB/s", FTH_COLUMN_NUMBER},
    {"median_gb_per_s", "Median", FTH_COLUMN_NUMBER},
    {"spread_percent", "Spread %", FTH_COLUMN_NUMBER},
    {"of_link_percent", "of PCIe %", FTH_COLUMN_NUMBER},
    {"small_us", "4 B, us", FTH_COLUMN_NUMBER},
    {"small_median_us", "Median", FTH_COLUMN_NUMBER},
    {"route", "Route", FTH_COLUMN_TEXT},
};
static const struct fth_column size_columns[] = {
    {"kib", "KiB", FTH_COLUMN_NUMBER},
    {"direction", "copy", FTH_COLUMN_TEXT},
    {"best_gb_per_s", "Best GB/s", FTH_COLUMN_NUMBER},
    {"median_gb_per_s", "Median", FTH_COLUMN_NUMBER},
};

struct point {
    char title[48];
    double number; /* index of the direction, which orders the columns of the grid */
    uint64_t bytes;
    double best, median; /* GB/s */
};

struct work {
    const struct fth_bench_run *run;
    struct point points[(FTH_COUNT(directions) + (size_t)2 * MAX_PEERS) * FTH_COUNT(sizes)];
    size_t point_count, direction_count;
};

/* Returns the theoretical bandwidth of the PCI Express link in one direction, in bytes per second:
 * transfers per second and lane, less the encoding (8b/10b; 128b/130b from generation 3 on;
 * generation 6 carries 236 payload bytes per 256). NAN: unknown. */
static double link_limit(const struct fth_gpu *gpu)
{
    static const double lane_bytes_per_s[MAX_GENERATION + 1] = {NAN,
                                                                250e6,
                                                                500e6,
                                                                8e9 / 8 * 128 / 130,
                                                                16e9 / 8 * 128 / 130,
                                                                32e9 / 8 * 128 / 130,
                                                                64e9 / 8 * 236 / 256};
    const double generation = fth_gpu_number(gpu, "device", "max_pcie_generation", 0);
    const double lanes = fth_gpu_number(gpu, "device", "max_pcie_lanes", NAN);
    return generation >= 1 && generation <= MAX_GENERATION
               ? lanes * lane_bytes_per_s[(size_t)generation]
               : NAN;
}

static enum fth_status time_transfer(const struct fth_bench_run *run,
                                     const struct direction *direction, uint32_t peer,
                                     uint64_t bytes, uint32_t repeats,
                                     struct fth_durations *durations, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_TRANSFER;
    request.transfer = (struct fth_transfer){.kind = direction->kind,
                                             .pinned = direction->pinned,
                                             .peer = peer,
                                             .repeats = repeats,
                                             .bytes = bytes};
    return fth_probe_durations(&run->prober, &request, durations, error);
}

/* Measures copies of all sizes that fit into memory. `large` receives the durations of the largest
 * one. */
static enum fth_status measure_sizes(struct work *work, const struct direction *direction,
                                     uint32_t peer, const char *title, struct fth_durations *large,
                                     struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        struct fth_durations found;
        enum fth_status status =
            time_transfer(work->run, direction, peer, sizes[i], REPEATS, &found, error);
        if (status == FTH_INCONCLUSIVE && i > 0) {
            char what[64];
            fth_format(what, sizeof what, "%s, %.4g MiB", title, (double)sizes[i] / (1 << 20));
            return fth_bench_keep_failure(work->run->bench, what, status, error);
        }
        if (status != FTH_OK)
            return status;
        const double moved = (double)sizes[i] * direction->ways;
        struct point *point = &work->points[work->point_count++];
        *point = (struct point){.number = (double)work->direction_count,
                                .bytes = sizes[i],
                                .best = moved / found.best_ns,
                                .median = moved / found.median_ns};
        snprintf(point->title, sizeof point->title, "%s", title);
        *large = found;
    }
    return FTH_OK;
}

/* Measures one direction with all sizes. Sets *unavailable if the device cannot do it. */
static enum fth_status measure(struct work *work, const struct direction *direction, uint32_t peer,
                               bool *unavailable, struct fth_error *error)
{
    const struct fth_bench_run *run = work->run;
    const bool host = direction->kind <= FTH_TRANSFER_BOTH;
    const double limit = host ? link_limit(run->gpu) * direction->ways : NAN;
    struct fth_durations small, large = {.best_ns = NAN};
    char title[48];
    snprintf(title, sizeof title, host ? "%s" : "%s %u", direction->title, (unsigned)peer + 1);
    enum fth_status status =
        time_transfer(run, direction, peer, SMALL_BYTES, SMALL_REPEATS, &small, error);
    if (status == FTH_OK)
        status = measure_sizes(work, direction, peer, title, &large, error);
    *unavailable = status != FTH_OK;
    if (status == FTH_UNSUPPORTED && peer > 0) { /* there are no more GPUs */
        *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, title, status, error);
    work->direction_count++;
    const struct point *last = &work->points[work->point_count - 1];
    const struct fth_cell cells[] = {
        {.text = title, .number = NAN},
        {.number = round(1e4 * (double)last->bytes / (1 << 20)) / 1e4},
        {.number = round(100 * last->best) / 100},
        {.number = round(100 * last->median) / 100},
        {.number = round(1e4 * (1 - large.best_ns / large.worst_ns)) / 100},
        {.number = round(1e4 * last->best * 1e9 / limit) / 100},
        {.number = round(small.best_ns / 10) / 100},
        {.number = round(small.median_ns / 10) / 100},
        {.text = host           ? "host"
                 : large.direct ? "direct"
                                : "through the host",
         .number = NAN},
    };
    return fth_bench_add_row(run->bench, cells, error);
}

static enum fth_status note_sizes(const struct work *work, struct fth_error *error)
{
    if (!work->point_count)
        return FTH_OK;
    FTH_TRY(fth_bench_add_series(work->run->bench, "link.sizes",
                                 "Link: GB/s by the size of a copy (KiB)", size_columns,
                                 FTH_COUNT(size_columns), error));
    fth_bench_show_grid(work->run->bench, 0, 1, 2);
    for (size_t i = 0; i < work->point_count; i++) {
        const struct point *point = &work->points[i];
        const struct fth_cell cells[] = {
            {.number = (double)point->bytes / 1024},
            {.text = point->title, .number = point->number},
            {.number = round(1000 * point->best) / 1000},
            {.number = round(1000 * point->median) / 1000},
        };
        FTH_TRY(fth_bench_add_row(work->run->bench, cells, error));
    }
    return FTH_OK;
}

/* The part of the progress of this bench that the copies take; bench_zero_copy.c reports the rest.
 * Chosen, not derived. */
static const double copies_part = 0.8;

/* Measures all directions, and then all other GPUs until one is missing. */
static enum fth_status measure_all(struct work *work, struct fth_error *error)
{
    const struct fth_bench_run *run = work->run;
    const size_t all = FTH_COUNT(directions) + 1;
    bool unavailable = false;
    for (size_t i = 0; i < FTH_COUNT(directions); i++) {
        FTH_TRY(fth_bench_progress(run, directions[i].title, copies_part * (double)i / (double)all,
                                   error));
        FTH_TRY(measure(work, &directions[i], 0, &unavailable, error));
    }
    unavailable = false;
    for (uint32_t peer = 0; peer < MAX_PEERS && !unavailable; peer++)
        for (size_t i = 0; i < FTH_COUNT(peers) && !unavailable; i++) {
            FTH_TRY(fth_bench_progress(run, peers[i].title, copies_part * (1 - 1.0 / (double)all),
                                       error));
            FTH_TRY(measure(work, &peers[i], peer, &unavailable, error));
        }
    return FTH_OK;
}

enum fth_status fth_bench_link(const struct fth_bench_run *run, struct fth_error *error)
{
    static const struct work none;
    struct work work = none;
    work.run = run;
    FTH_TRY(fth_bench_add_series(run->bench, "link",
                                 "Link: copies by the driver, and latency of 4 bytes", columns,
                                 FTH_COUNT(columns), error));
    enum fth_status status = measure_all(&work, error);
    if (fth_bench_ended_early(status)) /* The complete points are still reported. */
        return note_sizes(&work, NULL) == FTH_NO_MEMORY ? FTH_NO_MEMORY : status;
    if (status != FTH_OK)
        return status;
    const double limit = link_limit(run->gpu);
    if (!isnan(limit))
        FTH_TRY(fth_bench_add_figure(run->bench, "pcie_gb_per_s", round(limit / 1e7) / 100, "GB/s",
                                     "PCI Express generation and lanes, one direction", error));
    FTH_TRY(note_sizes(&work, error));
    return fth_bench_zero_copy(run, error);
}
