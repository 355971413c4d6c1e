/* The variants of an access by its cache operator, its hints and its unit (ptx/access_variant.c).
 */
#include "check.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

static const struct {
    struct fth_ptx_access access;
    struct fth_ptx_variants variants;
} rows[] = {
    {{.kind = FTH_ACCESS_READ}, {.base = FTH_VARIANT_LD_CA, .other = FTH_VARIANT_LD_CA}},
    {{.kind = FTH_ACCESS_READ, .cache_op = FTH_CACHE_CG},
     {.base = FTH_VARIANT_LD_CG, .other = FTH_VARIANT_LD_CG}},
    {{.kind = FTH_ACCESS_READ, .cache_op = FTH_CACHE_VOLATILE},
     {.base = FTH_VARIANT_LD_VOLATILE, .other = FTH_VARIANT_LD_VOLATILE}},
    {{.kind = FTH_ACCESS_READ, .hints = {.strong = true}},
     {.base = FTH_VARIANT_LD_RELAXED, .other = FTH_VARIANT_LD_RELAXED}},
    /* An eviction priority has precedence over the operator. */
    {{.kind = FTH_ACCESS_READ,
      .cache_op = FTH_CACHE_NC,
      .hints = {.l1 = FTH_PRIORITY_NO_ALLOCATE, .l2 = FTH_PRIORITY_LAST, .l2_bytes = 256}},
     {.base = FTH_VARIANT_LD_L1_NO_ALLOCATE,
      .other = FTH_VARIANT_LD_L1_NO_ALLOCATE,
      .size = FTH_VARIANT_LD_L2_256B,
      .other_size = FTH_VARIANT_LD_L2_256B,
      .policy = FTH_VARIANT_LD_L2_LAST}},
    /* Copies fall back to loads. */
    {{.kind = FTH_ACCESS_READ, .cache_op = FTH_CACHE_CG, .unit = FTH_UNIT_LANE_COPY},
     {.base = FTH_VARIANT_CP_CG, .other = FTH_VARIANT_LD_CG}},
    {{.kind = FTH_ACCESS_READ,
      .cache_op = FTH_CACHE_CA,
      .unit = FTH_UNIT_LANE_COPY,
      .hints = {.l2_bytes = 64}},
     {.base = FTH_VARIANT_CP_CA,
      .other = FTH_VARIANT_LD_CA,
      .size = FTH_VARIANT_CP_L2_64B,
      .other_size = FTH_VARIANT_LD_L2_64B}},
    {{.kind = FTH_ACCESS_WRITE}, {.base = FTH_VARIANT_ST_WB, .other = FTH_VARIANT_ST_WB}},
    {{.kind = FTH_ACCESS_WRITE, .cache_op = FTH_CACHE_WT},
     {.base = FTH_VARIANT_ST_WT, .other = FTH_VARIANT_ST_WT}},
    {{.kind = FTH_ACCESS_WRITE, .hints = {.l1 = FTH_PRIORITY_FIRST, .l2 = FTH_PRIORITY_FIRST}},
     {.base = FTH_VARIANT_ST_L1_FIRST,
      .other = FTH_VARIANT_ST_L1_FIRST,
      .policy = FTH_VARIANT_ST_L2_FIRST}},
    {{.kind = FTH_ACCESS_WRITE, .hints = {.strong = true}},
     {.base = FTH_VARIANT_ST_RELAXED, .other = FTH_VARIANT_ST_RELAXED}},
    /* Atomics and other units have no variants. */
    {{.kind = FTH_ACCESS_ATOMIC, .cache_op = FTH_CACHE_CG}, {.base = FTH_VARIANT_NONE}},
    {{.kind = FTH_ACCESS_READ, .cache_op = FTH_CACHE_CG, .unit = FTH_UNIT_COPY_ENGINE},
     {.base = FTH_VARIANT_NONE}},
};

/* The bits for local memory and for atomics on floating-point numbers. */
static void hints_have_space_and_type(void **state)
{
    (void)state;
    const struct fth_ptx_access local = {.kind = FTH_ACCESS_READ, .space = FTH_SPACE_LOCAL};
    const struct fth_ptx_access atomic = {.kind = FTH_ACCESS_ATOMIC, .is_float = true};
    assert_int_equal(fth_ptx_pack_hints(&local), FTH_TRACE_LOCAL);
    assert_int_equal(fth_ptx_pack_hints(&atomic), FTH_TRACE_FLOAT);
    assert_int_equal(fth_ptx_variants_of(FTH_ACCESS_READ, FTH_CACHE_DEFAULT, FTH_TRACE_LOCAL).base,
                     FTH_VARIANT_NONE);
}

static void each_access_has_its_variants(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_ptx_access *access = &rows[i].access;
        const struct fth_ptx_variants found = fth_ptx_variants_of(access->kind, access->cache_op,
                                                                  fth_ptx_pack_hints(access)),
                                      *want = &rows[i].variants;
        if (found.base != want->base || found.other != want->other || found.size != want->size ||
            found.other_size != want->other_size || found.policy != want->policy)
            fail_msg("row %zu: %s, %s, %s, %s, %s", i, fth_variant_names[found.base],
                     fth_variant_names[found.other], fth_variant_names[found.size],
                     fth_variant_names[found.other_size], fth_variant_names[found.policy]);
    }
}

/* Files can contain any number. */
static void every_packed_number_has_variants(void **state)
{
    (void)state;
    for (uint32_t packed = 0; packed < 1u << 12; packed++)
        for (uint32_t cache_op = 0; cache_op < 16; cache_op++) {
            const struct fth_ptx_variants found = fth_ptx_variants_of(
                (enum fth_ptx_access_kind)(packed % 3), (enum fth_ptx_cache_op)cache_op, packed);
            assert_true(found.base < FTH_VARIANTS && found.other < FTH_VARIANTS);
            assert_true(found.size < FTH_VARIANTS && found.policy < FTH_VARIANTS);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_access_has_its_variants),
                                       cmocka_unit_test(hints_have_space_and_type),
                                       cmocka_unit_test(every_packed_number_has_variants)};
    return cmocka_run_group_tests_name("access variants", tests, NULL, NULL);
}
