/* Decodes the LZ4 block format. A block is a list of sequences:
 *
 *     token 1 | more literal length | literals | distance 2 | more match length
 *
 * The upper four bits of the token are the number of literal bytes, the lower four bits are the
 * length of the match minus 4. A value of 15 is continued in further bytes, which are added; a byte
 * below 255 is the last one. A match repeats bytes that were written `distance` bytes before, and
 * can overlap what it writes. The last sequence ends after its literals. */
#include "fatbin/fatbin.h"

#include <string.h>

enum { MIN_MATCH = 4, LENGTH_CONTINUES = 15 };

struct input {
    const uint8_t *at, *end;
};

/* Reads the rest of a length whose first four bits are *length. Returns false if the block ends
 * before, or if the length exceeds `max`. */
static bool read_length(struct input *in, size_t max, size_t *length)
{
    bool more = *length == LENGTH_CONTINUES;
    while (more) {
        if (in->at == in->end || *length > max)
            return false;
        more = *in->at == 255;
        *length += *in->at++;
    }
    return *length <= max;
}

bool fth_lz4_decode(const uint8_t *block, size_t size, uint8_t *out, size_t out_size)
{
    struct input in = {block, block + size};
    size_t done = 0;
    while (in.at < in.end) {
        const unsigned token = *in.at++;
        size_t length = token >> 4;
        if (!read_length(&in, out_size - done, &length) || length > (size_t)(in.end - in.at))
            return false;
        if (length > 0)
            memcpy(out + done, in.at, length);
        in.at += length;
        done += length;
        if (in.at == in.end)
            return done == out_size;
        if (in.end - in.at < 2)
            return false;
        const size_t distance = fth_load_u16(in.at);
        in.at += 2;
        length = token & 15;
        if (distance == 0 || distance > done || !read_length(&in, out_size - done, &length) ||
            out_size - done < length + MIN_MATCH)
            return false;
        for (length += MIN_MATCH; length > 0; length--, done++)
            out[done] = out[done - distance];
    }
    return false;
}
