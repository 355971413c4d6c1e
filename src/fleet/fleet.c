/* A fleet in memory. Texts are interned in one hash table, whose entries also lead to the figure
 * with this name, to the GPU with this key and to the group of the host with this name. */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "add a measurement to the fleet";

/* ---- texts ---- */

/* An interned text, and what is found by it. */
struct entry {
    const char *text; /* NULL: the slot is free */
    uint64_t hash;
    uint32_t figure; /* index + 1; 0: no figure has this name */
    uint32_t gpu;    /* index + 1; 0: no GPU has this key */
    const char *group;
};

/* A hash table with linear probing; at most half of the slots are used. */
struct table {
    struct entry *slots;
    size_t count, capacity; /* capacity: a power of two, or 0 */
};

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/* Returns the slot of a text, which is free if the table does not have it. The table must not be
 * empty. */
static struct entry *find_slot(const struct table *table, const char *text, uint64_t hash)
{
    size_t at = (size_t)hash & (table->capacity - 1);
    while (table->slots[at].text &&
           (table->slots[at].hash != hash || strcmp(table->slots[at].text, text) != 0))
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

static bool grow_table(struct table *table)
{
    if (table->count < table->capacity / 2)
        return true;
    struct table grown = {.count = table->count,
                          .capacity = table->capacity ? 2 * table->capacity : 1024};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].text)
            *find_slot(&grown, table->slots[i].text, table->slots[i].hash) = table->slots[i];
    free(table->slots);
    *table = grown;
    return true;
}

/* Returns the entry of a text, which is added if it is new; NULL: no memory. It is valid until the
 * next call. */
static struct entry *intern(struct fth_fleet *fleet, const char *text)
{
    struct table *table = fleet->index;
    const uint64_t hash = hash_text(text);
    if (!grow_table(table))
        return NULL;
    struct entry *entry = find_slot(table, text, hash);
    if (!entry->text) {
        const char *copy = fth_arena_text(&fleet->arena, text);
        if (!copy)
            return NULL;
        *entry = (struct entry){.text = copy, .hash = hash};
        table->count++;
    }
    return entry;
}

/* Returns the entry of a text, NULL if there is none. */
static const struct entry *find_entry(const struct fth_fleet *fleet, const char *text)
{
    const struct table *table = fleet->index;
    if (table->capacity == 0)
        return NULL;
    const struct entry *entry = find_slot(table, text, hash_text(text));
    return entry->text ? entry : NULL;
}

const char *fth_fleet_intern(struct fth_fleet *fleet, const char *text)
{
    const struct entry *entry = intern(fleet, text);
    return entry ? entry->text : NULL;
}

/* Interns a text that may be NULL. Returns false without memory. */
static bool intern_to(struct fth_fleet *fleet, const char *text, const char **interned)
{
    *interned = text ? fth_fleet_intern(fleet, text) : NULL;
    return !text || *interned;
}

/* ---- the fleet ---- */

enum fth_status fth_fleet_create(struct fth_fleet **fleet, struct fth_error *error)
{
    *fleet = calloc(1, sizeof **fleet);
    struct table *table = calloc(1, sizeof *table);
    if (!*fleet || !table) {
        free(table);
        free(*fleet);
        *fleet = NULL;
        return fth_no_memory(error, "create a fleet", NULL);
    }
    (*fleet)->index = table;
    return FTH_OK;
}

void fth_fleet_destroy(struct fth_fleet *fleet)
{
    if (!fleet)
        return;
    struct table *table = fleet->index;
    free(table->slots);
    free(table);
    free(fleet->figures);
    free(fleet->gpus);
    free(fleet->measurements);
    free(fleet->by_gpu);
    free(fleet->numbers);
    free(fleet->cohorts);
    free(fleet->problems);
    fth_arena_fini(&fleet->arena);
    free(fleet);
}

size_t fth_fleet_gpu_count(const struct fth_fleet *fleet, size_t *measurements)
{
    if (measurements)
        *measurements = fleet->measurement_count;
    return fleet->gpu_count;
}

uint32_t fth_fleet_figure_find(const struct fth_fleet *fleet, const char *name)
{
    const struct entry *entry = find_entry(fleet, name);
    return entry && entry->figure ? entry->figure - 1 : UINT32_MAX;
}

uint32_t fth_fleet_figure_index(struct fth_fleet *fleet, const char *name)
{
    struct entry *entry = intern(fleet, name);
    if (!entry)
        return UINT32_MAX;
    if (entry->figure)
        return entry->figure - 1;
    if (fleet->figure_count == FTH_FLEET_MAX_FIGURES ||
        !fth_grow((void **)&fleet->figures, fleet->figure_count, &fleet->figure_capacity,
                  sizeof *fleet->figures))
        return UINT32_MAX;
    fleet->figures[fleet->figure_count++] =
        (struct fth_fleet_figure){entry->text, fth_fleet_kind_of(name)};
    entry->figure = (uint32_t)fleet->figure_count;
    return entry->figure - 1;
}

void fth_fleet_forget_figures(struct fth_fleet *fleet, size_t count)
{
    while (fleet->figure_count > count) {
        const char *name = fleet->figures[--fleet->figure_count].name;
        find_slot(fleet->index, name, hash_text(name))->figure = 0;
    }
}

/* ---- problems ---- */

enum fth_status fth_fleet_add_problem(struct fth_fleet *fleet, const char *file, const char *reason,
                                      struct fth_error *error)
{
    struct fth_fleet_problem problem = {0};
    if (!intern_to(fleet, file, &problem.file) || !intern_to(fleet, reason, &problem.reason) ||
        !fth_grow((void **)&fleet->problems, fleet->problem_count, &fleet->problem_capacity,
                  sizeof *fleet->problems))
        return fth_no_memory(error, operation, file);
    fleet->problems[fleet->problem_count++] = problem;
    return FTH_OK;
}

const char *fth_fleet_problem_at(const struct fth_fleet *fleet, size_t index, const char **file)
{
    if (index >= fleet->problem_count)
        return NULL;
    if (file)
        *file = fleet->problems[index].file;
    return fleet->problems[index].reason;
}

/* ---- GPUs ---- */

/* Returns the text that identifies a GPU. The line breaks keep UUIDs and files apart. */
static enum fth_status gpu_key(const struct fth_fleet_draft *draft, struct fth_buffer *key,
                               struct fth_error *error)
{
    const struct fth_fleet_gpu *gpu = &draft->gpu;
    fth_buffer_format(key, "\n%s\n", gpu->backend ? gpu->backend : "");
    if (gpu->uuid)
        fth_buffer_text(key, gpu->uuid);
    else
        fth_buffer_format(key, "%s\n%s", gpu->host ? gpu->host : "",
                          draft->path ? draft->path : draft->file);
    return key->failed ? fth_no_memory(error, operation, draft->file) : FTH_OK;
}

/* Finds the GPU of a draft or adds it, without its properties. */
static enum fth_status find_gpu(struct fth_fleet *fleet, const struct fth_fleet_draft *draft,
                                uint32_t *index, struct fth_error *error)
{
    struct fth_buffer key = {0};
    struct entry *entry = NULL;
    if (!fth_grow((void **)&fleet->gpus, fleet->gpu_count, &fleet->gpu_capacity,
                  sizeof *fleet->gpus))
        return fth_no_memory(error, operation, draft->file);
    if (!fleet->separate) {
        enum fth_status status = gpu_key(draft, &key, error);
        entry = status == FTH_OK ? intern(fleet, key.data) : NULL;
        if (status == FTH_OK && !entry)
            status = fth_no_memory(error, operation, draft->file);
        fth_buffer_fini(&key);
        FTH_TRY(status);
    }
    if (!entry || entry->gpu == 0) {
        fleet->gpus[fleet->gpu_count++] = (struct fth_fleet_gpu){.time = INT64_MIN};
        *index = (uint32_t)fleet->gpu_count - 1;
    } else {
        *index = entry->gpu - 1;
    }
    if (entry)
        entry->gpu = *index + 1;
    return FTH_OK;
}

/* Updates a GPU with what a measurement, whose texts are interned, says about it. What an earlier
 * measurement says counts only if later ones do not say it. */
static void update_gpu(struct fth_fleet_gpu *gpu, const struct fth_fleet_gpu *seen, int64_t time)
{
    const char **const known[] = {&gpu->uuid,  &gpu->host,    &gpu->slot,
                                  &gpu->group, &gpu->model,   &gpu->driver,
                                  &gpu->board, &gpu->backend, &gpu->path};
    const char *const texts[] = {seen->uuid,   seen->host,  seen->slot,    seen->group, seen->model,
                                 seen->driver, seen->board, seen->backend, seen->path};
    const bool latest = time >= gpu->time;
    for (size_t i = 0; i < FTH_COUNT(known); i++)
        if (texts[i] && (latest || !*known[i]))
            *known[i] = texts[i];
    if (!gpu->name || gpu->uuid)
        gpu->name = gpu->uuid ? gpu->uuid : seen->name;
    gpu->simulated = gpu->simulated || seen->simulated;
    if (latest)
        gpu->time = time;
}

/* ---- measurements ---- */

static int compare_values(const void *a, const void *b)
{
    const uint32_t left = ((const struct fth_fleet_value *)a)->figure;
    const uint32_t right = ((const struct fth_fleet_value *)b)->figure;
    return (left > right) - (left < right);
}

/* Copies the values of a draft in the order of their figures, and checks them. */
static enum fth_status copy_values(struct fth_fleet *fleet, const struct fth_fleet_draft *draft,
                                   struct fth_fleet_value **copy, struct fth_error *error)
{
    const size_t count = draft->value_count;
    struct fth_fleet_value *values = fth_arena_array(&fleet->arena, count, sizeof *values);
    if (!values)
        return fth_no_memory(error, operation, draft->file);
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        values[i] = draft->values[i];
        ordered = ordered && (i == 0 || values[i - 1].figure < values[i].figure);
        const struct fth_fleet_figure *figure = &fleet->figures[values[i].figure];
        if (figure->kind <= FTH_FLEET_TIME && !(values[i].number >= 0))
            return fth_fail(error, FTH_INVALID, operation, draft->file,
                            "%s: expected a number of at least 0", figure->name);
        if (!intern_to(fleet, values[i].text, &values[i].text))
            return fth_no_memory(error, operation, draft->file);
    }
    if (!ordered)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 1; i < count; i++)
        if (values[i - 1].figure == values[i].figure)
            return fth_fail(error, FTH_INVALID, operation, draft->file, "%s: it occurs twice",
                            fleet->figures[values[i].figure].name);
    *copy = values;
    return FTH_OK;
}

/* Interns what a draft says about its GPU. */
static enum fth_status intern_gpu(struct fth_fleet *fleet, const struct fth_fleet_draft *draft,
                                  struct fth_fleet_gpu *seen, struct fth_error *error)
{
    const struct fth_fleet_gpu *gpu = &draft->gpu;
    const bool interned =
        intern_to(fleet, gpu->uuid, &seen->uuid) && intern_to(fleet, gpu->host, &seen->host) &&
        intern_to(fleet, gpu->slot, &seen->slot) && intern_to(fleet, gpu->group, &seen->group) &&
        intern_to(fleet, gpu->model, &seen->model) &&
        intern_to(fleet, gpu->driver, &seen->driver) &&
        intern_to(fleet, gpu->board, &seen->board) &&
        intern_to(fleet, gpu->backend, &seen->backend) &&
        intern_to(fleet, gpu->name ? gpu->name : draft->file, &seen->name) &&
        intern_to(fleet,
                  gpu->uuid     ? NULL
                  : draft->path ? draft->path
                                : draft->file,
                  &seen->path);
    seen->simulated = gpu->simulated;
    return interned ? FTH_OK : fth_no_memory(error, operation, draft->file);
}

enum fth_status fth_fleet_add(struct fth_fleet *fleet, const struct fth_fleet_draft *draft,
                              struct fth_error *error)
{
    struct fth_fleet_gpu seen = {0};
    struct fth_fleet_value *values = NULL;
    uint32_t index = 0;
    FTH_TRY(copy_values(fleet, draft, &values, error));
    FTH_TRY(intern_gpu(fleet, draft, &seen, error));
    struct fth_fleet_measurement measurement = {.time = draft->time,
                                                .values = values,
                                                .value_count = draft->value_count,
                                                .fingerprint_count = draft->fingerprint_count,
                                                .host = seen.host,
                                                .slot = seen.slot,
                                                .driver = seen.driver,
                                                .board = seen.board};
    double *fingerprint =
        draft->fingerprint_count
            ? fth_arena_array(&fleet->arena, draft->fingerprint_count, sizeof *fingerprint)
            : NULL;
    if (!intern_to(fleet, draft->file, &measurement.file) ||
        (draft->fingerprint_count && !fingerprint) ||
        !fth_grow((void **)&fleet->measurements, fleet->measurement_count,
                  &fleet->measurement_capacity, sizeof *fleet->measurements))
        return fth_no_memory(error, operation, draft->file);
    if (fingerprint)
        memcpy(fingerprint, draft->fingerprint, draft->fingerprint_count * sizeof *fingerprint);
    measurement.fingerprint = fingerprint;
    FTH_TRY(find_gpu(fleet, draft, &index, error));
    update_gpu(&fleet->gpus[index], &seen, draft->time);
    fleet->gpus[index].measurement_count++;
    measurement.gpu = index;
    fleet->measurements[fleet->measurement_count++] = measurement;
    return FTH_OK;
}

const struct fth_fleet_value *fth_fleet_find(const struct fth_fleet_measurement *measurement,
                                             uint32_t figure)
{
    size_t low = 0, high = measurement->value_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (measurement->values[middle].figure < figure)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < measurement->value_count && measurement->values[low].figure == figure;
    return found ? &measurement->values[low] : NULL;
}

/* ---- groups ---- */

/* Reads one line of the file with the groups of hosts. */
static enum fth_status read_group(struct fth_fleet *fleet, const char *path, size_t line,
                                  char *text, struct fth_error *error)
{
    text[strcspn(text, "\r")] = '\0';
    char *comma = strchr(text, ',');
    if (text[0] == '\0' || text[0] == '#' || (line == 1 && strcmp(text, "host,group") == 0))
        return FTH_OK;
    if (!comma || comma == text || comma[1] == '\0' || strchr(comma + 1, ','))
        return fth_fail(error, FTH_INVALID, "read groups of hosts", path,
                        "line %zu: expected HOST,GROUP", line);
    *comma = '\0';
    const char *group = fth_fleet_intern(fleet, comma + 1);
    struct entry *host = group ? intern(fleet, text) : NULL;
    if (!host)
        return fth_no_memory(error, "read groups of hosts", path);
    if (host->group && host->group != group)
        return fth_fail(error, FTH_INVALID, "read groups of hosts", path,
                        "line %zu: host %s is already in group %s", line, text, host->group);
    host->group = group;
    return FTH_OK;
}

void fth_fleet_apply_groups(struct fth_fleet *fleet)
{
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        const struct entry *host = gpu->host ? find_entry(fleet, gpu->host) : NULL;
        if (host && host->group)
            gpu->group = host->group;
    }
}

enum fth_status fth_fleet_read_groups(struct fth_fleet *fleet, const char *path,
                                      struct fth_error *error)
{
    /* Chosen: 64 MiB are the groups of more than a million hosts. */
    enum { MAX_BYTES = 64 << 20 };
    struct fth_buffer content = {0};
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a file of groups", MAX_BYTES), &content, error);
    size_t line = 1;
    char *next = content.data;
    if (status == FTH_OK && content.data && strlen(content.data) != content.size)
        status = fth_fail(error, FTH_INVALID, "read groups of hosts", path, "it is not a text");
    for (; status == FTH_OK && next; line++) {
        char *text = next;
        next = strchr(text, '\n');
        if (next)
            *next++ = '\0';
        status = read_group(fleet, path, line, text, error);
    }
    fth_buffer_fini(&content);
    if (status == FTH_OK)
        fth_fleet_apply_groups(fleet);
    return status;
}
