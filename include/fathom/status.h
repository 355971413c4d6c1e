/* Status and error of a function, and the callbacks for messages, progress and interruption. */
#ifndef FATHOM_STATUS_H
#define FATHOM_STATUS_H

#include <fathom/version.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a function that can fail. */
enum fth_status {
    FTH_OK = 0,
    FTH_NO_MEMORY,    /* the host is out of memory */
    FTH_IO,           /* the operating system refused: disk full, permission, broken pipe */
    FTH_INVALID,      /* the input is wrong: malformed file, unknown option, contradiction */
    FTH_NOT_FOUND,    /* there is no such name, file or device */
    FTH_UNSUPPORTED,  /* this build, driver or device lacks the function */
    FTH_UNAVAILABLE,  /* supported, but not possible now: no driver, GPU memory full, store busy */
    FTH_INCONCLUSIVE, /* it was measured, but the samples do not support an answer */
    FTH_INTERRUPTED   /* fth_log.interrupted returned true */
};

/* The message of a failure. Initialise it with FTH_NO_ERROR. The first failure wins: a function
 * that fails does not change a struct that already holds an error. The texts contain no control
 * characters, except for one line break in `excerpt`, so a malicious file cannot send escape
 * sequences to the terminal through an error message. The struct is frozen: it does not grow,
 * because callers allocate it. */
struct fth_error {
    enum fth_status status; /* FTH_OK: no error */
    char operation[64];     /* what failed: "read", "open device" */
    char argument[256];     /* what it failed on, such as a path; "": nothing in particular */
    char cause[512];        /* why it failed */
    char excerpt[256];      /* for errors in PTX: the line and, on the next line, a caret; or "" */
};

/* The initial value of a struct fth_error. */
#ifdef __cplusplus
#define FTH_NO_ERROR (fth_error())
#else
#define FTH_NO_ERROR ((struct fth_error){.status = FTH_OK})
#endif

/* Writes "operation 'argument': cause" to `text`, truncated to `size` bytes including the NUL.
 * Returns `text`. */
FTH_API const char *fth_error_text(const struct fth_error *error, char *text, size_t size);

/* How important a message is. */
enum fth_level {
    FTH_LOG_ERROR,   /* reserved: the library reports failures as enum fth_status */
    FTH_LOG_WARNING, /* the operation continues, but its result may be incomplete or doubtful */
    FTH_LOG_INFO,    /* a choice of the library that users should know of, such as the device */
    FTH_LOG_DEBUG    /* reserved */
};

/* Callbacks that long operations call. Each of them may be NULL, and so may every pointer to a
 * struct fth_log in these headers. The struct must stay valid while the operation runs. It is
 * frozen: programs keep it as a constant, and operations read it in place for as long as they run.
 * Further callbacks will be options of the operations that call them. */
struct fth_log {
    /* A message in one line, without a line break. The text is valid during the call. */
    void (*message)(void *user, enum fth_level level, const char *text);
    /* `what` names the current step; `fraction` is the completed part of the operation, 0 to 1. */
    void (*progress)(void *user, const char *what, double fraction);
    /* Returns true to stop the operation, which then fails with FTH_INTERRUPTED. Worker threads
     * call it too, possibly several at the same time. */
    bool (*interrupted)(void *user);
    void *user; /* passed to each callback */
};

/* A function for fth_log.interrupted: returns whether the int at `user` is not 0. Any thread may
 * set the int while an operation runs. For languages in which a callback of their own would be slow
 * or could not run in the worker threads of the library. */
FTH_API bool fth_interrupted_by_flag(void *user);

#ifdef __cplusplus
}
#endif

#endif
