/* gpu/: the GPU description, fathom-gpu/1 (docs/gpu-description.md).
 *
 *   schema.c  which elements and attributes there are     read.c     from JSON
 *   gpu.c     the document in memory                      write.c    to JSON
 *   validate.c  what must hold between its figures        compare.c  what differs between two
 *   catalogue.c  the descriptions that come with fathom
 */
#ifndef FTH_GPU_H
#define FTH_GPU_H

#include "base/base.h"

/* ---- schema.c ---- */

/* What an element is, which decides the attributes it can have. */
enum fth_class {
    FTH_CLASS_DEVICE = 1 << 0,
    FTH_CLASS_NOISE = 1 << 1,
    FTH_CLASS_CACHE = 1 << 2, /* a data cache inside an SM */
    FTH_CLASS_L1 = 1 << 3,    /* in addition to CACHE */
    FTH_CLASS_ICACHE = 1 << 4,
    FTH_CLASS_SHARED = 1 << 5,
    FTH_CLASS_CLUSTER = 1 << 6,
    FTH_CLASS_L2 = 1 << 7, /* in addition to CACHE */
    FTH_CLASS_TLB = 1 << 8,
    FTH_CLASS_MEMORY = 1 << 9,
    FTH_CLASS_REGISTERS = 1 << 10
};

struct fth_element_def {
    const char *name;
    const char *title; /* for people */
    const char *brief; /* for people, where there is little room */
    unsigned classes;
};

/* What a number or text must be like. */
enum fth_rule {
    FTH_RULE_TEXT,     /* not empty */
    FTH_RULE_COUNT,    /* whole, at least 1 */
    FTH_RULE_WHOLE,    /* whole, at least 0 */
    FTH_RULE_POSITIVE, /* greater than 0 */
    FTH_RULE_NOT_NEGATIVE,
    FTH_RULE_FRACTION,   /* 0 to 1 */
    FTH_RULE_CHOICE,     /* one of `choices` */
    FTH_RULE_INDEX,      /* mod, shift:N, xor, prime, bits:[…] */
    FTH_RULE_CAPABILITY, /* 9.0 */
    FTH_RULE_ELEMENT     /* the name of an element */
};

struct fth_attribute_def {
    const char *name;
    unsigned classes;
    enum fth_kind kind;
    enum fth_rule rule;
    const char *const *choices; /* ends with NULL */
};

const struct fth_element_def *fth_schema_element(const char *name);
const struct fth_element_def *fth_schema_element_at(size_t index); /* NULL past the last */
/* The attribute of that name in that section, or NULL. */
const struct fth_attribute_def *fth_schema_attribute(const char *section, const char *name);
const struct fth_attribute_def *fth_schema_attribute_at(size_t index);
/* The nearest attribute or element to a word that is none, or NULL. */
const char *fth_schema_suggest_attribute(const char *section, const char *name);
const char *fth_schema_suggest_element(const char *name);

const char *fth_source_name(enum fth_source source); /* NULL for FTH_SOURCE_NONE */
bool fth_source_parse(const char *name, enum fth_source *source);

/* How an `index` text chooses sets: fills `bits` for bits:[…] and returns how many there are, 0 for
 * the other forms, -1 where the text is none of them. */
int fth_index_parse(const char *text, unsigned bits[64]);

/* ---- gpu.c ---- */

struct fth_named_text {
    const char *name;
    const char *text;
};

struct fth_named_texts {
    struct fth_named_text *items;
    size_t count, capacity;
};

struct fth_gpu_section {
    const char *name;
    struct fth_attribute *attributes;
    size_t count, capacity;
    struct fth_named_texts unknown; /* attribute name and why it is not known */
};

struct fth_gpu {
    struct fth_arena arena; /* every text and list */
    struct fth_gpu_section device, noise;
    struct fth_gpu_section *elements;
    size_t element_count, element_capacity;
    struct fth_named_texts references;
};

FTH_MUST_USE enum fth_status fth_gpu_create(struct fth_gpu **gpu, struct fth_error *error);
/* The section of that name or NULL; elements are added with fth_gpu_add_element. */
struct fth_gpu_section *fth_gpu_section(struct fth_gpu *gpu, const char *name);
const struct fth_gpu_section *fth_gpu_find_section(const struct fth_gpu *gpu, const char *name);
FTH_MUST_USE enum fth_status fth_gpu_add_element(struct fth_gpu *gpu, const char *name,
                                                 struct fth_error *error);
/* Sets, or replaces, an attribute; everything it points to is copied. */
FTH_MUST_USE enum fth_status fth_gpu_set(struct fth_gpu *gpu, struct fth_gpu_section *section,
                                         const struct fth_attribute *attribute,
                                         struct fth_error *error);
FTH_MUST_USE enum fth_status fth_gpu_set_unknown(struct fth_gpu *gpu,
                                                 struct fth_gpu_section *section, const char *name,
                                                 const char *reason, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_gpu_set_reference(struct fth_gpu *gpu, const char *key,
                                                   const char *text, struct fth_error *error);
/* An attribute with nothing in it but the name and the kind. */
struct fth_attribute fth_attribute_make(const char *name, enum fth_kind kind);
/* "device.sms" or "elements.l1.sets", in `path`. */
void fth_gpu_path(const struct fth_gpu *gpu, const struct fth_gpu_section *section,
                  const char *attribute, struct fth_json_path *path);
/* Parts a reference "KEY, locator; KEY, locator": the next KEY from *at on, and moves *at on.
 * False at the end. */
bool fth_reference_next(const char **at, const char **key, size_t *size);

/* What an instruction takes in memory, by the compute capability (7.0 where it is not known): so
 * many bytes for so many instructions. 16 for one since Volta (Jia et al., 2018). Before, an
 * instruction has 8, and a control word of 8 stands before every 3 (Maxwell, Pascal) or 7 (Kepler).
 */
struct fth_code_size {
    uint64_t bytes, instructions;
};
struct fth_code_size fth_gpu_code_size(const struct fth_gpu *gpu);

/* ---- compare.c ---- */

/* Whether two figures can be the same: their intervals meet, or their texts or lists are equal. */
bool fth_attribute_agrees(const struct fth_attribute *a, const struct fth_attribute *b);
/* How far the intervals of two numbers are from each other, as a part of the larger number; 0 where
 * they meet, NAN where one is no number. */
double fth_attribute_apart(const struct fth_attribute *a, const struct fth_attribute *b);
/* Whether the attribute says which card it was, when, and how it was then, or what a figure was
 * read off, rather than what such a GPU is like. */
bool fth_is_circumstance(const char *section, const char *name);

/* ---- catalogue.c ---- */

/* The descriptions built into the program, generated from data/gpus. */
extern const struct fth_embedded fth_embedded_gpus[];
extern const size_t fth_embedded_gpu_count;

#endif
