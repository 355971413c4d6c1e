/* Linking of images. PTX that a program adds becomes the result as it is: the engine executes PTX.
 * Several images cannot be linked. */
#include "cuda_driver.h"

struct link {
    struct link *next;
    struct fth_buffer image;
};
static struct link *links;

static bool is_link(const struct link *link)
{
    for (const struct link *at = links; at; at = at->next)
        if (at == link)
            return true;
    return false;
}

CU(cuLinkCreate_v2, unsigned count, const int *options, void **values, struct link **link)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!link || (count && (!options || !values)))
        return INVALID_VALUE;
    *link = calloc(1, sizeof **link);
    if (!*link)
        return OUT_OF_MEMORY;
    (*link)->next = links;
    links = *link;
    driver_write_log(count, options, values, "");
    return SUCCESS;
}
ALIAS(cuLinkCreate, cuLinkCreate_v2);

/* Types of images (CUjitInputType). */
enum { TYPE_PTX = 1 };

/* Adds PTX, which may have a terminating zero. */
static int add(struct link *link, int type, const char *data, size_t bytes)
{
    if (!is_link(link))
        return INVALID_HANDLE;
    if (!data || !bytes)
        return INVALID_VALUE;
    if (type != TYPE_PTX)
        return driver_unsupported("linking of images other than PTX");
    if (link->image.size)
        return driver_unsupported("linking of several images");
    while (bytes && data[bytes - 1] == '\0')
        bytes--;
    fth_buffer_append(&link->image, data, bytes);
    fth_buffer_append(&link->image, "", 1);
    return link->image.failed ? OUT_OF_MEMORY : SUCCESS;
}

CU(cuLinkAddData_v2, struct link *link, int type, const void *data, size_t bytes, const char *name,
   unsigned count, const int *options, void **values)
{
    LOCK;
    (void)name, (void)count, (void)options, (void)values;
    const int result = driver_check();
    return result != SUCCESS ? result : add(link, type, data, bytes);
}
ALIAS(cuLinkAddData, cuLinkAddData_v2);

CU(cuLinkAddFile_v2, struct link *link, int type, const char *path, unsigned count,
   const int *options, void **values)
{
    LOCK;
    struct fth_buffer content = {0};
    (void)count, (void)options, (void)values;
    int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!path)
        return INVALID_VALUE;
    result = fth_file_read(path, FTH_PTX_LIMIT, &content, NULL) == FTH_OK
                 ? add(link, type, content.data, content.size)
                 : FILE_NOT_FOUND;
    fth_buffer_fini(&content);
    return result;
}
ALIAS(cuLinkAddFile, cuLinkAddFile_v2);

static const char empty_ptx[] = ".version 8.0\n.target sm_70\n.address_size 64\n";

CU(cuLinkComplete, struct link *link, void **image, size_t *bytes)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!is_link(link) || !image)
        return is_link(link) ? INVALID_VALUE : INVALID_HANDLE;
    if (!link->image.size) /* as with NVIDIA's driver, the result is a module without contents */
        fth_buffer_append(&link->image, empty_ptx, sizeof empty_ptx);
    if (link->image.failed)
        return OUT_OF_MEMORY;
    *image = link->image.data;
    if (bytes)
        *bytes = link->image.size;
    return SUCCESS;
}

CU(cuLinkDestroy, struct link *link)
{
    LOCK;
    struct link **at = &links;
    while (*at && *at != link)
        at = &(*at)->next;
    if (!*at)
        return INVALID_HANDLE;
    *at = link->next;
    fth_buffer_fini(&link->image);
    free(link);
    return SUCCESS;
}

void driver_free_links(void)
{
    while (links) {
        struct link *next = links->next;
        fth_buffer_fini(&links->image);
        free(links);
        links = next;
    }
}
