/* The history of a fleet: measurements of many GPUs over time, in an SQLite file, and what they
 * show (docs/fleets.md).
 *
 *   history.c         the file: opening, adding, forgetting
 *   history_read.c    reading measurements of the history into a fleet; the list of its GPUs
 *   history_values.c  the values of a measurement as bytes, and back
 *   history_change.c  the figures of a GPU against its own earlier measurements
 *   history_cards.c   cards that were swapped or moved
 *   card_maps.c       fingerprints: which measurements can be of the same chip
 *   history_judge.c   changes and cards as findings and notes of a judgement
 *   history_expected.c  GPUs and hosts that are missing in a judgement
 */
#ifndef FTH_FLEET_HISTORY_H
#define FTH_FLEET_HISTORY_H

#include "fleet/fleet.h"
#include "store/store.h"

/* ---- history.c ---- */

/* A text of the file: the name of a figure, or a value. Measurements refer to it by its number. */
struct fth_history_text {
    int64_t id;
    const char *text;
};
struct fth_fleet_history {
    struct fth_store *store;
    struct fth_arena arena; /* owns the texts below */
    struct fth_history_text *texts;
    size_t text_count, text_capacity;
    uint32_t *by_text; /* hash table: index + 1 of a text; 0: free */
    size_t slot_count; /* of the hash table, a power of two */
    int64_t last_text; /* greatest id */
};
/* Reads the texts that other processes have added since the last call. */
FTH_MUST_USE enum fth_status fth_history_load_texts(struct fth_fleet_history *history,
                                                    struct fth_error *error);
/* Returns the number of a text, 0 if the file does not have it. */
int64_t fth_history_find(const struct fth_fleet_history *history, const char *text);
/* Returns the text with this number, NULL if there is none. */
const char *fth_history_text(const struct fth_fleet_history *history, int64_t id);

/* Returns the name of a GPU in the history: its UUID; without one, its host and slot or, if these
 * are unknown, its file. `host` and `slot` are those of a measurement. The name is a text of the
 * fleet or of `buffer`; NULL: no memory. */
const char *fth_history_name(const struct fth_fleet_gpu *gpu, const char *host, const char *slot,
                             struct fth_buffer *buffer);

/* ---- history_read.c ---- */

/* Newest measurements of a GPU that comparisons use. Chosen: a season of weekly measurements. */
enum { FTH_HISTORY_MAX_MEASUREMENTS = 40 };

/* Works as fth_fleet_history_read does. Without `values`, the measurements have no values, and take
 * little memory. */
FTH_MUST_USE enum fth_status fth_history_load(struct fth_fleet_history *history,
                                              const struct fth_fleet_history_options *options,
                                              bool values, struct fth_fleet *fleet,
                                              struct fth_error *error);

/* ---- history_values.c ---- */

/* Appends the values of a measurement in the order of the numbers of their figures. `ids` has the
 * number of each figure of the fleet, and of each text the number is found by `find`. */
struct fth_history_encoder {
    const int64_t *figure_ids; /* [figures of the fleet] */
    /* Returns the number of a text, which is added if it is new; 0: failed. */
    int64_t (*find)(void *user, const char *text);
    void *user;
};
/* Returns false if `find` failed or memory is missing. */
bool fth_history_encode(const struct fth_history_encoder *encoder,
                        const struct fth_fleet_measurement *measurement, struct fth_buffer *figures,
                        struct fth_buffer *fingerprint);
/* Reads the values that `figures` encodes. *values is in the arena. FTH_INVALID: the bytes are
 * malformed, or refer to a text that is not in the file. Figures are added to the fleet. */
FTH_MUST_USE enum fth_status fth_history_decode(const struct fth_fleet_history *history,
                                                const void *figures, size_t size,
                                                struct fth_fleet *fleet, struct fth_arena *arena,
                                                struct fth_fleet_draft *draft,
                                                struct fth_error *error);
/* Likewise, for a fingerprint. */
FTH_MUST_USE enum fth_status fth_history_decode_map(const struct fth_fleet_history *history,
                                                    const void *map, size_t size,
                                                    struct fth_arena *arena,
                                                    struct fth_fleet_draft *draft,
                                                    struct fth_error *error);

/* ---- history_change.c ---- */

/* What a figure of a GPU was before and is now. */
struct fth_history_change {
    uint32_t figure;    /* of the fleet with the new measurements */
    double before, now; /* medians; NAN: texts */
    const char *before_text, *now_text;
    double effect;   /* now / before - 1; NAN: texts */
    double distance; /* of the logarithms, in standard deviations of their difference */
    double p;        /* probability of at least this distance, or of this value, without a change,
                      * multiplied by the number of figures that were tested */
    double single_p; /* likewise, without the multiplication */
    bool worse;      /* in the direction that is worse */
    size_t before_count, now_count; /* measurements that have the figure */
};
/* The measurements of one GPU in a fleet, in the order of time. */
struct fth_history_span {
    const struct fth_fleet *fleet;
    const size_t *measurements; /* indices into fleet->measurements */
    size_t count;
};
/* Noise of the figures from run to run: standard deviations of logarithms. */
struct fth_history_noise {
    const char **figures; /* in the order of strcmp */
    double *deviations;   /* NAN: unknown */
    size_t *counts;       /* differences of successive measurements that they come from */
    size_t *changes;      /* exact figures that were measured: how many of `counts` are changes */
    size_t count;
    size_t exact_changes, exact_pairs; /* sums of `changes` and `counts` over all exact figures */
    struct fth_arena arena;
};
/* Estimates the noise from all GPUs of an arranged fleet that have several measurements. */
FTH_MUST_USE enum fth_status fth_history_noise(const struct fth_fleet *fleet,
                                               struct fth_history_noise *noise,
                                               struct fth_error *error);
/* Returns the name of a GPU in the history; NULL: no memory. It is valid until the next call. */
typedef const char *fth_history_namer(void *user, size_t index);
/* Estimates the noise from the newest measurements of up to 400 of `gpu_count` GPUs. */
FTH_MUST_USE enum fth_status fth_history_estimate_noise(struct fth_fleet_history *history,
                                                        size_t gpu_count, fth_history_namer *name,
                                                        void *user, struct fth_history_noise *noise,
                                                        struct fth_error *error);
/* Releases the noise. */
void fth_history_noise_fini(struct fth_history_noise *noise);
/* Compares all figures of a GPU that both spans have. *changes is an array in the arena, with one
 * element for each rate and time that could be tested, whether it changed or not, and for each
 * exact figure that changed. */
FTH_MUST_USE enum fth_status fth_history_compare(const struct fth_history_span *before,
                                                 const struct fth_history_span *now,
                                                 const struct fth_history_noise *noise,
                                                 struct fth_arena *arena,
                                                 struct fth_history_change **changes, size_t *count,
                                                 struct fth_error *error);
/* Writes what else differs between the last measurement before and the first one now: driver,
 * board, clocks, host, slot. Returns a text in the arena, NULL if nothing differs. */
FTH_MUST_USE enum fth_status fth_history_context(const struct fth_history_span *before,
                                                 const struct fth_history_span *now,
                                                 struct fth_arena *arena, const char **note,
                                                 struct fth_error *error);

/* ---- history_cards.c ---- */

/* What happened to a card. */
enum fth_card_event_kind {
    FTH_CARD_REPLACED,   /* another card is in its slot */
    FTH_CARD_MOVED,      /* it is in another host or slot */
    FTH_CARD_OTHER_CHIP, /* the UUID is the same, but the fingerprint is not */
    FTH_CARD_RECOGNISED, /* a card without a UUID, by its fingerprint */
    FTH_CARD_UNDECIDED,  /* likewise, but several cards have such a fingerprint */
    FTH_CARD_UNKNOWN     /* a card without a UUID, whose fingerprint no known card has */
};
struct fth_card_event {
    enum fth_card_event_kind kind;
    uint32_t gpu;                    /* of the fleet: the card that the event is about */
    int64_t time;                    /* of the first measurement after it */
    const char *host, *slot;         /* where, or where it is now */
    const char *old_host, *old_slot; /* MOVED: where it was */
    const char *other;               /* REPLACED: the new card; RECOGNISED: the card that it is */
    double distance;                 /* of the fingerprints; NAN: none was compared */
    const char *sentence;            /* the event as a sentence */
};
struct fth_card_events {
    struct fth_arena arena;       /* owns the texts */
    struct fth_card_event *items; /* in the order of time, then of hosts and slots */
    size_t count, capacity;
};
/* Returns the name of a kind in documents: "replaced", "moved", ... */
const char *fth_card_event_name(enum fth_card_event_kind kind);
/* Finds the events in an arranged fleet that has all measurements of a history. */
FTH_MUST_USE enum fth_status fth_card_events_find(const struct fth_fleet *fleet,
                                                  struct fth_card_events *events,
                                                  struct fth_error *error);
/* Releases the events. */
void fth_card_events_fini(struct fth_card_events *events);

/* ---- card_maps.c ---- */

/* A fingerprint: the mean map of several measurements. */
struct fth_card_map {
    double *mean; /* [sms] latency of the L2 from an SM / mean over the SMs */
    size_t sms, runs;
};
/* Computes the distance of two maps: the root mean square of their differences, in standard
 * deviations. It is about 1 if they differ only by noise. NAN: the numbers of SMs differ. `noise`:
 * standard deviation of one run. */
double fth_card_distance(const struct fth_card_map *a, const struct fth_card_map *b, double noise);
/* Estimates the noise of the maps of a fleet; without repeated measurements, the noise of H200s. */
FTH_MUST_USE enum fth_status fth_card_noise(const struct fth_fleet *fleet, double *noise,
                                            struct fth_error *error);
/* Computes the mean map of some measurements of one GPU; map->mean is in the arena. map->runs is 0
 * if none has a fingerprint. */
FTH_MUST_USE enum fth_status fth_card_map(const struct fth_history_span *span,
                                          struct fth_arena *arena, struct fth_card_map *map,
                                          struct fth_error *error);
/* Finds the measurement of a span at which the map changed most: *distance is the distance between
 * the mean maps of at least `min_runs` measurements before and from measurement *split on; 0 if
 * there are too few. `sms`: number of SMs of the maps that are compared, at least 1. */
FTH_MUST_USE enum fth_status fth_card_change(const struct fth_history_span *span, size_t sms,
                                             size_t min_runs, double noise, size_t *split,
                                             double *distance, struct fth_error *error);
/* Largest distance of maps that are taken as those of one chip, and smallest distance of those that
 * are taken as those of two chips. Between them, fathom does not decide. See card_maps.c. */
extern const double fth_card_same_limit, fth_card_other_limit;

#endif
