/* Converts points and the header of an exploration to lines of JSON. Each line ends with a
 * checksum, so that a line that was cut off or changed is not mistaken for a result. */
#include "explore/explore.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
uint64_t fth_line_checksum(const void *data, size_t size, uint64_t start)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++)
        start = (start ^ at[i]) * UINT64_C(0x100000001b3);
    return start;
}

#define CHECKSUM_KEY ",\"check\":\""
enum { CHECKSUM_BYTES = sizeof CHECKSUM_KEY - 1 + 16 + 2 }; /* with the 16 digits and \"} */

void fth_line_add_checksum(struct fth_buffer *line, size_t from)
{
    if (!line->failed)
        fth_buffer_format(line, CHECKSUM_KEY "%016llx\"}",
                          (unsigned long long)fth_line_checksum(line->data + from,
                                                                line->size - from, FTH_LINE_START));
}

bool fth_line_verify(const char *line, size_t size)
{
    char expected[CHECKSUM_BYTES + 1];
    if (size <= CHECKSUM_BYTES)
        return false;
    snprintf(expected, sizeof expected, CHECKSUM_KEY "%016llx\"}",
             (unsigned long long)fth_line_checksum(line, size - CHECKSUM_BYTES, FTH_LINE_START));
    return memcmp(line + size - CHECKSUM_BYTES, expected, CHECKSUM_BYTES) == 0;
}

size_t fth_line_point(const char *line, size_t size)
{
    static const char begin[] = "{\"point\": ";
    if (size < sizeof begin || memcmp(line, begin, sizeof begin - 1) != 0)
        return SIZE_MAX;
    return (size_t)strtoull(line + sizeof begin - 1, NULL, 10);
}

/* ---- the header ---- */

static void put_setting(struct fth_json_writer *json, const char *name, const char *value)
{
    fth_json_key(json, name);
    fth_json_text(json, value);
}

static void put_inputs(struct fth_json_writer *json, const struct fth_exploration *exploration)
{
    fth_json_key(json, "traces");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < exploration->input_count; i++) {
        char content[24];
        fth_json_begin(json, '{', true);
        put_setting(json, "name", exploration->inputs[i].name);
        fth_json_key(json, "accesses");
        fth_json_number(json, (double)exploration->inputs[i].accesses);
        snprintf(content, sizeof content, "%016llx",
                 (unsigned long long)exploration->inputs[i].content);
        put_setting(json, "content", content);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void put_parameters(struct fth_json_writer *json, const struct fth_model_params *params)
{
    struct fth_model_parameter parameter;
    fth_json_begin(json, '{', true);
    for (size_t i = 0; fth_model_parameter(i, &parameter); i++)
        put_setting(json, parameter.name, fth_model_value(params, i, NULL));
    fth_json_end(json, '}');
}

static void put_gpus(struct fth_json_writer *json, const struct fth_exploration *exploration)
{
    if (!exploration->gpu_count)
        return;
    fth_json_key(json, "gpus");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < exploration->gpu_count; i++) {
        fth_json_begin(json, '{', true);
        put_setting(json, "name", exploration->gpus[i].name);
        fth_json_key(json, "parameters");
        put_parameters(json, exploration->gpus[i].params);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void put_settings(struct fth_json_writer *json, const struct fth_explore_setting *settings,
                         size_t count)
{
    fth_json_key(json, "set");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < count; i++) {
        fth_json_begin(json, '{', true);
        put_setting(json, settings[i].name, settings[i].value);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void put_axis(struct fth_json_writer *json, const struct fth_axis *axis)
{
    fth_json_begin(json, '{', true);
    fth_json_key(json, "names");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < axis->name_count; i++)
        fth_json_text(json, axis->names[i]);
    fth_json_end(json, ']');
    fth_json_key(json, "values");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < axis->value_count; i++)
        fth_json_text(json, axis->values[i]);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

static void put_study(struct fth_json_writer *json, const struct fth_exploration *exploration,
                      const struct fth_study *study)
{
    fth_json_begin(json, '{', true);
    put_setting(json, "name", study->name);
    fth_json_key(json, "l1_off");
    fth_json_bool(json, study->l1_off);
    fth_json_key(json, "traces");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < study->input_count; i++) {
        fth_json_begin(json, '{', true);
        put_setting(json, "name", exploration->inputs[study->inputs[i]].name);
        if (study->kernels[i])
            put_setting(json, "kernel", study->kernels[i]);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
    put_settings(json, study->settings, study->setting_count);
    fth_json_key(json, "vary");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < study->axis_count; i++)
        put_axis(json, &study->axes[i]);
    fth_json_end(json, ']');
    fth_json_end(json, '}');
}

void fth_line_describe(struct fth_buffer *out, const struct fth_exploration *exploration)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', true);
    put_setting(&json, "schema", "fathom-explore/1");
    put_setting(&json, "fathom", fth_version());
    put_inputs(&json, exploration);
    fth_json_key(&json, "base");
    put_parameters(&json, exploration->base);
    put_gpus(&json, exploration);
    put_settings(&json, exploration->settings, exploration->setting_count);
    fth_json_key(&json, "studies");
    fth_json_begin(&json, '[', true);
    for (size_t i = 0; i < exploration->study_count; i++)
        if (exploration->studies[i].points)
            put_study(&json, exploration, &exploration->studies[i]);
    fth_json_end(&json, ']');
    fth_json_key(&json, "points");
    fth_json_number(&json, (double)exploration->points);
}

void fth_line_header(struct fth_buffer *out, const char *header, uint64_t identity, size_t shard,
                     size_t shards)
{
    const size_t from = out->size;
    fth_buffer_text(out, header);
    fth_buffer_format(out, ",\"exploration\":\"%016llx\"", (unsigned long long)identity);
    if (shards > 1)
        fth_buffer_format(out, ",\"shard\":\"%zu/%zu\"", shard, shards);
    fth_line_add_checksum(out, from);
}

/* ---- points ---- */

/* A count for reads, writes and atomics. */
static void put_triple(struct fth_json_writer *json, const char *key, const uint64_t triple[3])
{
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (int i = 0; i < 3; i++)
        fth_json_number(json, (double)triple[i]);
    fth_json_end(json, ']');
}

static void put_counts(struct fth_json_writer *json, const char *key,
                       const struct fth_model_counts *counts)
{
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    put_triple(json, "requests", counts->requests);
    put_triple(json, "sectors", counts->sectors);
    put_triple(json, "hits", counts->hits);
    put_triple(json, "merges", counts->merges);
    fth_json_end(json, '}');
}

static void put_count(struct fth_json_writer *json, const char *key, uint64_t number)
{
    fth_json_key(json, key);
    fth_json_number(json, (double)number);
}

/* Longest profile that is written: 64 ways and the misses. Longer ones belong to large fully
 * associative caches, and would take up most of the file. */
enum { MAX_PROFILE_COUNT = 65 };

static void put_profile(struct fth_json_writer *json, const char *key,
                        const struct fth_model_profile *profile)
{
    if (profile->count == 0 || profile->count > MAX_PROFILE_COUNT)
        return;
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < profile->count; i++)
        fth_json_number(json, (double)profile->counts[i]);
    fth_json_end(json, ']');
}

/* A number that may be unknown; then there is no such key. */
static void put_known(struct fth_json_writer *json, const char *key, double number)
{
    if (isnan(number))
        return;
    fth_json_key(json, key);
    fth_json_number(json, number);
}

/* What the L2 receives and what memory transfers, in bytes, and the time floor. */
static void put_traffic(struct fth_json_writer *json, const struct fth_model_row *row,
                        const struct fth_model_params *params)
{
    const double sector = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_SECTOR)].number;
    const double line = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_LINE)].number;
    const uint64_t bytes = (uint64_t)(sector > 0 ? sector : line);
    uint64_t sectors = 0;
    for (int kind = 0; kind < 3; kind++)
        sectors += row->l2.sectors[kind];
    put_count(json, "l2_bytes", sectors * bytes);
    put_count(json, "dram_bytes", (row->dram_reads + row->dram_writes) * bytes);
    put_known(json, "time_floor_us", round(1e9 * fth_model_floor_s(row, params, NULL)) / 1e3);
}

/* `timed`: the row has a time instead of steps and fails. */
static void put_row(struct fth_json_writer *json, const struct fth_study *study, bool timed,
                    const struct fth_model_row *row, const struct fth_model_params *params)
{
    fth_json_begin(json, '{', true);
    char name[FTH_NAME_BYTES];
    fth_demangle(row->kernel, FTH_NAME_SHORT, name, sizeof name);
    put_setting(json, "kernel", row->kernel);
    put_setting(json, "demangled", name);
    put_count(json, "launches", row->launches);
    put_count(json, "l1_bytes", row->l1_bytes);
    put_count(json, "blocks_per_sm", row->blocks_at_once);
    put_triple(json, "warps", row->warps);
    put_counts(json, "l1", &row->l1);
    if (!timed) {
        put_count(json, "l1_steps", row->l1_steps);
        put_count(json, "l1_fails", row->l1_fails);
    }
    put_profile(json, "c1r", &row->l1_profile[0]);
    put_profile(json, "c1w", &row->l1_profile[1]);
    put_counts(json, "l2", &row->l2);
    put_profile(json, "c2r", &row->l2_profile[0]);
    put_profile(json, "c2w", &row->l2_profile[1]);
    if (study->l1_off)
        put_counts(json, "l2_l1_off", &row->bypassed);
    if (!timed) {
        put_count(json, "l2_steps", row->l2_steps);
        put_count(json, "l2_fails", row->l2_fails);
    }
    put_count(json, "far_hits", row->far_hits);
    put_count(json, "dram_reads", row->dram_reads);
    put_count(json, "dram_writes", row->dram_writes);
    put_traffic(json, row, params);
    put_known(json, "access_cycles", fth_model_access_cycles(row, params));
    put_known(json, "time_us", round(1e9 * row->seconds) / 1e3);
    fth_json_end(json, '}');
}

/* Begins the line of a point: what the point is. */
static void put_point(struct fth_json_writer *json, const struct fth_point *point)
{
    fth_json_begin(json, '{', true);
    put_count(json, "point", point->number); /* first, where fth_line_point expects it */
    put_setting(json, "study", point->study->name);
    if (point->gpu)
        put_setting(json, "gpu", point->gpu->name);
    put_setting(json, "trace", point->input->name);
    fth_json_key(json, "values");
    fth_json_begin(json, '{', true);
    for (size_t a = 0; a < point->study->axis_count; a++) {
        const struct fth_axis *axis = &point->study->axes[a];
        for (size_t i = 0; i < axis->name_count; i++) {
            char text[128];
            fth_value_part(axis->values[point->values[a]], i, text, sizeof text);
            put_setting(json, axis->names[i], text);
        }
    }
    fth_json_end(json, '}');
}

/* The writer separates key and value like this. A text in a line has no quotation marks, because
 * JSON escapes them. */
static const char skipped_key[] = "\"skipped\": \"";

void fth_line_write_skipped(struct fth_buffer *out, const struct fth_point *point,
                            const char *reason)
{
    const size_t from = out->size;
    struct fth_json_writer json = {.out = out};
    put_point(&json, point);
    put_setting(&json, "skipped", reason);
    fth_json_key(&json, "rows");
    fth_json_begin(&json, '[', true);
    fth_json_end(&json, ']');
    fth_line_add_checksum(out, from);
}

bool fth_line_is_skipped(const char *line, size_t size)
{
    const size_t key = sizeof skipped_key - 1;
    for (size_t i = 0; i + key <= size; i++) {
        const char *quote = memchr(line + i, '"', size - i);
        if (!quote || (size_t)(line + size - quote) < key)
            return false;
        i = (size_t)(quote - line);
        if (memcmp(quote, skipped_key, key) == 0)
            return true;
    }
    return false;
}

void fth_line_write(struct fth_buffer *out, const struct fth_point *point,
                    const struct fth_model_result *result, const struct fth_model_params *params)
{
    const size_t from = out->size;
    const struct fth_model_row *row;
    struct fth_json_writer json = {.out = out};
    put_point(&json, point);
    fth_json_key(&json, "timed");
    fth_json_bool(&json, result->timed);
    fth_json_key(&json, "rows");
    fth_json_begin(&json, '[', true);
    for (size_t i = 0; (row = fth_model_row(result, i)); i++)
        if (row->launch == SIZE_MAX && !row->instruction)
            put_row(&json, point->study, result->timed, row, params);
    fth_json_end(&json, ']');
    fth_line_add_checksum(out, from);
}
