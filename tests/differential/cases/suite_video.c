/* Cases for the video instructions (PTX ISA, "Video Instructions"): all operations, types,
 * secondary operations and saturation, and a choice of parts and selections. */
#include "../suite.h"

static const char *const types[] = {"u32", "s32"};

/* Operands per case: a sample of the edge values, and random values. */
enum { THREADS = 512 };

/* Adds a case. `parts` are the suffixes of d, a and b; `has_c` adds the operand c. */
static void add(struct diff_builder *b, const char *opcode, const char *const parts[3],
                const char *const signs[3], bool has_c)
{
    const char *operands =
        diff_text(b, "d%s, %sa%s, %sb%s", parts[0], signs[0], parts[1], signs[1], parts[2]);
    const char *code = diff_text(b, "%s %s%s%s%s;", opcode, operands, has_c ? ", " : "",
                                 has_c ? signs[2] : "", has_c ? "c" : "");
    diff_add(b, &(struct diff_spec){.name = code,
                                    .signature = has_c ? "www:w" : "ww:w",
                                    .code = code,
                                    .digest = true,
                                    .threads = THREADS});
}

static const char *const whole[3] = {"", "", ""}, *const positive[3] = {"", "", ""};

/* The operations on two operands, of one part each. */
static void add_scalar(struct diff_builder *b)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
    static const char *const seconds[] = {"add", "min", "max"};
    static const char *const parts[][3] = {{".b0", ".b3", ".h1"}, {".b2", ".h0", ".b1"},
                                           {".h1", "", ".b2"},    {".h0", ".h1", ""},
                                           {".b3", "", ""},       {".b1", ".b0", ".b2"}};
    diff_family(b, "video", NULL);
    for (size_t i = 0; i < FTH_COUNT(ops); i++)
        for (unsigned t = 0; t < 8; t++) {
            const char *op =
                diff_text(b, "%s.%s.%s.%s", ops[i], types[t >> 2], types[t >> 1 & 1], types[t & 1]);
            add(b, op, whole, positive, false);
            add(b, diff_text(b, "%s.sat", op), whole, positive, false);
            for (size_t s = 0; s < FTH_COUNT(seconds); s++) {
                const char *const sources[] = {"", parts[s][1], parts[s][2]};
                add(b, diff_text(b, "%s.%s", op, seconds[s]), whole, positive, true);
                add(b, diff_text(b, "%s.sat.%s", op, seconds[s]), whole, positive, true);
                add(b, diff_text(b, "%s.sat.%s", op, seconds[s]), sources, positive, true);
            }
            for (size_t p = 0; p < FTH_COUNT(parts); p++) {
                add(b, op, parts[p], positive, true);
                add(b, diff_text(b, "%s.sat", op), parts[p], positive, true);
            }
        }
}

static void add_shifts(struct diff_builder *b)
{
    static const char *const modes[] = {"clamp", "wrap"};
    static const char *const seconds[] = {"add", "min", "max"};
    static const char *const parts[][3] = {{".h1", ".h0", ".b0"}, {".h0", "", ".b1"},
                                           {".b0", ".b3", ".b0"}, {".b1", "", ".b2"},
                                           {".b2", ".h1", ".b3"}, {".b3", "", ".h0"}};
    static const char *const amount[3] = {"", "", ".b1"};
    diff_family(b, "video shifts", NULL);
    for (unsigned t = 0; t < 16; t++) {
        const char *op = diff_text(b, "%s.%s.%s.u32", t & 8 ? "vshr" : "vshl", types[t >> 2 & 1],
                                   types[t >> 1 & 1]);
        const char *mode = modes[t & 1];
        add(b, diff_text(b, "%s.%s", op, mode), whole, positive, false);
        add(b, diff_text(b, "%s.sat.%s", op, mode), whole, positive, false);
        add(b, diff_text(b, "%s.sat.%s", op, mode), amount, positive, false);
        for (size_t i = 0; i < FTH_COUNT(seconds); i++) {
            add(b, diff_text(b, "%s.%s.%s", op, mode, seconds[i]), amount, positive, true);
            add(b, diff_text(b, "%s.sat.%s.%s", op, mode, seconds[i]), amount, positive, true);
        }
        for (size_t p = 0; p < FTH_COUNT(parts); p++) {
            add(b, diff_text(b, "%s.%s", op, mode), parts[p], positive, true);
            add(b, diff_text(b, "%s.sat.%s", op, mode), parts[p], positive, true);
        }
    }
}

static void add_mad(struct diff_builder *b)
{
    static const char *const scales[] = {"", ".shr7", ".shr15"};
    static const char *const parts[][3] = {{"", "", ""}, {"", ".h0", ".b3"}, {"", "", ".h1"}};
    static const char *const signs[][3] = {
        {"", "", ""}, {"-", "", ""}, {"", "-", ""}, {"", "", "-"}, {"-", "-", ""}};
    diff_family(b, "video multiply-add", NULL);
    for (unsigned t = 0; t < 4; t++)
        for (size_t s = 0; s < FTH_COUNT(scales); s++)
            for (size_t p = 0; p < FTH_COUNT(parts); p++) {
                for (size_t n = 0; n < FTH_COUNT(signs); n++) {
                    /* The type of the result must be that of the computation. */
                    const char *result = types[t != 0 || (n > 0 && n < 4)];
                    const char *op =
                        diff_text(b, "vmad.%s.%s.%s", result, types[t >> 1], types[t & 1]);
                    add(b, diff_text(b, "%s%s", op, scales[s]), parts[p], signs[n], true);
                    add(b, diff_text(b, "%s.sat%s", op, scales[s]), parts[p], signs[n], true);
                }
                const char *op =
                    diff_text(b, "vmad.%s.%s.%s.po", types[t != 0], types[t >> 1], types[t & 1]);
                add(b, diff_text(b, "%s%s", op, scales[s]), parts[p], positive, true);
                add(b, diff_text(b, "%s.sat%s", op, scales[s]), parts[p], positive, true);
            }
}

static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

static void add_set(struct diff_builder *b)
{
    static const char *const seconds[] = {"add", "min", "max"};
    static const char *const parts[3] = {".b2", ".b1", ".h1"}, *const sources[3] = {"", ".h0", ""};
    static const char *const half[3] = {".h1", "", ".h1"};
    diff_family(b, "video comparisons", NULL);
    for (size_t i = 0; i < FTH_COUNT(comparisons); i++)
        for (unsigned t = 0; t < 4; t++) {
            const char *op =
                diff_text(b, "vset.%s.%s.%s", types[t >> 1], types[t & 1], comparisons[i]);
            add(b, op, whole, positive, false);
            add(b, op, parts, positive, true);
            add(b, op, half, positive, true);
            for (size_t s = 0; s < FTH_COUNT(seconds); s++)
                add(b, diff_text(b, "%s.%s", op, seconds[s]), sources, positive, true);
        }
}

static void add_simd(struct diff_builder *b)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"};
    static const char *const halves[][3] = {{".h1", ".h31", ".h02"}, {".h0", ".h10", ".h33"}};
    static const char *const bytes[][3] = {{".b310", ".b7310", ".b0246"}, {".b2", ".b3210", ""}};
    diff_family(b, "video vectors", NULL);
    for (unsigned n = 2; n <= 4; n += 2) {
        const char *const(*parts)[3] = n == 2 ? halves : bytes;
        for (size_t i = 0; i < FTH_COUNT(ops); i++)
            for (unsigned t = 0; t < 8; t++) {
                const char *op = diff_text(b, "%s%u.%s.%s.%s", ops[i], n, types[t >> 2],
                                           types[t >> 1 & 1], types[t & 1]);
                add(b, op, whole, positive, true);
                add(b, diff_text(b, "%s.sat", op), whole, positive, true);
                add(b, diff_text(b, "%s.add", op), whole, positive, true);
                add(b, diff_text(b, "%s.sat", op), parts[0], positive, true);
                add(b, diff_text(b, "%s.add", op), parts[0], positive, true);
                add(b, op, parts[1], positive, true);
            }
        for (size_t i = 0; i < FTH_COUNT(comparisons); i++)
            for (unsigned t = 0; t < 4; t++) {
                const char *op =
                    diff_text(b, "vset%u.%s.%s.%s", n, types[t >> 1], types[t & 1], comparisons[i]);
                add(b, op, parts[t % 2], positive, true);
                add(b, diff_text(b, "%s.add", op), t % 2 ? whole : parts[0], positive, true);
            }
    }
}

void diff_add_video(struct diff_builder *b)
{
    add_scalar(b);
    add_shifts(b);
    add_mad(b);
    add_set(b);
    add_simd(b);
}
