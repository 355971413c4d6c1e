/* Reads JSON with jansson. Errors contain the line, the column and the path of the faulty value. */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

static void path_append(struct fth_json_path *path, const char *text)
{
    size_t space = sizeof path->text - path->size;
    int size = snprintf(path->text + path->size, space, "%s", text);
    path->size += (size_t)size < space ? (size_t)size : space - 1;
}

size_t fth_json_path_key(struct fth_json_path *path, const char *key)
{
    size_t before = path->size;
    if (before)
        path_append(path, ".");
    path_append(path, key);
    return before;
}

size_t fth_json_path_index(struct fth_json_path *path, size_t index)
{
    size_t before = path->size;
    char text[32];
    snprintf(text, sizeof text, "[%zu]", index);
    path_append(path, text);
    return before;
}

void fth_json_path_back(struct fth_json_path *path, size_t size)
{
    path->size = size;
    path->text[size] = '\0';
}

const char *fth_json_path_text(const struct fth_json_path *path)
{
    return path->size ? path->text : "the document";
}

enum fth_status fth_json_refuse(struct fth_error *error, const char *operation, const char *name,
                                const struct fth_json_path *path, const char *reason, ...)
{
    va_list arguments;
    char text[256];
    va_start(arguments, reason);
    fth_vformat(text, sizeof text, reason, arguments);
    va_end(arguments);
    return fth_fail(error, FTH_INVALID, operation, name, "%s: %s", fth_json_path_text(path), text);
}

/* jansson reports the position of an error in the text, but not its path in the document. This
 * function therefore scans the text up to that position, with a stack of open objects and lists.
 * The text before the error is well-formed, so the scan does not check it. */
void fth_json_path_at(const char *text, size_t size, size_t offset, struct fth_json_path *path)
{
    enum { MAX_DEPTH = 16 }; /* documents of fathom are nested less deeply */
    struct {
        size_t path_size; /* length of the path of the object or list itself */
        size_t index;     /* of the current item of a list */
        bool list;
    } open[MAX_DEPTH];
    size_t depth = 0;
    *path = (struct fth_json_path){.size = 0};
    if (offset > size)
        offset = size;
    for (size_t i = 0; i < offset; i++) {
        char c = text[i];
        if (c == '"') {
            size_t start = ++i;
            while (i < size && text[i] != '"')
                i += text[i] == '\\' ? 2 : 1;
            size_t end = i < size ? i : size;
            size_t next = end + 1;
            while (next < size && strchr(" \t\r\n", text[next]))
                next++;
            /* A string in an object is a key if ':' follows. The text behind the error is read,
             * too: jansson reports a repeated key before it reads the colon. */
            bool key = depth && !open[depth - 1].list && next < size && text[next] == ':';
            if (key) {
                char name[64];
                snprintf(name, sizeof name, "%.*s", (int)(end - start > 60 ? 60 : end - start),
                         text + start);
                fth_json_path_back(path, open[depth - 1].path_size);
                fth_json_path_key(path, name);
            }
        } else if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return;
            open[depth].path_size = path->size;
            open[depth].index = 0;
            open[depth].list = c == '[';
            if (open[depth++].list)
                fth_json_path_index(path, 0);
        } else if ((c == '}' || c == ']') && depth) {
            fth_json_path_back(path, open[--depth].path_size);
        } else if (c == ',' && depth) {
            fth_json_path_back(path, open[depth - 1].path_size);
            if (open[depth - 1].list)
                fth_json_path_index(path, ++open[depth - 1].index);
        }
    }
}

/* Maximum number of values of a document. jansson needs up to a hundred bytes for a value of two
 * characters, so a limit on the size of the text does not bound the memory enough. Chosen: 1.6 GB;
 * the largest document in the tests has less than a million values. */
#define MAX_VALUES ((size_t)1 << 24)

/* Returns an upper bound of the number of values of a document: an object or list has at most one
 * more than commas. Brackets and commas in strings are counted, too. */
static size_t count_values(const char *text, size_t size)
{
    size_t count = 1;
    for (size_t i = 0; i < size; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count;
}

/* Parses the text. If that fails, returns NULL, and `fault` has the error that jansson reports. */
static json_t *try_to_parse(const char *text, size_t size, json_error_t *fault)
{
    *fault = (json_error_t){.line = -1};
    return json_loadb(text, size, JSON_REJECT_DUPLICATES, fault);
}

/* Whether jansson has found a fault in the text. Without memory, it often reports no error; the
 * line is then -1. */
static bool is_fault_of_text(const json_error_t *fault)
{
    return fault->line >= 0 && json_error_code(fault) != json_error_out_of_memory;
}

enum fth_status fth_json_parse(const char *name, const char *text, size_t size, json_t **root,
                               struct fth_error *error)
{
    json_error_t fault, again;
    *root = NULL;
    if (count_values(text, size) > MAX_VALUES)
        return fth_fail(error, FTH_INVALID, "read JSON", name,
                        "it has more than %zu values, the limit for a document", MAX_VALUES);
    *root = try_to_parse(text, size, &fault);
    if (*root)
        return FTH_OK;
    if (!is_fault_of_text(&fault))
        return fth_no_memory(error, "read JSON", name);
    /* jansson 2.14 reports a string for which there is no memory as an invalid token. Only a text
     * that is not JSON fails a second time at the same position. Without memory, the second attempt
     * fails at its first allocation, and jansson reports no error. */
    *root = try_to_parse(text, size, &again);
    if (*root)
        return FTH_OK;
    if (!is_fault_of_text(&again) || fault.position != again.position)
        return fth_no_memory(error, "read JSON", name);
    struct fth_json_path path;
    /* The position is just behind the faulty token. The token itself is excluded, because it may be
     * a bracket that closes the object or list in question. */
    fth_json_path_at(text, size, fault.position > 0 ? (size_t)fault.position - 1 : 0, &path);
    return fth_fail(error, FTH_INVALID, "read JSON", name, "line %d, column %d%s%s: %s", fault.line,
                    fault.column, path.size ? ", at " : "", path.text, fault.text);
}
