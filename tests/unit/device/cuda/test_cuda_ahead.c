/* Tests of compiling modules ahead (cuda/cuda_ahead.c), with a driver that counts its calls. */
#include "check.h"
#include "device/cuda/cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int compilations, links, wrong_contexts;
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

static fth_cu_result create_link(unsigned options, int *option, void **values, void **link)
{
    (void)options;
    (void)option;
    (void)values;
    wrong_contexts += current != the_context();
    *link = calloc(1, 64);
    links++;
    return 0;
}

/* The machine code is the text itself. Texts that begin with '!' cannot be compiled. */
static fth_cu_result add(void *link, int type, void *data, size_t bytes, const char *name,
                         unsigned options, int *option, void **values)
{
    (void)name;
    (void)options;
    (void)option;
    (void)values;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    compilations++;
    assert_int_equal(type, 1);
    assert_int_equal(bytes, strlen(data) + 1);
    memcpy(link, data, bytes);
    return *(const char *)data == '!' ? 218 /* invalid PTX */ : 0;
}

static fth_cu_result complete(void *link, void **cubin, size_t *bytes)
{
    *cubin = link;
    *bytes = strlen(link) + 1;
    return 0;
}

static fth_cu_result destroy_link(void *link)
{
    links--;
    free(link);
    return 0;
}

static const struct fth_cuda driver = {.context_set = set_context,
                                       .link_create = create_link,
                                       .link_add = add,
                                       .link_complete = complete,
                                       .link_destroy = destroy_link};

static struct fth_cuda_ahead *create(void)
{
    compilations = links = wrong_contexts = 0;
    struct fth_cuda_ahead *ahead = fth_cuda_ahead_create(&driver, the_context());
    assert_non_null(ahead);
    return ahead;
}

/* Waits until the threads have compiled this many texts. */
static void wait_for(int count)
{
    for (int i = 0; i < 20000 && compilations < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    assert_int_equal(compilations, count);
}

/* A module is compiled once. The caller waits for it if necessary. */
static void modules_are_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "two", "three", "ones", "!four"};
    struct fth_cuda_ahead *ahead = create();
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        fth_cuda_ahead_add(ahead, texts[i], strlen(texts[i]));
    fth_cuda_ahead_add(ahead, "three", 5); /* is in the list already */
    wait_for(FTH_COUNT(texts));
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        char *cubin = fth_cuda_ahead_take(ahead, texts[i], strlen(texts[i]));
        if (texts[i][0] == '!') {
            assert_null(cubin);
            continue;
        }
        assert_string_equal(cubin, texts[i]);
        /* It is taken only once. */
        assert_null(fth_cuda_ahead_take(ahead, texts[i], strlen(texts[i])));
        free(cubin);
    }
    assert_null(fth_cuda_ahead_take(ahead, "five", 4));
    fth_cuda_ahead_destroy(ahead);
    assert_int_equal(compilations, FTH_COUNT(texts));
    assert_int_equal(links, 0);
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
    char *cubin = fth_cuda_ahead_take(ahead, "two", 3);
    assert_string_equal(cubin, "two");
    free(cubin);
    wait_for(2);
    fth_cuda_ahead_destroy(ahead);
    assert_int_equal(compilations, 2);
    assert_int_equal(links, 0);
    assert_int_equal(wrong_contexts, 0);
}

/* Texts that no thread has begun with are not compiled at the end. */
static void the_end_frees_what_was_not_taken(void **state)
{
    (void)state;
    struct fth_cuda_ahead *ahead = create();
    for (char text[] = "text a"; text[5] < 'u'; text[5]++)
        fth_cuda_ahead_add(ahead, text, strlen(text));
    fth_cuda_ahead_destroy(ahead);
    assert_true(compilations <= 20);
    assert_int_equal(links, 0);
    fth_cuda_ahead_destroy(NULL);
}

static void old_drivers_compile_nothing_ahead(void **state)
{
    (void)state;
    struct fth_cuda old = driver;
    old.link_complete = NULL;
    assert_null(fth_cuda_ahead_create(&old, the_context()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_taken),
        cmocka_unit_test(texts_that_wait_are_left_to_the_caller),
        cmocka_unit_test(the_end_frees_what_was_not_taken),
        cmocka_unit_test(old_drivers_compile_nothing_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
