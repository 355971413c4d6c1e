/* The values of a measurement as bytes: few enough that 10,000 measurements of 150 figures take
 * less than 20 MB.
 *
 *   measurement := (figure, tag, value, [confidence])*      figures in ascending order
 *   fingerprint := (tag, value)*
 *   figure      := number of its name in the table `text`, as a variable-length integer
 *   tag         := one byte: the form of the value, plus HAS_CONFIDENCE
 *   value       := FORM_DOUBLE: 8 bytes, little-endian; FORM_TEXT: number of the text;
 *                  FORM_DECIMAL + k: the value times 10^k, a whole number with its sign in bit 0
 *   confidence  := 4 bytes, a float, little-endian
 *
 * Most figures are whole numbers or have one decimal, so they take 1 to 6 bytes. Every value reads
 * back as the same number. The bytes can come from a hostile file; the reader checks all of them.
 */
#include "fleet/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read fleet history";

enum {
    FORM_DOUBLE,
    FORM_TEXT,
    FORM_DECIMAL,
    MAX_DECIMALS = 4,
    FORM_END = FORM_DECIMAL + MAX_DECIMALS + 1,
    HAS_CONFIDENCE = 0x40
};
static const double powers[MAX_DECIMALS + 1] = {1, 10, 100, 1e3, 1e4};
/* Largest whole number that is stored as such: doubles have 53 bits. */
#define MAX_WHOLE 9007199254740992.0

/* ---- writing ---- */

static void put_whole(struct fth_buffer *out, uint64_t number)
{
    unsigned char bytes[10];
    size_t count = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[count++] = (unsigned char)(number | 0x80);
    bytes[count++] = (unsigned char)number;
    fth_buffer_append(out, bytes, count);
}

static void put_bytes(struct fth_buffer *out, uint64_t bits, size_t count)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    fth_buffer_append(out, bytes, count);
}

/* Finds the shortest form of a number. */
static unsigned find_form(double number, uint64_t *whole)
{
    for (unsigned k = 0; k <= MAX_DECIMALS; k++) {
        const double scaled = rint(number * powers[k]);
        if (fabs(scaled) < MAX_WHOLE && scaled / powers[k] == number &&
            !(number == 0 && signbit(number))) {
            const uint64_t magnitude = (uint64_t)fabs(scaled);
            *whole = magnitude << 1 | (uint64_t)(scaled < 0);
            return FORM_DECIMAL + k;
        }
    }
    return FORM_DOUBLE;
}

static void put_number(struct fth_buffer *out, double number, unsigned flags)
{
    uint64_t whole = 0, bits;
    const unsigned form = find_form(number, &whole);
    const unsigned char tag = (unsigned char)(form | flags);
    fth_buffer_append(out, &tag, 1);
    if (form == FORM_DOUBLE) {
        memcpy(&bits, &number, sizeof bits);
        put_bytes(out, bits, sizeof bits);
    } else {
        put_whole(out, whole);
    }
}

static bool put_value(const struct fth_history_encoder *encoder,
                      const struct fth_fleet_value *value, struct fth_buffer *out)
{
    const bool has_confidence = !isnan(value->confidence);
    const unsigned flags = has_confidence ? HAS_CONFIDENCE : 0;
    put_whole(out, (uint64_t)encoder->figure_ids[value->figure]);
    if (value->text) {
        const int64_t id = encoder->find(encoder->user, value->text);
        const unsigned char tag = (unsigned char)(FORM_TEXT | flags);
        if (id == 0)
            return false;
        fth_buffer_append(out, &tag, 1);
        put_whole(out, (uint64_t)id);
    } else {
        put_number(out, value->number, flags);
    }
    if (has_confidence) {
        uint32_t bits;
        memcpy(&bits, &value->confidence, sizeof bits);
        put_bytes(out, bits, sizeof bits);
    }
    return true;
}

/* A value, and the number of its figure, by which values are ordered. */
struct ordered {
    int64_t id;
    const struct fth_fleet_value *value;
};

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = ((const struct ordered *)a)->id, right = ((const struct ordered *)b)->id;
    return (left > right) - (left < right);
}

bool fth_history_encode(const struct fth_history_encoder *encoder,
                        const struct fth_fleet_measurement *measurement, struct fth_buffer *figures,
                        struct fth_buffer *fingerprint)
{
    struct ordered *order = calloc(measurement->value_count + 1, sizeof *order);
    bool good = order != NULL;
    for (size_t i = 0; good && i < measurement->value_count; i++)
        order[i] = (struct ordered){encoder->figure_ids[measurement->values[i].figure],
                                    &measurement->values[i]};
    if (good && measurement->value_count > 1)
        qsort(order, measurement->value_count, sizeof *order, compare_ids);
    for (size_t i = 0; good && i < measurement->value_count; i++)
        if (order[i].value->text || isfinite(order[i].value->number))
            good = put_value(encoder, order[i].value, figures);
    for (size_t i = 0; good && i < measurement->fingerprint_count; i++)
        put_number(fingerprint, measurement->fingerprint[i], 0);
    free(order);
    return good && !figures->failed && !fingerprint->failed;
}

/* ---- reading ---- */

/* The bytes that are not read yet. */
struct source {
    const unsigned char *at, *end;
};

static bool get_whole(struct source *source, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 63 && source->at < source->end; shift += 7) {
        const unsigned char byte = *source->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool get_bytes(struct source *source, size_t count, uint64_t *bits)
{
    if ((size_t)(source->end - source->at) < count)
        return false;
    *bits = 0;
    for (size_t i = 0; i < count; i++)
        *bits |= (uint64_t)source->at[i] << 8 * i;
    source->at += count;
    return true;
}

static bool get_number(struct source *source, unsigned form, double *number)
{
    uint64_t bits;
    if (form == FORM_DOUBLE) {
        if (!get_bytes(source, sizeof bits, &bits))
            return false;
        memcpy(number, &bits, sizeof bits);
        return isfinite(*number);
    }
    if (form < FORM_DECIMAL || form >= FORM_END || !get_whole(source, &bits) ||
        (double)(bits >> 1) > MAX_WHOLE)
        return false;
    *number = (double)(bits >> 1) / powers[form - FORM_DECIMAL] * (bits & 1 ? -1 : 1);
    return true;
}

/* Reads one value. Returns false if it is malformed. */
static bool get_value(const struct fth_fleet_history *history, struct source *source,
                      const char **name, struct fth_fleet_value *value)
{
    uint64_t id, bits;
    if (!get_whole(source, &id) || source->at == source->end)
        return false;
    *name = fth_history_text(history, (int64_t)id);
    const unsigned tag = *source->at++, form = tag & ~(unsigned)HAS_CONFIDENCE;
    *value = (struct fth_fleet_value){.number = NAN, .confidence = NAN};
    if (form == FORM_TEXT) {
        if (!get_whole(source, &id))
            return false;
        value->text = fth_history_text(history, (int64_t)id);
        if (!value->text)
            return false;
    } else if (!get_number(source, form, &value->number)) {
        return false;
    }
    if (tag & HAS_CONFIDENCE) {
        if (!get_bytes(source, sizeof(uint32_t), &bits))
            return false;
        const uint32_t small = (uint32_t)bits;
        memcpy(&value->confidence, &small, sizeof small);
        if (!(value->confidence >= 0 && value->confidence <= 1))
            return false;
    }
    return *name != NULL;
}

static enum fth_status fail_malformed(const struct fth_fleet_history *history,
                                      struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, operation, fth_store_path(history->store),
                    "the values of a measurement are malformed; add all measurements again to a "
                    "new file");
}

/* A figure could not be added to the fleet: it has too many, or memory is missing. */
static enum fth_status fail_figure(const struct fth_fleet_history *history,
                                   const struct fth_fleet *fleet, const char *name,
                                   struct fth_error *error)
{
    const char *path = fth_store_path(history->store);
    if (fleet->figure_count < FTH_FLEET_MAX_FIGURES)
        return fth_no_memory(error, operation, path);
    return fth_fail(error, FTH_INVALID, operation, path,
                    "%.60s: the measurements that are read have more than %d figures, the maximum",
                    name, FTH_FLEET_MAX_FIGURES);
}

enum fth_status fth_history_decode(const struct fth_fleet_history *history, const void *figures,
                                   size_t size, struct fth_fleet *fleet, struct fth_arena *arena,
                                   struct fth_fleet_draft *draft, struct fth_error *error)
{
    struct source source = {figures, (const unsigned char *)figures + size};
    /* Each value has at least 3 bytes. */
    struct fth_fleet_value *values = fth_arena_array(arena, size / 3 + 1, sizeof *values);
    if (!values)
        return fth_no_memory(error, operation, NULL);
    draft->values = values;
    draft->value_count = 0;
    while (source.at < source.end) {
        const char *name = NULL;
        struct fth_fleet_value *value = &values[draft->value_count];
        if (!get_value(history, &source, &name, value))
            return fail_malformed(history, error);
        value->figure = fth_fleet_figure_index(fleet, name);
        if (value->figure == UINT32_MAX)
            return fail_figure(history, fleet, name, error);
        draft->value_count++;
    }
    return FTH_OK;
}

enum fth_status fth_history_decode_map(const struct fth_fleet_history *history, const void *map,
                                       size_t size, struct fth_arena *arena,
                                       struct fth_fleet_draft *draft, struct fth_error *error)
{
    struct source source = {map, (const unsigned char *)map + size};
    double *latencies = fth_arena_array(arena, size / 2 + 1, sizeof *latencies);
    if (!latencies)
        return fth_no_memory(error, operation, NULL);
    draft->fingerprint_count = 0;
    while (source.at < source.end) {
        const unsigned form = *source.at++;
        double *latency = &latencies[draft->fingerprint_count++];
        if (form == FORM_TEXT || !get_number(&source, form, latency) || !(*latency > 0))
            return fail_malformed(history, error);
    }
    draft->fingerprint = latencies;
    return FTH_OK;
}
