/* What the tests of fleets share: fleets from texts. */
#ifndef FTH_TESTS_FLEET_PARTS_H
#define FTH_TESTS_FLEET_PARTS_H

#include "check.h"
#include "fleet/fleet.h"

#include <stdio.h>

/* Creates an empty fleet. */
static inline struct fth_fleet *new_fleet(void)
{
    struct fth_fleet *fleet = NULL;
    assert_int_equal(fth_fleet_create(&fleet, NULL), FTH_OK);
    return fleet;
}

/* Adds the measurement of a document. Returns the status; `error` may be NULL. */
static inline enum fth_status add_text(struct fth_fleet *fleet, const char *file, const char *text,
                                       struct fth_error *error)
{
    struct fth_fleet_builder builder = {.fleet = fleet};
    const enum fth_status status =
        fth_fleet_add_document(&builder, file, file, text, strlen(text), error);
    fth_fleet_builder_fini(&builder);
    return status;
}

/* Adds a record with these members behind its schema. */
static inline void add_record(struct fth_fleet *fleet, const char *file, const char *members)
{
    char text[2048];
    struct fth_error error = NO_ERROR;
    snprintf(text, sizeof text, "{\"schema\": \"fathom-fleet-record/1\", %s}", members);
    if (add_text(fleet, file, text, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
}

/* Returns the value of a figure in a measurement of the fleet, NULL if it has none. */
static inline const struct fth_fleet_value *value_of(const struct fth_fleet *fleet,
                                                     size_t measurement, const char *figure)
{
    const uint32_t index = fth_fleet_figure_find(fleet, figure);
    return index == UINT32_MAX ? NULL : fth_fleet_find(&fleet->measurements[measurement], index);
}

#endif
