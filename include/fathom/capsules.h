/* Capsules: files with the launches of a CUDA program, which can be repeated without the program
 * and without a GPU. */
#ifndef FATHOM_CAPSULES_H
#define FATHOM_CAPSULES_H

#include <fathom/reports.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether a file begins as a capsule does (docs/programs/capsules.md). */
FTH_API bool fth_capsule_is(const char *path);

/* What became of a launch. */
enum fth_replay_outcome {
    FTH_REPLAY_RAN,          /* it ran to its end; the memory was not compared */
    FTH_REPLAY_EXACT,        /* every byte that was compared is that of the program */
    FTH_REPLAY_DIFFERS,      /* at least one byte differs */
    FTH_REPLAY_NOT_VERIFIED, /* it ran, but the capsule lacks the memory after it */
    FTH_REPLAY_SKIPPED,      /* it was not run; `reason` says why */
    FTH_REPLAY_FAILED        /* the PTX engine stopped it; `reason` has the message */
};

/* A parameter of a launch, or a member of one that is a struct. */
struct fth_replay_parameter {
    size_t number;      /* of the parameter, from 1 */
    size_t offset;      /* in the parameter, in bytes */
    const char *name;   /* from the debug information of the PTX (nvcc -G); NULL: unknown */
    const char *type;   /* in C++ if it is known, such as "float*", otherwise as in PTX ("u32") */
    const char *value;  /* a number in decimal; an address or words in hexadecimal */
    const char *memory; /* what it points to; NULL: it is no address, or that is not known */
};

/* A launch of a capsule, and what became of it. */
struct fth_replay_launch {
    uint64_t number;    /* index among the launches of the program */
    const char *kernel; /* its name in the PTX */
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* all 0: as the kernel requires, or no clusters */
    uint64_t shared_bytes;
    bool is_cooperative;
    enum fth_replay_outcome outcome;
    /* SKIPPED and FAILED: why. DIFFERS: how much differs, and where. "" otherwise. */
    const char *reason;
    uint64_t differing_bytes; /* DIFFERS; 0 otherwise */
    uint64_t first_address;   /* DIFFERS: address of the first byte that differs */
    /* The launch reads addresses, loop limits or conditions from memory whose contents the capsule
     * lacks. It was run with zeros instead, so it may have behaved in another way. */
    bool lacks_data;
    /* For fth_replay_parameter_at. The count is 0 without the option `describes_parameters`. */
    const void *parameters;
    size_t parameter_count;
};

/* How a capsule is replayed. Initialise it with FTH_REPLAY_OPTIONS. */
struct fth_replay_options {
    size_t size; /* of this struct in bytes */
    /* Only these launches are run: those of kernels whose C++ names or PTX names match a POSIX
     * extended regular expression (NULL: all), and whose numbers are in this range (end 0: no
     * limit). The others are no part of the result. */
    const char *kernels;
    uint64_t first, end;
    bool verifies;             /* compare the memory after each launch with that of the program */
    uint64_t max_instructions; /* as in struct fth_run_options */
    /* Launches with more memory are skipped, in bytes; 0: the memory of this machine. */
    uint64_t max_memory_bytes;
    const struct fth_log *log;
    /* Receives the output of printf of the kernels; NULL: it is dropped. */
    void (*print)(void *user, const char *text, size_t size);
    void *print_user;
    bool describes_parameters; /* list the parameters of each launch */
};
/* Initialises a struct fth_replay_options; the arguments are designated initialisers. */
#define FTH_REPLAY_OPTIONS(...) FTH_OPTIONS(struct fth_replay_options, __VA_ARGS__)

/* The launches of a capsule that were replayed. */
struct fth_replay;

/* Runs the launches of a capsule in the PTX engine, each with the memory that it had in the
 * program. `options` may be NULL. A launch that fails or is skipped is no failure of this function.
 * FTH_NOT_FOUND: there is no such file. FTH_INVALID: the file is damaged or no capsule, or
 * `kernels` is no regular expression. FTH_INTERRUPTED: there is no result. */
FTH_API FTH_MUST_USE enum fth_status fth_capsule_replay(const char *path,
                                                        const struct fth_replay_options *options,
                                                        struct fth_replay **replay,
                                                        struct fth_error *error);
/* Releases a replay. */
FTH_API void fth_replay_destroy(struct fth_replay *replay);
/* Returns the number of launches that were selected. */
FTH_API size_t fth_replay_launch_count(const struct fth_replay *replay);
/* Returns the `index`-th of them, in the order of the program; NULL past the last. */
FTH_API const struct fth_replay_launch *fth_replay_launch_at(const struct fth_replay *replay,
                                                             size_t index);
/* Returns the `index`-th parameter of a launch; NULL past the last. A struct whose members have no
 * names is followed by its members. */
FTH_API const struct fth_replay_parameter *fth_replay_parameter_at(
    const struct fth_replay_launch *launch, size_t index);
/* Returns a message if the program ended before the capsule was complete; otherwise NULL. */
FTH_API const char *fth_replay_truncated(const struct fth_replay *replay);
/* Returns the name of an outcome: "ran", "exact", "differs", "not verified", "skipped", "failed".
 */
FTH_API const char *fth_replay_outcome_name(enum fth_replay_outcome outcome);

/* Shows one row per launch, one row per kernel and, if they are described, one row per parameter;
 * in JSON, as a fathom-replay/1 document; in CSV, only the launches. `options` may be NULL.
 * FTH_INVALID: as for fth_report_table. */
FTH_API FTH_MUST_USE enum fth_status fth_report_replay(const char *format,
                                                       const struct fth_replay *replay,
                                                       const struct fth_report_options *options,
                                                       char **text, size_t *size,
                                                       struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
