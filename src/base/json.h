/* base/json.h: parses JSON with jansson, and names the position of a value in error messages. Only
 * files that read JSON include this header, and with it jansson's. */
#ifndef FTH_JSON_H
#define FTH_JSON_H

#include "base/base.h"

#include <jansson.h>

/* Integers beyond ±2^53 are not represented exactly by all JSON readers (RFC 8259, section 6), so
 * numbers beyond it are rejected. */
#define FTH_JSON_MAX_NUMBER 9007199254740992.0

/* The position of a value in a document: "elements.l1.set_ways[3]". A longer path is truncated. */
struct fth_json_path {
    char text[192];
    size_t size; /* of `text` */
};

/* Append a key or "[index]". They return the previous size, for fth_json_path_back. */
size_t fth_json_path_key(struct fth_json_path *path, const char *key);
size_t fth_json_path_index(struct fth_json_path *path, size_t index);
/* Shortens the path to a previous size. */
void fth_json_path_back(struct fth_json_path *path, size_t size);
/* Returns the path as text; "the document" if it is empty. */
const char *fth_json_path_text(const struct fth_json_path *path);
/* Fails with FTH_INVALID. The cause consists of the path and the reason; `name` is the document. */
FTH_PRINTF(5, 6)
enum fth_status fth_json_refuse(struct fth_error *error, const char *operation, const char *name,
                                const struct fth_json_path *path, const char *reason, ...);

/* Parses a whole document. The caller releases *root with json_decref. FTH_INVALID: the text is not
 * JSON or an object has the same key twice; the error has line, column and path. Also if it has
 * more than 2^24 values. */
FTH_MUST_USE enum fth_status fth_json_parse(const char *name, const char *text, size_t size,
                                            json_t **root, struct fth_error *error);
/* Finds the path of the value or key at byte `offset` of `text`. The path ends early if the value
 * is nested too deeply. */
void fth_json_path_at(const char *text, size_t size, size_t offset, struct fth_json_path *path);

#endif
