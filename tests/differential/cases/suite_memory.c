/* Cases for loads, stores, address spaces and calls: PTX ISA, "Data Movement and Conversion
 * Instructions" and "Control Flow Instructions: call". */
#include "../suite.h"

static const char *const scalars[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                                      "u32", "s32", "b64", "u64", "s64", "f32", "f64"};
static const unsigned scalar_bits[] = {8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64, 32, 64};

/* SHARED declares eight bytes of shared memory per thread, whose address SHARED_ADDRESS computes in
 * k. LOCAL declares local memory. */
#define SHARED ".shared .align 16 .b8 s[1024];"
#define SHARED_ADDRESS "mov.u32 j, %%tid.x;\nmov.u32 k, s;\nmad.lo.u32 k, j, 8, k;\n"
#define LOCAL ".local .align 16 .b8 s[32];\n.reg .b64 z;"

/* Loads of scalars[t] from every space. */
static void add_scalar(struct diff_builder *b, size_t t)
{
    const char *type = scalars[t];
    bool real = type[0] == 'f';
    /* Loads to a register that is wider than the type. f32 and f64 need a register of their
     * size. */
    const char *fit = !real ? "l" : scalar_bits[t] == 32 ? "w" : "l";
    const char *signature = diff_text(b, "l:%s", fit);
    diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.global.%s", type),
                                    .signature = signature,
                                    .code = diff_text(b, "ld.global.%s d, [pa];", type)});
    diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.%s generic", type),
                                    .signature = signature,
                                    .code = diff_text(b, "ld.%s d, [pa];", type)});
    diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.shared.%s", type),
                                    .signature = signature,
                                    .registers = SHARED,
                                    .code = diff_text(b,
                                                      SHARED_ADDRESS "st.shared.b64 [k], a;\n"
                                                                     "ld.shared.%s d, [k];",
                                                      type)});
    diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.local.%s", type),
                                    .signature = signature,
                                    .registers = LOCAL,
                                    .code = diff_text(b,
                                                      "st.local.b64 [s+8], a;\n"
                                                      "ld.local.%s d, [s+8];",
                                                      type)});
    if (scalar_bits[t] <= 32 && !real)
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.global.%s to 32", type),
                                        .signature = "l:w",
                                        .code = diff_text(b, "ld.global.%s d, [pa];", type)});
    if (scalar_bits[t] <= 16)
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "ld.global.%s to 16", type),
                                        .signature = "l:h",
                                        .code = diff_text(b, "ld.global.%s d, [pa+1-1];", type)});
}

static void add_extension(struct diff_builder *b)
{
    diff_family(
        b, "loads and their extension",
        ".const .align 8 .b32 table[8] = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 0x8081, "
        "0xff7f, 42};\n"
        ".global .align 8 .f32 reals[4] = {1.0, -2.5, 0f7F800000, 0f80000000};\n"
        ".global .align 8 .u64 there = reals;\n"
        ".global .align 4 .b8 bytes[8] = {1, 2, 3, 255, 128, 127, 0, 9};\n");
    for (size_t t = 0; t < FTH_COUNT(scalars); t++)
        add_scalar(b, t);
    diff_add(b, &(struct diff_spec){.name = "ld.global.s8 offset",
                                    .signature = "l:w",
                                    .code = "ld.global.s8 d, [pa+7];"});
    diff_add(b, &(struct diff_spec){.name = "ld.global.u16 negative offset",
                                    .signature = "l:w",
                                    .code = "add.u64 y, y, 0;\nadd.s64 x, pa, 6;\n"
                                            "ld.global.u16 d, [x+-4];"});
    diff_add(b, &(struct diff_spec){.name = "ld.const.u32",
                                    .signature = "w:w",
                                    .code = "mov.u64 x, table;\nand.b32 j, i, 7;\n"
                                            "mad.wide.u32 x, j, 4, x;\nld.const.u32 d, [x];"});
    diff_add(b, &(struct diff_spec){.name = "ld.const.s16",
                                    .signature = "w:w",
                                    .code = "mov.u64 x, table;\nand.b32 j, i, 15;\n"
                                            "mad.wide.u32 x, j, 2, x;\nld.const.s16 d, [x];"});
    diff_add(b, &(struct diff_spec){.name = "ld of initialised .global",
                                    .signature = "w:f",
                                    .code = "mov.u64 x, reals;\nand.b32 j, i, 3;\n"
                                            "mad.wide.u32 x, j, 4, x;\nld.global.f32 d, [x];"});
    diff_add(b, &(struct diff_spec){.name = "ld of initialised .b8",
                                    .signature = "w:w",
                                    .code = "mov.u64 x, bytes;\nand.b32 j, i, 7;\n"
                                            "mad.wide.u32 x, j, 1, x;\nld.global.s8 d, [x];"});
    diff_add(b, &(struct diff_spec){.name = "ld through a pointer in .global",
                                    .signature = "w:f",
                                    .code = "ld.global.u64 x, [there];\nld.global.f32 d, [x+4];"});
    diff_add(b, &(struct diff_spec){.name = "cvta of .const",
                                    .signature = "w:w",
                                    .code = "mov.u64 x, table;\ncvta.const.u64 x, x;\n"
                                            "and.b32 j, i, 7;\nmad.wide.u32 x, j, 4, x;\n"
                                            "ld.u32 d, [x];"});
}

static void add_stores(struct diff_builder *b)
{
    diff_family(b, "stores", NULL);
    for (size_t t = 0; t < FTH_COUNT(scalars); t++) {
        const char *type = scalars[t];
        bool real = type[0] == 'f';
        /* Stores from a register that is wider than the type: the low bits are stored. */
        const char *signature = diff_text(b, "%c:l", real && scalar_bits[t] == 32 ? 'w' : 'l');
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "st.global.%s", type),
                                        .signature = signature,
                                        .code = diff_text(b, "st.global.%s [pd], a;", type)});
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "st.%s generic", type),
                                        .signature = signature,
                                        .code = diff_text(b, "st.%s [pd], a;", type)});
        diff_add(b, &(struct diff_spec){.name = diff_text(b, "st.shared.%s", type),
                                        .signature = signature,
                                        .registers = SHARED "\n.reg .b64 z;",
                                        .code = diff_text(b,
                                                          SHARED_ADDRESS
                                                          "mov.b64 z, 0x0102030405060708;\n"
                                                          "st.shared.b64 [k], z;\n"
                                                          "st.shared.%s [k], a;\n"
                                                          "ld.shared.b64 d, [k];",
                                                          type)});
    }
    static const char *const loads[] = {
        "ld.global.ca.u32",
        "ld.global.cg.u32",
        "ld.global.cs.u32",
        "ld.global.lu.u32",
        "ld.global.cv.u32",
        "ld.global.nc.u32",
        "ld.volatile.global.u32",
        "ld.relaxed.gpu.global.u32",
        "ld.acquire.sys.global.u32",
        "ld.weak.global.u32",
        "ldu.global.u32",
        "ld.relaxed.cta.u32",
        "ld.volatile.u32",
        "ld.global.nc.L1::no_allocate.u32",
        "ld.global.L2::128B.u32",
    };
    for (size_t i = 0; i < FTH_COUNT(loads); i++)
        diff_add(b, &(struct diff_spec){.signature = "w:w",
                                        .code = diff_text(b, "%s d, [pa];", loads[i])});
    static const char *const stores[] = {
        "st.global.wb.u32",          "st.global.cg.u32",       "st.global.cs.u32",
        "st.global.wt.u32",          "st.volatile.global.u32", "st.relaxed.gpu.global.u32",
        "st.release.sys.global.u32", "st.weak.global.u32",
    };
    for (size_t i = 0; i < FTH_COUNT(stores); i++)
        diff_add(b, &(struct diff_spec){.signature = "w:w",
                                        .code = diff_text(b, "%s [pd], a;", stores[i])});
}

/* Each thread loads 16 bytes. The arrays of a and b are adjacent in memory, so together they are an
 * array of 16-byte elements. */
static void add_vectors(struct diff_builder *b)
{
    diff_family(b, "vector loads and stores", NULL);
    for (size_t t = 0; t < FTH_COUNT(scalars); t++)
        for (unsigned n = 2; n <= 4; n += 2) {
            if (scalar_bits[t] * n > 128)
                continue;
            unsigned width = scalar_bits[t] < 16 ? 16 : scalar_bits[t];
            const char *lists[] = {"{m0, m1}", "{m1, m0}", "{m0, m1, m2, m3}", "{m3, m1, m2, m0}"};
            const char *in = lists[n - 2], *out = lists[n - 1];
            const char *registers = diff_text(
                b, ".reg .b%u m0, m1, m2, m3;\n" SHARED "\n.shared .align 16 .b8 s2[1024];", width);
            diff_add(b,
                     &(struct diff_spec){.name = diff_text(b, "ld st.global.v%u.%s", n, scalars[t]),
                                         .signature = "ll:l",
                                         .per_thread = 2,
                                         .threads = 256,
                                         .registers = registers,
                                         .code = diff_text(b,
                                                           "mad.wide.u32 pa, i, 16, x;\n"
                                                           "ld.global.v%u.%s %s, [pa];\n"
                                                           "st.global.v%u.%s [pd], %s;",
                                                           n, scalars[t], in, n, scalars[t], out)});
            diff_add(b,
                     &(struct diff_spec){.name = diff_text(b, "ld st.shared.v%u.%s", n, scalars[t]),
                                         .signature = "ll:l",
                                         .per_thread = 2,
                                         .threads = 256,
                                         .registers = registers,
                                         .code = diff_text(b,
                                                           "mov.u32 j, %%tid.x;\nmov.u32 k, s;\n"
                                                           "mad.lo.u32 k, j, 16, k;\n"
                                                           "mad.wide.u32 pa, i, 16, x;\n"
                                                           "ld.global.v%u.%s %s, [pa];\n"
                                                           "st.shared.v%u.%s [k], %s;\n"
                                                           "ld.shared.v%u.%s %s, [k];\n"
                                                           "st.v%u.%s [pd], %s;",
                                                           n, scalars[t], in, n, scalars[t], in, n,
                                                           scalars[t], in, n, scalars[t], out)});
        }
    diff_add(b, &(struct diff_spec){.name = "ld.global.nc.v4.f32",
                                    .signature = "ll:l",
                                    .per_thread = 2,
                                    .threads = 256,
                                    .registers = ".reg .f32 m0, m1, m2, m3;",
                                    .code = "mad.wide.u32 pa, i, 16, x;\n"
                                            "ld.global.nc.v4.f32 {m0, m1, m2, m3}, [pa];\n"
                                            "st.global.v2.f32 [pd], {m2, m1};\n"
                                            "st.global.v2.f32 [pd+8], {m0, m3};"});
}

/* Generic addresses and their spaces, and calls of functions. */
static void add_spaces(struct diff_builder *b)
{
    diff_family(b, "address spaces and calls",
                ".shared .align 8 .b8 pool[1024];\n"
                ".func (.param .b32 r) twice(.param .b32 v)\n{\n.reg .b32 n;\n"
                "ld.param.b32 n, [v];\nadd.s32 n, n, n;\nst.param.b32 [r], n;\nret;\n}\n"
                ".func (.param .b64 r) swap(.param .align 8 .b8 v[8])\n{\n.reg .b32 m, n;\n"
                ".reg .b64 o;\nld.param.v2.b32 {m, n}, [v];\nmov.b64 o, {n, m};\n"
                "st.param.b64 [r], o;\nret;\n}\n");
    static const char *const spaces[] = {"global", "shared", "local", "const"};
    for (size_t q = 0; q < FTH_COUNT(spaces); q++)
        diff_add(b, &(struct diff_spec){
                        .name = diff_text(b, "isspacep.%s", spaces[q]),
                        .signature = "w:w",
                        .threads = 32,
                        .registers = LOCAL "\n.reg .pred z0, z1, z2;\n.reg .b32 m;",
                        .code = diff_text(b,
                                          "isspacep.%s z0, x;\n"
                                          "mov.u64 z, pool;\ncvta.shared.u64 z, z;\n"
                                          "isspacep.%s z1, z;\n"
                                          "mov.u64 z, s;\ncvta.local.u64 z, z;\n"
                                          "isspacep.%s z2, z;\n"
                                          "selp.b32 d, 1, 0, z0;\nselp.b32 m, 2, 0, z1;\n"
                                          "or.b32 d, d, m;\nselp.b32 m, 4, 0, z2;\n"
                                          "or.b32 d, d, m;",
                                          spaces[q], spaces[q], spaces[q])});
    diff_add(b, &(struct diff_spec){.name = "generic shared",
                                    .signature = "w:w",
                                    .registers = ".reg .b64 z;\n.reg .b32 m;",
                                    .code = "mov.u32 j, %tid.x;\nmov.u64 z, pool;\n"
                                            "cvta.shared.u64 z, z;\nmad.wide.u32 z, j, 8, z;\n"
                                            "st.b32 [z], a;\nld.b32 m, [z];\n"
                                            "cvta.to.shared.u64 z, z;\nld.shared.b32 d, [z];\n"
                                            "xor.b32 m, m, d;\nadd.u32 d, d, m;"});
    diff_add(b, &(struct diff_spec){.name = "generic local",
                                    .signature = "w:w",
                                    .registers = LOCAL,
                                    .code = "mov.u64 z, s;\ncvta.local.u64 z, z;\n"
                                            "and.b32 j, i, 3;\nmad.wide.u32 z, j, 4, z;\n"
                                            "st.b32 [z], a;\ncvta.to.local.u64 z, z;\n"
                                            "ld.local.b32 d, [z];"});
    diff_add(b,
             &(struct diff_spec){.name = "call with parameters",
                                 .signature = "w:w",
                                 .code = "{\n.param .b32 v;\n.param .b32 r;\nst.param.b32 [v], a;\n"
                                         "call.uni (r), twice, (v);\nld.param.b32 d, [r];\n}"});
    diff_add(b,
             &(struct diff_spec){.name = "call in a branch",
                                 .signature = "ww:w",
                                 .registers = ".reg .pred z;",
                                 .code = "mov.b32 d, b;\nsetp.lt.s32 z, a, b;\n@!z bra OVER;\n"
                                         "{\n.param .b32 v;\n.param .b32 r;\nst.param.b32 [v], a;\n"
                                         "call (r), twice, (v);\nld.param.b32 d, [r];\n}\nOVER:"});
    diff_add(b, &(struct diff_spec){
                    .name = "call with a struct",
                    .signature = "l:l",
                    .code = "{\n.param .align 8 .b8 v[8];\n.param .b64 r;\nst.param.b64 [v], a;\n"
                            "call.uni (r), swap, (v);\nld.param.b64 d, [r];\n}"});
}

void diff_add_memory(struct diff_builder *builder)
{
    add_extension(builder);
    add_stores(builder);
    add_vectors(builder);
    add_spaces(builder);
}
