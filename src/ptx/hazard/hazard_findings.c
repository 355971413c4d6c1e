/* The findings of a launch. A loop that many threads execute makes the same mistake many times, so
 * a finding stands for all races of the same kind between the same two instructions. It describes
 * the first one: in the cluster with the lowest index, the first in time. The findings thus do not
 * depend on the number of host threads. */
#include "ptx/hazard/hazard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Maximum number of findings that are logged per launch; the log also has the number of all others.
 * Chosen, not derived. */
enum { MAX_LOGGED = 20 };

/* True if the positions are the same line of the source, inlined at the same place. */
static bool is_same_position(const struct fth_source_position *a,
                             const struct fth_source_position *b)
{
    while (a && b && a != b && a->line == b->line && a->file && b->file &&
           strcmp(a->file, b->file) == 0) {
        a = a->inlined_at;
        b = b->inlined_at;
    }
    return a == b;
}

/* True if two instructions are the same for the user: compilers unroll loops. */
static bool is_same_place(const struct fth_ptx_inst *a, const struct fth_ptx_inst *b)
{
    return a == b || (a->source && b->source && is_same_position(a->source, b->source));
}

/* True if the finding is a race between these two instructions, in any order. */
static bool is_same_pair(const struct fth_finding *finding, const struct fth_ptx_inst *inst,
                         const struct fth_ptx_inst *other)
{
    return (is_same_place(finding->inst, inst) && is_same_place(finding->other, other)) ||
           (is_same_place(finding->inst, other) && is_same_place(finding->other, inst));
}

static struct fth_finding *find(struct fth_findings *findings, enum fth_hazard_kind kind,
                                const struct fth_ptx_inst *inst, const struct fth_ptx_inst *other)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct fth_finding *finding = &findings->at[i];
        if (finding->kind != kind)
            continue;
        if (kind == HAZARD_RACE ? is_same_pair(finding, inst, other)
                                : finding->inst == inst && finding->other == other)
            return finding;
    }
    return NULL;
}

/* Appends a finding. Returns NULL when out of memory. */
static struct fth_finding *append(struct fth_findings *findings)
{
    if (findings->count == findings->capacity) {
        const size_t capacity = findings->capacity ? 2 * findings->capacity : 8;
        struct fth_finding *grown = realloc(findings->at, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        findings->at = grown;
        findings->capacity = capacity;
    }
    return &findings->at[findings->count++];
}

struct fth_finding *fth_hazard_repeat(struct fth_hazards *hazards, enum fth_hazard_kind kind,
                                      const struct fth_ptx_inst *inst,
                                      const struct fth_ptx_inst *other)
{
    struct fth_finding *finding = find(&hazards->findings, kind, inst, other);
    if (finding)
        finding->count++;
    return finding;
}

struct fth_finding *fth_hazard_report(struct fth_hazards *hazards, enum fth_hazard_kind kind,
                                      const struct fth_ptx_warp *warp,
                                      const struct fth_ptx_inst *inst, int lane,
                                      const struct fth_ptx_inst *other, const char *text, ...)
{
    struct fth_finding *finding = fth_hazard_repeat(hazards, kind, inst, other);
    if (finding)
        return finding;
    const size_t order = hazards->findings.count;
    finding = append(&hazards->findings);
    if (!finding) {
        fth_hazards_fail(hazards);
        return NULL;
    }
    *finding = (struct fth_finding){.kind = kind,
                                    .inst = inst,
                                    .other = other,
                                    .cluster = hazards->index,
                                    .order = order,
                                    .count = 1};
    fth_ptx_warp_place(warp, inst, lane, finding->text, sizeof finding->text);
    const size_t used = strlen(finding->text);
    const int size = snprintf(finding->text + used, sizeof finding->text - used, ": ");
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(finding->text + used + size, sizeof finding->text - used - (size_t)size, text,
              arguments);
    va_end(arguments);
    return finding;
}

/* Adds the findings of a cluster to those of the launch. Returns false when out of memory. */
static bool merge(struct fth_findings *all, const struct fth_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct fth_finding *finding = &findings->at[i];
        struct fth_finding *same = find(all, finding->kind, finding->inst, finding->other);
        if (!same) {
            same = append(all);
            if (!same)
                return false;
            *same = *finding;
            continue;
        }
        const uint64_t count = same->count + finding->count;
        const enum fth_race_scope scope =
            same->scope > finding->scope ? same->scope : finding->scope;
        if (finding->cluster < same->cluster)
            *same = *finding;
        same->count = count;
        same->scope = scope;
    }
    return true;
}

void fth_hazards_destroy(struct fth_hazards *hazards)
{
    if (!hazards)
        return;
    struct fth_ptx_run *run = hazards->run;
    if (hazards->findings.count) {
        pthread_mutex_lock(run->lock);
        if (!run->findings)
            run->findings = calloc(1, sizeof *run->findings);
        const bool ok = run->findings && merge(run->findings, &hazards->findings);
        pthread_mutex_unlock(run->lock);
        if (!ok)
            fth_ptx_run_no_memory(run);
    }
    fth_races_destroy(hazards->races);
    for (struct fth_hazard_operation *at = hazards->operations, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    for (uint32_t i = 0; i < run->cluster_blocks * hazards->warps_per_block && hazards->warps; i++)
        free(hazards->warps[i].registers);
    for (uint32_t rank = 0; rank < run->cluster_blocks && hazards->writes; rank++)
        free(hazards->writes[rank]);
    free(hazards->findings.at);
    free(hazards->fresh);
    free(hazards->buckets);
    free(hazards->nodes);
    free(hazards->warps);
    free(hazards->writes);
    free(hazards);
}

static int by_occurrence(const void *a, const void *b)
{
    const struct fth_finding *left = a, *right = b;
    if (left->cluster != right->cluster)
        return left->cluster < right->cluster ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

/* Sets *is_new if no earlier launch of the machine had the finding, and remembers it. Returns false
 * when out of memory. */
static bool remember(struct fth_ptx_machine *machine, const struct fth_finding *finding,
                     bool *is_new)
{
    *is_new = true;
    if (!machine->reported)
        machine->reported = calloc(1, sizeof *machine->reported);
    if (!machine->reported)
        return false;
    if (find(machine->reported, finding->kind, finding->inst, finding->other)) {
        *is_new = false;
        return true;
    }
    struct fth_finding *added = append(machine->reported);
    if (added)
        *added = *finding;
    return added != NULL;
}

void fth_findings_destroy(struct fth_findings *findings)
{
    if (findings)
        free(findings->at);
    free(findings);
}

size_t fth_hazards_log(struct fth_ptx_run *run)
{
    static const char *const advice[] = {[RACE_NONE] = "",
                                         [RACE_IN_WARP] =
                                             "; add __syncwarp() or __syncthreads() between them",
                                         [RACE_IN_BLOCK] = "; add __syncthreads() between them",
                                         [RACE_IN_CLUSTER] = "; add cluster.sync() between them"};
    struct fth_findings *findings = run->findings;
    if (!findings)
        return 0;
    const size_t count = findings->count;
    if (count) /* 0: out of memory */
        qsort(findings->at, count, sizeof *findings->at, by_occurrence);
    size_t logged = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct fth_finding *finding = &findings->at[i];
        bool is_new;
        if (!remember(run->machine, finding, &is_new))
            fth_ptx_run_no_memory(run);
        if (!is_new)
            continue;
        if (logged == MAX_LOGGED) {
            left++;
            continue;
        }
        logged++;
        char times[96] = "";
        snprintf(times, sizeof times, "%s", advice[finding->scope]);
        const size_t used = strlen(times);
        if (finding->count > 1)
            snprintf(times + used, sizeof times - used, " (%llu times)",
                     (unsigned long long)finding->count);
        fth_log_message(run->launch->log, FTH_LOG_WARNING, "kernel '%s': %s%s",
                        run->kernel->kernel.display_name, finding->text, times);
    }
    if (left)
        fth_log_message(run->launch->log, FTH_LOG_WARNING, "kernel '%s': %zu more findings",
                        run->kernel->kernel.display_name, left);
    fth_findings_destroy(findings);
    run->findings = NULL;
    return count;
}
