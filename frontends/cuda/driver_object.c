/* What graphs own beside their nodes: the memory of their allocation nodes, and objects of the
 * program, which live as long as the last graph that uses them. */
#include "cuda_driver.h"

/* ---- memory ---- */

/* The memory of an allocation node. A program can use its address from the moment it adds the node,
 * so the memory is there as long as the node or a copy of it. */
struct reservation {
    struct reservation *next;
    uint64_t address;
    size_t bytes;
    unsigned references;
};
static struct reservation *reservations;

int driver_reserve(size_t bytes, struct reservation **out)
{
    struct reservation *reservation = calloc(1, sizeof *reservation);
    if (!reservation)
        return OUT_OF_MEMORY;
    const int result = driver_allocate(FTH_MEMORY_DEVICE, bytes, &reservation->address);
    if (result != SUCCESS) {
        free(reservation);
        return result;
    }
    reservation->bytes = bytes;
    reservation->references = 1;
    reservation->next = reservations;
    reservations = reservation;
    *out = reservation;
    return SUCCESS;
}

void driver_reservation_retain(struct reservation *reservation)
{
    reservation->references++;
}

void driver_reservation_release(struct reservation *reservation)
{
    if (--reservation->references)
        return;
    struct reservation **link = &reservations;
    while (*link != reservation)
        link = &(*link)->next;
    *link = reservation->next;
    /* The memory is gone if its context was destroyed. */
    if (driver_result(fth_session_free(driver.session, reservation->address,
                                       1u << FTH_MEMORY_DEVICE, NULL)) != SUCCESS)
        reservation->address = 0;
    free(reservation);
}

uint64_t driver_reservation_address(const struct reservation *reservation, size_t *bytes)
{
    *bytes = reservation->bytes;
    return reservation->address;
}

bool driver_is_reserved(uint64_t address)
{
    for (const struct reservation *at = reservations; at; at = at->next)
        if (at->address == address)
            return true;
    return false;
}

/* Attributes of the memory of graphs (CUgraphMem_attribute): 0 and 1 are the memory in use and its
 * maximum, 2 and 3 the memory reserved and its maximum. */
CU(cuDeviceGetGraphMemAttribute, int device, int attribute, uint64_t *value)
{
    LOCK;
    if (device != 0 || attribute < 0 || attribute > 3 || !value)
        return device ? INVALID_DEVICE : INVALID_VALUE;
    *value = 0;
    for (const struct reservation *at = reservations; at; at = at->next)
        *value += at->bytes;
    return SUCCESS;
}

CU(cuDeviceSetGraphMemAttribute, int device, int attribute, const uint64_t *value)
{
    /* A program can only reset the maxima. */
    if (device != 0)
        return INVALID_DEVICE;
    return (attribute == 1 || attribute == 3) && value && *value == 0 ? SUCCESS : INVALID_VALUE;
}

CU(cuDeviceGraphMemTrim, int device)
{
    return device ? INVALID_DEVICE : SUCCESS;
}

/* ---- objects of the program ---- */

struct object {
    struct object *next;
    void *pointer;
    void (*destroy)(void *pointer);
    uint64_t references;
};
static struct object *objects;

/* The references of a graph to an object. */
struct object_use {
    struct object_use *next;
    struct object *object;
    uint64_t references;
};

static bool is_object(const struct object *object)
{
    for (const struct object *at = objects; at; at = at->next)
        if (at == object)
            return true;
    return false;
}

static void release(struct object *object, uint64_t count)
{
    object->references -= count;
    if (object->references)
        return;
    struct object **link = &objects;
    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
    object->destroy(object->pointer); /* it must not call the API */
    free(object);
}

CU(cuUserObjectCreate, struct object **object, void *pointer, void (*destroy)(void *),
   unsigned count, unsigned flags)
{
    LOCK;
    enum { NO_DESTRUCTOR_SYNC = 1 };
    if (!object || !destroy || count == 0 || count > INT32_MAX || flags != NO_DESTRUCTOR_SYNC)
        return INVALID_VALUE;
    struct object *made = calloc(1, sizeof *made);
    if (!made)
        return OUT_OF_MEMORY;
    *made = (struct object){objects, pointer, destroy, count};
    objects = made;
    *object = made;
    return SUCCESS;
}

CU(cuUserObjectRetain, struct object *object, unsigned count)
{
    LOCK;
    if (!is_object(object) || count == 0 || count > INT32_MAX)
        return INVALID_VALUE;
    object->references += count;
    return SUCCESS;
}

CU(cuUserObjectRelease, struct object *object, unsigned count)
{
    LOCK;
    if (!is_object(object) || count == 0 || count > object->references)
        return INVALID_VALUE;
    release(object, count);
    return SUCCESS;
}

static struct object_use **find_use(struct graph *graph, const struct object *object)
{
    struct object_use **link = &graph->objects;
    while (*link && (*link)->object != object)
        link = &(*link)->next;
    return link;
}

static bool add_use(struct graph *graph, struct object *object, uint64_t count)
{
    struct object_use **link = find_use(graph, object);
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link)
            return false;
        (*link)->object = object;
    }
    (*link)->references += count;
    return true;
}

/* With the flag MOVE, the references are taken over from the caller. */
CU(cuGraphRetainUserObject, struct graph *graph, struct object *object, unsigned count,
   unsigned flags)
{
    LOCK;
    enum { MOVE = 1 };
    if (!driver_is_graph(graph, false) || !is_object(object) || count == 0 || count > INT32_MAX ||
        flags > MOVE || (flags == MOVE && count > object->references))
        return INVALID_VALUE;
    if (!add_use(graph, object, count))
        return OUT_OF_MEMORY;
    if (flags != MOVE)
        object->references += count;
    return SUCCESS;
}

CU(cuGraphReleaseUserObject, struct graph *graph, struct object *object, unsigned count)
{
    LOCK;
    if (!driver_is_graph(graph, false) || !is_object(object) || count == 0)
        return INVALID_VALUE;
    struct object_use **link = find_use(graph, object), *use = *link;
    if (!use || use->references < count)
        return INVALID_VALUE;
    use->references -= count;
    if (use->references == 0) {
        *link = use->next;
        free(use);
    }
    release(object, count);
    return SUCCESS;
}

bool driver_objects_copy(const struct graph *from, struct graph *to)
{
    for (const struct object_use *at = from->objects; at; at = at->next) {
        if (!add_use(to, at->object, at->references))
            return false;
        at->object->references += at->references;
    }
    return true;
}

void driver_objects_release(struct graph *graph)
{
    while (graph->objects) {
        struct object_use *use = graph->objects;
        graph->objects = use->next;
        release(use->object, use->references);
        free(use);
    }
}
