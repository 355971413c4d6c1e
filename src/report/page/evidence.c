/* Extracts from a recording the curves from which figures were derived: the latency of loads
 * against the footprint, one curve per path, stride and carve-out; and the cycles per instruction
 * against the length of the code. The result is a fathom-evidence/1 document for the charts of the
 * HTML page.
 *
 * A point of a curve is a request that walks a chain and then times the same chain, or that fetches
 * code (docs/recording.md). Other requests have no footprint and are skipped. Each point keeps at
 * most MAX_SAMPLES of its samples, evenly selected; its mean and percentiles are those of all
 * samples. */
#include "base/json.h"
#include "device/recording.h"
#include "report/report.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* MAX_SAMPLES: samples kept per point, which limits the size of the page. MIN_FOOTPRINTS: curves
 * with fewer different footprints are dropped, because a few repetitions are not a curve.
 * Heuristic. */
enum { MAX_SAMPLES = 96, MIN_FOOTPRINTS = 4 };

/* A request whose answer is one point of a curve. */
struct walk {
    char curve[96]; /* name of the curve: the parameters that all its points have in common */
    char path[16];
    uint64_t stride, footprint; /* bytes; for code, the footprint is in instructions */
    int carveout;               /* percent; -1: not specified */
    bool whole_passes;          /* one sample per pass, not per load */
    double loads_per_sample;    /* for code, instructions per sample */
    bool code;
};

/* ---- requests ---- */

/* Returns whether the step walks a whole array in address order. The recording has other kinds of
 * chains, which have no place in a curve. */
static bool is_plain(const struct fth_step *step)
{
    return step->chain.start_bytes == 0 && fth_chain_step(&step->chain) == 1 && step->warp == 0 &&
           !step->reverse;
}

/* Fills `walk` if the request walks a chain and then times the same chain. Touches can follow. */
static bool describe_chase(const struct fth_request *request, struct walk *walk)
{
    const struct fth_step *first = &request->chase.steps[0], *timed = &request->chase.steps[1];
    const bool passes = timed->kind == FTH_STEP_TIME_PASS;
    if (request->chase.step_count < 2 || first->kind != FTH_STEP_WALK ||
        (!passes && timed->kind != FTH_STEP_TIME_HOPS) || !is_plain(first) || !is_plain(timed) ||
        first->path != timed->path || first->chain.array != timed->chain.array ||
        first->chain.stride_bytes != timed->chain.stride_bytes ||
        first->chain.count != timed->chain.count)
        return false;
    for (size_t i = 2; i < request->chase.step_count; i++)
        if (request->chase.steps[i].kind != FTH_STEP_TOUCH)
            return false;
    *walk = (struct walk){.stride = timed->chain.stride_bytes,
                          .footprint = timed->chain.stride_bytes * timed->chain.count,
                          .carveout = request->carveout_percent,
                          .whole_passes = passes,
                          .loads_per_sample = passes ? (double)timed->chain.count : 1};
    snprintf(walk->path, sizeof walk->path, "%s", fth_path_name(timed->path));
    snprintf(walk->curve, sizeof walk->curve, "%s %llu %d %d", walk->path,
             (unsigned long long)walk->stride, walk->carveout, walk->whole_passes);
    return true;
}

/* Fills `walk` if the request fetches code several times and nothing else. */
static bool describe_fetch(const struct fth_request *request, struct walk *walk)
{
    const struct fth_fetch *fetch = &request->fetch;
    if (fetch->passes == 1 || fetch->constants.count || request->sm != FTH_ANY_SM ||
        request->carveout_percent != -1)
        return false;
    *walk = (struct walk){.path = "code",
                          .curve = "code",
                          .footprint = fetch->instructions,
                          .carveout = -1,
                          .whole_passes = true,
                          .loads_per_sample = (double)fetch->instructions,
                          .code = true};
    return true;
}

/* Fills `walk` if the answer to the request is a point of a curve. */
static bool describe(const struct fth_request *request, struct walk *walk)
{
    switch (request->family) {
    case FTH_FAMILY_CHASE: return describe_chase(request, walk);
    case FTH_FAMILY_FETCH: return describe_fetch(request, walk);
    default: return false;
    }
}

/* ---- curves ---- */

/* Returns the curve of a point, and adds it if it is new. */
static json_t *find_curve(json_t *curves, const struct walk *walk)
{
    json_t *curve = json_object_get(curves, walk->curve);
    if (curve)
        return curve;
    curve = json_pack("{s:s, s:s, s:[]}", "path", walk->path, "unit",
                      walk->code ? "instructions" : "bytes", "points");
    if (!walk->code)
        json_object_set_new(curve, "stride_bytes", json_integer((json_int_t)walk->stride));
    if (walk->carveout >= 0)
        json_object_set_new(curve, "carveout_percent", json_integer(walk->carveout));
    json_object_set_new(curve, "timed", json_string(walk->whole_passes ? "passes" : "loads"));
    json_object_set_new(curves, walk->curve, curve);
    return json_object_get(curves, walk->curve);
}

/* Rounds to two decimals, which is enough for cycles. */
static json_t *rounded(double number)
{
    return json_real(round(number * 100) / 100);
}

/* Adds a point with the samples, divided by the loads or instructions per sample. */
static enum fth_status add_point(json_t *curves, const struct walk *walk,
                                 const struct fth_samples *samples, struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_u32(samples->cycles, samples->count, &summary, error));
    const size_t kept = samples->count < MAX_SAMPLES ? samples->count : MAX_SAMPLES;
    json_t *point = json_object(), *list = json_array();
    for (size_t i = 0; i < kept; i++) {
        const size_t at = i * samples->count / kept;
        json_array_append_new(list, rounded(samples->cycles[at] / walk->loads_per_sample));
    }
    json_object_set_new(point, "footprint", json_integer((json_int_t)walk->footprint));
    json_object_set_new(point, "mean", rounded(summary.mean / walk->loads_per_sample));
    json_object_set_new(point, "p05", rounded(summary.p05 / walk->loads_per_sample));
    json_object_set_new(point, "median", rounded(summary.median / walk->loads_per_sample));
    json_object_set_new(point, "p95", rounded(summary.p95 / walk->loads_per_sample));
    json_object_set_new(point, "count", json_integer((json_int_t)samples->count));
    json_object_set_new(point, "sm", json_integer(samples->sm));
    json_object_set_new(point, "samples", list);
    json_array_append_new(json_object_get(find_curve(curves, walk), "points"), point);
    return FTH_OK;
}

/* Returns whether the points have at least MIN_FOOTPRINTS different footprints. */
static bool is_curve(const json_t *points)
{
    json_int_t seen[MIN_FOOTPRINTS];
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points) && count < MIN_FOOTPRINTS; i++) {
        json_int_t footprint =
            json_integer_value(json_object_get(json_array_get(points, i), "footprint"));
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || seen[j] == footprint;
        if (!known)
            seen[count++] = footprint;
    }
    return count == MIN_FOOTPRINTS;
}

/* Adds all points of a recording to their curves. Texts that are no requests are skipped. */
static enum fth_status collect_points(const struct fth_recording *recording, json_t *curves,
                                      struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fth_recording_answer_count(recording) && status == FTH_OK; i++) {
        size_t size;
        const char *text = fth_recording_key(recording, i, &size);
        struct fth_error fault = FTH_NO_ERROR;
        struct fth_request request;
        struct walk walk;
        struct fth_samples samples = {0};
        if (fth_request_read(text, size, &request, &fault) == FTH_NO_MEMORY)
            return fth_error_move(error, &fault);
        if (fault.status != FTH_OK || !describe(&request, &walk))
            continue;
        status = fth_recording_answer(recording, i, &samples, error);
        if (status == FTH_OK && samples.status == FTH_OK && samples.count)
            status = add_point(curves, &walk, &samples, error);
        fth_samples_fini(&samples);
    }
    return status;
}

/* Returns an object that identifies the GPU, with the same keys as in bench results. The page uses
 * them to group documents by GPU. NULL: out of memory. */
static json_t *identify(const struct fth_recording *recording)
{
    static const char *const names[] = {"name", "backend", "driver", "uuid"};
    json_t *device = json_pack("{s:s}", "id", fth_recording_device(recording));
    struct fth_gpu *gpu = NULL;
    if (fth_recording_description_count(recording) > 0 && fth_gpu_create(&gpu, NULL) == FTH_OK &&
        fth_recording_add_description(recording, 0, gpu, NULL) == FTH_OK)
        for (size_t i = 0; i < FTH_COUNT(names); i++) {
            const char *text = fth_gpu_text(gpu, "device", names[i]);
            if (text)
                json_object_set_new(device, names[i], json_string(text));
        }
    fth_gpu_destroy(gpu);
    return device;
}

enum fth_status fth_evidence_read(const char *path, struct fth_buffer *content, json_t **root,
                                  struct fth_error *error)
{
    struct fth_recording *recording = NULL;
    json_t *curves = json_object(), *list = json_array(), *curve;
    const char *name;
    *root = NULL;
    enum fth_status status = fth_recording_parse(path, content, &recording, error);
    if (status == FTH_OK)
        status = collect_points(recording, curves, error);
    json_object_foreach (curves, name, curve)
        if (is_curve(json_object_get(curve, "points")))
            json_array_append(list, curve);
    if (status == FTH_OK)
        *root = json_pack("{s:s, s:o, s:O}", "schema", "fathom-evidence/1", "device",
                          identify(recording), "curves", list);
    if (status == FTH_OK && !*root)
        status = fth_no_memory(error, "read recording", path);
    json_decref(list);
    json_decref(curves);
    fth_recording_destroy(recording);
    return status;
}
