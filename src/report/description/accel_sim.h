/* Parts of the configuration of GPGPU-Sim and Accel-Sim (accel_sim.c). */
#ifndef FTH_ACCEL_SIM_H
#define FTH_ACCEL_SIM_H

#include "report/description/config_text.h"

/* Bytes of a line, and of a sector, of the simulator. */
enum { FTH_ACCEL_LINE = 128, FTH_ACCEL_SECTOR = 32 };

/* A configuration that is being written. */
struct fth_accel {
    struct fth_config config;
    int capability;     /* compute capability x 10, such as 90; 0: unknown */
    bool sectored_l2;   /* whether the L2 is written as a sectored cache */
    double controllers; /* memory controllers, with `halves` sub-partitions each */
    double halves;
};

/* ---- accel_sim_caches.c ---- */

/* Returns the element that becomes the L1 data cache, and the one for shared memory. */
const char *fth_accel_l1(const struct fth_accel *accel);
const char *fth_accel_shared(const struct fth_accel *accel);
/* Writes the L1 data cache. */
void fth_accel_put_l1(struct fth_accel *accel);
/* Writes the constant, instruction and texture caches. */
void fth_accel_put_read_only(struct fth_accel *accel);
/* Writes the L2 and the number of memory controllers, which it sets. */
void fth_accel_put_l2(struct fth_accel *accel);

#endif
