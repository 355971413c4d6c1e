/* Measures how long reading and judging a folder of descriptions takes, compared with parsing their
 * text as JSON alone, and how much memory a GPU takes. The time for 10,000 GPUs follows: the files
 * are read by several threads, the judgement is made by one.
 *
 * usage: speed_fleet DESCRIPTION [NUMBER-OF-GPUS] */
#include "base/base.h"
#include "base/json.h"
#include "clock.h"
#include "fathom/fathom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Goals: 10,000 descriptions in 10 s on two cores and in 1 GiB. A JSON parser of 0.3 GB/s takes 1.2
 * s for them; the factor leaves room for machines with other relative speeds. */
enum { DEFAULT_GPUS = 1000, MAX_RATIO = 4, MAX_KIB_PER_GPU = 100 };

static char folder[] = "/tmp/fathom-speed-XXXXXX";

/* Replaces the last twelve digits of the UUID. */
static void set_uuid(char *text, size_t index)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%012zx", index);
    memcpy(strstr(text, "\"GPU-") + 29, digits, 12);
}

static bool write_files(char *text, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        set_uuid(text, i);
        snprintf(path, sizeof path, "%s/%06zu.json", folder, i);
        FILE *file = fopen(path, "w");
        if (!file || fwrite(text, 1, size, file) != size || fclose(file) != 0)
            return false;
    }
    return true;
}

static void remove_files(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%06zu.json", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

static long memory_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static bool parse_all(const char *text, size_t size, size_t count)
{
    bool parsed = true;
    for (size_t i = 0; i < count && parsed; i++) {
        struct fth_json_document document = {0};
        parsed = fth_json_parse("description", text, size, &document, NULL) == FTH_OK;
        fth_json_fini(&document);
    }
    return parsed;
}

/* Reads and judges the folder; the times are processor seconds. */
static bool judge(size_t count, double *reading, double *judging)
{
    const struct fth_fleet_options options = FTH_FLEET_OPTIONS(.threads = 2);
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_judgement *judgement = NULL;
    const double start = processor_seconds();
    bool done = fth_fleet_create(&fleet, NULL) == FTH_OK &&
                fth_fleet_add_path(fleet, folder, &options, NULL) == FTH_OK;
    *reading = processor_seconds() - start;
    done = done && fth_fleet_judge(fleet, NULL, &judgement, NULL) == FTH_OK &&
           fth_fleet_judgement_counts(judgement).healthy == count;
    *judging = processor_seconds() - start - *reading;
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
    return done;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : DEFAULT_GPUS;
    struct fth_buffer text = {0};
    double reading = 0, judging = 0;
    if (argc < 2 ||
        fth_file_read(argv[1], FTH_FILE_LIMIT("a description", 1 << 20), &text, NULL) != FTH_OK ||
        !mkdtemp(folder))
        return 2;
    bool done = write_files(text.data, text.size, count);
    const double start = processor_seconds();
    done = done && parse_all(text.data, text.size, count);
    const double parsing = processor_seconds() - start;
    const long before = memory_kib();
    done = done && judge(count, &reading, &judging);
    const double gpu_kib = (double)(memory_kib() - before) / (double)count;
    const double ratio = (reading + judging) / parsing;
    remove_files(count);
    fth_buffer_fini(&text);
    printf("fleet: %.0f us per GPU to read, %.0f us to judge, JSON alone %.0f us, ratio %.2f; %.0f "
           "KiB per GPU\n",
           1e6 * reading / (double)count, 1e6 * judging / (double)count,
           1e6 * parsing / (double)count, ratio, gpu_kib);
    printf("fleet: 10,000 GPUs take %.1f s on two cores and %.2f GiB\n",
           1e4 * (reading / 2 + judging) / (double)count, gpu_kib * 1e4 / 1048576);
    return done && ratio <= MAX_RATIO && gpu_kib <= MAX_KIB_PER_GPU ? 0 : 1;
}
