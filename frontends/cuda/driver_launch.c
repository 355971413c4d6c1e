/* Launches, the attributes of kernels, and how many blocks an SM can hold. */
#include "cuda_driver.h"

#include <stdio.h>

/* The largest parameter block of a kernel in bytes (CUDA C++ Programming Guide). */
enum { MAX_ARGUMENT_BYTES = 32764 };

int driver_take_arguments(const struct function *function, void **each, void **extra,
                          unsigned char **arguments)
{
    const struct fth_ptx_kernel *kernel = function->kernel;
    const size_t bytes = kernel->parameter_bytes;
    *arguments = NULL;
    if (bytes == 0)
        return each && extra ? INVALID_VALUE : SUCCESS;
    if (bytes > MAX_ARGUMENT_BYTES || !each == !extra)
        return INVALID_VALUE;
    *arguments = calloc(1, bytes);
    if (!*arguments)
        return OUT_OF_MEMORY;
    if (each) {
        for (size_t i = 0; i < kernel->parameter_count; i++)
            memcpy(*arguments + kernel->parameters[i].offset, each[i], kernel->parameters[i].bytes);
        return SUCCESS;
    }
    /* extra = {1, the address of a buffer, 2, the address of its size, 0} */
    const void *buffer = NULL;
    size_t size = 0;
    for (size_t i = 0; extra[i]; i += 2)
        if ((uintptr_t)extra[i] == 1)
            buffer = extra[i + 1];
        else if ((uintptr_t)extra[i] == 2)
            size = *(const size_t *)extra[i + 1];
    if (buffer && size) {
        memcpy(*arguments, buffer, FTH_MIN(size, bytes));
        return SUCCESS;
    }
    free(*arguments);
    *arguments = NULL;
    return INVALID_VALUE;
}

/* The registers of a thread are not known from PTX; this many are assumed. */
enum { ASSUMED_REGISTERS = 32 };

/* The threads that a block can have, as the GPU and the kernel allow (.maxntid, .reqntid). */
static uint64_t max_threads(const struct fth_ptx_kernel *kernel)
{
    const uint32_t *most = kernel->max_block[0] ? kernel->max_block : kernel->required_block;
    const uint64_t all = (uint64_t)driver_attribute(1);
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= most[i] ? most[i] : 1;
    return most[0] && threads < all ? threads : all;
}

/* Blocks per SM, as threads, blocks and shared memory allow. A block takes 1 KiB of shared memory
 * more than it uses (attribute 111). */
static int blocks_per_sm(const struct function *function, int threads, uint64_t dynamic_shared)
{
    const uint64_t shared =
        function->kernel->shared_bytes + dynamic_shared + (uint64_t)driver_attribute(111);
    const int warps = (threads + 31) / 32, by_threads = driver_attribute(39) / 32 / warps;
    const int by_shared = (int)((uint64_t)driver_attribute(81) / shared);
    const int by_registers = driver_attribute(82) / (ASSUMED_REGISTERS * 32 * warps);
    return FTH_MIN(FTH_MIN(by_threads, by_shared), FTH_MIN(by_registers, driver_attribute(106)));
}

/* Says which arguments a kernel that failed had. */
static void report_arguments(const struct fth_session_launch *launch)
{
    char arguments[1024];
    fth_session_show_arguments(driver.session, launch, arguments, sizeof arguments);
    if (*arguments)
        driver_report("note", "arguments of '%s', grid (%u,%u,%u), block (%u,%u,%u): %s",
                      launch->kernel->display_name, launch->grid[0], launch->grid[1],
                      launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
                      arguments);
}

int driver_launch(const struct operation *operation)
{
    const struct function *function = operation->launch.function;
    struct fth_session_launch launch = {.module = driver_session_module(function->module),
                                        .kernel = function->kernel,
                                        .shared_bytes = operation->launch.shared_bytes,
                                        .cooperative = operation->launch.cooperative,
                                        .arguments = operation->launch.arguments};
    static const int results[] = {
        [FTH_FAULT_NONE] = LAUNCH_FAILED,           [FTH_FAULT_ADDRESS] = ILLEGAL_ADDRESS,
        [FTH_FAULT_ALIGNMENT] = MISALIGNED_ADDRESS, [FTH_FAULT_ASSERT] = ASSERT,
        [FTH_FAULT_LIMIT] = LAUNCH_TIMEOUT,         [FTH_FAULT_OTHER] = LAUNCH_FAILED};
    enum fth_ptx_fault fault = FTH_FAULT_NONE;
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = operation->launch.grid[i];
        launch.block[i] = operation->launch.block[i];
        launch.cluster[i] = operation->launch.cluster[i];
    }
    fflush(stdout); /* the output of printf comes after the program's own so far */
    const enum fth_status status = fth_session_run(driver.session, &launch, &fault, &error);
    fflush(stdout);
    if (status == FTH_OK)
        return SUCCESS;
    driver_report("error", "%s", fth_error_text(&error, text, sizeof text));
    report_arguments(&launch);
    /* As on a GPU, the launch succeeds, and no later call does. */
    driver.sticky = status == FTH_NO_MEMORY     ? OUT_OF_MEMORY
                    : status == FTH_UNSUPPORTED ? ILLEGAL_INSTRUCTION
                                                : results[fault];
    return SUCCESS;
}

/* The blocks of a cluster, as the launch or the kernel defines it. */
static int check_cluster(const struct operation *operation)
{
    const struct function *function = operation->launch.function;
    const uint32_t *required = function->kernel->required_cluster;
    const uint32_t *cluster = operation->launch.cluster;
    if (!cluster[0])
        cluster = required;
    if (!cluster[0])
        return SUCCESS;
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        const uint32_t size = cluster[i] ? cluster[i] : 1;
        if (operation->launch.grid[i] % size)
            return INVALID_CLUSTER_SIZE;
        if (required[0] && size != (required[i] ? required[i] : 1))
            return INVALID_VALUE;
        blocks *= size;
    }
    return blocks > (function->non_portable_cluster ? 16u : 8u) ? INVALID_CLUSTER_SIZE : SUCCESS;
}

/* All blocks of a cooperative launch must fit on the GPU. */
static int check_cooperative(const struct operation *operation)
{
    const uint32_t *grid = operation->launch.grid, *block = operation->launch.block;
    const int per_sm =
        blocks_per_sm(operation->launch.function, (int)(block[0] * block[1] * block[2]),
                      operation->launch.shared_bytes);
    return (uint64_t)grid[0] * grid[1] * grid[2] > (uint64_t)per_sm * (uint64_t)driver_attribute(16)
               ? COOPERATIVE_LAUNCH_TOO_LARGE
               : SUCCESS;
}

int driver_check_shape(const struct operation *operation)
{
    const struct function *function = operation->launch.function;
    const uint32_t *grid = operation->launch.grid, *block = operation->launch.block;
    const uint32_t *required = function->kernel->required_block;
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || grid[i] > (uint32_t)driver_attribute(5 + i) ||
            block[i] > (uint32_t)driver_attribute(2 + i) ||
            (required[0] && block[i] != (required[i] ? required[i] : 1)))
            return INVALID_VALUE;
    if ((uint64_t)block[0] * block[1] * block[2] > max_threads(function->kernel))
        return INVALID_VALUE;
    if (operation->launch.shared_bytes > function->max_dynamic_shared)
        return INVALID_VALUE;
    const int result = check_cluster(operation);
    return result == SUCCESS && operation->launch.cooperative ? check_cooperative(operation)
                                                              : result;
}

static int launch(struct operation *operation, struct stream *stream, void **each, void **extra)
{
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!driver_is_function(operation->launch.function))
        return INVALID_HANDLE;
    result = driver_check_shape(operation);
    if (result == SUCCESS)
        result = driver_take_arguments(operation->launch.function, each, extra,
                                       &operation->launch.arguments);
    return result == SUCCESS ? driver_submit(stream, operation) : result;
}

static int launch_shape(struct function *function, const uint32_t grid[3], const uint32_t block[3],
                        unsigned shared_bytes, bool cooperative, struct stream *stream,
                        void **arguments, void **extra)
{
    struct operation operation = {.kind = OP_LAUNCH};
    operation.launch.function = function;
    memcpy(operation.launch.grid, grid, sizeof operation.launch.grid);
    memcpy(operation.launch.block, block, sizeof operation.launch.block);
    operation.launch.shared_bytes = shared_bytes;
    operation.launch.cooperative = cooperative;
    return launch(&operation, stream, arguments, extra);
}

CU(cuLaunchKernel, struct function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
   struct stream *stream, void **arguments, void **extra)
{
    LOCK;
    return launch_shape(function, (uint32_t[]){grid_x, grid_y, grid_z},
                        (uint32_t[]){block_x, block_y, block_z}, shared_bytes, false, stream,
                        arguments, extra);
}
ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

CU(cuLaunchCooperativeKernel, struct function *function, unsigned grid_x, unsigned grid_y,
   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
   struct stream *stream, void **arguments)
{
    LOCK;
    return launch_shape(function, (uint32_t[]){grid_x, grid_y, grid_z},
                        (uint32_t[]){block_x, block_y, block_z}, shared_bytes, true, stream,
                        arguments, NULL);
}
ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

/* Reads the attributes of CUlaunchConfig. Only clusters and cooperative launches matter here; the
 * others concern the order and the priority of launches. */
CU(cuLaunchKernelEx, const void *config, struct function *function, void **arguments, void **extra)
{
    LOCK;
    enum { COOPERATIVE = 2, CLUSTER_DIMENSION = 4, ATTRIBUTE_BYTES = 72 };
    struct operation operation = {.kind = OP_LAUNCH};
    if (!config)
        return INVALID_VALUE;
    operation.launch.function = function;
    memcpy(operation.launch.grid, config, 12);
    memcpy(operation.launch.block, (const char *)config + 12, 12);
    operation.launch.shared_bytes = field(config, 24, 4);
    const char *attributes = pointer_field(config, 40);
    for (uint64_t i = 0; i < field(config, 48, 4); i++) {
        const char *attribute = attributes + i * ATTRIBUTE_BYTES;
        if (field(attribute, 0, 4) == CLUSTER_DIMENSION)
            memcpy(operation.launch.cluster, attribute + 8, 12);
        else if (field(attribute, 0, 4) == COOPERATIVE)
            operation.launch.cooperative = field(attribute, 8, 4) != 0;
    }
    return launch(&operation, pointer_field(config, 32), arguments, extra);
}
ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

/* ---- attributes of kernels ---- */

CU(cuFuncGetAttribute, int *value, int attribute, struct function *function)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!value || !driver_is_function(function))
        return value ? INVALID_HANDLE : INVALID_VALUE;
    const struct fth_ptx_kernel *kernel = function->kernel;
    const uint32_t *cluster = kernel->required_cluster;
    switch (attribute) {
    case 0: *value = (int)max_threads(kernel); break;
    case 1: *value = (int)kernel->shared_bytes; break;
    case 4: *value = ASSUMED_REGISTERS; break;
    case 5:
    case 6: *value = driver_attribute(75) * 10 + driver_attribute(76); break;
    case 8: *value = (int)function->max_dynamic_shared; break;
    case 9: *value = function->carveout; break;
    case 10: *value = cluster[0] != 0; break;
    case 11:
    case 12:
    case 13: *value = (int)cluster[attribute - 11]; break;
    case 14: *value = function->non_portable_cluster; break;
    default: *value = 0; /* constant and local memory, cache mode */
    }
    return SUCCESS;
}

CU(cuKernelGetAttribute, int *value, int attribute, struct function *kernel, int device)
{
    (void)device;
    return cuFuncGetAttribute(value, attribute, kernel);
}

CU(cuFuncSetAttribute, struct function *function, int attribute, int value)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    if (attribute == 8 && value >= 0 &&
        (uint64_t)value + function->kernel->shared_bytes <= (uint64_t)driver_attribute(97))
        function->max_dynamic_shared = (uint64_t)value;
    else if (attribute == 9 && value >= -1 && value <= 100)
        function->carveout = value;
    else if (attribute == 14)
        function->non_portable_cluster = value != 0;
    else if (attribute < 10 || attribute > 15)
        return INVALID_VALUE;
    return SUCCESS;
}

CU(cuKernelSetAttribute, int attribute, int value, struct function *kernel, int device)
{
    (void)device;
    return cuFuncSetAttribute(kernel, attribute, value);
}

CU(cuFuncSetCacheConfig, struct function *function, int config)
{
    (void)function, (void)config;
    return driver_check();
}
ALIAS(cuFuncSetSharedMemConfig, cuFuncSetCacheConfig);

CU(cuKernelSetCacheConfig, struct function *kernel, int config, int device)
{
    (void)device;
    return cuFuncSetCacheConfig(kernel, config);
}

/* ---- occupancy ---- */

CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, struct function *function, int threads,
   size_t dynamic_shared)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!blocks || threads <= 0)
        return INVALID_VALUE;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    *blocks = threads > driver_attribute(1) ? 0 : blocks_per_sm(function, threads, dynamic_shared);
    return SUCCESS;
}

CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, struct function *function,
   int threads, size_t dynamic_shared, unsigned flags)
{
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_shared);
}

/* The block with the most threads per SM, the largest of those that are equal. */
CU(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, struct function *function,
   size_t (*shared_of)(int), size_t dynamic_shared, int limit)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    int largest = (int)max_threads(function->kernel), best = 0;
    if (limit > 0 && limit < largest)
        largest = limit;
    for (int threads = largest / 32 * 32; threads > 0; threads -= 32) {
        const uint64_t shared = shared_of ? shared_of(threads) : dynamic_shared;
        const int blocks = blocks_per_sm(function, threads, shared);
        if (blocks * threads > best) {
            best = blocks * threads;
            *block = threads;
            *grid = blocks * driver_attribute(16);
        }
    }
    return best ? SUCCESS : INVALID_VALUE;
}

CU(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, struct function *function,
   size_t (*shared_of)(int), size_t dynamic_shared, int limit, unsigned flags)
{
    (void)flags;
    return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, dynamic_shared,
                                            limit);
}

CU(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, struct function *function, int blocks,
   int threads)
{
    LOCK;
    (void)threads;
    if (blocks <= 0)
        return INVALID_VALUE;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    const int64_t share = driver_attribute(81) / blocks - driver_attribute(111) -
                          (int64_t)function->kernel->shared_bytes;
    *bytes = (size_t)FTH_MIN(share < 0 ? 0 : share, (int64_t)function->max_dynamic_shared);
    return SUCCESS;
}

CU(cuOccupancyMaxActiveClusters, int *clusters, struct function *function, const void *config)
{
    int blocks = 0;
    uint32_t block[3], cluster[3] = {1, 1, 1};
    memcpy(block, (const char *)config + 12, sizeof block);
    const int result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, (int)(block[0] * block[1] * block[2]), (size_t)field(config, 24, 4));
    const char *attributes = pointer_field(config, 40);
    for (uint64_t i = 0; i < field(config, 48, 4); i++)
        if (field(attributes + i * 72, 0, 4) == 4)
            memcpy(cluster, attributes + i * 72 + 8, sizeof cluster);
    if (result == SUCCESS)
        *clusters = blocks * driver_attribute(16) / (int)(cluster[0] * cluster[1] * cluster[2]);
    return result;
}

CU(cuOccupancyMaxPotentialClusterSize, int *size, struct function *function, const void *config)
{
    (void)config;
    *size = driver_attribute(120) ? (function->non_portable_cluster ? 16 : 8) : 1;
    return driver_check();
}
