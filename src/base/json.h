/* base/json.h: JSON documents in memory, their reader and their writer, and the position of a value
 * in error messages. Only files that read JSON include this header.
 *
 * All values of a document live in its arena and are freed together. A document that is built
 * remembers a failed allocation, as a struct fth_buffer does, so a builder checks only once. */
#ifndef FTH_JSON_H
#define FTH_JSON_H

#include "base/base.h"

/* Integers beyond ±2^53 are not represented exactly by all JSON readers (RFC 8259, section 6), so
 * numbers beyond it are rejected. */
#define FTH_JSON_MAX_NUMBER 9007199254740992.0

/* Maximum depth of a value: lists and objects around it, and the value itself. Chosen: far above
 * the depth of any document of fathom, and the recursion needs less than 1 MiB of stack. */
enum { FTH_JSON_MAX_DEPTH = 2048 };

/* ---- json_value.c ---- */

enum fth_json_kind {
    FTH_JSON_NULL,
    FTH_JSON_FALSE,
    FTH_JSON_TRUE,
    FTH_JSON_INTEGER, /* a number without fraction and exponent */
    FTH_JSON_REAL,    /* any other number */
    FTH_JSON_TEXT,
    FTH_JSON_LIST,
    FTH_JSON_OBJECT
};

/* A value. `next` is the next item of the list, or the next member of the object, in the order of
 * the document. */
struct fth_json {
    enum fth_json_kind kind;
    const char *key; /* NULL: the value is not a member of an object */
    struct fth_json *next;
    union {
        int64_t integer;
        double real;
        struct {
            const char *text; /* UTF-8, without a NUL in it, followed by a NUL */
            size_t size;      /* of `text` in bytes */
        };
        struct fth_json_items *items; /* of a list or an object */
    };
};

/* Initialised with {0}; released with fth_json_fini. */
struct fth_json_document {
    struct fth_arena arena;
    struct fth_json *root;  /* NULL: the document is empty */
    struct fth_json *spare; /* values that are allocated, but not yet used */
    size_t spare_count;
    bool failed; /* an allocation has failed; the document is incomplete */
};

void fth_json_fini(struct fth_json_document *document);

/* Each of the following functions accepts a value of any kind, and NULL for a value that a document
 * does not have. */

/* Return the first item of a list, the first member of an object and the number of items of a list.
 * NULL and 0 for values of other kinds. */
struct fth_json *fth_json_items(const struct fth_json *list);
struct fth_json *fth_json_members(const struct fth_json *object);
size_t fth_json_count(const struct fth_json *list);
/* Loops over the items of a list, or over the members of an object, as `const struct fth_json *`.
 */
#define FTH_JSON_EACH_ITEM(item, list)                                                             \
    for (const struct fth_json *item = fth_json_items(list); item; item = (item)->next)
#define FTH_JSON_EACH_MEMBER(member, object)                                                       \
    for (const struct fth_json *member = fth_json_members(object); member; member = (member)->next)
/* Returns an item of a list, in time proportional to the index; NULL: there is none. */
struct fth_json *fth_json_item(const struct fth_json *list, size_t index);
/* Returns the member of an object; NULL: there is none, or the value is no object. */
struct fth_json *fth_json_get(const struct fth_json *object, const char *key);
static inline bool fth_json_is(const struct fth_json *value, enum fth_json_kind kind)
{
    return value && value->kind == kind;
}
static inline bool fth_json_is_number(const struct fth_json *value)
{
    return fth_json_is(value, FTH_JSON_INTEGER) || fth_json_is(value, FTH_JSON_REAL);
}
/* Return the text, the integer and the number of a value; NULL or 0 for values of other kinds. */
static inline const char *fth_json_string(const struct fth_json *value)
{
    return fth_json_is(value, FTH_JSON_TEXT) ? value->text : NULL;
}
static inline int64_t fth_json_integer(const struct fth_json *value)
{
    return fth_json_is(value, FTH_JSON_INTEGER) ? value->integer : 0;
}
double fth_json_double(const struct fth_json *value);

/* Build a document. They return the new value, or NULL when an allocation has failed, now or
 * before; a NULL parent is accepted, so the results need no check until `failed` is checked.
 * `parent` NULL with `root` NULL: the value becomes the root. `key` is NULL in a list. An object
 * must not have the key yet. A key is not copied; it must live as long as the document, as
 * literals and texts of its arena do. A NULL key in an object counts as a failed allocation of the
 * key. Texts are copied. Keys and texts must be UTF-8. */
struct fth_json *fth_json_put(struct fth_json_document *document, struct fth_json *parent,
                              const char *key, enum fth_json_kind kind);
struct fth_json *fth_json_put_integer(struct fth_json_document *document, struct fth_json *parent,
                                      const char *key, int64_t integer);
struct fth_json *fth_json_put_real(struct fth_json_document *document, struct fth_json *parent,
                                   const char *key, double real);
struct fth_json *fth_json_put_text(struct fth_json_document *document, struct fth_json *parent,
                                   const char *key, const char *text);
/* Appends a value of the same document that has no parent. */
void fth_json_attach(struct fth_json_document *document, struct fth_json *parent, const char *key,
                     struct fth_json *value);
/* Removes a member from an object; does nothing if there is none. */
void fth_json_remove(struct fth_json *object, const char *key);
/* Returns the size of the UTF-8 character at the beginning of `text`, whose size is `size` > 0, in
 * bytes; 0: invalid. */
size_t fth_utf8_character(const char *text, size_t size);
/* Returns whether the whole text is UTF-8. */
bool fth_utf8_is_valid(const char *text);

/* ---- json_path.c ---- */

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
/* Finds the path of the value or key at byte `offset` of `text`. The path ends early if the value
 * is nested too deeply. */
void fth_json_path_at(const char *text, size_t size, size_t offset, struct fth_json_path *path);

/* ---- json_read.c ---- */

/* Reads a whole text into the document, whose root becomes the object or list. Values that the
 * document already has stay valid. After a failure, the document is empty. FTH_INVALID: the text is
 * not JSON (RFC 8259), an object has the same key twice, a text contains \u0000, an integer does
 * not fit into 64 bits, or the text is nested deeper than FTH_JSON_MAX_DEPTH; the error has line,
 * column and path. Also if it has more than 2^24 values. */
FTH_MUST_USE enum fth_status fth_json_parse(const char *name, const char *text, size_t size,
                                            struct fth_json_document *document,
                                            struct fth_error *error);

/* ---- json_write.c ---- */

/* Appends a value as JSON without spaces. Real numbers have `digits` significant digits, and a
 * fraction or an exponent, so that they are read as real numbers again. `ascii`: other characters
 * are escaped. */
void fth_json_write(struct fth_buffer *out, const struct fth_json *value, int digits, bool ascii);

#endif
