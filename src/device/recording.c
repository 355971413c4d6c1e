/* Encoding and decoding of recordings (docs/recording.md). A recording has a text header and then
 * three types of entries: descriptions of the device (JSON), answers, and an end marker. An answer
 * contains the text of one request (its key) and the samples that the device returned.
 *
 * Numbers are LEB128: seven bits per byte, the lowest first. Only the shortest form is valid, so
 * that the same content always gives the same bytes. The clock rate (a double) and the checksum
 * are exceptions: they take eight bytes, the lowest first.
 *
 * A sample is usually the cycles of one load or of one pass. It is stored as its difference to the
 * smallest sample of the answer. A difference takes one byte if it is at most 127, which is usual
 * for loads that hit the same cache level. Such differences compress better than the differences
 * between neighbouring samples, which contain the noise of both samples. */
#include "device/recording.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read recording";

static const char format_name[] = "fathom-recording/";
static const char format_version[] = "1";

enum { ENTRY_DESCRIPTION = 'D', ENTRY_ANSWER = 'A', ENTRY_END = 'E' };

/* Limits that protect against hostile files. Valid recordings stay far below them. They are part of
 * the format (docs/recording.md). */
#define MAX_BYTES ((size_t)1 << 30)
#define MAX_HEADER_BYTES ((size_t)4096)
#define MAX_KEY_BYTES ((size_t)4096)
#define MAX_DESCRIPTION_BYTES ((size_t)16 << 20)

/* Recordings contain the numbers of enum fth_status. */
_Static_assert(FTH_OK == 0 && FTH_NO_MEMORY == 1 && FTH_IO == 2 && FTH_INVALID == 3 &&
                   FTH_NOT_FOUND == 4 && FTH_UNSUPPORTED == 5 && FTH_UNAVAILABLE == 6 &&
                   FTH_INCONCLUSIVE == 7 && FTH_INTERRUPTED == 8,
               "the numbers of enum fth_status are part of fathom-recording/1");

/* ---- writing ---- */

uint64_t fth_recording_checksum(uint64_t before, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t checksum = before;
    for (size_t i = 0; i < size; i++)
        checksum = (checksum ^ bytes[i]) * UINT64_C(0x100000001b3); /* the FNV prime for 64 bits */
    return checksum;
}

static void put_number(uint64_t number, struct fth_buffer *out)
{
    unsigned char bytes[10];
    size_t size = 0;
    for (; number > 0x7f; number >>= 7)
        bytes[size++] = (unsigned char)(number | 0x80);
    bytes[size++] = (unsigned char)number;
    fth_buffer_append(out, bytes, size);
}

static void put_fixed(uint64_t number, struct fth_buffer *out)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    fth_buffer_append(out, bytes, sizeof bytes);
}

static void put_text(const char *text, size_t size, struct fth_buffer *out)
{
    put_number(size, out);
    fth_buffer_append(out, text, size);
}

static void put_byte(char byte, struct fth_buffer *out)
{
    fth_buffer_append(out, &byte, 1);
}

/* NAN has many bit patterns; files always contain the same one. */
static void put_double(double number, struct fth_buffer *out)
{
    uint64_t bits = UINT64_C(0x7ff8000000000000);
    if (!isnan(number))
        memcpy(&bits, &number, sizeof bits);
    put_fixed(bits, out);
}

/* Writes one line of the header. fth_text_append() replaces control characters, and cuts the text
 * after 255 characters, without an ellipsis. */
static void put_line(const char *key, const char *text, struct fth_buffer *out)
{
    fth_buffer_format(out, "%s ", key);
    fth_text_append(out, text, 255, "");
    fth_buffer_text(out, "\n");
}

void fth_recording_put_header_of(const char *device, const char *version, struct fth_buffer *out)
{
    fth_buffer_format(out, "%s%s\n", format_name, format_version);
    put_line("device", device, out);
    put_line("fathom", version, out);
    fth_buffer_text(out, "\n");
}

void fth_recording_put_header(const char *device, struct fth_buffer *out)
{
    fth_recording_put_header_of(device, fth_version(), out);
}

void fth_recording_put_description(const char *json, size_t size, struct fth_buffer *out)
{
    put_byte(ENTRY_DESCRIPTION, out);
    put_text(json, size, out);
}

void fth_recording_put_answer(const char *key, size_t key_size, const struct fth_samples *samples,
                              struct fth_buffer *out)
{
    put_byte(ENTRY_ANSWER, out);
    put_text(key, key_size, out);
    put_number((uint64_t)samples->status, out);
    put_text(samples->cause, strnlen(samples->cause, sizeof samples->cause - 1), out);
    put_number(samples->sm, out);
    put_double(samples->clock_mhz, out);
    put_number(samples->count, out);
    if (samples->count == 0)
        return;
    uint32_t minimum = samples->cycles[0];
    for (size_t i = 1; i < samples->count; i++)
        minimum = samples->cycles[i] < minimum ? samples->cycles[i] : minimum;
    put_number(minimum, out);
    for (size_t i = 0; i < samples->count; i++)
        put_number(samples->cycles[i] - minimum, out);
}

void fth_recording_put_end(uint64_t entries, uint64_t checksum, struct fth_buffer *out)
{
    size_t start = out->size;
    put_byte(ENTRY_END, out);
    put_number(entries, out);
    if (!out->failed)
        put_fixed(fth_recording_checksum(checksum, out->data + start, out->size - start), out);
}

/* ---- reading ---- */

/* A range of bytes in the content. */
struct span {
    size_t at, size;
};

struct answer {
    struct span key;
    size_t at; /* offset of the first byte after the key */
};

struct fth_recording {
    char *name;
    struct fth_buffer content;
    char device[256], version[64]; /* of the header */
    struct span *descriptions;
    size_t description_count, description_capacity;
    struct answer *answers;
    size_t answer_count, answer_capacity;
};

/* The reading position. */
struct cursor {
    const char *name; /* of the file, for messages */
    const unsigned char *bytes;
    size_t size, at;
    uint64_t entry; /* index of the current entry in the file, from 0 */
    struct fth_error *error;
};

FTH_PRINTF(2, 3)
static enum fth_status corrupt(const struct cursor *cursor, const char *cause, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, cause);
    vsnprintf(text, sizeof text, cause, arguments);
    va_end(arguments);
    return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                    "corrupt in entry %" PRIu64 " (counted from 0), at byte %zu: %s", cursor->entry,
                    cursor->at, text);
}

static enum fth_status truncated(const struct cursor *cursor)
{
    return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                    "truncated: the file ends in entry %" PRIu64 " (counted from 0), at byte %zu",
                    cursor->entry, cursor->size);
}

static size_t left(const struct cursor *cursor)
{
    return cursor->size - cursor->at;
}

/* Reports a count that is larger than the rest of the file. Counts are checked before memory is
 * allocated for them. */
static enum fth_status exceeds_file(const struct cursor *cursor, uint64_t count, const char *what)
{
    return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                    "truncated or corrupt: entry %" PRIu64 " (counted from 0), at byte %zu, "
                    "announces %" PRIu64 " %s, but only %zu bytes are left",
                    cursor->entry, cursor->at, count, what, left(cursor));
}

static enum fth_status get_number(struct cursor *cursor, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->size; shift += 7) {
        unsigned char byte = cursor->bytes[cursor->at++];
        uint64_t bits = byte & 0x7f;
        /* More than 64 bits, or not the shortest form. */
        if (shift > 63 || (bits << shift) >> shift != bits || (shift && byte == 0))
            return corrupt(cursor, "invalid number");
        value |= bits << shift;
        if (byte & 0x80)
            continue;
        if (value > max)
            return corrupt(cursor, "%" PRIu64 " exceeds the limit of %" PRIu64, value, max);
        *number = value;
        return FTH_OK;
    }
    return truncated(cursor);
}

static enum fth_status get_fixed(struct cursor *cursor, uint64_t *number)
{
    if (left(cursor) < 8)
        return truncated(cursor);
    *number = 0;
    for (size_t i = 0; i < 8; i++)
        *number |= (uint64_t)cursor->bytes[cursor->at++] << (8 * i);
    return FTH_OK;
}

static enum fth_status get_text(struct cursor *cursor, size_t max, struct span *text)
{
    uint64_t size = 0;
    FTH_TRY(get_number(cursor, max, &size));
    if (size > left(cursor))
        return exceeds_file(cursor, size, "bytes");
    *text = (struct span){cursor->at, (size_t)size};
    cursor->at += text->size;
    return FTH_OK;
}

/* Reads the part of an answer that follows the key. If `samples` is NULL, the data is only checked.
 * Otherwise `samples` is filled; on failure it can be incomplete. */
static enum fth_status get_answer(struct cursor *cursor, struct fth_samples *samples)
{
    uint64_t code = 0, sm = 0, bits = 0, count = 0, minimum = 0;
    struct span cause = {0};
    FTH_TRY(get_number(cursor, FTH_INTERRUPTED, &code));
    FTH_TRY(get_text(cursor, sizeof((struct fth_samples *)0)->cause - 1, &cause));
    FTH_TRY(get_number(cursor, UINT32_MAX, &sm));
    FTH_TRY(get_fixed(cursor, &bits));
    FTH_TRY(get_number(cursor, FTH_MAX_SAMPLES, &count));
    if (count > 0)
        FTH_TRY(get_number(cursor, UINT32_MAX, &minimum));
    /* A sample takes at least one byte, so a larger count is refused before memory is allocated. */
    if (count > left(cursor))
        return exceeds_file(cursor, count, "samples");
    if (samples && count > 0) {
        samples->cycles = malloc((size_t)count * sizeof *samples->cycles);
        if (!samples->cycles)
            return fth_no_memory(cursor->error, operation, cursor->name);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t above = 0;
        FTH_TRY(get_number(cursor, UINT32_MAX - minimum, &above));
        if (samples && samples->cycles)
            samples->cycles[i] = (uint32_t)(minimum + above);
    }
    if (!samples)
        return FTH_OK;
    samples->status = (enum fth_status)code;
    memcpy(samples->cause, cursor->bytes + cause.at, cause.size);
    samples->cause[cause.size] = '\0';
    for (char *c = samples->cause; *c; c++) /* The text may be printed on a terminal. */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    samples->sm = (uint32_t)sm;
    memcpy(&samples->clock_mhz, &bits, sizeof bits);
    samples->count = (size_t)count;
    return FTH_OK;
}

/* Returns the next line of the header without its newline, NULL if there is none. */
static const char *get_line(struct cursor *cursor, size_t *size)
{
    size_t max = cursor->size < MAX_HEADER_BYTES ? cursor->size : MAX_HEADER_BYTES;
    const unsigned char *line = cursor->bytes + cursor->at;
    const unsigned char *end = cursor->at < max ? memchr(line, '\n', max - cursor->at) : NULL;
    if (!end)
        return NULL;
    *size = (size_t)(end - line);
    cursor->at += *size + 1;
    return (const char *)line;
}

/* Copies the rest of a line that begins with the key. */
static void copy_value(const char *key, const char *line, size_t size, char *value, size_t max)
{
    const size_t key_size = strlen(key);
    if (size > key_size && memcmp(line, key, key_size) == 0)
        snprintf(value, max, "%.*s", (int)(size - key_size), line + key_size);
}

/* Reads the header. The errors distinguish a file that is not a recording, a recording of another
 * version, and a truncated recording. */
static enum fth_status read_header(struct fth_recording *recording, struct cursor *cursor)
{
    /* A compressed file begins with the four bytes of zstd_magic. fth_file_read() has decompressed
     * every file that has all four. A file that consists of only the first one to three of them is
     * a truncated compressed file. It passes the check of the first bytes below, and the end of
     * this function reports that it is truncated. */
    static const char zstd_magic[] = {0x28, (char)0xb5, 0x2f, (char)0xfd};
    size_t name_size = strlen(format_name);
    size_t common = cursor->size < name_size ? cursor->size : name_size;
    if (cursor->size == 0)
        return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                        "truncated: the file is empty");
    if (memcmp(cursor->bytes, format_name, common) != 0 &&
        (cursor->size >= sizeof zstd_magic || memcmp(cursor->bytes, zstd_magic, cursor->size) != 0))
        return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                        "not a fathom recording, or corrupt at the beginning");
    size_t size = 0, version_size = strlen(format_version);
    const char *line = get_line(cursor, &size);
    if (line && (size != name_size + version_size ||
                 memcmp(line + name_size, format_version, version_size) != 0))
        return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                        "unsupported format '%.*s'; this version of fathom reads %s%s",
                        (int)(size < 64 ? size : 64), line, format_name, format_version);
    while (line) {
        line = get_line(cursor, &size);
        if (line && size == 0)
            return FTH_OK;
        if (line) {
            copy_value("device ", line, size, recording->device, sizeof recording->device);
            copy_value("fathom ", line, size, recording->version, sizeof recording->version);
        }
    }
    return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                    cursor->size < MAX_HEADER_BYTES ? "truncated: the file ends in the header"
                                                    : "corrupt: the header has no end");
}

static enum fth_status read_description(struct fth_recording *recording, struct cursor *cursor)
{
    struct span json = {0};
    FTH_TRY(get_text(cursor, MAX_DESCRIPTION_BYTES, &json));
    struct fth_gpu *gpu = NULL;
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_gpu_read_text(cursor->name, (const char *)cursor->bytes + json.at,
                                               json.size, NULL, &gpu, &fault);
    fth_gpu_destroy(gpu);
    if (status != FTH_OK)
        return status == FTH_NO_MEMORY ? fth_no_memory(cursor->error, operation, cursor->name)
                                       : corrupt(cursor, "%.200s", fault.cause);
    void *items = recording->descriptions;
    if (!fth_grow(&items, recording->description_count, &recording->description_capacity,
                  sizeof json))
        return fth_no_memory(cursor->error, operation, cursor->name);
    recording->descriptions = items;
    recording->descriptions[recording->description_count++] = json;
    return FTH_OK;
}

static enum fth_status read_answer(struct fth_recording *recording, struct cursor *cursor)
{
    struct answer answer = {0};
    FTH_TRY(get_text(cursor, MAX_KEY_BYTES, &answer.key));
    answer.at = cursor->at;
    FTH_TRY(get_answer(cursor, NULL));
    void *items = recording->answers;
    if (!fth_grow(&items, recording->answer_count, &recording->answer_capacity, sizeof answer))
        return fth_no_memory(cursor->error, operation, cursor->name);
    recording->answers = items;
    recording->answers[recording->answer_count++] = answer;
    return FTH_OK;
}

static enum fth_status read_end(struct cursor *cursor)
{
    uint64_t entries = 0, checksum = 0;
    const uint64_t read_count = cursor->entry; /* entries before the end marker */
    FTH_TRY(get_number(cursor, UINT64_MAX, &entries));
    uint64_t actual =
        fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, cursor->bytes, cursor->at);
    FTH_TRY(get_fixed(cursor, &checksum));
    if (entries != read_count)
        return corrupt(cursor, "the end marker states %" PRIu64 " entries, but there are %" PRIu64,
                       entries, read_count);
    if (left(cursor) > 0)
        return corrupt(cursor, "%zu bytes follow the end marker", left(cursor));
    if (checksum != actual)
        return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                        "corrupt: the checksum is %016" PRIx64 ", but the end marker states "
                        "%016" PRIx64,
                        actual, checksum);
    return FTH_OK;
}

static enum fth_status read_entries(struct fth_recording *recording, struct cursor *cursor)
{
    for (cursor->entry = 0; cursor->at < cursor->size; cursor->entry++) {
        unsigned char kind = cursor->bytes[cursor->at++];
        switch (kind) {
        case ENTRY_DESCRIPTION: FTH_TRY(read_description(recording, cursor)); break;
        case ENTRY_ANSWER: FTH_TRY(read_answer(recording, cursor)); break;
        case ENTRY_END: return read_end(cursor);
        default: return corrupt(cursor, "unknown entry type 0x%02x", kind);
        }
    }
    return fth_fail(cursor->error, FTH_INVALID, operation, cursor->name,
                    "truncated: the file ends after %" PRIu64 " entries (byte %zu) without an end "
                    "marker",
                    cursor->entry, cursor->size);
}

/* ---- sorting the answers ---- */

/* Compares `key` with the key of an answer: negative if `key` comes first, 0 if they are equal. */
static int compare_key(const struct fth_recording *recording, const char *key, size_t size,
                       const struct answer *answer)
{
    size_t common = size < answer->key.size ? size : answer->key.size;
    int order = common ? memcmp(key, recording->content.data + answer->key.at, common) : 0;
    return order ? order : (size > answer->key.size) - (size < answer->key.size);
}

/* A bottom-up merge sort. It is stable, so that the answers to one request keep their order. qsort
 * is not, and cannot pass the recording to its comparison function. */
static enum fth_status sort_answers(struct fth_recording *recording, struct fth_error *error)
{
    size_t count = recording->answer_count;
    struct answer *from = recording->answers, *spare = malloc((count + 1) * sizeof *spare);
    if (!spare)
        return fth_no_memory(error, operation, recording->name);
    struct answer *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = count - start < width ? count : start + width;
            size_t end = count - middle < width ? count : middle + width;
            size_t a = start, b = middle;
            for (size_t i = start; i < end; i++) {
                bool second =
                    a == middle ||
                    (b < end && compare_key(recording, recording->content.data + from[a].key.at,
                                            from[a].key.size, &from[b]) > 0);
                to[i] = from[second ? b++ : a++];
            }
        }
        struct answer *swap = from;
        from = to;
        to = swap;
    }
    if (from == spare)
        memcpy(recording->answers, spare, count * sizeof *spare);
    free(spare);
    return FTH_OK;
}

/* ---- whole recordings ---- */

enum fth_status fth_recording_parse(const char *name, struct fth_buffer *content,
                                    struct fth_recording **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_recording *recording = calloc(1, sizeof *recording);
    if (!recording) {
        fth_buffer_fini(content);
        return fth_no_memory(error, operation, name);
    }
    recording->content = *content;
    *content = (struct fth_buffer){0};
    recording->name = strdup(name);
    struct cursor cursor = {
        .name = name,
        .bytes = (const unsigned char *)(recording->content.data ? recording->content.data : ""),
        .size = recording->content.size,
        .error = error};
    enum fth_status status = recording->name ? FTH_OK : fth_no_memory(error, operation, name);
    if (status == FTH_OK)
        status = read_header(recording, &cursor);
    if (status == FTH_OK)
        status = read_entries(recording, &cursor);
    if (status == FTH_OK)
        status = sort_answers(recording, error);
    if (status == FTH_OK)
        *out = recording;
    else
        fth_recording_destroy(recording);
    return status;
}

enum fth_status fth_recording_read(const char *path, struct fth_recording **recording,
                                   struct fth_error *error)
{
    *recording = NULL;
    struct fth_buffer content = {0};
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a recording", MAX_BYTES), &content, &fault);
    if (status == FTH_OK)
        return fth_recording_parse(path, &content, recording, error);
    fth_buffer_fini(&content);
    if (status == FTH_INVALID)
        fth_error_context(&fault, "corrupt, or not a recording");
    fth_format(fault.operation, sizeof fault.operation, "%s", operation);
    return fth_error_move(error, &fault);
}

void fth_recording_destroy(struct fth_recording *recording)
{
    if (!recording)
        return;
    free(recording->name);
    fth_buffer_fini(&recording->content);
    free(recording->descriptions);
    free(recording->answers);
    free(recording);
}

/* ---- access to the content ---- */

const char *fth_recording_device(const struct fth_recording *recording)
{
    return recording->device;
}

const char *fth_recording_version(const struct fth_recording *recording)
{
    return recording->version;
}

size_t fth_recording_description_count(const struct fth_recording *recording)
{
    return recording->description_count;
}

size_t fth_recording_answer_count(const struct fth_recording *recording)
{
    return recording->answer_count;
}

/* Returns the index of the first answer whose key is greater than or equal to `key`. If `past` is
 * true, returns the index of the first answer whose key is greater than `key`. */
static size_t bound(const struct fth_recording *recording, const char *key, size_t size, bool past)
{
    size_t low = 0, high = recording->answer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_key(recording, key, size, &recording->answers[middle]);
        if (order > 0 || (past && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t fth_recording_find(const struct fth_recording *recording, const char *key, size_t key_size,
                          size_t *first)
{
    *first = bound(recording, key, key_size, false);
    return bound(recording, key, key_size, true) - *first;
}

const char *fth_recording_key(const struct fth_recording *recording, size_t index, size_t *size)
{
    *size = recording->answers[index].key.size;
    return recording->content.data + recording->answers[index].key.at;
}

enum fth_status fth_recording_answer(const struct fth_recording *recording, size_t index,
                                     struct fth_samples *samples, struct fth_error *error)
{
    *samples = (struct fth_samples){.clock_mhz = NAN};
    struct cursor cursor = {.name = recording->name,
                            .bytes = (const unsigned char *)recording->content.data,
                            .size = recording->content.size,
                            .at = recording->answers[index].at,
                            /* This is not the index in the file, which is not stored. No message
                             * shows it, because fth_recording_parse() has checked the answer. */
                            .entry = index,
                            .error = error};
    return get_answer(&cursor, samples);
}

enum fth_status fth_recording_add_description(const struct fth_recording *recording, size_t index,
                                              struct fth_gpu *gpu, struct fth_error *error)
{
    struct span json = recording->descriptions[index];
    struct fth_gpu *recorded = NULL;
    enum fth_status status = fth_gpu_read_text(recording->name, recording->content.data + json.at,
                                               json.size, NULL, &recorded, error);
    if (status == FTH_OK)
        status = fth_recording_add(gpu, recorded, error);
    fth_gpu_destroy(recorded);
    return status;
}

/* ---- descriptions ---- */

/* Returns whether the list already contains a text with this name. A replay can add the same
 * description to a `gpu` more than once; its texts must not be repeated then. */
static bool has_name(const struct fth_named_texts *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the attributes and the reasons for unknown attributes of a section to the section with the
 * same name in `gpu`. If `gpu` has no such section, it is added as an element; the sections that
 * are not elements, "device" and "noise", exist in every `gpu`. Existing attributes are replaced.
 * Existing reasons are kept, because fth_gpu_set_unknown() would add a second one. */
static enum fth_status add_section(struct fth_gpu *gpu, const struct fth_gpu_section *from,
                                   struct fth_error *error)
{
    if (!fth_gpu_find_section(gpu, from->name))
        FTH_TRY(fth_gpu_add_element(gpu, from->name, error));
    struct fth_gpu_section *section = fth_gpu_section(gpu, from->name);
    for (size_t i = 0; i < from->count; i++)
        FTH_TRY(fth_gpu_set(gpu, section, &from->attributes[i], error));
    for (size_t i = 0; i < from->unknown.count; i++)
        if (!has_name(&section->unknown, from->unknown.items[i].name))
            FTH_TRY(fth_gpu_set_unknown(gpu, section, from->unknown.items[i].name,
                                        from->unknown.items[i].text, error));
    return FTH_OK;
}

enum fth_status fth_recording_add(struct fth_gpu *gpu, const struct fth_gpu *from,
                                  struct fth_error *error)
{
    FTH_TRY(add_section(gpu, &from->device, error));
    FTH_TRY(add_section(gpu, &from->noise, error));
    for (size_t i = 0; i < from->element_count; i++)
        FTH_TRY(add_section(gpu, &from->elements[i], error));
    for (size_t i = 0; i < from->references.count; i++)
        if (!has_name(&gpu->references, from->references.items[i].name))
            FTH_TRY(fth_gpu_set_reference(gpu, from->references.items[i].name,
                                          from->references.items[i].text, error));
    return FTH_OK;
}
