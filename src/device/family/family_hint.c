/* The hint family: what accesses with cache operators and hints leave in L1 and L2
 * (kernels/hint.ptx). Examples of the canonical text:
 *
 *   hint fill none,ld.ca,ld.cg via cg 1024 offset 128 words 32x16 repeats 8 delay 2500; cold
 *   hint survive ld.cs via ca 128 first 192 prior 512 targets 64 pressure 2048
 *
 * The form is "hint fill VARIANT,… via PATH STRIDE [first PART] offset OFFSET words STEPxPOSITIONS
 * repeats REPEATS delay CYCLES [held]" or "hint survive VARIANT via PATH STRIDE [first LINE] prior
 * LINES targets TARGETS pressure LINES". */
#include "device/family/family.h"

#include <inttypes.h>
#include <string.h>

static const char operation[] = "check request";

enum {
    ALIGNMENT = 32,             /* of the parts and accesses: the smallest sector */
    MAX_STRIDE_BYTES = 1 << 20, /* chosen, not derived */
    MAX_POSITIONS = 1024,       /* chosen, not derived */
    MAX_REPEATS = 1000,         /* chosen, not derived */
    MAX_DELAY_CYCLES = 1 << 20, /* chosen, not derived */
    MAX_TARGETS = 4096,         /* chosen, not derived */
    MAX_LINES = 1 << 26,        /* chosen, not derived */
    THREADS = 1024,    /* of `survive`: CUDA's maximum per block, for many reads in flight */
    LANDING_BYTES = 16 /* shared memory that copies write to: the most that cp.async copies */
};
/* The variants that copy to shared memory. */
static const uint64_t copies = UINT64_C(1) << FTH_VARIANT_CP_CA | UINT64_C(1) << FTH_VARIANT_CP_CG |
                               UINT64_C(1) << FTH_VARIANT_CP_L2_64B |
                               UINT64_C(1) << FTH_VARIANT_CP_L2_128B |
                               UINT64_C(1) << FTH_VARIANT_CP_L2_256B;
/* Rate of line reads by one SM that every GPU exceeds, for the time limit. Chosen, not derived. */
static const double min_lines_per_s = 1e8;

_Static_assert(FTH_VARIANTS <= 64, "a set of variants has 64 bits");
_Static_assert(sizeof(struct fth_access_hint) <= sizeof(struct fth_chase),
               "fth_request.chase must be the largest member");

/* ---- requests ---- */

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check_fill(const struct fth_access_hint *hint, struct fth_error *error)
{
    if (hint->step_bytes == 0 || hint->step_bytes % 4 || hint->step_bytes > MAX_STRIDE_BYTES)
        return refuse(error, "hint.step_bytes", hint->step_bytes,
                      "is not a multiple of 4 up to 1048576");
    if (hint->positions == 0 || hint->positions > MAX_POSITIONS)
        return refuse(error, "hint.positions", hint->positions, "is not in the range 1 to 1024");
    /* The second half of the part is for the read that fills the TLBs. */
    if ((uint64_t)hint->step_bytes * hint->positions > hint->stride_bytes / 2)
        return refuse(error, "hint.stride_bytes", hint->stride_bytes,
                      "is less than twice the size of the timed words");
    if (hint->offset_bytes % ALIGNMENT || hint->offset_bytes + ALIGNMENT > hint->stride_bytes / 2)
        return refuse(error, "hint.offset_bytes", hint->offset_bytes,
                      "is not a multiple of 32 within the part");
    if (hint->repeats == 0 || hint->repeats > MAX_REPEATS)
        return refuse(error, "hint.repeats", hint->repeats, "is not in the range 1 to 1000");
    if (hint->delay_cycles > MAX_DELAY_CYCLES)
        return refuse(error, "hint.delay_cycles", hint->delay_cycles, "cycles are too many");
    return FTH_OK;
}

static enum fth_status check_survive(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_access_hint *hint = &request->hint;
    if (hint->variants & (hint->variants - 1))
        return refuse(error, "hint.variants", hint->variants, "is more than one variant");
    if (hint->targets == 0 || hint->targets > MAX_TARGETS)
        return refuse(error, "hint.targets", hint->targets, "is not in the range 1 to 4096");
    if (hint->pressure > MAX_LINES)
        return refuse(error, "hint.pressure", hint->pressure, "lines are too many");
    if (hint->prior > MAX_LINES)
        return refuse(error, "hint.prior", hint->prior, "lines are too many");
    if (hint->held)
        return fth_fail(error, FTH_INVALID, operation, "hint.held", "only available for fills");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "only available for fills");
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_access_hint *hint = &request->hint;
    if ((unsigned)hint->kind >= FTH_HINT_KINDS)
        return refuse(error, "hint.kind", (uint64_t)hint->kind, "is not a kind of request");
    if (hint->variants == 0 || hint->variants >> FTH_VARIANTS)
        return refuse(error, "hint.variants", hint->variants, "is not a set of variants");
    if (hint->path != FTH_PATH_CA && hint->path != FTH_PATH_CG)
        return refuse(error, "hint.path", (uint64_t)hint->path, "is neither CA nor CG");
    if (hint->stride_bytes < ALIGNMENT || hint->stride_bytes > MAX_STRIDE_BYTES ||
        hint->stride_bytes % ALIGNMENT)
        return refuse(error, "hint.stride_bytes", hint->stride_bytes,
                      "is not a multiple of 32 up to 1048576");
    if (hint->first > MAX_LINES)
        return refuse(error, "hint.first", hint->first, "is too large");
    FTH_TRY(hint->kind == FTH_HINT_FILL ? check_fill(hint, error) : check_survive(request, error));
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_access_hint *hint = &request->hint;
    const bool fill = hint->kind == FTH_HINT_FILL;
    fth_buffer_format(text, "hint %s", fill ? "fill" : "survive");
    for (uint64_t left = hint->variants; left; left &= left - 1)
        fth_buffer_format(text, "%s%s", left == hint->variants ? " " : ",",
                          fth_variant_names[__builtin_ctzll(left)]);
    fth_buffer_format(text, " via %s %" PRIu32, fth_path_name(hint->path), hint->stride_bytes);
    if (hint->first)
        fth_buffer_format(text, " first %" PRIu32, hint->first);
    if (fill)
        fth_buffer_format(text,
                          " offset %" PRIu32 " words %" PRIu32 "x%" PRIu32 " repeats %" PRIu32
                          " delay %" PRIu32,
                          hint->offset_bytes, hint->step_bytes, hint->positions, hint->repeats,
                          hint->delay_cycles);
    else
        fth_buffer_format(text, " prior %" PRIu32 " targets %" PRIu32 " pressure %" PRIu32,
                          hint->prior, hint->targets, hint->pressure);
    fth_buffer_text(text, fill && hint->held ? " held" : "");
    fth_request_write_options(request, text);
}

/* Reads a list of variants and the space after it. */
static bool read_variants(struct fth_scanner *scanner, uint64_t *variants)
{
    for (;;) {
        const char *end = scanner->at;
        enum fth_variant variant;
        while (end < scanner->end && *end != ',' && *end != ' ')
            end++;
        if (end == scanner->end ||
            !fth_variant_find(scanner->at, (size_t)(end - scanner->at), &variant))
            return false;
        *variants |= UINT64_C(1) << variant;
        scanner->at = end + 1;
        if (*end == ' ')
            return true;
    }
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_access_hint *hint = &request->hint;
    if (fth_scan(scanner, "survive "))
        hint->kind = FTH_HINT_SURVIVE;
    else if (!fth_scan(scanner, "fill "))
        return false;
    if (!read_variants(scanner, &hint->variants) || !fth_scan(scanner, "via "))
        return false;
    if (fth_scan(scanner, "cg "))
        hint->path = FTH_PATH_CG;
    else if (!fth_scan(scanner, "ca "))
        return false;
    if (!fth_scan_u32(scanner, &hint->stride_bytes) ||
        !fth_scan_option_u32(scanner, " first ", &hint->first))
        return false;
    if (hint->kind == FTH_HINT_SURVIVE)
        return fth_scan(scanner, " prior ") && fth_scan_u32(scanner, &hint->prior) &&
               fth_scan(scanner, " targets ") && fth_scan_u32(scanner, &hint->targets) &&
               fth_scan(scanner, " pressure ") && fth_scan_u32(scanner, &hint->pressure);
    return fth_scan(scanner, " offset ") && fth_scan_u32(scanner, &hint->offset_bytes) &&
           fth_scan(scanner, " words ") && fth_scan_u32(scanner, &hint->step_bytes) &&
           fth_scan(scanner, "x") && fth_scan_u32(scanner, &hint->positions) &&
           fth_scan(scanner, " repeats ") && fth_scan_u32(scanner, &hint->repeats) &&
           fth_scan(scanner, " delay ") && fth_scan_u32(scanner, &hint->delay_cycles) &&
           ((hint->held = fth_scan(scanner, " held")), true);
}

static uint64_t trials_per_variant(const struct fth_access_hint *hint)
{
    return (uint64_t)hint->positions * hint->repeats;
}

static uint64_t count_samples(const struct fth_request *request)
{
    const struct fth_access_hint *hint = &request->hint;
    return hint->kind == FTH_HINT_FILL
               ? trials_per_variant(hint) * (uint64_t)__builtin_popcountll(hint->variants)
               : hint->targets;
}

/* ---- execution ---- */

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_access_hint *hint = &request->hint;
    FTH_TRY(fth_ticket_lower(runner, lowered, error));
    lowered->threads = hint->kind == FTH_HINT_FILL ? 32 : THREADS;
    lowered->shared_bytes = hint->variants & copies ? LANDING_BYTES : 0;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)lowered->sample_count * 4 * FTH_MAX_HOP_S +
        ((double)hint->prior + hint->pressure) / min_lines_per_s +
        (double)lowered->sample_count * (double)hint->delay_cycles / min_lines_per_s;
    return FTH_OK;
}

static enum fth_status launch(struct fth_runner *runner, const struct fth_family_slot *slot,
                              const struct fth_lowered *lowered, struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_access_hint *hint = &request->hint;
    const struct fth_ticket_memory *state = slot->state;
    const bool fill = hint->kind == FTH_HINT_FILL;
    const uint64_t sm = fth_ticket_sm(runner, request);
    const uint64_t data = state->data.address + (uint64_t)hint->first * hint->stride_bytes;
    const uint64_t ticket = state->control.address,
                   samples = state->control.address + FTH_TICKET_BYTES;
    const uint64_t through = hint->path == FTH_PATH_CA;
    const uint64_t fill_arguments[] = {data,
                                       hint->stride_bytes,
                                       hint->offset_bytes,
                                       hint->step_bytes,
                                       hint->positions,
                                       trials_per_variant(hint),
                                       hint->variants,
                                       hint->delay_cycles,
                                       through,
                                       hint->held,
                                       sm,
                                       ticket,
                                       samples};
    const uint64_t survive_arguments[] = {data,          hint->stride_bytes,
                                          hint->targets, hint->pressure,
                                          hint->prior,   (uint64_t)__builtin_ctzll(hint->variants),
                                          through,       sm,
                                          ticket,        samples};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = fill ? "fill" : "survive";
    launch.arguments = fill ? fill_arguments : survive_arguments;
    launch.argument_bytes = fill ? sizeof fill_arguments : sizeof survive_arguments;
    return runner->ops->launch(runner->machine, &launch, error);
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_access_hint *hint = &lowered->request->hint;
    struct fth_ticket_memory *state = slot->state;
    const uint64_t parts =
        hint->first + (hint->kind == FTH_HINT_FILL
                           ? lowered->sample_count
                           : (uint64_t)hint->prior + hint->targets + hint->pressure);
    FTH_TRY(fth_zeroed_grow(runner, &state->data, parts * hint->stride_bytes, error));
    FTH_TRY(fth_ticket_clear(runner, state, lowered, error));
    if (lowered->request->cold)
        FTH_TRY(fth_runner_flush(runner, error));
    FTH_TRY(launch(runner, slot, lowered, error));
    return fth_ticket_read(runner, state, lowered, sizeof *cycles, cycles, error);
}

const struct fth_family_ops fth_family_hint = {
    .word = "hint",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .min_capability = 80,
    .too_old = "cache hints need compute capability 8.0",
    .make_ptx = fth_kernels_hint,
    .open = fth_ticket_open,
    .release = fth_ticket_release,
    .disturbs = FTH_DISTURBS_L2,
    .lower = lower,
    .run = run,
};
