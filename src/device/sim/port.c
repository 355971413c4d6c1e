/* Bandwidth. Blocks are simulated one after the other, but run at the same time; so a resource has
 * a calendar rather than a clock: time is cut into buckets, each with as much room as the resource
 * passes in that time, and a transfer takes room from the first bucket at or after its own time
 * that has some. It waits only where others were there before it: a single chain of loads never
 * does.
 *
 *   bucket   17      18      19      20
 *          |#######|#######|##     |       |      a transfer at 17.3 waits until 19.2
 *
 * The calendar is a ring; buckets carry their number, so that old ones are taken over and need not
 * be cleared. What lies further back than the ring reaches is not limited any more. */
#include "device/sim/sim.h"

#include <stdlib.h>

#define BUCKET ((int64_t)SIM_BUCKET_CYCLES * SIM_CYCLE)
#define ROOM (SIM_BUCKET_CYCLES * 1000000u) /* millionths of a cycle */

struct sim_bucket {
    int64_t number;
    uint32_t used; /* of ROOM */
    uint32_t skip; /* so many buckets from here on are full */
};

int64_t sim_port_take(struct sim_port *port, int64_t time, uint32_t microcycles)
{
    if (microcycles == 0)
        return 0;
    if (!port->ring) {
        port->ring = calloc((size_t)1 << port->bits, sizeof *port->ring);
        if (!port->ring)
            return 0;
    }
    const int64_t length = (int64_t)1 << port->bits, first = time / BUCKET;
    int64_t number = first;
    for (; number - first < length;) {
        struct sim_bucket *bucket = &port->ring[number & (length - 1)];
        if (bucket->number > number)
            return 0; /* too far back to know */
        if (bucket->number < number)
            *bucket = (struct sim_bucket){.number = number};
        if (bucket->used < ROOM)
            break;
        number += 1 + bucket->skip;
    }
    int64_t begin = time;
    if (number - first < length)
        begin = number * BUCKET + port->ring[number & (length - 1)].used / (1000000 / SIM_CYCLE);
    struct sim_bucket *start = &port->ring[first & (length - 1)];
    if (number > first && start->number == first)
        start->skip = (uint32_t)(number - first - 1);
    /* What does not fit goes into the buckets behind. */
    for (int64_t at = number; microcycles && at - first < length; at++) {
        struct sim_bucket *bucket = &port->ring[at & (length - 1)];
        if (bucket->number > at)
            break;
        if (bucket->number < at)
            *bucket = (struct sim_bucket){.number = at};
        uint32_t part = ROOM - bucket->used < microcycles ? ROOM - bucket->used : microcycles;
        bucket->used += part;
        microcycles -= part;
    }
    return begin > time ? begin - time : 0;
}

int64_t sim_port_move(struct sim_port *port, const struct sim_rates *rates, uint32_t sharers,
                      int64_t time, uint64_t read_bytes, uint64_t written_bytes)
{
    if (rates->read == 0 && rates->write == 0 && rates->pair == 0)
        return 0;
    port->unpaired += read_bytes;
    uint64_t paired = written_bytes < port->unpaired ? written_bytes : port->unpaired;
    port->unpaired -= paired;
    double cost = ((double)read_bytes * rates->read + (double)written_bytes * rates->write +
                   (double)paired * rates->pair) *
                  sharers;
    /* Slower than a bucket a transfer: more would only make the numbers overflow. */
    return sim_port_take(port, time, cost < ROOM ? (uint32_t)cost : ROOM);
}

void sim_port_fini(struct sim_port *port)
{
    free(port->ring);
    *port = (struct sim_port){.bits = port->bits};
}
