/* Compares a measured description with the true one, figure by figure. */
#ifndef FTH_CLOSURE_COMPARE_H
#define FTH_CLOSURE_COMPARE_H

#include "gpu/gpu.h"

/* The verdict on one figure. */
enum verdict {
    EXACT,        /* equal, or within the resolution of the method */
    CLOSE,        /* a latency within 1 cycle or 1 % */
    UNKNOWN,      /* not found, with a reason */
    UNEXPLAINED,  /* not found, without a reason */
    DOUBTED,      /* wrong, with a confidence below max_wrong_confidence */
    CONTRADICTED, /* wrong, with a higher confidence or without one */
    VERDICTS
};

/* A wrong figure must have a lower confidence than this. */
extern const double max_wrong_confidence;

/* Number of rows that the verdicts are counted in: one for each figure that is compared. */
enum { MAX_COMPARED = 80 };
size_t compared_count(void);
/* Writes the name of a row ("l1.size_bytes"). */
void compared_name(size_t row, char *name, size_t size);

/* The verdicts on one GPU or on several ones. */
struct verdicts {
    unsigned counts[MAX_COMPARED][VERDICTS];
};
/* Compares all figures of `truth` and adds the verdicts. Appends a line to `lines` for each figure
 * that is not exact, beginning with `name`. Appends a row of CSV to `records` (NULL: none) for each
 * figure that was found: name, figure, "structure" or "time", 1 if it is right (exact or close),
 * confidence, the repeats that the confidence is based on: all of them, and those that agree, 1 if
 * there is a doubt about the method, 1 if another program interrupted requests, and 1 if the
 * repeats are resamples. */
void compare_gpus(const char *name, const struct fth_gpu *truth, const struct fth_gpu *found,
                  struct verdicts *verdicts, struct fth_buffer *lines, struct fth_buffer *records);

#endif
