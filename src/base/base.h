/* base/: utilities that every other module uses. Nothing here is specific to GPUs.
 *
 *   error.c     status and error messages      text.c        sizes, suggestions, printable text
 *   arena.c     memory freed all at once       rng.c         seeded random numbers
 *   buffer.c    growable bytes and arrays      log.c         log and progress callbacks
 *   json.h      documents: json_value.c, their reader json_read.c, paths for errors json_path.c
 *   json_write.c       writing JSON
 *   file.c      whole reads, temporary files   zstream.c     zstd-compressed files
 *   atomic_file.c      files that appear when they are complete
 *   dl.c        functions of shared objects    version.c     the version of the library
 *   locale.c    numbers with a decimal point
 *   caller_options.c   options that can grow
 *   demangle/   names of C++ functions (fth_demangle)
 *   container/  files that consist of compressed parts (container/container.h)
 *   parallel/   threads that share work (parallel/parallel.h)
 */
#ifndef FTH_BASE_H
#define FTH_BASE_H

#include "fathom/fathom.h"

#include <stdarg.h>

#if defined(__GNUC__)
#define FTH_PRINTF(string, first) __attribute__((format(printf, string, first)))
/* The parameter with this number must not be NULL. UndefinedBehaviorSanitizer checks it. */
#define FTH_NONNULL(number) __attribute__((nonnull(number)))
/* For functions that were measured to be faster when inlined. */
#define FTH_INLINE inline __attribute__((always_inline))
#else
#define FTH_PRINTF(string, first)
#define FTH_NONNULL(number)
#define FTH_INLINE inline
#endif

/* For static functions in which a model spends its time. On x86-64, the compiler makes two copies
 * of such a function with everything that it calls in its file: one for all processors, and one for
 * those with the instructions of x86-64-v3 (population count, bit manipulation, AVX2). The program
 * chooses when it starts. The results are the same: nearly everything is computed with integers,
 * and -ffp-contract=off excludes fused operations. (GCC 12 would export the names of functions that
 * are not static from a shared library.) */
#if defined(FTH_USE_CLONES)
#define FTH_CLONES __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define FTH_CLONES
#endif

#define FTH_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The smaller of two values. Evaluates the smaller one twice, so neither may have side effects. */
#define FTH_MIN(a, b) ((a) < (b) ? (a) : (b))

/* A file that scripts/embed has compiled into the program. */
struct fth_embedded {
    const char *name; /* file name without its suffix */
    const char *data; /* contents, followed by a NUL */
    size_t size;      /* of the contents, without the NUL */
};

/* ---- error.c ---- */

/* How a function passes a failure on:
 *   - A function with nothing to release wraps each call that can fail in FTH_TRY.
 *   - A function that owns something has one variable `status` and one label `out:` at its end,
 *     which releases everything. After a failed call it jumps there.
 *   - A function that tries something which is allowed to fail uses a struct fth_error of its own,
 *     and passes a failure on with fth_error_move.
 *   - Only the function that detects a failure calls fth_fail or fth_no_memory. Its callers may put
 *     context in front with fth_error_context; they never write a new message over it. */

/* Evaluates a call that returns enum fth_status, and returns from the calling function with this
 * status unless it is FTH_OK. */
#define FTH_TRY(call)                                                                              \
    do {                                                                                           \
        enum fth_status fth_try_status = (call);                                                   \
        if (fth_try_status != FTH_OK)                                                              \
            return fth_try_status;                                                                 \
    } while (0)

/* Fills `error`, unless it is NULL or already holds an error, and returns `status`. A failing
 * function can therefore `return fth_fail(…)`. `argument` may be NULL. The texts are made printable
 * (fth_make_printable). */
FTH_PRINTF(5, 6)
FTH_NONNULL(3)
enum fth_status fth_fail(struct fth_error *error, enum fth_status status, const char *operation,
                         const char *argument, const char *cause, ...);
/* Fails with FTH_NO_MEMORY; `argument` may be NULL. It is inline so that static analysis sees its
 * result. */
FTH_NONNULL(2)
static inline enum fth_status fth_no_memory(struct fth_error *error, const char *operation,
                                            const char *argument)
{
    fth_fail(error, FTH_NO_MEMORY, operation, argument, "out of memory");
    return FTH_NO_MEMORY;
}
/* Passes the failure in `from` on to the caller of a function that received it in a struct of its
 * own: copies all of it, the excerpt included, unless `error` is NULL or already holds an error.
 * Returns the status of `from`. */
enum fth_status fth_error_move(struct fth_error *error, const struct fth_error *from);
/* Prepends "context: " to the cause; a cause that becomes too long is truncated. Does nothing if
 * `error` is NULL. */
FTH_PRINTF(2, 3) void fth_error_context(struct fth_error *error, const char *context, ...);

/* ---- log.c: each function accepts a NULL log, and a log without the callback ---- */

/* Messages are truncated to 1023 bytes and made printable (fth_make_printable). */
FTH_PRINTF(3, 4)
void fth_log_message(const struct fth_log *log, enum fth_level level, const char *format, ...);
void fth_log_progress(const struct fth_log *log, const char *what, double fraction);
/* Returns false if there is no callback. */
bool fth_log_interrupted(const struct fth_log *log);

/* ---- caller_options.c ---- */

/* Copies options that a caller of the library passed (`given`; NULL: all are 0) to `known`, a
 * struct of `known_size` bytes that begins with its size. Members that the caller does not know are
 * 0 in the copy. `name` is the name of the struct. FTH_INVALID: the size is 0, or the caller has
 * set members that this version of the library does not know. */
FTH_MUST_USE enum fth_status fth_options_read(const char *name, const void *given, void *known,
                                              size_t known_size, struct fth_error *error);

/* ---- arena.c: allocations that are freed together ---- */

struct fth_arena {
    struct fth_arena_block *blocks; /* newest first; NULL: the arena is empty */
};

/* Allocate from an arena: zeroed memory that is aligned for any type; an array of `count` elements
 * of `size` bytes, checked for overflow; a copy of a text. They return NULL without memory. */
void *fth_arena_alloc(struct fth_arena *arena, size_t size);
void *fth_arena_array(struct fth_arena *arena, size_t count, size_t size);
char *fth_arena_text(struct fth_arena *arena, const char *text);
/* Frees all allocations. The arena can be used again. */
void fth_arena_fini(struct fth_arena *arena);
/* Asks the kernel to back memory with large pages. Meant for memory that was just allocated and
 * will be used entirely; large pages reduce the host's TLB misses. */
void fth_memory_use_large_pages(void *memory, size_t size);

/* ---- buffer.c ---- */

/* A growable sequence of bytes, initialised with {0}. Once an allocation has failed, appending does
 * nothing, so a writer needs to check only once, at the end. */
struct fth_buffer {
    char *data;      /* followed by a NUL; NULL: nothing was appended yet */
    size_t size;     /* bytes in use, without the NUL */
    size_t capacity; /* bytes allocated */
    bool failed;     /* an allocation has failed */
};

void fth_buffer_append(struct fth_buffer *buffer, const void *data, size_t size);
void fth_buffer_text(struct fth_buffer *buffer, const char *text);
FTH_PRINTF(2, 3) void fth_buffer_format(struct fth_buffer *buffer, const char *format, ...);
void fth_buffer_repeat(struct fth_buffer *buffer, const char *text, size_t times);
/* Ensures space for `extra` more bytes and a NUL. Without memory, sets `failed` and returns false.
 */
bool fth_buffer_reserve(struct fth_buffer *buffer, size_t extra);
/* Gives the bytes to the caller, who releases them with fth_free, and empties the buffer.
 * FTH_NO_MEMORY: an allocation has failed. */
FTH_MUST_USE enum fth_status fth_buffer_take(struct fth_buffer *buffer, char **text, size_t *size,
                                             struct fth_error *error);
void fth_buffer_fini(struct fth_buffer *buffer);

/* Ensures that an array with `count` elements of `size` bytes has space for one more; doubles its
 * capacity if needed. `items` points to the pointer to the array. Without memory, returns false and
 * leaves the array unchanged. */
bool fth_grow(void **items, size_t count, size_t *capacity, size_t size);

/* ---- rng.c ---- */

/* State of the generator xoshiro256**. */
struct fth_rng {
    uint64_t state[4];
};

void fth_rng_init(struct fth_rng *rng, uint64_t seed);
/* Returns a uniform 64-bit number. */
uint64_t fth_rng_next(struct fth_rng *rng);
/* Returns a uniform whole number in [0, bound), without bias. `bound` must not be 0. */
uint64_t fth_rng_below(struct fth_rng *rng, uint64_t bound);
/* Fills `numbers` with what `count` calls of fth_rng_below return, in less time. */
void fth_rng_fill_below(struct fth_rng *rng, uint32_t bound, uint32_t *numbers, size_t count);
/* Returns a uniform number in [0, 1). */
double fth_rng_unit(struct fth_rng *rng);

/* ---- locale.c: independent of the locale of the process ---- */

/* As strtod, snprintf and vsnprintf, but the decimal separator is always a point. The library uses
 * these for every number that can have a fraction. */
double fth_strtod(const char *text, char **end);
FTH_PRINTF(3, 4) int fth_format(char *text, size_t size, const char *format, ...);
FTH_PRINTF(3, 0) int fth_vformat(char *text, size_t size, const char *format, va_list arguments);

/* ---- text.c ---- */

/* Writes a size as "512 B", "32 KiB", "24.5 MiB" or "140 GiB", rounded to at most two decimals,
 * into `text` of `size` bytes. Returns `text`. */
const char *fth_size_format(double bytes, char *text, size_t size);
/* Returns the most similar of the words, however different it is; NULL if `count` is 0. *distance
 * gets the number of edits between them, SIZE_MAX if a word is too long to compare. */
const char *fth_nearest(const char *word, const char *const *words, size_t count, size_t *distance);
/* Returns the width of UTF-8 text in columns: the number of code points. */
size_t fth_text_columns(const char *text);
/* Returns whether a text ends with another one. */
bool fth_ends_with(const char *text, const char *end);
/* Appends text with a width of at most `columns`, made printable as by fth_make_printable. If
 * the text is too wide, it is cut, and ends with `ellipsis`. Returns the width of what was
 * appended. */
size_t fth_text_append(struct fth_buffer *buffer, const char *text, size_t columns,
                       const char *ellipsis);
/* Appends the first `bytes` bytes of a text, made printable. Returns their width. */
size_t fth_text_append_bytes(struct fth_buffer *buffer, const char *text, size_t bytes);
/* Returns how many bytes of a text its first line has if lines are at most `columns` wide. A line
 * ends before a space, and not within short remarks in parentheses; in a word that is wider, after
 * a punctuation mark or, without one, anywhere. The spaces after the line do not count; the next
 * line begins after them. *width: of the line. */
size_t fth_text_line(const char *text, size_t columns, size_t *width);
/* Appends `lead`, the text, made printable, and a newline. Lines are broken at spaces, so that they
 * are at most `columns` wide; words are not broken. Further lines are indented by the width of
 * `lead`. */
void fth_text_wrap(struct fth_buffer *buffer, const char *lead, const char *text, size_t columns);

/* ---- demangle/ ---- */

/* Writes the C++ type of a parameter of the function with this mangled name. False: the name does
 * not state it, or fth_demangle would fail. */
bool fth_demangle_parameter_type(const char *name, size_t index, char *text, size_t size);
/* Finds which of `count` mangled names a user means by `wanted`, and sets matches[i] for these. The
 * rules are, in this order: the mangled name itself; the C++ name, with or without return type and
 * parameters; the C++ name without its last template arguments; the beginning of the C++ name or of
 * the mangled name. Spaces do not count. The first rule by which there is a match decides. Returns
 * the number of matches. */
size_t fth_name_match(const char *wanted, const char *const *names, size_t count, bool *matches);
/* The same without the last rule: `wanted` is a whole name, not the beginning of one. */
size_t fth_name_match_whole(const char *wanted, const char *const *names, size_t count,
                            bool *matches);
/* Writes the names with matches[i], or all if it is NULL, as a list for a message, in this form. A
 * list that does not fit ends with the number of the names that are left out. */
void fth_name_list(const char *const *names, size_t count, const bool *matches,
                   enum fth_name_form form, char *text, size_t size);

/* ---- json_write.c ---- */

/* Writes JSON to a buffer, initialised with {.out = buffer}. An object or list is written with one
 * member per line or, if it is `flat`, on a single line. */
struct fth_json_writer {
    struct fth_buffer *out;
    unsigned depth;      /* of open objects and lists */
    unsigned flat_depth; /* depth of the outermost flat object or list; 0: none */
    bool first;          /* nothing was written yet in the current object or list */
    bool after_key;      /* the next value belongs to the key that was just written */
};

/* Begins an object ('{') or a list ('['), and ends it ('}' or ']'). Everything inside a flat object
 * or list is flat, too. */
void fth_json_begin(struct fth_json_writer *writer, char bracket, bool flat);
void fth_json_end(struct fth_json_writer *writer, char bracket);
void fth_json_key(struct fth_json_writer *writer, const char *key);
void fth_json_text(struct fth_json_writer *writer, const char *text);
/* Writes null for NAN and infinity. */
void fth_json_number(struct fth_json_writer *writer, double number);
void fth_json_bool(struct fth_json_writer *writer, bool value);
void fth_json_null(struct fth_json_writer *writer);
/* Writes a value that is already JSON text. */
void fth_json_raw(struct fth_json_writer *writer, const char *json);
/* Writes a number so that it reads back as the same double, with at most 17 significant digits,
 * into `text` of `size` bytes. Whole numbers up to 2^53 have no exponent. Returns `text`. */
const char *fth_number_format(double number, char *text, size_t size);

/* ---- atomic_file.c ---- */

/* A file that appears under its name only when it is complete. A file that it replaces keeps its
 * mode. Symbolic links are followed, also to a file that does not exist yet. Pipes and devices are
 * written directly; "-" is standard output. */
struct fth_atomic_file;

FTH_MUST_USE enum fth_status fth_atomic_open(const char *path, struct fth_atomic_file **file,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_atomic_write(struct fth_atomic_file *file, const void *data,
                                              size_t size, struct fth_error *error);
/* Flushes the file to disk, gives it its name, and frees `file`, also after a failure. After a
 * failure nothing of the file is left. */
FTH_MUST_USE enum fth_status fth_atomic_commit(struct fth_atomic_file *file,
                                               struct fth_error *error);
/* Deletes the incomplete file and frees `file`, which may be NULL. */
void fth_atomic_abort(struct fth_atomic_file *file);
/* Like fth_atomic_open, for a file that is open already, which is written directly. `fd` stays the
 * caller's. `name` is used in messages. */
FTH_MUST_USE enum fth_status fth_atomic_attach(int fd, const char *name,
                                               struct fth_atomic_file **file,
                                               struct fth_error *error);

/* ---- file.c ---- */

/* Opens a new file without a name in $TMPDIR, or in /tmp, for reading and writing. The system frees
 * its space when it is closed, also if the process is killed. The caller closes *fd. */
FTH_MUST_USE enum fth_status fth_temporary_open(int *fd, struct fth_error *error);
/* Returns whether `path` exists and is a regular file, unlike a pipe, a device or a folder. */
bool fth_file_is_regular(const char *path);
/* Opens a regular file for reading; the caller closes *fd. FTH_INVALID: it is a pipe, a device or a
 * folder; a pipe without a writer is not waited for. FTH_NOT_FOUND: there is no such file. */
FTH_MUST_USE enum fth_status fth_file_open_regular(const char *path, int *fd,
                                                   struct fth_error *error);

/* The maximum size of a kind of file, after decompression (docs/limits.md). The limits bound the
 * memory that reading a file takes. */
struct fth_file_limit {
    const char *subject; /* the kind of file, with its article: "a GPU description" */
    size_t bytes;
    const char *option; /* the command-line option that raises the limit; NULL: there is none */
};
/* A limit that no option raises, as an argument of fth_file_read. */
#define FTH_FILE_LIMIT(subject, bytes) (&(const struct fth_file_limit){subject, bytes, NULL})

/* Appends a whole file to `content`; "-" is standard input. A file compressed with zstd is
 * decompressed. FTH_INVALID: the file is larger than the limit, or the compressed data is damaged.
 * FTH_NOT_FOUND: there is no such file. */
FTH_MUST_USE enum fth_status fth_file_read(const char *path, const struct fth_file_limit *limit,
                                           struct fth_buffer *content, struct fth_error *error);
/* Like fth_file_read, for a file that is open already, from its current position. `fd` stays the
 * caller's. `name` is used in messages. */
FTH_MUST_USE enum fth_status fth_file_read_open(int fd, const char *name,
                                                const struct fth_file_limit *limit,
                                                struct fth_buffer *content,
                                                struct fth_error *error);
/* Fails with FTH_INVALID: the file `name` is larger than the limit. */
enum fth_status fth_file_too_large(const char *name, const struct fth_file_limit *limit,
                                   struct fth_error *error);

/* ---- zstream.c ---- */

/* Reads a file, compressed with zstd or not. */
struct fth_zreader;

/* Opens a file; "-" is standard input. A file without zstd's magic number is read as it is. */
FTH_MUST_USE enum fth_status fth_zreader_open(const char *path, struct fth_zreader **reader,
                                              struct fth_error *error);
/* Reads a file that is open already, from its current position. `fd` stays the caller's. `name` is
 * used in messages. */
FTH_MUST_USE enum fth_status fth_zreader_attach(int fd, const char *name,
                                                struct fth_zreader **reader,
                                                struct fth_error *error);
/* Returns whether an open file begins with zstd's magic number. It must be able to seek; its
 * position does not change. */
bool fth_file_is_compressed(int fd);
/* Reads at most `size` bytes; *got is 0 at the end. FTH_INVALID: a frame is truncated or damaged.
 */
FTH_MUST_USE enum fth_status fth_zreader_read(struct fth_zreader *reader, void *data, size_t size,
                                              size_t *got, struct fth_error *error);
void fth_zreader_close(struct fth_zreader *reader);

/* Writes a file compressed with zstd, with a checksum, atomically. */
struct fth_zwriter;

/* `level` is the compression level of zstd. */
FTH_MUST_USE enum fth_status fth_zwriter_open(const char *path, int level,
                                              struct fth_zwriter **writer, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_zwriter_write(struct fth_zwriter *writer, const void *data,
                                               size_t size, struct fth_error *error);
/* These work as fth_atomic_commit and fth_atomic_abort do. */
FTH_MUST_USE enum fth_status fth_zwriter_commit(struct fth_zwriter *writer,
                                                struct fth_error *error);
void fth_zwriter_abort(struct fth_zwriter *writer);

/* ---- dl.c ---- */

/* One function of a shared object. */
struct fth_dl_symbol {
    const char *names[3]; /* names to try, newest first; unused ones are NULL */
    size_t offset;        /* of its function pointer in the table */
    bool optional;        /* the pointer becomes NULL if the object lacks the function */
};

/* Opens the first of `sonames` (a list that ends with NULL) that can be loaded, and stores the
 * functions in `table`. The caller closes *handle with fth_dl_close. FTH_UNAVAILABLE: none can be
 * loaded. FTH_NO_MEMORY: out of memory. FTH_UNSUPPORTED: a function that is not optional is
 * missing. */
FTH_MUST_USE enum fth_status fth_dl_open(const char *const *sonames,
                                         const struct fth_dl_symbol *symbols, size_t count,
                                         void *table, void **handle, struct fth_error *error);
/* `handle` may be NULL. */
void fth_dl_close(void *handle);

#endif
