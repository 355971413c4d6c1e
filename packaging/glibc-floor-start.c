/* The start-up code of a program that is linked for an older glibc than that of the build system
 * (see scripts/glibc-stubs).
 *
 * Until 2.33, start-up code in the program ran the constructors, by way of the `init` argument of
 * __libc_start_main. Since 2.34 the library runs them and the start-up code passes NULL, with which
 * an old library runs none. We pass an `init` again; every newer library still honours it. The link
 * option --wrap=__libc_start_main brings the start-up code here. A shared library has no start-up
 * code, and does not take this file from the archive.
 *
 * The interface is that of glibc 2.28.
 */
#include <stddef.h>

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
