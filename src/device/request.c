/* Requests of all families: building, validating, lowering and counting samples, and the canonical
 * text. A recording uses the text as the key of an answer. The families do the work; the parts that
 * they have in common are here. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request", reading[] = "read request";
/* Maximum number of bytes of a request's text in a message. */
#define MAX_SHOWN_BYTES ((size_t)280)

static const struct fth_family_ops *const families[FTH_FAMILY_COUNT] = {
    [FTH_FAMILY_CHASE] = &fth_family_chase,       [FTH_FAMILY_FETCH] = &fth_family_fetch,
    [FTH_FAMILY_STREAM] = &fth_family_stream,     [FTH_FAMILY_CLUSTER] = &fth_family_cluster,
    [FTH_FAMILY_OPERATE] = &fth_family_operate,   [FTH_FAMILY_SWEEP] = &fth_family_sweep,
    [FTH_FAMILY_TRANSFER] = &fth_family_transfer, [FTH_FAMILY_PAIR] = &fth_family_pair,
    [FTH_FAMILY_PLACE] = &fth_family_place,       [FTH_FAMILY_EVICT] = &fth_family_evict,
    [FTH_FAMILY_VISIT] = &fth_family_visit,       [FTH_FAMILY_TRAFFIC] = &fth_family_traffic,
    [FTH_FAMILY_HINT] = &fth_family_hint,         [FTH_FAMILY_CONTEND] = &fth_family_contend,
    [FTH_FAMILY_COPIES] = &fth_family_copies,     [FTH_FAMILY_BRANCH] = &fth_family_branch,
    [FTH_FAMILY_FLIGHT] = &fth_family_flight,     [FTH_FAMILY_MERGE] = &fth_family_merge,
    [FTH_FAMILY_SHARE] = &fth_family_share,
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

/* Reads the options of the whole request. */
static bool read_options(struct fth_scanner *scanner, struct fth_request *request)
{
    uint64_t carveout = 0;
    if (!fth_scan_option_u32(scanner, "; sm ", &request->sm))
        return false;
    if (fth_scan(scanner, "; carveout ")) {
        if (!fth_scan_number(scanner, 100, &carveout))
            return false;
        request->carveout_percent = (int)carveout;
    }
    request->cold = fth_scan(scanner, "; cold");
    request->alone = fth_scan(scanner, "; alone");
    return scanner->at == scanner->end;
}

/* Reads the whole text. On failure, the scanner stops near the unexpected text. */
static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    for (enum fth_family i = 0; i < FTH_FAMILY_COUNT; i++)
        if (families[i]->word && fth_scan_name(scanner, families[i]->word)) {
            request->family = i;
            if (!fth_scan(scanner, " "))
                return false;
        }
    return families[request->family]->read(scanner, request) && read_options(scanner, request);
}

/* The text of a request is unique, so writing what was read shows whether it was canonical. */
enum fth_status fth_request_read(const char *text, size_t size, struct fth_request *request,
                                 struct fth_error *error)
{
    struct fth_scanner scanner = {text, text + size};
    struct fth_buffer canonical = {0};
    *request = fth_request_make(-1);
    if (!read_text(&scanner, request))
        return fth_fail(error, FTH_INVALID, reading, NULL,
                        "unexpected text after %zu bytes of: %.*s", (size_t)(scanner.at - text),
                        (int)FTH_MIN(size, MAX_SHOWN_BYTES), text);
    FTH_TRY(fth_request_check(request, error));
    fth_request_write(request, &canonical);
    enum fth_status status = FTH_OK;
    if (canonical.failed)
        status = fth_no_memory(error, reading, NULL);
    else if (canonical.size != size || memcmp(canonical.data, text, size) != 0)
        status = fth_fail(error, FTH_INVALID, reading, NULL, "the canonical form is: %.*s",
                          (int)FTH_MIN(canonical.size, MAX_SHOWN_BYTES), canonical.data);
    fth_buffer_fini(&canonical);
    return status;
}

/* ---- samples ---- */

void fth_samples_fini(struct fth_samples *samples)
{
    free(samples->cycles);
    samples->cycles = NULL;
    samples->count = 0;
}
