/* The variables of a module (__constant__ and __device__ in CUDA C++) whose contents a user sets,
 * or wants to see. They are buffers that the module allocates.
 *
 *   f32[64]=random                       elements with their contents, as those of a buffer
 *   f32[]=random                         as many elements as the variable has
 *   f32[64]                              the contents that the module states
 *   i32:5                                one number
 *   random  1.5  file:data.bin           contents, if the module states the type of the variable
 */
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "set variable";

/* Size of a list of names in a message, so that the rest of the message fits struct fth_error. */
enum { LIST_BYTES = 400 };

/* Says that no variable has this name, or that several have it. */
static enum fth_status refuse(const char *name, const char *const *names, size_t count,
                              const bool *matches, size_t found, struct fth_error *error)
{
    char list[LIST_BYTES];
    const char *nearest = found ? NULL : fth_suggest(name, names, count);
    if (count == 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, name,
                        "the PTX file has no variables in global or constant memory");
    if (nearest)
        return fth_fail(error, FTH_NOT_FOUND, operation, name,
                        "the PTX file has no such variable; did you mean '%s'?", nearest);
    fth_name_list(names, count, found ? matches : NULL, FTH_NAME_SHORT, list, sizeof list);
    return fth_fail(error, FTH_NOT_FOUND, operation, name,
                    found ? "several variables match: %s"
                          : "choose one of the variables of the PTX file: %s",
                    list);
}

/* Returns whether a name is that of the variable in the PTX file or in C++. */
static bool is_meant(const char *name, const char *symbol)
{
    char demangled[FTH_NAME_BYTES];
    if (strcmp(name, symbol) == 0)
        return true;
    fth_demangle(symbol, FTH_NAME_SHORT, demangled, sizeof demangled);
    return strcmp(name, demangled) == 0;
}

/* Finds the variable of the module that a user means by `name`. The beginning of a name is not
 * enough, other than for kernels: a wrong variable would go unnoticed. */
static enum fth_status find(const struct fth_launch *launch, const char *name,
                            struct fth_ptx_variable_facts *facts, struct fth_error *error)
{
    struct fth_ptx_variable_facts each;
    size_t count = 0, found = 0;
    while (fth_ptx_variable_at(launch->module, count, &each))
        count++;
    const char **names = calloc(count + 1, sizeof *names);
    bool *matches = calloc(count + 1, sizeof *matches);
    enum fth_status status = FTH_OK;
    if (!names || !matches)
        status = fth_no_memory(error, operation, name);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        if (!fth_ptx_variable_at(launch->module, i, &each))
            break;
        names[i] = each.name;
        matches[i] = is_meant(name, each.name);
        if (!matches[i])
            continue;
        *facts = each;
        found++;
    }
    if (status == FTH_OK && found != 1)
        status = refuse(name, names, count, matches, found, error);
    free(names);
    free(matches);
    return status;
}

/* Writes the type of the elements as launch files name it. Untyped bits, such as b32, are unsigned
 * integers; integers are signed if the contents are a negative number. Returns false if the module
 * states only the size of the elements, as compilers do for arrays. */
static bool find_type(const struct fth_ptx_variable_facts *facts, const char *contents,
                      char type[16])
{
    const char *name = facts->type ? facts->type : "b8";
    const bool is_untyped = name[0] == 'b' && name[1] != 'f';
    snprintf(type, 16, "%s", name);
    if (is_untyped)
        *type = 'u';
    if (*type == 'u' && contents && *contents == '-')
        *type = 's';
    return !is_untyped;
}

/* Writes the text of a variable as that of a buffer, such as "f32[1]=1.5" for "f32:1.5". */
static enum fth_status complete(const struct fth_ptx_variable_facts *facts, const char *text,
                                struct fth_buffer *out, struct fth_error *error)
{
    const size_t size = text ? strcspn(text, ":[=") : 0;
    char type[16];
    if (text && fth_scalar_type_find(text, size)) {
        fth_buffer_append(out, text, size);
        fth_buffer_text(out, text[size] == ':' ? "[1]=" : "");
        fth_buffer_text(out, text + size + (text[size] == ':'));
    } else if (find_type(facts, text, type) || !text) {
        fth_buffer_text(out, type);
        fth_buffer_text(out, text ? "[]=" : "[]");
        fth_buffer_text(out, text ? text : "");
    } else {
        return fth_fail(error, FTH_INVALID, operation, facts->name,
                        "the PTX file states only the size of this variable, %llu bytes; give the "
                        "type of its elements too, such as f32[]=%s",
                        (unsigned long long)facts->bytes, *text ? text : "random");
    }
    return out->failed ? fth_no_memory(error, operation, facts->name) : FTH_OK;
}

/* Checks that a variable fits, and that its name is not in use. */
static enum fth_status check(const struct fth_launch *launch,
                             const struct fth_launch_buffer *variable, struct fth_error *error)
{
    const uint64_t elements = variable->symbol_bytes / variable->element->bytes;
    if (variable->count > elements || elements == 0)
        return fth_fail(error, FTH_INVALID, operation, variable->name,
                        "the variable has %llu bytes, which is room for %llu elements of type %s, "
                        "not for %llu",
                        (unsigned long long)variable->symbol_bytes, (unsigned long long)elements,
                        variable->element->name, (unsigned long long)variable->count);
    for (size_t i = 0; i < launch->buffer_count; i++) {
        const struct fth_launch_buffer *other = &launch->buffers[i];
        if ((other->symbol && strcmp(other->symbol, variable->symbol) == 0) ||
            (other->name && strcmp(other->name, variable->name) == 0))
            return fth_fail(error, FTH_INVALID, operation, variable->name,
                            other->symbol ? "the variable is given twice"
                                          : "a buffer has the same name; rename the buffer");
    }
    return FTH_OK;
}

enum fth_status fth_launch_add_variable(struct fth_launch *launch, const char *name,
                                        const char *text, struct fth_error *error)
{
    struct fth_ptx_variable_facts facts = {0};
    struct fth_buffer full = {0};
    FTH_TRY(find(launch, name, &facts, error));
    FTH_TRY(fth_launch_grow((void **)&launch->buffers, launch->buffer_count,
                            &launch->buffer_capacity, sizeof *launch->buffers, error));
    struct fth_launch_buffer variable = {.name = fth_arena_text(&launch->arena, name),
                                         .symbol = facts.name,
                                         .symbol_bytes = facts.bytes};
    enum fth_status status = variable.name ? FTH_OK : fth_no_memory(error, operation, facts.name);
    if (status == FTH_OK)
        status = complete(&facts, text, &full, error);
    if (status == FTH_OK)
        status = fth_launch_parse_buffer(launch, full.data, &variable, error);
    if (status != FTH_OK && full.data)
        fth_error_context(error, "variable '%s'", facts.name);
    fth_buffer_fini(&full);
    if (status == FTH_OK)
        status = check(launch, &variable, error);
    if (status == FTH_OK)
        launch->buffers[launch->buffer_count++] = variable;
    else
        fth_expression_destroy(variable.expression);
    return status;
}

enum fth_status fth_launch_variable(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    const size_t size = strcspn(text, "=");
    char *name = strdup(text);
    if (!name)
        return fth_no_memory(error, operation, text);
    name[size] = '\0';
    const enum fth_status status =
        fth_launch_add_variable(launch, name, text[size] ? text + size + 1 : NULL, error);
    free(name);
    return status;
}
