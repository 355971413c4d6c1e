/* A program that leaks as it is told to, for the test of what finds leaks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept; /* else the compiler knows that nobody looks, and allocates nothing */

static void *lose(void *unused)
{
    (void)unused;
    kept = malloc(3);
    kept = NULL;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void *block = calloc(2, 5);
    block = realloc(block, 1000);
    if (strcmp(what, "lost") != 0)
        free(block);
    if (strcmp(what, "kept") == 0)
        kept = malloc(1);
    if (strcmp(what, "string") == 0)
        kept = strdup(what);
    pthread_t thread;
    if (strcmp(what, "thread") == 0 && pthread_create(&thread, NULL, lose, NULL) == 0)
        pthread_join(thread, NULL);
    return argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
}
