/* Memory of allocation nodes, and objects of the program that graphs keep. */
#include "driver_api.h"

#include <unistd.h>

enum { COUNT = 32 };

static int destroyed;

static void destroy(void *user)
{
    __atomic_fetch_add(&destroyed, *(const int *)user, __ATOMIC_SEQ_CST);
}

/* Makes a graph that allocates memory and fills it. */
static struct graph *make(struct context *context, uint64_t *address, struct node **fill)
{
    struct graph *graph;
    struct node *alloc;
    struct alloc_node parameters = {.properties = {1, 0, 1, 0}, .bytes = sizeof(unsigned[COUNT])};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &parameters));
    ASSERT(parameters.address != 0);
    *address = parameters.address;
    const struct fill_node what = {*address, 0, 6, 4, COUNT, 1};
    CHECK(cuGraphAddMemsetNode(fill, graph, &alloc, 1, &what, context));
    return graph;
}

/* The graph frees its memory. */
static void check_free_node(struct context *context)
{
    struct graph_exec *exec;
    struct node *fill, *free_node, *unused;
    uint64_t address, freed;
    struct graph *graph = make(context, &address, &fill);
    EXPECT(1, cuGraphAddMemFreeNode(&unused, graph, &fill, 1, 4096));
    CHECK(cuGraphAddMemFreeNode(&free_node, graph, &fill, 1, address));
    CHECK(cuGraphMemFreeNodeGetParams(free_node, &freed));
    ASSERT(freed == address);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

/* The program frees the memory between two launches. */
static void check_free(struct context *context)
{
    struct graph_exec *exec;
    struct node *fill;
    uint64_t address;
    struct graph *graph = make(context, &address, &fill);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    ASSERT(all_are(address, 6, COUNT));
    CHECK(cuMemFree_v2(address));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuMemFreeAsync(address, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

/* An object lives as long as the last graph that uses it. */
static void check_object(void)
{
    struct graph *graph, *clone;
    struct object *object, *unused;
    int weight = 3;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuUserObjectCreate(&object, &weight, destroy, 1, 1));
    EXPECT(1, cuUserObjectCreate(&unused, &weight, destroy, 1, 0));
    CHECK(cuGraphRetainUserObject(graph, object, 1, 1));
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphDestroy(graph));
    ASSERT(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) == 0);
    CHECK(cuGraphDestroy(clone));
    /* NVIDIA's driver destroys it in another thread */
    for (int i = 0; !is_exec() && i < 1000 && !__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); i++)
        usleep(1000);
    ASSERT(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) == 3);
    EXPECT_HERE(1, cuUserObjectRelease(object, 1));
}

int main(void)
{
    size_t before, after, total;
    struct context *context = start();
    CHECK(cuMemGetInfo_v2(&before, &total));
    check_free_node(context);
    check_free(context);
    check_object();
    CHECK(cuMemGetInfo_v2(&after, &total));
    ASSERT(before == after || !is_exec()); /* NVIDIA's driver keeps some for later graphs */
    return succeed();
}
