/* Fuzzes the conversion of recordings to latency curves (fth_evidence_read). The input is a list of
 * lines "REQUEST=SAMPLE,SAMPLE,...", from which a valid recording is made; fuzz_recording.c tests
 * invalid ones. Requests can be any text. The conversion must fail with a message or give a
 * document in which the percentiles of every point are in order. */
#include "base/json.h"
#include "report/report.h"
#include "support/complete.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const json_t *point)
{
    const double low = json_number_value(json_object_get(point, "p05"));
    const double median = json_number_value(json_object_get(point, "median"));
    const double high = json_number_value(json_object_get(point, "p95"));
    const size_t kept = json_array_size(json_object_get(point, "samples"));
    if (!(low <= median && median <= high) || kept == 0)
        abort();
    if (json_integer_value(json_object_get(point, "footprint")) < 0 ||
        json_integer_value(json_object_get(point, "count")) < (json_int_t)kept)
        abort();
}

static void check_document(const json_t *root)
{
    const json_t *curve, *point;
    size_t i, j;
    char *text = json_dumps(root, JSON_COMPACT);
    if (!text)
        abort();
    free(text);
    json_array_foreach (json_object_get(root, "curves"), i, curve) {
        if (!json_string_value(json_object_get(curve, "path")))
            abort();
        json_array_foreach (json_object_get(curve, "points"), j, point)
            check_point(point);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    json_t *root = NULL;
    fuzz_put_recording(&content, (const char *)data, size);
    enum fth_status status = fth_evidence_read("fuzz", &content, &root, &error);
    if (status != FTH_OK && !error.cause[0])
        abort();
    if (status == FTH_OK)
        check_document(root);
    json_decref(root);
    fth_buffer_fini(&content);
    return 0;
}
