/* What a program linked with an old glibc holds itself, and a program linked with a new one expects
 * from the library.
 *
 * The portable program is compiled with the headers and start-up files of the build system's glibc,
 * but must run with older ones (see scripts/glibc-stubs). Two things then fall between the two.
 *
 * Constructors: until 2.33, start-up code in the program ran them, by way of the `init` argument of
 * __libc_start_main. Since 2.34 the library runs them and the start-up code passes NULL, with which
 * an old library runs none. We pass an `init` again; every newer library still honours it. The link
 * option --wrap=__libc_start_main brings the start-up code here.
 *
 * stat() and its kin: until 2.32 they were small functions in the program that called the library's
 * __xstat(). Since 2.33 the library exports them. We bring the small functions again; every newer
 * library still has __xstat().
 *
 * The interfaces are those of glibc 2.28.
 */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <sys/stat.h>

typedef int main_function(int argc, char **argv, char **envp);

int __wrap___libc_start_main(main_function *main, int argc, char **argv, main_function *init,
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __real___libc_start_main(main_function *main, int argc, char **argv, main_function *init,
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

/* The bounds of .init_array are the linker's. Destructors need no help: the loader runs them. */
typedef void constructor(int argc, char **argv, char **envp);
extern constructor *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((visibility("hidden")));

static int run_constructors(int argc, char **argv, char **envp)
{
    _init();
    for (constructor **c = __init_array_start; c < __init_array_end; c++)
        (*c)(argc, argv, envp);
    return 0;
}

int __wrap___libc_start_main(main_function *main, int argc, char **argv, main_function *init,
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    (void)init;
    return __real___libc_start_main(main, argc, argv, run_constructors, fini, rtld_fini, stack_end);
}

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
