/* Which GPUs and hosts of a fleet are missing? A GPU that does not answer gives no measurement, and
 * a judgement of the others does not show it. This file compares a judgement with the number of
 * GPUs and the list of hosts that the user expects. If GPUs are missing, the history names those
 * that were measured recently. */
#include "fleet/history/history.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "read expected hosts";

/* GPUs of the history that were not measured for a longer time are no longer expected. Chosen. */
enum { RECENT_SECONDS = 30 * 86400 };

/* The search for what is missing. */
struct search {
    struct fth_fleet_judgement *judgement;
    const char **hosts; /* of the fleet, ordered by compare_hosts */
    size_t host_count;
    const char **names; /* of its GPUs in the history, ordered */
    size_t name_count;
    bool known_hosts; /* only GPUs of the hosts of the fleet can be missing */
    int64_t newest;   /* time of the newest measurement of the fleet; 0: unknown */
    struct fth_fleet_missing *missing;
    size_t count, capacity;
    struct fth_arena arena; /* owns `names` */
    bool failed;            /* no memory */
};

/* ---- hosts ---- */

/* Orders hosts by their names up to the first dot. */
static int compare_hosts(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const size_t short_x = strcspn(x, "."), short_y = strcspn(y, ".");
    const size_t size = FTH_MIN(short_x, short_y);
    const int order = memcmp(x, y, size);
    return order ? order : (short_x > short_y) - (short_x < short_y);
}

/* Returns whether the fleet has a GPU of this host. A name without a domain stands for the host in
 * any domain. */
static bool has_host(const struct search *search, const char *host)
{
    size_t low = 0, high = search->host_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_hosts(&search->hosts[middle], &host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < search->host_count && compare_hosts(&search->hosts[low], &host) == 0; low++)
        if (!strchr(host, '.') || !strchr(search->hosts[low], '.') ||
            strcmp(search->hosts[low], host) == 0)
            return true;
    return false;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collects the hosts and the names of the GPUs of the fleet. */
static enum fth_status collect(struct search *search, struct fth_error *error)
{
    const struct fth_fleet *fleet = search->judgement->fleet;
    struct fth_buffer buffer = {0};
    search->hosts = calloc(fleet->gpu_count + 1, sizeof *search->hosts);
    search->names = calloc(fleet->gpu_count + 1, sizeof *search->names);
    bool good = search->hosts && search->names;
    for (size_t i = 0; good && i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        const char *name = fth_history_name(gpu, gpu->host, gpu->slot, &buffer);
        const char *copy = name ? fth_arena_text(&search->arena, name) : NULL;
        good = copy != NULL;
        search->names[search->name_count++] = copy;
        if (gpu->host)
            search->hosts[search->host_count++] = gpu->host;
        search->newest = gpu->time > search->newest ? gpu->time : search->newest;
    }
    fth_buffer_fini(&buffer);
    if (!good)
        return fth_no_memory(error, operation, NULL);
    qsort((void *)search->hosts, search->host_count, sizeof *search->hosts, compare_hosts);
    qsort((void *)search->names, search->name_count, sizeof *search->names, compare_texts);
    return FTH_OK;
}

/* ---- missing hosts and GPUs ---- */

static void add_missing(struct search *search, const char *host, const char *gpu)
{
    struct fth_arena *arena = &search->judgement->arena;
    struct fth_fleet_missing item = {0};
    if ((host && !(item.host = fth_arena_text(arena, host))) ||
        (gpu && !(item.gpu = fth_arena_text(arena, gpu))) ||
        !fth_grow((void **)&search->missing, search->count, &search->capacity,
                  sizeof *search->missing)) {
        search->failed = true;
        return;
    }
    search->missing[search->count++] = item;
}

static bool is_missing_host(const struct search *search, const char *host)
{
    for (size_t i = 0; i < search->count; i++)
        if (!search->missing[i].gpu && strcmp(search->missing[i].host, host) == 0)
            return true;
    return false;
}

/* Adds the host of a line if the fleet does not have it. What follows a comma, such as a group, is
 * ignored. */
static void check_line(struct search *search, char *line)
{
    line[strcspn(line, ",\r")] = '\0';
    line += strspn(line, " \t");
    line[strcspn(line, " \t")] = '\0';
    if (*line && *line != '#' && !has_host(search, line) && !is_missing_host(search, line))
        add_missing(search, line, NULL);
}

static enum fth_status read_hosts(struct search *search, const char *path, struct fth_error *error)
{
    enum { MAX_BYTES = 64 << 20 }; /* as for the groups of hosts */
    struct fth_buffer content = {0};
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a list of hosts", MAX_BYTES), &content, error);
    if (status == FTH_OK && content.data && strlen(content.data) != content.size)
        status = fth_fail(error, FTH_INVALID, operation, path, "it is not a text");
    char *next = status == FTH_OK ? content.data : NULL;
    if (next && (strncmp(next, "host\n", 5) == 0 || strncmp(next, "host,", 5) == 0))
        next = strchr(next, '\n'); /* the head of a CSV file */
    while (next) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        check_line(search, line);
    }
    fth_buffer_fini(&content);
    return status;
}

/* Returns whether another card is in the place of a GPU of the history. */
static bool is_replaced(const struct search *search, const struct fth_fleet_history_gpu *gpu)
{
    const struct fth_fleet *fleet = search->judgement->fleet;
    for (size_t i = 0; gpu->host && gpu->slot && i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *other = &fleet->gpus[i];
        if (other->host && other->slot && strcmp(other->host, gpu->host) == 0 &&
            strcmp(other->slot, gpu->slot) == 0)
            return true;
    }
    return false;
}

/* Adds a GPU of the history that the fleet does not have, or its host. */
static void check_gpu(void *user, const struct fth_fleet_history_gpu *gpu)
{
    struct search *search = user;
    const bool old = search->newest && gpu->last_time < search->newest - RECENT_SECONDS;
    if (old || bsearch(&gpu->name, (const void *)search->names, search->name_count,
                       sizeof *search->names, compare_texts))
        return;
    if (search->known_hosts && !(gpu->host && has_host(search, gpu->host)))
        return;
    if (gpu->host && !has_host(search, gpu->host)) {
        if (!is_missing_host(search, gpu->host))
            add_missing(search, gpu->host, NULL);
    } else if (!is_replaced(search, gpu)) {
        add_missing(search, gpu->host, gpu->name);
    }
}

enum fth_status fth_fleet_expect(struct fth_fleet_judgement *judgement,
                                 const struct fth_fleet_expect_options *options, bool *complete,
                                 struct fth_error *error)
{
    struct fth_fleet_expect_options known;
    struct search search = {.judgement = judgement};
    *complete = true;
    FTH_TRY(fth_options_read("fth_fleet_expect_options", options, &known, sizeof known, error));
    const size_t found = judgement->healthy + judgement->suspect + judgement->failed +
                         (known.measured ? judgement->not_judged : 0);
    search.known_hosts = known.measured;
    enum fth_status status = collect(&search, error);
    if (status == FTH_OK && known.hosts)
        status = read_hosts(&search, known.hosts, error);
    *complete = found >= known.gpus && search.count == 0;
    if (status == FTH_OK && found < known.gpus && known.history)
        status = fth_fleet_history_list(known.history, check_gpu, &search, error);
    judgement->expects = true;
    judgement->expected_gpus = known.gpus;
    judgement->found_gpus = found;
    judgement->counts_measured = known.measured;
    judgement->missing_count = 0;
    judgement->missing =
        fth_arena_array(&judgement->arena, search.count + 1, sizeof *judgement->missing);
    if (status == FTH_OK && (search.failed || !judgement->missing))
        status = fth_no_memory(error, operation, NULL);
    if (status == FTH_OK && search.count) {
        memcpy(judgement->missing, search.missing, search.count * sizeof *search.missing);
        judgement->missing_count = search.count;
    }
    free((void *)search.hosts);
    free((void *)search.names);
    free(search.missing);
    fth_arena_fini(&search.arena);
    return status;
}
