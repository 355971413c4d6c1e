/* Generated fleets: what generate.c and its parts share.
 *
 *   generate.c          the fleet: hosts, GPUs, their measurements
 *   generate_base.c     what is known about the real GPUs: how cards differ, and noise
 *   generate_faults.c   injected faults: which figures change, and by how much
 */
#ifndef FTH_FLEET_GENERATE_H
#define FTH_FLEET_GENERATE_H

#include "fleet/fleet.h"

/* ---- generate_base.c ---- */

/* How a figure varies between cards and from run to run. Logarithms are natural. */
struct fth_generate_figure {
    bool varies;    /* a number that is drawn; otherwise it is copied */
    double mean;    /* logarithm of the number, mean of the cards' means */
    double step;    /* to which the real numbers are rounded */
    double between; /* standard deviation of the logarithm from card to card, without noise */
    double within;  /* likewise, from run to run */
    double sign;    /* 1: the higher the better, -1: the lower the better */
};

/* How cards of a model differ, estimated from the measurements of real GPUs. */
struct fth_generate_base {
    struct fth_arena arena;
    const struct fth_fleet *from;        /* borrowed */
    struct fth_generate_figure *figures; /* one per figure of `from` */
    size_t *cards;                       /* indices of the GPUs with at least two measurements */
    size_t card_count;
    size_t *rows; /* indices of the measurements of these, ordered by card */
    size_t row_count;
    size_t *first_row; /* of each card; one more element than cards */
    double *residuals; /* [row][figure]: logarithm minus its mean over the card's rows */
    double *offsets;   /* [card][figure]: a virtual card's offset is the sum of these over the
                        * cards, each times a standard normal number */
    /* Fingerprints: for each SM its mean, the standard deviation from card to card, and
     * [row][SM]: number minus the mean over the card's rows. */
    size_t sm_count; /* 0: not all measurements have one of the same length */
    double *sm_means, *sm_between, *sm_residuals;
};

/* Estimates how the cards of a fleet and their measurements differ. `from` must outlive the base.
 * The caller calls fth_generate_base_fini, also after a failure. FTH_INVALID: the GPUs are of
 * several models, or fewer than two of them have at least two measurements. */
FTH_MUST_USE enum fth_status fth_generate_base_init(const struct fth_fleet *from,
                                                    struct fth_generate_base *base,
                                                    struct fth_error *error);
/* Releases what the base has allocated. */
void fth_generate_base_fini(struct fth_generate_base *base);

/* ---- generate_faults.c ---- */

/* Kinds of faults. fth_fleet_generate documents them. */
enum fth_generate_kind {
    FTH_FAULT_MEMORY_BANDWIDTH,
    FTH_FAULT_L2_PARTITION,
    FTH_FAULT_SMS,
    FTH_FAULT_LATENCY,
    FTH_FAULT_CLOCK,
    FTH_FAULT_LINK,
    FTH_FAULT_ECC,
    FTH_FAULT_NO_GPU
};

/* A fault, read from a text such as "memory-bandwidth:-5:3". */
struct fth_generate_fault {
    enum fth_generate_kind kind;
    double size;        /* fraction, or a number of SMs or errors */
    size_t count;       /* of GPUs that have it; 0: each GPU has it with `probability` */
    double probability; /* of a GPU */
    double share;       /* of a faulty GPU's measurements that show it */
    const char *text;   /* as given */
};

/* Reads a fault "KIND:SIZE[:COUNT[:SHARE]]". The text must outlive the fault. FTH_INVALID: it has
 * another form, or a number is out of range. */
FTH_MUST_USE enum fth_status fth_generate_fault_read(const char *text,
                                                     struct fth_generate_fault *fault,
                                                     struct fth_error *error);
/* Changes the values of one measurement of the GPU with this index. `names` are those of the
 * figures. */
void fth_generate_fault_apply(const struct fth_generate_fault *fault, size_t gpu,
                              const struct fth_fleet_figure *names, struct fth_fleet_draft *draft,
                              struct fth_fleet_value *values, double *fingerprint);

#endif
