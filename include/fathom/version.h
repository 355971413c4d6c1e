/* The version of the library, and the macros that mark its functions. */
#ifndef FATHOM_VERSION_H
#define FATHOM_VERSION_H

/* The version of these headers. docs/library.md states what may change with which number. */
#define FTH_VERSION_MAJOR 0
#define FTH_VERSION_MINOR 2
#define FTH_VERSION_PATCH 0

/* Marks a function that the shared library exports. */
#if defined(__GNUC__)
#define FTH_API __attribute__((visibility("default")))
#else
#define FTH_API
#endif

/* Marks a function: the compiler warns if the caller ignores its result. */
#if defined(__GNUC__)
#define FTH_MUST_USE __attribute__((warn_unused_result))
#else
#define FTH_MUST_USE
#endif

/* Initialises a struct of options; used by FTH_DISCOVER_OPTIONS and its like. */
#define FTH_OPTIONS(type, ...)                                                                     \
    {                                                                                              \
        .size = sizeof(type), __VA_ARGS__                                                          \
    }

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library that the program runs with, "MAJOR.MINOR.PATCH". With the
 * shared library, it can be newer than the headers. The text is static. */
FTH_API const char *fth_version(void);

#ifdef __cplusplus
}
#endif

#endif
