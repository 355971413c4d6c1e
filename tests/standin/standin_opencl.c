/* A stand-in for libOpenCL.so.1, with devices that execute fathom's kernels fth_facts, fth_pace,
 * fth_chase, fth_place, fth_share and fth_fetch in C. The environment variable
 * FATHOM_STANDIN_OPENCL, which is read at every call, selects how it behaves:
 *
 *   none (the default)   no platform
 *   empty                a platform without devices
 *   one                  a GPU of AMD
 *   tiny                 a GPU of AMD with 1 MiB of memory
 *   cpu                  a CPU
 *   nvidia               a GPU of NVIDIA, whose links count from ORIGIN; every other buffer that
 *                        holds chains cannot be used
 *   two                  two platforms: the first has two GPUs of AMD, the second has a CPU
 *   broken               clGetPlatformIDs fails
 *   busy                 contexts cannot be created: CL_DEVICE_NOT_AVAILABLE
 *   build                programs do not compile
 *   plain                an AMD GPU whose compiler does not accept AMD's instructions
 *   no-memory:BYTES      buffers of more than this cannot be created (default: 1 MiB)
 *   lost:N               like tiny; kernel N (default: 1) fails, and so does every later one
 *   hang                 fth_chase never ends; a call that would wait for it forever aborts
 *   stopped              the clock does not advance
 *   apart:N              two units never execute work-groups at the same time; with a number, they
 *                        do so from the N-th fth_share on, before which a work-group moves
 *
 * A GPU has a clock of core cycles at 1 GHz, an addition takes 4 cycles, and it has loads past the
 * first cache. A CPU runs at 2 GHz; its clock ticks every 8 cycles. Both have one cache: 64 lines
 * of 64 bytes with LRU replacement. A hit takes 4 cycles, a miss 100. A kernel takes 1 us more than
 * its cycles. Work-group i runs on unit i modulo the number of compute units: 60 of a GPU, which
 * has two XCDs with two shader arrays each, and 4 of a CPU. Units 2 i and 2 i + 1 of a shader array
 * or a CPU share the cache. Code takes a cycle per 4 bytes, and two if it has more than 4 KiB. */
#include "standin.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define API(type, name, ...)                                                                       \
    EXPORT type name(__VA_ARGS__);                                                                 \
    type name(__VA_ARGS__)

enum {
    NOT_FOUND = -1,
    NOT_AVAILABLE = -2,
    ALLOCATION_FAILURE = -4,
    OUT_OF_RESOURCES = -5,
    OUT_OF_HOST_MEMORY = -6,
    BUILD_FAILURE = -11,
    INVALID_VALUE = -30,
    INVALID_KERNEL_NAME = -46,
    NO_PLATFORM = -1001
};
enum { LINES = 64, LINE_BYTES = 64, HIT_CYCLES = 4, MISS_CYCLES = 100, TICK_CYCLES = 8 };
enum { MAX_ARGUMENTS = 8, LAUNCH_NS = 1000, ORIGIN = 0x12340 };

struct device {
    const char *name, *vendor;
    bool cpu;
};
static const struct device devices[] = {
    {"gfx-stand-in", "Advanced Micro Devices, Inc.", false},
    {"gfx-stand-in-2", "Advanced Micro Devices, Inc.", false},
    {"  Stand-in CPU ", "GenuineIntel", true},
    {"RTX stand-in", "NVIDIA Corporation", false},
};
static const char *const platforms[] = {"Stand-in GPUs", "Stand-in CPUs"};

/* Objects. A context, a queue and a program only know their device. */
struct object {
    const struct device *device;
    bool refused; /* a program that does not compile */
};
struct buffer {
    struct object object;
    unsigned char *data;
    bool own;
};
struct kernel {
    struct object object;
    char name[32];
    unsigned char arguments[MAX_ARGUMENTS][8];
};
struct event {
    int status;
    uint64_t ns;
};
static uint64_t now_ns = 1000000; /* of the devices */
static unsigned long long launches;
static bool hung; /* a kernel of the last context does not end */

static bool opencl_mode_is(const char *mode, unsigned long long *argument)
{
    const char *chosen = getenv("FATHOM_STANDIN_OPENCL");
    size_t size = strlen(mode);
    chosen = chosen ? chosen : "none";
    if (strncmp(chosen, mode, size) != 0 || (chosen[size] && chosen[size] != ':'))
        return false;
    if (chosen[size] && argument)
        *argument = strtoull(chosen + size + 1, NULL, 10);
    return true;
}

/* Memory for objects. A device that hangs is not released, so that its objects must not count as
 * leaks: they are in a block of their own, and their contents are mapped. */
static _Alignas(16) unsigned char abandoned[1 << 20];
static size_t abandoned_bytes;

static void *allocate(size_t size)
{
    if (!opencl_mode_is("hang", NULL))
        return standin_unchecked(calloc(1, size));
    size = (size + 15) / 16 * 16;
    if (size > sizeof abandoned - abandoned_bytes) {
        void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    abandoned_bytes += size;
    return abandoned + abandoned_bytes - size;
}

static void release_memory(void *memory)
{
    if (!opencl_mode_is("hang", NULL))
        free(memory);
}

/* ---- platforms and devices ---- */

API(int, clGetPlatformIDs, unsigned count, void **ids, unsigned *found)
{
    unsigned all = opencl_mode_is("two", NULL) ? 2 : 1;
    if (opencl_mode_is("none", NULL))
        return NO_PLATFORM;
    if (opencl_mode_is("broken", NULL))
        return OUT_OF_RESOURCES;
    for (unsigned i = 0; i < all && i < count; i++)
        ids[i] = (void *)&platforms[i];
    *found = all;
    return 0;
}

static int give(const void *value, size_t bytes, size_t size, void *out, size_t *needed)
{
    if (needed)
        *needed = bytes;
    if (out && size < bytes)
        return INVALID_VALUE;
    if (out)
        memcpy(out, value, bytes);
    return 0;
}

static int give_text(const char *text, size_t size, void *out, size_t *needed)
{
    return give(text, strlen(text) + 1, size, out, needed);
}

API(int, clGetPlatformInfo, void *platform, unsigned what, size_t size, void *out, size_t *needed)
{
    (void)what;
    return give_text(*(const char *const *)platform, size, out, needed);
}

API(int, clGetDeviceIDs, void *platform, uint64_t type, unsigned count, void **ids, unsigned *found)
{
    (void)type;
    unsigned first = 0, all = 1;
    if (opencl_mode_is("empty", NULL))
        return NOT_FOUND;
    if (opencl_mode_is("cpu", NULL) || platform == (void *)&platforms[1])
        first = 2;
    else if (opencl_mode_is("nvidia", NULL))
        first = 3;
    else if (opencl_mode_is("two", NULL))
        all = 2;
    for (unsigned i = 0; i < all && i < count; i++)
        ids[i] = (void *)&devices[first + i];
    *found = all;
    return 0;
}

API(int, clGetDeviceInfo, void *id, unsigned what, size_t size, void *out, size_t *needed)
{
    const struct device *device = id;
    const bool tiny = opencl_mode_is("tiny", NULL) || opencl_mode_is("lost", NULL);
    const struct {
        unsigned what;
        uint64_t number;
        size_t bytes;
    } numbers[] = {
        {0x1000, device->cpu ? 2 : 4, 8},
        {0x1002, device->cpu ? 4 : 60, 4},
        {0x1004, 256, 8},
        {0x100C, 1000, 4},
        {0x1010, UINT64_C(1) << 30, 8},
        {0x1016, 1, 4},
        {0x1040, 65536, 8},
        {0x101F, UINT64_C(4) << (tiny ? 18 : 30), 8},
        {0x1020, 65536, 8},
        {0x1023, 65536, 8},
        {0x4043, 64, 4},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].what == what)
            return give(&numbers[i].number, numbers[i].bytes, size, out, needed);
    switch (what) {
    case 0x102B: return give_text(device->name, size, out, needed);
    case 0x102C: return give_text(device->vendor, size, out, needed);
    case 0x102D: return give_text("1.0", size, out, needed);
    case 0x102F: return give_text("OpenCL 2.0 stand-in", size, out, needed);
    case 0x1030:
        return give_text(device->cpu ? "" : "cl_amd_device_attribute_query", size, out, needed);
    default: return INVALID_VALUE;
    }
}

/* ---- objects ---- */

static void *make(const struct device *device, size_t size, int *result)
{
    struct object *object = allocate(size);
    if (object)
        object->device = device;
    *result = object ? 0 : OUT_OF_HOST_MEMORY;
    return object;
}

static int release(void *object)
{
    if (hung)
        abort(); /* a real implementation waits for the kernel */
    release_memory(object);
    return 0;
}

API(void *, clCreateContext, const intptr_t *properties, unsigned count, void *const *ids,
    void (*notify)(const char *, const void *, size_t, void *), void *user, int *result)
{
    (void)properties, (void)count, (void)notify, (void)user;
    *result = NOT_AVAILABLE;
    hung = false;
    return opencl_mode_is("busy", NULL) ? NULL : make(ids[0], sizeof(struct object), result);
}

API(void *, clCreateCommandQueue, void *context, void *device, uint64_t properties, int *result)
{
    (void)context, (void)properties;
    return make(device, sizeof(struct object), result);
}

API(void *, clCreateProgramWithSource, void *context, unsigned count, const char *const *texts,
    const size_t *sizes, int *result)
{
    struct object *program =
        make(((struct object *)context)->device, sizeof(struct object), result);
    for (unsigned i = 0; program && i < count; i++) {
        char *text = strndup(texts[i], sizes[i]);
        program->refused = opencl_mode_is("build", NULL) ||
                           (opencl_mode_is("plain", NULL) && text && strstr(text, "s_memtime"));
        free(text);
    }
    return program;
}

API(int, clBuildProgram, void *program, unsigned count, void *const *ids, const char *options,
    void (*notify)(void *, void *), void *user)
{
    (void)count, (void)ids, (void)options, (void)notify, (void)user;
    return ((struct object *)program)->refused ? BUILD_FAILURE : 0;
}

API(int, clGetProgramBuildInfo, void *program, void *device, unsigned what, size_t size, void *out,
    size_t *needed)
{
    (void)program, (void)device, (void)what;
    return give_text("kernels.cl:1:1: warning: not this\n"
                     "kernels.cl:7:5: error: unknown instruction\n",
                     size, out, needed);
}

API(void *, clCreateKernel, void *program, const char *name, int *result)
{
    static const char *const known[] = {"fth_chase", "fth_pace",  "fth_facts", "fth_origin",
                                        "fth_place", "fth_share", "fth_image", "fth_fetch"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0) {
            struct kernel *kernel =
                make(((struct object *)program)->device, sizeof *kernel, result);
            if (kernel)
                snprintf(kernel->name, sizeof kernel->name, "%s", name);
            return kernel;
        }
    *result = INVALID_KERNEL_NAME;
    return NULL;
}

API(int, clSetKernelArg, void *object, unsigned index, size_t size, const void *value)
{
    struct kernel *kernel = object;
    if (index >= MAX_ARGUMENTS || (value && size > sizeof kernel->arguments[0]))
        return INVALID_VALUE;
    if (value)
        memcpy(kernel->arguments[index], value, size);
    return 0;
}

API(void *, clCreateBuffer, void *context, uint64_t flags, size_t size, void *host, int *result)
{
    (void)flags;
    unsigned long long max = 1 << 20;
    if (opencl_mode_is("no-memory", &max) && size > max) {
        *result = ALLOCATION_FAILURE;
        return NULL;
    }
    struct buffer *buffer = make(((struct object *)context)->device, sizeof *buffer, result);
    if (!buffer)
        return NULL;
    buffer->own = !host;
    buffer->data = host ? host : allocate(size);
    return buffer;
}

/* An image is made of a buffer, which its description names last, and has its contents. */
API(void *, clCreateImage, void *context, uint64_t flags, const void *format,
    const void *description, void *host, int *result)
{
    (void)flags, (void)format, (void)host;
    struct buffer *image = make(((struct object *)context)->device, sizeof *image, result);
    struct buffer *buffer = *(struct buffer *const *)((const char *)description + 64);
    if (image)
        image->data = buffer->data;
    return image;
}

API(int, clReleaseContext, void *object)
{
    return release(object);
}
API(int, clReleaseCommandQueue, void *object)
{
    return release(object);
}
API(int, clReleaseProgram, void *object)
{
    return release(object);
}
API(int, clReleaseKernel, void *object)
{
    return release(object);
}
API(int, clReleaseEvent, void *object)
{
    return release(object);
}

API(int, clReleaseMemObject, void *object)
{
    struct buffer *buffer = object;
    if (buffer->own)
        release_memory(buffer->data);
    return release(object);
}

/* ---- kernels ---- */

static void *pointer(const struct kernel *kernel, unsigned index)
{
    struct buffer *buffer;
    memcpy(&buffer, kernel->arguments[index], sizeof buffer);
    return buffer->data;
}

static uint32_t number(const struct kernel *kernel, unsigned index)
{
    uint32_t value;
    memcpy(&value, kernel->arguments[index], sizeof value);
    return value;
}

/* The cycles of a load: a cache with LRU replacement. */
struct cache {
    uint64_t lines[LINES], used[LINES], time;
};
static unsigned access_cycles(struct cache *cache, uint64_t line)
{
    unsigned victim = 0;
    for (unsigned i = 0; i < LINES; i++) {
        if (cache->used[i] && cache->lines[i] == line) {
            cache->used[i] = ++cache->time;
            return HIT_CYCLES;
        }
        if (cache->used[i] < cache->used[victim])
            victim = i;
    }
    cache->lines[victim] = line;
    cache->used[victim] = ++cache->time;
    return MISS_CYCLES;
}

static uint32_t link_at(const unsigned char *memory, uint32_t offset)
{
    uint32_t link;
    memcpy(&link, memory + offset, sizeof link);
    return link;
}

/* Executes fth_chase (chase.cl). Returns its cycles. */
static uint64_t chase(const struct kernel *kernel)
{
    const uint64_t *step = pointer(kernel, 0);
    unsigned char *memories[] = {pointer(kernel, 2), pointer(kernel, 3)};
    uint64_t *samples = pointer(kernel, 5), cycles = 0;
    const unsigned tick = kernel->object.device->cpu ? TICK_CYCLES : 1;
    static unsigned char shared[65536];
    struct cache cache = {0};
    for (uint32_t i = 0; i < number(kernel, 1); i++, step += 8) {
        for (uint64_t k = 0; step[0] == 3 && k < step[4]; k++) {
            const uint64_t next = step[7] == 1 ? k + 1 : (k + step[7]) % step[4];
            const uint32_t link = (uint32_t)(step[3] + next * step[6]);
            memcpy(shared + step[3] + k * step[6], &link, sizeof link);
        }
        for (uint64_t pass = 0; step[0] != 3 && pass < step[2]; pass++) {
            uint64_t sum = 0;
            uint32_t at = (uint32_t)step[3];
            for (uint64_t hop = 0; hop < step[4]; hop++) {
                const uint64_t space = step[1] == 4 ? 1 : step[1] == 5 ? 2 : 0;
                const unsigned took = access_cycles(&cache, space << 40 | at / LINE_BYTES);
                sum += took;
                at = link_at(space == 2 ? shared : memories[space], at);
                at -= space == 0 && opencl_mode_is("nvidia", NULL) ? ORIGIN : 0;
                if (step[0] == 2)
                    samples[step[5] + pass * step[4] + hop] = took / tick;
            }
            if (step[0] == 1)
                samples[step[5] + pass] = sum / tick;
            cycles += sum;
        }
    }
    ((uint32_t *)pointer(kernel, 6))[0] = 3;
    return cycles;
}

/* ---- units ---- */

enum { GPU_UNITS = 60, CPU_UNITS = 4, ARRAY_UNITS = 15 };

/* The number of the unit that executes a work-group. */
static uint32_t unit_of(const struct kernel *kernel, size_t group)
{
    if (kernel->object.device->cpu)
        return (uint32_t)(group % CPU_UNITS);
    const uint32_t unit = (uint32_t)(group % GPU_UNITS), array = unit / ARRAY_UNITS;
    return array / 2 << 16 | array % 2 << 8 | unit % ARRAY_UNITS;
}

/* Executes fth_place (units.cl). Work-group i starts 3 i ticks after the first one. */
static uint64_t place(const struct kernel *kernel, size_t groups)
{
    uint64_t *record = pointer(kernel, 3);
    for (size_t i = 0; i < groups; i++, record += 4) {
        record[0] = record[2] = unit_of(kernel, i);
        record[1] = 1000 + 3 * i;
    }
    return UINT64_C(1000) * number(kernel, 0);
}

/* Walks a chain of fth_share. Returns its cycles. */
static uint64_t walk(const struct kernel *kernel, struct cache *cache, uint32_t at, uint32_t count)
{
    const uint32_t *words = pointer(kernel, 0);
    const unsigned space = words[2] == 4;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += access_cycles(cache, (uint64_t)space << 40 | at / LINE_BYTES);
        at = link_at(pointer(kernel, space ? 2 : 1), at);
        at -= !space && opencl_mode_is("nvidia", NULL) ? ORIGIN : 0;
    }
    return sum;
}

/* Executes fth_share (units.cl). */
static uint64_t share(const struct kernel *kernel)
{
    static unsigned long long calls;
    const uint32_t *words = pointer(kernel, 0);
    uint32_t *state = pointer(kernel, 4);
    uint64_t *samples = pointer(kernel, 5), cycles = 0;
    const unsigned tick = kernel->object.device->cpu ? TICK_CYCLES : 1;
    unsigned long long from = 0;
    struct cache caches[2] = {0};
    const bool apart = opencl_mode_is("apart", &from);
    calls++;
    if (apart && from == 0 && words[0] != words[1]) {
        state[2] = UINT32_MAX;
        return 0;
    }
    struct cache *other = &caches[words[0] / 2 != words[1] / 2];
    for (uint32_t i = 0; i < words[8]; i++) {
        walk(kernel, &caches[0], words[4], words[5]);
        walk(kernel, other, words[6], words[7]);
        const uint64_t took = walk(kernel, &caches[0], words[4], words[5]);
        samples[i] = took / tick;
        cycles += took;
    }
    state[2] = 2 * words[8];
    state[3] = apart && calls < from;
    return cycles;
}

/* Executes fth_image (images.cl). */
static uint64_t chase_image(const struct kernel *kernel)
{
    const uint64_t *step = pointer(kernel, 0);
    const uint32_t *texels = pointer(kernel, 2);
    uint64_t *samples = pointer(kernel, 3), cycles = 0;
    const unsigned tick = kernel->object.device->cpu ? TICK_CYCLES : 1;
    struct cache cache = {0};
    for (uint32_t i = 0; i < number(kernel, 1); i++, step += 8)
        for (uint64_t pass = 0; pass < step[2]; pass++) {
            uint64_t sum = 0;
            uint32_t at = (uint32_t)step[3];
            for (uint64_t hop = 0; hop < step[4]; hop++, at = texels[at])
                sum += access_cycles(&cache, at * 4 / LINE_BYTES);
            if (step[0] == 1)
                samples[step[5] + pass] = sum / tick;
            cycles += sum;
        }
    ((uint32_t *)pointer(kernel, 4))[0] = 3;
    return cycles;
}

/* Executes fth_fetch (fetch.cl). */
static uint64_t fetch(const struct kernel *kernel)
{
    const uint64_t bytes = number(kernel, 0),
                   cycles = bytes / 4 * (bytes > 4096 ? 2 : 1) * number(kernel, 1);
    for (uint32_t pass = 0; pass < number(kernel, 2); pass++)
        ((uint64_t *)pointer(kernel, 3))[pass] =
            cycles / (kernel->object.device->cpu ? TICK_CYCLES : 1);
    ((uint32_t *)pointer(kernel, 4))[0] = 3;
    return cycles * number(kernel, 2);
}

/* Executes a kernel. Returns its cycles. */
static uint64_t execute(const struct kernel *kernel, size_t groups)
{
    const bool cpu = kernel->object.device->cpu;
    if (strcmp(kernel->name, "fth_chase") == 0)
        return chase(kernel);
    if (strcmp(kernel->name, "fth_image") == 0)
        return chase_image(kernel);
    if (strcmp(kernel->name, "fth_fetch") == 0)
        return fetch(kernel);
    if (strcmp(kernel->name, "fth_place") == 0)
        return place(kernel, groups);
    if (strcmp(kernel->name, "fth_share") == 0)
        return share(kernel);
    if (strcmp(kernel->name, "fth_facts") == 0) {
        const bool plain = opencl_mode_is("plain", NULL);
        const uint32_t facts[] = {!plain, 64, !cpu, !plain, cpu, !plain, cpu ? 0 : 10};
        memcpy(pointer(kernel, 0), facts, sizeof facts);
        return 0;
    }
    if (strcmp(kernel->name, "fth_origin") == 0) {
        static unsigned calls;
        const bool nvidia = opencl_mode_is("nvidia", NULL);
        const uint32_t out[] = {nvidia ? ORIGIN : 0, nvidia && ++calls % 2};
        memcpy(pointer(kernel, 2), out, sizeof out);
        return 0;
    }
    uint64_t *out = pointer(kernel, 1), cycles = (cpu ? 1 : 4) * UINT64_C(1000) * number(kernel, 0);
    const bool stopped = opencl_mode_is("stopped", NULL);
    /* The runs begin at different times, and every other one takes a tick longer. */
    out[0] = 100 + launches * launches;
    out[1] = out[0] + (stopped ? 0 : cycles / (cpu ? TICK_CYCLES : 1) + launches / 2 % 2);
    return cycles;
}

/* ---- commands ---- */

static void *complete(int status, uint64_t ns)
{
    struct event *event = allocate(sizeof *event);
    if (event)
        *event = (struct event){status, ns};
    return event;
}

API(int, clFlush, void *queue)
{
    (void)queue;
    return 0;
}

API(int, clEnqueueNDRangeKernel, void *queue, void *object, unsigned dimensions,
    const size_t *offset, const size_t *global, const size_t *local, unsigned waits,
    void *const *list, void **event)
{
    (void)queue, (void)dimensions, (void)offset, (void)waits, (void)list;
    const struct kernel *kernel = object;
    unsigned long long faulty = 1;
    int status = 0;
    uint64_t ns = LAUNCH_NS;
    const bool many =
        strcmp(kernel->name, "fth_place") == 0 || strcmp(kernel->name, "fth_share") == 0;
    if (!many && (*global != 1 || *local != 1))
        return INVALID_VALUE;
    if (opencl_mode_is("hang", NULL) && strcmp(kernel->name, "fth_chase") == 0)
        status = 1;
    else if (opencl_mode_is("lost", &faulty) && launches + 1 >= faulty)
        status = OUT_OF_RESOURCES;
    else
        ns += execute(kernel, *global / *local) / (kernel->object.device->cpu ? 2 : 1);
    hung = hung || status == 1;
    launches++;
    *event = complete(status, ns);
    return *event ? 0 : OUT_OF_HOST_MEMORY;
}

API(int, clEnqueueReadBuffer, void *queue, void *buffer, unsigned blocking, size_t offset,
    size_t size, void *data, unsigned waits, void *const *list, void **event)
{
    (void)queue, (void)blocking, (void)waits, (void)list;
    memcpy(data, ((struct buffer *)buffer)->data + offset, size);
    *event = complete(0, 0);
    return *event ? 0 : OUT_OF_HOST_MEMORY;
}

API(int, clEnqueueWriteBuffer, void *queue, void *buffer, unsigned blocking, size_t offset,
    size_t size, const void *data, unsigned waits, void *const *list, void **event)
{
    (void)queue, (void)blocking, (void)waits, (void)list;
    memcpy(((struct buffer *)buffer)->data + offset, data, size);
    *event = complete(0, 0);
    return *event ? 0 : OUT_OF_HOST_MEMORY;
}

API(int, clEnqueueCopyBuffer, void *queue, void *from, void *to, size_t from_offset,
    size_t to_offset, size_t size, unsigned waits, void *const *list, void **event)
{
    (void)queue, (void)waits, (void)list;
    memcpy(((struct buffer *)to)->data + to_offset, ((struct buffer *)from)->data + from_offset,
           size);
    *event = complete(0, size);
    return *event ? 0 : OUT_OF_HOST_MEMORY;
}

API(void *, clEnqueueMapBuffer, void *queue, void *buffer, unsigned blocking, uint64_t flags,
    size_t offset, size_t size, unsigned waits, void *const *list, void **event, int *result)
{
    (void)queue, (void)blocking, (void)flags, (void)size, (void)waits, (void)list;
    *event = complete(0, 0);
    *result = *event ? 0 : OUT_OF_HOST_MEMORY;
    return ((struct buffer *)buffer)->data + offset;
}

API(int, clEnqueueUnmapMemObject, void *queue, void *buffer, void *data, unsigned waits,
    void *const *list, void **event)
{
    (void)queue, (void)buffer, (void)data, (void)waits, (void)list;
    *event = complete(0, 0);
    return *event ? 0 : OUT_OF_HOST_MEMORY;
}

API(int, clGetEventInfo, void *event, unsigned what, size_t size, void *out, size_t *needed)
{
    (void)what;
    return give(&((struct event *)event)->status, sizeof(int), size, out, needed);
}

API(int, clGetEventProfilingInfo, void *event, unsigned what, size_t size, void *out,
    size_t *needed)
{
    const uint64_t time = now_ns + (what == 0x1283 ? ((struct event *)event)->ns : 0);
    return give(&time, sizeof time, size, out, needed);
}
