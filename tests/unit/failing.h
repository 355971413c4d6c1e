/* Allocations that fail, for a test program that is linked with -Wl,--wrap=malloc,
 * -Wl,--wrap=calloc and -Wl,--wrap=realloc: the linker then redirects these calls of the program
 * and of the library to the functions below. Only one file of a program may include this header. */
#ifndef FTH_TESTS_FAILING_H
#define FTH_TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

/* The number of allocations until one fails; 0: none fails. */
static size_t allocations_left;

static bool allocation_fails(void)
{
    return allocations_left && --allocations_left == 0;
}

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(block, size);
}

#endif
