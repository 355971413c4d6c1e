/* Compares predictions with counters, kernel by kernel. The launches of a kernel are taken
 * together: numbers are means per launch, so that a profile of some launches can be compared with
 * a prediction of all; ratios are computed from the sums. */
#include "profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minimum number of sectors per launch for which a figure counts in the mean errors. A launch
 * itself reads 80 to 500 sectors of code, constants and parameters (docs/results/model-heldout.md);
 * from here on they are at most 5 %. */
enum { MIN_SECTORS = 10000, SECTOR_BYTES = 32 };

/* For figures that are not ratios. */
#define NO_COUNTER FTH_PROFILE_COUNT

const struct fth_profile_figure fth_profile_figures[] = {
    {"l1_read_sectors", "L1 read sectors", false, FTH_PROFILE_L1_READ_SECTORS, NO_COUNTER,
     NO_COUNTER},
    {"l1_read_hit_percent", "L1 read hits %", true, FTH_PROFILE_L1_READ_HITS,
     FTH_PROFILE_L1_READ_SECTORS, FTH_PROFILE_L1_READ_HIT_PERCENT},
    {"l1_write_sectors", "L1 write sectors", false, FTH_PROFILE_L1_WRITE_SECTORS, NO_COUNTER,
     NO_COUNTER},
    {"l2_read_sectors", "L2 read sectors", false, FTH_PROFILE_L2_READ_SECTORS, NO_COUNTER,
     NO_COUNTER},
    {"l2_read_hit_percent", "L2 read hits %", true, FTH_PROFILE_L2_READ_HITS,
     FTH_PROFILE_L2_READ_SECTORS, FTH_PROFILE_L2_READ_HIT_PERCENT},
    {"l2_write_sectors", "L2 write sectors", false, FTH_PROFILE_L2_WRITE_SECTORS, NO_COUNTER,
     NO_COUNTER},
    {"dram_read_bytes", "DRAM read bytes", false, FTH_PROFILE_DRAM_READ_BYTES, NO_COUNTER,
     NO_COUNTER},
    {"dram_write_bytes", "DRAM write bytes", false, FTH_PROFILE_DRAM_WRITE_BYTES, NO_COUNTER,
     NO_COUNTER},
    {"time_us", "Time us", false, FTH_PROFILE_TIME_US, NO_COUNTER, NO_COUNTER},
};
const size_t fth_profile_figure_count = sizeof fth_profile_figures / sizeof fth_profile_figures[0];

/* Returns the mean of a counter over the launches that have it; NAN: none has. */
static double mean_value(const struct fth_profile_kernel *kernel, enum fth_profile_counter counter)
{
    return kernel->values[counter] / (double)kernel->known[counter];
}

/* Returns the figure of a kernel; NAN: the counters for it are missing. */
static double figure_value(const struct fth_profile_kernel *kernel,
                           const struct fth_profile_figure *figure)
{
    if (!figure->is_ratio)
        return mean_value(kernel, figure->value);
    /* Hits and sectors must be those of the same launches. */
    const double hits = kernel->values[figure->value], sectors = kernel->values[figure->sectors];
    if (kernel->known[figure->value] &&
        kernel->known[figure->value] == kernel->known[figure->sectors])
        return sectors > 0 ? 100 * hits / sectors : (double)NAN;
    return mean_value(kernel, figure->percent);
}

/* Returns whether the GPU counted enough for the error to mean something. Times always count. */
static bool is_large(const struct fth_profile_kernel *gpu, const struct fth_profile_figure *figure)
{
    if (figure->value == FTH_PROFILE_TIME_US)
        return true;
    if (figure->is_ratio) /* without a counter of sectors, the ratio is all there is */
        return !(mean_value(gpu, figure->sectors) < MIN_SECTORS);
    const bool bytes = figure->value == FTH_PROFILE_DRAM_READ_BYTES ||
                       figure->value == FTH_PROFILE_DRAM_WRITE_BYTES;
    return mean_value(gpu, figure->value) >= MIN_SECTORS * (bytes ? SECTOR_BYTES : 1);
}

static bool add_pair(struct fth_profile_comparison *comparison,
                     const struct fth_profile_kernel *gpu, const struct fth_profile_kernel *model,
                     const struct fth_profile_figure *figure)
{
    const double measured = figure_value(gpu, figure), predicted = figure_value(model, figure);
    if (isnan(measured) || isnan(predicted))
        return true;
    void *pairs = comparison->pairs;
    if (!fth_grow(&pairs, comparison->count, &comparison->capacity, sizeof *comparison->pairs))
        return false;
    comparison->pairs = pairs;
    double error = predicted - measured;
    if (!figure->is_ratio)
        error = measured > 0 ? 100 * error / measured : (double)NAN;
    comparison->pairs[comparison->count++] =
        (struct fth_profile_pair){gpu,
                                  model,
                                  figure,
                                  measured,
                                  predicted,
                                  error,
                                  .counts = !isnan(error) && is_large(gpu, figure)};
    return true;
}

static void compute_errors(struct fth_profile_comparison *comparison)
{
    for (size_t f = 0; f < fth_profile_figure_count; f++) {
        struct fth_profile_error *error = &comparison->errors[f];
        double sum = 0, maximum = 0;
        for (size_t i = 0; i < comparison->count; i++) {
            const struct fth_profile_pair *pair = &comparison->pairs[i];
            if (pair->figure != &fth_profile_figures[f] || !pair->counts)
                continue;
            error->kernels++;
            sum += fabs(pair->error);
            maximum = fmax(maximum, fabs(pair->error));
        }
        error->mean = error->kernels ? sum / (double)error->kernels : (double)NAN;
        error->maximum = error->kernels ? maximum : (double)NAN;
    }
}

/* The names of the model's kernels, and which of them a name of the profile matches. */
struct names {
    const char **texts;
    bool *matches;
    size_t count;
};

/* Returns the size of the unnamed namespace at the beginning of `name`, in Nsight Compute's or in
 * c++filt's form; 0: it begins with something else. */
static size_t unnamed_size(const char *name)
{
    static const char *const forms[] = {"<unnamed>::", "(anonymous namespace)::"};
    for (size_t i = 0; i < FTH_COUNT(forms); i++)
        if (strncmp(name, forms[i], strlen(forms[i])) == 0)
            return strlen(forms[i]);
    return 0;
}

/* Writes a C++ name without return type, template arguments and parameters. Nsight Compute writes
 * these in another way than other tools, such as "void <unnamed>::f<(int)32>(const float *)". */
static void cut_name(const char *name, char *text, size_t size)
{
    size_t used = 0;
    while (*name && used + sizeof "(anonymous namespace)::" < size) {
        const size_t unnamed = unnamed_size(name);
        if (unnamed) {
            used += (size_t)snprintf(text + used, size - used, "(anonymous namespace)::");
            name += unnamed;
        } else if (*name == '<' || *name == '(') {
            break;
        } else if (*name == ' ') {
            used = 0; /* what came before is a return type */
            name++;
        } else {
            text[used++] = *name++;
        }
    }
    text[used] = '\0';
}

/* Finds the prediction for a kernel of the GPU. *found is NULL if there is none. */
static enum fth_status find_model(const struct names *names, const struct fth_profile *model,
                                  const char *kernel, const struct fth_profile_kernel **found,
                                  struct fth_error *error)
{
    char list[400], base[FTH_NAME_BYTES];
    *found = NULL;
    size_t count = fth_name_match_whole(kernel, names->texts, names->count, names->matches);
    if (!count) {
        cut_name(kernel, base, sizeof base);
        count = *base ? fth_name_match_whole(base, names->texts, names->count, names->matches) : 0;
    }
    if (count > 1) {
        fth_name_list(names->texts, names->count, names->matches, FTH_NAME_PARAMETERS, list,
                      sizeof list);
        return fth_fail(error, FTH_INVALID, "compare counters", kernel,
                        "several predicted kernels have this name: %s; run ncu with "
                        "--print-kernel-base mangled",
                        list);
    }
    for (size_t i = 0; i < names->count && count; i++)
        if (names->matches[i])
            *found = &model->kernels[i];
    return FTH_OK;
}

static enum fth_status compare_kernels(const struct fth_profile *gpu,
                                       const struct fth_profile *model, const struct names *names,
                                       struct fth_profile_comparison *comparison,
                                       struct fth_error *error)
{
    for (size_t k = 0; k < gpu->count; k++) {
        const struct fth_profile_kernel *prediction;
        FTH_TRY(find_model(names, model, gpu->kernels[k].name, &prediction, error));
        if (!prediction || !prediction->launches) {
            comparison->unpaired[comparison->unpaired_count++] = &gpu->kernels[k];
            continue;
        }
        const size_t before = comparison->count;
        for (size_t f = 0; f < fth_profile_figure_count; f++)
            if (!add_pair(comparison, &gpu->kernels[k], prediction, &fth_profile_figures[f]))
                return fth_no_memory(error, "compare counters", NULL);
        if (comparison->count == before)
            comparison->unpaired[comparison->unpaired_count++] = &gpu->kernels[k];
    }
    return FTH_OK;
}

enum fth_status fth_profile_compare(const struct fth_profile *gpu, const struct fth_profile *model,
                                    struct fth_profile_comparison *comparison,
                                    struct fth_error *error)
{
    struct names names = {.count = model->count};
    enum fth_status status = FTH_OK;
    names.texts = calloc(model->count + 1, sizeof *names.texts);
    names.matches = calloc(model->count + 1, sizeof *names.matches);
    comparison->errors = calloc(fth_profile_figure_count, sizeof *comparison->errors);
    comparison->unpaired = calloc(gpu->count + 1, sizeof *comparison->unpaired);
    if (!names.texts || !names.matches || !comparison->errors || !comparison->unpaired)
        status = fth_no_memory(error, "compare counters", NULL);
    for (size_t i = 0; i < model->count && status == FTH_OK; i++)
        names.texts[i] = model->kernels[i].name;
    if (status == FTH_OK)
        status = compare_kernels(gpu, model, &names, comparison, error);
    if (status == FTH_OK && comparison->unpaired_count == gpu->count) {
        char list[400];
        fth_name_list(names.texts, names.count, NULL, FTH_NAME_SHORT, list, sizeof list);
        status = fth_fail(error, FTH_INVALID, "compare counters", NULL,
                          "no counter of the profile was predicted; predictions are for: %s", list);
    }
    if (status == FTH_OK)
        compute_errors(comparison);
    free(names.texts);
    free(names.matches);
    return status;
}

void fth_profile_comparison_fini(struct fth_profile_comparison *comparison)
{
    free(comparison->pairs);
    free(comparison->errors);
    free(comparison->unpaired);
}
