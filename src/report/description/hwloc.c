/* Writes a description as hwloc XML (format 2.0), for lstopo, hwloc-ls, hwloc-calc and other
 * programs that load such files. hwloc describes machines with CPUs, so the GPU becomes a machine:
 *
 *   Machine ─ NUMANode: device memory
 *    └ Package: the GPU
 *       └ L2Cache ─ Misc: its partitions
 *          └ L1Cache, of each SM
 *             └ L1iCache
 *                └ Core: the SM ─ Misc: its other memories
 *                   └ PU
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

struct tree {
    const struct fth_gpu *gpu;
    struct fth_buffer *out;
    size_t sms;
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

/* The kinds of caches, with hwloc's numbers. */
enum cache_contents { UNIFIED, DATA, INSTRUCTION };

/* Begins a cache object for an element or, if `parts` is more than 1, for one of its equal parts.
 * Returns false, and writes nothing, if the size is unknown. */
static bool begin_cache(struct tree *tree, const char *element, enum cache_contents kind,
                        double parts, const struct pus *pus)
{
    const int depth = strcmp(element, "l2") == 0 ? 2 : 1;
    double size = fth_gpu_number(tree->gpu, element, "size_bytes", NAN);
    if (isnan(size))
        return false;
    begin(tree, kind == INSTRUCTION ? "L1iCache" : depth == 2 ? "L2Cache" : "L1Cache", NULL, pus);
    put_number(tree, "cache_size", floor(size / parts));
    put_number(tree, "depth", depth);
    put_number(tree, "cache_linesize", fth_gpu_number(tree->gpu, element, "line_bytes", 0));
    put_number(tree, "cache_associativity", fth_gpu_number(tree->gpu, element, "ways", 0));
    put_number(tree, "cache_type", kind);
    end_tag(tree);
    put_figures(tree, element, "", figures);
    return true;
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

static void put_sm(struct tree *tree, size_t sm)
{
    static const char *const others[] = {"shared",         "texture",        "readonly",
                                         "constant_l1",    "constant_l15",   "instruction_l0",
                                         "instruction_l1", "instruction_l15"};
    const struct pus own = {sm, 1, ALL_PARTITIONS};
    const bool l1 = begin_cache(tree, "l1", DATA, 1, &own);
    const bool code = begin_cache(tree, "instruction_l1", INSTRUCTION, 1, &own);
    begin(tree, "Core", "SM", &own);
    put_number(tree, "os_index", (double)sm);
    end_tag(tree);
    for (size_t i = 0; i < FTH_COUNT(others); i++) {
        bool shown = (l1 && shares_with_l1(tree->gpu, others[i])) ||
                     (code && strcmp(others[i], "instruction_l1") == 0);
        if (!shown)
            put_misc(tree, others[i]);
    }
    begin(tree, "PU", NULL, &own);
    put_number(tree, "os_index", (double)sm);
    end_tag(tree);
    end(tree);
    end(tree);
    if (code)
        end(tree);
    if (l1)
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

/* Writes the L2 or one of its partitions, and the SMs in `pus` below it. */
static void put_l2(struct tree *tree, const struct pus *pus, double parts)
{
    const bool l2 = begin_cache(tree, "l2", UNIFIED, parts, pus);
    for (size_t sm = 0; sm < tree->sms; sm++)
        if (contains(tree, pus, sm))
            put_sm(tree, sm);
    if (!l2)
        return;
    if (!tree->near)
        put_partitions(tree);
    end(tree);
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
    begin(tree, "Package", "GPU", &(struct pus){0, tree->sms, ALL_PARTITIONS});
    put_number(tree, "os_index", 0);
    end_tag(tree);
    put_figures(tree, "device", "GPU", facts);
    for (size_t i = 0; i < FTH_COUNT(other_elements); i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "%s.", other_elements[i]);
        put_figures(tree, other_elements[i], prefix, figures);
    }
    const double partitions = tree->near ? fth_gpu_number(tree->gpu, "l2", "partitions", 1) : 1;
    for (int partition = 0; partition < (int)partitions; partition++)
        put_l2(tree, &(struct pus){0, tree->sms, tree->near ? partition : ALL_PARTITIONS},
               partitions);
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
    struct tree tree = {.gpu = gpu, .out = out, .sms = (size_t)sms};
    const struct pus all = {0, tree.sms, ALL_PARTITIONS};
    tree.near = find_near(gpu, tree.sms);
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
