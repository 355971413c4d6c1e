/* The GPUs of this machine: their list, the names of files for their measurements, and one line
 * about a measurement for the logs of jobs. */
#include "cli.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the list ---- */

/* Whether an id is that of a whole GPU, such as cuda:1. A MIG slice has a UUID instead of a number;
 * a process can use only one of them. */
static bool is_gpu_id(const char *id)
{
    static const char prefix[] = "cuda:";
    if (!id || strncmp(id, prefix, strlen(prefix)) != 0)
        return false;
    id += strlen(prefix);
    return *id && id[strspn(id, "0123456789")] == '\0';
}

static void add_gpu(void *user, const struct fth_device_info *device)
{
    struct cli_gpu_list *list = user;
    if (strcmp(device->backend, "cuda") != 0)
        return;
    if (is_gpu_id(device->id) && list->count < CLI_MAX_GPUS)
        snprintf(list->ids[list->count++], sizeof list->ids[0], "%s", device->id);
    else if (!device->id)
        snprintf(list->reason, sizeof list->reason, "%s", device->detail);
}

int cli_list_gpus(struct cli_gpu_list *list)
{
    struct fth_error error = FTH_NO_ERROR;
    *list = (struct cli_gpu_list){.count = 0};
    if (fth_device_list(add_gpu, list, &error) != FTH_OK)
        return cli_fail(&error);
    if (list->count)
        return CLI_DONE;
    cli_message("this machine has no GPU that can be used%s%s", *list->reason ? ": " : "",
                list->reason);
    return CLI_NO_DEVICE;
}

/* ---- names of files ---- */

bool cli_is_pattern(const char *path)
{
    return path && (strstr(path, "%h") || strstr(path, "%g"));
}

/* Writes the name of this machine up to the first dot. */
static void find_host(char host[256])
{
    host[0] = host[255] = '\0';
    if (gethostname(host, 255) != 0 || !*host)
        snprintf(host, 256, "localhost");
    host[strcspn(host, ".")] = '\0';
}

/* Appends a text for use in a file name: replaces slashes, dots and white space with dashes. */
static void append_sanitised(char *path, size_t *at, const char *text)
{
    for (; *text && *at + 1 < PATH_MAX; text++)
        path[(*at)++] = strchr("/ \t\n", *text) || *text == '.' ? '-' : *text;
}

const char *cli_name_output(const char *pattern, const char *id, const struct fth_gpu *gpu,
                            char *path)
{
    const char *uuid = fth_gpu_text(gpu, "device", "uuid");
    const char *colon = strchr(id, ':');
    char host[256];
    size_t at = 0;
    find_host(host);
    for (; *pattern && at + 1 < PATH_MAX; pattern++) {
        if (*pattern == '%' && (pattern[1] == 'h' || pattern[1] == 'g'))
            append_sanitised(path, &at,
                             *++pattern == 'h' ? host
                             : uuid            ? uuid
                             : colon           ? colon + 1
                                               : id);
        else
            path[at++] = *pattern;
    }
    path[at] = '\0';
    return path;
}

/* ---- the summary ---- */

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The figures of a summary, in groups that begin with a label. */
static const struct {
    const char *label; /* NULL: continues the group */
    const char *section, *name, *what;
    double scale;
    int decimals;
    const char *unit;
} figures[] = {
    {"memory", "memory", "read_bytes_per_s", "read ", 1e-12, 3, " TB/s"},
    {NULL, "memory", "write_bytes_per_s", "write ", 1e-12, 3, " TB/s"},
    {NULL, "memory", "copy_bytes_per_s", "copy ", 1e-12, 3, " TB/s"},
    {NULL, "memory", "latency_cycles", "", 1, 1, " cycles"},
    {"L2", "l2", "read_bytes_per_s", "read ", 1e-12, 3, " TB/s"},
    {NULL, "l2", "latency_cycles", "", 1, 1, " cycles"},
    {"L1", "l1", "latency_cycles", "", 1, 1, " cycles"},
    {"shared memory", "shared", "read_bytes_per_s", "read ", 1e-12, 3, " TB/s"},
    {NULL, "shared", "latency_cycles", "", 1, 1, " cycles"},
    {"under load", "device", "loaded_clock_mhz", "", 1, 0, " MHz"},
    {NULL, "device", "loaded_power_w", "", 1, 0, " W"},
    {NULL, "device", "loaded_temperature_c", "", 1, 0, " C"},
};

int cli_print_summary(const char *id, const struct fth_gpu *gpu, double seconds)
{
    const char *uuid = fth_gpu_text(gpu, "device", "uuid");
    const char *model = fth_gpu_text(gpu, "device", "name");
    const char *host = fth_gpu_text(gpu, "device", "host");
    const char *throttling = fth_gpu_text(gpu, "device", "loaded_throttling");
    const char *group = NULL, *put = NULL;
    char local[256];
    find_host(local);
    if (!throttling)
        throttling = fth_gpu_text(gpu, "device", "throttling");
    printf("%s %s %s:", host ? host : local, uuid ? uuid : id, model ? model : "unknown model");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const double value = fth_gpu_number(gpu, figures[i].section, figures[i].name, NAN);
        if (figures[i].label)
            group = figures[i].label;
        if (isnan(value))
            continue;
        if (put == group)
            printf(",");
        else
            printf("%s %s", put ? ";" : "", group);
        put = group;
        printf(" %s%.*f%s", figures[i].what, figures[i].decimals, value * figures[i].scale,
               figures[i].unit);
    }
    if (throttling)
        printf("%s throttling: %s", put ? ";" : "", throttling);
    printf("%s %.2f s\n", put || throttling ? ";" : "", seconds);
    return cli_finish_stdout();
}
