/* Reads records and fields of CSV (RFC 4180): fields are separated by commas, a field in quotes can
 * contain commas, newlines and, doubled, quotes. Both kinds of line ends are accepted. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* Ends a field that began with a quote; returns its end in the text, after the closing quote. The
 * content moves down over doubled quotes. */
static char *unquote(char *field, uint64_t *lines)
{
    char *from = field, *to = field;
    for (; *from; from++) {
        if (*from == '"' && *++from != '"')
            break;
        *lines += *from == '\n';
        *to++ = *from;
    }
    /* Characters between the closing quote and the comma belong to no field; they are skipped. */
    while (*from && *from != ',' && *from != '\n' && *from != '\r')
        from++;
    /* `to` is before `from`, unless the text ended within the quotes. */
    if (to < from)
        *to = '\0';
    return from;
}

static bool add_field(struct fth_csv_reader *reader, char *field)
{
    void *fields = reader->fields;
    if (!fth_grow(&fields, reader->count, &reader->capacity, sizeof *reader->fields))
        return false;
    reader->fields = fields;
    reader->fields[reader->count++] = field;
    return true;
}

enum fth_status fth_csv_next(struct fth_csv_reader *reader, bool *more, struct fth_error *error)
{
    reader->count = 0;
    reader->line = reader->next_line ? reader->next_line : 1;
    reader->next_line = reader->line;
    *more = *reader->at != '\0';
    if (!*more)
        return FTH_OK;
    for (char end = ','; end == ',';) {
        char *field = reader->at, *stop;
        if (*field == '"')
            stop = unquote(++field, &reader->next_line);
        else
            stop = field + strcspn(field, ",\r\n");
        if (!add_field(reader, field))
            return fth_no_memory(error, "read CSV", NULL);
        end = *stop;
        *stop = '\0';
        reader->at = stop + (end != '\0');
        if (end == '\r' && *reader->at == '\n')
            reader->at++;
    }
    reader->next_line++;
    return FTH_OK;
}

void fth_csv_fini(struct fth_csv_reader *reader)
{
    free(reader->fields);
}
