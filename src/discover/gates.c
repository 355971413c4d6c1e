/* What cannot be true is not told: the figure is taken out, and the reason stands under "unknown".
 */
#include "discover/discover.h"

#include <math.h>
#include <string.h>

static double value_of(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    const struct fth_attribute *found = fth_gpu_attribute(gpu, element, attribute);
    return found ? found->number : NAN;
}

/* Each is nearer than the next: a hit in it takes less time. */
static const char *const nearness[][2] = {
    {"l1", "l2"},
    {"texture", "l2"},
    {"readonly", "l2"},
    {"constant_l1", "constant_l15"},
    {"constant_l15", "memory"},
    {"shared", "l2"},
    {"l2", "memory"},
};
/* Each holds no more than the next. */
static const char *const nesting[][2] = {{"constant_l1", "constant_l15"},
                                         {"instruction_l0", "instruction_l1"},
                                         {"instruction_l1", "instruction_l15"},
                                         {"l1", "l2"},
                                         {"l2", "memory"}};

static enum fth_status take_out(struct fth_discovery *discovery, const char *element,
                                const char *attribute, const char *reason, struct fth_error *error)
{
    fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "%s.%s: %s", element, attribute,
                    reason);
    return fth_note_unknown(discovery->gpu, element, attribute, reason, error);
}

enum fth_status fth_discover_gates(struct fth_discovery *discovery, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(nearness) && status == FTH_OK; i++)
        if (value_of(discovery->gpu, nearness[i][0], "latency_cycles") >=
            value_of(discovery->gpu, nearness[i][1], "latency_cycles"))
            status = take_out(discovery, nearness[i][0], "latency_cycles",
                              "measured as slower than what lies behind it", error);
    for (size_t i = 0; i < FTH_COUNT(nesting) && status == FTH_OK; i++)
        if (value_of(discovery->gpu, nesting[i][0], "size_bytes") >
            value_of(discovery->gpu, nesting[i][1], "size_bytes"))
            status = take_out(discovery, nesting[i][0], "size_bytes",
                              "measured as larger than what lies behind it", error);
    return status;
}
