/* The instructions of copies.ptx: for each kind of copy, how a copy is issued, how a thread waits
 * for the oldest one, and how it waits for all of them. */
#include "kernels/kernels.h"

#include <stdio.h>

/* How a thread learns that a copy is complete: an mbarrier counts its bytes; the thread waits for
 * groups of bulk copies, or of cp.async; the instruction itself is complete. */
enum completion { MBARRIER, BULK_GROUP, THREAD_GROUP, AT_ONCE };

struct copies_row {
    const char *name, *what;
    const char *version, *target;
    unsigned capability; /* 90 for 9.0 */
    enum completion completion;
    bool by_threads, in_cluster;
    const char *issue; /* NULL: the function `add_issue` writes it */
};

#define EXPECT "@%copies mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %bytes;\n    @%copies "
/* PTX 8.0 has bulk copies, 8.1 st.async. */
#define HOPPER "8.0", "sm_90", 90
#define HOPPER_STORE "8.1", "sm_90", 90
#define AMPERE "7.0", "sm_80", 80
#define EVERY_GPU "5.0", "sm_50", 50

static const struct copies_row rows[FTH_COPIES_KINDS] = {
    [FTH_COPIES_BULK_LOAD] =
        {"bulk-load", "bulk copies from global to shared memory", HOPPER, MBARRIER, false, false,
         EXPECT "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%from], "
                "%bytes, [%bar];"},
    [FTH_COPIES_BULK_STORE] =
        {"bulk-store", "bulk copies from shared to global memory", HOPPER, BULK_GROUP, false, false,
         "@%copies cp.async.bulk.global.shared::cta.bulk_group [%from], [%to], "
         "%bytes;\n    cp.async.bulk.commit_group;"},
    [FTH_COPIES_TENSOR_LOAD] = {"tensor-load", "tensor copies from global to shared memory", HOPPER,
                                MBARRIER, false, false, NULL},
    [FTH_COPIES_CLUSTER] = {"cluster", "bulk copies from shared memory to shared memory", HOPPER,
                            MBARRIER, false, true,
                            "mapa.shared::cluster.u32 %far, %to, %other;\n"
                            "    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
                            "bytes [%far], [%to], %bytes, [%far_bar];"},
    [FTH_COPIES_STORE_ASYNC] = {"store-async", "asynchronous stores of 8 bytes", HOPPER_STORE,
                                MBARRIER, false, true,
                                "mapa.shared::cluster.u32 %far, %to, %other;\n"
                                "    st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 "
                                "[%far], %from, [%far_bar];"},
    [FTH_COPIES_MULTICAST] = {"multicast", "bulk copies from global memory to all blocks", HOPPER,
                              MBARRIER, false, true,
                              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                              "multicast::cluster [%to], [%from], %bytes, [%bar], %mask;"},
    [FTH_COPIES_ASYNC_CA] = {"async-ca", "asynchronous copies by threads, through the L1", AMPERE,
                             THREAD_GROUP, true, false, NULL},
    [FTH_COPIES_ASYNC_CG] = {"async-cg", "asynchronous copies by threads, past the L1", AMPERE,
                             THREAD_GROUP, true, false, NULL},
    [FTH_COPIES_LOAD_STORE] = {"load-store", "loads past the L1, and stores to shared memory",
                               EVERY_GPU, AT_ONCE, true, false, NULL},
};

const char *fth_copies_kind_name(enum fth_copies_kind kind)
{
    return rows[kind].name;
}

unsigned fth_copies_capability(enum fth_copies_kind kind)
{
    return rows[kind].capability;
}

bool fth_copies_by_threads(enum fth_copies_kind kind)
{
    return rows[kind].by_threads;
}

bool fth_copies_in_cluster(enum fth_copies_kind kind)
{
    return rows[kind].in_cluster;
}

bool fth_copies_counted(enum fth_copies_kind kind)
{
    return rows[kind].completion == MBARRIER;
}

/* Appends the loads of all copies in flight and then their stores. The addresses of the copies are
 * one stage apart. */
static void add_loads_and_stores(struct fth_buffer *out, const struct fth_copies_code *code)
{
    const char *type = code->bytes == 16 ? "v2.u64" : code->bytes == 8 ? "u64" : "u32";
    fth_buffer_text(out, "cvt.u64.u32 %wide, %stage_step;\n    mov.u32 %x, %to;\n");
    for (int store = 0; store < 2; store++)
        for (uint32_t i = 0; i < code->depth; i++) {
            char values[40];
            snprintf(values, sizeof values, code->bytes == 16 ? "{%%v%u, %%v%u}" : "%%v%u",
                     (unsigned)(2 * i), (unsigned)(2 * i + 1));
            if (store)
                fth_buffer_format(out,
                                  "    st.shared.%s [%%x], %s;\n"
                                  "    add.u32 %%x, %%x, %%stage_step;\n",
                                  type, values);
            else
                fth_buffer_format(out,
                                  "    ld.global.cg.%s %s, [%%from];\n"
                                  "    add.u64 %%from, %%from, %%wide;\n",
                                  type, values);
        }
}

/* Appends the instructions that issue a copy. */
static void add_issue(struct fth_buffer *out, const struct fth_copies_code *code)
{
    switch (code->kind) {
    case FTH_COPIES_TENSOR_LOAD:
        fth_buffer_text(out, "cvt.u32.u64 %x, %from;\n    " EXPECT);
        fth_buffer_format(out,
                          "cp.async.bulk.tensor.%ud.shared::cluster."
                          "global.tile.mbarrier::complete_tx::bytes [%%to], [%%map, {",
                          (unsigned)code->rank);
        for (uint32_t i = 1; i < code->rank; i++)
            fth_buffer_text(out, "%zero, ");
        fth_buffer_text(out, "%x}], [%bar];");
        return;
    case FTH_COPIES_ASYNC_CA:
    case FTH_COPIES_ASYNC_CG:
        fth_buffer_format(out,
                          "cp.async.%s.shared.global [%%to], [%%from], %u;\n"
                          "    cp.async.commit_group;",
                          code->kind == FTH_COPIES_ASYNC_CA ? "ca" : "cg", (unsigned)code->bytes);
        return;
    case FTH_COPIES_LOAD_STORE: add_loads_and_stores(out, code); return;
    default: fth_buffer_text(out, rows[code->kind].issue); return;
    }
}

/* Writes the instructions that wait for the oldest copy. mbarrier.try_wait suspends the
 * warp until the phase is complete. A loop of mbarrier.test_wait would test it only every 106
 * cycles on an H200. */
static void format_wait(enum completion completion, uint32_t depth, char *text, size_t size)
{
    static const char test[] =
        "mbarrier.try_wait.parity.shared.b64 %ready, [%bar], %phase;\n    @!%ready bra drain;";
    switch (completion) {
    case MBARRIER: snprintf(text, size, "%s", test); return;
    case BULK_GROUP:
        snprintf(text, size, "cp.async.bulk.wait_group.read %u;", (unsigned)depth - 1);
        return;
    case THREAD_GROUP: snprintf(text, size, "cp.async.wait_group %u;", (unsigned)depth - 1); return;
    default: snprintf(text, size, "%s", ""); return;
    }
}

/* Fills in exchange.ptx. In a multicast, all blocks receive, and none sends back. */
static enum fth_status fill_exchange(const struct fth_copies_code *code, struct fth_buffer *out,
                                     struct fth_error *error)
{
    static const char two_blocks[] = "or.pred %takes_part, %first, %second;",
                      all_blocks[] = "setp.eq.u32 %takes_part, %rank, %rank;\n"
                                     "    setp.ne.u32 %second, %rank, %rank;\n"
                                     "    mov.u32 %sent, 1; shl.b32 %sent, %sent, %size;\n"
                                     "    sub.u32 %sent, %sent, 1; cvt.u16.u32 %mask, %sent;";
    const struct copies_row *row = &rows[code->kind];
    const bool multicast = code->kind == FTH_COPIES_MULTICAST;
    char head_bytes[24];
    snprintf(head_bytes, sizeof head_bytes, "%d", FTH_COPIES_HEAD_BYTES);
    const struct fth_kernel_value values[] = {
        {"what", row->what},
        {"version", row->version},
        {"target", row->target},
        {"head_bytes", head_bytes},
        {"roles", multicast ? all_blocks : two_blocks},
        {"meet", multicast ? "barrier.cluster.arrive; barrier.cluster.wait;" : ""},
        {"send", row->issue},
    };
    return fth_kernels_fill_named("exchange", values, FTH_COUNT(values), out, error);
}

enum fth_status fth_kernels_copies(const struct fth_copies_code *code, struct fth_buffer *out,
                                   struct fth_error *error)
{
    static const char *const settle[] = {[MBARRIER] = "",
                                         [BULK_GROUP] = "cp.async.bulk.wait_group 0;",
                                         [THREAD_GROUP] = "cp.async.wait_group 0;",
                                         [AT_ONCE] = ""};
    static const char threads[] = "mov.u32 %part, %thread; setp.eq.u32 %copies, %thread, %thread;",
                      warps[] = "shr.u32 %part, %thread, 5; "
                                "    setp.eq.u32 %copies, %x, 0;";
    const struct copies_row *row = &rows[code->kind];
    const bool counted = row->completion == MBARRIER;
    if (row->in_cluster)
        return fill_exchange(code, out, error);
    struct fth_buffer issue = {0};
    char wait[160], patience[24], head_bytes[24], registers[24];
    add_issue(&issue, code);
    format_wait(row->completion, code->depth, wait, sizeof wait);
    snprintf(patience, sizeof patience, "%d", FTH_STREAM_MAX_WAIT_CYCLES);
    snprintf(head_bytes, sizeof head_bytes, "%d", FTH_COPIES_HEAD_BYTES);
    snprintf(registers, sizeof registers, "%u",
             row->completion == AT_ONCE ? 2 * (unsigned)code->depth : 1);
    const struct fth_kernel_value values[] = {
        {"what", row->what},
        {"version", row->version},
        {"target", row->target},
        {"head_bytes", head_bytes},
        {"patience", patience},
        {"registers", registers},
        {"find_map", code->rank ? "mov.u64 %map, map; cvta.param.u64 %map, %map;" : ""},
        {"part", row->by_threads ? threads : warps},
        {"prepare", counted ? "mbarrier.init.shared.b64 [%bar], 1;" : ""},
        {"fence", counted                         ? "fence.mbarrier_init.release.cluster;"
                  : row->completion == BULK_GROUP ? "fence.proxy.async;"
                                                  : ""},
        {"issue", issue.data},
        {"wait", wait},
        {"settle", settle[row->completion]},
    };
    enum fth_status status =
        issue.failed ? fth_no_memory(error, "fill in kernel template", "copies")
                     : fth_kernels_fill_named("copies", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&issue);
    return status;
}
