/* The devices of all OpenCL platforms. A device has an index over all platforms, in the order in
 * which the library reports them. It can also be selected by the index of its platform and its
 * index there, or by a part of its name or of the name of its platform. */
#include "device/opencl/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Maximum number of platforms. Chosen: more than any computer has. */
enum { MAX_PLATFORMS = 16 };
static const char operation[] = "open OpenCL device";
static const char no_device[] =
    "the OpenCL library finds no device; install the vendor's OpenCL driver (Debian: "
    "intel-opencl-icd, nvidia-opencl-icd; AMD: ROCm; for the CPU: pocl-opencl-icd)";

/* ---- queries ---- */

void fth_opencl_text(const struct fth_opencl *cl, void *device, uint32_t what, char *text,
                     size_t size)
{
    char value[1024] = "";
    if (cl->device_info(device, what, sizeof value - 1, value, NULL) != 0)
        value[0] = '\0';
    value[sizeof value - 1] = '\0';
    const char *start = value; /* some drivers put spaces around the name */
    while (isspace((unsigned char)*start))
        start++;
    size_t length = strlen(start);
    while (length > 0 && isspace((unsigned char)start[length - 1]))
        length--;
    snprintf(text, size, "%.*s", (int)length, start);
}

bool fth_opencl_has_extension(const struct fth_opencl *cl, void *device, const char *name)
{
    /* The list of names. Intel's has about 2,000 characters. */
    char value[16384] = "";
    const size_t size = strlen(name);
    if (cl->device_info(device, FTH_CL_DEVICE_EXTENSIONS, sizeof value - 1, value, NULL) != 0)
        return false;
    value[sizeof value - 1] = '\0';
    for (const char *at = value; (at = strstr(at, name)); at += size)
        if ((at == value || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
            return true;
    return false;
}

uint64_t fth_opencl_number(const struct fth_opencl *cl, void *device, uint32_t what)
{
    /* The numbers have 32 or 64 bits; both are read on a little-endian computer. */
    uint64_t value = 0;
    return cl->device_info(device, what, sizeof value, &value, NULL) == 0 ? value : 0;
}

static bool contains(const char *text, const char *part)
{
    const size_t size = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, size) == 0)
            return true;
    return false;
}

const char *fth_opencl_vendor_name(const char *reported)
{
    static const struct {
        const char *part, *name;
    } vendors[] = {{"Advanced Micro Devices", "AMD"},
                   {"AMD", "AMD"},
                   {"Intel", "Intel"},
                   {"NVIDIA", "NVIDIA"},
                   {"ARM", "ARM"}};
    for (size_t i = 0; i < FTH_COUNT(vendors); i++)
        if (contains(reported, vendors[i].part))
            return vendors[i].name;
    return reported;
}

/* ---- finding devices ---- */

static void add_device(const struct fth_opencl *cl, struct fth_opencl_entries *entries,
                       const struct fth_opencl_entry *platform, unsigned index, void *device)
{
    if (entries->count == FTH_COUNT(entries->items))
        return;
    struct fth_opencl_entry *entry = &entries->items[entries->count++];
    *entry = *platform;
    entry->device = device;
    entry->index = index;
    fth_opencl_text(cl, device, FTH_CL_DEVICE_BOARD_NAME_AMD, entry->name, sizeof entry->name);
    if (!entry->name[0])
        fth_opencl_text(cl, device, FTH_CL_DEVICE_NAME, entry->name, sizeof entry->name);
    fth_opencl_text(cl, device, FTH_CL_DEVICE_VENDOR, entry->vendor, sizeof entry->vendor);
}

/* Adds the devices of a platform. Returns the error of OpenCL; a platform without devices is none.
 */
static fth_cl_int add_platform(const struct fth_opencl *cl, void *platform, unsigned index,
                               struct fth_opencl_entries *entries)
{
    struct fth_opencl_entry entry = {.platform = platform, .platform_index = index};
    void *devices[FTH_OPENCL_MAX_DEVICES];
    uint32_t count = 0;
    if (cl->platform_info(platform, FTH_CL_PLATFORM_NAME, sizeof entry.platform_name - 1,
                          entry.platform_name, NULL) != 0)
        entry.platform_name[0] = '\0';
    fth_cl_int result =
        cl->device_ids(platform, FTH_CL_TYPE_ALL, FTH_COUNT(devices), devices, &count);
    if (result != 0)
        return result == FTH_CL_DEVICE_NOT_FOUND ? 0 : result;
    for (unsigned i = 0; i < count && i < FTH_COUNT(devices); i++)
        add_device(cl, entries, &entry, i, devices[i]);
    return 0;
}

enum fth_status fth_opencl_find(const struct fth_opencl *cl, struct fth_opencl_entries *entries,
                                struct fth_error *error)
{
    void *platforms[MAX_PLATFORMS];
    uint32_t count = 0;
    entries->count = 0;
    fth_cl_int result = cl->platform_ids(FTH_COUNT(platforms), platforms, &count), fault = 0;
    if (result == FTH_CL_PLATFORM_NOT_FOUND)
        count = 0;
    else if (result != 0)
        return fth_opencl_fail(result, "clGetPlatformIDs", error);
    for (unsigned i = 0; i < count && i < FTH_COUNT(platforms); i++) {
        result = add_platform(cl, platforms[i], i, entries);
        fault = fault ? fault : result;
    }
    if (entries->count > 0)
        return FTH_OK;
    return fault ? fth_opencl_fail(fault, "clGetDeviceIDs", error)
                 : fth_fail(error, FTH_UNAVAILABLE, operation, NULL, "%s", no_device);
}

/* ---- selecting a device ---- */

static void list_known(const struct fth_opencl_entries *entries, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < entries->count; i++) {
        const struct fth_opencl_entry *entry = &entries->items[i];
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%sopencl:%zu (%.40s, %.40s)", i ? ", " : "", i,
                 entry->name, entry->platform_name);
    }
}

/* Parses a number of at most 6 digits. Returns the end of it, or NULL if there is none. */
static const char *parse_number(const char *text, size_t *number)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6)
        return NULL;
    *number = (size_t)strtoul(text, NULL, 10);
    return text + digits;
}

/* Whether the selector is "INDEX" or "PLATFORM:INDEX". *index receives the index over all
 * platforms; the number of all devices if there is no such device. */
static bool parse_indices(const struct fth_opencl_entries *entries, const char *selector,
                          size_t *index)
{
    size_t first = 0, second = 0;
    const char *end = parse_number(selector, &first);
    if (end && !*end) {
        *index = FTH_MIN(first, entries->count);
        return true;
    }
    end = end && *end == ':' ? parse_number(end + 1, &second) : NULL;
    if (!end || *end)
        return false;
    for (*index = 0; *index < entries->count; (*index)++)
        if (entries->items[*index].platform_index == first &&
            entries->items[*index].index == second)
            break;
    return true;
}

enum fth_status fth_opencl_select(const struct fth_opencl_entries *entries, const char *selector,
                                  size_t *index, struct fth_error *error)
{
    size_t matches = 0;
    char known[384];
    if (parse_indices(entries, selector, index)) {
        matches = *index < entries->count;
    } else {
        for (size_t i = 0; i < entries->count; i++)
            if (contains(entries->items[i].name, selector) ||
                contains(entries->items[i].platform_name, selector)) {
                *index = i;
                matches++;
            }
    }
    if (matches == 1)
        return FTH_OK;
    list_known(entries, known, sizeof known);
    return fth_fail(error, FTH_NOT_FOUND, operation, selector, "%s; available: %s",
                    matches ? "several devices have this name; use the index" : "no such device",
                    known);
}

/* ---- listing ---- */

enum fth_status fth_opencl_list(void (*each)(void *, const struct fth_device_info *), void *user,
                                struct fth_error *error)
{
    struct fth_opencl cl;
    FTH_TRY(fth_opencl_open(&cl, error));
    struct fth_opencl_entries *entries = malloc(sizeof *entries);
    enum fth_status status = entries ? fth_opencl_find(&cl, entries, error)
                                     : fth_no_memory(error, "list OpenCL devices", NULL);
    for (size_t i = 0; status == FTH_OK && i < entries->count; i++) {
        const struct fth_opencl_entry *entry = &entries->items[i];
        char id[32], detail[320], memory[32], driver[64];
        fth_opencl_text(&cl, entry->device, FTH_CL_DRIVER_VERSION, driver, sizeof driver);
        const uint64_t type = fth_opencl_number(&cl, entry->device, FTH_CL_DEVICE_TYPE);
        fth_size_format(
            (double)fth_opencl_number(&cl, entry->device, FTH_CL_DEVICE_GLOBAL_MEM_SIZE), memory,
            sizeof memory);
        snprintf(id, sizeof id, "opencl:%zu", i);
        snprintf(detail, sizeof detail, "%s%s%s, %u compute units, %s, %s, driver %s",
                 fth_opencl_vendor_name(entry->vendor), entry->vendor[0] ? " " : "",
                 type & FTH_CL_TYPE_CPU   ? "CPU"
                 : type & FTH_CL_TYPE_GPU ? "GPU"
                                          : "accelerator",
                 (unsigned)fth_opencl_number(&cl, entry->device, FTH_CL_DEVICE_MAX_COMPUTE_UNITS),
                 memory, entry->platform_name, driver[0] ? driver : "unknown");
        each(user, &(struct fth_device_info){"opencl", id, entry->name, detail});
    }
    free(entries);
    fth_opencl_close(&cl);
    return status;
}
