/* Fleets: which GPUs differ from the others of their model (docs/fleets.md). */
#ifndef FATHOM_FLEETS_H
#define FATHOM_FLEETS_H

#include <fathom/descriptions.h>
#include <fathom/reports.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Measurements of many GPUs. */
struct fth_fleet;
/* How common each value of each figure is among GPUs of a model. */
struct fth_fleet_reference;
/* A verdict for each GPU of a fleet, and the reasons for it. */
struct fth_fleet_judgement;

/* How files are read. Initialise it with FTH_FLEET_OPTIONS. */
struct fth_fleet_options {
    size_t size;               /* of this struct in bytes */
    const struct fth_log *log; /* progress and interruption; may be NULL */
    unsigned threads;          /* that read files; 0: one per processor, at most 8 */
};
/* Initialises a struct fth_fleet_options; the arguments are designated initialisers. */
#define FTH_FLEET_OPTIONS(...) FTH_OPTIONS(struct fth_fleet_options, __VA_ARGS__)

/* Creates an empty fleet. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_create(struct fth_fleet **fleet,
                                                      struct fth_error *error);
/* Releases a fleet; NULL is allowed. Judgements of it must be released before. */
FTH_API void fth_fleet_destroy(struct fth_fleet *fleet);
/* Adds the measurements of a file or of all files in a folder (*.json, *.json.zst, *.jsonl,
 * *.jsonl.zst; not of its subfolders): descriptions written by 'fathom topo --json', or
 * measurements as JSON lines (fathom-fleet-record/1). "-" is standard input. A file of a folder
 * that cannot be read, or a line of a file, does not end the call: it becomes a problem
 * (fth_fleet_problem_at).
 * FTH_INVALID: a single file is neither. FTH_NOT_FOUND: `path` does not exist. `options` may be
 * NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_add_path(struct fth_fleet *fleet, const char *path,
                                                        const struct fth_fleet_options *options,
                                                        struct fth_error *error);
/* Adds one measurement, given as a description. `file` identifies it in messages. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_add_gpu(struct fth_fleet *fleet,
                                                       const struct fth_gpu *gpu, const char *file,
                                                       struct fth_error *error);
/* Reads the groups of hosts, such as racks, from a CSV file with lines "host,group". */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_read_groups(struct fth_fleet *fleet,
                                                           const char *path,
                                                           struct fth_error *error);
/* Returns the number of GPUs and, in *measurements (may be NULL), of measurements. */
FTH_API size_t fth_fleet_gpu_count(const struct fth_fleet *fleet, size_t *measurements);
/* Returns the reason why a file gave no measurement, and its name in *file; NULL beyond the last. A
 * file with lines that cannot be read has one reason: that of the first such line, and how many
 * there are. */
FTH_API const char *fth_fleet_problem_at(const struct fth_fleet *fleet, size_t index,
                                         const char **file);
/* Returns all measurements as JSON lines (fathom-fleet-record/1), which fth_fleet_add_path reads.
 */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_records(const struct fth_fleet *fleet, char **text,
                                                       size_t *size, struct fth_error *error);

/* Reads a reference from a file (fathom-fleet-reference/1). */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_reference_read(
    const char *path, struct fth_fleet_reference **reference, struct fth_error *error);
/* Adds what `other` holds to a reference. The result does not depend on the order. The two must not
 * contain the same GPUs. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_reference_merge(
    struct fth_fleet_reference *reference, const struct fth_fleet_reference *other,
    struct fth_error *error);
/* Returns a reference as a document (fathom-fleet-reference/1). */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_reference_text(
    const struct fth_fleet_reference *reference, char **text, size_t *size,
    struct fth_error *error);
/* Releases a reference; NULL is allowed. */
FTH_API void fth_fleet_reference_destroy(struct fth_fleet_reference *reference);

/* How a fleet is judged. Initialise it with FTH_FLEET_JUDGE_OPTIONS. */
struct fth_fleet_judge_options {
    size_t size; /* of this struct in bytes */
    /* Compare with this reference instead of the fleet itself; may be NULL. */
    const struct fth_fleet_reference *reference;
    double
        false_alarms;  /* maximum probability that a healthy GPU is not judged healthy; 0: 0.001 */
    double min_effect; /* smaller differences of numbers are ignored, as a fraction; 0: 0.02 */
    bool mix_drivers;  /* compare GPUs with different drivers */
    bool mix_boards;   /* compare GPUs with different boards (part number, VBIOS) */
    const struct fth_log *log; /* may be NULL */
};
/* Initialises a struct fth_fleet_judge_options; the arguments are designated initialisers. */
#define FTH_FLEET_JUDGE_OPTIONS(...) FTH_OPTIONS(struct fth_fleet_judge_options, __VA_ARGS__)

/* Makes the reference of a fleet. Of the options, only mix_drivers and mix_boards are used; NULL is
 * allowed. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_refer(struct fth_fleet *fleet,
                                                     const struct fth_fleet_judge_options *options,
                                                     struct fth_fleet_reference **reference,
                                                     struct fth_error *error);
/* Judges each GPU of a fleet. The fleet must outlive the judgement, and must not change before the
 * judgement is released. `options` may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_judge(struct fth_fleet *fleet,
                                                     const struct fth_fleet_judge_options *options,
                                                     struct fth_fleet_judgement **judgement,
                                                     struct fth_error *error);
/* Releases a judgement; NULL is allowed. */
FTH_API void fth_fleet_judgement_destroy(struct fth_fleet_judgement *judgement);

/* Numbers of GPUs by verdict. */
struct fth_fleet_counts {
    size_t healthy, suspect, failed, not_judged;
};
/* Returns how many GPUs have which verdict. */
FTH_API struct fth_fleet_counts fth_fleet_judgement_counts(
    const struct fth_fleet_judgement *judgement);

/* Returns the name of the `index`-th format of fth_report_judgement; NULL past the last. */
FTH_API const char *fth_report_judgement_format(size_t index);
/* Writes a judgement: "text", "json" (fathom-fleet/2), "csv" (one row per finding), "long" (CSV,
 * one row per GPU and figure), "jsonl" (one line per GPU) or "prometheus" (text exposition format).
 * `options` may be NULL. FTH_INVALID: another format. */
FTH_API FTH_MUST_USE enum fth_status fth_report_judgement(
    const char *format, const struct fth_fleet_judgement *judgement,
    const struct fth_report_options *options, char **text, size_t *size, struct fth_error *error);

/* What a generated fleet is like. Initialise it with FTH_FLEET_GENERATE_OPTIONS. */
struct fth_fleet_generate_options {
    size_t size;           /* of this struct in bytes */
    size_t gpus;           /* number of GPUs, 8 per host */
    unsigned measurements; /* of each GPU; 0: 1 */
    unsigned racks;        /* in which the hosts are; 0: one per 16 hosts */
    uint64_t seed;         /* equal seeds give equal fleets */
    /* Factor by which cards differ more than those of the base; 0: 1. */
    double spread;
    /* Cards differ as published for large machines instead of as in the base: between 4 % and 22 %
     * from whisker to whisker, depending on the figure, 8 % on average. */
    bool published_spread;
    /* Degrees of freedom of Student's t distribution, from which the offsets of cards are drawn;
     * 0: the normal distribution. */
    unsigned tail;
    /* Faults as texts "KIND:SIZE[:COUNT[:SHARE]]". KIND and SIZE: memory-bandwidth, l2-partition,
     * latency and clock with a change in percent; sms with a change of their number; link with
     * "half" or a fraction of the lanes; ecc with a number of uncorrectable errors; no-gpu, without
     * a size, for a simulated GPU. COUNT: number of GPUs with the fault (default 1), or the
     * probability that a GPU has it, such as 0.1%. SHARE: of the measurements of these GPUs that
     * show it, such as 20% (default 100%). */
    const char *const *faults;
    size_t fault_count;
    const struct fth_log *log; /* interruption; may be NULL */
};
/* Initialises a struct fth_fleet_generate_options; the arguments are designated initialisers. */
#define FTH_FLEET_GENERATE_OPTIONS(...) FTH_OPTIONS(struct fth_fleet_generate_options, __VA_ARGS__)
/* Makes a fleet from measurements of real GPUs of one model, at least two of each of at least two
 * GPUs: cards that differ as these do, noise from run to run as in these, and faults. *truth (may
 * be NULL) gets the faulty GPUs as CSV with the columns gpu, host, slot, fault, affected (number of
 * measurements that show the fault) and measurements; release it with fth_free. */
FTH_API FTH_MUST_USE enum fth_status fth_fleet_generate(
    const struct fth_fleet *from, const struct fth_fleet_generate_options *options,
    struct fth_fleet **fleet, char **truth, struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
