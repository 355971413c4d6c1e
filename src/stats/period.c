/* Finds the period of events: the Rayleigh periodogram. For each trial frequency f, the events are
 * unit vectors at the angles 2 pi f t. If they come once a period, all of them point in the same
 * direction, and the length of their mean is near 1. Events at random times have a mean length of
 * about 1 / sqrt(count) (Mardia and Jupp, "Directional Statistics", 2000, section 6.3). Multiples
 * of the frequency also give long means, but shorter ones, unless the events are exactly periodic;
 * fractions of it give short ones. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* Trial frequencies per 1 / (duration of the events), which is about the width of a peak. */
static const double oversampling = 4;
/* Then, REFINEMENTS times, frequencies at FINE_STEPS smaller distances to either side of the best
 * one are tried; each time, the distance is this fraction of the one before. */
enum { REFINEMENTS = 3, FINE_STEPS = 10 };
static const double fine_fraction = 0.2;
/* A multiple of the frequency counts as the same period if its mean is not longer by more than this
 * factor. Chosen: noise changes the length of a mean by less. */
static const double same_length = 1.02;

static double mean_length(const double *times, size_t count, double frequency)
{
    double x = 0, y = 0;
    for (size_t i = 0; i < count; i++) {
        const double angle = 2 * M_PI * frequency * times[i];
        x += cos(angle);
        y += sin(angle);
    }
    return hypot(x, y) / (double)count;
}

enum fth_status fth_find_period(const double *times, size_t count, double min_period,
                                double max_period, struct fth_period *found,
                                struct fth_error *error)
{
    *found = (struct fth_period){.period = NAN};
    if (count < 2 || !(times[count - 1] > times[0]) || !(max_period > min_period))
        return fth_fail(error, FTH_INCONCLUSIVE, "find period", NULL, "there are too few events");
    struct vector {
        double x, y, turn_x, turn_y;
    } *vectors = malloc(count * sizeof *vectors);
    if (!vectors)
        return fth_no_memory(error, "find period", NULL);
    const double step = 1 / (oversampling * (times[count - 1] - times[0]));
    const double first = 1 / max_period;
    for (size_t i = 0; i < count; i++) {
        const double begin = 2 * M_PI * first * times[i], turn = 2 * M_PI * step * times[i];
        vectors[i] = (struct vector){cos(begin), sin(begin), cos(turn), sin(turn)};
    }
    /* From one frequency to the next, each vector turns by the same angle. */
    const size_t trials = (size_t)((1 / min_period - first) / step) + 1;
    double best = 0, frequency = first;
    for (size_t trial = 0; trial < trials; trial++) {
        double x = 0, y = 0;
        for (size_t i = 0; i < count; i++) {
            struct vector *v = &vectors[i];
            x += v->x;
            y += v->y;
            const double turned = v->x * v->turn_x - v->y * v->turn_y;
            v->y = v->x * v->turn_y + v->y * v->turn_x;
            v->x = turned;
        }
        const double length = hypot(x, y) / (double)count;
        if (length > best * (trial ? same_length : 0)) {
            best = length;
            frequency = first + (double)trial * step;
        }
    }
    free(vectors);
    double distance = step;
    for (int round = 0; round < REFINEMENTS; round++) {
        const double middle = frequency;
        distance *= fine_fraction;
        for (int i = -FINE_STEPS; i <= FINE_STEPS; i++) {
            const double length = mean_length(times, count, middle + i * distance);
            if (length > best) {
                best = length;
                frequency = middle + i * distance;
            }
        }
    }
    found->period = 1 / frequency;
    found->coherence = best;
    return FTH_OK;
}
