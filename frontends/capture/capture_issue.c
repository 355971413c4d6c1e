/* Launches of graphs. If the kernels of a graph are to be written with the contents of memory, its
 * nodes are issued to the stream one by one, each after those that it depends on, so that the
 * memory can be copied around each kernel. Otherwise the driver launches the graph, and the kernels
 * are listed. */
#include "capture.h"

#include <stdatomic.h>
#include <stdio.h>

/* A launch of a graph. */
struct graph_launch {
    struct executable *executable;
    void *stream;
    uint64_t number; /* of its first kernel */
    struct fth_capsule_writer *writer;
    const char *reason; /* why the nodes are not issued one by one */
};

/* Does something with a kernel of the graph. Returns false to end the visit. */
typedef bool visit_kernel(struct graph_launch *launch, const struct graph_node *node,
                          struct function *function, uint64_t number);

/* Calls `visit` for each kernel that the launch executes and that is selected. */
static void visit_selected(struct graph_launch *launch, visit_kernel *visit)
{
    const struct graph_nodes *nodes = &launch->executable->nodes;
    uint64_t number = launch->number;
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < nodes->count; i++) {
        const struct graph_node *node = &nodes->items[i];
        if (node->type != NODE_KERNEL || node->is_disabled || !capture_is_in_range(number++))
            continue;
        struct function *function = capture_function(node->call.function);
        if (function && function->is_selected)
            goes_on = visit(launch, node, function, number - 1);
    }
}

/* ---- issuing nodes ---- */

/* Returns the addresses of the parameters of a kernel; NULL: memory is exhausted. */
static void **addresses(const struct graph_node *node, const struct function *function)
{
    void **parameters = calloc(function->parameter_count + 1, sizeof *parameters);
    for (size_t i = 0; parameters && i < function->parameter_count; i++)
        parameters[i] = node->parameters + function->parameters[i].offset;
    return parameters;
}

/* A CUlaunchConfig with attributes. */
struct config {
    _Alignas(8) unsigned char bytes[56];
    _Alignas(8) unsigned char attributes[4 * ATTRIBUTE_BYTES];
    uint32_t count;
};

static void add_attribute(struct config *config, uint32_t attribute, const void *value,
                          size_t bytes)
{
    unsigned char *at = config->attributes + (size_t)config->count++ * ATTRIBUTE_BYTES;
    memcpy(at, &attribute, sizeof attribute);
    memcpy(at + ATTRIBUTE_VALUE, value, bytes);
}

/* Makes the call that launches a kernel node: with a config if it has attributes. */
static struct call call_of(const struct graph_node *node, void *stream, void **parameters,
                           struct config *config)
{
    const void *attributes = config->attributes;
    const uint32_t one = 1;
    const uint32_t *cluster = node->call.cluster;
    const bool has_cluster = cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1;
    struct call call = node->call;
    call.stream = stream;
    call.parameters = parameters;
    call.driver = F_cuLaunchKernel;
    *config = (struct config){.count = 0};
    if (call.is_cooperative)
        add_attribute(config, ATTRIBUTE_COOPERATIVE, &one, sizeof one);
    if (has_cluster)
        add_attribute(config, ATTRIBUTE_CLUSTER, call.cluster, sizeof call.cluster);
    if (has_cluster && node->cluster_policy)
        add_attribute(config, ATTRIBUTE_CLUSTER_POLICY, &node->cluster_policy,
                      sizeof node->cluster_policy);
    if (node->carveout > 0)
        add_attribute(config, ATTRIBUTE_CARVEOUT, &node->carveout, sizeof node->carveout);
    if (!config->count)
        return call;
    memcpy(config->bytes, call.grid, 12);
    memcpy(config->bytes + 12, call.block, 12);
    memcpy(config->bytes + 24, &call.shared_bytes, 4);
    memcpy(config->bytes + 32, &stream, 8);
    memcpy(config->bytes + 40, &attributes, 8);
    memcpy(config->bytes + 48, &config->count, 4);
    call.driver = F_cuLaunchKernelEx;
    call.config = config->bytes;
    return call;
}

static int issue_kernel(struct graph_launch *launch, const struct graph_node *node, uint64_t number)
{
    struct function *function = capture_function(node->call.function);
    void **parameters = function && function->parameter_bytes == node->parameter_bytes
                            ? addresses(node, function)
                            : NULL;
    struct config config;
    if (!parameters)
        return INVALID_VALUE;
    const struct call call = call_of(node, launch->stream, parameters, &config);
    int result;
    if (capture_is_in_range(number) && function->is_selected) {
        result = capture_write_launch(&launch->writer, &call, function, number, NULL);
    } else {
        capture_note_change();
        result = capture_forward(&call);
    }
    free(parameters);
    return result;
}

/* An end of a copy: the address at which it begins, if it is not an array. Offsets in
 * CUDA_MEMCPY3D: x, y, z, level, type, host, device, array, reserved, pitch, height. */
static bool is_linear(const unsigned char *end, uint64_t *address)
{
    enum { HOST = 1, ARRAY = 3 };
    const uint64_t type = field(end, 32, 4);
    *address = field(end, type == HOST ? 40 : 48, 8) + field(end, 0, 8) +
               field(end, 72, 8) * (field(end, 8, 8) + field(end, 80, 8) * field(end, 16, 8));
    return type != ARRAY;
}

/* A copy of one row needs no pitch, which is limited to less than 2 GiB in copies of boxes. */
static int issue_copy(const unsigned char *copy, void *stream)
{
    enum { TARGET = 88, WIDTH = 176, HEIGHT = 184, DEPTH = 192 };
    const uint64_t width = field(copy, WIDTH, 8);
    uint64_t source, target;
    if (is_linear(copy, &source) && is_linear(copy + TARGET, &target) &&
        field(copy, HEIGHT, 8) == 1 && field(copy, DEPTH, 8) == 1)
        return CALL(cuMemcpyAsync, (uint64_t, uint64_t, size_t, void *), target, source,
                    (size_t)width, stream);
    return CALL(cuMemcpy3DAsync_v2, (const void *, void *), copy, stream);
}

/* Offsets in CUDA_MEMSET_NODE_PARAMS: address, pitch, value, bytes per element, width, height. */
static int issue_fill(const unsigned char *fill, void *stream)
{
    const uint64_t address = field(fill, 0, 8);
    const size_t pitch = (size_t)field(fill, 8, 8), width = (size_t)field(fill, 24, 8);
    const size_t height = (size_t)field(fill, 32, 8);
    const unsigned value = (unsigned)field(fill, 16, 4);
    const bool is_row = height <= 1;
#define FILL(row, rows, type)                                                                      \
    (is_row ? CALL(row, (uint64_t, type, size_t, void *), address, (type)value, width, stream)     \
            : CALL(rows, (uint64_t, size_t, type, size_t, size_t, void *), address, pitch,         \
                   (type)value, width, height, stream))
    switch (field(fill, 20, 4)) {
    case 1: return FILL(cuMemsetD8Async, cuMemsetD2D8Async, unsigned char);
    case 2: return FILL(cuMemsetD16Async, cuMemsetD2D16Async, unsigned short);
    default: return FILL(cuMemsetD32Async, cuMemsetD2D32Async, unsigned);
    }
#undef FILL
}

/* Issues a node that is not a kernel. Copies of pageable memory do not keep the order of the
 * stream, and host functions may access such memory, so each of these nodes is waited for. */
static int issue_other(const struct graph_node *node, void *stream)
{
    int result = SUCCESS;
    void *const object = pointer_to(field(node->bytes, 0, 8));
    capture_note_change();
    (void)CALL(cuStreamSynchronize, (void *), stream);
    switch (node->type) {
    case NODE_COPY: result = issue_copy(node->bytes, stream); break;
    case NODE_FILL: result = issue_fill(node->bytes, stream); break;
    case NODE_HOST:
        result = CALL(cuLaunchHostFunc, (void *, void *, void *), stream, object,
                      pointer_to(field(node->bytes, 8, 8)));
        break;
    case NODE_WAIT:
        result = CALL(cuStreamWaitEvent, (void *, void *, unsigned), stream, object, 0);
        break;
    case NODE_RECORD: result = CALL(cuEventRecord, (void *, void *), object, stream); break;
    default: break;
    }
    (void)CALL(cuStreamSynchronize, (void *), stream);
    return result;
}

/* Issues all nodes. If that fails, *issued is how many were issued before. */
static int issue(struct graph_launch *launch, size_t *issued)
{
    const struct graph_nodes *nodes = &launch->executable->nodes;
    uint64_t number = launch->number;
    int result = SUCCESS;
    *issued = 0;
    for (size_t i = 0; result == SUCCESS && i < nodes->count; i++) {
        const struct graph_node *node = &nodes->items[i];
        if (node->is_disabled || node->type == NODE_EMPTY || node->type == NODE_GRAPH)
            continue;
        result = node->type == NODE_KERNEL ? issue_kernel(launch, node, number++)
                                           : issue_other(node, launch->stream);
        *issued += result == SUCCESS;
    }
    return result;
}

/* ---- launches ---- */

/* Sets the reason to NULL if a kernel can be written with the contents of memory. */
static bool check_kernel(struct graph_launch *launch, const struct graph_node *node,
                         struct function *function, uint64_t number)
{
    struct fth_error error = FTH_NO_ERROR;
    const char *reason = NULL;
    (void)node;
    (void)number;
    if (capture_check_launch(launch->writer, function, &reason, &error) != FTH_OK) {
        capture_fail(&error);
        launch->writer = NULL;
        return false;
    }
    if (!reason)
        launch->reason = NULL;
    return reason != NULL;
}

/* Returns why the driver must launch the graph as a whole; NULL: its nodes can be issued. */
static const char *reason_against(struct graph_launch *launch)
{
    void *context = NULL;
    const struct executable *executable = launch->executable;
    if (executable->reason || executable->node_reason)
        return executable->reason ? executable->reason : executable->node_reason;
    if (CALL(cuCtxGetCurrent, (void **), &context) != SUCCESS ||
        (executable->context && context != executable->context))
        return "its graph belongs to another context than the current one";
    /* This holds unless a kernel can be written. Every kernel has a reason of its own then. */
    launch->reason = "no kernel of its graph can be captured with the contents of memory";
    visit_selected(launch, check_kernel);
    if (!launch->reason && CALL(cuCtxSynchronize, (void)) != SUCCESS)
        return "an earlier launch failed";
    return launch->reason;
}

/* Writes a kernel that the driver has launched. */
static bool list_kernel(struct graph_launch *launch, const struct graph_node *node,
                        struct function *function, uint64_t number)
{
    void **parameters =
        function->parameter_bytes == node->parameter_bytes ? addresses(node, function) : NULL;
    struct call call = node->call;
    call.parameters = parameters;
    call.is_launched = true;
    if (parameters)
        (void)capture_write_launch(&launch->writer, &call, function, number, launch->reason);
    free(parameters);
    return launch->writer != NULL;
}

/* Launches a graph with kernels that are selected. `driver` is the function that the program called
 * with the stream `given`. */
static int launch_written(struct graph_launch *launch, int (*driver)(void *, void *), void *given)
{
    size_t issued = 0;
    int result = SUCCESS;
    launch->reason = capture_options.is_light ? NULL : reason_against(launch);
    if (!capture_options.is_light && !launch->reason && launch->writer) {
        result = issue(launch, &issued);
        if (result == SUCCESS) {
            (void)CALL(cuCtxSynchronize, (void));
            return SUCCESS;
        }
        capture_report("note", "a node of a graph could not be issued (CUresult %d)", result);
        if (issued)
            return result;
        launch->reason = "the nodes of its graph could not be issued one by one";
    }
    capture_note_change();
    result = driver(launch->executable->handle, given);
    if (result == SUCCESS && launch->writer)
        visit_selected(launch, list_kernel);
    return result;
}

/* Returns whether a launch of the graph has kernels that may be selected. */
static bool may_be_selected(const struct graph_launch *launch)
{
    const struct options *options = &capture_options;
    const uint64_t end = launch->number + launch->executable->kernel_count;
    return launch->executable->has_selected && end > options->first &&
           (options->end == 0 || launch->number < options->end);
}

/* Launches a graph on a stream. `given` is the program's handle of the stream, which can be NULL.
 */
static int launch_graph(int (*driver)(void *, void *), void *handle, void *given, void *stream)
{
    static atomic_bool reported;
    struct graph_launch launch = {.stream = stream};
    if (!driver)
        return NOT_SUPPORTED;
    /* A stream that is captured records the graph as a child graph. */
    if (!capture_is_expected() || (capture_is_recording() && capture_records(stream)))
        return driver(handle, given);
    launch.executable = capture_executable(handle);
    if (launch.executable)
        launch.number = capture_take_numbers(launch.executable->kernel_count);
    else if (!atomic_exchange(&reported, true))
        capture_report("note", "the program launched a graph that fathom did not see it make; its "
                               "kernels are not captured");
    if (launch.executable && may_be_selected(&launch))
        launch.writer = capture_begin();
    if (!launch.writer) {
        capture_note_change();
        return driver(handle, given);
    }
    const int result = launch_written(&launch, driver, given);
    capture_end();
    return result;
}

#define GRAPH_FUNCTIONS(suffix, null)                                                              \
    WRAP(cuGraphLaunch##suffix, void *graph, void *stream)                                         \
    {                                                                                              \
        return launch_graph((int (*)(void *, void *))capture_real(F_cuGraphLaunch##suffix), graph, \
                            stream, stream ? stream : pointer_to(null));                           \
    }
GRAPH_FUNCTIONS(, 0)
GRAPH_FUNCTIONS(_ptsz, STREAM_PER_THREAD)
