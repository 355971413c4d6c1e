/* Writes the description of a GPU for the terminal, in five parts:
 *   a drawing of the elements: those of an SM in a box for the SM, those that serve several SMs
 *   below it. Instead of SMs, other devices have compute units or cores;
 *   a table with size, line, latency and other main figures of each element;
 *   Structure: further figures of each element in words;
 *   Sources: the source of each figure, for elements whose figures have different sources;
 *   Not known: unknown attributes, with the reason.
 * The output is 80 to 100 columns wide, in UTF-8 or ASCII. Elements appear in the order of the
 * schema, independently of their order in the document. */
#include "report/description/gpu_text.h"

#include <math.h>
#include <string.h>

const char *fth_view_symbol(const struct fth_gpu_view *view, const char *utf8, const char *ascii)
{
    return view->options->utf8 ? utf8 : ascii;
}

double fth_view_number(const struct fth_gpu_view *view, const char *section, const char *name)
{
    return fth_gpu_number(view->gpu, section, name, NAN);
}

const char *fth_view_time(double value, char *text, size_t size)
{
    fth_number_format(rint(value * 100) / 100, text, size);
    return text;
}

const char *fth_view_title(const char *name, bool brief)
{
    const struct fth_element_def *def = fth_schema_element(name);
    return !def ? name : brief ? def->brief : def->title;
}

unsigned fth_view_classes(const char *name)
{
    const struct fth_element_def *def = fth_schema_element(name);
    return def ? def->classes : 0;
}

const char *fth_view_scope(const struct fth_gpu_view *view, const char *name)
{
    static const struct {
        const char *element, *scope;
    } default_scopes[] = {
        {"l1", "sm"},        {"texture", "sm"},         {"readonly", "sm"}, {"constant_l1", "sm"},
        {"shared", "sm"},    {"instruction_l0", "sm"},  {"l2", "gpu"},      {"memory", "gpu"},
        {"registers", "sm"}, {"cluster_shared", "gpc"}, {"tma", "sm"},      {"vector_l1", "sm"},
        {"l3", "gpu"},
    };
    const char *scope = fth_gpu_text(view->gpu, name, "scope");
    if (scope || fth_gpu_unknown(view->gpu, name, "scope"))
        return scope;
    if (!isnan(fth_view_number(view, name, "sms_per_instance")))
        return "group";
    /* CPUs differ in how many cores share an L2 or L3. */
    if (strcmp(view->unit.name, "core") == 0 &&
        (strcmp(name, "l2") == 0 || strcmp(name, "l3") == 0))
        return NULL;
    for (size_t i = 0; i < FTH_COUNT(default_scopes); i++)
        if (strcmp(default_scopes[i].element, name) == 0)
            return default_scopes[i].scope;
    return NULL;
}

/* Sets view->elements: first the elements of the schema in its order, then all others. Returns
 * false if memory runs out. */
static bool order_elements(struct fth_gpu_view *view, struct fth_arena *arena)
{
    const struct fth_gpu *gpu = view->gpu;
    const struct fth_element_def *def;
    view->elements = fth_arena_array(arena, gpu->element_count + 1, sizeof *view->elements);
    if (!view->elements)
        return false;
    for (size_t i = 0; (def = fth_schema_element_at(i)); i++)
        for (size_t j = 0; j < gpu->element_count; j++)
            if (strcmp(def->name, gpu->elements[j].name) == 0)
                view->elements[view->count++] = gpu->elements[j].name;
    for (size_t j = 0; j < gpu->element_count; j++)
        if (!fth_schema_element(gpu->elements[j].name))
            view->elements[view->count++] = gpu->elements[j].name;
    return true;
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    enum { MIN_WIDTH = 80 };
    struct fth_gpu_view view = {.gpu = gpu,
                                .unit = fth_gpu_unit(gpu),
                                .options = options,
                                .out = out,
                                .width = options->width > MIN_WIDTH ? options->width : MIN_WIDTH};
    if (view.width > 100) /* wider boxes would only contain more space */
        view.width = 100;
    struct fth_arena arena = {0};
    if (!order_elements(&view, &arena))
        return fth_no_memory(error, "show description", NULL);
    fth_view_drawing(&view);
    fth_buffer_text(out, "\n");
    fth_view_table(&view);
    fth_view_structure(&view);
    fth_view_sources(&view);
    fth_view_unknown(&view);
    fth_arena_fini(&arena);
    return FTH_OK;
}

const struct fth_report_writer fth_report_text = {"text", "a drawing and tables for the terminal",
                                                  write_gpu, fth_text_table};
