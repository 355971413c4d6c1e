/* Uses the features that could break when a program is linked for an older glibc than that of the
 * build system (see scripts/glibc-stubs), and prints one line for each. floor.expected has the
 * correct output. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int constructor_argc;

__attribute__((constructor)) static void constructor(int argc, char **argv, char **envp)
{
    constructor_argc = argv[0] && envp ? argc : -1;
}

__attribute__((destructor)) static void destructor(void)
{
    puts("destructor");
}

static void at_exit(void)
{
    puts("atexit");
}

static void *thread(void *argument)
{
    *(int *)argument = 1;
    return NULL;
}

int main(int argc, char **argv)
{
    printf("constructor %s\n", constructor_argc == argc ? "ran" : "did not run");
    atexit(at_exit); /* from libc_nonshared.a */

    /* Variables of glibc, such as environ and stdout. The linker can place a copy in the program,
     * and some have several names. Program and glibc must use the same variable. */
    setenv("FLOOR_TEST", "1", 1);
    int seen = 0;
    for (char **variable = environ; *variable; variable++)
        seen |= strcmp(*variable, "FLOOR_TEST=1") == 0;
    printf("environ %s\n", seen ? "shared" : "not shared");
    fprintf(stdout, "stdout shared\n");

    struct stat by_path, by_link, by_fd, by_at;
    int fd = open(argv[0], O_RDONLY);
    int is_same = stat(argv[0], &by_path) == 0 && lstat(argv[0], &by_link) == 0 &&
                  fstat(fd, &by_fd) == 0 && fstatat(AT_FDCWD, argv[0], &by_at, 0) == 0 &&
                  by_path.st_ino == by_fd.st_ino && by_link.st_ino == by_fd.st_ino &&
                  by_at.st_size == lseek(fd, 0, SEEK_END);
    printf("stat %s\n", is_same ? "agrees" : "disagrees");
    close(fd);

    pthread_t id;
    int ran = 0;
    int is_joined = pthread_create(&id, NULL, thread, &ran) == 0 && pthread_join(id, NULL) == 0;
    printf("thread %s\n", is_joined && ran ? "ran" : "did not run");

    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = NULL;
    if (library)
        *(void **)&root = dlsym(library, "sqrt");
    printf("dlopen %s\n", root && root(9.0) == pow(3.0, argc) ? "works" : "fails");
    return 0;
}
