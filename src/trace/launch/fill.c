/* Computes the initial contents of buffers. Each buffer has its own random sequence, whose seed
 * depends on the index of the buffer. Adding a buffer at the end therefore does not change the
 * random numbers of the others. */
#include "trace/launch/launch.h"

#include <math.h>
#include <string.h>

/* Returns the bits of one random element. Only the low element->bytes bytes are meaningful. */
static uint64_t random_bits(const struct fth_launch_buffer *buffer, struct fth_rng *rng)
{
    uint64_t bits = 0;
    if (fth_scalar_is_float(buffer->element)) {
        double value = buffer->low + (buffer->high - buffer->low) * fth_rng_unit(rng);
        if (!fth_scalar_from_double(buffer->element, value, &bits))
            return 0;
    } else if (buffer->whole_range) {
        bits = fth_rng_next(rng);
    } else {
        uint64_t span = (uint64_t)(floor(buffer->high) - ceil(buffer->low)) + 1;
        bits = (uint64_t)(int64_t)ceil(buffer->low) + fth_rng_below(rng, span);
    }
    return bits;
}

static enum fth_status fill_expression(struct fth_launch *launch,
                                       const struct fth_launch_buffer *buffer, uint8_t *data,
                                       struct fth_error *error)
{
    const unsigned bytes = buffer->element->bytes;
    double values[FTH_EXPRESSION_VALUES];
    for (uint64_t i = 0; i < buffer->count; i++) {
        const uint64_t left = buffer->count - i, at = i % FTH_EXPRESSION_VALUES;
        uint64_t bits;
        if (at == 0) {
            launch->scope.variables[0].value = (double)i; /* the variable `i` */
            fth_expression_values(buffer->expression, &launch->scope,
                                  left < FTH_EXPRESSION_VALUES ? left : FTH_EXPRESSION_VALUES,
                                  values);
        }
        if (!fth_scalar_from_double(buffer->element, values[at], &bits))
            return fth_fail(error, FTH_INVALID, "fill buffer", buffer->name,
                            "the value %g of element %llu is not a number of type %s", values[at],
                            (unsigned long long)i, buffer->element->name);
        memcpy(data + i * bytes, &bits, bytes);
    }
    return FTH_OK;
}

static enum fth_status fill_from_file(const struct fth_launch *launch,
                                      const struct fth_launch_buffer *buffer, void *data,
                                      struct fth_error *error)
{
    const uint64_t wanted = buffer->count * buffer->element->bytes;
    uint64_t got;
    FTH_TRY(fth_launch_read_data(launch, buffer->path, data, wanted, &got, error));
    if (got < wanted)
        return fth_fail(error, FTH_INVALID, "read", buffer->path,
                        "the file became shorter since the launch was read");
    return FTH_OK;
}

enum fth_status fth_launch_fill(struct fth_launch *launch, size_t index, void *data,
                                struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[index];
    const struct fth_scalar_type *element = buffer->element;
    uint8_t *bytes = data;
    if (buffer->fill == FTH_FILL_FILE)
        return fill_from_file(launch, buffer, data, error);
    if (buffer->fill == FTH_FILL_EXPRESSION)
        return fill_expression(launch, buffer, data, error);
    if (buffer->fill == FTH_FILL_MEMORY) {
        memcpy(data, buffer->memory, buffer->count * element->bytes);
        return FTH_OK;
    }
    struct fth_rng rng;
    /* 2^64 divided by the golden ratio, so that the seeds of the buffers are far apart. */
    fth_rng_init(&rng, launch->seed + index * UINT64_C(0x9e3779b97f4a7c15));
    for (uint64_t i = 0; i < buffer->count; i++) {
        uint64_t bits = buffer->bits;
        if (buffer->fill == FTH_FILL_RANDOM)
            bits = random_bits(buffer, &rng);
        else if (buffer->fill == FTH_FILL_IOTA &&
                 !fth_scalar_from_double(element, (double)i, &bits))
            bits = i;
        memcpy(bytes + i * element->bytes, &bits, element->bytes);
    }
    return FTH_OK;
}
