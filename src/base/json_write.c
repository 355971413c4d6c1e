/* Writes JSON directly to a buffer, with one member per line or, where that is easier to read, a
 * whole object or list on one line. Numbers are written so that they read back as the same double;
 * reading a document and writing it again therefore does not change it. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fth_number_format(double number, char *text, size_t size)
{
    if (number == rint(number) && fabs(number) <= FTH_JSON_MAX_NUMBER) {
        snprintf(text, size, "%.0f", number == 0 ? 0.0 : number);
        return text;
    }
    for (int digits = 15; digits <= 17; digits++) {
        fth_format(text, size, "%.*g", digits, number);
        if (fth_strtod(text, NULL) == number)
            break;
    }
    return text;
}

static bool flat(const struct fth_json_writer *writer)
{
    return writer->flat_depth && writer->depth >= writer->flat_depth;
}

static void new_line(struct fth_json_writer *writer)
{
    fth_buffer_text(writer->out, "\n");
    fth_buffer_repeat(writer->out, "  ", writer->depth);
}

/* Writes what separates a member of an object or list from the previous one. */
static void separate(struct fth_json_writer *writer)
{
    if (writer->depth == 0)
        return;
    if (!writer->first)
        fth_buffer_text(writer->out, flat(writer) ? ", " : ",");
    if (!flat(writer))
        new_line(writer);
    writer->first = false;
}

/* Writes the separator before a value, unless it follows its key. */
static void before_value(struct fth_json_writer *writer)
{
    if (!writer->after_key)
        separate(writer);
    writer->after_key = false;
}

void fth_json_begin(struct fth_json_writer *writer, char bracket, bool one_line)
{
    before_value(writer);
    fth_buffer_append(writer->out, &bracket, 1);
    writer->depth++;
    writer->first = true;
    if (one_line && !writer->flat_depth)
        writer->flat_depth = writer->depth;
}

void fth_json_end(struct fth_json_writer *writer, char bracket)
{
    bool was_flat = flat(writer);
    if (writer->flat_depth == writer->depth)
        writer->flat_depth = 0;
    writer->depth--;
    if (!was_flat && !writer->first)
        new_line(writer);
    fth_buffer_append(writer->out, &bracket, 1);
    writer->first = false;
    if (writer->depth == 0)
        fth_buffer_text(writer->out, "\n");
}

static void quoted(struct fth_buffer *out, const char *text)
{
    fth_buffer_text(out, "\"");
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            fth_buffer_format(out, "\\%c", c);
        else if (c == '\n')
            fth_buffer_text(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            fth_buffer_format(out, "\\u%04x", c);
        else
            fth_buffer_append(out, at, 1);
    }
    fth_buffer_text(out, "\"");
}

void fth_json_key(struct fth_json_writer *writer, const char *key)
{
    separate(writer);
    quoted(writer->out, key);
    fth_buffer_text(writer->out, ": ");
    writer->after_key = true;
}

void fth_json_text(struct fth_json_writer *writer, const char *text)
{
    before_value(writer);
    quoted(writer->out, text);
}

void fth_json_number(struct fth_json_writer *writer, double number)
{
    char text[40];
    before_value(writer);
    fth_buffer_text(writer->out,
                    isfinite(number) ? fth_number_format(number, text, sizeof text) : "null");
}

void fth_json_bool(struct fth_json_writer *writer, bool value)
{
    fth_json_raw(writer, value ? "true" : "false");
}

void fth_json_null(struct fth_json_writer *writer)
{
    fth_json_raw(writer, "null");
}

void fth_json_raw(struct fth_json_writer *writer, const char *json)
{
    before_value(writer);
    fth_buffer_text(writer->out, json);
}

/* ---- values ---- */

/* Appends a real number with a fraction or an exponent. The exponent has no '+' and no zeros in
 * front. */
static void put_real(struct fth_buffer *out, double real, int digits)
{
    char text[40];
    fth_format(text, sizeof text, "%.*g", digits, real);
    char *exponent = strchr(text, 'e');
    const size_t size = exponent ? (size_t)(exponent - text) : strlen(text);
    fth_buffer_append(out, text, size);
    if (exponent)
        fth_buffer_format(out, "e%d", atoi(exponent + 1));
    else if (!strchr(text, '.'))
        fth_buffer_text(out, ".0");
}

/* Appends a character that is not ASCII as \uXXXX, or as a surrogate pair. */
static void put_escaped(struct fth_buffer *out, const char *character, size_t size)
{
    uint32_t point = (unsigned char)character[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++)
        point = point << 6 | ((unsigned char)character[i] & 0x3f);
    if (point < 0x10000)
        fth_buffer_format(out, "\\u%04X", point);
    else
        fth_buffer_format(out, "\\u%04X\\u%04X", 0xd800 | (point - 0x10000) >> 10,
                          0xdc00 | ((point - 0x10000) & 0x3ff));
}

static void put_text(struct fth_buffer *out, const char *text, bool ascii)
{
    static const char specials[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const size_t size = strlen(text);
    fth_buffer_text(out, "\"");
    for (size_t at = 0, length; at < size; at += length) {
        const char *special = strchr(specials, text[at]);
        length = fth_utf8_character(text + at, size - at);
        if (length == 0) {
            fth_buffer_text(out, "?");
            length = 1;
        } else if (special)
            fth_buffer_format(out, "\\%c", letters[special - specials]);
        else if (length == 1 && (unsigned char)text[at] < 0x20)
            fth_buffer_format(out, "\\u%04X", (unsigned)text[at]);
        else if (length > 1 && ascii)
            put_escaped(out, text + at, length);
        else
            fth_buffer_append(out, text + at, length);
    }
    fth_buffer_text(out, "\"");
}

void fth_json_write(struct fth_buffer *out, const struct fth_json *value, int digits, bool ascii)
{
    const bool object = value->kind == FTH_JSON_OBJECT;
    switch (value->kind) {
    case FTH_JSON_NULL: fth_buffer_text(out, "null"); return;
    case FTH_JSON_FALSE: fth_buffer_text(out, "false"); return;
    case FTH_JSON_TRUE: fth_buffer_text(out, "true"); return;
    case FTH_JSON_INTEGER: fth_buffer_format(out, "%lld", (long long)value->integer); return;
    case FTH_JSON_REAL: put_real(out, value->real, digits); return;
    case FTH_JSON_TEXT: put_text(out, value->text, ascii); return;
    case FTH_JSON_LIST:
    case FTH_JSON_OBJECT: break;
    }
    const struct fth_json *first = object ? fth_json_members(value) : fth_json_items(value);
    fth_buffer_text(out, object ? "{" : "[");
    for (const struct fth_json *item = first; item && !out->failed; item = item->next) {
        fth_buffer_text(out, item == first ? "" : ",");
        if (object) {
            put_text(out, item->key, ascii);
            fth_buffer_text(out, ":");
        }
        fth_json_write(out, item, digits, ascii);
    }
    fth_buffer_text(out, object ? "}" : "]");
}
