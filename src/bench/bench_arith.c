/* Latency and throughput of arithmetic operations. The latency comes from one warp that executes
 * one chain of dependent operations. The throughput comes from a block with the maximum number of
 * threads on each SM, which is repeated with more and more independent chains per thread. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

enum {
    MIN_ROUNDS = 1, /* an operation's cycles are the slope between these two numbers of rounds */
    MAX_ROUNDS = 5,
    PASSES = 3, /* samples per request; these numbers are heuristic */
    FIRST = FTH_ADD_F16,
    LAST = FTH_LG2_F32,
};

static const struct fth_column columns[] = {
    {"operation", "Operation", FTH_COLUMN_TEXT},
    {"latency_cycles", "Latency", FTH_COLUMN_NUMBER},
    {"per_cycle_per_sm", "/cycle/SM", FTH_COLUMN_NUMBER},
    {"per_s", "G/s, GPU", FTH_COLUMN_NUMBER},
    {"chains", "Chains", FTH_COLUMN_NUMBER},
    {"threads", "Threads", FTH_COLUMN_NUMBER},
    {"clock_mhz", "MHz", FTH_COLUMN_NUMBER},
};
enum { OPERATION, LATENCY, PER_CYCLE, PER_S, CHAINS, THREADS, CLOCK, COLUMNS };

/* A measured rate can exceed the theoretical one by this fraction, because the clock is not read
 * exactly at the start and end of the operations. Heuristic. */
static const double tolerance = 0.02;

static struct fth_operate_plan plan_for(const struct fth_bench_run *run,
                                        enum fth_operation operation)
{
    return (struct fth_operate_plan){
        .operate = {.operation = operation, .chains = 1, .threads = 32, .sms = 1, .passes = PASSES},
        .rounds = MIN_ROUNDS,
        .more_rounds = run->quick ? MIN_ROUNDS + 1 : MAX_ROUNDS,
        .carveout_percent = -1};
}

/* Finds the maximum number of results per cycle and SM over the numbers of chains, and fills the
 * cells that depend on it. */
static enum fth_status find_throughput(const struct fth_bench_run *run,
                                       enum fth_operation operation, struct fth_cell *cells,
                                       struct fth_error *error)
{
    struct fth_operate_plan plan = plan_for(run, operation);
    const double max_rate = fth_gpu_number(run->gpu, "device", "max_threads_per_block", 1024);
    plan.operate.threads = max_rate < 1024 ? (uint32_t)max_rate : 1024;
    plan.operate.sms = run->quick ? 1 : 0;
    plan.operate.passes = run->quick ? 1 : PASSES;
    for (uint32_t chains = run->quick ? 4 : 1; chains <= (run->quick ? 4 : FTH_MAX_CHAINS);
         chains *= 2) {
        struct fth_figure cycles;
        plan.operate.chains = chains;
        FTH_TRY(fth_probe_operate(&run->prober, &plan, &cycles, error));
        const double per_cycle =
            plan.operate.threads * fth_operation_results(operation) / cycles.value;
        if (cycles.value > 0 && !(per_cycle <= cells[PER_CYCLE].number)) {
            cells[PER_CYCLE].number = per_cycle;
            cells[PER_S].number = per_cycle * (double)run->prober.sms * cycles.clock_mhz / 1e3;
            cells[CHAINS].number = chains;
            cells[THREADS].number = plan.operate.threads;
            cells[CLOCK].number = cycles.clock_mhz;
        }
    }
    return FTH_OK;
}

/* Refuses an impossible rate. An SM has four schedulers, each of which issues for 32 lanes per
 * cycle. SMs before Maxwell can have more cores than these 128 lanes; the number of cores is then
 * the limit. */
static enum fth_status check_rate(const struct fth_bench_run *run, enum fth_operation operation,
                                  double per_cycle, struct fth_error *error)
{
    const double lanes = fmax(128, fth_gpu_number(run->gpu, "device", "cores_per_sm", 0));
    const double max_rate = lanes * fth_operation_results(operation);
    if (per_cycle <= max_rate * (1 + tolerance))
        return FTH_OK;
    return fth_fail(error, FTH_INCONCLUSIVE, "run bench", NULL,
                    "measured %.0f per cycle and SM, but at most %.0f are possible", per_cycle,
                    max_rate);
}

/* Measures the latency and the throughput, and fills their cells. */
static enum fth_status fill_cells(const struct fth_bench_run *run, enum fth_operation operation,
                                  struct fth_cell *cells, struct fth_error *error)
{
    const struct fth_operate_plan plan = plan_for(run, operation);
    struct fth_figure latency;
    FTH_TRY(fth_probe_operate(&run->prober, &plan, &latency, error));
    cells[LATENCY].number = round(100 * latency.value) / 100;
    FTH_TRY(find_throughput(run, operation, cells, error));
    return check_rate(run, operation, cells[PER_CYCLE].number, error);
}

static enum fth_status measure(const struct fth_bench_run *run, enum fth_operation operation,
                               struct fth_error *error)
{
    struct fth_cell cells[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        cells[i] = (struct fth_cell){.number = NAN};
    cells[OPERATION].text = fth_operation_title(operation);
    enum fth_status status = fill_cells(run, operation, cells, error);
    if (status != FTH_OK)
        return fth_bench_keep_failure(run->bench, fth_operation_title(operation), status, error);
    cells[PER_CYCLE].number = round(100 * cells[PER_CYCLE].number) / 100;
    cells[PER_S].number = round(10 * cells[PER_S].number) / 10;
    cells[CLOCK].number = round(cells[CLOCK].number);
    return fth_bench_add_row(run->bench, cells, error);
}

/* Adds the ratio of the measured rate of FMA to the number of cores. */
static enum fth_status note_theory(const struct fth_bench_run *run, struct fth_error *error)
{
    const double cores = fth_gpu_number(run->gpu, "device", "cores_per_sm", NAN);
    const struct fth_bench_series *series =
        fth_bench_series_at(run->bench, fth_bench_series_count(run->bench) - 1);
    for (size_t row = 0; row < series->table.row_count && isfinite(cores); row++) {
        const struct fth_cell *cells = &series->table.cells[row * COLUMNS];
        if (cells[OPERATION].text != NULL &&
            strcmp(cells[OPERATION].text, fth_operation_title(FTH_FMA_F32)) == 0)
            return fth_bench_add_figure(run->bench, "fma_f32_of_theory",
                                        cells[PER_CYCLE].number / cores, "",
                                        "fma fp32 per cycle and SM / cores per SM", error);
    }
    return FTH_OK;
}

enum fth_status fth_bench_arith(const struct fth_bench_run *run, struct fth_error *error)
{
    FTH_TRY(fth_bench_add_series(run->bench, "arith", "Arithmetic", columns, COLUMNS, error));
    for (int i = FIRST; i <= LAST; i++) {
        FTH_TRY(fth_bench_progress(run, fth_operation_title((enum fth_operation)i),
                                   (double)(i - FIRST) / (LAST - FIRST + 1), error));
        FTH_TRY(measure(run, (enum fth_operation)i, error));
    }
    return note_theory(run, error);
}
