/* Fuzzes the reader of references (fth_reference_read_text). A reference must be refused with a
 * message, or be written and read again without a difference. Merging it with an empty one must not
 * change it; quantiles must be finite. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sketch(const struct fth_sketch *sketch)
{
    const double median = fth_sketch_quantile(sketch, 0.5);
    const double deviation = fth_sketch_deviation(sketch, 1);
    if (isnan(median) != (sketch->count == 0) || isnan(deviation) != (sketch->count == 0))
        abort();
    for (size_t i = 1; i < sketch->bin_count; i++)
        if (sketch->bins[i - 1].index >= sketch->bins[i].index)
            abort();
}

/* Checks each figure, and that it can be found. */
static void check_figures(const struct fth_fleet_reference *reference)
{
    for (size_t i = 0; i < reference->cohort_count; i++) {
        const struct fth_reference_cohort *cohort = &reference->cohorts[i];
        if (fth_reference_cohort_for(reference, &cohort->cohort) != cohort)
            abort();
        for (size_t j = 0; j < cohort->figure_count; j++) {
            const struct fth_reference_figure *figure = &cohort->figures[j];
            if (fth_reference_find(cohort, figure->name) != figure ||
                figure->value_count > FTH_REFERENCE_MAX_VALUES)
                abort();
            check_sketch(&figure->gpus);
            check_sketch(&figure->repeats);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_fleet_reference *reference = NULL, *again = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *once = NULL, *twice = NULL;
    size_t once_size = 0, twice_size = 0;
    if (fth_reference_read_text("fuzz", (const char *)data, size, &reference, &error) != FTH_OK) {
        if (reference || !error.cause[0] || strchr(error.cause, '\n'))
            abort();
        return 0;
    }
    check_figures(reference);
    if (fth_fleet_reference_text(reference, &once, &once_size, NULL) != FTH_OK ||
        fth_reference_create(&again, NULL) != FTH_OK ||
        fth_fleet_reference_merge(again, reference, NULL) != FTH_OK ||
        fth_fleet_reference_text(again, &twice, &twice_size, NULL) != FTH_OK ||
        once_size != twice_size || memcmp(once, twice, once_size) != 0)
        abort();
    fth_fleet_reference_destroy(again);
    if (fth_reference_read_text("again", once, once_size, &again, NULL) != FTH_OK)
        abort();
    fth_free(twice);
    if (fth_fleet_reference_text(again, &twice, &twice_size, NULL) != FTH_OK ||
        once_size != twice_size || memcmp(once, twice, once_size) != 0)
        abort();
    fth_free(once);
    fth_free(twice);
    fth_fleet_reference_destroy(again);
    fth_fleet_reference_destroy(reference);
    return 0;
}
