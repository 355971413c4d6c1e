/* Memory of allocation nodes, and objects of the program that graphs keep. */
#include "driver_api.h"

enum { COUNT = 32 };

static int destroyed;

static void destroy(void *user)
{
    destroyed += *(const int *)user;
}

int main(void)
{
    struct graph *graph, *clone;
    struct graph_exec *exec;
    struct node *alloc, *fill, *free_node;
    struct object *object;
    int weight = 3;
    size_t before, after, total;
    uint64_t freed;
    start();
    CHECK(cuMemGetInfo_v2(&before, &total));
    struct alloc_node parameters = {.properties = {1, 0, 1, 0}, .bytes = sizeof(unsigned[COUNT])};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &parameters));
    ASSERT(parameters.address != 0);
    const struct fill_node what = {parameters.address, 0, 6, 4, COUNT, 1};
    CHECK(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &what, NULL));
    CHECK(cuGraphAddMemFreeNode(&free_node, graph, &fill, 1, parameters.address));
    CHECK(cuGraphMemFreeNodeGetParams(free_node, &freed));
    ASSERT(freed == parameters.address);
    EXPECT(1, cuGraphAddMemFreeNode(&free_node, graph, &fill, 1, 4096));
    CHECK(cuGraphDestroyNode(free_node));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    ASSERT(all_are(parameters.address, 6, COUNT));
    CHECK(cuMemFree_v2(parameters.address)); /* instead of a node */
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuMemFreeAsync(parameters.address, NULL));
    /* an object lives as long as the last graph that uses it */
    CHECK(cuUserObjectCreate(&object, &weight, destroy, 1, 1));
    EXPECT(1, cuUserObjectCreate(&object, &weight, destroy, 1, 0));
    CHECK(cuGraphRetainUserObject(graph, object, 1, 1));
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphDestroy(graph));
    ASSERT(destroyed == 0);
    CHECK(cuGraphDestroy(clone));
    ASSERT(destroyed == 3);
    EXPECT(1, cuUserObjectRelease(object, 1));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuMemGetInfo_v2(&after, &total));
    ASSERT(before == after);
    return succeed();
}
