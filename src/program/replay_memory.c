/* The memory of the launches of a capsule. Each region is at its address in the program, so that
 * pointers in memory stay valid. Variables are in the memory of their module. */
#include "program/replay_parts.h"
#include "ptx/async/tensor_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char operation[] = "replay launch";

/* Images are read in pieces of this size, in bytes. */
enum { PIECE_BYTES = 1 << 20 };
/* Regions from this size on are backed by mmap, which takes memory only for the pages that are
 * written. Chosen, not derived. */
#define MIN_MAPPING ((uint64_t)1 << 20)

enum fth_status fth_replay_memory_init(struct fth_replay_memory *memory, struct fth_error *error)
{
    memory->scratch = malloc(PIECE_BYTES);
    return memory->scratch ? FTH_OK : fth_no_memory(error, operation, NULL);
}

/* ---- blocks ---- */

static void free_block(const struct fth_replay_block *block)
{
    if (block->mapped_bytes)
        munmap(block->host, block->mapped_bytes);
    else
        free(block->host);
}

static bool allocate_block(struct fth_replay_block *block)
{
    if (block->bytes > SIZE_MAX / 2)
        return false;
    const size_t bytes = (size_t)block->bytes + 8; /* see fth_ptx_map */
    if (block->bytes < MIN_MAPPING) {
        block->host = calloc(1, bytes);
        block->mapped_bytes = 0;
    } else {
        void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        block->host = mapping == MAP_FAILED ? NULL : mapping;
        block->mapped_bytes = mapping == MAP_FAILED ? 0 : bytes;
    }
    block->is_known = true;
    block->image = 0;
    return block->host != NULL;
}

void fth_replay_memory_leave(struct fth_replay_memory *memory)
{
    while (memory->mapped)
        if (fth_ptx_free(fth_session_machine(memory->session),
                         memory->blocks[--memory->mapped].address, NULL) != FTH_OK)
            return; /* cannot happen: the block was mapped there */
}

void fth_replay_memory_fini(struct fth_replay_memory *memory)
{
    fth_replay_memory_leave(memory);
    for (size_t i = 0; i < memory->count; i++)
        free_block(&memory->blocks[i]);
    free(memory->blocks);
    free(memory->scratch);
}

/* Finds the variable of a region in the PTX. Returns false if the region is no variable, or if the
 * PTX does not have it. */
static bool find_variable(const struct fth_capsule_region *region,
                          const struct fth_session_module *module, uint64_t *address,
                          uint64_t *bytes)
{
    return region->kind == FTH_CAPSULE_VARIABLE && region->variable &&
           fth_session_variable(module, region->variable, address, bytes);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct fth_replay_block *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Lists the regions of a launch, sorted by address, without those that are variables. The caller
 * frees *out. */
static enum fth_status list_blocks(const struct fth_capsule_launch *launch,
                                   const struct fth_session_module *module,
                                   struct fth_replay_block **out, size_t *count,
                                   struct fth_error *error)
{
    struct fth_replay_block *blocks = calloc(launch->region_count + 1, sizeof *blocks);
    *out = blocks;
    *count = 0;
    if (!blocks)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        uint64_t address, bytes;
        if (region->bytes && !find_variable(region, module, &address, &bytes))
            blocks[(*count)++] =
                (struct fth_replay_block){.address = region->address, .bytes = region->bytes};
    }
    qsort(blocks, *count, sizeof *blocks, compare_blocks);
    return FTH_OK;
}

/* Replaces the blocks of the last launch by those of this one. Those that both have are kept, the
 * others are freed before new ones are allocated. */
static enum fth_status change_blocks(struct fth_replay_memory *memory,
                                     struct fth_replay_block *blocks, size_t count,
                                     struct fth_error *error)
{
    size_t at = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct fth_replay_block *old = &memory->blocks[i];
        while (at < count && compare_blocks(&blocks[at], old) < 0)
            at++;
        if (at < count && compare_blocks(&blocks[at], old) == 0)
            blocks[at++] = *old;
        else
            free_block(old);
    }
    free(memory->blocks);
    memory->blocks = blocks;
    memory->count = count;
    for (size_t i = 0; i < count; i++)
        if (!blocks[i].host && !allocate_block(&blocks[i])) {
            char text[32];
            if (blocks[i].bytes < MIN_MAPPING)
                return fth_no_memory(error, operation, NULL);
            return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                            "this machine cannot provide the %s of memory at 0x%llx",
                            fth_size_format((double)blocks[i].bytes, text, sizeof text),
                            (unsigned long long)blocks[i].address);
        }
    return FTH_OK;
}

static struct fth_replay_block *find_block(const struct fth_replay_memory *memory,
                                           const struct fth_capsule_region *region)
{
    const struct fth_replay_block key = {.address = region->address, .bytes = region->bytes};
    return memory->count ? bsearch(&key, memory->blocks, memory->count, sizeof key, compare_blocks)
                         : NULL;
}

unsigned char *fth_replay_memory_host(const struct fth_replay_memory *memory,
                                      const struct fth_capsule_region *region,
                                      const struct fth_session_module *module)
{
    uint64_t address, bytes;
    if (find_variable(region, module, &address, &bytes))
        return fth_ptx_host(fth_session_machine(memory->session), address, region->bytes);
    const struct fth_replay_block *block = find_block(memory, region);
    return block ? block->host : NULL;
}

/* ---- contents ---- */

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Copies an image to `host`. `is_fresh`: the memory has zeros, and pages that stay zero are not
 * written. */
static enum fth_status copy_image(struct fth_replay_memory *memory, uint32_t image, uint64_t bytes,
                                  unsigned char *host, bool is_fresh, struct fth_error *error)
{
    for (uint64_t at = 0; at < bytes; at += PIECE_BYTES) {
        const size_t size = (size_t)FTH_MIN(bytes - at, (uint64_t)PIECE_BYTES);
        unsigned char *to = is_fresh ? memory->scratch : host + at;
        FTH_TRY(fth_capsule_read_image(memory->capsule, image, at, size, to, error));
        for (size_t i = 0; is_fresh && i < size; i += FTH_CHUNK_BYTES) {
            const size_t part = FTH_MIN(size - i, (size_t)FTH_CHUNK_BYTES);
            if (!is_zero(memory->scratch + i, part))
                memcpy(host + at + i, memory->scratch + i, part);
        }
    }
    return FTH_OK;
}

/* Fills a block with what the region contained before the launch. */
static enum fth_status fill_block(struct fth_replay_memory *memory, struct fth_replay_block *block,
                                  uint32_t image, struct fth_error *error)
{
    if (block->is_known && block->image == image)
        return FTH_OK;
    if (image == 0) {
        free_block(block);
        block->host = NULL;
        block->mapped_bytes = 0;
        return allocate_block(block) ? FTH_OK : fth_no_memory(error, operation, NULL);
    }
    const bool is_fresh = block->is_known && block->image == 0;
    block->is_known = false;
    FTH_TRY(copy_image(memory, image, block->bytes, block->host, is_fresh, error));
    block->is_known = true;
    block->image = image;
    return FTH_OK;
}

/* Fills the memory of a region, which is a block or a variable. A variable that was not captured
 * keeps the initial contents that the PTX states. */
static enum fth_status fill_region(struct fth_replay_memory *memory,
                                   const struct fth_capsule_region *region,
                                   const struct fth_session_module *module, struct fth_error *error)
{
    uint64_t address, bytes;
    if (region->bytes == 0)
        return FTH_OK;
    const uint64_t stored =
        region->before ? fth_capsule_image_bytes(memory->capsule, region->before) : region->bytes;
    if (stored != region->bytes)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the capsule has %llu bytes of the %llu at 0x%llx",
                        (unsigned long long)stored, (unsigned long long)region->bytes,
                        (unsigned long long)region->address);
    if (!find_variable(region, module, &address, &bytes))
        return fill_block(memory, find_block(memory, region), region->before, error);
    if (bytes < region->bytes)
        return fth_fail(error, FTH_INVALID, operation, region->variable,
                        "the variable has %llu bytes in the PTX, but %llu in the program",
                        (unsigned long long)bytes, (unsigned long long)region->bytes);
    unsigned char *host = fth_ptx_host(fth_session_machine(memory->session), address, bytes);
    return region->before ? copy_image(memory, region->before, region->bytes, host, false, error)
                          : FTH_OK;
}

/* Checks that the images of a launch do not exceed the limit. Other regions take memory only where
 * the kernel writes. */
static enum fth_status check_size(const struct fth_replay_memory *memory,
                                  const struct fth_capsule_launch *launch, struct fth_error *error)
{
    uint64_t left = memory->max_bytes;
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        if (region->before && region->bytes > left) {
            char text[32];
            return fth_fail(error, FTH_UNAVAILABLE, operation, NULL,
                            "the launch accesses more than %s of memory; set --max-memory to "
                            "replay it nevertheless",
                            fth_size_format((double)memory->max_bytes, text, sizeof text));
        }
        left -= region->before ? region->bytes : 0;
    }
    return FTH_OK;
}

enum fth_status fth_replay_memory_enter(struct fth_replay_memory *memory,
                                        const struct fth_capsule_launch *launch,
                                        const struct fth_session_module *module,
                                        struct fth_error *error)
{
    struct fth_replay_block *blocks;
    size_t count;
    FTH_TRY(check_size(memory, launch, error));
    FTH_TRY(list_blocks(launch, module, &blocks, &count, error));
    FTH_TRY(change_blocks(memory, blocks, count, error));
    for (size_t i = 0; i < launch->region_count; i++)
        FTH_TRY(fill_region(memory, &launch->regions[i], module, error));
    for (; memory->mapped < count; memory->mapped++) {
        struct fth_replay_block *block = &blocks[memory->mapped];
        block->is_known = false; /* the kernel can change it from now on */
        FTH_TRY(fth_ptx_map(fth_session_machine(memory->session), block->host, block->bytes,
                            block->address, error));
    }
    return FTH_OK;
}

/* Notes which image a block has after a launch. The tensor maps of a block are not those of the
 * image. */
static void set_contents(const struct fth_replay_memory *memory,
                         const struct fth_capsule_launch *launch, size_t index, uint32_t image)
{
    struct fth_replay_block *block = find_block(memory, &launch->regions[index]);
    for (size_t i = 0; i < launch->tensor_map_count; i++)
        if (launch->tensor_maps[i].region == index)
            return;
    if (block) {
        block->is_known = true;
        block->image = image;
    }
}

void fth_replay_memory_keep(struct fth_replay_memory *memory,
                            const struct fth_capsule_launch *launch)
{
    for (size_t i = 0; i < launch->region_count; i++)
        if (launch->regions[i].before && launch->regions[i].after == launch->regions[i].before)
            set_contents(memory, launch, i, launch->regions[i].before);
}

enum fth_status fth_replay_lacks_data(struct fth_replay_memory *memory,
                                      const struct fth_capsule_launch *captured,
                                      const struct fth_session_launch *launch, bool *lacks,
                                      struct fth_error *error)
{
    bool is_planned = false;
    *lacks = false;
    for (size_t i = 0; i < captured->region_count && !*lacks; i++) {
        const struct fth_capsule_region *region = &captured->regions[i];
        uint64_t address = region->address, bytes;
        if (region->before || region->bytes == 0)
            continue;
        if (!is_planned)
            FTH_TRY(fth_session_plan(memory->session, launch, error));
        is_planned = true;
        (void)find_variable(region, launch->module, &address, &bytes);
        *lacks = fth_ptx_is_needed(fth_session_machine(memory->session), address);
    }
    return FTH_OK;
}

/* ---- comparison ---- */

/* Returns whether a byte of a region belongs to a tensor map, whose encoding on a GPU differs. The
 * program can have written the map before the launch, or the kernel has made it. */
static bool is_tensor_map(const struct fth_capsule_launch *launch, size_t index,
                          const unsigned char *host, uint64_t offset)
{
    const struct fth_capsule_region *region = &launch->regions[index];
    for (size_t i = 0; i < launch->tensor_map_count; i++)
        if (launch->tensor_maps[i].region == index &&
            offset - launch->tensor_maps[i].offset < FTH_TENSOR_MAP_BYTES)
            return true;
    const uint64_t in_unit = (region->address + offset) % FTH_TENSOR_MAP_ALIGNMENT;
    for (uint64_t before = in_unit; before <= offset && before < FTH_TENSOR_MAP_BYTES;
         before += FTH_TENSOR_MAP_ALIGNMENT) {
        struct fth_ptx_tensor_map map;
        if (region->bytes - (offset - before) >= FTH_TENSOR_MAP_BYTES &&
            fth_ptx_tensor_map_decode(host + offset - before, &map, NULL) == FTH_OK)
            return true;
    }
    return false;
}

/* Compares the memory of a region with its image after the launch. */
static enum fth_status compare_region(struct fth_replay_memory *memory,
                                      const struct fth_capsule_launch *launch, size_t index,
                                      const unsigned char *host,
                                      struct fth_replay_difference *difference,
                                      struct fth_error *error)
{
    const struct fth_capsule_region *region = &launch->regions[index];
    for (uint64_t at = 0; at < region->bytes; at += PIECE_BYTES) {
        const size_t size = (size_t)FTH_MIN(region->bytes - at, (uint64_t)PIECE_BYTES);
        FTH_TRY(fth_capsule_read_image(memory->capsule, region->after, at, size, memory->scratch,
                                       error));
        if (memcmp(memory->scratch, host + at, size) == 0)
            continue;
        for (size_t i = 0; i < size; i++) {
            if (memory->scratch[i] == host[at + i] || is_tensor_map(launch, index, host, at + i))
                continue;
            if (difference->bytes++ == 0) {
                difference->first = region->address + at + i;
                difference->region = region;
            }
        }
    }
    return FTH_OK;
}

enum fth_status fth_replay_memory_compare(struct fth_replay_memory *memory,
                                          const struct fth_capsule_launch *launch,
                                          const struct fth_session_module *module,
                                          struct fth_replay_difference *difference,
                                          struct fth_error *error)
{
    *difference = (struct fth_replay_difference){0};
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        const unsigned char *host = fth_replay_memory_host(memory, region, module);
        const uint64_t before = difference->bytes;
        if (!region->after || region->bytes == 0 || !host ||
            fth_capsule_image_bytes(memory->capsule, region->after) != region->bytes)
            continue;
        FTH_TRY(compare_region(memory, launch, i, host, difference, error));
        difference->compared++;
        /* The next launch probably begins with this image. */
        if (before == difference->bytes)
            set_contents(memory, launch, i, region->after);
    }
    return FTH_OK;
}
