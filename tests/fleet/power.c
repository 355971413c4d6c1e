/* How well fleets are judged: power and false alarms, on generated fleets
 * (docs/results/fleet-h200.md).
 *
 * Fleets of different sizes are made from the measurements of real H200s, with faults in a few of
 * their GPUs, and judged. For each fault, the program counts how many of the faulty GPUs are found
 * and how often the right cause is named; for each kind of fleet, how many healthy GPUs are not
 * judged healthy. It prints TAP and, with a file name, all counts as CSV.
 *
 * usage: power RECORDS quick|full [CSV [NUMBER [DIVISOR]]]
 *   NUMBER: of the only kind of fleets to try (0: all)    DIVISOR: of the numbers of trials */
#include "fleet/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fault, without the number of GPUs. */
static const struct fault {
    const char *name;  /* "KIND:SIZE" */
    const char *share; /* of the measurements; NULL: all, and the fault is also tried with one */
    const char *cause; /* a part of the sentence that names the cause; NULL: none is expected */
} faults[] = {
    {"memory-bandwidth:-2", NULL, "memory bandwidth"},
    {"memory-bandwidth:-3", NULL, "memory bandwidth"},
    {"memory-bandwidth:-5", NULL, "memory bandwidth"},
    {"memory-bandwidth:-10", NULL, "memory bandwidth"},
    {"memory-bandwidth:-20", NULL, "memory bandwidth"},
    {"l2-partition:5", NULL, "partition"},
    {"l2-partition:10", NULL, "partition"},
    {"sms:-2", NULL, "SM"},
    {"latency:2", NULL, "L2"},
    {"latency:5", NULL, "L2"},
    {"clock:-5", NULL, "clock"},
    {"link:half", NULL, "PCI Express"},
    {"no-gpu", NULL, "simulated"},
    {"memory-bandwidth:-10", "20%", NULL},
    {"memory-bandwidth:-20", "20%", NULL},
    {"clock:-20", "20%", NULL},
};
enum { FAULTS = sizeof faults / sizeof faults[0], MAX_FAULTY = 100 };

/* A kind of fleets. */
struct scenario {
    size_t gpus;
    unsigned measurements;
    double spread;     /* factor; 0: published */
    unsigned tail;     /* see struct fth_fleet_generate_options */
    unsigned trials;   /* minimum number of GPUs with the fault `goal`; 0: no faults */
    unsigned others;   /* minimum number of GPUs with each other fault */
    unsigned fleets;   /* minimum number of fleets */
    double min_found;  /* goal for `goal`, as a fraction; 0: none */
    const char *goal;  /* the fault that must be found */
    double max_alarms; /* goal: maximum false alarms per healthy GPU; INFINITY: none */
};

/* `trials` and `fleets` give thousands of healthy GPUs where false alarms have a goal. Faults have
 * goals from 500 GPUs on; smaller fleets do not know their own spread well enough. */
static const struct scenario quick[] = {
    {50, 1, 1, 0, 0, 10, 1, 0, NULL, 0.001},
    {500, 1, 1, 0, 100, 10, 1, 0.99, "memory-bandwidth:-5", 0.001},
    {500, 5, 1, 0, 60, 8, 1, 0.99, "memory-bandwidth:-3", 0.001},
    {500, 1, 0, 0, 0, 0, 20, 0, NULL, 0.001},
    {10000, 1, 0, 0, 0, 0, 1, 0, NULL, 0.001},
};
static const struct scenario full[] = {
    {10, 1, 1, 0, 100, 100, 1, 0, NULL, INFINITY},
    {10, 5, 1, 0, 100, 100, 1, 0, NULL, INFINITY},
    {50, 1, 1, 0, 0, 100, 1, 0, NULL, 0.001},
    {50, 5, 1, 0, 0, 100, 1, 0, NULL, 0.001},
    {500, 1, 1, 0, 300, 100, 1, 0.99, "memory-bandwidth:-5", 0.001},
    {500, 5, 1, 0, 300, 100, 1, 0.99, "memory-bandwidth:-3", 0.001},
    {10000, 1, 1, 0, 300, 100, 1, 0.99, "memory-bandwidth:-5", 0.001},
    {10000, 5, 1, 0, 300, 100, 1, 0.99, "memory-bandwidth:-3", 0.001},
    {500, 1, 3, 0, 100, 100, 1, 0, NULL, 0.001},
    {500, 1, 1, 5, 100, 100, 1, 0, NULL, 0.001},
    {10, 1, 0, 0, 100, 100, 1, 0, NULL, INFINITY},
    {50, 1, 0, 0, 100, 100, 1, 0, NULL, 0.001},
    {500, 1, 0, 0, 100, 100, 1, 0, NULL, 0.001},
    {500, 5, 0, 0, 100, 100, 1, 0, NULL, 0.001},
    {10000, 1, 0, 0, 100, 100, 1, 0, NULL, 0.001},
    {500, 1, 0, 5, 100, 100, 1, 0, NULL, INFINITY},
};

struct counts {
    unsigned trials[FAULTS], found[FAULTS], failed[FAULTS], named[FAULTS];
    unsigned long healthy, alarms, not_judged, fleets;
};

/* Returns how many GPUs with this fault there must be in all fleets of this kind. */
static unsigned trials_of(const struct scenario *scenario, const struct fault *fault)
{
    if (fault->share && scenario->measurements == 1)
        return 0;
    const bool is_goal =
        scenario->goal && !fault->share && strcmp(fault->name, scenario->goal) == 0;
    return is_goal ? scenario->trials : scenario->others;
}

/* Returns whether two faults are of the same kind: equal up to the colon. */
static bool same_kind(const struct fault *a, const struct fault *b)
{
    const size_t length = strcspn(a->name, ":");
    return length == strcspn(b->name, ":") && strncmp(a->name, b->name, length) == 0;
}

/* Returns the number of the chosen faults that are of the kind of fault `f`. */
static size_t count_kind(const size_t *chosen, size_t count, size_t f)
{
    size_t equal = 0;
    for (size_t i = 0; i < count; i++)
        equal += same_kind(&faults[chosen[i]], &faults[f]);
    return equal;
}

/* Chooses the faults of the next fleet: those that were tried least. At most one GPU in 50 is
 * faulty and at most one in 1,000 has a fault of a kind, but at least one. Writes the texts and the
 * indices of the faults. */
static size_t choose_faults(const struct scenario *scenario, const struct counts *counts,
                            char texts[MAX_FAULTY][64], size_t *chosen)
{
    const size_t most = scenario->gpus < 100 ? 1 : scenario->gpus / 50,
                 most_of_kind = scenario->gpus < 2000 ? 1 : scenario->gpus / 1000;
    unsigned planned[FAULTS];
    size_t count = 0;
    memcpy(planned, counts->trials, sizeof planned);
    while (count < most && count < MAX_FAULTY) {
        size_t least = FAULTS;
        for (size_t f = 0; f < FAULTS; f++)
            if (planned[f] < trials_of(scenario, &faults[f]) &&
                count_kind(chosen, count, f) < most_of_kind &&
                (least == FAULTS || planned[f] < planned[least]))
                least = f;
        if (least == FAULTS)
            break;
        snprintf(texts[count], sizeof texts[count], "%s:1%s%s", faults[least].name,
                 faults[least].share ? ":" : "", faults[least].share ? faults[least].share : "");
        planned[least]++;
        chosen[count++] = least;
    }
    return count;
}

/* Reads which GPUs are faulty: the UUIDs end with the index of the GPU. A fault is identified by
 * its text. */
static void read_truth(const char *truth, char texts[MAX_FAULTY][64], const size_t *chosen,
                       size_t count, unsigned char *fault_of)
{
    for (const char *line = strchr(truth, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        const char *comma = strchr(line + 1, ',');
        const size_t gpu = strtoul(comma - 12, NULL, 16);
        for (size_t i = 0; i < count; i++) {
            const char *text = strstr(comma, texts[i]);
            if (text && text < strchr(line + 1, '\n') && text[strlen(texts[i])] == ',')
                fault_of[gpu] = (unsigned char)(chosen[i] + 1);
        }
    }
}

static void count_verdicts(const struct fth_fleet_judgement *judgement,
                           const unsigned char *fault_of, struct counts *counts)
{
    const struct fth_fleet *fleet = judgement->fleet;
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_result *result = &judgement->results[i];
        const char *uuid = fleet->gpus[result->gpu].uuid;
        const size_t gpu = strtoul(uuid + strlen(uuid) - 12, NULL, 16);
        const bool found =
            result->verdict == FTH_FLEET_SUSPECT || result->verdict == FTH_FLEET_FAILED;
        if (!fault_of[gpu]) {
            counts->healthy++;
            counts->alarms += found;
            counts->not_judged += result->verdict == FTH_FLEET_NOT_JUDGED;
            if (found && getenv("SHOW_ALARMS"))
                for (size_t f = 0; f < result->finding_count; f++)
                    printf("# alarm: %s, effect %.4f, distance %.2f, p %.3g\n",
                           result->findings[f].figure, result->findings[f].effect,
                           result->findings[f].distance, result->findings[f].p);
            continue;
        }
        const size_t f = fault_of[gpu] - 1u;
        counts->trials[f]++;
        counts->found[f] += found;
        counts->failed[f] += result->verdict == FTH_FLEET_FAILED;
        counts->named[f] += found && faults[f].cause && result->cause &&
                            strstr(result->cause, faults[f].cause) != NULL;
        if (found && getenv("SHOW_CAUSES"))
            printf("# %s: %s\n", faults[f].name, result->cause ? result->cause : "-");
    }
}

static bool run_fleet(const struct scenario *scenario, const struct fth_fleet *from, uint64_t seed,
                      struct counts *counts)
{
    static char texts[MAX_FAULTY][64];
    const char *list[MAX_FAULTY];
    size_t chosen[MAX_FAULTY];
    const size_t count = choose_faults(scenario, counts, texts, chosen);
    for (size_t i = 0; i < count; i++)
        list[i] = texts[i];
    struct fth_fleet_generate_options options =
        FTH_FLEET_GENERATE_OPTIONS(.gpus = scenario->gpus, .measurements = scenario->measurements,
                                   .seed = seed, .spread = scenario->spread,
                                   .published_spread = scenario->spread == 0,
                                   .tail = scenario->tail, .faults = list, .fault_count = count);
    struct fth_error error = FTH_NO_ERROR;
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_judgement *judgement = NULL;
    unsigned char *fault_of = calloc(scenario->gpus, 1);
    char *truth = NULL;
    const bool done = fault_of &&
                      fth_fleet_generate(from, &options, &fleet, &truth, &error) == FTH_OK &&
                      fth_fleet_judge(fleet, NULL, &judgement, &error) == FTH_OK;
    if (done) {
        read_truth(truth, texts, chosen, count, fault_of);
        count_verdicts(judgement, fault_of, counts);
        counts->fleets++;
    } else {
        printf("# %s: %s\n", error.operation, error.cause);
    }
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
    fth_free(truth);
    free(fault_of);
    return done;
}

static bool is_finished(const struct scenario *scenario, const struct counts *counts)
{
    for (size_t f = 0; f < FAULTS; f++)
        if (counts->trials[f] < trials_of(scenario, &faults[f]))
            return false;
    return counts->fleets >= scenario->fleets;
}

static const char *spread_text(const struct scenario *scenario, char *text, size_t size)
{
    if (scenario->spread == 0)
        snprintf(text, size, "published%s", scenario->tail ? ", heavy tails" : "");
    else
        snprintf(text, size, "measured%s%s", scenario->spread > 1 ? " x 3" : "",
                 scenario->tail ? ", heavy tails" : "");
    return text;
}

static void write_csv(FILE *csv, const struct scenario *scenario, const struct counts *counts)
{
    char spread[40];
    spread_text(scenario, spread, sizeof spread);
    fprintf(csv, "%zu,%u,\"%s\",none,,%lu,%lu,,,%lu\n", scenario->gpus, scenario->measurements,
            spread, counts->healthy, counts->alarms, counts->not_judged);
    for (size_t f = 0; f < FAULTS; f++)
        if (counts->trials[f])
            fprintf(csv, "%zu,%u,\"%s\",%s,%s,%u,%u,%u,%u,\n", scenario->gpus,
                    scenario->measurements, spread, faults[f].name,
                    faults[f].share ? faults[f].share : "100%", counts->trials[f], counts->found[f],
                    counts->failed[f], counts->named[f]);
}

/* Checks the goals of a scenario. */
static bool reaches_goals(const struct scenario *scenario, const struct counts *counts)
{
    bool reached = (double)counts->alarms <= scenario->max_alarms * (double)counts->healthy;
    for (size_t f = 0; f < FAULTS && scenario->goal; f++)
        if (!faults[f].share && strcmp(faults[f].name, scenario->goal) == 0)
            reached = reached && counts->trials[f] >= scenario->trials &&
                      counts->found[f] >= scenario->min_found * counts->trials[f];
    return reached;
}

static bool run_scenario(const struct scenario *scenario, const struct fth_fleet *from,
                         size_t number, FILE *csv)
{
    struct counts counts = {0};
    char spread[40];
    bool done = true;
    for (uint64_t seed = number * 1000000; done && !is_finished(scenario, &counts); seed++)
        done = run_fleet(scenario, from, seed, &counts);
    for (size_t f = 0; f < FAULTS; f++)
        if (counts.trials[f])
            printf("#   %-22s %-4s found %5.1f %%, failed %5.1f %%, cause named %5.1f %% of %u\n",
                   faults[f].name, faults[f].share ? faults[f].share : "",
                   100.0 * counts.found[f] / counts.trials[f],
                   100.0 * counts.failed[f] / counts.trials[f],
                   100.0 * counts.named[f] / counts.trials[f], counts.trials[f]);
    printf("%s %zu - %zu GPUs, measurements of each %u, spread %s: %lu false alarms in %lu healthy "
           "GPUs\n",
           done && reaches_goals(scenario, &counts) ? "ok" : "not ok", number, scenario->gpus,
           scenario->measurements, spread_text(scenario, spread, sizeof spread), counts.alarms,
           counts.healthy);
    fflush(stdout);
    if (csv)
        write_csv(csv, scenario, &counts);
    return done && reaches_goals(scenario, &counts);
}

int main(int argc, char **argv)
{
    struct fth_fleet *from = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (argc < 3) {
        fprintf(stderr, "usage: power RECORDS quick|full [CSV [NUMBER [DIVISOR]]]\n");
        return 2;
    }
    const bool all = strcmp(argv[2], "full") == 0;
    const struct scenario *scenarios = all ? full : quick;
    const size_t count = all ? sizeof full / sizeof full[0] : sizeof quick / sizeof quick[0];
    FILE *csv = argc > 3 ? fopen(argv[3], "w") : NULL;
    bool passed = argc <= 3 || csv;
    if (fth_fleet_create(&from, &error) != FTH_OK ||
        fth_fleet_add_path(from, argv[1], NULL, &error) != FTH_OK) {
        fprintf(stderr, "power: %s: %s\n", argv[1], error.cause);
        return 1;
    }
    if (csv)
        fprintf(
            csv,
            "gpus,measurements,spread,fault,share,trials,found,failed,cause_named,not_judged\n");
    printf("1..%zu\n", count);
    const size_t only = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    const unsigned divisor = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 1;
    for (size_t i = 0; i < count; i++)
        if (!only || only == i + 1) {
            struct scenario scenario = scenarios[i];
            scenario.trials /= divisor;
            scenario.others /= divisor;
            passed = run_scenario(&scenario, from, i + 1, csv) && passed;
        }
    if (csv && fclose(csv) != 0)
        passed = false;
    fth_fleet_destroy(from);
    return passed ? 0 : 1;
}
