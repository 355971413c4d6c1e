/* base/: what every other module stands on, and nothing of GPUs.
 *
 *   error.c   status and error messages        text.c    sizes, suggestions, printable text
 *   arena.c   memory freed all at once         rng.c     seeded random numbers
 *   buffer.c  growable bytes                   log.c     log and progress through callbacks
 *   json_read.c, json_write.c                  file.c    whole and atomic files
 *   zstream.c zstd streams                     dl.c      tables of functions from shared objects
 */
#ifndef FTH_BASE_H
#define FTH_BASE_H

#include "fathom/fathom.h"

#include <jansson.h>
#include <stdarg.h>

#if defined(__GNUC__)
#define FTH_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define FTH_INLINE inline __attribute__((always_inline)) /* where it was seen to be faster */
#else
#define FTH_PRINTF(string, first)
#define FTH_INLINE inline
#endif

#define FTH_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The smaller of two values. Evaluates the smaller one twice, so neither may have side effects. */
#define FTH_MIN(a, b) ((a) < (b) ? (a) : (b))

/* A file built into the program by scripts/embed. */
struct fth_embedded {
    const char *name; /* without the suffix */
    const char *data; /* ends with a NUL */
    size_t size;
};

/* ---- error.c ---- */

/* Fills `error` (which may be NULL) unless it already holds one, and returns `status`, so that a
 * failing function can `return fth_fail(…)`. `argument` may be NULL. */
FTH_PRINTF(5, 6)
enum fth_status fth_fail(struct fth_error *error, enum fth_status status, const char *operation,
                         const char *argument, const char *cause, ...);
/* Puts "context: " in front of the cause. */
FTH_PRINTF(2, 3) void fth_error_context(struct fth_error *error, const char *context, ...);

/* ---- log.c ---- */

FTH_PRINTF(3, 4)
void fth_log_message(const struct fth_log *log, enum fth_level level, const char *format, ...);
void fth_log_progress(const struct fth_log *log, const char *what, double fraction);
bool fth_log_interrupted(const struct fth_log *log);

/* ---- arena.c: memory that lives and dies together ---- */

struct fth_arena {
    struct fth_arena_block *blocks; /* newest first; NULL is an empty arena */
};

/* Zeroed memory, aligned for anything; NULL when there is none left. */
void *fth_arena_alloc(struct fth_arena *arena, size_t size);
/* `count * size` checked for overflow. */
void *fth_arena_array(struct fth_arena *arena, size_t count, size_t size);
char *fth_arena_text(struct fth_arena *arena, const char *text);
void fth_arena_fini(struct fth_arena *arena);
/* Fresh memory that will be used all over: where the system has large pages for it, it gets them.
 */
void fth_memory_large(void *memory, size_t size);

/* ---- buffer.c: growable bytes, always followed by a NUL ---- */

/* Appending after a failed allocation does nothing, so that a writer checks once, at the end. */
struct fth_buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void fth_buffer_append(struct fth_buffer *buffer, const void *data, size_t size);
void fth_buffer_text(struct fth_buffer *buffer, const char *text);
FTH_PRINTF(2, 3) void fth_buffer_format(struct fth_buffer *buffer, const char *format, ...);
void fth_buffer_repeat(struct fth_buffer *buffer, const char *text, size_t times);
/* Room for `extra` more bytes; false, and `failed` set, when there is none. */
bool fth_buffer_reserve(struct fth_buffer *buffer, size_t extra);
/* Hands the bytes over (to be freed with fth_free) and empties the buffer. */
FTH_MUST_USE enum fth_status fth_buffer_take(struct fth_buffer *buffer, char **text, size_t *size,
                                             struct fth_error *error);
void fth_buffer_fini(struct fth_buffer *buffer);

/* Room for one more than `count` in an array that doubles; false, and the array as it was, when
 * there is no memory. `items` is the array's pointer, as void *. */
bool fth_grow(void **items, size_t count, size_t *capacity, size_t size);

/* ---- rng.c: xoshiro256**, seeded through splitmix64 ---- */

struct fth_rng {
    uint64_t state[4];
};

void fth_rng_init(struct fth_rng *rng, uint64_t seed);
uint64_t fth_rng_next(struct fth_rng *rng);
/* Uniform in [0, bound), without bias; bound > 0. */
uint64_t fth_rng_below(struct fth_rng *rng, uint64_t bound);
/* Uniform in [0, 1). */
double fth_rng_unit(struct fth_rng *rng);

/* ---- text.c ---- */

/* "32 KiB", "24.5 MiB", "140 GiB", "512 B": at most two decimals, exact where it can be. */
const char *fth_size_format(double bytes, char *text, size_t size);
/* The nearest of the words, however far, and how many edits away it is; NULL where there are none.
 */
const char *fth_nearest(const char *word, const char *const *words, size_t count, size_t *distance);
/* Columns that UTF-8 text takes, every code point counted as one. */
size_t fth_text_columns(const char *text);
/* Appends at most `columns` columns of the text with control characters and broken UTF-8 replaced
 * by '?', `ellipsis` in place of what is cut; returns the columns appended. */
size_t fth_text_append(struct fth_buffer *buffer, const char *text, size_t columns,
                       const char *ellipsis);

/* ---- json_read.c ---- */

/* Numbers outside ±2^53 are not kept exactly by JSON readers (RFC 8259, 6), so they are refused. */
#define FTH_JSON_MAX_NUMBER 9007199254740992.0

/* Where in a document we are: "elements.l1.set_ways[3]". */
struct fth_json_path {
    char text[192];
    size_t size;
};

/* Adds a key (or [index]) and returns the size before, to be handed to fth_json_path_back. */
size_t fth_json_path_key(struct fth_json_path *path, const char *key);
size_t fth_json_path_index(struct fth_json_path *path, size_t index);
void fth_json_path_back(struct fth_json_path *path, size_t size);
/* Where it leads, in words. */
const char *fth_json_place(const struct fth_json_path *path);
/* Fails with what is wrong at that place of document `name`. */
FTH_PRINTF(5, 6)
enum fth_status fth_json_refuse(struct fth_error *error, const char *operation, const char *name,
                                const struct fth_json_path *path, const char *reason, ...);

/* Parses a whole document; repeated keys are refused. The error carries line, column and path. */
FTH_MUST_USE enum fth_status fth_json_parse(const char *name, const char *text, size_t size,
                                            json_t **root, struct fth_error *error);
/* The JSON path of the value or key that holds byte `offset` of `text`, as far as it can be told.
 */
void fth_json_path_at(const char *text, size_t size, size_t offset, struct fth_json_path *path);

/* ---- json_write.c: a writer that never holds the document ---- */

/* Each container is written either a member a line or, `flat`, on one line. */
struct fth_json_writer {
    struct fth_buffer *out;
    unsigned depth;
    unsigned flat_depth; /* depth of the outermost flat container; 0: none */
    bool first;          /* nothing written yet in the current container */
    bool after_key;      /* the next value belongs to the key just written */
};

void fth_json_begin(struct fth_json_writer *writer, char bracket, bool flat); /* '{' or '[' */
void fth_json_end(struct fth_json_writer *writer, char bracket);              /* '}' or ']' */
void fth_json_key(struct fth_json_writer *writer, const char *key);
void fth_json_text(struct fth_json_writer *writer, const char *text);
void fth_json_number(struct fth_json_writer *writer, double number);
void fth_json_bool(struct fth_json_writer *writer, bool value);
void fth_json_null(struct fth_json_writer *writer);
/* JSON text that stands for itself. */
void fth_json_raw(struct fth_json_writer *writer, const char *json);
/* The shortest decimal that reads back as the same double; whole numbers without exponent. */
const char *fth_number_format(double number, char *text, size_t size);

/* ---- file.c ---- */

/* A file that appears under its name only when it is complete. */
struct fth_atomic_file;

FTH_MUST_USE enum fth_status fth_atomic_open(const char *path, struct fth_atomic_file **file,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_atomic_write(struct fth_atomic_file *file, const void *data,
                                              size_t size, struct fth_error *error);
/* Flushes, renames and frees. On failure nothing is left behind. */
FTH_MUST_USE enum fth_status fth_atomic_commit(struct fth_atomic_file *file,
                                               struct fth_error *error);
/* Throws away what was written and frees; takes NULL. */
void fth_atomic_abort(struct fth_atomic_file *file);

/* A whole file ("-": standard input), decompressed where it is zstd, of at most `limit` bytes. */
FTH_MUST_USE enum fth_status fth_file_read(const char *path, size_t limit,
                                           struct fth_buffer *content, struct fth_error *error);

/* ---- zstream.c ---- */

struct fth_zreader;

/* Reads `path` ("-": standard input); a file that does not begin as zstd does is passed through. */
FTH_MUST_USE enum fth_status fth_zreader_open(const char *path, struct fth_zreader **reader,
                                              struct fth_error *error);
/* At most `size` bytes; *got is 0 at the end. A truncated or altered frame is an error. */
FTH_MUST_USE enum fth_status fth_zreader_read(struct fth_zreader *reader, void *data, size_t size,
                                              size_t *got, struct fth_error *error);
void fth_zreader_close(struct fth_zreader *reader);

struct fth_zwriter;

/* Compresses, with a checksum, into an atomic file. */
FTH_MUST_USE enum fth_status fth_zwriter_open(const char *path, int level,
                                              struct fth_zwriter **writer, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_zwriter_write(struct fth_zwriter *writer, const void *data,
                                               size_t size, struct fth_error *error);
/* As fth_atomic_commit and fth_atomic_abort. */
FTH_MUST_USE enum fth_status fth_zwriter_commit(struct fth_zwriter *writer,
                                                struct fth_error *error);
void fth_zwriter_abort(struct fth_zwriter *writer);

/* ---- dl.c ---- */

/* One function of a table: where its pointer goes, and the names to try, newest first. */
struct fth_dl_symbol {
    const char *names[3];
    size_t offset;
    bool optional;
};

/* Opens the first of `sonames` (ends with NULL) that loads, and fills the function pointers of
 * `table`. `handle` is closed with fth_dl_close. */
FTH_MUST_USE enum fth_status fth_dl_open(const char *const *sonames,
                                         const struct fth_dl_symbol *symbols, size_t count,
                                         void *table, void **handle, struct fth_error *error);
void fth_dl_close(void *handle);

#endif
