/* Builds the suite: generates the PTX of every kernel from its specification, chooses the operands,
 * and computes the hashes that detect an outdated golden file. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128, MAX_CASES = 8192, MAX_FAMILIES = 128 };

static const char head[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";
static const char operand_names[] = "abce", result_names[] = "dq";

struct diff_builder {
    struct diff_suite *suite;
    struct diff_family *family;
    const char *family_head; /* further declarations, or NULL */
    struct fth_buffer module;
    const char *problem; /* the first problem, or NULL */
};

static const struct diff_type_info types[] = {
    [DIFF_NONE] = {'-', 0, 0, 0, false},  [DIFF_I16] = {'h', 2, 0, 0, false},
    [DIFF_I32] = {'w', 4, 0, 0, false},   [DIFF_I64] = {'l', 8, 0, 0, false},
    [DIFF_F16] = {'H', 2, 5, 10, false},  [DIFF_BF16] = {'B', 2, 8, 7, false},
    [DIFF_F16X2] = {'X', 4, 5, 10, true}, [DIFF_BF16X2] = {'Y', 4, 8, 7, true},
    [DIFF_F32] = {'f', 4, 8, 23, false},  [DIFF_F64] = {'d', 8, 11, 52, false},
    [DIFF_PRED] = {'p', 1, 0, 0, false},
};

const struct diff_type_info *diff_type_info(enum diff_type type)
{
    return &types[type];
}

struct fth_arena *diff_arena(struct diff_builder *builder)
{
    return &builder->suite->arena;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

static uint64_t load(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void store(unsigned char *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

uint64_t diff_operand(const struct diff_case *c, unsigned index, size_t thread)
{
    unsigned bytes = types[c->operand[index]].bytes;
    return load(c->input + c->operand_offset[index] + thread * c->operand_values[index] * bytes,
                bytes);
}

/* Threads per digest. */
enum { DIGEST_THREADS = 32 };

size_t diff_golden_bytes(const struct diff_case *c)
{
    size_t digests = (c->threads + DIGEST_THREADS - 1) / DIGEST_THREADS;
    return c->digest ? (digests * sizeof(uint64_t) + 15) / 16 * 16 : c->output_bytes;
}

void diff_digest(const struct diff_case *c, unsigned char *output)
{
    if (!c->digest)
        return;
    /* Each digest is written over results that have already been read: those of 32 threads take at
     * least 32 bytes. */
    const size_t each = (size_t)DIGEST_THREADS * c->per_thread * types[c->result[0]].bytes;
    size_t at = 0;
    for (size_t from = 0; from + each <= c->output_bytes; from += each, at += sizeof(uint64_t))
        store(output + at, sizeof(uint64_t), hash_bytes(hash_start, output + from, each));
    memset(output + at, 0, diff_golden_bytes(c) - at);
}

uint64_t diff_result(const struct diff_case *c, const unsigned char *output, unsigned result,
                     size_t index)
{
    unsigned bytes = types[c->result[result]].bytes;
    return load(output + c->result_offset[result] + index * bytes, bytes);
}

static void report_problem(struct diff_builder *builder, const char *text)
{
    if (!builder->problem)
        builder->problem = text;
}

const char *diff_text(struct diff_builder *builder, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof text)
        report_problem(builder, "a text is longer than 2047 bytes");
    const char *text_copy = fth_arena_text(diff_arena(builder), text);
    if (!text_copy)
        report_problem(builder, "out of memory");
    return text_copy ? text_copy : "";
}

static void read_signature(struct diff_builder *builder, const char *signature, struct diff_case *c)
{
    bool results = false;
    for (const char *at = signature; *at; at++) {
        enum diff_type type = DIFF_NONE;
        if (*at == ':') {
            results = true;
            continue;
        }
        for (size_t t = 1; t < FTH_COUNT(types); t++)
            if (types[t].letter == *at)
                type = (enum diff_type)t;
        if (type == DIFF_NONE ||
            (results ? c->results == DIFF_RESULTS : c->operands == DIFF_OPERANDS))
            report_problem(builder,
                           "a signature has an unknown letter or too many operands or results");
        else if (results)
            c->result[c->results++] = type;
        else
            c->operand[c->operands++] = type;
    }
}

/* Returns whether the code accesses the operand or result `name` in memory itself. */
static bool code_uses(const char *code, char name)
{
    char address[] = {'[', 'p', name, '\0'};
    return strstr(code, address) != NULL;
}

/* Returns the opcode: "setp.lt.f32" for "setp.lt.f32 d, a, b;". */
static const char *first_word(struct diff_builder *builder, const char *code)
{
    return diff_text(builder, "%.*s", (int)strcspn(code, " ;\n"), code);
}

static void declare(struct fth_buffer *out, enum diff_type type, char name)
{
    if (type == DIFF_PRED)
        fth_buffer_format(out, ".reg .pred %c; .reg .b64 p%c;\n", name, name);
    else
        fth_buffer_format(out, ".reg .b%u %c; .reg .b64 p%c;\n", types[type].bytes * 8, name, name);
}

static void write_kernel(const struct diff_case *c, const struct diff_spec *spec,
                         struct fth_buffer *out)
{
    fth_buffer_format(out, ".visible .entry %s(.param .u64 in, .param .u64 out)\n{\n", c->entry);
    fth_buffer_text(out, ".reg .b16 t;\n.reg .b32 i, j, k;\n.reg .b64 x, y;\n");
    for (unsigned o = 0; o < c->operands && o < DIFF_OPERANDS; o++)
        declare(out, c->operand[o], operand_names[o]);
    for (unsigned r = 0; r < c->results && r < DIFF_RESULTS; r++)
        declare(out, c->result[r], result_names[r]);
    if (spec->registers)
        fth_buffer_format(out, "%s\n", spec->registers);
    fth_buffer_text(out, "ld.param.u64 x, [in];\nld.param.u64 y, [out];\n"
                         "mov.u32 i, %ctaid.x;\nmov.u32 j, %ntid.x;\nmov.u32 k, %tid.x;\n"
                         "mad.lo.u32 i, i, j, k;\n");
    for (unsigned o = 0; o < c->operands && o < DIFF_OPERANDS; o++) {
        const struct diff_type_info *type = &types[c->operand[o]];
        char name = operand_names[o];
        fth_buffer_format(out, "mad.wide.u32 p%c, i, %u, x;\n", name,
                          type->bytes * c->operand_values[o]);
        if (c->operand_offset[o] > 0)
            fth_buffer_format(out, "add.u64 p%c, p%c, %zu;\n", name, name, c->operand_offset[o]);
        if (code_uses(spec->code, name))
            continue;
        if (c->operand[o] == DIFF_PRED)
            fth_buffer_format(out, "ld.global.u8 t, [p%c];\nsetp.ne.u16 %c, t, 0;\n", name, name);
        else
            fth_buffer_format(out, "ld.global.b%u %c, [p%c];\n", type->bytes * 8, name, name);
    }
    /* Addresses of the results that the code stores itself. */
    for (unsigned r = 0; r < c->results && r < DIFF_RESULTS; r++)
        if (code_uses(spec->code, result_names[r]))
            fth_buffer_format(out, "mad.wide.u32 p%c, i, %u, y;\nadd.u64 p%c, p%c, %zu;\n",
                              result_names[r], types[c->result[r]].bytes * c->per_thread,
                              result_names[r], result_names[r], c->result_offset[r]);
    fth_buffer_format(out, "%s\n", spec->code);
    /* The other results are stored after the code, because the code may change `i`. */
    for (unsigned r = 0; r < c->results && r < DIFF_RESULTS; r++) {
        const struct diff_type_info *type = &types[c->result[r]];
        char name = result_names[r];
        if (code_uses(spec->code, name))
            continue;
        fth_buffer_format(out, "mad.wide.u32 p%c, i, %u, y;\n", name, type->bytes);
        if (c->result[r] == DIFF_PRED)
            fth_buffer_format(out, "selp.u16 t, 1, 0, %c;\nst.global.u8 [p%c+%zu], t;\n", name,
                              name, c->result_offset[r]);
        else
            fth_buffer_format(out, "st.global.b%u [p%c+%zu], %c;\n", type->bytes * 8, name,
                              c->result_offset[r], name);
    }
    fth_buffer_text(out, "ret;\n}\n");
}

/* Returns the number of threads of a case that does not specify it: one per element of the cross
 * product of the edge values, up to a limit, plus some for random values. */
static size_t default_threads(const struct diff_values *values, unsigned operands)
{
    size_t cross_product = 1;
    for (unsigned o = 0; o < operands; o++)
        cross_product *= values[o].count;
    if (operands <= 1)
        return cross_product + 200;
    if (operands == 2)
        return cross_product < 1300 ? cross_product + 120 : 1500;
    return cross_product < 1200 ? cross_product + 200 : 1500;
}

/* Sets the offsets of operands and results, and returns the number of operand values per thread. */
static size_t place_arrays(struct diff_case *c, const struct diff_spec *spec)
{
    /* Every array starts at a multiple of 16 bytes, so it is aligned. */
    size_t offset = 0, all = 0;
    for (unsigned o = 0; o < c->operands; o++) {
        c->operand_offset[o] = offset;
        c->operand_values[o] = spec->operand_values[o] ? spec->operand_values[o] : 1;
        all += c->operand_values[o];
        offset += (c->threads * c->operand_values[o] * types[c->operand[o]].bytes + 15) / 16 * 16;
    }
    c->input_bytes = offset;
    offset = 0;
    for (unsigned r = 0; r < c->results; r++) {
        c->result_offset[r] = offset;
        offset += (c->threads * c->per_thread * types[c->result[r]].bytes + 15) / 16 * 16;
    }
    c->output_bytes = offset;
    return all;
}

static void choose_operands(struct diff_builder *builder, struct diff_case *c,
                            const struct diff_spec *spec)
{
    struct fth_arena *arena = diff_arena(builder);
    struct diff_values values[DIFF_OPERANDS] = {{0}};
    bool given[DIFF_OPERANDS] = {false};
    for (unsigned o = 0; o < c->operands; o++) {
        given[o] = spec->values[o] != NULL;
        values[o] = given[o] ? *spec->values[o] : diff_edges(arena, c->operand[o]);
    }
    for (int i = 0; i < 3; i++) {
        c->grid[i] = spec->grid[i] ? spec->grid[i] : 1;
        c->block[i] = spec->block[i] ? spec->block[i] : 1;
    }
    size_t block = (size_t)c->block[0] * c->block[1] * c->block[2];
    size_t blocks = (size_t)c->grid[0] * c->grid[1] * c->grid[2];
    c->threads = block * blocks;
    if (!spec->block[0]) {
        size_t threads = spec->threads ? spec->threads : default_threads(values, c->operands);
        c->block[0] = threads < BLOCK ? (uint32_t)threads : BLOCK;
        c->grid[0] = (uint32_t)((threads + c->block[0] - 1) / c->block[0]);
        c->threads = (size_t)c->grid[0] * c->block[0];
    }

    const size_t all = place_arrays(c, spec);
    const size_t stride = spec->fill_all ? all : DIFF_OPERANDS; /* values per thread in at[] */
    uint64_t *at = calloc(c->threads * stride + 1, sizeof *at);
    c->input = fth_arena_alloc(arena, c->input_bytes ? c->input_bytes : 1);
    if (!at || !c->input) {
        report_problem(builder, "out of memory");
        free(at);
        return;
    }
    struct fth_rng rng;
    fth_rng_init(&rng, hash_bytes(hash_start, c->name, strlen(c->name)));
    if (spec->fill_all)
        for (size_t t = 0; t < c->threads; t++)
            spec->fill_all(spec->user, &rng, t, at + t * stride);
    else if (spec->fill)
        for (size_t t = 0; t < c->threads; t++)
            spec->fill(&rng, t, at + t * DIFF_OPERANDS);
    else
        diff_sample(&rng, c->operand, values, given, c->operands, c->threads, at);
    for (size_t t = 0; t < c->threads; t++) {
        const uint64_t *value = at + t * stride;
        for (unsigned o = 0; o < c->operands; o++) {
            const unsigned bytes = types[c->operand[o]].bytes, values_each = c->operand_values[o];
            for (unsigned v = 0; v < values_each; v++)
                store(c->input + c->operand_offset[o] + (t * values_each + v) * bytes, bytes,
                      *value++);
        }
    }
    free(at);
}

void diff_add(struct diff_builder *builder, const struct diff_spec *spec)
{
    struct diff_suite *suite = builder->suite;
    if (suite->case_count == MAX_CASES) {
        report_problem(builder, "there are too many cases");
        return;
    }
    struct diff_case *c = &suite->cases[suite->case_count];
    c->name = spec->name ? spec->name : first_word(builder, spec->code);
    c->family = builder->family->name;
    snprintf(c->entry, sizeof c->entry, "k%zu", suite->case_count - builder->family->first);
    c->per_thread = spec->per_thread ? spec->per_thread : 1;
    c->digest = spec->digest;
    read_signature(builder, spec->signature, c);
    if (builder->problem)
        return;
    choose_operands(builder, c, spec);

    struct fth_buffer kernel = {0};
    write_kernel(c, spec, &kernel);
    c->ptx = kernel.failed ? NULL : fth_arena_text(diff_arena(builder), kernel.data);
    if (!c->ptx) {
        report_problem(builder, "out of memory");
        fth_buffer_fini(&kernel);
        return;
    }
    fth_buffer_text(&builder->module, kernel.data);
    fth_buffer_fini(&kernel);

    uint64_t hash = hash_bytes(hash_start, c->ptx, strlen(c->ptx));
    hash = hash_bytes(hash, c->input, c->input_bytes);
    if (builder->family_head)
        hash = hash_bytes(hash, builder->family_head, strlen(builder->family_head));
    hash = hash_bytes(hash, c->grid, sizeof c->grid);
    c->hash = hash_bytes(hash, c->block, sizeof c->block);
    suite->case_count++;
    builder->family->count++;
}

static void end_family(struct diff_builder *builder)
{
    if (!builder->family)
        return;
    if (fth_buffer_take(&builder->module, &builder->family->ptx, &builder->family->ptx_bytes,
                        NULL) != FTH_OK)
        report_problem(builder, "out of memory");
}

void diff_family(struct diff_builder *builder, const char *name, const char *more)
{
    struct diff_suite *suite = builder->suite;
    end_family(builder);
    if (suite->family_count == MAX_FAMILIES) {
        report_problem(builder, "there are too many families");
        return;
    }
    builder->family = &suite->families[suite->family_count++];
    builder->family->name = name;
    builder->family->first = suite->case_count;
    builder->family_head = more;
    fth_buffer_text(&builder->module, head);
    if (more)
        fth_buffer_text(&builder->module, more);
}

static const char *default_code(struct diff_builder *builder, const char *signature, const char *op)
{
    const char *colon = strchr(signature, ':');
    size_t operands = colon ? (size_t)(colon - signature) : 0;
    bool two = colon && strlen(colon) == 3;
    static const char *const lists[] = {"", ", a", ", a, b", ", a, b, c", ", a, b, c, e"};
    return diff_text(builder, "%s %s%s;", op, two ? "d|q" : "d", lists[operands]);
}

void diff_op_as(struct diff_builder *builder, const struct diff_spec *like, const char *format, ...)
{
    char op[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(op, sizeof op, format, arguments);
    va_end(arguments);
    struct diff_spec spec = *like;
    spec.code = default_code(builder, spec.signature, op);
    diff_add(builder, &spec);
}

void diff_op(struct diff_builder *builder, const char *signature, const char *format, ...)
{
    char op[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(op, sizeof op, format, arguments);
    va_end(arguments);
    diff_op_as(builder, &(struct diff_spec){.signature = signature}, "%s", op);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names must be unique, because the golden file identifies cases by name. */
static void check_names(struct diff_builder *builder)
{
    struct diff_suite *suite = builder->suite;
    const char **names = calloc(suite->case_count + 1, sizeof *names);
    if (!names) {
        report_problem(builder, "out of memory");
        return;
    }
    for (size_t i = 0; i < suite->case_count; i++) {
        names[i] = suite->cases[i].name;
        if (strlen(names[i]) >= DIFF_NAME_BYTES)
            report_problem(builder, diff_text(builder, "the name '%s' is too long", names[i]));
    }
    qsort(names, suite->case_count, sizeof *names, by_name);
    for (size_t i = 1; i < suite->case_count; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            report_problem(builder, diff_text(builder, "two cases have the name '%s'", names[i]));
    free(names);
}

enum fth_status diff_suite_create(struct diff_suite **out, struct fth_error *error)
{
    *out = NULL;
    struct diff_suite *suite = calloc(1, sizeof *suite);
    if (suite) {
        suite->cases = calloc(MAX_CASES, sizeof *suite->cases);
        suite->families = calloc(MAX_FAMILIES, sizeof *suite->families);
    }
    if (!suite || !suite->cases || !suite->families) {
        diff_suite_destroy(suite);
        return fth_fail(error, FTH_NO_MEMORY, "build the suite", NULL, "out of memory");
    }
    struct diff_builder builder = {.suite = suite};
    diff_add_integer(&builder);
    diff_add_bits(&builder);
    diff_add_comparisons(&builder);
    diff_add_conversions(&builder);
    diff_add_float(&builder);
    diff_add_approximations(&builder);
    diff_add_half(&builder);
    diff_add_memory(&builder);
    diff_add_atomics(&builder);
    diff_add_warp(&builder);
    diff_add_flow(&builder);
    diff_add_matrix(&builder);
    diff_add_video(&builder);
    end_family(&builder);
    check_names(&builder);
    fth_buffer_fini(&builder.module);
    suite->hash = hash_start;
    for (size_t i = 0; i < suite->case_count; i++) {
        suite->hash = hash_bytes(suite->hash, suite->cases[i].name, strlen(suite->cases[i].name));
        suite->hash = hash_bytes(suite->hash, &suite->cases[i].hash, sizeof suite->cases[i].hash);
    }
    if (builder.problem) {
        enum fth_status status =
            fth_fail(error, FTH_INVALID, "build the suite", NULL, "%s", builder.problem);
        diff_suite_destroy(suite);
        return status;
    }
    *out = suite;
    return FTH_OK;
}

void diff_suite_destroy(struct diff_suite *suite)
{
    if (!suite)
        return;
    for (size_t i = 0; i < suite->family_count; i++)
        fth_free(suite->families[i].ptx);
    free(suite->cases);
    free(suite->families);
    fth_arena_fini(&suite->arena);
    free(suite);
}
