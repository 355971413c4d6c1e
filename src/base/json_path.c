/* The path of a value in a JSON document, for error messages. */
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

/* Scans the text up to the position, with a stack of open objects and lists. The reader does not
 * keep the path while it reads, because only errors need it. The text before the error is
 * well-formed, so the scan does not check it. */
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
             * too: the reader reports a repeated key before it reads the colon. */
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
