/* Cases for communication between the lanes of a warp (shuffles, votes, matches, reductions),
 * barriers and special registers. A warp is 32 consecutive threads. */
#include "../suite.h"

#define LANES ((size_t)32)

static const uint32_t lane_arguments[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 63, 0xffffffff};

/* Operands of shfl: a is the value; b is the lane, offset or mask; c contains the segment mask and
 * the clamp value (low five bits). In the first warps, b and c are the same in all lanes, and c is
 * what nvcc generates for each width. The later warps have random values. */
static void shuffle(struct fth_rng *rng, size_t thread, uint64_t *operands, uint32_t clamp)
{
    size_t warp = thread / 32, regular = 6 * FTH_COUNT(lane_arguments);
    operands[0] = fth_rng_next(rng) & 0xffffffff;
    if (warp < regular) {
        uint32_t width = 1u << warp % 6;
        operands[1] = lane_arguments[warp / 6];
        operands[2] = (32 - width) << 8 | clamp;
    } else {
        /* c is random, which nvcc never generates, but the same in all lanes; b differs. */
        struct fth_rng warp_rng;
        fth_rng_init(&warp_rng, warp);
        operands[1] = fth_rng_below(rng, 40);
        operands[2] = fth_rng_below(&warp_rng, 0x2000);
    }
}

static void shuffle_up(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    shuffle(rng, thread, operands, 0);
}

static void shuffle_other(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    shuffle(rng, thread, operands, 31);
}

static void add_shuffles(struct diff_builder *b)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    size_t threads = LANES * (6 * FTH_COUNT(lane_arguments) + 12);
    diff_family(b, "shuffles", NULL);
    for (size_t m = 0; m < FTH_COUNT(modes); m++) {
        struct diff_spec spec = {
            .signature = "www:wp", .fill = m ? shuffle_other : shuffle_up, .threads = threads};
        spec.name = diff_text(b, "shfl.sync.%s.b32 d|p", modes[m]);
        spec.code = diff_text(b, "shfl.sync.%s.b32 d|q, a, b, c, 0xffffffff;", modes[m]);
        diff_add(b, &spec);
        spec.signature = "www:w";
        spec.threads = LANES * 24;
        spec.name = diff_text(b, "shfl.sync.%s.b32", modes[m]);
        spec.code = diff_text(b, "shfl.sync.%s.b32 d, a, b, c, 0xffffffff;", modes[m]);
        diff_add(b, &spec);
    }
    /* Half of the lanes participate; the partner of each of them participates, too. */
    diff_add(b, &(struct diff_spec){
                    .name = "shfl.sync.bfly.b32 half a warp",
                    .signature = "www:wp",
                    .fill = shuffle_other,
                    .threads = 128,
                    .registers = ".reg .pred z;",
                    .code = "mov.u32 j, %laneid;\nand.b32 k, j, 4;\nsetp.ne.u32 z, k, 0;\n"
                            "mov.b32 d, 7;\nmov.pred q, 0;\n"
                            "@z shfl.sync.bfly.b32 d|q, a, 9, 31, 0xf0f0f0f0;"});
}

/* Operands of votes: a is the predicate (false in all lanes, true in all, true in one, false in
 * one, then random); b is the mask of participating lanes, the same in the whole warp. */
static void vote(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    size_t warp = thread / 32, lane = thread % 32;
    struct fth_rng warp_rng;
    fth_rng_init(&warp_rng, warp);
    operands[0] = warp == 0   ? 0
                  : warp == 1 ? 1
                  : warp == 2 ? lane == 17
                  : warp == 3 ? lane != 17
                  : warp < 8  ? fth_rng_below(rng, 8) == 0
                              : fth_rng_below(rng, 2);
    static const uint32_t masks[] = {0xffffffff, 1, 0x80000000, 0xf0f0f0f0, 0x00ffff00, 0xfffdffff};
    operands[1] = warp < 18 ? masks[warp % 6] : fth_rng_next(&warp_rng) >> 32 | 1;
}

/* Sets z if the mask b contains this lane. */
static const char in_mask[] = "mov.u32 j, %laneid;\nshr.b32 k, b, j;\nand.b32 k, k, 1;\n"
                              "setp.ne.u32 z, k, 0;\n";

static void add_votes(struct diff_builder *b)
{
    static const char *const modes[] = {"all", "any", "uni"};
    diff_family(b, "votes", NULL);
    for (size_t m = 0; m < FTH_COUNT(modes); m++) {
        struct diff_spec spec = {.signature = "pw:p", .fill = vote, .threads = LANES * 24};
        spec.name = diff_text(b, "vote.sync.%s.pred", modes[m]);
        spec.code = diff_text(b, "vote.sync.%s.pred d, a, 0xffffffff;", modes[m]);
        diff_add(b, &spec);
        spec.name = diff_text(b, "vote.sync.%s.pred !a", modes[m]);
        spec.code = diff_text(b, "vote.sync.%s.pred d, !a, 0xffffffff;", modes[m]);
        diff_add(b, &spec);
        spec.name = diff_text(b, "vote.sync.%s.pred of some lanes", modes[m]);
        spec.registers = ".reg .pred z;";
        spec.code =
            diff_text(b, "%smov.pred d, 0;\n@z vote.sync.%s.pred d, a, b;", in_mask, modes[m]);
        diff_add(b, &spec);
    }
    diff_add(b, &(struct diff_spec){.name = "vote.sync.ballot.b32",
                                    .signature = "pw:w",
                                    .fill = vote,
                                    .threads = LANES * 24,
                                    .code = "vote.sync.ballot.b32 d, a, 0xffffffff;"});
    diff_add(b, &(struct diff_spec){
                    .name = "vote.sync.ballot.b32 of some lanes",
                    .signature = "pw:w",
                    .fill = vote,
                    .threads = LANES * 24,
                    .registers = ".reg .pred z;",
                    .code = diff_text(b, "%smov.b32 d, 0;\n@z vote.sync.ballot.b32 d, !a, b;",
                                      in_mask)});
    diff_add(b, &(struct diff_spec){.name = "activemask.b32",
                                    .signature = "w:w",
                                    .threads = 64,
                                    .code = "activemask.b32 d;"});
}

/* Operands of match: few different values, so that several lanes have the same value. All lanes of
 * the first warps have the same value. */
static void matching_values(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    size_t warp = thread / 32;
    vote(rng, thread, operands);
    uint64_t value = warp < 3 ? 5 : fth_rng_below(rng, warp < 10 ? 3 : 12);
    operands[0] = value << 31 | value; /* the upper words differ, too */
}

/* Operands of redux: random values, and the mask of participating lanes. */
static void any_value(struct fth_rng *rng, size_t thread, uint64_t *operands)
{
    vote(rng, thread, operands);
    operands[0] = diff_random(rng, DIFF_I32);
}

static void add_matches(struct diff_builder *b)
{
    diff_family(b, "match and redux", NULL);
    for (size_t w = 0; w < 2; w++) {
        unsigned bits = w ? 64 : 32;
        const char *any = w ? "lw:w" : "ww:w", *all = w ? "lw:wp" : "ww:wp";
        struct diff_spec spec = {
            .fill = matching_values, .threads = LANES * 24, .registers = ".reg .pred z;"};
        spec.signature = any;
        spec.name = diff_text(b, "match.any.sync.b%u", bits);
        spec.code = diff_text(b, "match.any.sync.b%u d, a, 0xffffffff;", bits);
        diff_add(b, &spec);
        spec.name = diff_text(b, "match.any.sync.b%u of some lanes", bits);
        spec.code = diff_text(b, "%smov.b32 d, 0;\n@z match.any.sync.b%u d, a, b;", in_mask, bits);
        diff_add(b, &spec);
        spec.signature = all;
        spec.name = diff_text(b, "match.all.sync.b%u", bits);
        spec.code = diff_text(b, "match.all.sync.b%u d|q, a, 0xffffffff;", bits);
        diff_add(b, &spec);
        spec.name = diff_text(b, "match.all.sync.b%u of some lanes", bits);
        spec.code = diff_text(b,
                              "%smov.b32 d, 0;\nmov.pred q, 0;\n"
                              "@z match.all.sync.b%u d|q, a, b;",
                              in_mask, bits);
        diff_add(b, &spec);
    }
    static const char *const ops[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                      "max.s32", "and.b32", "or.b32",  "xor.b32"};
    for (size_t i = 0; i < FTH_COUNT(ops); i++) {
        struct diff_spec spec = {.signature = "ww:w",
                                 .fill = any_value,
                                 .threads = LANES * 16,
                                 .registers = ".reg .pred z;"};
        spec.name = diff_text(b, "redux.sync.%s", ops[i]);
        spec.code = diff_text(b, "redux.sync.%s d, a, 0xffffffff;", ops[i]);
        diff_add(b, &spec);
        spec.name = diff_text(b, "redux.sync.%s of some lanes", ops[i]);
        spec.code = diff_text(b, "%smov.b32 d, 0;\n@z redux.sync.%s d, a, b;", in_mask, ops[i]);
        diff_add(b, &spec);
    }
}

static void add_barriers(struct diff_builder *b)
{
    diff_family(b, "barriers", NULL);
    diff_add(b, &(struct diff_spec){
                    .name = "bar.sync 0",
                    .signature = "w:w",
                    .threads = 512,
                    .registers = ".shared .align 4 .b8 s[512];",
                    .code = "mov.u32 j, %tid.x;\nmov.u32 k, s;\nmad.lo.u32 k, j, 4, k;\n"
                            "st.shared.u32 [k], a;\nbar.sync 0;\nxor.b32 j, j, 127;\n"
                            "mov.u32 k, s;\nmad.lo.u32 k, j, 4, k;\nld.shared.u32 d, [k];"});
    static const char *const pairs[] = {"bar.sync 1, 64;", "barrier.sync 3, 64;",
                                        "bar.arrive 5, 64;\nbar.sync 6, 64;"};
    /* Half of the block synchronizes at a barrier with another number. */
    for (size_t i = 0; i < 2; i++)
        diff_add(b, &(struct diff_spec){
                        .name = diff_text(b, "%.*s of two warps", i ? 14 : 10, pairs[i]),
                        .signature = "w:w",
                        .threads = 256,
                        .registers = ".shared .align 4 .b8 s[512];\n.reg .pred z;",
                        .code = diff_text(b,
                                          "mov.u32 j, %%tid.x;\nmov.u32 k, s;\n"
                                          "mad.lo.u32 k, j, 4, k;\nmov.b32 d, a;\n"
                                          "setp.ge.u32 z, j, 64;\n@z bra OVER;\n"
                                          "st.shared.u32 [k], a;\n%s\nxor.b32 j, j, 63;\n"
                                          "mov.u32 k, s;\nmad.lo.u32 k, j, 4, k;\n"
                                          "ld.shared.u32 d, [k];\nOVER:",
                                          pairs[i])});
    static const char *const reductions[] = {"popc.u32", "and.pred", "or.pred"};
    for (size_t i = 0; i < FTH_COUNT(reductions); i++)
        diff_add(b,
                 &(struct diff_spec){.name = diff_text(b, "bar.red.%s", reductions[i]),
                                     .signature = i ? "pw:p" : "pw:w",
                                     .fill = vote,
                                     .threads = 1024,
                                     .code = diff_text(b, "bar.red.%s d, 0, a;", reductions[i])});
    diff_add(b, &(struct diff_spec){.name = "bar.warp.sync",
                                    .signature = "w:w",
                                    .threads = 128,
                                    .registers = ".shared .align 4 .b8 s[512];",
                                    .code = "mov.u32 j, %tid.x;\nmov.u32 k, s;\n"
                                            "mad.lo.u32 k, j, 4, k;\nst.shared.u32 [k], a;\n"
                                            "bar.warp.sync 0xffffffff;\nxor.b32 j, j, 31;\n"
                                            "mov.u32 k, s;\nmad.lo.u32 k, j, 4, k;\n"
                                            "ld.shared.u32 d, [k];"});
}

static void add_registers(struct diff_builder *b)
{
    static const char *const names[] = {
        "tid.x",   "tid.y",       "tid.z",       "ntid.x",      "ntid.y",      "ntid.z",
        "ctaid.x", "ctaid.y",     "ctaid.z",     "nctaid.x",    "nctaid.y",    "nctaid.z",
        "laneid",  "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
    };
    diff_family(b, "special registers", NULL);
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        diff_add(b, &(struct diff_spec){
                        .name = diff_text(b, "mov.u32 %%%s", names[i]),
                        .signature = ":w",
                        .grid = {3, 2, 2},
                        .block = {8, 5, 2},
                        .registers = ".reg .b32 m, n;",
                        /* i is the index of the thread in the grid; x varies fastest */
                        .code = diff_text(b,
                                          "mov.u32 i, %%ctaid.z;\nmov.u32 n, %%nctaid.y;\n"
                                          "mov.u32 m, %%ctaid.y;\nmad.lo.u32 i, i, n, m;\n"
                                          "mov.u32 n, %%nctaid.x;\nmov.u32 m, %%ctaid.x;\n"
                                          "mad.lo.u32 i, i, n, m;\nmov.u32 n, %%ntid.z;\n"
                                          "mov.u32 m, %%tid.z;\nmad.lo.u32 i, i, n, m;\n"
                                          "mov.u32 n, %%ntid.y;\nmov.u32 m, %%tid.y;\n"
                                          "mad.lo.u32 i, i, n, m;\nmov.u32 n, %%ntid.x;\n"
                                          "mov.u32 m, %%tid.x;\nmad.lo.u32 i, i, n, m;\n"
                                          "mov.u32 d, %%%s;",
                                          names[i])});
}

void diff_add_warp(struct diff_builder *builder)
{
    add_shuffles(builder);
    add_votes(builder);
    add_matches(builder);
    add_barriers(builder);
    add_registers(builder);
}
