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
    return step->chain.start_bytes == 0 && fth_chain_step(&step->chain) == 1 &&
           step->chain.seed == 0 && step->warp == 0 && !step->reverse;
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

/* Fills `walk` if the request fetches straight-line code several times and nothing else. */
static bool describe_fetch(const struct fth_request *request, struct walk *walk)
{
    const struct fth_fetch *fetch = &request->fetch;
    if (fetch->passes == 1 || fetch->stride_bytes || fetch->constants.count ||
        request->sm != FTH_ANY_SM || request->carveout_percent != -1)
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

/* Returns the curve of a point, and adds it if it is new. `curves` is an object with a member per
 * curve. */
static struct fth_json *find_curve(struct fth_json_document *document, struct fth_json *curves,
                                   const struct walk *walk)
{
    struct fth_json *curve = fth_json_get(curves, walk->curve);
    if (curve)
        return curve;
    curve = fth_json_put(document, curves, fth_arena_text(&document->arena, walk->curve),
                         FTH_JSON_OBJECT);
    fth_json_put_text(document, curve, "path", walk->path);
    fth_json_put_text(document, curve, "unit", walk->code ? "instructions" : "bytes");
    fth_json_put(document, curve, "points", FTH_JSON_LIST);
    if (!walk->code)
        fth_json_put_integer(document, curve, "stride_bytes", (int64_t)walk->stride);
    if (walk->carveout >= 0)
        fth_json_put_integer(document, curve, "carveout_percent", walk->carveout);
    fth_json_put_text(document, curve, "timed", walk->whole_passes ? "passes" : "loads");
    return curve;
}

/* Adds a number, rounded to two decimals, which is enough for cycles. */
static void put_rounded(struct fth_json_document *document, struct fth_json *parent,
                        const char *key, double number)
{
    fth_json_put_real(document, parent, key, round(number * 100) / 100);
}

/* Adds a point with the samples, divided by the loads or instructions per sample. */
static enum fth_status add_point(struct fth_json_document *document, struct fth_json *curves,
                                 const struct walk *walk, const struct fth_samples *samples,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_u32(samples->cycles, samples->count, &summary, error));
    const size_t kept = samples->count < MAX_SAMPLES ? samples->count : MAX_SAMPLES;
    const double loads = walk->loads_per_sample;
    struct fth_json *points = fth_json_get(find_curve(document, curves, walk), "points");
    struct fth_json *point = fth_json_put(document, points, NULL, FTH_JSON_OBJECT);
    fth_json_put_integer(document, point, "footprint", (int64_t)walk->footprint);
    put_rounded(document, point, "mean", summary.mean / loads);
    put_rounded(document, point, "p05", summary.p05 / loads);
    put_rounded(document, point, "median", summary.median / loads);
    put_rounded(document, point, "p95", summary.p95 / loads);
    fth_json_put_integer(document, point, "count", (int64_t)samples->count);
    fth_json_put_integer(document, point, "sm", samples->sm);
    struct fth_json *list = fth_json_put(document, point, "samples", FTH_JSON_LIST);
    for (size_t i = 0; i < kept; i++) {
        const size_t index = i * samples->count / kept;
        put_rounded(document, list, NULL, samples->cycles[index] / loads);
    }
    return FTH_OK;
}

/* Returns whether the points have at least MIN_FOOTPRINTS different footprints. */
static bool is_curve(const struct fth_json *points)
{
    int64_t seen[MIN_FOOTPRINTS];
    size_t count = 0;
    FTH_JSON_EACH_ITEM (point, points) {
        const int64_t footprint = fth_json_integer(fth_json_get(point, "footprint"));
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || seen[j] == footprint;
        if (!known)
            seen[count++] = footprint;
        if (count == MIN_FOOTPRINTS)
            break;
    }
    return count == MIN_FOOTPRINTS;
}

/* Adds all points of a recording to their curves. Texts that are no requests are skipped. */
static enum fth_status collect_points(const struct fth_recording *recording,
                                      struct fth_json_document *document, struct fth_json *curves,
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
            status = add_point(document, curves, &walk, &samples, error);
        fth_samples_fini(&samples);
    }
    return status;
}

/* Adds a text. One that is not UTF-8 is replaced by "?". */
static void put_valid(struct fth_json_document *document, struct fth_json *parent, const char *key,
                      const char *text)
{
    fth_json_put_text(document, parent, key, fth_utf8_is_valid(text) ? text : "?");
}

/* Adds an object that identifies the GPU, with the same keys as in bench results. The page uses
 * them to group documents by GPU. A description that is not valid is left out. */
static enum fth_status identify(const struct fth_recording *recording,
                                struct fth_json_document *document, struct fth_error *error)
{
    static const char *const names[] = {"name", "backend", "driver", "uuid"};
    struct fth_json *device = fth_json_put(document, document->root, "device", FTH_JSON_OBJECT);
    struct fth_gpu *gpu = NULL;
    struct fth_error fault = FTH_NO_ERROR;
    put_valid(document, device, "id", fth_recording_device(recording));
    if (fth_recording_description_count(recording) > 0 && fth_gpu_create(&gpu, &fault) == FTH_OK &&
        fth_recording_add_description(recording, 0, gpu, &fault) == FTH_OK)
        for (size_t i = 0; i < FTH_COUNT(names); i++) {
            const char *text = fth_gpu_text(gpu, "device", names[i]);
            if (text)
                put_valid(document, device, names[i], text);
        }
    fth_gpu_destroy(gpu);
    return fault.status == FTH_NO_MEMORY ? fth_error_move(error, &fault) : FTH_OK;
}

/* Adds the list of those curves that have enough points. */
static void put_curves(struct fth_json_document *document, struct fth_json *curves)
{
    struct fth_json *list = fth_json_put(document, document->root, "curves", FTH_JSON_LIST), *next;
    for (struct fth_json *curve = fth_json_members(curves); curve; curve = next) {
        next = curve->next;
        curve->next = NULL;
        if (is_curve(fth_json_get(curve, "points")))
            fth_json_attach(document, list, NULL, curve);
    }
}

enum fth_status fth_evidence_read(const char *path, struct fth_buffer *content,
                                  struct fth_json_document *document, struct fth_error *error)
{
    struct fth_recording *recording = NULL;
    struct fth_json *root = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    struct fth_json *curves = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    fth_json_put_text(document, root, "schema", "fathom-evidence/1");
    if (document->failed) {
        fth_buffer_fini(content);
        return fth_no_memory(error, "read recording", path);
    }
    enum fth_status status = fth_recording_parse(path, content, &recording, error);
    if (status == FTH_OK)
        status = identify(recording, document, error);
    if (status == FTH_OK)
        status = collect_points(recording, document, curves, error);
    if (status == FTH_OK)
        put_curves(document, curves);
    if (status == FTH_OK && document->failed)
        status = fth_no_memory(error, "read recording", path);
    fth_recording_destroy(recording);
    return status;
}
