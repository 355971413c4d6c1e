/* Tests of compiling modules ahead (cuda/cuda_ahead.c), with a driver that counts its calls. */
#include "check.h"
#include "device/cuda/cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int loads, unloads, wrong_contexts;
static _Thread_local fth_cu_context current;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* closed: compilations wait */

static fth_cu_context the_context(void)
{
    static char context;
    return (fth_cu_context)(void *)&context;
}

static fth_cu_result set_context(fth_cu_context context)
{
    current = context;
    return 0;
}

/* A module is the address of its text. Texts that begin with '!' cannot be compiled. */
static fth_cu_result load(fth_cu_module *module, const void *image, unsigned options, int *option,
                          void **values)
{
    (void)options;
    (void)option;
    (void)values;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    loads++;
    wrong_contexts += current != the_context();
    *module = (fth_cu_module)(void *)strdup(image);
    if (*(const char *)image != '!')
        return 0;
    free(*module);
    return 218; /* invalid PTX */
}

static fth_cu_result unload(fth_cu_module module)
{
    wrong_contexts += current != the_context();
    unloads++;
    free(module);
    return 0;
}

static const struct fth_cuda driver = {
    .context_set = set_context, .module_load = load, .module_unload = unload};

static struct fth_cuda_ahead *create(void)
{
    loads = unloads = wrong_contexts = 0;
    struct fth_cuda_ahead *ahead = fth_cuda_ahead_create(&driver, the_context());
    assert_non_null(ahead);
    return ahead;
}

/* Waits until the threads have compiled this many texts. */
static void wait_for_loads(int count)
{
    for (int i = 0; i < 20000 && loads < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    assert_int_equal(loads, count);
}

/* A module is compiled once. The caller waits for it if necessary. */
static void modules_are_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "two", "three", "ones", "!four"};
    struct fth_cuda_ahead *ahead = create();
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        fth_cuda_ahead_add(ahead, texts[i], strlen(texts[i]));
    wait_for_loads(FTH_COUNT(texts));
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        fth_cu_module module = fth_cuda_ahead_take(ahead, texts[i], strlen(texts[i]));
        if (texts[i][0] == '!') {
            assert_null(module);
            continue;
        }
        assert_string_equal((const char *)(void *)module, texts[i]);
        /* It is taken only once. */
        assert_null(fth_cuda_ahead_take(ahead, texts[i], strlen(texts[i])));
        free(module);
    }
    assert_null(fth_cuda_ahead_take(ahead, "five", 4));
    fth_cuda_ahead_destroy(ahead);
    assert_int_equal(loads, FTH_COUNT(texts));
    assert_int_equal(unloads, 0);
    assert_int_equal(wrong_contexts, 0);
}

/* While both threads compile, a third text waits. Whoever needs it compiles it. */
static void texts_that_wait_are_left_to_the_caller(void **state)
{
    (void)state;
    struct fth_cuda_ahead *ahead = create();
    pthread_mutex_lock(&gate);
    fth_cuda_ahead_add(ahead, "one", 3);
    fth_cuda_ahead_add(ahead, "two", 3);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* both threads have begun */
    fth_cuda_ahead_add(ahead, "three", 5);
    assert_null(fth_cuda_ahead_take(ahead, "three", 5));
    pthread_mutex_unlock(&gate);
    fth_cu_module module = fth_cuda_ahead_take(ahead, "two", 3);
    assert_string_equal((const char *)(void *)module, "two");
    free(module);
    wait_for_loads(2);
    fth_cuda_ahead_destroy(ahead);
    /* The module that nobody took is unloaded, in the right context. */
    assert_int_equal(loads, 2);
    assert_int_equal(unloads, 1);
    assert_int_equal(wrong_contexts, 0);
}

/* Texts that no thread has begun with are not compiled at the end. */
static void the_end_unloads_what_was_not_taken(void **state)
{
    (void)state;
    struct fth_cuda_ahead *ahead = create();
    for (int i = 0; i < 20; i++)
        fth_cuda_ahead_add(ahead, "text", 4);
    fth_cuda_ahead_destroy(ahead);
    assert_true(loads <= 20);
    assert_int_equal(unloads, loads);
    fth_cuda_ahead_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_taken),
        cmocka_unit_test(texts_that_wait_are_left_to_the_caller),
        cmocka_unit_test(the_end_unloads_what_was_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
