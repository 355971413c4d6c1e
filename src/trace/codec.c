/* Accesses as bytes. Warps of a kernel do the same thing side by side, so an access is told by how
 * it differs: from the one before it in its place, and from the last one of the same instruction in
 * its addresses. A record is
 *
 *     tag 1   which of the following are there
 *     place   number - the one before, block (from the frame's first, or from the one before where
 *             the number is the same), warp           absent: the next warp, block or number
 *     instruction                                     absent: as before
 *     shape   mask, affine or not, the differences from lane to lane
 *                                                     absent: as the instruction's last
 *     delta   the first lane's address - the one that the instruction last had
 *                                                     absent: as far as the last time
 *
 * in numbers of seven bits a byte. What repeats then, zstd takes out. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_PLACE = 1, TAG_INSTRUCTION = 2, TAG_SHAPE = 4, TAG_DELTA = 8 };
enum { LANES = 32 };

/* ---- records in memory ---- */

static bool pool_reserve(struct fth_records *records, size_t more)
{
    if (records->pool_capacity - records->pool_count >= more)
        return true;
    size_t capacity = 2 * records->pool_capacity + more + 1024;
    uint64_t *pool = realloc(records->pool, capacity * sizeof *pool);
    if (!pool)
        return false;
    records->pool = pool;
    records->pool_capacity = capacity;
    return true;
}

bool fth_records_add(struct fth_records *records, const struct fth_record *record,
                     const uint64_t *addresses)
{
    unsigned count = (unsigned)__builtin_popcount(record->mask);
    if (!fth_grow((void **)&records->items, records->count, &records->capacity,
                  sizeof *records->items))
        return false;
    struct fth_record *item = &records->items[records->count];
    *item = *record;
    item->first = addresses[0];
    item->step = count > 1 ? addresses[1] - addresses[0] : 0;
    item->affine = true;
    for (unsigned i = 1; i < count && item->affine; i++)
        item->affine = addresses[i] - addresses[i - 1] == item->step;
    if (!item->affine) {
        if (!pool_reserve(records, count - 1))
            return false;
        item->step = records->pool_count;
        for (unsigned i = 1; i < count; i++)
            records->pool[records->pool_count++] = addresses[i] - addresses[i - 1];
    }
    records->count++;
    return true;
}

bool fth_records_append(struct fth_records *records, const struct fth_records *more)
{
    size_t needed = records->count + more->count;
    if (needed > records->capacity) {
        size_t capacity = needed + needed / 2;
        struct fth_record *items = realloc(records->items, capacity * sizeof *items);
        if (!items)
            return false;
        records->items = items;
        records->capacity = capacity;
    }
    if (!pool_reserve(records, more->pool_count))
        return false;
    for (size_t i = 0; i < more->count; i++) {
        struct fth_record *item = &records->items[records->count + i];
        *item = more->items[i];
        if (!item->affine)
            item->step += records->pool_count;
    }
    if (more->pool_count)
        memcpy(records->pool + records->pool_count, more->pool,
               more->pool_count * sizeof *more->pool);
    records->count = needed;
    records->pool_count += more->pool_count;
    return true;
}

void fth_records_clear(struct fth_records *records)
{
    records->count = records->pool_count = 0;
}

void fth_records_fini(struct fth_records *records)
{
    free(records->items);
    free(records->pool);
    *records = (struct fth_records){0};
}

size_t fth_records_bytes(const struct fth_records *records)
{
    return records->count * sizeof *records->items + records->pool_count * sizeof *records->pool;
}

/* ---- numbers ---- */

static size_t write_number(unsigned char *to, uint64_t number)
{
    size_t size = 0;
    for (; number > 0x7f; number >>= 7)
        to[size++] = (unsigned char)(number | 0x80);
    to[size++] = (unsigned char)number;
    return size;
}

void fth_put_number(uint64_t number, struct fth_buffer *out)
{
    unsigned char bytes[10];
    fth_buffer_append(out, bytes, write_number(bytes, number));
}

void fth_put_text(const char *text, struct fth_buffer *out)
{
    size_t size = strlen(text);
    fth_put_number(size, out);
    fth_buffer_append(out, text, size);
}

uint64_t fth_get_number(struct fth_bytes *bytes)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        unsigned char byte = *bytes->at++;
        if (shift == 63 && byte > 1)
            break;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    bytes->failed = true;
    return 0;
}

uint32_t fth_get_number32(struct fth_bytes *bytes)
{
    uint64_t number = fth_get_number(bytes);
    if (number > UINT32_MAX)
        bytes->failed = true;
    return (uint32_t)number;
}

const char *fth_get_text(struct fth_bytes *bytes, struct fth_arena *arena)
{
    uint64_t size = fth_get_number(bytes);
    if (bytes->failed || size > (uint64_t)(bytes->end - bytes->at) || size > 65536) {
        bytes->failed = true;
        return NULL;
    }
    char *text = fth_arena_alloc(arena, (size_t)size + 1);
    if (!text) {
        bytes->failed = true;
        return NULL;
    }
    memcpy(text, bytes->at, (size_t)size);
    bytes->at += size;
    return text;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* ---- frames ---- */

void fth_put_frame_head(const struct fth_frame *frame, struct fth_buffer *out)
{
    fth_put_number(frame->launch, out);
    fth_put_number(frame->run, out);
    fth_put_number(frame->first_block, out);
    fth_put_number(frame->last_block - frame->first_block, out);
    fth_put_number(frame->first_number, out);
    fth_put_number(frame->last_number - frame->first_number, out);
    fth_put_number(frame->count, out);
}

void fth_get_frame_head(struct fth_bytes *bytes, struct fth_frame *frame)
{
    frame->launch = fth_get_number(bytes);
    frame->run = fth_get_number32(bytes);
    frame->first_block = fth_get_number(bytes);
    frame->last_block = frame->first_block + fth_get_number(bytes);
    frame->first_number = fth_get_number(bytes);
    frame->last_number = frame->first_number + fth_get_number(bytes);
    frame->count = fth_get_number32(bytes);
}

/* What an instruction did last, in this frame. */
struct last {
    uint64_t first, delta;
    uint32_t mask, threads; /* the bits of the mask; only in decoding */
    bool affine;
    uint32_t breaks;           /* bit i: steps[i] is not steps[0]; only in decoding */
    uint64_t steps[LANES - 1]; /* with `affine` only the first */
};

struct place {
    uint64_t number, block;
    uint32_t warp;
};

/* Where the next access is when every warp of every block of the frame makes it. */
static void pass_place(struct place *place, const struct fth_frame *frame, uint32_t warps)
{
    if (++place->warp < warps)
        return;
    place->warp = 0;
    if (++place->block <= frame->last_block)
        return;
    place->block = frame->first_block;
    place->number++;
}

/* Before the first record: such that it is expected to be the frame's first warp. */
static struct place place_before(const struct fth_frame *frame, uint32_t warps)
{
    return (struct place){frame->first_number - 1, frame->last_block, warps - 1};
}

static size_t write_place(unsigned char *to, struct place before, struct place here,
                          const struct fth_frame *frame)
{
    size_t size = write_number(to, here.number - before.number);
    size += write_number(to + size, here.number == before.number ? here.block - before.block
                                                                 : here.block - frame->first_block);
    return size + write_number(to + size, here.warp);
}

static bool same_shape(const struct last *last, const struct fth_record *record,
                       const uint64_t *steps, unsigned count)
{
    if (last->mask != record->mask || last->affine != record->affine)
        return false;
    return record->affine ? last->steps[0] == record->step
                          : memcmp(last->steps, steps, count * sizeof *steps) == 0;
}

static size_t write_shape(unsigned char *to, struct last *last, const struct fth_record *record,
                          const uint64_t *steps, unsigned count)
{
    last->mask = record->mask;
    last->affine = record->affine;
    size_t size = write_number(to, record->mask);
    to[size++] = record->affine;
    if (record->affine) {
        last->steps[0] = record->step;
        return size + write_number(to + size, zigzag(record->step));
    }
    for (unsigned i = 0; i < count; i++) {
        last->steps[i] = steps[i];
        size += write_number(to + size, zigzag(steps[i]));
    }
    return size;
}

enum fth_status fth_frame_encode(const struct fth_records *records, const uint32_t *order,
                                 const struct fth_frame *frame, uint32_t warps, const uint32_t *ids,
                                 size_t id_count, struct fth_buffer *out, struct fth_error *error)
{
    struct last *lasts = calloc(id_count, sizeof *lasts);
    struct place before = place_before(frame, warps);
    uint32_t instruction = UINT32_MAX;
    if (!lasts)
        return fth_fail(error, FTH_NO_MEMORY, "write trace", NULL, "out of memory");
    fth_put_frame_head(frame, out);
    for (uint32_t i = 0; i < frame->count; i++) {
        /* A tag, three, one, one, one and at most 31 numbers, and the byte of the shape. */
        unsigned char bytes[2 + 10 * (LANES + 6)];
        const struct fth_record *record = &records->items[order[i]];
        const uint64_t *steps = record->affine ? &record->step : records->pool + record->step;
        unsigned count = (unsigned)__builtin_popcount(record->mask) - 1;
        struct last *last = &lasts[record->instruction];
        struct place here = {record->number, record->block, record->warp};
        struct place expected = before;
        pass_place(&expected, frame, warps);
        size_t size = 1;
        bytes[0] = 0;
        if (here.number != expected.number || here.block != expected.block ||
            here.warp != expected.warp) {
            bytes[0] |= TAG_PLACE;
            size += write_place(bytes + size, before, here, frame);
        }
        if (record->instruction != instruction) {
            bytes[0] |= TAG_INSTRUCTION;
            size += write_number(bytes + size, ids[record->instruction]);
        }
        if (!same_shape(last, record, steps, count)) {
            bytes[0] |= TAG_SHAPE;
            size += write_shape(bytes + size, last, record, steps, count);
        }
        uint64_t delta = record->first - last->first;
        if (delta != last->delta) {
            bytes[0] |= TAG_DELTA;
            size += write_number(bytes + size, zigzag(delta));
        }
        last->delta = delta;
        last->first = record->first;
        instruction = record->instruction;
        before = here;
        fth_buffer_append(out, bytes, size);
    }
    free(lasts);
    return out->failed ? fth_fail(error, FTH_NO_MEMORY, "write trace", NULL, "out of memory")
                       : FTH_OK;
}

/* ---- decoding ---- */

struct fth_frame_decoder {
    struct fth_bytes bytes;
    struct fth_frame frame;
    struct place place; /* of the last access */
    uint32_t warps, left, instruction;
    size_t instruction_count;
    struct last lasts[];
};

enum fth_status fth_frame_decoder_create(size_t instructions, uint32_t warps,
                                         struct fth_frame_decoder **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out + instructions * sizeof(struct last));
    if (!*out)
        return fth_fail(error, FTH_NO_MEMORY, "read trace", NULL, "out of memory");
    (*out)->instruction_count = instructions;
    (*out)->warps = warps;
    return FTH_OK;
}

enum fth_status fth_frame_decoder_begin(struct fth_frame_decoder *decoder, const void *data,
                                        size_t size, struct fth_frame *frame,
                                        struct fth_error *error)
{
    decoder->bytes = (struct fth_bytes){data, (const unsigned char *)data + size, false};
    fth_get_frame_head(&decoder->bytes, &decoder->frame);
    if (decoder->bytes.failed)
        return fth_fail(error, FTH_INVALID, "read trace", NULL, "a frame without a head");
    memset(decoder->lasts, 0, decoder->instruction_count * sizeof *decoder->lasts);
    decoder->place = place_before(&decoder->frame, decoder->warps);
    decoder->left = decoder->frame.count;
    decoder->instruction = UINT32_MAX;
    *frame = decoder->frame;
    return FTH_OK;
}

static bool read_place(struct fth_frame_decoder *decoder)
{
    const struct fth_frame *frame = &decoder->frame;
    struct place *place = &decoder->place;
    uint64_t step = fth_get_number(&decoder->bytes), block = fth_get_number(&decoder->bytes);
    place->number += step;
    place->block = (step == 0 ? place->block : frame->first_block) + block;
    place->warp = fth_get_number32(&decoder->bytes);
    return place->number >= frame->first_number && place->block >= frame->first_block &&
           place->block <= frame->last_block && place->warp < decoder->warps;
}

static void read_shape(struct fth_bytes *bytes, struct last *last)
{
    last->mask = fth_get_number32(bytes);
    last->affine = fth_get_number(bytes) != 0;
    const unsigned count = last->threads = (unsigned)__builtin_popcount(last->mask);
    if (count == 0)
        bytes->failed = true;
    for (unsigned i = 0; i < (last->affine ? 1 : count - 1) && !bytes->failed; i++)
        last->steps[i] = unzigzag(fth_get_number(bytes));
    last->breaks = 0;
    for (unsigned i = 1; i + 1 < count && !last->affine; i++)
        last->breaks |= (uint32_t)(last->steps[i] != last->steps[0]) << i;
}

void fth_trace_expand(const struct fth_trace_told *told, uint64_t addresses[32])
{
    uint64_t address = addresses[0] = told->first;
    for (unsigned i = 1; i < told->threads; i++) {
        address += told->steps[told->affine ? 0 : i - 1];
        addresses[i] = address;
    }
}

/* What of a record is not as it was before; false where it cannot be. */
static bool read_changes(struct fth_frame_decoder *decoder, unsigned tag)
{
    struct fth_bytes *bytes = &decoder->bytes;
    if (tag & TAG_PLACE && !read_place(decoder))
        return false;
    if (tag & TAG_INSTRUCTION)
        decoder->instruction = fth_get_number32(bytes);
    if (bytes->failed || decoder->instruction >= decoder->instruction_count)
        return false;
    struct last *last = &decoder->lasts[decoder->instruction];
    if (tag & TAG_SHAPE)
        read_shape(bytes, last);
    if (tag & TAG_DELTA)
        last->delta = unzigzag(fth_get_number(bytes));
    return !bytes->failed;
}

/* False where it cannot be. */
static FTH_INLINE bool decode(struct fth_frame_decoder *decoder, struct fth_trace_told *access)
{
    struct fth_bytes *bytes = &decoder->bytes;
    struct place *place = &decoder->place;
    const unsigned tag = bytes->at < bytes->end ? *bytes->at++ : 0xff;
    if (!(tag & TAG_PLACE))
        pass_place(place, &decoder->frame, decoder->warps);
    if (bytes->failed || decoder->left == 0 || tag > 15 || (tag && !read_changes(decoder, tag)) ||
        place->number > decoder->frame.last_number ||
        decoder->instruction >= decoder->instruction_count)
        return false;
    struct last *last = &decoder->lasts[decoder->instruction];
    last->first += last->delta;
    access->number = place->number;
    access->block = place->block;
    access->warp = place->warp;
    access->instruction = decoder->instruction;
    access->mask = last->mask;
    access->threads = last->threads;
    access->first = last->first;
    access->steps = last->steps;
    access->affine = last->affine;
    access->breaks = last->breaks;
    decoder->left--;
    return last->mask != 0;
}

size_t fth_frame_decoder_take(struct fth_frame_decoder *decoder, struct fth_trace_told *accesses,
                              size_t max, enum fth_status *status, struct fth_error *error)
{
    const struct fth_bytes *bytes = &decoder->bytes;
    size_t count = 0;
    *status = FTH_OK;
    while (count < max && !(decoder->left == 0 && bytes->at == bytes->end)) {
        /* Another shape would be in place of the one that accesses before it point to. */
        if (count && bytes->at < bytes->end && *bytes->at & TAG_SHAPE)
            break;
        if (!decode(decoder, &accesses[count])) {
            decoder->bytes.failed = true; /* told after those that are whole */
            break;
        }
        count++;
    }
    if (count == 0 && bytes->failed)
        *status = fth_fail(error, FTH_INVALID, "read trace", NULL,
                           "a frame of launch %llu that no writer makes",
                           (unsigned long long)decoder->frame.launch);
    return count;
}

void fth_frame_decoder_destroy(struct fth_frame_decoder *decoder)
{
    free(decoder);
}
