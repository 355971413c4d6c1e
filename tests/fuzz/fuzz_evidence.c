/* Fuzzes the conversion of recordings to latency curves (fth_evidence_read). The input is a list of
 * lines "REQUEST=SAMPLE,SAMPLE,...", from which a valid recording is made; fuzz_recording.c tests
 * invalid ones. Requests can be any text. The conversion must fail with a message or give a
 * document in which the percentiles of every point are in order. */
#include "base/json.h"
#include "report/report.h"
#include "support/complete.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const struct fth_json *point)
{
    const double low = fth_json_double(fth_json_get(point, "p05"));
    const double median = fth_json_double(fth_json_get(point, "median"));
    const double high = fth_json_double(fth_json_get(point, "p95"));
    const size_t kept = fth_json_count(fth_json_get(point, "samples"));
    if (!(low <= median && median <= high) || kept == 0)
        abort();
    if (fth_json_integer(fth_json_get(point, "footprint")) < 0 ||
        fth_json_integer(fth_json_get(point, "count")) < (int64_t)kept)
        abort();
}

static void check_document(const struct fth_json *root)
{
    struct fth_buffer text = {0};
    struct fth_json_document again = {0};
    fth_json_write(&text, root, 17, true);
    if (fth_json_parse("written", text.data, text.size, &again, NULL) != FTH_OK)
        abort();
    fth_json_fini(&again);
    fth_buffer_fini(&text);
    FTH_JSON_EACH_ITEM (curve, fth_json_get(root, "curves")) {
        if (!fth_json_string(fth_json_get(curve, "path")))
            abort();
        FTH_JSON_EACH_ITEM (point, fth_json_get(curve, "points"))
            check_point(point);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_json_document document = {0};
    fuzz_put_recording(&content, (const char *)data, size);
    enum fth_status status = fth_evidence_read("fuzz", &content, &document, &error);
    if (status != FTH_OK && !error.cause[0])
        abort();
    if (status == FTH_OK)
        check_document(document.root);
    fth_json_fini(&document);
    fth_buffer_fini(&content);
    return 0;
}
