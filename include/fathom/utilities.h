/* Memory, sizes, names and files: what programs that use the library need as well. */
#ifndef FATHOM_UTILITIES_H
#define FATHOM_UTILITIES_H

#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Releases memory that the library allocated for the caller; NULL is allowed. */
FTH_API void fth_free(void *memory);

/* Parses a size: "4096", "32K", "1.5M", "64KiB". Units are powers of 1024, as GPU vendors use them;
 * case does not matter. FTH_INVALID: the text is not such a size, is not a whole number of bytes,
 * or does not fit 64 bits. */
FTH_API FTH_MUST_USE enum fth_status fth_size_parse(const char *text, uint64_t *bytes,
                                                    struct fth_error *error);

/* Returns the one of `count` words that `word` is probably a misspelling of, or NULL if none is
 * similar enough. */
FTH_API const char *fth_suggest(const char *word, const char *const *words, size_t count);

/* Replaces everything in a UTF-8 text that should not reach a terminal by '?': control characters,
 * invisible and bidirectional formatting characters, and invalid UTF-8. The text does not get
 * longer. */
FTH_API void fth_make_printable(char *text);

/* How fth_demangle writes the name of a function:
 *   FTH_NAME_FULL   as c++filt does: void transpose<32, 0>(float*, float const*)
 *   FTH_NAME_SHORT  without return type and parameters: transpose<32, 0>
 *   FTH_NAME_PARAMETERS  without return type: transpose<32, 0>(float*, float const*) */
enum fth_name_form { FTH_NAME_FULL, FTH_NAME_SHORT, FTH_NAME_PARAMETERS };
/* Size of a text that has room for the name of nearly every kernel, in bytes. */
#define FTH_NAME_BYTES 8192

/* Writes the C++ name of a function or variable, given as the compiler encodes it (mangled, by the
 * Itanium C++ ABI), to `text` of `size` bytes. Returns false and writes the given name, cut to the
 * size, if it is not such a name, such as that of a function in C, if it contains something that
 * fathom does not know, or if the C++ name does not fit. */
FTH_API bool fth_demangle(const char *name, enum fth_name_form form, char *text, size_t size);

/* Writes a file atomically: `path` holds either the old contents or all of the new ones, even after
 * a crash. A file that is replaced keeps its mode. If `path` is a symbolic link, its target is
 * replaced, or created if it does not exist. Pipes and devices are written directly; "-" is
 * standard output. Fails only with FTH_IO or FTH_NO_MEMORY. */
FTH_API FTH_MUST_USE enum fth_status fth_file_write(const char *path, const void *data, size_t size,
                                                    struct fth_error *error);
/* The same, compressed with zstd. The functions that read files decompress such files. */
FTH_API FTH_MUST_USE enum fth_status fth_file_write_compressed(const char *path, const void *data,
                                                               size_t size,
                                                               struct fth_error *error);
/* Checks that fth_file_write could write `path`, without writing anything: its folder exists and is
 * writable. Fails as fth_file_write would. */
FTH_API FTH_MUST_USE enum fth_status fth_file_check(const char *path, struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
