/* Tests work that several threads share (base/parallel/). */
#include "base/parallel/parallel.h"
#include "check.h"

enum { PIECES = 1000, THREADS = 4 };

/* Pieces of work that are counted. */
struct work {
    struct fth_parallel parallel;
    atomic_size_t next;
    atomic_uint done[PIECES];
    atomic_bool used[THREADS];
    size_t sum;      /* of the numbers of the pieces, protected by the lock */
    size_t fails_at; /* this piece fails, and all later ones with another status */
};

static enum fth_status step(void *user, size_t thread, bool *more, struct fth_error *error)
{
    struct work *work = user;
    const size_t piece = atomic_fetch_add(&work->next, 1);
    assert_true(*more);
    assert_true(thread < THREADS);
    *more = piece < PIECES;
    if (!*more)
        return FTH_OK;
    work->used[thread] = true;
    if (piece == work->fails_at)
        return fth_fail(error, FTH_INVALID, "work", NULL, "piece %zu", piece);
    /* Waits until the failure was reported. */
    while (piece > work->fails_at && !work->parallel.stop)
        continue;
    if (piece > work->fails_at)
        return fth_fail(error, FTH_INTERRUPTED, "work", NULL, "stopped");
    work->done[piece]++;
    pthread_mutex_lock(&work->parallel.lock);
    work->sum += piece;
    pthread_mutex_unlock(&work->parallel.lock);
    return FTH_OK;
}

/* Each piece is done once, with any number of threads. */
static void pieces_are_done_once(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= THREADS; threads++) {
        struct work work = {.parallel = {.step = step, .user = &work}, .fails_at = PIECES};
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_parallel_run(&work.parallel, threads, &error), FTH_OK);
        assert_int_equal(error.status, FTH_OK);
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(work.done[i], 1);
        assert_int_equal(work.sum, PIECES * (PIECES - 1) / 2);
        for (size_t i = threads ? threads : 1; i < THREADS; i++)
            assert_false(work.used[i]);
    }
}

/* The first failure is reported. The threads stop because of it. */
static void first_failure_is_reported(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= THREADS; threads++) {
        struct work work = {.parallel = {.step = step, .user = &work}, .fails_at = 500};
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_parallel_run(&work.parallel, threads, &error), FTH_INVALID);
        assert_string_equal(error.cause, "piece 500");
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(work.done[i], i < 500);
        assert_true(work.next <= 500 + THREADS);
        /* An error is optional, and a second run begins anew. */
        work.next = 600;
        work.fails_at = PIECES;
        assert_int_equal(fth_parallel_run(&work.parallel, threads, NULL), FTH_OK);
        assert_int_equal(work.done[999], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_done_once),
        cmocka_unit_test(first_failure_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
