/* Does a program free all that it allocates? This library is loaded before others into the programs
 * of the tests, notes every block of memory that is given out and taken back, and at the end makes
 * what is left a failure: exit code 23, as of LeakSanitizer.
 *
 * LeakSanitizer looks for blocks that nothing points to; here every block must have been freed. It
 * costs next to nothing, where LeakSanitizer takes 4 s a process on arm64: its allocator there goes
 * through 2^28 possible regions of the address space, four times (ForEachChunk of
 * SizeClassAllocator32, all but all of the time of an empty program). It is the one to ask where a
 * leak that was found here comes from, since it keeps stacks:
 * meson test -C build-sanitize --setup leaks NAME
 *
 * Shells and other people's tools get this library, too. Only programs of ours are looked at. */
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

/* The names that glibc has for its own, where others take their place. The last frees what glibc
 * itself keeps until the end. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);
void __libc_freeres(void);

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static const char *const ours[] = {"fathom", "test_*", "fuzz_*", "conformance", "levels"};

/* A block that is out, in a list of those with the same hash. */
struct block {
    const void *address;
    size_t bytes;
    const void *caller;
    struct block *next;
};

#define LIST_BITS 18
static struct block **lists; /* NULL: not a program of ours */
static struct block *spare;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block **list_of(const void *address)
{
    return &lists[(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LIST_BITS)];
}

/* Not from malloc, which is what is watched. */
static void *take_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    return pages;
}

static struct block *take_spare(void)
{
    const size_t count = 4096;
    if (!spare) {
        struct block *more = take_pages(count * sizeof *more);
        for (size_t i = 0; i < count; i++) {
            more[i].next = spare;
            spare = &more[i];
        }
    }
    struct block *block = spare;
    spare = block->next;
    return block;
}

static void *note(void *address, size_t bytes, const void *caller)
{
    if (!lists || !address)
        return address;
    pthread_mutex_lock(&lock);
    struct block *block = take_spare(), **list = list_of(address);
    *block = (struct block){address, bytes, caller, *list};
    *list = block;
    pthread_mutex_unlock(&lock);
    return address;
}

/* To be called before a block is given back: then another thread may get the same address. */
static void forget(const void *address)
{
    if (!lists || !address)
        return;
    pthread_mutex_lock(&lock);
    struct block **link = list_of(address);
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    struct block *block = *link;
    if (block) { /* else from before this library was there */
        *link = block->next;
        block->next = spare;
        spare = block;
    }
    pthread_mutex_unlock(&lock);
}

EXPORTED void *malloc(size_t bytes)
{
    return note(__libc_malloc(bytes), bytes, CALLER);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    return note(__libc_calloc(count, bytes), count * bytes, CALLER);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    forget(old);
    void *block = __libc_realloc(old, bytes);
    if (!block && bytes > 0) /* there was no memory: the old block stays */
        note(old, bytes, CALLER);
    return note(block, bytes, CALLER);
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    return note(__libc_memalign(alignment, bytes), bytes, CALLER);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return note(__libc_memalign(alignment, bytes), bytes, CALLER);
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = note(__libc_memalign(alignment, bytes), bytes, CALLER);
    if (block)
        *out = block;
    return block ? 0 : ENOMEM;
}

EXPORTED void free(void *block)
{
    forget(block);
    __libc_free(block);
}

/* The dynamic linker keeps what it knows of objects and threads. A driver keeps what it has of a
 * GPU that failed; and it is what is unloaded, after which an address is nobody's. */
static bool is_ours(const struct block *block, Dl_info *info)
{
    return dladdr(block->caller, info) && !strstr(info->dli_fname, "/ld-linux") &&
           !strstr(info->dli_fname, "/libcuda.so");
}

/* The last thing that happens in the program: it was the first that asked to be called then. */
static void look(int status, void *unused)
{
    (void)unused;
    fflush(NULL);
    __libc_freeres();
    size_t count = 0;
    for (size_t i = 0; i < (size_t)1 << LIST_BITS; i++)
        for (const struct block *block = lists[i]; block; block = block->next) {
            Dl_info info = {0};
            if (is_ours(block, &info) && count++ < 10)
                dprintf(STDERR_FILENO, "# leak: %zu bytes, allocated from %s+%#tx (%s)\n",
                        block->bytes, info.dli_fname,
                        (const char *)block->caller - (const char *)info.dli_fbase,
                        info.dli_sname ? info.dli_sname : "addr2line tells where");
        }
    if (count > 0)
        dprintf(STDERR_FILENO, "# leak: %zu blocks were not freed\n", count);
    _exit(count > 0 && status == 0 ? 23 : status);
}

__attribute__((constructor)) static void start(void)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours && !lists; i++)
        if (!fnmatch(ours[i], program_invocation_short_name, 0)) {
            lists = take_pages(sizeof(struct block *) << LIST_BITS);
            on_exit(look, NULL);
        }
}
