/* A library that makes one call of a program fail. tests/faults/run loads it into fathom with
 * LD_PRELOAD. It replaces the functions below, counts the calls of one kind from the start of the
 * program on, and lets the call with a given number fail as it would if the system lacked memory,
 * threads, files or a working disk.
 *
 *   FAULT_KIND     the kind of call that is counted, a name of the table `kinds`
 *   FAULT_AT       number of the call that fails, from 1 on; 0: none fails
 *   FAULT_STICKY   set: all later calls of the kind fail, too
 *   FAULT_REPORT   file to which the number of calls is written when the program ends
 *
 * The kind "short" lets no call fail; instead, each read and write transfers at most half of the
 * bytes. Calls of the stand-in driver (tests/standin) are neither counted nor do they fail, because
 * it is not under test. The clock stands still and random numbers are zeros, so that results with a
 * date or a random key can be compared. */
#undef _FILE_OFFSET_BITS /* open and open64 are different functions here */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* glibc's own allocation functions, under the names that stay available when a library replaces
 * malloc and the others. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

#define EXPORTED __attribute__((visibility("default")))

enum kind { ALLOC, OPEN, READ, PREAD, WRITE, FSYNC, RENAME, TRUNCATE, STAT, MMAP, THREAD, SHORT };

static const struct {
    const char *name;
    int error; /* errno of the failing call */
} kinds[] = {
    [ALLOC] = {"alloc", ENOMEM}, [OPEN] = {"open", EMFILE},      [READ] = {"read", EIO},
    [PREAD] = {"pread", EIO},    [WRITE] = {"write", ENOSPC},    [FSYNC] = {"fsync", EIO},
    [RENAME] = {"rename", EIO},  [TRUNCATE] = {"truncate", EIO}, [STAT] = {"stat", EIO},
    [MMAP] = {"mmap", ENOMEM},   [THREAD] = {"thread", EAGAIN},  [SHORT] = {"short", 0},
};

static struct {
    bool armed; /* the program has started; false: calls are neither counted nor do they fail */
    enum kind kind;
    bool sticky;
    unsigned long at;
    unsigned long count; /* of calls so far */
    const char *report;
} state;

static bool is_stand_in(const void *caller)
{
    Dl_info object;
    return dladdr(caller, &object) && object.dli_fname && strstr(object.dli_fname, "/standin/");
}

/* Counts a call, and returns whether it is to fail; sets errno then. */
static bool fails_from(enum kind kind, const void *caller)
{
    if (!state.armed || kind != state.kind || is_stand_in(caller))
        return false;
    const unsigned long number = __atomic_add_fetch(&state.count, 1, __ATOMIC_RELAXED);
    if (!state.at || number < state.at || (number > state.at && !state.sticky))
        return false;
    errno = kinds[kind].error;
    return true;
}

/* The caller is that of the function which contains this. */
#define fails(kind) fails_from(kind, __builtin_return_address(0))

/* Returns the number of bytes to transfer. */
static size_t shortened(size_t size)
{
    return state.armed && state.kind == SHORT && size > 1 ? size / 2 : size;
}

/* Defines `real`, a pointer to the function of this name that the program would call without this
 * library. */
#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* ---- memory ---- */

EXPORTED void *malloc(size_t bytes)
{
    return fails(ALLOC) ? NULL : __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    return fails(ALLOC) ? NULL : __libc_calloc(count, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    return fails(ALLOC) ? NULL : __libc_realloc(old, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, bytes);
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, bytes);
}

EXPORTED int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (fails(ALLOC))
        return ENOMEM;
    *block = __libc_memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

EXPORTED char *strndup(const char *text, size_t max_size)
{
    const size_t size = strnlen(text, max_size);
    char *copy = fails(ALLOC) ? NULL : __libc_malloc(size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

EXPORTED char *strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = fails(ALLOC) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t);
    return fails(MMAP) ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

EXPORTED void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    REAL(void *, mmap64, void *, size_t, int, int, int, off64_t);
    return fails(MMAP) ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

/* ---- files ---- */

/* Defines a function that opens a file, and passes the mode on if there is one. */
#define OPENING(name)                                                                              \
    EXPORTED int name(const char *path, int flags, ...)                                            \
    {                                                                                              \
        REAL(int, name, const char *, int, ...);                                                   \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        const bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;                \
        const mode_t mode = creates ? va_arg(arguments, mode_t) : 0;                               \
        va_end(arguments);                                                                         \
        if (strcmp(path, "/dev/urandom") == 0) /* without it, SQLite uses the process id */        \
            return real("/dev/zero", flags);                                                       \
        return fails(OPEN) ? -1 : real(path, flags, mode);                                         \
    }
OPENING(open)
OPENING(open64)

/* Defines a function with one or two arguments that returns -1 on failure. */
#define FAILING_1(kind, name, type_1)                                                              \
    EXPORTED int name(type_1 a)                                                                    \
    {                                                                                              \
        REAL(int, name, type_1);                                                                   \
        return fails(kind) ? -1 : real(a);                                                         \
    }
#define FAILING_2(kind, name, type_1, type_2)                                                      \
    EXPORTED int name(type_1 a, type_2 b)                                                          \
    {                                                                                              \
        REAL(int, name, type_1, type_2);                                                           \
        return fails(kind) ? -1 : real(a, b);                                                      \
    }
FAILING_2(OPEN, mkostemp, char *, int)
FAILING_2(OPEN, mkostemp64, char *, int)
FAILING_1(FSYNC, fsync, int)
FAILING_1(FSYNC, fdatasync, int)
FAILING_2(RENAME, rename, const char *, const char *)
FAILING_2(TRUNCATE, ftruncate, int, off_t)
FAILING_2(TRUNCATE, ftruncate64, int, off64_t)
FAILING_2(STAT, stat, const char *restrict, struct stat *restrict)
FAILING_2(STAT, fstat, int, struct stat *)

EXPORTED int statx(int folder, const char *restrict path, int flags, unsigned mask,
                   struct statx *restrict result)
{
    REAL(int, statx, int, const char *, int, unsigned, struct statx *);
    return fails(STAT) ? -1 : real(folder, path, flags, mask, result);
}

/* Messages on standard error are no results; they are always written. */
EXPORTED ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t);
    if (fd == STDERR_FILENO)
        return real(fd, data, size);
    return fails(WRITE) ? -1 : real(fd, data, shortened(size));
}

EXPORTED ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    return fails(WRITE) ? -1 : real(fd, data, shortened(size), offset);
}

EXPORTED ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    return fails(WRITE) ? -1 : real(fd, data, shortened(size), offset);
}

EXPORTED ssize_t read(int fd, void *data, size_t size)
{
    REAL(ssize_t, read, int, void *, size_t);
    char path[16] = "", link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (state.armed && readlink(link, path, sizeof path - 1) > 0 && strcmp(path, "/dev/zero") == 0)
        return real(fd, data, size);
    return fails(READ) ? -1 : real(fd, data, shortened(size));
}

EXPORTED ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    return fails(PREAD) ? -1 : real(fd, data, shortened(size), offset);
}

EXPORTED ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    REAL(ssize_t, pread64, int, void *, size_t, off64_t);
    return fails(PREAD) ? -1 : real(fd, data, shortened(size), offset);
}

/* ---- threads and time ---- */

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*start)(void *), void *argument)
{
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return fails(THREAD) ? EAGAIN : real(thread, attributes, start, argument);
}

enum { NOW = 1700000000 }; /* seconds since 1970: in November 2023 */

EXPORTED time_t time(time_t *result)
{
    if (result)
        *result = NOW;
    return NOW;
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *result)
{
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    if (clock != CLOCK_REALTIME)
        return real(clock, result);
    *result = (struct timespec){NOW, 0};
    return 0;
}

/* ---- start and end of the program ---- */

__attribute__((constructor)) static void start(void)
{
    const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
    for (size_t i = 0; kind && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, kind) == 0) {
            state.kind = (enum kind)i;
            state.armed = true;
        }
    state.at = at ? strtoul(at, NULL, 10) : 0;
    state.sticky = getenv("FAULT_STICKY") != NULL;
    state.report = getenv("FAULT_REPORT");
}

__attribute__((destructor)) static void end(void)
{
    state.armed = false;
    char text[32];
    const int size = snprintf(text, sizeof text, "%lu\n", state.count);
    const int fd = state.report ? open(state.report, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)size) != size)
        abort();
    close(fd);
}
