/* Which cards were swapped or moved? By UUID: another card is in a slot, or a card is in another
 * slot. By fingerprint (card_maps.c): a UUID whose chip changed, and cards without a UUID.
 *
 * Measurements without a time or without a host are left out, because their order or their place is
 * unknown. Slices of a GPU (MIG) share its slot and are left out, too. */
#include "fleet/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find swapped cards";

/* Measurements that a map needs on both sides of a change. Chosen: one disturbed measurement is not
 * enough. */
enum { MIN_RUNS = 2 };

/* The search, with its results. */
struct search {
    const struct fth_fleet *fleet;
    struct fth_card_events *events;
    struct fth_arena arena;    /* for maps */
    struct fth_card_map *maps; /* [GPUs] of all measurements */
    double noise;
    struct fth_error *error;
};

const char *fth_card_event_name(enum fth_card_event_kind kind)
{
    static const char *const names[] = {
        [FTH_CARD_REPLACED] = "replaced",     [FTH_CARD_MOVED] = "moved",
        [FTH_CARD_OTHER_CHIP] = "other_chip", [FTH_CARD_RECOGNISED] = "recognised",
        [FTH_CARD_UNDECIDED] = "undecided",   [FTH_CARD_UNKNOWN] = "unknown",
    };
    return names[kind];
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static const struct fth_fleet_measurement *measurement_of(const struct fth_fleet *fleet,
                                                          const struct fth_fleet_gpu *gpu,
                                                          size_t index)
{
    return &fleet->measurements[fleet->by_gpu[gpu->first_measurement + index]];
}

static bool has_place(const struct fth_fleet_measurement *measurement)
{
    return measurement->host && measurement->slot && measurement->time > 0;
}

static bool is_card(const struct fth_fleet_gpu *gpu)
{
    return gpu->uuid && strncmp(gpu->uuid, "MIG-", 4) != 0;
}

/* Adds an event with its sentence, which is released. */
static enum fth_status add_event(struct search *search, struct fth_card_event event,
                                 struct fth_buffer *sentence)
{
    struct fth_card_events *events = search->events;
    const char **const texts[] = {&event.host, &event.slot, &event.old_host, &event.old_slot,
                                  &event.other};
    bool good = !sentence->failed;
    event.sentence = good ? fth_arena_text(&events->arena, sentence->data) : NULL;
    fth_buffer_fini(sentence);
    for (size_t i = 0; i < FTH_COUNT(texts) && good; i++)
        if (*texts[i])
            good = (*texts[i] = fth_arena_text(&events->arena, *texts[i])) != NULL;
    if (!good || !event.sentence ||
        !fth_grow((void **)&events->items, events->count, &events->capacity, sizeof *events->items))
        return fth_no_memory(search->error, operation, NULL);
    events->items[events->count++] = event;
    return FTH_OK;
}

/* Appends the date of a time in brackets. */
static void put_date(struct fth_buffer *out, int64_t time)
{
    char text[24];
    fth_time_write(time, text);
    text[strcspn(text, "T")] = '\0';
    fth_buffer_format(out, " (%s)", text);
}

/* Appends a distance of fingerprints and the limit that it is compared with. */
static void put_distance(struct fth_buffer *out, double distance, double limit)
{
    char text[80];
    fth_format(text, sizeof text, "distance %.2f, limit %.2f", distance, limit);
    fth_buffer_text(out, text);
}

/* ---- slots ---- */

static int compare_places(const struct fth_fleet_measurement *a,
                          const struct fth_fleet_measurement *b)
{
    const int hosts = strcmp(a->host, b->host);
    return hosts ? hosts : strcmp(a->slot, b->slot);
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct fth_fleet_measurement *x = *(const struct fth_fleet_measurement *const *)a;
    const struct fth_fleet_measurement *y = *(const struct fth_fleet_measurement *const *)b;
    const int places = compare_places(x, y);
    if (places)
        return places;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

static enum fth_status add_replaced(struct search *search, const struct fth_fleet_measurement *old,
                                    const struct fth_fleet_measurement *new)
{
    const struct fth_fleet *fleet = search->fleet;
    const struct fth_fleet_gpu *card = &fleet->gpus[old->gpu];
    const char *other = fleet->gpus[new->gpu].uuid;
    const struct fth_fleet_measurement *last =
        measurement_of(fleet, card, card->measurement_count - 1);
    struct fth_buffer text = {0};
    fth_buffer_format(&text, "%s slot %s: %s replaced by %s", new->host, new->slot, card->uuid,
                      other);
    put_date(&text, new->time);
    if (!has_place(last) || last->time <= old->time)
        fth_buffer_text(&text, "; the old card has not been seen since");
    else if (compare_places(last, new) == 0)
        fth_buffer_text(&text, "; the old card is in this slot again");
    else
        fth_buffer_format(&text, "; the old card is now in %s slot %s", last->host, last->slot);
    return add_event(search,
                     (struct fth_card_event){.kind = FTH_CARD_REPLACED,
                                             .gpu = old->gpu,
                                             .time = new->time,
                                             .host = new->host,
                                             .slot = new->slot,
                                             .other = other,
                                             .distance = NAN},
                     &text);
}

/* Finds slots in which another card is now. */
static enum fth_status find_replaced(struct search *search)
{
    const struct fth_fleet *fleet = search->fleet;
    const struct fth_fleet_measurement **order =
        calloc(fleet->measurement_count + 1, sizeof *order);
    size_t count = 0;
    if (!order)
        return fth_no_memory(search->error, operation, NULL);
    for (size_t i = 0; i < fleet->measurement_count; i++)
        if (has_place(&fleet->measurements[i]) && is_card(&fleet->gpus[fleet->measurements[i].gpu]))
            order[count++] = &fleet->measurements[i];
    if (count > 1)
        qsort(order, count, sizeof *order, by_place_and_time);
    enum fth_status status = FTH_OK;
    for (size_t i = 1; i < count && status == FTH_OK; i++)
        if (compare_places(order[i - 1], order[i]) == 0 && order[i - 1]->gpu != order[i]->gpu)
            status = add_replaced(search, order[i - 1], order[i]);
    free(order);
    return status;
}

/* Returns whether an event already reports that the card left the place of the measurement `old`
 * before it was measured again (`new`). */
static bool is_reported(const struct search *search, const struct fth_fleet_measurement *old,
                        const struct fth_fleet_measurement *new)
{
    for (size_t i = 0; i < search->events->count; i++) {
        const struct fth_card_event *event = &search->events->items[i];
        if (event->kind == FTH_CARD_REPLACED && event->gpu == old->gpu &&
            event->time >= old->time &&
            event->time <= new->time &&same_text(event->host, old->host) &&
            same_text(event->slot, old->slot))
            return true;
    }
    return false;
}

static enum fth_status add_moved(struct search *search, const struct fth_fleet_measurement *old,
                                 const struct fth_fleet_measurement *new)
{
    struct fth_buffer text = {0};
    fth_buffer_format(&text, "%s moved from %s slot %s to %s slot %s",
                      search->fleet->gpus[old->gpu].uuid, old->host, old->slot, new->host,
                      new->slot);
    put_date(&text, new->time);
    return add_event(search,
                     (struct fth_card_event){.kind = FTH_CARD_MOVED,
                                             .gpu = old->gpu,
                                             .time = new->time,
                                             .host = new->host,
                                             .slot = new->slot,
                                             .old_host = old->host,
                                             .old_slot = old->slot,
                                             .distance = NAN},
                     &text);
}

/* Finds cards that are in another slot than before. */
static enum fth_status find_moved(struct search *search)
{
    const struct fth_fleet *fleet = search->fleet;
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        const struct fth_fleet_measurement *old = NULL;
        for (size_t j = 0; j < gpu->measurement_count && is_card(gpu); j++) {
            const struct fth_fleet_measurement *new = measurement_of(fleet, gpu, j);
            if (!has_place(new))
                continue;
            if (old && compare_places(old, new) != 0 && !is_reported(search, old, new))
                FTH_TRY(add_moved(search, old, new));
            old = new;
        }
    }
    return FTH_OK;
}

/* ---- fingerprints ---- */

static struct fth_history_span span_of(const struct fth_fleet *fleet,
                                       const struct fth_fleet_gpu *gpu, size_t from, size_t to)
{
    return (struct fth_history_span){fleet, fleet->by_gpu + gpu->first_measurement + from,
                                     to - from};
}

static enum fth_status add_other_chip(struct search *search, const struct fth_fleet_gpu *gpu,
                                      size_t split, double distance)
{
    const struct fth_fleet_measurement *first = measurement_of(search->fleet, gpu, split);
    struct fth_buffer text = {0};
    fth_buffer_format(&text, "%s: its fingerprint has changed", gpu->name);
    put_date(&text, first->time);
    fth_buffer_text(&text, "; the UUID is the same, but the chip is another one (");
    put_distance(&text, distance, fth_card_other_limit);
    fth_buffer_text(&text, "): a repaired board, or a UUID that is not genuine");
    return add_event(search,
                     (struct fth_card_event){.kind = FTH_CARD_OTHER_CHIP,
                                             .gpu = first->gpu,
                                             .time = first->time,
                                             .host = first->host,
                                             .slot = first->slot,
                                             .distance = distance},
                     &text);
}

/* Finds the time at which the fingerprint of a GPU changed most, if it changed. */
static enum fth_status find_other_chip(struct search *search, const struct fth_fleet_gpu *gpu)
{
    const struct fth_history_span all = span_of(search->fleet, gpu, 0, gpu->measurement_count);
    const size_t sms = search->maps[gpu - search->fleet->gpus].sms;
    double distance;
    size_t split = 0;
    FTH_TRY(fth_card_change(&all, sms, MIN_RUNS, search->noise, &split, &distance, search->error));
    return distance > fth_card_other_limit ? add_other_chip(search, gpu, split, distance) : FTH_OK;
}

/* The known cards that a card without a UUID can be. */
struct candidates {
    const struct fth_fleet_gpu *nearest;
    double distance;
    size_t possible; /* within the limit for "other" */
};

static struct candidates find_candidates(const struct search *search, size_t index)
{
    const struct fth_fleet *fleet = search->fleet;
    struct candidates found = {.distance = INFINITY};
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *card = &fleet->gpus[i];
        if (!is_card(card) || !same_text(card->model, fleet->gpus[index].model))
            continue;
        const double distance =
            fth_card_distance(&search->maps[index], &search->maps[i], search->noise);
        found.possible += distance <= fth_card_other_limit;
        if (distance < found.distance) {
            found.distance = distance;
            found.nearest = card;
        }
    }
    return found;
}

/* Compares a card without a UUID with the known ones. */
static enum fth_status recognise(struct search *search, size_t index)
{
    const struct fth_fleet_gpu *gpu = &search->fleet->gpus[index];
    const struct candidates found = find_candidates(search, index);
    const struct fth_fleet_measurement *last =
        measurement_of(search->fleet, gpu, gpu->measurement_count - 1);
    struct fth_buffer text = {0};
    enum fth_card_event_kind kind = FTH_CARD_UNKNOWN;
    if (!found.nearest)
        return FTH_OK;
    if (found.possible)
        kind = found.possible == 1 && found.distance <= fth_card_same_limit ? FTH_CARD_RECOGNISED
                                                                            : FTH_CARD_UNDECIDED;
    fth_buffer_format(&text, "%s: this card has no UUID; ", gpu->name);
    if (kind == FTH_CARD_RECOGNISED)
        fth_buffer_format(&text, "by its fingerprint, it is %s (", found.nearest->uuid);
    else if (kind == FTH_CARD_UNKNOWN)
        fth_buffer_format(&text, "no known card has its fingerprint (nearest %s, ",
                          found.nearest->uuid);
    else
        fth_buffer_format(&text, "its fingerprint does not decide which of %zu it is (nearest %s, ",
                          found.possible, found.nearest->uuid);
    put_distance(&text, found.distance,
                 kind == FTH_CARD_RECOGNISED ? fth_card_same_limit : fth_card_other_limit);
    fth_buffer_text(&text, ")");
    return add_event(search,
                     (struct fth_card_event){.kind = kind,
                                             .gpu = (uint32_t)index,
                                             .time = last->time,
                                             .host = last->host,
                                             .slot = last->slot,
                                             .other = found.nearest->uuid,
                                             .distance = found.distance},
                     &text);
}

static enum fth_status compare_fingerprints(struct search *search)
{
    const struct fth_fleet *fleet = search->fleet;
    search->maps = fth_arena_array(&search->arena, fleet->gpu_count + 1, sizeof *search->maps);
    if (!search->maps)
        return fth_no_memory(search->error, operation, NULL);
    FTH_TRY(fth_card_noise(fleet, &search->noise, search->error));
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        const struct fth_history_span all = span_of(fleet, gpu, 0, gpu->measurement_count);
        FTH_TRY(fth_card_map(&all, &search->arena, &search->maps[i], search->error));
    }
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_gpu *gpu = &fleet->gpus[i];
        if (is_card(gpu) && search->maps[i].runs >= (size_t)2 * MIN_RUNS)
            FTH_TRY(find_other_chip(search, gpu));
        else if (!gpu->uuid && search->maps[i].runs > 0)
            FTH_TRY(recognise(search, i));
    }
    return FTH_OK;
}

/* ---- all ---- */

static int by_time(const void *a, const void *b)
{
    const struct fth_card_event *x = a, *y = b;
    if (x->time != y->time)
        return (x->time > y->time) - (x->time < y->time);
    return strcmp(x->sentence, y->sentence);
}

enum fth_status fth_card_events_find(const struct fth_fleet *fleet, struct fth_card_events *events,
                                     struct fth_error *error)
{
    struct fth_error own = FTH_NO_ERROR;
    struct search search = {.fleet = fleet, .events = events, .error = &own};
    *events = (struct fth_card_events){.count = 0};
    enum fth_status status = find_replaced(&search);
    if (status == FTH_OK)
        status = find_moved(&search);
    if (status == FTH_OK)
        status = compare_fingerprints(&search);
    fth_arena_fini(&search.arena);
    if (status == FTH_OK && events->count > 1)
        qsort(events->items, events->count, sizeof *events->items, by_time);
    if (status == FTH_OK)
        return FTH_OK;
    fth_card_events_fini(events);
    return fth_error_move(error, &own);
}

void fth_card_events_fini(struct fth_card_events *events)
{
    free(events->items);
    fth_arena_fini(&events->arena);
    *events = (struct fth_card_events){.count = 0};
}
