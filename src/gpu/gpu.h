/* gpu/: GPU descriptions, fathom-gpu/1 documents (docs/gpu-description.md).
 *
 *   schema.c       the elements and attributes that exist
 *   gpu.c          a description in memory
 *   gpu_read.c     reads a description from JSON
 *   gpu_write.c    writes it as JSON
 *   validate.c     checks values and their relations
 *   gpu_compare.c  finds differences between two descriptions
 *   catalogue.c    the descriptions that come with fathom
 *   block_order.c  the SM that executes each block of a grid
 *   variants.c     variants of loads, and prefetches
 */
#ifndef FTH_GPU_H
#define FTH_GPU_H

#include "base/base.h"

struct fth_json_path;

/* ---- schema.c ---- */

/* The classes of a section. They determine which attributes it can have. */
enum fth_class {
    FTH_CLASS_DEVICE = 1 << 0,
    FTH_CLASS_NOISE = 1 << 1,
    FTH_CLASS_CACHE = 1 << 2, /* a data cache */
    FTH_CLASS_L1 = 1 << 3,    /* used together with CACHE */
    FTH_CLASS_ICACHE = 1 << 4,
    FTH_CLASS_SHARED = 1 << 5,
    FTH_CLASS_CLUSTER = 1 << 6,
    FTH_CLASS_L2 = 1 << 7, /* used together with CACHE */
    FTH_CLASS_TLB = 1 << 8,
    FTH_CLASS_MEMORY = 1 << 9,
    FTH_CLASS_REGISTERS = 1 << 10,
    FTH_CLASS_ENGINE = 1 << 11 /* a copy engine */
};

/* A section that a description can have. */
struct fth_element_def {
    const char *name;
    const char *title; /* name in tables */
    const char *brief; /* short name in drawings */
    unsigned classes;  /* set of enum fth_class */
};

/* The values that an attribute can have. For a list, the rule applies to each item. */
enum fth_rule {
    FTH_RULE_TEXT,     /* not empty */
    FTH_RULE_COUNT,    /* whole, at least 1 */
    FTH_RULE_WHOLE,    /* whole, at least 0 */
    FTH_RULE_POSITIVE, /* greater than 0 */
    FTH_RULE_NOT_NEGATIVE,
    FTH_RULE_FRACTION,   /* 0 to 1 */
    FTH_RULE_CHOICE,     /* one of `choices` */
    FTH_RULE_INDEX,      /* an index function: mod, shift:N, xor, prime, bits:[…] */
    FTH_RULE_CAPABILITY, /* a compute capability such as 9.0 */
    FTH_RULE_ELEMENT     /* the name of an element */
};

/* An attribute that sections of some classes can have. */
struct fth_attribute_def {
    const char *name;
    unsigned classes; /* set of enum fth_class */
    enum fth_kind kind;
    enum fth_rule rule;
    const char *const *choices; /* for FTH_RULE_CHOICE; ends with NULL */
};

/* Returns the element with this name, or NULL. "device" and "noise" are not elements. */
const struct fth_element_def *fth_schema_element(const char *name);
/* Returns the `index`-th element, or NULL past the last. */
const struct fth_element_def *fth_schema_element_at(size_t index);
/* Returns the attribute with this name, or NULL if the section cannot have it. */
const struct fth_attribute_def *fth_schema_attribute(const char *section, const char *name);
/* Returns the `index`-th attribute of any section, or NULL past the last. */
const struct fth_attribute_def *fth_schema_attribute_at(size_t index);
/* Return the attribute or element that an unknown name resembles, or NULL. */
const char *fth_schema_suggest_attribute(const char *section, const char *name);
const char *fth_schema_suggest_element(const char *name);

/* Returns the name of a source in JSON; NULL for FTH_SOURCE_NONE. */
const char *fth_source_name(enum fth_source source);
/* Returns false if the name is not that of a source. */
bool fth_source_parse(const char *name, enum fth_source *source);

/* Parses the text of an index function. For "bits:[…]", fills `bits` and returns their number.
 * Returns 0 for the other forms, and -1 if the text has none of the forms. */
int fth_index_parse(const char *text, unsigned bits[64]);

/* ---- gpu.c ---- */

/* A name with a text, and a list of them. */
struct fth_named_text {
    const char *name;
    const char *text;
};

struct fth_named_texts {
    struct fth_named_text *items;
    size_t count, capacity;
};

/* "device", "noise" or an element, with its attributes in the order of the document. */
struct fth_gpu_section {
    const char *name;
    struct fth_attribute *attributes;
    size_t count, capacity;
    struct fth_named_texts unknown; /* names of attributes, and why they are unknown */
};

struct fth_gpu {
    struct fth_arena arena; /* owns all texts and lists of values */
    struct fth_gpu_section device, noise;
    struct fth_gpu_section *elements;
    size_t element_count, element_capacity;
    struct fth_named_texts references; /* keys, and the sources that they stand for */
};

/* Creates an empty description. */
FTH_MUST_USE enum fth_status fth_gpu_create(struct fth_gpu **gpu, struct fth_error *error);
/* Return the section with this name, or NULL if the description does not have it. */
struct fth_gpu_section *fth_gpu_section(struct fth_gpu *gpu, const char *name);
const struct fth_gpu_section *fth_gpu_find_section(const struct fth_gpu *gpu, const char *name);
/* Adds an element without attributes. Pointers to sections of other elements become invalid.
 * FTH_INVALID: a section with this name exists. */
FTH_MUST_USE enum fth_status fth_gpu_add_element(struct fth_gpu *gpu, const char *name,
                                                 struct fth_error *error);
/* Adds an attribute to a section, or replaces the one with the same name. Everything that the
 * attribute points to is copied. */
FTH_MUST_USE enum fth_status fth_gpu_set(struct fth_gpu *gpu, struct fth_gpu_section *section,
                                         const struct fth_attribute *attribute,
                                         struct fth_error *error);
/* Adds a reason why an attribute is unknown, and a source to the references. Both copy the texts.
 */
FTH_MUST_USE enum fth_status fth_gpu_set_unknown(struct fth_gpu *gpu,
                                                 struct fth_gpu_section *section, const char *name,
                                                 const char *reason, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_gpu_set_reference(struct fth_gpu *gpu, const char *key,
                                                   const char *text, struct fth_error *error);
/* Returns an attribute with a name and a kind. All other members are NAN, NULL or 0. */
struct fth_attribute fth_attribute_make(const char *name, enum fth_kind kind);
/* Builds the path of an attribute in the document: "device.sms", "elements.l1.sets". `attribute`
 * NULL gives the path of the section. */
void fth_gpu_path(const struct fth_gpu *gpu, const struct fth_gpu_section *section,
                  const char *attribute, struct fth_json_path *path);
/* Parses a reference of the form "KEY, locator; KEY, locator". *key and *size get the next key from
 * *at on, and *at moves behind its locator. Returns false at the end. */
bool fth_reference_next(const char **at, const char **key, size_t *size);

/* The size of machine code: `instructions` instructions take `bytes` bytes. Since Volta (compute
 * capability 7.0), an instruction takes 16 bytes (Jia et al., 2018). On older GPUs it takes 8
 * bytes, and each group of 3 (Maxwell, Pascal) or 7 (Kepler) instructions has a control word of 8
 * bytes. An unknown compute capability counts as 7.0. On OpenCL devices, instruction_bytes tells
 * the size; the descriptions of the catalogue leave it out, and AMD's instructions have 4 bytes
 * then. */
struct fth_code_size {
    uint64_t bytes, instructions;
};
struct fth_code_size fth_gpu_code_size(const struct fth_gpu *gpu);

/* What the unit is called that the attribute sms counts. */
struct fth_unit_words {
    const char *name;   /* "SM", "compute unit", "core" */
    const char *plural; /* "SMs", "compute units", "cores" */
    const char *brief;  /* "SM", "CU", "core" */
    const char *device; /* what contains all units: "GPU", "CPU", or "dev." */
};
/* Returns the words for a device: a CPU has cores, a GPU of NVIDIA or of an unknown vendor SMs, any
 * other device compute units. */
struct fth_unit_words fth_gpu_unit(const struct fth_gpu *gpu);
/* Returns how many SMs (compute units, cores) one instance of an element serves, from
 * sms_per_instance or else from its scope; NAN if the description does not say. */
double fth_gpu_units_per_instance(const struct fth_gpu *gpu, const char *element);

/* ---- validate.c ---- */

/* Does what fth_gpu_validate does. An error reports `operation` and `argument`, which may be NULL.
 */
FTH_MUST_USE enum fth_status fth_gpu_check(const struct fth_gpu *gpu, const char *operation,
                                           const char *argument, struct fth_error *error);

/* ---- gpu_compare.c ---- */

/* Returns whether two attributes agree: the intervals of numbers overlap, or texts or lists are
 * equal (lists of texts: in any order). */
bool fth_attribute_agrees(const struct fth_attribute *a, const struct fth_attribute *b);
/* Returns the gap between the intervals of two numbers, divided by the larger number; 0 if they
 * overlap, NAN if one is not a number. */
double fth_attribute_apart(const struct fth_attribute *a, const struct fth_attribute *b);
/* Returns whether an attribute identifies the individual card or its state at the time, or is raw
 * data that varies from run to run. Such attributes do not characterise the GPU model. */
bool fth_is_circumstance(const char *section, const char *name);

/* ---- catalogue.c ---- */

/* The descriptions that are compiled into the library, from data/gpus. */
extern const struct fth_embedded fth_embedded_gpus[];
extern const size_t fth_embedded_gpu_count;

/* ---- variants.c ---- */

/* An access to global memory whose effect on L1 and L2 a description can have: a load, a store or a
 * copy by cp.async with a cache operator or a hint, or a prefetch. The priorities of the L2 are
 * those of cache policies (createpolicy). A load without operator and hints is LD_CA, such a store
 * ST_WB. */
enum fth_variant {
    FTH_VARIANT_NONE, /* no access; not in descriptions */
    FTH_VARIANT_LD_CA,
    FTH_VARIANT_LD_CG,
    FTH_VARIANT_LD_CS,
    FTH_VARIANT_LD_LU,
    FTH_VARIANT_LD_CV,
    FTH_VARIANT_LD_VOLATILE,
    FTH_VARIANT_LD_RELAXED,
    FTH_VARIANT_LD_NC,
    FTH_VARIANT_LD_L2_64B,
    FTH_VARIANT_LD_L2_128B,
    FTH_VARIANT_LD_L2_256B,
    FTH_VARIANT_LD_L1_NORMAL,
    FTH_VARIANT_LD_L1_UNCHANGED,
    FTH_VARIANT_LD_L1_FIRST,
    FTH_VARIANT_LD_L1_LAST,
    FTH_VARIANT_LD_L1_NO_ALLOCATE,
    FTH_VARIANT_LD_L2_NORMAL,
    FTH_VARIANT_LD_L2_UNCHANGED,
    FTH_VARIANT_LD_L2_FIRST,
    FTH_VARIANT_PREFETCH_L1,
    FTH_VARIANT_PREFETCH_L2,
    FTH_VARIANT_PREFETCH_L2_NORMAL,
    /* The last ones, because probes use the variants in this order, and these have an effect on
     * what comes after them. */
    FTH_VARIANT_LD_L2_LAST,
    FTH_VARIANT_PREFETCH_L2_LAST,
    FTH_VARIANT_LOADS_END,
    /* Stores, and copies by cp.async. Probes use them in requests of their own. */
    FTH_VARIANT_ST_WB = FTH_VARIANT_LOADS_END,
    FTH_VARIANT_ST_CG,
    FTH_VARIANT_ST_CS,
    FTH_VARIANT_ST_WT,
    FTH_VARIANT_ST_VOLATILE,
    FTH_VARIANT_ST_RELAXED,
    FTH_VARIANT_ST_L1_FIRST,
    FTH_VARIANT_ST_L1_LAST,
    FTH_VARIANT_ST_L1_NO_ALLOCATE,
    FTH_VARIANT_ST_L2_NORMAL,
    FTH_VARIANT_ST_L2_FIRST,
    FTH_VARIANT_CP_CA,
    FTH_VARIANT_CP_CG,
    FTH_VARIANT_CP_L2_64B,
    FTH_VARIANT_CP_L2_128B,
    FTH_VARIANT_CP_L2_256B,
    FTH_VARIANT_ST_L2_LAST,
    FTH_VARIANTS
};
/* Their names in descriptions and in the text of requests; the last element is NULL. */
extern const char *const fth_variant_names[FTH_VARIANTS + 1];
/* Finds a variant by its name of `size` bytes. Returns false if there is none. */
bool fth_variant_find(const char *name, size_t size, enum fth_variant *variant);

/* ---- block_order.c ---- */

/* Maximum number of SMs for which the placement of blocks is known. Chosen: the largest
 * known GPUs have fewer than half as many. */
enum { FTH_MAX_MAPPED_SMS = 512 };
/* Maximum number of entries of block_return_blocks that are used: a GPU holds at most 32 blocks per
 * SM, so the GPCs that come first can return 31 times. */
enum { FTH_MAX_BLOCK_RETURNS = 31 };

/* Where the SMs of a GPU are, and how it distributes blocks, as a description has it: the
 * attributes gpc_by_sm, tpc_by_sm, block_order, block_first_gpcs and block_return_blocks. */
struct fth_sm_map {
    uint32_t sms; /* 0: the GPCs are not known */
    uint16_t gpc[FTH_MAX_MAPPED_SMS];
    uint16_t tpc[FTH_MAX_MAPPED_SMS]; /* if unknown, each SM counts as a TPC */
    bool first[FTH_MAX_MAPPED_SMS];   /* the GPC of the SM receives blocks before others */
    bool by_gpc;                      /* block_order is "gpc" */
    uint32_t return_blocks[FTH_MAX_BLOCK_RETURNS]; /* [return_count] */
    uint32_t return_count;
};
void fth_sm_map_read(const struct fth_gpu *gpu, struct fth_sm_map *map);

struct fth_block_order;
/* The GPCs at which a launch begins: their indices among the GPCs that come first, and among the
 * others. */
struct fth_block_start {
    uint32_t first, other;
};
/* Creates the order of a map with at least one SM, as if its order were "gpc". It keeps no
 * reference to the map. An order must not be used by two threads at the same time. */
FTH_MUST_USE enum fth_status fth_block_order_create(const struct fth_sm_map *map,
                                                    struct fth_block_order **order,
                                                    struct fth_error *error);
void fth_block_order_destroy(struct fth_block_order *order);
/* Returns the number of GPCs that come first, or of the others. */
uint32_t fth_block_order_gpcs(const struct fth_block_order *order, bool first);
/* Writes the SMs of the first `count` blocks of a grid. The grid has `blocks` blocks (at least
 * `count`), and all of them are resident at the same time. */
void fth_block_order_grid(const struct fth_block_order *order, struct fth_block_start start,
                          uint64_t blocks, uint64_t count, uint32_t *sms);
/* Writes the SMs of the first `count` blocks of a grid in clusters of `size` blocks; `count` is a
 * multiple of it. Returns false if no GPC has as many SMs. */
bool fth_block_order_clusters(const struct fth_block_order *order, struct fth_block_start start,
                              uint32_t size, uint64_t count, uint32_t *sms);

#endif
