/* Requests of all families: building, validating, lowering and counting samples, and the canonical
 * text. A recording uses the text as the key of an answer. The families do the work; the parts that
 * they have in common are here. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

static const struct fth_family_ops *const families[FTH_FAMILY_COUNT] = {
    [FTH_FAMILY_CHASE] = &fth_family_chase,       [FTH_FAMILY_FETCH] = &fth_family_fetch,
    [FTH_FAMILY_STREAM] = &fth_family_stream,     [FTH_FAMILY_CLUSTER] = &fth_family_cluster,
    [FTH_FAMILY_OPERATE] = &fth_family_operate,   [FTH_FAMILY_SWEEP] = &fth_family_sweep,
    [FTH_FAMILY_TRANSFER] = &fth_family_transfer,
};

const struct fth_family_ops *fth_family_of(enum fth_family family)
{
    return families[family];
}

/* ---- construction ---- */

struct fth_request fth_request_make(int carveout_percent)
{
    return (struct fth_request){.sm = FTH_ANY_SM, .carveout_percent = carveout_percent};
}

void fth_request_add(struct fth_request *request, enum fth_step_kind kind, enum fth_path path,
                     struct fth_chain chain, uint64_t passes)
{
    struct fth_chase *chase = &request->chase;
    if (chase->step_count < FTH_MAX_STEPS)
        chase->steps[chase->step_count++] =
            (struct fth_step){.kind = kind, .path = path, .chain = chain, .passes = passes};
    else
        chase->too_many = true;
}

/* ---- validation and lowering ---- */

enum fth_status fth_check_carveout(const struct fth_request *request, struct fth_error *error)
{
    if (request->carveout_percent >= -1 && request->carveout_percent <= 100)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, "carveout_percent",
                    "%d is neither -1 nor in the range 0 to 100", request->carveout_percent);
}

enum fth_status fth_request_check(const struct fth_request *request, struct fth_error *error)
{
    if ((unsigned)request->family >= FTH_FAMILY_COUNT)
        return fth_fail(error, FTH_INVALID, operation, "family", "%d is not a family",
                        request->family);
    return families[request->family]->check(request, error);
}

uint64_t fth_request_samples(const struct fth_request *request)
{
    return families[request->family]->samples(request);
}

enum fth_status fth_request_lower(const struct fth_runner *runner,
                                  const struct fth_request *request, struct fth_lowered *lowered,
                                  struct fth_error *error)
{
    const struct fth_family_ops *family = families[request->family];
    *lowered = (struct fth_lowered){.request = request, .sample_count = family->samples(request)};
    if (runner->facts.capability < family->min_capability)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL, "%s", family->too_old);
    return family->lower(runner, lowered, error);
}

struct fth_machine_launch fth_lowered_launch(const struct fth_lowered *lowered)
{
    return (struct fth_machine_launch){.blocks = lowered->blocks,
                                       .threads = lowered->threads,
                                       .cluster = lowered->cluster,
                                       .shared_bytes = lowered->shared_bytes,
                                       .carveout_percent = lowered->request->carveout_percent};
}

/* ---- text ---- */

void fth_request_write_options(const struct fth_request *request, struct fth_buffer *text)
{
    if (request->sm != FTH_ANY_SM)
        fth_buffer_format(text, "; sm %" PRIu32, request->sm);
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
    if (request->cold)
        fth_buffer_text(text, "; cold");
}

void fth_request_write(const struct fth_request *request, struct fth_buffer *text)
{
    families[request->family]->write(request, text);
}

/* ---- samples ---- */

void fth_samples_fini(struct fth_samples *samples)
{
    free(samples->cycles);
    samples->cycles = NULL;
    samples->count = 0;
}
