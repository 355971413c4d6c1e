/* Reads files and folders of measurements with several threads. Each thread takes the next piece of
 * the input and adds its measurements to a fleet of its own, the part. Afterwards the parts are
 * merged in the order of the pieces, so the result does not depend on the number of threads. */
#include "base/parallel/parallel.h"
#include "fleet/read/fleet_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "read measurements";

/* Chosen: the files of more threads are not read faster. */
enum { DEFAULT_MAX_THREADS = 8, MAX_THREADS = 64 };

/* What a piece gave: ranges of the measurements and problems of a part. */
struct share {
    size_t piece; /* its number */
    size_t first_measurement, measurement_count, first_problem, problem_count;
};

/* A thread with what it has read. */
struct worker {
    struct pool *pool;
    struct fth_fleet_builder builder; /* with the part */
    struct fth_fleet_piece piece;
    struct share *shares;
    size_t share_count, share_capacity;
};

/* What the threads share. */
struct pool {
    struct fth_fleet_source source;
    const struct fth_log *log;
    struct worker *workers;      /* one per thread */
    struct fth_parallel threads; /* its lock protects the source, the log and the errors below */
    /* Why the first piece that gave nothing could not be read. */
    struct fth_error first_error;
    size_t first_error_piece;
};

/* ---- documents ---- */

/* Adds a problem of a file or, if `line` is not 0, of a line of it. Keeps the first one as an error
 * as well. */
static enum fth_status add_problem(struct worker *worker, size_t line,
                                   const struct fth_error *problem, struct fth_error *error)
{
    struct pool *pool = worker->pool;
    struct fth_fleet *part = worker->builder.fleet;
    const struct fth_fleet_piece *piece = &worker->piece;
    struct fth_buffer reason = {0};
    /* The reader of JSON counts lines from the beginning of its text. */
    static const char first_line[] = "line 1, ";
    const bool counted = line && strncmp(problem->cause, first_line, strlen(first_line)) == 0;
    if (line)
        fth_buffer_format(&reason, "line %zu%s%s", line, counted ? ", " : ": ",
                          problem->cause + (counted ? strlen(first_line) : 0));
    else
        fth_buffer_text(&reason, problem->cause);
    enum fth_status status =
        reason.failed ? fth_no_memory(error, operation, piece->file->path)
                      : fth_fleet_add_problem(part, piece->file->name, reason.data, error);
    if (status == FTH_OK) {
        part->problems[part->problem_count - 1].lines = line ? 1 : 0;
        pthread_mutex_lock(&pool->threads.lock);
        if (piece->number < pool->first_error_piece) {
            pool->first_error_piece = piece->number;
            pool->first_error = FTH_NO_ERROR;
            fth_fail(&pool->first_error, problem->status, operation, piece->file->name, "%s",
                     reason.data);
        }
        pthread_mutex_unlock(&pool->threads.lock);
    }
    fth_buffer_fini(&reason);
    return status;
}

/* Returns whether a failure concerns only the file that is read. */
static bool is_problem(enum fth_status status)
{
    return status != FTH_OK && status != FTH_NO_MEMORY && status != FTH_INTERRUPTED;
}

/* Adds the measurements of the lines of a piece. Damaged lines give one problem, with the reason of
 * the first one and the number of lines. */
static enum fth_status add_lines(struct worker *worker, struct fth_error *error)
{
    const struct fth_fleet_piece *piece = &worker->piece;
    const char *text = piece->text.data;
    struct fth_buffer name = {0};
    struct fth_fleet *part = worker->builder.fleet;
    size_t line = piece->line, damaged = 0;
    enum fth_status status = FTH_OK;
    for (size_t at = 0, size; status == FTH_OK && at < piece->text.size; at += size + 1, line++) {
        struct fth_error own = FTH_NO_ERROR;
        const char *end = memchr(text + at, '\n', piece->text.size - at);
        size = end ? (size_t)(end - text) - at : piece->text.size - at;
        if (strspn(text + at, " \t\r") >= size)
            continue; /* an empty line */
        name.size = 0;
        fth_buffer_format(&name, "%s:%zu", piece->file->name, line);
        status = name.failed ? fth_no_memory(error, operation, piece->file->path)
                             : fth_fleet_add_document(&worker->builder, name.data, name.data,
                                                      text + at, size, &own);
        if (!is_problem(status)) {
            if (status != FTH_OK)
                fth_error_move(error, &own);
            continue;
        }
        status = damaged ? FTH_OK : add_problem(worker, line, &own, error);
        damaged++;
    }
    if (damaged && status == FTH_OK)
        part->problems[part->problem_count - 1].lines = damaged;
    fth_buffer_fini(&name);
    return status;
}

/* Adds the measurements of a piece. */
static enum fth_status add_piece(struct worker *worker, struct fth_error *error)
{
    struct fth_fleet_piece *piece = &worker->piece;
    struct fth_error own = FTH_NO_ERROR;
    if (piece->line && !(piece->line == 1 && piece->text.size == 0))
        return add_lines(worker, error);
    enum fth_status status = fth_fleet_piece_read(piece, &own);
    if (status == FTH_OK)
        status =
            piece->text.size == 0
                ? fth_fail(&own, FTH_INVALID, operation, piece->file->name, "it is empty")
                : fth_fleet_add_document(&worker->builder, piece->file->name, piece->file->path,
                                         piece->text.data, piece->text.size, &own);
    if (is_problem(status))
        return add_problem(worker, 0, &own, error);
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &own);
}

/* ---- threads ---- */

/* Takes the next piece. *more: there is one, or the file could not be read, which became a problem.
 */
static enum fth_status take_piece(struct worker *worker, bool *more, struct fth_error *error)
{
    struct pool *pool = worker->pool;
    struct fth_error own = FTH_NO_ERROR;
    pthread_mutex_lock(&pool->threads.lock);
    enum fth_status status = fth_fleet_source_next(&pool->source, &worker->piece, more, &own);
    if (*more && pool->source.is_folder)
        fth_log_progress(pool->log, operation,
                         (double)pool->source.current / (double)pool->source.file_count);
    pthread_mutex_unlock(&pool->threads.lock);
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &own);
}

/* Reads one piece and notes what it gave. *more is false if there was none. */
static enum fth_status run_piece(struct worker *worker, bool *more, struct fth_error *error)
{
    struct fth_fleet *part = worker->builder.fleet;
    struct fth_error own = FTH_NO_ERROR;
    if (!fth_grow((void **)&worker->shares, worker->share_count, &worker->share_capacity,
                  sizeof *worker->shares))
        return fth_no_memory(error, operation, NULL);
    struct share share = {.first_measurement = part->measurement_count,
                          .first_problem = part->problem_count};
    enum fth_status status = take_piece(worker, more, &own);
    if (status == FTH_OK && !*more)
        return FTH_OK;
    if (is_problem(status))
        status = add_problem(worker, 0, &own, error);
    else if (status == FTH_OK)
        status = add_piece(worker, error);
    else
        fth_error_move(error, &own);
    share.piece = worker->piece.number;
    share.measurement_count = part->measurement_count - share.first_measurement;
    share.problem_count = part->problem_count - share.first_problem;
    worker->shares[worker->share_count++] = share;
    return status;
}

/* Does one step of a thread. */
static enum fth_status read_next(void *user, size_t thread, bool *more, struct fth_error *error)
{
    struct pool *pool = user;
    if (fth_log_interrupted(pool->log))
        return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
    return run_piece(&pool->workers[thread], more, error);
}

/* ---- merging ---- */

/* Adds a measurement of a part to the fleet. `figures` has the indices in the fleet of the part's
 * figures; UINT32_MAX: not known yet. */
static enum fth_status merge_measurement(struct fth_fleet_builder *builder,
                                         const struct fth_fleet *part, uint32_t *figures,
                                         const struct fth_fleet_measurement *from,
                                         struct fth_error *error)
{
    struct fth_fleet *fleet = builder->fleet;
    const size_t figure_count = fleet->figure_count;
    enum fth_status status = FTH_OK;
    fth_fleet_builder_reset(builder, from->file, part->gpus[from->gpu].path);
    for (size_t i = 0; status == FTH_OK && i < from->value_count; i++) {
        const struct fth_fleet_value *value = &from->values[i];
        status = fth_fleet_builder_copy(builder, part->figures[value->figure].name,
                                        &figures[value->figure], value, error);
    }
    builder->draft.gpu = part->gpus[from->gpu];
    builder->draft.time = from->time;
    builder->draft.values = builder->values;
    builder->draft.value_count = builder->value_count;
    builder->draft.fingerprint = from->fingerprint;
    builder->draft.fingerprint_count = from->fingerprint_count;
    if (status == FTH_OK)
        status = fth_fleet_add(fleet, &builder->draft, error);
    if (status != FTH_OK) {
        fth_fleet_forget_figures(fleet, figure_count);
        for (size_t i = 0; i < part->figure_count; i++)
            if (figures[i] != UINT32_MAX && figures[i] >= figure_count)
                figures[i] = UINT32_MAX;
    }
    return status;
}

/* Adds a problem of a part to the fleet. Damaged lines of a file that already has some are only
 * counted. `first` is the index of the first problem of the files that are being read. */
static enum fth_status merge_problem(struct fth_fleet *fleet, size_t first,
                                     const struct fth_fleet_problem *problem,
                                     struct fth_error *error)
{
    struct fth_fleet_problem *last =
        fleet->problem_count > first ? &fleet->problems[fleet->problem_count - 1] : NULL;
    if (last && last->lines && problem->lines && strcmp(last->file, problem->file) == 0) {
        last->lines += problem->lines;
        return FTH_OK;
    }
    FTH_TRY(fth_fleet_add_problem(fleet, problem->file, problem->reason, error));
    fleet->problems[fleet->problem_count - 1].lines = problem->lines;
    return FTH_OK;
}

/* Adds the number of damaged lines to the reasons of the problems from `first` on. */
static enum fth_status count_lines(struct fth_fleet *fleet, size_t first, struct fth_error *error)
{
    struct fth_buffer reason = {0};
    enum fth_status status = FTH_OK;
    for (size_t i = first; i < fleet->problem_count && status == FTH_OK; i++) {
        struct fth_fleet_problem *problem = &fleet->problems[i];
        if (problem->lines < 2)
            continue;
        reason.size = 0;
        fth_buffer_format(&reason, "%zu lines cannot be read; the first is %s", problem->lines,
                          problem->reason);
        const char *text = reason.failed ? NULL : fth_fleet_intern(fleet, reason.data);
        if (text)
            problem->reason = text;
        else
            status = fth_no_memory(error, operation, problem->file);
    }
    fth_buffer_fini(&reason);
    return status;
}

/* Adds what one piece gave to the fleet. */
static enum fth_status merge_share(struct fth_fleet_builder *builder, const struct fth_fleet *part,
                                   uint32_t *figures, const struct share *share,
                                   size_t first_problem, struct fth_error *error)
{
    for (size_t i = 0; i < share->measurement_count; i++) {
        const struct fth_fleet_measurement *from =
            &part->measurements[share->first_measurement + i];
        struct fth_error own = FTH_NO_ERROR;
        const enum fth_status status = merge_measurement(builder, part, figures, from, &own);
        if (is_problem(status))
            FTH_TRY(fth_fleet_add_problem(builder->fleet, from->file, own.cause, error));
        else if (status != FTH_OK)
            return fth_error_move(error, &own);
    }
    for (size_t i = 0; i < share->problem_count; i++) {
        const struct fth_fleet_problem *problem = &part->problems[share->first_problem + i];
        FTH_TRY(merge_problem(builder->fleet, first_problem, problem, error));
    }
    return FTH_OK;
}

/* Adds all parts to the fleet, in the order of the pieces. */
static enum fth_status merge(struct fth_fleet *fleet, const struct worker *workers, size_t count,
                             struct fth_error *error)
{
    struct fth_fleet_builder builder = {.fleet = fleet};
    enum fth_status status = FTH_OK;
    uint32_t *figures = calloc(count, FTH_FLEET_MAX_FIGURES * sizeof *figures);
    size_t *next = calloc(count, sizeof *next);
    const size_t first_problem = fleet->problem_count;
    if (!figures || !next) {
        status = fth_no_memory(error, operation, NULL);
        goto out;
    }
    memset(figures, 0xff, count * FTH_FLEET_MAX_FIGURES * sizeof *figures);
    for (size_t piece = 0, left = count; status == FTH_OK && left > 0; piece++) {
        left = 0;
        for (size_t i = 0; i < count && status == FTH_OK; i++) {
            const struct worker *worker = &workers[i];
            if (next[i] < worker->share_count && worker->shares[next[i]].piece == piece)
                status = merge_share(&builder, worker->builder.fleet,
                                     figures + i * FTH_FLEET_MAX_FIGURES,
                                     &worker->shares[next[i]++], first_problem, error);
            left += next[i] < worker->share_count;
        }
    }
out:
    fth_fleet_builder_fini(&builder);
    free(figures);
    free(next);
    return status;
}

/* ---- the whole ---- */

static size_t count_threads(const struct fth_fleet_options *options,
                            const struct fth_fleet_source *source)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t found = cores > 0 ? (size_t)cores : 1;
    size_t threads = options->threads ? options->threads : FTH_MIN(found, DEFAULT_MAX_THREADS);
    if (source->is_folder && threads > source->file_count)
        threads = source->file_count;
    return threads == 0 ? 1 : FTH_MIN(threads, MAX_THREADS);
}

static void free_workers(struct worker *workers, size_t count)
{
    for (size_t i = 0; workers && i < count; i++) {
        fth_fleet_destroy(workers[i].builder.fleet);
        fth_fleet_builder_fini(&workers[i].builder);
        fth_buffer_fini(&workers[i].piece.text);
        free(workers[i].shares);
    }
    free(workers);
}

/* Fails unless a file that the user named gave a measurement. */
static enum fth_status check_any(const struct pool *pool, const char *path, size_t added,
                                 struct fth_error *error)
{
    if (pool->source.is_folder || added)
        return FTH_OK;
    if (pool->first_error_piece != SIZE_MAX)
        return fth_error_move(error, &pool->first_error);
    return fth_fail(error, FTH_INVALID, operation, path, "it has no measurement");
}

enum fth_status fth_fleet_add_path(struct fth_fleet *fleet, const char *path,
                                   const struct fth_fleet_options *options, struct fth_error *error)
{
    struct fth_fleet_options known;
    FTH_TRY(fth_options_read("fth_fleet_options", options, &known, sizeof known, error));
    struct pool pool = {.log = known.log,
                        .threads = {.step = read_next, .user = &pool},
                        .first_error_piece = SIZE_MAX};
    size_t count = 0, before = fleet->measurement_count, problems = fleet->problem_count;
    enum fth_status status = fth_fleet_source_open(&pool.source, path, error);
    if (status == FTH_OK) {
        count = count_threads(&known, &pool.source);
        pool.workers = calloc(count, sizeof *pool.workers);
        if (!pool.workers)
            status = fth_no_memory(error, operation, path);
    }
    for (size_t i = 0; status == FTH_OK && i < count; i++) {
        pool.workers[i].pool = &pool;
        status = fth_fleet_create(&pool.workers[i].builder.fleet, error);
        if (status == FTH_OK)
            pool.workers[i].builder.fleet->separate = true;
    }
    if (status == FTH_OK)
        status = fth_parallel_run(&pool.threads, count, error);
    if (status == FTH_OK)
        status = merge(fleet, pool.workers, count, error);
    if (status == FTH_OK)
        status = count_lines(fleet, problems, error);
    if (status == FTH_OK)
        status = check_any(&pool, path, fleet->measurement_count - before, error);
    if (status != FTH_OK)
        fleet->problem_count = problems;
    free_workers(pool.workers, count);
    fth_fleet_source_close(&pool.source);
    return status;
}
