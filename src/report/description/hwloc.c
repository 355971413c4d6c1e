/* Writes a description as hwloc XML (format 2.0), for lstopo, hwloc-ls, hwloc-calc and other
 * programs that load such files. hwloc describes machines with CPUs, so the GPU becomes a machine:
 *
 *   Machine ─ NUMANode: device memory
 *    └ Package: the GPU
 *       └ L3Cache
 *          └ L2Cache ─ Misc: its partitions
 *             └ L1Cache, of each SM
 *                └ L1iCache
 *                   └ Core: the SM ─ Misc: its other memories
 *                      └ PU
 *
 * A cache that several SMs share is above them, outside of caches that fewer SMs share. Which SMs
 * share one is not known; consecutive ones are assumed to. A memory that several SMs share and that
 * is no cache of hwloc is a Misc object of the innermost object with these SMs; if there is none,
 * of a Group. On GPUs with a cache between the first one and the L2 (vector_l1, l1, l2), this cache
 * is an L2Cache, the L2 an L3Cache, and the L3 an L4Cache.
 *
 * Every hwloc object except a Misc object lists the PUs below it. If the description says which SMs
 * are near which L2 partition (partition_by_sm), each partition is an L2Cache; otherwise the
 * partitions are Misc objects. Figures for which hwloc has no field are info entries of the object,
 * with their attribute names. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Maximum number of SMs. The output grows with its square: 40 MB for 4,096 SMs. Chosen: more than
 * ten times the SMs of the largest GPU. */
enum { MAX_SMS = 4096 };

/* The kinds of objects between the package and the SMs: caches, with hwloc's numbers, and groups.
 */
enum level_kind { UNIFIED, DATA, INSTRUCTION, GROUP };

/* A cache or group. It serves `each` SMs. */
struct level {
    const char *element; /* NULL: a group */
    enum level_kind kind;
    size_t each;
};

enum { MAX_LEVELS = 16 };

struct tree {
    const struct fth_gpu *gpu;
    struct fth_buffer *out;
    struct fth_unit_words unit;
    size_t sms;
    struct level levels[MAX_LEVELS]; /* the outermost first */
    size_t level_count;
    const double *near; /* the near partition of each SM; NULL: unknown */
    unsigned depth;     /* nesting depth of the current object */
    size_t objects;     /* written so far; hwloc requires a number per object */
};

/* Appends the text of an XML attribute. Characters that XML 1.0 does not allow become '?'. */
static void put_escaped(struct fth_buffer *out, const char *text)
{
    struct fth_buffer clean = {0};
    fth_text_append(&clean, text, 4096, "...");
    for (const char *at = clean.data ? clean.data : ""; *at; at++) {
        switch (*at) {
        case '&': fth_buffer_text(out, "&amp;"); break;
        case '<': fth_buffer_text(out, "&lt;"); break;
        case '>': fth_buffer_text(out, "&gt;"); break;
        case '"': fth_buffer_text(out, "&quot;"); break;
        default: fth_buffer_append(out, at, 1);
        }
    }
    out->failed = out->failed || clean.failed;
    fth_buffer_fini(&clean);
}

static void put_attribute(struct tree *tree, const char *name, const char *value)
{
    fth_buffer_format(tree->out, " %s=\"", name);
    put_escaped(tree->out, value);
    fth_buffer_text(tree->out, "\"");
}

/* Writes an XML attribute with a number. NAN: writes nothing. */
static void put_number(struct tree *tree, const char *name, double number)
{
    char text[40];
    if (!isnan(number))
        put_attribute(tree, name, fth_number_format(number, text, sizeof text));
}

enum { ALL_PARTITIONS = -1 };

/* A set of PUs: `count` PUs from `first` on or, unless `partition` is ALL_PARTITIONS, those of them
 * that are near this partition. */
struct pus {
    size_t first, count;
    int partition;
};

static bool contains(const struct tree *tree, const struct pus *pus, size_t pu)
{
    return pu >= pus->first && pu < pus->first + pus->count &&
           (pus->partition == ALL_PARTITIONS || tree->near[pu] == pus->partition);
}

/* Writes a set of PUs as hwloc does: hexadecimal words of 32 bits, the highest word first. */
static void put_set(struct tree *tree, const char *name, const struct pus *pus)
{
    fth_buffer_format(tree->out, " %s=\"", name);
    for (size_t word = (pus->first + pus->count + 31) / 32; word-- > 0;) {
        uint32_t bits = 0;
        for (size_t bit = 0; bit < 32; bit++)
            if (contains(tree, pus, word * 32 + bit))
                bits |= UINT32_C(1) << bit;
        fth_buffer_format(tree->out, "0x%08x%s", (unsigned)bits, word ? "," : "");
    }
    fth_buffer_text(tree->out, "\"");
}

static void indent(struct tree *tree)
{
    fth_buffer_repeat(tree->out, "  ", tree->depth);
}

/* Begins an object that contains some PUs. `pus` NULL: a Misc object, which has none. The tag stays
 * open for attributes until end_tag(). */
static void begin(struct tree *tree, const char *type, const char *subtype, const struct pus *pus)
{
    tree->depth++;
    indent(tree);
    fth_buffer_format(tree->out, "<object type=\"%s\"", type);
    if (subtype)
        put_attribute(tree, "subtype", subtype);
    if (pus) {
        put_set(tree, "cpuset", pus);
        put_set(tree, "complete_cpuset", pus);
        fth_buffer_text(tree->out, " nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"");
    }
    put_number(tree, "gp_index", (double)++tree->objects);
}

static void end_tag(struct tree *tree)
{
    fth_buffer_text(tree->out, ">\n");
}

static void end(struct tree *tree)
{
    indent(tree);
    fth_buffer_text(tree->out, "</object>\n");
    tree->depth--;
}

static void put_info(struct tree *tree, const char *name, const char *value)
{
    fth_buffer_repeat(tree->out, "  ", tree->depth + 1);
    fth_buffer_text(tree->out, "<info");
    put_attribute(tree, "name", name);
    put_attribute(tree, "value", value);
    fth_buffer_text(tree->out, "/>\n");
}

/* Writes those figures of an element that are in the list `names`, which ends with NULL, as info
 * entries. Their names begin with `prefix`. */
static void put_figures(struct tree *tree, const char *section, const char *prefix,
                        const char *const *names)
{
    for (; *names; names++) {
        const struct fth_attribute *attribute = fth_gpu_attribute(tree->gpu, section, *names);
        char name[96], number[40];
        if (!attribute || (attribute->kind != FTH_NUMBER && attribute->kind != FTH_TEXT))
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, *names);
        put_info(tree, name,
                 attribute->kind == FTH_TEXT
                     ? attribute->text
                     : fth_number_format(attribute->number, number, sizeof number));
    }
}

static const char *const figures[] = {"size_bytes",
                                      "line_bytes",
                                      "sector_bytes",
                                      "per_sm",
                                      "instances",
                                      "sms_per_instance",
                                      "latency_cycles",
                                      "latency_ns",
                                      "far_latency_cycles",
                                      "cold_latency_cycles",
                                      "cycles_per_instruction",
                                      "read_bytes_per_s",
                                      "write_bytes_per_s",
                                      "copy_bytes_per_s",
                                      "policy",
                                      "partitions",
                                      "page_bytes",
                                      "entries",
                                      "reach_bytes",
                                      "miss_penalty_cycles",
                                      NULL};

/* Returns the depth of a cache in hwloc: 1 for the first one. */
static unsigned cache_depth(const struct fth_gpu *gpu, const char *element)
{
    const bool first = strcmp(element, "l1") != 0 || !fth_gpu_find_section(gpu, "vector_l1");
    const unsigned depth = strcmp(element, "l3") == 0 ? 3 : strcmp(element, "l2") == 0 ? 2 : 1;
    const bool four =
        fth_gpu_find_section(gpu, "vector_l1") && fth_gpu_find_section(gpu, "l1") != NULL;
    return depth + (four && (depth > 1 || !first) ? 1 : 0);
}

/* Begins the object of a level or, if `parts` is more than 1, of one of its equal parts. */
static void begin_level(struct tree *tree, const struct level *level, double parts,
                        const struct pus *pus)
{
    if (!level->element) {
        begin(tree, "Group", NULL, pus);
        end_tag(tree);
        return;
    }
    const bool code = level->kind == INSTRUCTION;
    const unsigned depth = code ? 1 : cache_depth(tree->gpu, level->element);
    const struct fth_element_def *def = fth_schema_element(level->element);
    const bool renamed = depth > 1 && (unsigned)(level->element[1] - '0') != depth;
    char type[32];
    snprintf(type, sizeof type, "L%u%sCache", depth, code ? "i" : "");
    begin(tree, type, renamed ? def->title : NULL, pus);
    put_number(tree, "cache_size",
               floor(fth_gpu_number(tree->gpu, level->element, "size_bytes", 0) / parts));
    put_number(tree, "depth", depth);
    put_number(tree, "cache_linesize", fth_gpu_number(tree->gpu, level->element, "line_bytes", 0));
    put_number(tree, "cache_associativity", fth_gpu_number(tree->gpu, level->element, "ways", 0));
    put_number(tree, "cache_type", level->kind);
    end_tag(tree);
    put_figures(tree, level->element, "", figures);
}

static bool shares_with_l1(const struct fth_gpu *gpu, const char *element)
{
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element, "shared_with");
    for (size_t i = 0; with && i < with->count; i++)
        if (strcmp(with->texts[i], "l1") == 0)
            return true;
    return false;
}

/* Writes a memory for which hwloc has no object type as a Misc object with its figures. */
static void put_misc(struct tree *tree, const char *element)
{
    const struct fth_element_def *def = fth_schema_element(element);
    const double size = fth_gpu_number(tree->gpu, element, "size_bytes", NAN);
    char name[96], bytes[40];
    if (!fth_gpu_find_section(tree->gpu, element) || !def)
        return;
    snprintf(name, sizeof name, "%s%s%s", def->title, isnan(size) ? "" : " ",
             isnan(size) ? "" : fth_size_format(size, bytes, sizeof bytes));
    begin(tree, "Misc", element, NULL);
    put_attribute(tree, "name", name);
    end_tag(tree);
    put_figures(tree, element, "", figures);
    end(tree);
}

/* Memories for which hwloc has no object type. */
static const char *const others[] = {
    "shared",      "lds",          "texture",        "readonly",       "scalar_l1",
    "constant_l1", "constant_l15", "instruction_l0", "instruction_l1", "instruction_l15"};

static bool is_level(const struct tree *tree, const char *element)
{
    for (size_t i = 0; i < tree->level_count; i++)
        if (tree->levels[i].element && strcmp(tree->levels[i].element, element) == 0)
            return true;
    return false;
}

/* Returns how many SMs share an instance of an element; `unknown` if the description does not say.
 */
static size_t shared_by(const struct tree *tree, const char *element, size_t unknown)
{
    const double each = fth_gpu_units_per_instance(tree->gpu, element);
    return each >= 1 && each <= (double)tree->sms ? (size_t)each
           : isnan(each)                          ? unknown
                                                  : tree->sms;
}

/* Writes the other memories of which `each` SMs share an instance. */
static void put_others(struct tree *tree, size_t each)
{
    for (size_t i = 0; i < FTH_COUNT(others); i++) {
        const bool shown = is_level(tree, others[i]) ||
                           (is_level(tree, "l1") && shares_with_l1(tree->gpu, others[i]));
        const double described = fth_gpu_number(tree->gpu, others[i], "sms_per_instance", 1);
        if (!shown && (isnan(described) ? 1 : described) == (double)each)
            put_misc(tree, others[i]);
    }
}

static void put_sm(struct tree *tree, size_t sm)
{
    const struct pus own = {sm, 1, ALL_PARTITIONS};
    const bool cpu = strcmp(tree->unit.name, "core") == 0;
    begin(tree, "Core", cpu ? NULL : tree->unit.brief, &own);
    put_number(tree, "os_index", (double)sm);
    end_tag(tree);
    put_others(tree, 1);
    begin(tree, "PU", NULL, &own);
    put_number(tree, "os_index", (double)sm);
    end_tag(tree);
    end(tree);
    end(tree);
}

static void put_memory(struct tree *tree)
{
    begin(tree, "NUMANode", NULL, &(struct pus){0, tree->sms, ALL_PARTITIONS});
    put_number(tree, "os_index", 0);
    put_number(tree, "local_memory", fth_gpu_number(tree->gpu, "memory", "size_bytes", 0));
    end_tag(tree);
    put_figures(tree, "memory", "", figures);
    end(tree);
}

/* Writes the L2 partitions as Misc objects. hwloc requires them after all other children. */
static void put_partitions(struct tree *tree)
{
    const double size = fth_gpu_number(tree->gpu, "l2", "size_bytes", NAN);
    const double partitions = fth_gpu_number(tree->gpu, "l2", "partitions", 1);
    for (size_t i = 0; partitions > 1 && partitions <= 64 && i < (size_t)partitions; i++) {
        char name[64], bytes[40], number[40];
        snprintf(name, sizeof name, "L2 partition %zu %s", i,
                 fth_size_format(size / partitions, bytes, sizeof bytes));
        begin(tree, "Misc", "l2 partition", NULL);
        put_attribute(tree, "name", name);
        end_tag(tree);
        put_info(tree, "size_bytes", fth_number_format(size / partitions, number, sizeof number));
        end(tree);
    }
}

/* Whether the set contains no PU. */
static bool is_empty(const struct tree *tree, const struct pus *pus)
{
    for (size_t pu = pus->first; pu < pus->first + pus->count; pu++)
        if (contains(tree, pus, pu))
            return false;
    return true;
}

static void put_units(struct tree *tree, size_t index, const struct pus *pus);

/* Writes one instance of a level, and what is below it. */
static void put_instance(struct tree *tree, size_t index, double parts, const struct pus *pus)
{
    const struct level *level = &tree->levels[index];
    if (is_empty(tree, pus))
        return;
    begin_level(tree, level, parts, pus);
    put_units(tree, index + 1, pus);
    const bool last = index + 1 == tree->level_count || tree->levels[index + 1].each != level->each;
    if (last && level->each > 1)
        put_others(tree, level->each);
    if (level->element && strcmp(level->element, "l2") == 0 && !tree->near)
        put_partitions(tree);
    end(tree);
}

/* Writes the instances of a level for the SMs in `pus`, or these SMs. */
static void put_units(struct tree *tree, size_t index, const struct pus *pus)
{
    if (index == tree->level_count) {
        for (size_t sm = pus->first; sm < pus->first + pus->count; sm++)
            if (contains(tree, pus, sm))
                put_sm(tree, sm);
        return;
    }
    const struct level *level = &tree->levels[index];
    const bool l2 = level->element && strcmp(level->element, "l2") == 0;
    const double partitions =
        l2 && tree->near ? fth_gpu_number(tree->gpu, "l2", "partitions", 1) : 1;
    for (int partition = 0; partitions > 1 && partition < (int)partitions; partition++)
        put_instance(tree, index, partitions, &(struct pus){pus->first, pus->count, partition});
    for (size_t i = 0; partitions <= 1 && i < pus->count; i += level->each) {
        const size_t count = level->each < pus->count - i ? level->each : pus->count - i;
        put_instance(tree, index, 1, &(struct pus){pus->first + i, count, pus->partition});
    }
}

/* Adds a level behind all those that serve at least as many SMs. */
static void add_level(struct tree *tree, struct level level)
{
    size_t at = tree->level_count;
    if (at == MAX_LEVELS)
        return;
    for (; at > 0 && tree->levels[at - 1].each < level.each; at--)
        tree->levels[at] = tree->levels[at - 1];
    tree->levels[at] = level;
    tree->level_count++;
}

/* Finds the caches with a known size, and a group for each number of SMs that share another memory
 * but no cache. If the description does not say which SMs share the L2 or L3, all do; but each core
 * of a CPU has its own L2. */
static void find_levels(struct tree *tree)
{
    static const struct {
        const char *element;
        enum level_kind kind;
        bool all; /* all SMs share it if the description does not say */
    } caches[] = {{"l3", UNIFIED, true},
                  {"l2", UNIFIED, true},
                  {"l1", DATA, false},
                  {"vector_l1", DATA, false},
                  {"instruction_l1", INSTRUCTION, false}};
    const bool cpu = strcmp(tree->unit.name, "core") == 0;
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        const char *element = caches[i].element;
        const bool all = caches[i].all && !(cpu && strcmp(element, "l2") == 0);
        if (isnan(fth_gpu_number(tree->gpu, element, "size_bytes", NAN)))
            continue;
        const bool first = strcmp(element, "l1") != 0 || cache_depth(tree->gpu, element) == 1;
        add_level(tree, (struct level){element, first ? caches[i].kind : UNIFIED,
                                       shared_by(tree, element, all ? tree->sms : 1)});
    }
    for (size_t i = 0; i < FTH_COUNT(others); i++) {
        const double each = fth_gpu_number(tree->gpu, others[i], "sms_per_instance", 1);
        size_t level = 0;
        while (level < tree->level_count && (double)tree->levels[level].each != each)
            level++;
        if (each > 1 && each <= (double)tree->sms && level == tree->level_count)
            add_level(tree, (struct level){NULL, GROUP, (size_t)each});
    }
}

/* Returns the near partition of each SM. NULL: unknown, or there is a partition without SMs. */
static const double *find_near(const struct fth_gpu *gpu, size_t sms)
{
    const struct fth_attribute *near = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    const double partitions = fth_gpu_number(gpu, "l2", "partitions", 1);
    if (!near || near->kind != FTH_NUMBERS || near->count != sms || partitions < 2 ||
        partitions > 32)
        return NULL;
    uint64_t seen = 0;
    for (size_t sm = 0; sm < sms; sm++) {
        if (!(near->numbers[sm] >= 0 && near->numbers[sm] < partitions))
            return NULL;
        seen |= UINT64_C(1) << (unsigned)near->numbers[sm];
    }
    return seen + 1 == UINT64_C(1) << (unsigned)partitions ? near->numbers : NULL;
}

static void put_package(struct tree *tree)
{
    static const char *const facts[] = {"name",      "vendor", "architecture", "compute_capability",
                                        "clock_mhz", "driver", "uuid",         "pci_bus",
                                        "backend",   NULL};
    static const char *const other_elements[] = {"cluster_shared", "tlb_l1", "tlb_l2", "tlb_l3"};
    const bool cpu = strcmp(tree->unit.name, "core") == 0;
    begin(tree, "Package", cpu ? NULL : "GPU", &(struct pus){0, tree->sms, ALL_PARTITIONS});
    put_number(tree, "os_index", 0);
    end_tag(tree);
    put_figures(tree, "device", cpu ? "CPU" : "GPU", facts);
    for (size_t i = 0; i < FTH_COUNT(other_elements); i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "%s.", other_elements[i]);
        put_figures(tree, other_elements[i], prefix, figures);
    }
    put_units(tree, 0, &(struct pus){0, tree->sms, ALL_PARTITIONS});
    end(tree);
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    const double sms = fth_gpu_number(gpu, "device", "sms", NAN);
    if (isnan(sms) || sms > MAX_SMS)
        return isnan(sms) ? fth_fail(error, FTH_INVALID, "write hwloc XML", NULL,
                                     "the description does not contain the number of SMs")
                          : fth_fail(error, FTH_INVALID, "write hwloc XML", NULL,
                                     "the description has %.0f SMs; the limit is %d", sms, MAX_SMS);
    struct tree tree = {.gpu = gpu, .out = out, .unit = fth_gpu_unit(gpu), .sms = (size_t)sms};
    const struct pus all = {0, tree.sms, ALL_PARTITIONS};
    tree.near = find_near(gpu, tree.sms);
    find_levels(&tree);
    fth_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                         "<topology version=\"2.0\">\n");
    begin(&tree, "Machine", NULL, &all);
    put_number(&tree, "os_index", 0);
    put_set(&tree, "allowed_cpuset", &all);
    fth_buffer_text(out, " allowed_nodeset=\"0x00000001\"");
    end_tag(&tree);
    put_info(&tree, "Backend", "fathom");
    put_memory(&tree);
    put_package(&tree);
    end(&tree);
    fth_buffer_text(out, "  <support name=\"discovery.pu\"/>\n"
                         "  <support name=\"discovery.numa\"/>\n"
                         "  <support name=\"discovery.numa_memory\"/>\n"
                         "  <support name=\"custom.exported_support\"/>\n"
                         "</topology>\n");
    return FTH_OK;
}

const struct fth_report_writer fth_report_hwloc = {
    "hwloc", "XML for lstopo and the other hwloc tools", write_gpu, NULL};
