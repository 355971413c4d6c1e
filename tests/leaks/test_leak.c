/* A program with the leak that its first argument names, to test leaks.c. Its second argument is
 * its exit code. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* volatile, because the compiler would otherwise remove the allocations. */
static void *volatile kept;

static void *lose(void *unused)
{
    (void)unused;
    kept = malloc(3);
    kept = NULL;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *leak = argc > 1 ? argv[1] : "";
    void *block = calloc(2, 5);
    block = realloc(block, 1000);
    if (strcmp(leak, "lost") != 0)
        free(block);
    if (strcmp(leak, "kept") == 0)
        kept = malloc(1);
    if (strcmp(leak, "string") == 0)
        kept = strdup(leak);
    pthread_t thread;
    if (strcmp(leak, "thread") == 0 && pthread_create(&thread, NULL, lose, NULL) == 0)
        pthread_join(thread, NULL);
    return argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
}
