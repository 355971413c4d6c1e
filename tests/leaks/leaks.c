/* A library that checks whether a program frees all memory that it allocates. The tests load it
 * into every program with LD_PRELOAD. It replaces malloc, free and the like, and records every
 * block that is allocated. If blocks are left when the program exits, it prints them and changes
 * the exit code from 0 to 23, which LeakSanitizer uses, too.
 *
 * LeakSanitizer only reports blocks that nothing points to; this library requires every block to be
 * freed. It takes nearly no time, whereas LeakSanitizer takes 4 s per process on arm64. Its
 * allocator there visits 2^28 possible regions of the address space four times (ForEachChunk of
 * SizeClassAllocator32), which is nearly all of the run time of an empty program. To find the
 * origin of a leak, use LeakSanitizer nevertheless, since it records call stacks: meson test -C
 * build-sanitize --setup leaks NAME
 *
 * Shells and other tools that the tests start load this library, too. It only checks the programs
 * of this project. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own allocation functions, under the names that stay available when a library replaces
 * malloc and the others. __libc_freeres frees the memory that glibc itself keeps until exit. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);
void __libc_freeres(void);

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static const char *const watched_programs[] = {"fathom", "test_*", "fuzz_*", "conformance",
                                               "levels"};

/* The record of an allocated block, in the list of the blocks with the same hash. */
struct block {
    const void *address;
    size_t bytes;
    const void *caller;
    struct block *next;
};

#define LIST_BITS 18         /* log2 of the number of lists */
static struct block **lists; /* NULL: this program is not checked */
static struct block *spare;  /* unused records */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block **list_of(const void *address)
{
    return &lists[(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LIST_BITS)];
}

/* Returns zeroed memory that does not come from malloc, which would record it. */
static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    return pages;
}

static struct block *take_record(void)
{
    const size_t count = 4096;
    if (!spare) {
        struct block *more = map_pages(count * sizeof *more);
        for (size_t i = 0; i < count; i++) {
            more[i].next = spare;
            spare = &more[i];
        }
    }
    struct block *block = spare;
    spare = block->next;
    return block;
}

static void *record(void *address, size_t bytes, const void *caller)
{
    if (!lists || !address)
        return address;
    pthread_mutex_lock(&lock);
    struct block *block = take_record(), **list = list_of(address);
    *block = (struct block){address, bytes, caller, *list};
    *list = block;
    pthread_mutex_unlock(&lock);
    return address;
}

/* Must be called before the block is freed: afterwards, another thread can get the same address. */
static void forget_block(const void *address)
{
    if (!lists || !address)
        return;
    pthread_mutex_lock(&lock);
    struct block **link = list_of(address);
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    struct block *block = *link;
    if (block) { /* NULL: allocated before this library was initialised */
        *link = block->next;
        block->next = spare;
        spare = block;
    }
    pthread_mutex_unlock(&lock);
}

EXPORTED void *malloc(size_t bytes)
{
    return record(__libc_malloc(bytes), bytes, CALLER);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    return record(__libc_calloc(count, bytes), count * bytes, CALLER);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    forget_block(old);
    void *block = __libc_realloc(old, bytes);
    if (!block && bytes > 0) /* out of memory: the old block still exists */
        record(old, bytes, CALLER);
    return record(block, bytes, CALLER);
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    return record(__libc_memalign(alignment, bytes), bytes, CALLER);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return record(__libc_memalign(alignment, bytes), bytes, CALLER);
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = record(__libc_memalign(alignment, bytes), bytes, CALLER);
    if (block)
        *out = block;
    return block ? 0 : ENOMEM;
}

EXPORTED void free(void *block)
{
    forget_block(block);
    __libc_free(block);
}

/* Returns whether a block that was not freed is a leak, and sets *info to the place of its
 * allocation. Blocks of the dynamic linker are not: it keeps its data about objects and threads.
 * Nor are blocks of the driver, which keeps the resources of a GPU that failed. Blocks of a library
 * that was unloaded are ignored, too: dladdr does not know their callers. */
static bool is_leak(const struct block *block, Dl_info *info)
{
    return dladdr(block->caller, info) && !strstr(info->dli_fname, "/ld-linux") &&
           !strstr(info->dli_fname, "/libcuda.so");
}

/* Reports all leaks. It runs after every other exit handler, because it was registered first. */
static void report_leaks(int status, void *unused)
{
    (void)unused;
    fflush(NULL);
    __libc_freeres();
    size_t count = 0;
    for (size_t i = 0; i < (size_t)1 << LIST_BITS; i++)
        for (const struct block *block = lists[i]; block; block = block->next) {
            Dl_info info = {0};
            if (is_leak(block, &info) && count++ < 10)
                dprintf(STDERR_FILENO, "# leak: %zu bytes, allocated from %s+%#tx (%s)\n",
                        block->bytes, info.dli_fname,
                        (const char *)block->caller - (const char *)info.dli_fbase,
                        info.dli_sname ? info.dli_sname : "use addr2line");
        }
    if (count > 0)
        dprintf(STDERR_FILENO, "# leak: %zu blocks were not freed\n", count);
    _exit(count > 0 && status == 0 ? 23 : status);
}

__attribute__((constructor)) static void start(void)
{
    for (size_t i = 0; i < sizeof watched_programs / sizeof *watched_programs && !lists; i++)
        if (!fnmatch(watched_programs[i], program_invocation_short_name, 0)) {
            lists = map_pages(sizeof(struct block *) << LIST_BITS);
            on_exit(report_leaks, NULL);
        }
}
