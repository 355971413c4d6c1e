/* Cases for atomics. Each thread updates its own word; the results are the new content of memory
 * and the old value that the instruction returns. PTX ISA, "Parallel Synchronization and
 * Communication Instructions: atom, red". */
#include "../suite.h"

#include <string.h>

static const struct operation {
    const char *name, *type;
    char letter;
    bool has_red; /* red has this operation, too */
} operations[] = {
    {"add", "u32", 'w', true},          {"add", "s32", 'w', true},
    {"add", "u64", 'l', true},          {"add", "f32", 'f', true},
    {"add", "f64", 'd', true},          {"add.noftz", "f16", 'H', true},
    {"add.noftz", "f16x2", 'X', true},  {"add.noftz", "bf16", 'B', true},
    {"add.noftz", "bf16x2", 'Y', true}, {"min", "u32", 'w', true},
    {"min", "s32", 'w', true},          {"min", "u64", 'l', true},
    {"min", "s64", 'l', true},          {"max", "u32", 'w', true},
    {"max", "s32", 'w', true},          {"max", "u64", 'l', true},
    {"max", "s64", 'l', true},          {"inc", "u32", 'w', true},
    {"dec", "u32", 'w', true},          {"and", "b32", 'w', true},
    {"and", "b64", 'l', true},          {"or", "b32", 'w', true},
    {"or", "b64", 'l', true},           {"xor", "b32", 'w', true},
    {"xor", "b64", 'l', true},          {"exch", "b32", 'w', false},
    {"exch", "b64", 'l', false},        {"cas", "b16", 'h', false},
    {"cas", "b32", 'w', false},         {"cas", "b64", 'l', false},
};

static const char shared[] = ".shared .align 8 .b8 s[1024];\n.reg .b64 z;";
static const char shared_address[] = "mov.u32 j, %tid.x;\nmov.u32 k, s;\nmad.lo.u32 k, j, 8, k;\n";

static void add_one(struct diff_builder *b, const struct operation *op)
{
    unsigned bits = diff_type_info(DIFF_I16)->bytes * 8;
    for (int t = DIFF_I16; t <= DIFF_F64; t++)
        if (diff_type_info((enum diff_type)t)->letter == op->letter)
            bits = diff_type_info((enum diff_type)t)->bytes * 8;
    static const uint64_t few[] = {0, 1, 5, 0x8000, 0xffff, 0x80000000, 0xffffffff, UINT64_MAX};
    static const struct diff_values few_values = {few, FTH_COUNT(few)};
    bool swap = strcmp(op->name, "cas") == 0;
    char x = op->letter;
    const char *both = diff_text(b, swap ? "%c%c%c:%c%c" : "%c%c:%c%c", x, x, x, x, x);
    const char *rest = swap ? ", b, c" : ", b";
    struct diff_spec spec = {.signature = both, .registers = shared, .threads = swap ? 0 : 640};
    if (swap)
        spec.values[0] = spec.values[1] = spec.values[2] = &few_values;

    spec.name = diff_text(b, "atom.global.%s.%s", op->name, op->type);
    spec.code = diff_text(b, "st.global.b%u [pq], a;\natom.global.%s.%s d, [pq]%s;", bits, op->name,
                          op->type, rest);
    diff_add(b, &spec);
    spec.name = diff_text(b, "atom.%s.%s generic", op->name, op->type);
    spec.code =
        diff_text(b, "st.b%u [pq], a;\natom.%s.%s d, [pq]%s;", bits, op->name, op->type, rest);
    diff_add(b, &spec);
    spec.name = diff_text(b, "atom.shared.%s.%s", op->name, op->type);
    spec.code = diff_text(b,
                          "%sst.shared.b%u [k], a;\natom.shared.%s.%s d, [k]%s;\n"
                          "ld.shared.b%u q, [k];",
                          shared_address, bits, op->name, op->type, rest, bits);
    diff_add(b, &spec);
    if (!op->has_red)
        return;
    spec.signature = diff_text(b, "%c%c:%c", x, x, x);
    spec.name = diff_text(b, "red.global.%s.%s", op->name, op->type);
    spec.code =
        diff_text(b, "st.global.b%u [pd], a;\nred.global.%s.%s [pd], b;", bits, op->name, op->type);
    diff_add(b, &spec);
    if (strchr(op->name, '.')) /* red with halves exists only for global memory */
        return;
    spec.name = diff_text(b, "red.shared.%s.%s", op->name, op->type);
    spec.code = diff_text(b,
                          "%sst.shared.b%u [k], a;\nred.shared.%s.%s [k], b;\n"
                          "ld.shared.b%u d, [k];",
                          shared_address, bits, op->name, op->type, bits);
    diff_add(b, &spec);
}

void diff_add_atomics(struct diff_builder *b)
{
    diff_family(b, "atomics", NULL);
    for (size_t i = 0; i < FTH_COUNT(operations); i++)
        add_one(b, &operations[i]);
    /* Memory orders and scopes have no effect, because each thread accesses only its own word. */
    static const char *const spellings[] = {
        "atom.relaxed.gpu.global.add.u32",
        "atom.acquire.cta.global.add.u32",
        "atom.release.sys.global.add.u32",
        "atom.acq_rel.gpu.global.add.u32",
    };
    for (size_t i = 0; i < FTH_COUNT(spellings); i++)
        diff_add(b,
                 &(struct diff_spec){
                     .signature = "ww:ww",
                     .name = spellings[i],
                     .threads = 128,
                     .code = diff_text(b, "st.global.b32 [pq], a;\n%s d, [pq], b;", spellings[i])});
    /* All threads of a block update one word; the final value does not depend on their order. */
    diff_add(b, &(struct diff_spec){
                    .name = "atom.shared.add.u32 of a block",
                    .signature = "w:w",
                    .registers = ".shared .align 4 .b32 s;\n.reg .pred z;",
                    .code = "mov.u32 j, %tid.x;\nsetp.eq.u32 z, j, 0;\n@z st.shared.u32 [s], 0;\n"
                            "bar.sync 0;\nred.shared.add.u32 [s], a;\nbar.sync 0;\n"
                            "ld.shared.u32 d, [s];"});
    diff_add(b, &(struct diff_spec){
                    .name = "atom.shared.inc.u32 of a block",
                    .signature = "w:w",
                    .registers = ".shared .align 4 .b32 s;\n.reg .pred z;",
                    .code = "mov.u32 j, %tid.x;\nsetp.eq.u32 z, j, 0;\n@z st.shared.u32 [s], 0;\n"
                            "bar.sync 0;\natom.shared.inc.u32 k, [s], 99;\nbar.sync 0;\n"
                            "ld.shared.u32 d, [s];"});
}
