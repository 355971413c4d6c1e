/* Fuzzes the conversion of recordings to latency curves (fth_evidence_read). The input is a list of
 * lines "REQUEST=SAMPLE,SAMPLE,...", from which a valid recording is made; fuzz_recording.c tests
 * invalid ones. Requests can be any text. The conversion must fail with a message or give a
 * document in which the percentiles of every point are in order. */
#include "base/json.h"
#include "device/recording.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends the answer of one line to the recording. A line without '=' has no samples. */
static void put_line(const char *line, size_t size, struct fth_buffer *out)
{
    const char *equals = memchr(line, '=', size);
    const size_t key_size = equals ? (size_t)(equals - line) : size;
    uint32_t cycles[MAX_SAMPLES];
    struct fth_samples samples = {.clock_mhz = NAN, .cycles = cycles};
    uint32_t number = 0;
    for (size_t i = key_size + 1; i < size && samples.count < MAX_SAMPLES; i++) {
        if (line[i] >= '0' && line[i] <= '9')
            number = number * 10 + (uint32_t)(line[i] - '0');
        if (i + 1 == size || line[i] == ',') {
            cycles[samples.count++] = number;
            number = 0;
        }
    }
    fth_recording_put_answer(line, key_size, &samples, out);
}

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
    uint64_t entries = 0;
    fth_recording_put_header("cuda:0", &content);
    for (size_t from = 0; from < size; entries++) {
        const char *line = (const char *)data + from, *stop = memchr(line, '\n', size - from);
        const size_t length = stop ? (size_t)(stop - line) : size - from;
        put_line(line, length, &content);
        from += length + 1;
    }
    fth_recording_put_end(
        entries, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, content.data, content.size),
        &content);
    enum fth_status status = fth_evidence_read("fuzz", &content, &document, &error);
    if (status != FTH_OK && !error.cause[0])
        abort();
    if (status == FTH_OK)
        check_document(document.root);
    fth_json_fini(&document);
    fth_buffer_fini(&content);
    return 0;
}
