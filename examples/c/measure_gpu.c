/* An example of a program that uses the library. It prints the latency of each level of a GPU's
 * memory, and the number of bytes that must be in flight for the full memory bandwidth (Little's
 * law: latency x bandwidth).
 *
 *   cc levels.c $(pkg-config --cflags --libs fathom) -o levels
 *   ./levels                   measure the first GPU, or a simulated H200 without one
 *   ./levels sim:a100          measure a simulated GPU
 *   ./levels gpu.json          read a description written by 'fathom topo --json -o gpu.json'
 */
#include <fathom/fathom.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints warnings of the library. struct fth_log also has callbacks for progress and Ctrl-C. */
static void print_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    if (level <= FTH_LOG_WARNING)
        fprintf(stderr, "levels: %s\n", text);
}

static const struct fth_log console = {.message = print_message};

/* Measures a device. NULL selects the first GPU or, without one, a simulated H200. The caller
 * destroys *gpu. */
static enum fth_status measure(const char *id, struct fth_gpu **gpu, struct fth_error *error)
{
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = "l1,l2,memory,shared", .log = &console);
    struct fth_device *device = NULL;
    enum fth_status status = fth_device_open(id, &console, &device, error);
    if (status == FTH_OK)
        status = fth_discover(device, &options, gpu, error);
    fth_device_close(device);
    return status;
}

static void show(const struct fth_gpu *gpu)
{
    static const char *const levels[] = {"shared", "l1", "l2", "memory"};
    const char *name = fth_gpu_text(gpu, "device", "name");
    printf("%s\n", name ? name : "GPU");
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const struct fth_attribute *latency = fth_gpu_attribute(gpu, levels[i], "latency_cycles");
        const double size = fth_gpu_number(gpu, levels[i], "size_bytes", NAN);
        if (!latency)
            continue;
        printf("%-8s %6.1f cycles", levels[i], latency->number);
        if (!isnan(latency->low) && !isnan(latency->high))
            printf(" (%.1f to %.1f)", latency->low, latency->high);
        if (!isnan(size))
            printf(", %.0f KiB", size / 1024);
        printf("\n");
    }
    const double ns = fth_gpu_number(gpu, "memory", "latency_ns", NAN);
    const double rate = fth_gpu_number(gpu, "memory", "read_bytes_per_s", NAN);
    if (!isnan(ns) && !isnan(rate))
        printf("in flight for full memory bandwidth: %.0f KiB\n", ns * 1e-9 * rate / 1024);
}

int main(int count, char *words[])
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    const char *what = count > 1 ? words[1] : NULL;
    enum fth_status status = what && strstr(what, ".json") && !strchr(what, ':')
                                 ? fth_gpu_read_file(what, &console, &gpu, &error)
                                 : measure(what, &gpu, &error);
    if (status == FTH_OK) {
        show(gpu);
    } else {
        char text[sizeof error];
        fprintf(stderr, "levels: %s\n", fth_error_text(&error, text, sizeof text));
    }
    fth_gpu_destroy(gpu);
    return status == FTH_OK ? 0 : 1;
}
