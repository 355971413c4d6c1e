/* Filling in the templates visit.ptx, which times single accesses, and traffic.ptx, which reads and
 * writes parts of an array. */
#include "kernels/kernels.h"

#include <stdio.h>

/* The same versions as in kernels.c. */
static const char version[] = "5.0", target[] = "sm_50";

static const struct {
    const char *name, *title, *access;
    unsigned capability; /* 0: every GPU */
    const char *version;
    const char *after; /* what follows the timed access; NULL: nothing */
} rows[FTH_VISIT_OPERATIONS] = {
    [FTH_VISIT_NONE] = {"none", "no access", "mov.u32 %word, %zero;", 0, NULL, NULL},
    [FTH_VISIT_CA] = {"ca", "load, L1", "ld.global.ca.u32 %word, [%at];", 0, NULL, NULL},
    [FTH_VISIT_CG] = {"cg", "load, past L1", "ld.global.cg.u32 %word, [%at];", 0, NULL, NULL},
    [FTH_VISIT_DISCARD] = {"discard", "load, then discard", "ld.global.cg.u32 %word, [%at];", 80,
                           "7.4", "discard.global.L2 [%at], 128;"},
    [FTH_VISIT_CTA] = {"cta", "atomic, scope cta", "atom.cta.global.add.u32 %word, [%at], %zero;",
                       60, "5.0", NULL},
    [FTH_VISIT_CLUSTER] = {"cluster", "atomic, scope cluster",
                           "atom.cluster.global.add.u32 %word, [%at], %zero;", 90, "7.8", NULL},
    [FTH_VISIT_GPU] = {"gpu", "atomic, scope gpu", "atom.gpu.global.add.u32 %word, [%at], %zero;",
                       60, "5.0", NULL},
    [FTH_VISIT_SYS] = {"sys", "atomic, scope sys", "atom.sys.global.add.u32 %word, [%at], %zero;",
                       60, "5.0", NULL},
};

const char *fth_visit_name(enum fth_visit_operation operation)
{
    return rows[operation].name;
}

const char *fth_visit_title(enum fth_visit_operation operation)
{
    return rows[operation].title;
}

unsigned fth_visit_capability(enum fth_visit_operation operation)
{
    return rows[operation].capability;
}

enum fth_status fth_kernels_visit(enum fth_visit_operation operation, struct fth_buffer *out,
                                  struct fth_error *error)
{
    char needs[16];
    snprintf(needs, sizeof needs, "sm_%u", rows[operation].capability);
    const struct fth_kernel_value values[] = {
        {"name", rows[operation].title},
        {"version", rows[operation].capability ? rows[operation].version : version},
        {"target", rows[operation].capability ? needs : target},
        {"access", rows[operation].access},
        {"after", rows[operation].after ? rows[operation].after : ""},
    };
    return fth_kernels_fill_named("visit", values, FTH_COUNT(values), out, error);
}

/* ---- traffic ---- */

static const char *vector_of(uint32_t words)
{
    return words == 4 ? ".v4" : words == 2 ? ".v2" : "";
}

/* Appends the registers of vector i: "%a4" or "{%a4, %a5}". */
static void add_registers(struct fth_buffer *out, uint32_t words, uint32_t i)
{
    fth_buffer_text(out, words > 1 ? "{" : "");
    for (uint32_t word = 0; word < words; word++)
        fth_buffer_format(out, "%s%%a%u", word ? ", " : "", (unsigned)(i * words + word));
    fth_buffer_text(out, words > 1 ? "}" : "");
}

/* Appends the addresses of a group's vectors. */
static void add_places(struct fth_buffer *out, uint32_t vector_bytes)
{
    for (unsigned i = 0; i < FTH_TRAFFIC_UNROLL; i++)
        fth_buffer_format(out,
                          "    shr.u64 %%part, %%vector, %%bits;\n"
                          "    mad.lo.u64 %%part, %%part, %%stride, %%memory;\n"
                          "    and.b64 %%wide, %%vector, %%mask;\n"
                          "    mad.lo.u64 %%place%u, %%wide, %u, %%part;\n"
                          "    add.u64 %%vector, %%vector, 32;\n",
                          i, (unsigned)vector_bytes);
}

static void add_loads(struct fth_buffer *out, uint32_t words)
{
    for (uint32_t i = 0; i < FTH_TRAFFIC_UNROLL; i++) {
        fth_buffer_format(out, "    ld.global.cg%s.u32 ", vector_of(words));
        add_registers(out, words, i);
        fth_buffer_format(out, ", [%%place%u];\n", (unsigned)i);
    }
    for (uint32_t i = 0; i < FTH_TRAFFIC_UNROLL * words; i++)
        fth_buffer_format(out, "    add.u32 %%sum, %%sum, %%a%u;\n", (unsigned)i);
}

static void add_stores(struct fth_buffer *out, uint32_t words)
{
    fth_buffer_text(out, "    mov.u32 %a0, 0;\n");
    for (uint32_t i = 0; i < FTH_TRAFFIC_UNROLL; i++) {
        fth_buffer_format(out, "    st.global%s.u32 [%%place%u], %s", vector_of(words), (unsigned)i,
                          words > 1 ? "{" : "");
        for (uint32_t word = 0; word < words; word++)
            fth_buffer_text(out, word ? ", %a0" : "%a0");
        fth_buffer_text(out, words > 1 ? "};\n" : ";\n");
    }
}

enum fth_status fth_kernels_traffic(uint32_t vector_bytes, struct fth_buffer *out,
                                    struct fth_error *error)
{
    char bytes[24], unroll[24], registers[24], group_vectors[24];
    const uint32_t words = vector_bytes / 4;
    struct fth_buffer places = {0}, loads = {0}, stores = {0};
    snprintf(bytes, sizeof bytes, "%u", (unsigned)vector_bytes);
    snprintf(unroll, sizeof unroll, "%d", FTH_TRAFFIC_UNROLL);
    snprintf(registers, sizeof registers, "%u", (unsigned)(FTH_TRAFFIC_UNROLL * words));
    snprintf(group_vectors, sizeof group_vectors, "%d", 32 * FTH_TRAFFIC_UNROLL);
    add_places(&places, vector_bytes);
    add_loads(&loads, words);
    add_stores(&stores, words);
    const struct fth_kernel_value values[] = {
        {"version", version},    {"target", target},       {"vector_bytes", bytes},
        {"unroll", unroll},      {"registers", registers}, {"group_vectors", group_vectors},
        {"places", places.data}, {"loads", loads.data},    {"stores", stores.data},
    };
    enum fth_status status =
        places.failed || loads.failed || stores.failed
            ? fth_no_memory(error, "fill in kernel template", "traffic")
            : fth_kernels_fill_named("traffic", values, FTH_COUNT(values), out, error);
    fth_buffer_fini(&places);
    fth_buffer_fini(&loads);
    fth_buffer_fini(&stores);
    return status;
}
