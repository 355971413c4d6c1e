/* Encodes the accesses of a frame as bytes, and decodes them.
 *
 * A frame is a sequence of at most 8,192 accesses of one launch, sorted by access number, block and
 * warp (trace_writer.c). The access number is the index of an access within its warp, from 0. The
 * frame has a header (struct fth_frame) with its launch, its run (a sorted part of the file), and
 * the ranges of blocks and access numbers that occur in it.
 *
 * The warps of a kernel mostly execute the same instructions on neighbouring addresses. An access
 * is therefore encoded as its difference from a prediction: the position (access number, block,
 * warp) is predicted from the preceding access of the frame, the addresses from the last access of
 * the same instruction in the frame. A field that matches the prediction is omitted. Before the
 * first access of an instruction in the frame, its "last access" is all zeros.
 */
/* clang-format off */
/*     field        content                                            prediction if omitted
 *
 *     tag          1 byte: which of the following fields are present  never omitted
 *     position     three numbers:                                     the next warp of the block;
 *                  - access number minus that of the preceding        after the last warp, the next
 *                    access                                           block; after the last block,
 *                  - if this difference is 0: block minus that of     warp 0 of first_block, with
 *                    the preceding access; otherwise: block minus     the next access number
 *                    first_block of the frame
 *                  - warp
 *     instruction  number in the file                                 that of the preceding access
 *     lanes        mask of active lanes; 1 if the access is affine,   as in the last access of the
 *                  otherwise 0; address differences between           instruction
 *                  consecutive active lanes (affine: only the first)
 *     delta        first address minus that of the last access of     as in the last access of the
 *                  the instruction                                    instruction
 */
/* clang-format on */
/* An access is affine if all its address differences are equal.
 *
 * All numbers are variable-length integers. Address differences and deltas can be negative and are
 * zigzag-encoded; the differences of a position cannot, because the accesses are sorted. The
 * container then compresses the frame with zstd, which removes the remaining repetition. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_POSITION = 1, TAG_INSTRUCTION = 2, TAG_LANES = 4, TAG_DELTA = 8 };
enum { LANES = 32 };
/* The largest valid tag, with all fields present, and a value that is never a valid tag. */
enum { MAX_TAG = TAG_POSITION | TAG_INSTRUCTION | TAG_LANES | TAG_DELTA, INVALID_TAG = 0xff };
/* ---- frames ---- */

void fth_put_frame_header(const struct fth_frame *frame, struct fth_buffer *out)
{
    fth_put_varint(frame->launch, out);
    fth_put_varint(frame->run, out);
    fth_put_varint(frame->first_block, out);
    fth_put_varint(frame->last_block - frame->first_block, out);
    fth_put_varint(frame->first_number, out);
    fth_put_varint(frame->last_number - frame->first_number, out);
    fth_put_varint(frame->count, out);
}

void fth_get_frame_header(struct fth_bytes *bytes, struct fth_frame *frame)
{
    frame->launch = fth_get_varint(bytes);
    frame->run = fth_get_varint32(bytes);
    frame->first_block = fth_get_varint(bytes);
    frame->last_block = frame->first_block + fth_get_varint(bytes);
    frame->first_number = fth_get_varint(bytes);
    frame->last_number = frame->first_number + fth_get_varint(bytes);
    frame->count = fth_get_varint32(bytes);
}

/* The last access of an instruction in this frame, from which its next access is predicted. */
struct last_access {
    uint64_t first; /* first address */
    uint64_t delta; /* `first` minus that of the instruction's previous access */
    uint32_t mask;
    uint32_t threads; /* number of bits of the mask; only set by the decoder */
    bool affine;
    /* FTH_LANES_ROWS: see struct fth_record. Only set by the encoder, and 0 for other accesses. */
    uint8_t row_lanes;
    uint64_t row_steps;
    /* Bit i: steps[i] differs from steps[0]. Only set by the decoder, for model/coalesce.c. */
    uint32_t breaks;
    uint64_t steps[LANES - 1]; /* affine: only the first is used */
};

struct position {
    uint64_t number, block;
    uint32_t warp;
};

/* Replaces the position of an access by the predicted position of the next access. The prediction
 * assumes that every warp of every block of the frame has an access with the current number. In the
 * sorted frame, these come before all accesses with the next number. */
static void advance_position(struct position *position, const struct fth_frame *frame,
                             uint32_t warps)
{
    if (++position->warp < warps)
        return;
    position->warp = 0;
    if (++position->block <= frame->last_block)
        return;
    position->block = frame->first_block;
    position->number++;
}

/* Returns the position before the first access. The position predicted from it is the first warp of
 * the first block with first_number. If first_number is 0, the subtraction wraps around, and so
 * does the addition in advance_position(). */
static struct position position_before(const struct fth_frame *frame, uint32_t warps)
{
    return (struct position){frame->first_number - 1, frame->last_block, warps - 1};
}

static size_t write_position(unsigned char *to, struct position before, struct position here,
                             const struct fth_frame *frame)
{
    size_t size = fth_write_varint(to, here.number - before.number);
    size +=
        fth_write_varint(to + size, here.number == before.number ? here.block - before.block
                                                                 : here.block - frame->first_block);
    return size + fth_write_varint(to + size, here.warp);
}

/* Whether the lanes and the address differences are those of the instruction's last access. */
static bool same_lanes(const struct fth_records *records, const struct last_access *last_access,
                       const struct fth_record *record)
{
    if (last_access->mask != record->mask ||
        last_access->affine != (record->lanes == FTH_LANES_AFFINE))
        return false;
    if (last_access->affine)
        return last_access->steps[0] == record->step;
    if (record->lanes == FTH_LANES_ROWS && record->row_lanes == last_access->row_lanes)
        return record->step == last_access->row_steps;
    uint64_t space[LANES - 1];
    const uint64_t *steps = fth_record_steps(records, record, space);
    const unsigned step_count = (unsigned)__builtin_popcount(record->mask) - 1;
    return memcmp(last_access->steps, steps, step_count * sizeof *steps) == 0;
}

static size_t write_lanes(const struct fth_records *records, unsigned char *to,
                          struct last_access *last_access, const struct fth_record *record)
{
    last_access->mask = record->mask;
    last_access->affine = record->lanes == FTH_LANES_AFFINE;
    last_access->row_lanes = record->lanes == FTH_LANES_ROWS ? record->row_lanes : 0;
    last_access->row_steps = record->step;
    size_t size = fth_write_varint(to, record->mask);
    to[size++] = last_access->affine;
    if (last_access->affine) {
        last_access->steps[0] = record->step;
        return size + fth_write_varint(to + size, fth_zigzag(record->step));
    }
    uint64_t space[LANES - 1];
    const uint64_t *steps = fth_record_steps(records, record, space);
    const unsigned step_count = (unsigned)__builtin_popcount(record->mask) - 1;
    for (unsigned i = 0; i < step_count; i++) {
        last_access->steps[i] = steps[i];
        size += fth_write_varint(to + size, fth_zigzag(steps[i]));
    }
    return size;
}

/* Worst case of an encoded access in bytes: the tag, the affine byte, and 10 bytes for each other
 * number: three of the position, the instruction, the mask, the delta, and fewer than LANES steps.
 */
enum { MAX_ACCESS_BYTES = 2 + 10 * (LANES + 6) };

/* Instructions have two numbers. record->instruction is the writer's number; it is the index in
 * `ids` and `last_accesses`. ids[record->instruction] is the number in the file. */
enum fth_status fth_frame_encode(const struct fth_records *records, const struct fth_record *items,
                                 const struct fth_frame *frame, uint32_t warps, const uint32_t *ids,
                                 size_t id_count, struct fth_buffer *out, struct fth_error *error)
{
    struct last_access *last_accesses = calloc(id_count, sizeof *last_accesses);
    struct position before = position_before(frame, warps);
    uint32_t instruction = UINT32_MAX;
    unsigned char chunk[8 * MAX_ACCESS_BYTES]; /* of `out` */
    size_t size = 0;
    if (!last_accesses)
        return fth_no_memory(error, "write trace", NULL);
    fth_put_frame_header(frame, out);
    for (uint32_t i = 0; i < frame->count; i++) {
        const struct fth_record *record = &items[i];
        struct last_access *last_access = &last_accesses[record->instruction];
        struct position here = {record->number, record->block, record->warp};
        struct position expected = before;
        advance_position(&expected, frame, warps);
        unsigned char *tag = &chunk[size++];
        *tag = 0;
        if (here.number != expected.number || here.block != expected.block ||
            here.warp != expected.warp) {
            *tag |= TAG_POSITION;
            size += write_position(chunk + size, before, here, frame);
        }
        if (record->instruction != instruction) {
            *tag |= TAG_INSTRUCTION;
            size +=
                fth_write_varint(chunk + size, ids[record->instruction]); /* number in the file */
        }
        if (!same_lanes(records, last_access, record)) {
            *tag |= TAG_LANES;
            size += write_lanes(records, chunk + size, last_access, record);
        }
        uint64_t delta = record->first - last_access->first;
        if (delta != last_access->delta) {
            *tag |= TAG_DELTA;
            size += fth_write_varint(chunk + size, fth_zigzag(delta));
        }
        last_access->delta = delta;
        last_access->first = record->first;
        instruction = record->instruction;
        before = here;
        if (size > sizeof chunk - MAX_ACCESS_BYTES || i + 1 == frame->count) {
            fth_buffer_append(out, chunk, size);
            size = 0;
        }
    }
    free(last_accesses);
    return out->failed ? fth_no_memory(error, "write trace", NULL) : FTH_OK;
}

/* ---- decoding ---- */

struct fth_frame_decoder {
    struct fth_bytes bytes;
    struct fth_frame frame;
    struct position position; /* of the last decoded access */
    uint32_t warps;           /* per block */
    uint32_t left;            /* accesses that are not decoded yet */
    uint32_t instruction;     /* of the last decoded access; UINT32_MAX: none yet */
    size_t instruction_count;
    struct last_access last_accesses[]; /* one per instruction */
};

enum fth_status fth_frame_decoder_create(size_t instructions, uint32_t warps,
                                         struct fth_frame_decoder **out, struct fth_error *error)
{
    *out = calloc(1, sizeof **out + instructions * sizeof(struct last_access));
    if (!*out)
        return fth_no_memory(error, "read trace", NULL);
    (*out)->instruction_count = instructions;
    (*out)->warps = warps;
    return FTH_OK;
}

enum fth_status fth_frame_decoder_begin(struct fth_frame_decoder *decoder, const void *data,
                                        size_t size, struct fth_frame *frame,
                                        struct fth_error *error)
{
    decoder->bytes = (struct fth_bytes){.at = data, .end = (const unsigned char *)data + size};
    fth_get_frame_header(&decoder->bytes, &decoder->frame);
    if (decoder->bytes.failed)
        return fth_fail(error, FTH_INVALID, "read trace", NULL,
                        "the file is damaged: a frame has no valid header");
    memset(decoder->last_accesses, 0, decoder->instruction_count * sizeof *decoder->last_accesses);
    decoder->position = position_before(&decoder->frame, decoder->warps);
    decoder->left = decoder->frame.count;
    decoder->instruction = UINT32_MAX;
    *frame = decoder->frame;
    return FTH_OK;
}

static bool read_position(struct fth_frame_decoder *decoder)
{
    const struct fth_frame *frame = &decoder->frame;
    struct position *position = &decoder->position;
    uint64_t number = fth_get_varint(&decoder->bytes), block = fth_get_varint(&decoder->bytes);
    position->number += number; /* both are differences; see the top of the file */
    position->block = (number == 0 ? position->block : frame->first_block) + block;
    position->warp = fth_get_varint32(&decoder->bytes);
    return position->number >= frame->first_number && position->block >= frame->first_block &&
           position->block <= frame->last_block && position->warp < decoder->warps;
}

static void read_lanes(struct fth_bytes *bytes, struct last_access *last_access)
{
    last_access->mask = fth_get_varint32(bytes);
    last_access->affine = fth_get_varint(bytes) != 0;
    const unsigned count = last_access->threads = (unsigned)__builtin_popcount(last_access->mask);
    if (count == 0)
        bytes->failed = true;
    for (unsigned i = 0; i < (last_access->affine ? 1 : count - 1) && !bytes->failed; i++)
        last_access->steps[i] = fth_unzigzag(fth_get_varint(bytes));
    last_access->breaks = 0;
    for (unsigned i = 1; i + 1 < count && !last_access->affine; i++)
        last_access->breaks |= (uint32_t)(last_access->steps[i] != last_access->steps[0]) << i;
}

void fth_trace_expand(const struct fth_compact_access *access, uint64_t addresses[32])
{
    uint64_t address = addresses[0] = access->first;
    for (unsigned i = 1; i < access->threads; i++) {
        address += access->steps[access->affine ? 0 : i - 1];
        addresses[i] = address;
    }
}

void fth_trace_expand_access(const struct fth_compact_access *compact,
                             struct fth_trace_access *access)
{
    access->number = compact->number;
    access->block = compact->block;
    access->warp = compact->warp;
    access->instruction = compact->instruction;
    access->mask = compact->mask;
    access->threads = compact->threads;
    fth_trace_expand(compact, access->addresses);
}

/* Reads the fields that the tag announces. Returns false if they are invalid. */
static bool read_changes(struct fth_frame_decoder *decoder, unsigned tag)
{
    struct fth_bytes *bytes = &decoder->bytes;
    if (tag & TAG_POSITION && !read_position(decoder))
        return false;
    if (tag & TAG_INSTRUCTION)
        decoder->instruction = fth_get_varint32(bytes);
    if (bytes->failed || decoder->instruction >= decoder->instruction_count)
        return false;
    struct last_access *last_access = &decoder->last_accesses[decoder->instruction];
    if (tag & TAG_LANES)
        read_lanes(bytes, last_access);
    if (tag & TAG_DELTA)
        last_access->delta = fth_unzigzag(fth_get_varint(bytes));
    return !bytes->failed;
}

/* Decodes one access. Returns false if it is invalid. */
static FTH_INLINE bool decode(struct fth_frame_decoder *decoder, struct fth_compact_access *access)
{
    struct fth_bytes *bytes = &decoder->bytes;
    struct position *position = &decoder->position;
    const unsigned tag = bytes->at < bytes->end ? *bytes->at++ : INVALID_TAG;
    if (!(tag & TAG_POSITION))
        advance_position(position, &decoder->frame, decoder->warps);
    if (bytes->failed || decoder->left == 0 || tag > MAX_TAG ||
        (tag && !read_changes(decoder, tag)) || position->number > decoder->frame.last_number ||
        decoder->instruction >= decoder->instruction_count)
        return false;
    struct last_access *last_access = &decoder->last_accesses[decoder->instruction];
    last_access->first += last_access->delta;
    access->number = position->number;
    access->block = position->block;
    access->warp = position->warp;
    access->instruction = decoder->instruction;
    access->mask = last_access->mask;
    access->threads = last_access->threads;
    access->first = last_access->first;
    access->steps = last_access->steps;
    access->affine = last_access->affine;
    access->breaks = last_access->breaks;
    decoder->left--;
    return last_access->mask != 0;
}

size_t fth_frame_decoder_take(struct fth_frame_decoder *decoder,
                              struct fth_compact_access *accesses, size_t max,
                              enum fth_status *status, struct fth_error *error)
{
    const struct fth_bytes *bytes = &decoder->bytes;
    size_t count = 0;
    *status = FTH_OK;
    while (count < max && !(decoder->left == 0 && bytes->at == bytes->end)) {
        /* Accesses point to the steps of their instruction. New steps would overwrite those that
         * the accesses decoded in this call may point to. */
        if (count && bytes->at < bytes->end && *bytes->at & TAG_LANES)
            break;
        if (!decode(decoder, &accesses[count])) {
            decoder->bytes.failed = true; /* reported once the valid accesses have been taken */
            break;
        }
        count++;
    }
    if (count == 0 && bytes->failed)
        *status = fth_fail(error, FTH_INVALID, "read trace", NULL,
                           "the file is damaged: a frame of launch %llu cannot be decoded",
                           (unsigned long long)decoder->frame.launch);
    return count;
}

void fth_frame_decoder_destroy(struct fth_frame_decoder *decoder)
{
    free(decoder);
}
