/* The lists of chunks of the images of a capsule.
 *
 * A program that runs for long has thousands of images of each of its regions, and most of them
 * differ from the image before in a few chunks. A list is therefore a tree with 64 entries per
 * node: an entry is the number of a child, or on the lowest level the number of a chunk. The list
 * of an image begins as that of its predecessor. To change an entry, the nodes on the path to it
 * are copied, unless the image owns them already; all others are shared. Reading an entry takes as
 * many steps as there are levels, at most four, however many predecessors an image has. */
#include "capsule/capsule_parts.h"

#include <stdlib.h>
#include <string.h>

/* Maximum memory of the nodes, in bytes: lists of 256 Mi chunks in all, if they share nothing.
 * Chosen: a capsule of that size has 16 TiB of contents. */
#define MAX_NODE_BYTES ((size_t)1 << 30)

struct fth_chunk_list fth_chunk_list_of_zeros(uint64_t bytes)
{
    struct fth_chunk_list list = {.bytes = bytes, .levels = 1};
    const uint64_t last = bytes ? fth_capsule_chunks_of(bytes) - 1 : 0;
    while (last >> (list.levels * FTH_LIST_NODE_BITS))
        list.levels++;
    return list;
}

uint32_t fth_chunk_list_get(const struct fth_chunk_lists *lists, const struct fth_chunk_list *list,
                            uint64_t index)
{
    uint32_t node = list->root;
    for (unsigned level = list->levels; level-- > 0 && node;)
        node =
            lists->nodes[node][index >> (level * FTH_LIST_NODE_BITS) & (FTH_LIST_NODE_ENTRIES - 1)];
    return node;
}

/* Copies a node; a copy of node 0 consists of zeros. Returns 0 on failure. */
static uint32_t copy_node(struct fth_chunk_lists *lists, uint32_t node,
                          struct fth_capsule_decoder *decoder)
{
    const size_t size = sizeof *lists->nodes;
    if (lists->count >= MAX_NODE_BYTES / size) {
        decoder->fault = "the lists of chunks up to here need more than 1 GiB of memory";
        decoder->bytes.failed = true;
        return 0;
    }
    if (!fth_grow((void **)&lists->nodes, lists->count + 1, &lists->capacity, size)) {
        decoder->bytes.failed = decoder->bytes.no_memory = true;
        return 0;
    }
    if (lists->count == 0) /* node 0 */
        memset(lists->nodes[lists->count++], 0, size);
    memcpy(lists->nodes[lists->count], lists->nodes[node], size);
    return (uint32_t)lists->count++;
}

/* Changes an entry. The nodes from `owned` on belong to this list alone. */
static void set(struct fth_chunk_lists *lists, struct fth_chunk_list *list, size_t owned,
                uint64_t index, uint32_t chunk, struct fth_capsule_decoder *decoder)
{
    if (fth_chunk_list_get(lists, list, index) == chunk)
        return;
    uint32_t above = 0;     /* the node above, 0: the list itself */
    size_t entry_above = 0; /* the entry of the node above that leads to the node */
    uint32_t node = list->root;
    for (unsigned level = list->levels; level-- > 0;) {
        if (node < owned || node == 0) {
            node = copy_node(lists, node, decoder);
            if (!node)
                return;
            if (above)
                lists->nodes[above][entry_above] = node;
            else
                list->root = node;
        }
        above = node;
        entry_above = index >> (level * FTH_LIST_NODE_BITS) & (FTH_LIST_NODE_ENTRIES - 1);
        node = lists->nodes[above][entry_above];
    }
    lists->nodes[above][entry_above] = chunk;
}

void fth_chunk_list_decode(struct fth_chunk_lists *lists, struct fth_chunk_list *list,
                           uint32_t chunk_count, struct fth_capsule_decoder *decoder)
{
    struct fth_bytes *bytes = &decoder->bytes;
    const uint64_t count = fth_capsule_chunks_of(list->bytes);
    const size_t owned = lists->count;
    uint64_t index = 0, chunk = 0;
    while (!bytes->failed && bytes->at < bytes->end) {
        const uint64_t skipped = fth_get_varint(bytes), changed = fth_get_varint(bytes);
        if (skipped > count - index || changed > count - index - skipped) {
            decoder->fault = "an image has too many chunks";
            bytes->failed = true;
        }
        index += skipped;
        for (uint64_t i = 0; !bytes->failed && i < changed; i++, index++) {
            /* Chunks mostly follow each other. */
            chunk += 1 + fth_unzigzag(fth_get_varint(bytes));
            if (!bytes->failed && chunk > chunk_count) {
                decoder->fault = "a chunk does not exist";
                bytes->failed = true;
            }
            if (!bytes->failed)
                set(lists, list, owned, index, (uint32_t)chunk, decoder);
        }
    }
}

void fth_chunk_lists_fini(struct fth_chunk_lists *lists)
{
    free(lists->nodes);
    *lists = (struct fth_chunk_lists){0};
}
