/* Prints the JSON Schema of fathom-gpu/1, made from the tables of src/gpu/schema.c. The test
 * compares it with data/schemas/fathom-gpu-1.schema.json, so that the file has the same attributes
 * as the reader. tests/schemas/run --update writes the file. */
#include "gpu/gpu.h"

#include <stdio.h>
#include <string.h>

static struct fth_buffer out;
static struct fth_json_writer json = {.out = &out};

static void put_text(const char *key, const char *text)
{
    fth_json_key(&json, key);
    fth_json_text(&json, text);
}

static void put_number(const char *key, double number)
{
    fth_json_key(&json, key);
    fth_json_number(&json, number);
}

static void put_type(const char *type)
{
    put_text("type", type);
}

/* The largest number that descriptions can contain: 2^53. */
static const double max_number = 9007199254740992.0;

static void put_choices(const struct fth_attribute_def *def)
{
    fth_json_key(&json, "enum");
    fth_json_begin(&json, '[', true);
    for (const char *const *choice = def->choices; *choice; choice++)
        fth_json_text(&json, *choice);
    fth_json_end(&json, ']');
}

static void put_elements(void)
{
    const struct fth_element_def *element;
    fth_json_key(&json, "enum");
    fth_json_begin(&json, '[', true);
    for (size_t i = 0; (element = fth_schema_element_at(i)); i++)
        fth_json_text(&json, element->name);
    fth_json_end(&json, ']');
}

/* Writes the members of the schema of one value, or of one item of a list. */
static void put_rule(const struct fth_attribute_def *def)
{
    switch (def->rule) {
    case FTH_RULE_COUNT:
    case FTH_RULE_WHOLE:
        put_type("integer");
        put_number("minimum", def->rule == FTH_RULE_COUNT ? 1 : 0);
        put_number("maximum", max_number);
        return;
    case FTH_RULE_POSITIVE:
        put_type("number");
        put_number("exclusiveMinimum", 0);
        put_number("maximum", max_number);
        return;
    case FTH_RULE_NOT_NEGATIVE:
    case FTH_RULE_FRACTION:
        put_type("number");
        put_number("minimum", 0);
        put_number("maximum", def->rule == FTH_RULE_FRACTION ? 1 : max_number);
        return;
    case FTH_RULE_CHOICE: put_choices(def); return;
    case FTH_RULE_ELEMENT: put_elements(); return;
    case FTH_RULE_INDEX:
        put_type("string");
        put_text("pattern",
                 "^(mod|xor|prime|shift:[0-9]{1,2}|bits:\\[[0-9]{1,2}(,[0-9]{1,2})*\\])$");
        return;
    case FTH_RULE_CAPABILITY:
        put_type("string");
        put_text("pattern", "^[0-9]+\\.[0-9]+$");
        return;
    case FTH_RULE_TEXT: break;
    }
    put_type("string");
    put_number("minLength", 1);
}

/* Writes the schema of the value of an attribute. */
static void put_value(const struct fth_attribute_def *def)
{
    const bool list = def->kind == FTH_NUMBERS || def->kind == FTH_TEXTS;
    fth_json_begin(&json, '{', true);
    if (list) {
        put_type("array");
        if (def->kind == FTH_NUMBERS)
            put_number("minItems", 1);
        fth_json_key(&json, "items");
        fth_json_begin(&json, '{', true);
    }
    put_rule(def);
    if (list)
        fth_json_end(&json, '}');
    fth_json_end(&json, '}');
}

static void put_reference(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "#/$defs/%s", name);
    put_text("$ref", path);
}

/* Writes the definition of an attribute: the value alone, or an object with its provenance. */
static void put_attribute(const struct fth_attribute_def *def)
{
    fth_json_key(&json, def->name);
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "anyOf");
    fth_json_begin(&json, '[', false);
    put_value(def);
    fth_json_begin(&json, '{', true);
    put_reference("provenance");
    fth_json_key(&json, "properties");
    fth_json_begin(&json, '{', true);
    fth_json_key(&json, "value");
    put_value(def);
    fth_json_end(&json, '}');
    fth_json_end(&json, '}');
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
}

static void put_typed(const char *key, const char *type)
{
    fth_json_key(&json, key);
    fth_json_begin(&json, '{', true);
    put_type(type);
    fth_json_end(&json, '}');
}

static void put_texts(const char *key)
{
    fth_json_key(&json, key);
    fth_json_begin(&json, '{', true);
    put_type("object");
    put_typed("additionalProperties", "string");
    fth_json_end(&json, '}');
}

static void put_closed(void)
{
    fth_json_key(&json, "additionalProperties");
    fth_json_bool(&json, false);
}

static void put_required(const char *const *names)
{
    fth_json_key(&json, "required");
    fth_json_begin(&json, '[', true);
    for (; *names; names++)
        fth_json_text(&json, *names);
    fth_json_end(&json, ']');
}

/* Writes the schema of a section: an object with the attributes of its classes. */
static void put_section(const char *name)
{
    const struct fth_attribute_def *def;
    const bool device = strcmp(name, "device") == 0;
    fth_json_key(&json, name);
    fth_json_begin(&json, '{', false);
    put_type("object");
    if (device)
        put_required((const char *const[]){"name", NULL});
    fth_json_key(&json, "properties");
    fth_json_begin(&json, '{', false);
    for (size_t i = 0; (def = fth_schema_attribute_at(i)); i++)
        if (fth_schema_attribute(name, def->name) == def) {
            fth_json_key(&json, def->name);
            fth_json_begin(&json, '{', true);
            put_reference(def->name);
            fth_json_end(&json, '}');
        }
    put_texts("unknown");
    fth_json_end(&json, '}');
    put_closed();
    fth_json_end(&json, '}');
}

static void put_provenance(void)
{
    static const char *const texts[] = {"method", "reference", "note"};
    static const char *const numbers[] = {"samples", "low", "high"};
    fth_json_key(&json, "provenance");
    fth_json_begin(&json, '{', false);
    put_type("object");
    put_required((const char *const[]){"value", NULL});
    fth_json_key(&json, "properties");
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "value");
    fth_json_bool(&json, true);
    fth_json_key(&json, "source");
    fth_json_begin(&json, '{', true);
    fth_json_key(&json, "enum");
    fth_json_begin(&json, '[', true);
    for (int source = FTH_SOURCE_NONE + 1; source <= FTH_SOURCE_SIMULATED; source++)
        fth_json_text(&json, fth_source_name((enum fth_source)source));
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        put_typed(texts[i], "string");
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        put_typed(numbers[i], "number");
    fth_json_key(&json, "confidence");
    fth_json_begin(&json, '{', true);
    put_type("number");
    put_number("minimum", 0);
    put_number("maximum", 1);
    fth_json_end(&json, '}');
    fth_json_end(&json, '}');
    put_closed();
    fth_json_end(&json, '}');
}

/* Writes the definitions; false if two attributes have the same name. */
static bool put_definitions(void)
{
    const struct fth_attribute_def *def, *other;
    bool unique = true;
    fth_json_key(&json, "$defs");
    fth_json_begin(&json, '{', false);
    put_provenance();
    for (size_t i = 0; (def = fth_schema_attribute_at(i)); i++) {
        for (size_t k = 0; k < i && (other = fth_schema_attribute_at(k)); k++)
            unique = unique && strcmp(def->name, other->name) != 0;
        put_attribute(def);
    }
    fth_json_end(&json, '}');
    return unique;
}

int main(void)
{
    const struct fth_element_def *element;
    fth_json_begin(&json, '{', false);
    put_text("$schema", "https://json-schema.org/draft/2020-12/schema");
    put_text("title", "fathom-gpu/1: a GPU description");
    put_text("description", "docs/gpu-description.md describes the meaning of the attributes. Made "
                            "by tests/schemas/gpu_schema.c from the tables of the reader.");
    put_type("object");
    put_required((const char *const[]){"schema", "device", "elements", NULL});
    fth_json_key(&json, "properties");
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_begin(&json, '{', true);
    put_text("const", "fathom-gpu/1");
    fth_json_end(&json, '}');
    put_section("device");
    put_section("noise");
    fth_json_key(&json, "elements");
    fth_json_begin(&json, '{', false);
    put_type("object");
    fth_json_key(&json, "properties");
    fth_json_begin(&json, '{', false);
    for (size_t i = 0; (element = fth_schema_element_at(i)); i++)
        put_section(element->name);
    fth_json_end(&json, '}');
    put_closed();
    fth_json_end(&json, '}');
    put_texts("references");
    fth_json_end(&json, '}');
    put_closed();
    const bool unique = put_definitions();
    fth_json_end(&json, '}');
    fth_buffer_text(&out, "\n");
    const bool complete = !out.failed && fwrite(out.data, 1, out.size, stdout) == out.size;
    fth_buffer_fini(&out);
    return unique && complete ? 0 : 1;
}
