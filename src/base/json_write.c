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
