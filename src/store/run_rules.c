/* What a run must look like, whether it is measured, imported from a document or read from a store;
 * and lists of runs. */
#include "store/store.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of runs ---- */

void fth_runs_fini(struct fth_runs *runs)
{
    fth_arena_fini(&runs->arena);
    free(runs->items);
    *runs = (struct fth_runs){.items = NULL};
}

struct fth_run *fth_runs_add(struct fth_runs *runs)
{
    void *items = runs->items;
    if (!fth_grow(&items, runs->count, &runs->capacity, sizeof *runs->items))
        return NULL;
    runs->items = items;
    runs->items[runs->count] = (struct fth_run){.name = NULL};
    return &runs->items[runs->count++];
}

size_t fth_runs_end(const struct fth_runs *runs, size_t first)
{
    size_t end = first + 1;
    while (end < runs->count && strcmp(runs->items[end].name, runs->items[first].name) == 0)
        end++;
    return end;
}

/* ---- rules ---- */

/* The rules name these numbers. */
_Static_assert(FTH_MAX_NAME_BYTES == 64 && FTH_MAX_TEXT_BYTES == 256, "as in the rules");
_Static_assert(FTH_MAX_RUN_VERSION == 1000000, "as in the rules");

static const struct {
    const char *name, *rule;
} members[] = {
    [FTH_RUN_NAME] = {"name", "must be 1 to 64 bytes of printable text"},
    [FTH_RUN_KEY] = {"key", "must be 8 to 64 digits, lower-case letters and dashes"},
    [FTH_RUN_DEVICE] = {"device", "must be at most 256 bytes of printable text"},
    [FTH_RUN_UUID] = {"uuid", "must be at most 256 bytes of printable text"},
    [FTH_RUN_DRIVER] = {"driver", "must be at most 256 bytes of printable text"},
    [FTH_RUN_TIME] = {"time", "must be a whole number of seconds within the years 1970 to 9999"},
    [FTH_RUN_VERSION] = {"version", "must be a whole number from 0 to 1000000"},
};

const char *fth_run_member_name(enum fth_run_member member)
{
    return members[member].name;
}

enum fth_status fth_run_refuse(enum fth_run_member member, const char *where, const char *operation,
                               const char *argument, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, operation, argument, "%s%s: %s", where,
                    members[member].name, members[member].rule);
}

/* Finds out whether a text has `min` to `max` bytes and is printable. */
static enum fth_status check_text(const char *text, size_t min, size_t max, bool *valid,
                                  const char *operation, struct fth_error *error)
{
    const size_t size = strlen(text);
    struct fth_buffer plain = {0};
    *valid = size >= min && size <= max;
    if (!*valid || size == 0)
        return FTH_OK;
    fth_text_append(&plain, text, SIZE_MAX, "");
    const bool failed = plain.failed;
    *valid = !failed && strcmp(plain.data, text) == 0;
    fth_buffer_fini(&plain);
    return failed ? fth_no_memory(error, operation, text) : FTH_OK;
}

/* Keys that fathom makes have 32 hexadecimal digits. Other keys are accepted if they have a plain
 * form. */
static bool is_key(const char *key)
{
    const size_t digits = strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz-");
    return key[digits] == '\0' && digits >= 8 && digits <= 64;
}

enum fth_status fth_run_check(const struct fth_run *run, enum fth_run_member member,
                              const char *where, const char *operation, const char *argument,
                              struct fth_error *error)
{
    const char *const texts[FTH_RUN_MEMBERS] = {
        [FTH_RUN_DEVICE] = run->device, [FTH_RUN_UUID] = run->uuid, [FTH_RUN_DRIVER] = run->driver};
    bool valid = true;
    switch (member) {
    case FTH_RUN_KEY: valid = !run->key || is_key(run->key); break;
    case FTH_RUN_TIME: valid = run->time >= 0 && run->time <= FTH_MAX_TIME; break;
    case FTH_RUN_VERSION: valid = run->version <= FTH_MAX_RUN_VERSION; break;
    case FTH_RUN_NAME:
        FTH_TRY(check_text(run->name, 1, FTH_MAX_NAME_BYTES, &valid, operation, error));
        break;
    default:
        if (texts[member])
            FTH_TRY(check_text(texts[member], 0, FTH_MAX_TEXT_BYTES, &valid, operation, error));
    }
    return valid ? FTH_OK : fth_run_refuse(member, where, operation, argument, error);
}

unsigned fth_run_version(int64_t number)
{
    return number >= 0 && number <= FTH_MAX_RUN_VERSION ? (unsigned)number : UINT_MAX;
}

enum fth_status fth_store_check_name(const char *name, struct fth_error *error)
{
    static const char operation[] = "name a GPU";
    bool valid;
    FTH_TRY(check_text(name, 1, FTH_MAX_NAME_BYTES, &valid, operation, error));
    return valid ? FTH_OK
                 : fth_fail(error, FTH_INVALID, operation, name,
                            "a name must be 1 to %d bytes of printable text", FTH_MAX_NAME_BYTES);
}
