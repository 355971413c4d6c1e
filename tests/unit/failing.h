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

static struct {
    size_t count;    /* of allocations so far */
    size_t fails_at; /* number of the allocation that fails, from 1 on; 0: none fails */
    bool all_fail;   /* all later ones fail as well */
} allocations;

static bool fails(void)
{
    allocations.count++;
    return allocations.fails_at &&
           (allocations.count == allocations.fails_at ||
            (allocations.all_fail && allocations.count > allocations.fails_at));
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

/* Makes an allocation fail: the first one from now on if `number` is 1. With `all_fail`, all later
 * ones fail as well. `number` 0: none fails. */
static inline void fail_from(size_t number, bool all_fail)
{
    allocations.count = 0;
    allocations.fails_at = number;
    allocations.all_fail = all_fail;
}

/* Returns whether an allocation has failed since the call of fail_from. */
static inline bool has_failed(void)
{
    return allocations.fails_at && allocations.count >= allocations.fails_at;
}

#endif
