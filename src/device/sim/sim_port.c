/* Bandwidth limits. Blocks run at the same time but are simulated one after the other, so transfers
 * do not arrive in the order of time. Therefore the time of a resource is divided into buckets,
 * each with the capacity of its duration. A transfer uses capacity of the first bucket at or after
 * its own time that is not full, and waits until then. A single pointer chase never waits.
 *
 *   bucket   17      18      19      20
 *          |#######|#######|##     |       |      a transfer at 17.3 waits until 19.2
 *
 * The buckets form a ring. Each stores its number, so an outdated bucket is recognised and reused.
 * Transfers at times that the ring no longer covers are not limited. */
#include "device/sim/sim.h"

#include <stdlib.h>

#define BUCKET ((int64_t)FTH_SIM_BUCKET_CYCLES * FTH_SIM_CYCLE)
#define BUCKET_CAPACITY (FTH_SIM_BUCKET_CYCLES * 1000000u) /* millionths of a cycle */

struct fth_sim_bucket {
    int64_t number; /* time of its start / BUCKET */
    uint32_t used;  /* of BUCKET_CAPACITY */
    uint32_t skip;  /* full buckets that directly follow this one, as far as known */
};

int64_t fth_sim_port_take(struct fth_sim_port *port, int64_t time, uint32_t microcycles)
{
    if (microcycles == 0)
        return 0;
    if (!port->ring) {
        port->ring = calloc((size_t)1 << port->bits, sizeof *port->ring);
        if (!port->ring) {
            port->failed = true;
            return 0;
        }
    }
    const int64_t length = (int64_t)1 << port->bits, first = time / BUCKET;
    int64_t number = first;
    for (; number - first < length;) {
        struct fth_sim_bucket *bucket = &port->ring[number & (length - 1)];
        if (bucket->number > number)
            return 0; /* the ring no longer covers this time */
        if (bucket->number < number)
            *bucket = (struct fth_sim_bucket){.number = number};
        if (bucket->used < BUCKET_CAPACITY)
            break;
        number += 1 + bucket->skip;
    }
    int64_t begin = time;
    if (number - first < length)
        begin =
            number * BUCKET + port->ring[number & (length - 1)].used / (1000000 / FTH_SIM_CYCLE);
    struct fth_sim_bucket *start = &port->ring[first & (length - 1)];
    if (number > first && start->number == first)
        start->skip = (uint32_t)(number - first - 1);
    /* The part that does not fit uses the following buckets. */
    for (int64_t at = number; microcycles && at - first < length; at++) {
        struct fth_sim_bucket *bucket = &port->ring[at & (length - 1)];
        if (bucket->number > at)
            break;
        if (bucket->number < at)
            *bucket = (struct fth_sim_bucket){.number = at};
        uint32_t part = BUCKET_CAPACITY - bucket->used < microcycles
                            ? BUCKET_CAPACITY - bucket->used
                            : microcycles;
        bucket->used += part;
        microcycles -= part;
    }
    return begin > time ? begin - time : 0;
}

int64_t fth_sim_port_move(struct fth_sim_port *port, const struct fth_sim_rates *rates,
                          uint32_t sharers, int64_t time, uint64_t read_bytes,
                          uint64_t written_bytes)
{
    if (rates->read == 0 && rates->write == 0 && rates->copy_extra == 0)
        return 0;
    port->unpaired_reads += read_bytes;
    uint64_t paired = written_bytes < port->unpaired_reads ? written_bytes : port->unpaired_reads;
    port->unpaired_reads -= paired;
    double cost = ((double)read_bytes * rates->read + (double)written_bytes * rates->write +
                   (double)paired * rates->copy_extra) *
                  sharers;
    /* A transfer occupies at most one whole bucket. This only affects extremely low bandwidths and
     * prevents an overflow. */
    return fth_sim_port_take(port, time, cost < BUCKET_CAPACITY ? (uint32_t)cost : BUCKET_CAPACITY);
}

void fth_sim_port_fini(struct fth_sim_port *port)
{
    free(port->ring);
    *port = (struct fth_sim_port){.bits = port->bits};
}
