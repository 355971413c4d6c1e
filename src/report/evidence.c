/* What figures were read off, from a recording: the latencies of single loads against the bytes
 * that were walked over, for each way that loads took and each stride; and the pace of code against
 * its length. A document fathom-evidence/1, for the report's charts.
 *
 * Taken are requests that walk a chain and then time the same chain (docs/recording.md); others ask
 * questions that have no footprint. Of the samples of a walk a few are kept, at even distances, and
 * the summary is of all of them. */
#include "device/recording.h"
#include "report/report.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SAMPLES = 96, FEWEST_POINTS = 4 };

/* A request whose answer is a point of a curve. */
struct walk {
    char curve[96]; /* what all points of a curve have in common */
    char path[16];
    uint64_t stride, footprint;
    int carveout;    /* -1: not said */
    bool whole;      /* a sample a pass: of so many loads */
    double per_load; /* loads, or instructions, that a sample is of */
    bool code;
};

/* ---- the text of a request (docs/recording.md): each takes what it knows from *at on ---- */

static bool take(const char **at, const char *text)
{
    size_t size = strlen(text);
    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool take_number(const char **at, uint64_t *number)
{
    *number = 0;
    const char *begin = *at;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (*number > (UINT64_C(1) << 53) / 10)
            return false;
        *number = *number * 10 + (uint64_t)(**at - '0');
    }
    return *at > begin;
}

struct chain {
    char path[16];
    uint64_t array, stride, count;
};

/* "ca 0:32x128[ passes N]", the whole array in order; other chains are none of ours. */
static bool take_chain(const char **at, struct chain *chain)
{
    size_t size = strcspn(*at, " ");
    uint64_t passes;
    if (size == 0 || size >= sizeof chain->path)
        return false;
    memset(chain->path, 0, sizeof chain->path);
    memcpy(chain->path, *at, size);
    *at += size;
    if (!take(at, " ") || !take_number(at, &chain->array) || !take(at, ":") ||
        !take_number(at, &chain->stride) || !take(at, "x") || !take_number(at, &chain->count))
        return false;
    return !take(at, " passes ") || take_number(at, &passes);
}

/* "walk CHAIN; time-hops CHAIN" of the same chain, and then what holds for both. */
static bool parse_walk(const char *at, struct walk *walk)
{
    struct chain walked, timed;
    uint64_t carveout;
    bool hops = false, passes = false;
    if (!take(&at, "walk ") || !take_chain(&at, &walked) || !take(&at, "; time-"))
        return false;
    hops = take(&at, "hops ");
    passes = !hops && take(&at, "pass ");
    if ((!hops && !passes) || !take_chain(&at, &timed) || strcmp(walked.path, timed.path) != 0 ||
        walked.array != timed.array || walked.stride != timed.stride ||
        walked.count != timed.count || timed.count == 0 ||
        timed.stride > (UINT64_C(1) << 53) / timed.count)
        return false;
    *walk = (struct walk){.stride = timed.stride,
                          .footprint = timed.stride * timed.count,
                          .carveout = -1,
                          .whole = passes,
                          .per_load = passes ? (double)timed.count : 1};
    memcpy(walk->path, timed.path, sizeof walk->path);
    while (take(&at, "; ")) {
        if (take(&at, "carveout ") && take_number(&at, &carveout) && carveout <= 100)
            walk->carveout = (int)carveout;
        else if (strncmp(at, "walk", 4) == 0 || strncmp(at, "time", 4) == 0)
            return false;
        else
            at += strcspn(at, ";");
    }
    snprintf(walk->curve, sizeof walk->curve, "%s %llu %d %d", walk->path,
             (unsigned long long)walk->stride, walk->carveout, walk->whole);
    return *at == '\0';
}

/* "fetch 64 passes 8" */
static bool parse_fetch(const char *at, struct walk *walk)
{
    uint64_t instructions, passes;
    if (!take(&at, "fetch ") || !take_number(&at, &instructions) || !take(&at, " passes ") ||
        !take_number(&at, &passes) || *at || instructions == 0)
        return false;
    *walk = (struct walk){.path = "code",
                          .curve = "code",
                          .footprint = instructions,
                          .carveout = -1,
                          .whole = true,
                          .per_load = (double)instructions,
                          .code = true};
    return true;
}

/* ---- curves ---- */

/* The curve of that name, begun where there is none. */
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
    json_object_set_new(curve, "timed", json_string(walk->whole ? "passes" : "loads"));
    json_object_set_new(curves, walk->curve, curve);
    return json_object_get(curves, walk->curve);
}

/* Two decimals are what a cycle is good for. */
static json_t *rounded(double number)
{
    return json_real(round(number * 100) / 100);
}

static enum fth_status add_point(json_t *curves, const struct walk *walk,
                                 const struct fth_samples *samples, struct fth_error *error)
{
    struct fth_summary summary;
    enum fth_status status = fth_summary_u32(samples->cycles, samples->count, &summary, error);
    if (status != FTH_OK)
        return status;
    const size_t kept = samples->count < MAX_SAMPLES ? samples->count : MAX_SAMPLES;
    json_t *point = json_object(), *list = json_array();
    for (size_t i = 0; i < kept; i++) {
        const size_t at = i * samples->count / kept;
        json_array_append_new(list, rounded(samples->cycles[at] / walk->per_load));
    }
    json_object_set_new(point, "footprint", json_integer((json_int_t)walk->footprint));
    json_object_set_new(point, "mean", rounded(summary.mean / walk->per_load));
    json_object_set_new(point, "p05", rounded(summary.p05 / walk->per_load));
    json_object_set_new(point, "median", rounded(summary.median / walk->per_load));
    json_object_set_new(point, "p95", rounded(summary.p95 / walk->per_load));
    json_object_set_new(point, "count", json_integer((json_int_t)samples->count));
    json_object_set_new(point, "sm", json_integer(samples->sm));
    json_object_set_new(point, "samples", list);
    json_array_append_new(json_object_get(find_curve(curves, walk), "points"), point);
    return FTH_OK;
}

/* Whether there are so many footprints: a few repeats of one are no curve. */
static bool is_curve(const json_t *points)
{
    json_int_t seen[FEWEST_POINTS];
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(points) && count < FEWEST_POINTS; i++) {
        json_int_t mine =
            json_integer_value(json_object_get(json_array_get(points, i), "footprint"));
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || seen[j] == mine;
        if (!known)
            seen[count++] = mine;
    }
    return count == FEWEST_POINTS;
}

static enum fth_status gather(const struct fth_recording *recording, json_t *curves,
                              struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fth_recording_answer_count(recording) && status == FTH_OK; i++) {
        size_t size;
        const char *text = fth_recording_key(recording, i, &size);
        char key[512];
        struct walk walk;
        struct fth_samples samples = {0};
        if (size >= sizeof key)
            continue;
        memcpy(key, text, size);
        key[size] = '\0';
        if (!parse_walk(key, &walk) && !parse_fetch(key, &walk))
            continue;
        status = fth_recording_answer(recording, i, &samples, error);
        if (status == FTH_OK && samples.status == FTH_OK && samples.count)
            status = add_point(curves, &walk, &samples, error);
        fth_samples_fini(&samples);
    }
    return status;
}

/* Which GPU it was, under the keys that benches have; by these a report finds what belongs
 * together. NULL where there is no memory. */
static json_t *identify(const struct fth_recording *recording)
{
    static const char *const names[] = {"name", "backend", "driver", "uuid"};
    json_t *device = json_pack("{s:s}", "id", fth_recording_device(recording));
    struct fth_gpu *gpu = NULL;
    if (fth_recording_description_count(recording) > 0 && fth_gpu_create(&gpu, NULL) == FTH_OK &&
        fth_recording_description(recording, 0, gpu, NULL) == FTH_OK)
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
        status = gather(recording, curves, error);
    json_object_foreach (curves, name, curve)
        if (is_curve(json_object_get(curve, "points")))
            json_array_append(list, curve);
    if (status == FTH_OK)
        *root = json_pack("{s:s, s:o, s:O}", "schema", "fathom-evidence/1", "device",
                          identify(recording), "curves", list);
    if (status == FTH_OK && !*root)
        status = fth_fail(error, FTH_NO_MEMORY, "read recording", path, "out of memory");
    json_decref(list);
    json_decref(curves);
    fth_recording_destroy(recording);
    return status;
}
