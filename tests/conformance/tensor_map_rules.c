/* Conformance test of tensor maps: fathom accepts exactly the maps that a machine can encode, be it
 * a simulated GPU or a GPU behind the driver (a stand-in or the real one). It tries random maps
 * with values at the limits of the documented rules. Prints TAP; each disagreement is one line.
 *
 * usage: tensor_map_rules DEVICE [COUNT]
 */
#include "device/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t pick(struct fth_rng *rng, const uint64_t *values, size_t count)
{
    return values[fth_rng_below(rng, count)];
}
#define PICK(rng, ...)                                                                             \
    pick(rng, (const uint64_t[]){__VA_ARGS__},                                                     \
         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Makes a map that follows all rules. */
static void make_valid(struct fth_rng *rng, uint64_t address, struct fth_ptx_tensor_map *map)
{
    *map = (struct fth_ptx_tensor_map){
        .type = (enum fth_ptx_tensor_type)fth_rng_below(rng, FTH_TENSOR_TYPE_COUNT),
        .rank = 3 + (unsigned)fth_rng_below(rng, 3),
        .address = address,
        .promotion = (enum fth_ptx_promotion)fth_rng_below(rng, 4),
        .is_im2col = fth_rng_below(rng, 2) == 0,
        .channels = 16,
        .pixels = 32};
    uint64_t stride = fth_ptx_tensor_type_bytes(map->type);
    for (unsigned i = 0; i < FTH_TENSOR_MAX_RANK; i++) {
        map->sizes[i] = i ? PICK(rng, 4, 7, 32) : 64;
        map->box[i] = i ? (uint32_t)PICK(rng, 1, 2, 16) : 16;
        map->element_strides[i] = 1;
        stride *= map->sizes[i];
        if (i + 1 < FTH_TENSOR_MAX_RANK)
            map->strides[i] = stride;
    }
}

/* Changes one field to a value at or beyond a limit. */
static void change(struct fth_rng *rng, struct fth_ptx_tensor_map *map)
{
    const unsigned i = (unsigned)fth_rng_below(rng, map->rank);
    const int32_t corner = (int32_t)PICK(rng, 0, 1, 15, 16, 127, 128, 32767, 32768);
    const bool negative = fth_rng_below(rng, 2) == 0;
    switch (fth_rng_below(rng, 13)) {
    case 0: map->rank = (unsigned)fth_rng_below(rng, 6); break;
    case 1: map->address += PICK(rng, 8, 16, 32, 64); break;
    case 2:
        /* In im2col mode, the driver takes sizes from 2^31 on as negative. */
        map->sizes[i] = map->is_im2col ? PICK(rng, 0, 1, INT32_MAX, (1ull << 32) + 1)
                                       : PICK(rng, 0, 1, UINT32_MAX, 1ull << 32, (1ull << 32) + 1);
        break;
    case 3:
        map->strides[i ? i - 1 : 0] = PICK(rng, 0, 8, 16, 48, (1ull << 40) - 16, 1ull << 40);
        break;
    case 4: map->box[i] = (uint32_t)PICK(rng, 0, 1, 2, 4, 8, 64, 128, 256, 257); break;
    case 5: map->element_strides[i] = (uint32_t)PICK(rng, 0, 2, 8, 9); break;
    case 6: map->interleave = (enum fth_ptx_interleave)fth_rng_below(rng, 3); break;
    case 7: map->swizzle = (enum fth_ptx_swizzle)fth_rng_below(rng, 4); break;
    case 8: map->fills_with_nan = true; break;
    case 9: map->lower[i % 3] = negative ? -corner : corner; break;
    case 10: map->upper[i % 3] = negative ? -corner : corner; break;
    case 11: map->channels = (uint32_t)PICK(rng, 0, 1, 3, 8, 64, 256, 257); break;
    default: map->pixels = (uint32_t)PICK(rng, 0, 1, 1024, 1025); break;
    }
}

static void print_map(const struct fth_ptx_tensor_map *map)
{
    printf("# type %d rank %u address ...%02" PRIx64 " interleave %d swizzle %d fill %d %s",
           map->type, map->rank, map->address & 255, map->interleave, map->swizzle,
           map->fills_with_nan, map->is_im2col ? "im2col" : "tile");
    for (unsigned i = 0; i < FTH_TENSOR_MAX_RANK && i < map->rank; i++)
        printf("; size %" PRIu64 " stride %" PRIu64 " box %" PRIu32 " step %" PRIu32, map->sizes[i],
               i ? map->strides[i - 1] : 0, map->box[i], map->element_strides[i]);
    if (map->is_im2col)
        printf("; corners %d,%d,%d to %d,%d,%d channels %u pixels %u", map->lower[0], map->lower[1],
               map->lower[2], map->upper[0], map->upper[1], map->upper[2], map->channels,
               map->pixels);
    printf("\n");
}

/* Tries one random map. Returns false if fathom and the machine disagree. */
static bool try_map(const struct fth_machine_ops *ops, void *machine, struct fth_rng *rng,
                    uint64_t address, size_t *valid)
{
    struct fth_ptx_tensor_map map;
    struct fth_error rule = FTH_NO_ERROR, found = FTH_NO_ERROR;
    unsigned char bytes[FTH_TENSOR_MAP_BYTES];
    make_valid(rng, address, &map);
    for (uint64_t left = fth_rng_below(rng, 4); left > 0 && map.rank > 0; left--)
        change(rng, &map);
    const bool expected = fth_ptx_tensor_map_check(&map, &rule) == FTH_OK;
    const bool encoded = ops->tensor_map(machine, &map, bytes, &found) == FTH_OK;
    *valid += expected;
    if (expected == encoded)
        return true;
    printf("# fathom: %s; machine: %s\n", expected ? "valid" : rule.cause,
           encoded ? "valid" : found.cause);
    print_map(&map);
    return false;
}

int main(int count, char **arguments)
{
    enum { MAX_SHOWN = 40 };
    const struct fth_machine_ops *ops = NULL;
    const struct fth_device_options options = FTH_DEVICE_OPTIONS(.log = NULL);
    void *machine = NULL;
    uint64_t address = 0;
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    const size_t maps = count > 2 ? (size_t)strtoull(arguments[2], NULL, 10) : 20000;
    if (count < 2 || fth_machine_open(arguments[1], &options, &ops, &machine, &error) != FTH_OK ||
        ops->alloc(machine, 1 << 20, &address, &error) != FTH_OK) {
        printf("Bail out! %s\n", fth_error_text(&error, text, sizeof text));
        return 1;
    }
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    size_t valid = 0, wrong = 0;
    for (size_t i = 0; i < maps && wrong < MAX_SHOWN; i++)
        wrong += !try_map(ops, machine, &rng, address, &valid);
    printf("1..2\n%sok 1 - fathom and %s agree on %zu tensor maps\n", wrong ? "not " : "",
           arguments[1], maps);
    const bool both = valid > maps / 10 && valid < maps - maps / 10;
    printf("%sok 2 - some of the maps are valid and some are not: %zu are\n", both ? "" : "not ",
           valid);
    ops->free(machine, address);
    ops->close(machine);
    return wrong || !both;
}
