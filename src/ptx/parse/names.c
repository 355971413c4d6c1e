/* The symbol table of the parser: registers, variables, functions and labels. A pair of braces is a
 * scope. A name in an inner scope hides the same name in the outer scopes. Symbols are in a hash
 * table; the symbols of each bucket are in a list, innermost scope first. */
#include "ptx/parse/parser.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

bool fth_ptx_parser_grow(struct fth_ptx_parser *parser, void **items, size_t count,
                         size_t *capacity, size_t size)
{
    return fth_grow(items, count, capacity, size) || fth_ptx_lexer_no_memory(&parser->lexer);
}

const char *fth_ptx_parser_copy_text(struct fth_ptx_parser *parser, const char *text, size_t size)
{
    char *copy = fth_arena_alloc(&parser->module->arena, size + 1);
    if (copy)
        memcpy(copy, text, size);
    else
        fth_ptx_lexer_no_memory(&parser->lexer);
    return copy;
}

/* ---- names ---- */

static size_t bucket_of(const char *name, size_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash % BUCKETS;
}

/* Returns the innermost symbol of this name, or NULL. The stem of a parameterized name, "%r" of
 * "%r<100>", is not a name itself, so "%r" can be declared as well. */
static struct fth_ptx_symbol *find(struct fth_ptx_parser *parser, const char *name, size_t size,
                                   bool parameterized)
{
    struct fth_ptx_symbol *symbol = parser->buckets[bucket_of(name, size)];
    while (symbol && (symbol->size != size || symbol->parameterized != parameterized ||
                      memcmp(symbol->name, name, size) != 0))
        symbol = symbol->next_in_bucket;
    return symbol;
}

struct fth_ptx_symbol *fth_ptx_parser_find(struct fth_ptx_parser *parser, const char *name,
                                           size_t size)
{
    return find(parser, name, size, false);
}

static struct fth_ptx_symbol *define(struct fth_ptx_parser *parser,
                                     const struct fth_ptx_token *token,
                                     enum fth_ptx_symbol_kind kind, bool parameterized)
{
    const struct fth_ptx_symbol *old = find(parser, token->start, token->size, parameterized);
    uint32_t scope = parser->scope_ids[parser->depth];
    if (old && old->scope == scope) {
        fth_ptx_lexer_report(&parser->lexer, FTH_INVALID, token, "'%.*s' is declared twice",
                             (int)token->size, token->start);
        return NULL;
    }
    struct fth_ptx_symbol *symbol = fth_arena_alloc(&parser->module->arena, sizeof *symbol);
    void *scoped = parser->scoped;
    bool room = fth_ptx_parser_grow(parser, &scoped, parser->scoped_count, &parser->scoped_capacity,
                                    sizeof symbol);
    parser->scoped = scoped;
    if (!symbol || !room) {
        fth_ptx_lexer_no_memory(&parser->lexer);
        return NULL;
    }
    size_t bucket = bucket_of(token->start, token->size);
    *symbol = (struct fth_ptx_symbol){.name = token->start,
                                      .size = token->size,
                                      .kind = kind,
                                      .parameterized = parameterized,
                                      .scope = scope,
                                      .next_in_bucket = parser->buckets[bucket]};
    parser->buckets[bucket] = symbol;
    parser->scoped[parser->scoped_count++] = symbol;
    return symbol;
}

struct fth_ptx_symbol *fth_ptx_parser_define(struct fth_ptx_parser *parser,
                                             const struct fth_ptx_token *token,
                                             enum fth_ptx_symbol_kind kind)
{
    return define(parser, token, kind, false);
}

struct fth_ptx_symbol *fth_ptx_parser_define_stem(struct fth_ptx_parser *parser,
                                                  const struct fth_ptx_token *token,
                                                  enum fth_ptx_symbol_kind kind)
{
    return define(parser, token, kind, true);
}

bool fth_ptx_parser_open_scope(struct fth_ptx_parser *parser)
{
    if (parser->depth + 1 == MAX_SCOPE_DEPTH)
        return fth_ptx_lexer_fail(&parser->lexer, &parser->lexer.token,
                                  "braces are nested too deeply");
    void *parents = parser->scope_parents;
    if (!fth_ptx_parser_grow(parser, &parents, parser->scope_count, &parser->scope_capacity,
                             sizeof *parser->scope_parents))
        return false;
    parser->scope_parents = parents;
    parser->scope_parents[parser->scope_count] = parser->scope_ids[parser->depth];
    parser->depth++;
    parser->scope_ids[parser->depth] = (uint32_t)parser->scope_count++;
    parser->scope_starts[parser->depth] = parser->scoped_count;
    return true;
}

void fth_ptx_parser_close_scope(struct fth_ptx_parser *parser)
{
    while (parser->scoped_count > parser->scope_starts[parser->depth]) {
        const struct fth_ptx_symbol *symbol = parser->scoped[--parser->scoped_count];
        parser->buckets[bucket_of(symbol->name, symbol->size)] = symbol->next_in_bucket;
    }
    parser->depth--;
}

bool fth_ptx_parser_find_register(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                                  struct fth_ptx_symbol **symbol, uint32_t *index)
{
    struct fth_ptx_symbol *found = fth_ptx_parser_find(parser, token->start, token->size);
    if (found) {
        *symbol = found;
        *index = found->first;
        return found->kind == SYMBOL_REGISTER || found->kind == SYMBOL_PREDICATE;
    }
    /* The token can be an element of a parameterized name: %r12 after ".reg .b32 %r<100>". */
    size_t stem = token->size;
    while (stem > 0 && token->start[stem - 1] >= '0' && token->start[stem - 1] <= '9')
        stem--;
    if (stem == token->size || token->size - stem > 9)
        return false;
    found = find(parser, token->start, stem, true);
    uint32_t number = (uint32_t)strtoul(token->start + stem, NULL, 10);
    if (!found)
        return false;
    if (found->type == T_B128)
        number *= 2; /* two rows each */
    if (number >= found->count)
        return false;
    *symbol = found;
    *index = found->first + number;
    return true;
}

int32_t fth_ptx_parser_new_register(struct fth_ptx_parser *parser)
{
    return (int32_t)parser->function->register_count++;
}

int32_t fth_ptx_parser_immediate(struct fth_ptx_parser *parser, uint64_t bits)
{
    struct fth_ptx_module *module = parser->module;
    /* Only the last 64 immediates are searched. A duplicate costs no more than one row. */
    size_t oldest = module->pool_count > 64 ? module->pool_count - 64 : 0;
    for (size_t i = module->pool_count; i-- > oldest;)
        if (module->pool[i][0] == bits)
            return ~(int32_t)i;
    void *pool = module->pool;
    if (!fth_ptx_parser_grow(parser, &pool, module->pool_count, &module->pool_capacity,
                             sizeof *module->pool))
        return 0;
    module->pool = pool;
    for (int lane = 0; lane < LANES; lane++)
        module->pool[module->pool_count][lane] = bits;
    return ~(int32_t)module->pool_count++;
}

/* ---- labels ---- */

bool fth_ptx_parser_use_label(struct fth_ptx_parser *parser, const struct fth_ptx_token *token,
                              uint32_t inst, uint32_t *target)
{
    void *uses = parser->uses;
    if (!fth_ptx_parser_grow(parser, &uses, parser->use_count, &parser->use_capacity,
                             sizeof *parser->uses))
        return false;
    parser->uses = uses;
    parser->uses[parser->use_count++] =
        (struct fth_ptx_label_use){*token, parser->scope_ids[parser->depth], target, inst};
    return true;
}

bool fth_ptx_parser_define_label(struct fth_ptx_parser *parser, const struct fth_ptx_token *token)
{
    void *labels = parser->labels;
    if (!fth_ptx_parser_grow(parser, &labels, parser->label_count, &parser->label_capacity,
                             sizeof *parser->labels))
        return false;
    parser->labels = labels;
    parser->labels[parser->label_count++] = (struct fth_ptx_label){
        *token, parser->scope_ids[parser->depth], (uint32_t)parser->function->code_count};
    return true;
}

/* Orders labels by name, then by scope. */
static int by_label(const void *a, const void *b)
{
    const struct fth_ptx_label *x = a, *y = b;
    size_t x_size = x->token.size, y_size = y->token.size;
    int order = memcmp(x->token.start, y->token.start, FTH_MIN(x_size, y_size));
    if (order == 0)
        order = (x_size > y_size) - (x_size < y_size);
    return order ? order : (x->scope > y->scope) - (x->scope < y->scope);
}

/* Returns the label that a use refers to, or NULL. A label is visible in its own scope and in the
 * scopes inside it, so the search goes from the scope of the use outwards. */
static const struct fth_ptx_label *find_label(const struct fth_ptx_parser *parser,
                                              const struct fth_ptx_label_use *use)
{
    for (uint32_t scope = use->scope;; scope = parser->scope_parents[scope]) {
        struct fth_ptx_label key = {use->token, scope, 0};
        const struct fth_ptx_label *found =
            parser->label_count
                ? bsearch(&key, parser->labels, parser->label_count, sizeof key, by_label)
                : NULL;
        if (found || scope == 0)
            return found;
    }
}

bool fth_ptx_parser_resolve_labels(struct fth_ptx_parser *parser)
{
    if (parser->label_count)
        qsort(parser->labels, parser->label_count, sizeof *parser->labels, by_label);
    for (size_t i = 1; i < parser->label_count; i++)
        if (by_label(&parser->labels[i - 1], &parser->labels[i]) == 0) {
            const struct fth_ptx_token *a = &parser->labels[i - 1].token;
            const struct fth_ptx_token *b = &parser->labels[i].token;
            return fth_ptx_lexer_fail(&parser->lexer, a->start > b->start ? a : b,
                                      "duplicate label");
        }
    for (size_t i = 0; i < parser->use_count; i++) {
        const struct fth_ptx_label_use *use = &parser->uses[i];
        const struct fth_ptx_label *label = find_label(parser, use);
        if (!label)
            return fth_ptx_lexer_fail(&parser->lexer, &use->token, "label '%.*s' is not defined",
                                      (int)use->token.size, use->token.start);
        if (use->inst != UINT32_MAX)
            parser->function->code[use->inst].target = label->pc;
        else
            *use->target = label->pc;
    }
    parser->label_count = parser->use_count = 0;
    return true;
}
