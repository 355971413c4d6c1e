/* Measures the levels of a GPU's memory, and prints each latency with its interval and how certain
 * it is.
 *
 *   ./measure_gpu                measure the first GPU; without a GPU, a simulated one
 *   ./measure_gpu cuda:1         measure another GPU ('fathom devices' lists them)
 *   ./measure_gpu sim:a100       measure a simulated GPU ('fathom gpus' lists them)
 *
 * README.md in this folder describes how to build it. */
#include <fathom/fathom.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints messages of the library, such as the one that there is no GPU. struct fth_log also has
 * callbacks for progress and Ctrl-C. */
static void print_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    (void)level;
    fprintf(stderr, "measure_gpu: %s\n", text);
}

static const struct fth_log console = {.message = print_message};

/* Opens a device and measures it. The caller destroys *gpu. */
static enum fth_status measure(const char *id, struct fth_gpu **gpu, bool *simulated,
                               struct fth_error *error)
{
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.only = "shared,l1,l2,memory", .log = &console);
    struct fth_device *device = NULL;
    enum fth_status status = fth_device_open(id, &console, &device, error);
    if (status != FTH_OK)
        return status;
    *simulated = strncmp(fth_device_id(device), "sim:", 4) == 0;
    status = fth_discover(device, &options, gpu, error);
    fth_device_close(device);
    return status;
}

/* Prints a figure and what the description says about it. Members that are not known are NAN. */
static void print_figure(const struct fth_gpu *gpu, const char *element, const char *name)
{
    const struct fth_attribute *figure = fth_gpu_attribute(gpu, element, name);
    if (!figure) {
        const char *reason = fth_gpu_unknown(gpu, element, name);
        printf("%-8s not known: %s\n", element, reason ? reason : "this GPU does not have it");
        return;
    }
    printf("%-8s %6.1f cycles", element, figure->number);
    if (!isnan(figure->low) && !isnan(figure->high))
        printf(", %.1f to %.1f", figure->low, figure->high);
    if (!isnan(figure->confidence))
        printf(", confidence %.3f", figure->confidence);
    if (!isnan(figure->samples))
        printf(", %.0f samples", figure->samples);
    printf("\n");
}

int main(int count, char *words[])
{
    static const char *const elements[] = {"shared", "l1", "l2", "memory"};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    bool simulated = false;
    /* The id NULL is the default device. */
    enum fth_status status = measure(count > 1 ? words[1] : NULL, &gpu, &simulated, &error);
    if (status == FTH_OK) {
        const char *name = fth_gpu_text(gpu, "device", "name");
        printf("%s%s\n", name ? name : "GPU", simulated ? " (simulated)" : "");
        for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
            print_figure(gpu, elements[i], "latency_cycles");
    } else {
        char text[sizeof error];
        fprintf(stderr, "measure_gpu: %s\n", fth_error_text(&error, text, sizeof text));
    }
    fth_gpu_destroy(gpu);
    return status == FTH_OK ? 0 : 1;
}
