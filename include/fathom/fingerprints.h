/* Fingerprints, by which a GPU is recognised, and the files that store them. */
#ifndef FATHOM_FINGERPRINTS_H
#define FATHOM_FINGERPRINTS_H

#include <fathom/devices.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Several runs of the same measurements on one GPU, with the GPU's name, UUID, driver and the time.
 * Small differences between cards of the same model make it possible to recognise a GPU
 * (docs/fingerprints.md). */
struct fth_fingerprint;

/* Measures a fingerprint of `runs` runs (at least 1). FTH_INCONCLUSIVE: the latencies of the L2
 * could not be measured. FTH_INTERRUPTED: there is no fingerprint. */
FTH_API FTH_MUST_USE enum fth_status fth_fingerprint_measure(struct fth_device *device, size_t runs,
                                                             const struct fth_log *log,
                                                             struct fth_fingerprint **fingerprint,
                                                             struct fth_error *error);
/* Releases a fingerprint. */
FTH_API void fth_fingerprint_destroy(struct fth_fingerprint *fingerprint);

/* A file of fingerprints. Each function below that changes the file does so completely or not at
 * all, even if the process or the machine fails meanwhile. Several processes can use one file. All
 * functions can return FTH_UNAVAILABLE (another process keeps the file locked) and FTH_INVALID (the
 * file is damaged). */
struct fth_store;

/* Writes the default path to `path`: "$XDG_DATA_HOME/fathom/fingerprints.db", or
 * "$HOME/.local/share/fathom/fingerprints.db" if XDG_DATA_HOME is not an absolute path.
 * FTH_INVALID: neither variable is an absolute path, or the result does not fit `size` bytes. */
FTH_API FTH_MUST_USE enum fth_status fth_store_default_path(char *path, size_t size,
                                                            struct fth_error *error);
/* How a store is opened. Initialise it with FTH_STORE_OPTIONS. */
struct fth_store_options {
    size_t size; /* of this struct in bytes */
    /* Create the file if it does not exist; for the default path, with its folders. */
    bool create;
    /* Only read: functions that change the store fail with FTH_INVALID. The file must not be
     * writable, unless it must be migrated or an interrupted change must be undone. */
    bool read_only;
    unsigned wait_ms;   /* wait this long for another process that writes; 0: 10 s */
    uint64_t max_bytes; /* of the file; 0: 128 MiB. A query may take 8 steps of SQLite per byte. */
};
/* Initialises a struct fth_store_options; the arguments are designated initialisers. */
#define FTH_STORE_OPTIONS(...) FTH_OPTIONS(struct fth_store_options, __VA_ARGS__)

/* Opens a store; `path` NULL is the default path, and `options` may be NULL. A file of an older
 * version of fathom is migrated. The file can be hostile: its schema and its consistency are
 * checked here, and its rows when they are read. FTH_NOT_FOUND: the file does not exist or is
 * empty, and options->create is false. FTH_INVALID: the file is not a store, is damaged, or is
 * larger than options->max_bytes. FTH_UNSUPPORTED: a newer version of fathom created it. In these
 * cases, the file is not changed. */
FTH_API FTH_MUST_USE enum fth_status fth_store_open(const char *path,
                                                    const struct fth_store_options *options,
                                                    struct fth_store **store,
                                                    struct fth_error *error);
/* Returns the path of the file, also if NULL was passed to fth_store_open. */
FTH_API const char *fth_store_path(const struct fth_store *store);
/* Closes a store. What its functions have changed is already in the file. */
FTH_API void fth_store_close(struct fth_store *store);

/* Adds the runs of a fingerprint under a name, which the user chooses. A name belongs to one GPU
 * and a GPU has one name. *total gets the number of runs that the name has now; `total` may be
 * NULL. FTH_INVALID: the name already belongs to a GPU with another device name or UUID, the UUID
 * already belongs to another name, the name is not valid (fth_store_check_name), or another member
 * of a run is not, such as a device name of more than 256 bytes. */
FTH_API FTH_MUST_USE enum fth_status fth_store_enroll(struct fth_store *store, const char *name,
                                                      const struct fth_fingerprint *fingerprint,
                                                      size_t *total, struct fth_error *error);
/* Checks a name before anything is measured. FTH_INVALID: it is not 1 to 64 bytes of printable
 * text. */
FTH_API FTH_MUST_USE enum fth_status fth_store_check_name(const char *name,
                                                          struct fth_error *error);
/* Removes a GPU and all its runs; *runs gets their number, and `runs` may be NULL. FTH_NOT_FOUND:
 * there is no such name; the error suggests a similar one. */
FTH_API FTH_MUST_USE enum fth_status fth_store_forget(struct fth_store *store, const char *name,
                                                      size_t *runs, struct fth_error *error);

/* An enrolled GPU that a fingerprint was compared with. */
struct fth_candidate {
    const char *name;
    const char *device; /* the driver's name of the GPU; NULL: unknown */
    size_t runs;        /* enrolled runs */
    double distance;    /* in standard deviations of the enrolled runs; NAN: cannot be compared */
    bool same_uuid;     /* the driver reports the same UUID */
};
/* Which enrolled GPU produced a fingerprint. */
struct fth_identification {
    const char *name;      /* NULL: none of them, or it is not clear which one */
    double limit_distance; /* largest distance that counts as a match; NAN: too few runs */
    const struct fth_candidate *candidates; /* all enrolled GPUs, the nearest first */
    size_t count;                           /* length of `candidates` */
    char reason[256];                       /* if `name` is NULL, why; otherwise "" */
    void *memory; /* owned by the library; holds the texts and candidates */
};
/* Compares a fingerprint with all enrolled GPUs. The result is FTH_OK also if no GPU matches. The
 * caller releases *identification with fth_identification_fini. FTH_NOT_FOUND: no GPU is enrolled.
 * FTH_INVALID: the fingerprint has no runs. */
FTH_API FTH_MUST_USE enum fth_status fth_store_identify(struct fth_store *store,
                                                        const struct fth_fingerprint *fingerprint,
                                                        struct fth_identification *identification,
                                                        struct fth_error *error);
/* Releases an identification that fth_store_identify has filled. */
FTH_API void fth_identification_fini(struct fth_identification *identification);

/* One enrolled GPU. */
struct fth_enrolled {
    const char *name;
    const char *device, *uuid, *driver; /* NULL: unknown. `driver` is that of the last run. */
    size_t runs;
    char first_time[24], last_time[24]; /* of the runs; ISO 8601 in UTC */
    /* Set only if fth_store_list was called with `accuracy`, otherwise 0. Each run of the GPU is
     * identified by means of all other runs of the store. The members count the runs that are
     * identified correctly, identified as another GPU, and not identified. */
    size_t right, wrong, refused;
};
/* Calls `each` for every enrolled GPU, in the order of their names. With `accuracy`, it also
 * computes the members `right`, `wrong` and `refused`. The struct and its texts are valid during
 * the call. */
FTH_API FTH_MUST_USE enum fth_status fth_store_list(
    struct fth_store *store, bool accuracy,
    void (*each)(void *user, const struct fth_enrolled *enrolled), void *user,
    struct fth_error *error);

/* Writes all runs as one JSON document, fathom-fingerprints/1. */
FTH_API FTH_MUST_USE enum fth_status fth_store_export(struct fth_store *store, char **text,
                                                      size_t *size, struct fth_error *error);
/* Adds the runs of an exported document; `path` "-" is standard input. Runs that the store already
 * has are skipped. *added gets the number of new runs; `added` may be NULL. FTH_NOT_FOUND: there is
 * no such file. FTH_INVALID: the document is malformed, or contradicts the store (as in
 * fth_store_enroll). */
FTH_API FTH_MUST_USE enum fth_status fth_store_import(struct fth_store *store, const char *path,
                                                      size_t *added, struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
