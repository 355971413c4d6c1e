/* Fuzzes the readers of measurements (fth_fleet_add_document): descriptions and records. The input
 * has one document per line or, if its first line is not one, is a single document.
 *
 * Each document must be refused with a message, or be added. The fleet can then be written as
 * records, which are read again without a difference, and its reference can be made. */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds a document. Returns whether it was accepted. */
static bool add(struct fth_fleet *fleet, const char *name, const char *text, size_t size)
{
    struct fth_fleet_builder builder = {.fleet = fleet};
    struct fth_error error = FTH_NO_ERROR;
    const size_t figures = fleet->figure_count, measurements = fleet->measurement_count;
    const enum fth_status status = fth_fleet_add_document(&builder, name, name, text, size, &error);
    fth_fleet_builder_fini(&builder);
    if (status != FTH_OK &&
        (!error.cause[0] || strchr(error.cause, '\n') || fleet->figure_count != figures ||
         fleet->measurement_count != measurements))
        abort();
    return status == FTH_OK;
}

/* Adds each line. Returns how many were accepted. */
static size_t add_lines(struct fth_fleet *fleet, const char *text, size_t size)
{
    size_t accepted = 0;
    for (size_t at = 0, length; at < size; at += length + 1) {
        const char *end = memchr(text + at, '\n', size - at);
        length = end ? (size_t)(end - text) - at : size - at;
        accepted += add(fleet, "fuzz", text + at, length);
    }
    return accepted;
}

static void check_records(const struct fth_fleet *fleet)
{
    struct fth_fleet *again = NULL;
    char *once = NULL, *twice = NULL;
    size_t once_size = 0, twice_size = 0;
    if (fth_fleet_create(&again, NULL) != FTH_OK ||
        fth_fleet_records(fleet, &once, &once_size, NULL) != FTH_OK ||
        add_lines(again, once, once_size) != fleet->measurement_count ||
        again->gpu_count != fleet->gpu_count ||
        fth_fleet_records(again, &twice, &twice_size, NULL) != FTH_OK)
        abort();
    if (once_size != twice_size || memcmp(once, twice, once_size) != 0)
        abort();
    fth_free(once);
    fth_free(twice);
    fth_fleet_destroy(again);
}

static void check_reference(struct fth_fleet *fleet, bool mixed)
{
    struct fth_fleet_judge_options options =
        FTH_FLEET_JUDGE_OPTIONS(.mix_drivers = mixed, .mix_boards = mixed);
    struct fth_fleet_reference *reference = NULL, *again = NULL;
    char *text = NULL;
    size_t size = 0, gpus = 0;
    if (fth_fleet_refer(fleet, &options, &reference, NULL) != FTH_OK ||
        fth_fleet_reference_text(reference, &text, &size, NULL) != FTH_OK ||
        fth_reference_read_text("again", text, size, &again, NULL) != FTH_OK)
        abort();
    for (size_t i = 0; i < again->cohort_count; i++)
        gpus += again->cohorts[i].cohort.gpu_count;
    if (gpus != fleet->gpu_count)
        abort();
    fth_free(text);
    fth_fleet_reference_destroy(reference);
    fth_fleet_reference_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_fleet *fleet = NULL;
    if (fth_fleet_create(&fleet, NULL) != FTH_OK)
        abort();
    if (!add(fleet, "fuzz", (const char *)data, size))
        add_lines(fleet, (const char *)data, size);
    check_records(fleet);
    check_reference(fleet, false);
    check_reference(fleet, true);
    fth_fleet_destroy(fleet);
    return 0;
}
