/* A kernel that faults: its launch succeeds, and every later call that waits for it returns the
 * same error.
 *
 * usage: cu_fault KIND      address, misaligned, trap or assert; graph: a trap in a graph */
#include "driver_api.h"

static const char ptx[] = PTX_HEADER
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    ".param .b64 e) .noreturn;\n"
    ".global .align 1 .b8 text[2] = {120, 0};\n"
    ".visible .entry address()\n{ .reg .b64 %d; mov.u64 %d, 64; st.global.u32 [%d], 0; ret; }\n"
    ".visible .entry misaligned(.param .u64 p)\n"
    "{ .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d+2], 0; ret; }\n"
    ".visible .entry trap() { trap; ret; }\n"
    ".visible .entry assert()\n{ .reg .b64 %d; mov.u64 %d, text; cvta.global.u64 %d, %d;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "st.param.b64 [a], %d; st.param.b64 [b], %d; st.param.b32 [c], 7; st.param.b64 [d], %d;\n"
    "st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); } ret; }\n";

static void count_call(void *user)
{
    ++*(int *)user;
}

/* Launches a graph: the kernel, and then a host function, which must not be called. */
static void launch_graph(struct function *kernel, int *calls)
{
    const struct kernel_node parameters = {
        .function = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    const struct host_node host = {count_call, calls};
    struct graph *graph;
    struct graph_exec *exec;
    struct node *first, *second;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &parameters));
    CHECK(cuGraphAddHostNode(&second, graph, &first, 1, &host));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int result;
    } kinds[] = {
        {"address", 700}, {"misaligned", 716}, {"trap", 719}, {"assert", 710}, {"graph", 719}};
    uint64_t data;
    void *arguments[] = {&data};
    int expected = 0, calls = 0;
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, words[1]) == 0)
            expected = kinds[i].result;
    ASSERT(expected != 0);
    start();
    const bool in_graph = strcmp(words[1], "graph") == 0;
    struct function *kernel = load_kernel(ptx, in_graph ? "trap" : words[1]);
    CHECK(cuMemAlloc_v2(&data, 64));
    if (in_graph)
        launch_graph(kernel, &calls);
    else
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    EXPECT(expected, cuCtxSynchronize());
    ASSERT(calls == 0);
    EXPECT(expected, cuMemFree_v2(data));
    EXPECT(expected, cuMemAlloc_v2(&data, 64));
    return succeed();
}
