/* Reads capsules.
 *
 * Opening a capsule reads the headers of all parts, and decodes those that describe modules, images
 * and launches. Chunks and PTX are read when they are needed. A capsule without a valid tail is
 * truncated: what follows its last complete part is ignored. In a capsule with a tail, each part
 * must be there. */
#include "capsule/capsule_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits of what opening a capsule takes, for a file that was made to exhaust the memory: bytes of
 * the descriptions after decompression, and of the memory for modules and launches. Chosen: a
 * hundred thousand launches with hundreds of regions each. */
#define MAX_DESCRIPTION_BYTES ((uint64_t)1 << 30)
#define MAX_MEMORY_BYTES ((uint64_t)2 << 30)

/* A part with chunks. */
struct chunks {
    uint64_t offset;
    uint32_t first, count; /* numbers of its chunks */
};

struct text {
    uint64_t offset;
    uint32_t bytes;
};

struct fth_capsule {
    struct fth_container *container;
    struct fth_chunk_cache *cache;
    struct fth_arena arena;
    uint64_t memory;      /* bytes that modules and launches may still use */
    uint64_t description; /* bytes of the parts that may still be decoded */
    uint64_t end;         /* offset after the last complete part other than END */
    bool has_info;
    struct fth_capsule_info info;
    struct fth_capsule_scope scope;
    struct fth_capsule_stored_module *modules;
    size_t module_capacity;
    struct text *texts;
    size_t text_capacity;
    struct chunks *chunks;
    size_t chunks_count, chunks_capacity;
    struct fth_chunk_lists lists;
    struct fth_chunk_list *images;
    uint64_t *image_bytes;
    size_t image_capacity, image_bytes_capacity;
    struct fth_capsule_launch *launches;
    size_t launch_count, launch_capacity;
};

static enum fth_status no_memory(const struct fth_capsule *capsule, struct fth_error *error)
{
    return fth_no_memory(error, fth_capsule_format.read, fth_container_path(capsule->container));
}

static enum fth_status damaged(const struct fth_capsule *capsule, uint64_t offset,
                               const char *fault, struct fth_error *error)
{
    return fth_container_damaged(capsule->container, offset, fault, error);
}

/* ---- decoding ---- */

/* The functions below decode a part: add what it contains to the capsule. A fault is left in the
 * decoder. */

static void refuse(struct fth_capsule_decoder *decoder, const char *fault)
{
    decoder->bytes.failed = true;
    if (!decoder->fault)
        decoder->fault = fault;
}

/* Makes space for an element of an array. */
static bool grow(struct fth_capsule_decoder *decoder, void **items, size_t count, size_t *capacity,
                 size_t size)
{
    if (fth_grow(items, count, capacity, size))
        return true;
    decoder->bytes.failed = decoder->bytes.no_memory = true;
    return false;
}

/* Passes on the result of a check. `fault` is the address of the variable that the check has set:
 * its value could be read before the check, because C does not define the order of arguments. */
static bool is_valid(struct fth_capsule_decoder *decoder, enum fth_status status,
                     const char *const *fault)
{
    if (status == FTH_INVALID)
        refuse(decoder, *fault);
    else if (status != FTH_OK)
        decoder->bytes.failed = decoder->bytes.no_memory = true;
    return status == FTH_OK;
}

static void add_module(struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    struct fth_capsule_stored_module stored = {0};
    const char *fault = NULL;
    fth_capsule_decode_module(decoder, &stored);
    if (decoder->bytes.failed ||
        !is_valid(decoder, fth_capsule_check_module(&stored, &capsule->scope, &fault), &fault) ||
        !grow(decoder, (void **)&capsule->modules, capsule->scope.module_count,
              &capsule->module_capacity, sizeof *capsule->modules))
        return;
    if (stored.text)
        stored.module.ptx_bytes = capsule->texts[stored.text - 1].bytes;
    capsule->modules[capsule->scope.module_count++] = stored;
}

static void add_ptx(struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    const uint32_t number = fth_get_varint32(&decoder->bytes);
    const uint32_t text = fth_get_varint32(&decoder->bytes);
    if (decoder->bytes.failed)
        return;
    struct fth_capsule_stored_module *module =
        number && number <= capsule->scope.module_count ? &capsule->modules[number - 1] : NULL;
    if (!module || module->text) {
        refuse(decoder, "it is PTX for a module that does not exist or has PTX");
    } else if (text == 0 || text > capsule->scope.text_count) {
        refuse(decoder, "its PTX does not exist");
    } else {
        module->text = text;
        module->module.ptx_bytes = capsule->texts[text - 1].bytes;
        module->module.reason = NULL;
    }
}

static void add_image(struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    struct fth_capsule_scope *scope = &capsule->scope;
    const uint64_t bytes = fth_get_varint(&decoder->bytes);
    const uint32_t previous = fth_get_varint32(&decoder->bytes);
    const uint32_t chunk_count = fth_get_varint32(&decoder->bytes);
    if (decoder->bytes.failed)
        return;
    if (bytes > FTH_CAPSULE_MAX_REGION_BYTES)
        refuse(decoder, "the image is larger than 1 TiB");
    else if (previous > scope->image_count)
        refuse(decoder, "the previous image does not exist");
    else if (previous && capsule->image_bytes[previous - 1] != bytes)
        refuse(decoder, "the previous image has another size");
    else if (chunk_count != scope->chunk_count)
        refuse(decoder, "the number of chunks before it is wrong");
    if (decoder->bytes.failed ||
        !grow(decoder, (void **)&capsule->images, scope->image_count, &capsule->image_capacity,
              sizeof *capsule->images) ||
        !grow(decoder, (void **)&capsule->image_bytes, scope->image_count,
              &capsule->image_bytes_capacity, sizeof *capsule->image_bytes))
        return;
    scope->image_bytes = capsule->image_bytes;
    struct fth_chunk_list list =
        previous ? capsule->images[previous - 1] : fth_chunk_list_of_zeros(bytes);
    fth_chunk_list_decode(&capsule->lists, &list, chunk_count, decoder);
    capsule->images[scope->image_count] = list;
    capsule->image_bytes[scope->image_count++] = bytes;
}

static void add_launch(struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    struct fth_capsule_launch launch = {0};
    const char *fault = NULL;
    fth_capsule_decode_launch(decoder, &launch);
    if (decoder->bytes.failed ||
        !is_valid(decoder, fth_capsule_check_launch(&launch, &capsule->scope, &fault), &fault) ||
        !grow(decoder, (void **)&capsule->launches, capsule->launch_count,
              &capsule->launch_capacity, sizeof *capsule->launches))
        return;
    capsule->launches[capsule->launch_count++] = launch;
}

static void add_after(struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    const uint64_t index = fth_get_varint(&decoder->bytes);
    if (decoder->bytes.failed)
        return;
    if (index >= capsule->launch_count || capsule->launches[index].has_after) {
        refuse(decoder, "it belongs to a launch that does not exist or has such images");
        return;
    }
    struct fth_capsule_launch *launch = &capsule->launches[index];
    /* The reader owns the array, which is constant only for its callers. */
    struct fth_capsule_region *regions = (struct fth_capsule_region *)launch->regions;
    for (size_t i = 0; i < launch->region_count && !decoder->bytes.failed; i++) {
        const uint32_t image = fth_get_varint32(&decoder->bytes);
        const char *fault = fth_capsule_check_image(image, regions[i].bytes, &capsule->scope);
        if (!decoder->bytes.failed && fault)
            refuse(decoder, fault);
        regions[i].after = image;
    }
    launch->has_after = true;
}

static void check_end(const struct fth_capsule *capsule, struct fth_capsule_decoder *decoder)
{
    const uint64_t expected[] = {capsule->scope.module_count, capsule->scope.text_count,
                                 capsule->scope.chunk_count, capsule->scope.image_count,
                                 capsule->launch_count};
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        if (fth_get_varint(&decoder->bytes) != expected[i])
            refuse(decoder, "the capsule lacks parts");
}

/* ---- parts ---- */

static enum fth_status decode(struct fth_capsule *capsule, uint64_t offset, uint32_t type,
                              const struct fth_buffer *content, struct fth_error *error)
{
    struct fth_capsule_decoder decoder = {
        .bytes = fth_bytes_of(content), .arena = &capsule->arena, .memory = capsule->memory};
    switch (type) {
    case FTH_CAPSULE_PART_INFO:
        if (capsule->has_info)
            refuse(&decoder, "it is not the first part");
        fth_capsule_decode_info(&decoder, &capsule->info);
        capsule->has_info = true;
        break;
    case FTH_CAPSULE_PART_MODULE: add_module(capsule, &decoder); break;
    case FTH_CAPSULE_PART_PTX: add_ptx(capsule, &decoder); break;
    case FTH_CAPSULE_PART_IMAGE: add_image(capsule, &decoder); break;
    case FTH_CAPSULE_PART_LAUNCH: add_launch(capsule, &decoder); break;
    case FTH_CAPSULE_PART_AFTER: add_after(capsule, &decoder); break;
    case FTH_CAPSULE_PART_END: check_end(capsule, &decoder); break;
    default: refuse(&decoder, "its type is unknown; a later version of fathom may know it");
    }
    capsule->memory = decoder.memory;
    const enum fth_status status = fth_capsule_decoded(&decoder);
    if (status == FTH_NO_MEMORY)
        return no_memory(capsule, error);
    return status == FTH_OK ? FTH_OK : damaged(capsule, offset, decoder.fault, error);
}

static enum fth_status add_text(struct fth_capsule *capsule, uint64_t offset,
                                const struct fth_part_header *part, struct fth_error *error)
{
    if (part->bytes > FTH_CAPSULE_MAX_PTX_BYTES)
        return damaged(capsule, offset, "it is larger than 256 MiB", error);
    if (!fth_grow((void **)&capsule->texts, capsule->scope.text_count, &capsule->text_capacity,
                  sizeof *capsule->texts))
        return no_memory(capsule, error);
    capsule->texts[capsule->scope.text_count++] =
        (struct text){.offset = offset, .bytes = part->bytes};
    return FTH_OK;
}

static enum fth_status add_chunks(struct fth_capsule *capsule, uint64_t offset,
                                  const struct fth_part_header *part, struct fth_error *error)
{
    const uint32_t count = part->bytes / FTH_CHUNK_BYTES;
    if (part->bytes % FTH_CHUNK_BYTES || count == 0 || count > FTH_CAPSULE_PART_MAX_CHUNKS)
        return damaged(capsule, offset, "it does not have 1 to 64 whole chunks", error);
    if (capsule->scope.chunk_count > UINT32_MAX - count)
        return damaged(capsule, offset, "the capsule has more than 4,294,967,295 chunks", error);
    if (!fth_grow((void **)&capsule->chunks, capsule->chunks_count, &capsule->chunks_capacity,
                  sizeof *capsule->chunks))
        return no_memory(capsule, error);
    capsule->chunks[capsule->chunks_count++] =
        (struct chunks){.offset = offset, .first = capsule->scope.chunk_count + 1, .count = count};
    capsule->scope.chunk_count += count;
    return FTH_OK;
}

/* Reads a part that describes something. `content` is memory that all parts reuse. */
static enum fth_status add_description(struct fth_capsule *capsule, uint64_t offset,
                                       const struct fth_part_header *part,
                                       struct fth_buffer *content, struct fth_error *error)
{
    uint32_t type;
    uint64_t next;
    if (part->bytes > capsule->description)
        return damaged(capsule, offset,
                       "the modules, images and launches up to here have more than 1 GiB", error);
    capsule->description -= part->bytes;
    enum fth_status status =
        fth_container_get(capsule->container, offset, &type, content, &next, error);
    return status == FTH_OK ? decode(capsule, offset, type, content, error) : status;
}

/* Reads all parts. */
static enum fth_status scan(struct fth_capsule *capsule, struct fth_error *error)
{
    const struct fth_container *container = capsule->container;
    const uint64_t index = fth_container_index(container);
    struct fth_buffer content = {0};
    struct fth_part_header part = {0};
    enum fth_status status = FTH_OK;
    capsule->end = FTH_CONTAINER_MAGIC_BYTES;
    uint64_t at = capsule->end;
    for (; status == FTH_OK && part.type != FTH_CAPSULE_PART_END; at = part.next) {
        status = fth_container_skip(container, at, &part, error);
        if (status != FTH_OK)
            break;
        if (!capsule->has_info && part.type != FTH_CAPSULE_PART_INFO)
            status = damaged(capsule, at, "the first part does not describe the program", error);
        else if (part.type == FTH_CAPSULE_PART_TEXT)
            status = add_text(capsule, at, &part, error);
        else if (part.type == FTH_CAPSULE_PART_CHUNKS)
            status = add_chunks(capsule, at, &part, error);
        else
            status = add_description(capsule, at, &part, &content, error);
        if (part.type != FTH_CAPSULE_PART_END)
            capsule->end = part.next;
    }
    fth_buffer_fini(&content);
    /* The part at the end that is incomplete is the last one of a program that was killed. */
    if (status == FTH_UNAVAILABLE && index == 0)
        status = FTH_OK;
    else if (status == FTH_UNAVAILABLE ||
             (status == FTH_OK && index != 0 &&
              (capsule->end != index ||
               at + FTH_CONTAINER_TAIL_BYTES != fth_container_bytes(container))))
        status = damaged(capsule, at, "the capsule does not end after it", error);
    if (status == FTH_OK && !capsule->has_info)
        status =
            fth_fail(error, FTH_INVALID, fth_capsule_format.read, fth_container_path(container),
                     "the file ends before the description of the program; capture it again");
    return status;
}

/* ---- opening ---- */

bool fth_capsule_is(const char *path)
{
    char magic[FTH_CONTAINER_MAGIC_BYTES];
    struct stat info;
    int fd;
    /* A pipe must not even be opened: closing it would end the program that writes to it. */
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        fth_file_open_regular(path, &fd, NULL) != FTH_OK)
        return false;
    size_t size = 0;
    ssize_t got = 1;
    while (got > 0 && size < sizeof magic) {
        got = read(fd, magic + size, sizeof magic - size);
        if (got > 0)
            size += (size_t)got;
    }
    close(fd);
    return size == sizeof magic && memcmp(magic, FTH_CAPSULE_MAGIC, sizeof magic) == 0;
}

enum fth_status fth_capsule_attach(int fd, const char *name, struct fth_capsule **out,
                                   struct fth_error *error)
{
    *out = NULL;
    struct fth_capsule *capsule = calloc(1, sizeof *capsule);
    if (!capsule)
        return fth_no_memory(error, fth_capsule_format.read, name);
    capsule->memory = MAX_MEMORY_BYTES;
    capsule->description = MAX_DESCRIPTION_BYTES;
    enum fth_status status =
        fth_container_attach(&fth_capsule_format, fd, name, &capsule->container, error);
    if (status == FTH_OK)
        status = fth_chunk_cache_create(capsule->container, &capsule->cache, error);
    if (status == FTH_OK)
        status = scan(capsule, error);
    if (status == FTH_OK)
        *out = capsule;
    else
        fth_capsule_close(capsule);
    return status;
}

enum fth_status fth_capsule_open(const char *path, struct fth_capsule **out,
                                 struct fth_error *error)
{
    int fd;
    *out = NULL;
    FTH_TRY(fth_file_open_regular(path, &fd, error));
    enum fth_status status = fth_capsule_attach(fd, path, out, error);
    close(fd);
    return status;
}

void fth_capsule_close(struct fth_capsule *capsule)
{
    if (!capsule)
        return;
    fth_chunk_cache_destroy(capsule->cache);
    fth_container_close(capsule->container);
    fth_chunk_lists_fini(&capsule->lists);
    fth_arena_fini(&capsule->arena);
    free(capsule->modules);
    free(capsule->texts);
    free(capsule->chunks);
    free(capsule->images);
    free(capsule->image_bytes);
    free(capsule->launches);
    free(capsule);
}

/* ---- contents ---- */

const struct fth_capsule_info *fth_capsule_info(const struct fth_capsule *capsule)
{
    return &capsule->info;
}

bool fth_capsule_is_truncated(const struct fth_capsule *capsule)
{
    return fth_container_index(capsule->container) == 0;
}

uint64_t fth_capsule_end(const struct fth_capsule *capsule)
{
    return capsule->end;
}

const struct fth_capsule_scope *fth_capsule_scope(const struct fth_capsule *capsule)
{
    return &capsule->scope;
}

uint32_t fth_capsule_module_count(const struct fth_capsule *capsule)
{
    return capsule->scope.module_count;
}

const struct fth_capsule_module *fth_capsule_module(const struct fth_capsule *capsule,
                                                    uint32_t number)
{
    return number && number <= capsule->scope.module_count ? &capsule->modules[number - 1].module
                                                           : NULL;
}

enum fth_status fth_capsule_load_ptx(const struct fth_capsule *capsule, uint32_t number,
                                     struct fth_buffer *ptx, struct fth_error *error)
{
    const char *path = fth_container_path(capsule->container);
    if (!fth_capsule_module(capsule, number))
        return fth_fail(error, FTH_NOT_FOUND, fth_capsule_format.read, path,
                        "there is no module %u", (unsigned)number);
    const struct fth_capsule_stored_module *module = &capsule->modules[number - 1];
    if (!module->text)
        return fth_fail(error, FTH_UNSUPPORTED, fth_capsule_format.read, path,
                        "module %u has no PTX: %s", (unsigned)number, module->module.reason);
    const struct text *text = &capsule->texts[module->text - 1];
    struct fth_buffer content = {0};
    uint32_t type = 0;
    uint64_t next;
    enum fth_status status =
        fth_container_get(capsule->container, text->offset, &type, &content, &next, error);
    if (status == FTH_UNAVAILABLE ||
        (status == FTH_OK && (type != FTH_CAPSULE_PART_TEXT || content.size != text->bytes)))
        status = damaged(capsule, text->offset, "it changed after the capsule was opened", error);
    if (status == FTH_OK)
        fth_buffer_append(ptx, content.data, content.size);
    fth_buffer_fini(&content);
    return status == FTH_OK && ptx->failed ? no_memory(capsule, error) : status;
}

size_t fth_capsule_launch_count(const struct fth_capsule *capsule)
{
    return capsule->launch_count;
}

const struct fth_capsule_launch *fth_capsule_launch(const struct fth_capsule *capsule, size_t index)
{
    return &capsule->launches[index];
}

uint64_t fth_capsule_image_bytes(const struct fth_capsule *capsule, uint32_t image)
{
    return image && image <= capsule->scope.image_count ? capsule->image_bytes[image - 1] : 0;
}

/* Finds the part with a chunk. */
static const struct chunks *find_chunk(const struct fth_capsule *capsule, uint32_t chunk)
{
    size_t low = 0, high = capsule->chunks_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (capsule->chunks[middle].first <= chunk)
            low = middle;
        else
            high = middle;
    }
    return &capsule->chunks[low];
}

enum fth_status fth_capsule_read_image(struct fth_capsule *capsule, uint32_t image, uint64_t offset,
                                       uint64_t bytes, void *data, struct fth_error *error)
{
    const uint64_t size = fth_capsule_image_bytes(capsule, image);
    if (image == 0 || image > capsule->scope.image_count || offset > size || bytes > size - offset)
        return fth_fail(error, FTH_INVALID, fth_capsule_format.read,
                        fth_container_path(capsule->container),
                        "image %u does not have %llu bytes at byte %llu", (unsigned)image,
                        (unsigned long long)bytes, (unsigned long long)offset);
    unsigned char *to = data;
    while (bytes > 0) {
        const size_t in_chunk = (size_t)(offset % FTH_CHUNK_BYTES);
        const size_t taken = (size_t)FTH_MIN(bytes, FTH_CHUNK_BYTES - in_chunk);
        const uint32_t chunk = fth_chunk_list_get(&capsule->lists, &capsule->images[image - 1],
                                                  offset / FTH_CHUNK_BYTES);
        if (chunk) {
            const struct chunks *part = find_chunk(capsule, chunk);
            FTH_TRY(fth_chunk_cache_read(
                capsule->cache, part->offset, (size_t)part->count * FTH_CHUNK_BYTES,
                (size_t)(chunk - part->first) * FTH_CHUNK_BYTES + in_chunk, to, taken, error));
        } else {
            memset(to, 0, taken);
        }
        to += taken;
        offset += taken;
        bytes -= taken;
    }
    return FTH_OK;
}
