/* Configuration files of simulators: one key with its value per line, and comments after '#'. */
#ifndef FTH_CONFIG_TEXT_H
#define FTH_CONFIG_TEXT_H

#include "report/report.h"

/* A configuration that is being written. */
struct fth_config {
    const struct fth_gpu *gpu;
    struct fth_buffer *out;
    const char *between; /* what separates a key from its value */
};

/* Returns a number of the description; NAN: unknown. */
double fth_config_number(const struct fth_config *config, const char *section, const char *name);
/* Returns the source of an attribute, such as "measured"; NULL: the description does not have the
 * attribute, or no source of it. */
const char *fth_config_source(const struct fth_config *config, const char *section,
                              const char *name);
/* Appends a paragraph of comment lines. */
FTH_PRINTF(2, 3) void fth_config_comment(struct fth_config *config, const char *format, ...);
/* Appends an empty line and a comment. */
void fth_config_heading(struct fth_config *config, const char *text);
/* Appends a key with its value. `remark` becomes a comment behind it; NULL: none. */
void fth_config_put(struct fth_config *config, const char *key, const char *value,
                    const char *remark);
/* The same for a number. NAN: appends nothing. */
void fth_config_put_number(struct fth_config *config, const char *key, double number,
                           const char *remark);
/* The same for an attribute of the description, with its source as the remark. */
void fth_config_put_fact(struct fth_config *config, const char *key, const char *section,
                         const char *name);
/* Appends what the L2 and the memory add to the latency of the level before them, in cycles, each
 * with its key. Appends nothing for a latency that is unknown (NAN) or not larger. */
void fth_config_put_latencies(struct fth_config *config, double l1, double l2, double memory,
                              const char *l2_key, const char *memory_key);
/* Fails with FTH_INVALID if the description is that of a CPU, or does not have the number of SMs.
 * `operation` is for the error. */
FTH_MUST_USE enum fth_status fth_config_check(const struct fth_gpu *gpu, const char *operation,
                                              struct fth_error *error);
/* Returns whether a number is a power of two (1, 2, 4, ...) of at most 2^32. */
bool fth_is_power_of_two(double number);

#endif
