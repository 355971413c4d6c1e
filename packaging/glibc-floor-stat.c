/* stat(), fstat() and similar functions, for programs and shared libraries that run with an older
 * glibc than the one on the machine that builds them (see scripts/glibc-stubs).
 *
 * Until 2.32 they were small functions in the program that called the library's __xstat(). Since
 * 2.33 the library exports them. We bring the small functions again; every newer library still has
 * __xstat(). A shared library must not export them (-Wl,--exclude-libs,ALL or a version script).
 *
 * The interfaces are those of glibc 2.28.
 */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

/* The layout of struct stat that __xstat() is asked for: _STAT_VER of glibc's bits/stat.h. */
#if defined(__x86_64__)
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define STAT_VERSION 0
#else
#error "which _STAT_VER has this architecture?"
#endif

int __xstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstatat(int version, int fd, const char *path, struct stat *st, int flags);

int stat(const char *path, struct stat *st)
{
    return __xstat(STAT_VERSION, path, st);
}

int lstat(const char *path, struct stat *st)
{
    return __lxstat(STAT_VERSION, path, st);
}

int fstat(int fd, struct stat *st)
{
    return __fxstat(STAT_VERSION, fd, st);
}

int fstatat(int fd, const char *path, struct stat *st, int flags)
{
    return __fxstatat(STAT_VERSION, fd, path, st, flags);
}

/* What _FILE_OFFSET_BITS=64 renames them to; on 64-bit systems the structure is the same. */
extern __typeof__(stat) stat64 __attribute__((alias("stat"), copy(stat)));
extern __typeof__(lstat) lstat64 __attribute__((alias("lstat"), copy(lstat)));
extern __typeof__(fstat) fstat64 __attribute__((alias("fstat"), copy(fstat)));
extern __typeof__(fstatat) fstatat64 __attribute__((alias("fstatat"), copy(fstatat)));
