/* Takes an access to a vector apart into the parts that a GPU loads (struct fth_ptx_parts). */
#include "ptx/ptx.h"

void fth_ptx_take_part(const struct fth_ptx_access *whole, unsigned index,
                       struct fth_ptx_access_part *part)
{
    const uint64_t offset = whole->parts.offsets[index];
    part->access = *whole;
    part->access.bytes = whole->parts.bytes;
    part->access.parts.count = 0;
    if (whole->linear) {
        part->linear = *whole->linear;
        part->linear.base += offset;
        part->access.linear = &part->linear;
    }
    if (!whole->addresses)
        return;
    for (uint32_t left = whole->mask; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        part->addresses[lane] = whole->addresses[lane] + offset;
    }
    part->access.addresses = part->addresses;
}
