/* The memory of a session: blocks of the GPU's memory, and of host memory that kernels can access.
 */
#include "program/session_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char operation[] = "allocate memory";

/* Pinned and managed memory begins at multiples of this many bytes, with a gap of at least as many
 * between two blocks. It is a multiple of the page size of every host. */
#define HOST_ALIGN ((uint64_t)64 << 10)

/* Returns the pointer with this address. */
static void *pointer_to(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

/* Returns the index of the first block that begins above the address. */
static size_t upper_bound(const struct fth_session *session, uint64_t address)
{
    size_t low = 0, high = session->block_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (session->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum fth_status reserve_block(struct fth_session *session, struct fth_error *error)
{
    void *blocks = session->blocks;
    if (!fth_grow(&blocks, session->block_count, &session->block_capacity, sizeof *session->blocks))
        return fth_no_memory(error, operation, NULL);
    session->blocks = blocks;
    return FTH_OK;
}

/* Adds a block, for which there is space. */
static void add_block(struct fth_session *session, const struct fth_session_block *block)
{
    const size_t at = upper_bound(session, block->address);
    memmove(session->blocks + at + 1, session->blocks + at,
            (session->block_count - at) * sizeof *session->blocks);
    session->blocks[at] = *block;
    session->block_count++;
}

/* Allocates host memory at the next fixed address. If other memory is there, the address is the
 * next free one. */
static void *map_host_memory(struct fth_session *session, uint64_t bytes)
{
    enum { ATTEMPTS = 64 };
    const uint64_t space = (bytes + 2 * HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN;
    for (int i = 0; i < ATTEMPTS; i++, session->next_host += space) {
        void *wanted = pointer_to(session->next_host);
        void *got = mmap(wanted, (size_t)bytes + 8, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED)
            return NULL;
        if (got == wanted) {
            session->next_host += space + HOST_ALIGN;
            return got;
        }
        munmap(got, (size_t)bytes + 8);
    }
    return NULL;
}

static enum fth_status alloc_host(struct fth_session *session, enum fth_session_memory kind,
                                  uint64_t bytes, uint64_t *address, struct fth_error *error)
{
    void *host = bytes <= SIZE_MAX / 2 ? map_host_memory(session, bytes) : NULL;
    if (!host)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status =
        fth_ptx_map(session->memory, host, bytes, (uint64_t)(uintptr_t)host, error);
    if (status != FTH_OK) {
        munmap(host, (size_t)bytes + 8);
        return status;
    }
    *address = (uint64_t)(uintptr_t)host;
    add_block(session, &(struct fth_session_block){*address, bytes, kind, host, NULL});
    return FTH_OK;
}

enum fth_status fth_session_alloc(struct fth_session *session, enum fth_session_memory kind,
                                  uint64_t bytes, uint64_t *address, struct fth_error *error)
{
    *address = 0;
    if (bytes == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL, "the size must not be 0");
    FTH_TRY(reserve_block(session, error));
    if (kind != FTH_MEMORY_DEVICE)
        return alloc_host(session, kind, bytes, address, error);
    FTH_TRY(fth_ptx_alloc(session->memory, bytes, address, error));
    add_block(session,
              &(struct fth_session_block){*address, bytes, kind,
                                          fth_ptx_host(session->memory, *address, bytes), NULL});
    return FTH_OK;
}

enum fth_status fth_session_register(struct fth_session *session, void *host, uint64_t bytes,
                                     struct fth_error *error)
{
    const uint64_t address = (uint64_t)(uintptr_t)host;
    FTH_TRY(reserve_block(session, error));
    FTH_TRY(fth_ptx_map(session->memory, host, bytes, address, error));
    add_block(session,
              &(struct fth_session_block){address, bytes, FTH_MEMORY_REGISTERED, host, NULL});
    return FTH_OK;
}

enum fth_status fth_session_free(struct fth_session *session, uint64_t address, unsigned kinds,
                                 struct fth_error *error)
{
    const size_t next = upper_bound(session, address);
    struct fth_session_block *block = next ? &session->blocks[next - 1] : NULL;
    if (!block || block->address != address || !(kinds >> block->kind & 1))
        return fth_fail(error, FTH_INVALID, "free memory", NULL,
                        "0x%llx is not the address of an allocation", (unsigned long long)address);
    FTH_TRY(fth_ptx_free(session->memory, address, error));
    if (block->kind != FTH_MEMORY_DEVICE && block->kind != FTH_MEMORY_REGISTERED)
        munmap(block->host, (size_t)block->bytes + 8);
    session->block_count--;
    memmove(block, block + 1, (session->block_count - (next - 1)) * sizeof *block);
    return FTH_OK;
}

void fth_session_set_owner(struct fth_session *session, uint64_t address, const void *owner)
{
    const size_t next = upper_bound(session, address);
    if (next && session->blocks[next - 1].address == address)
        session->blocks[next - 1].owner = owner;
}

void fth_session_free_owned(struct fth_session *session, const void *owner)
{
    for (size_t i = session->block_count; i-- > 0;) {
        const struct fth_session_block block = session->blocks[i];
        if (block.owner == owner &&
            fth_session_free(session, block.address, 1u << block.kind, NULL) != FTH_OK)
            return; /* cannot happen: the block exists */
    }
}

bool fth_session_find(const struct fth_session *session, uint64_t address,
                      struct fth_session_block *block)
{
    const size_t next = upper_bound(session, address);
    if (next == 0 || address - session->blocks[next - 1].address >= session->blocks[next - 1].bytes)
        return false;
    *block = session->blocks[next - 1];
    return true;
}

bool fth_session_is_device(uint64_t address)
{
    return address >= FTH_SESSION_BASE && address < FTH_SESSION_END;
}

void *fth_session_host(const struct fth_session *session, uint64_t address, uint64_t bytes)
{
    void *host = fth_ptx_host(session->memory, address, bytes);
    return host || fth_session_is_device(address) ? host : pointer_to(address);
}

uint64_t fth_session_free_bytes(const struct fth_session *session)
{
    return fth_ptx_free_bytes(session->memory);
}
