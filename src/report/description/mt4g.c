/* Writes a description as JSON with the keys of mt4g, so that programs that read mt4g results can
 * read it (github.com/caps-tum/mt4g; the keys are those in its folder sample_results, August 2025).
 *
 * Figures that the description does not have are omitted, except those without which sys-sage
 * (github.com/caps-tum/sys-sage, src/parsers/mt4g_v1_x.cpp) cannot read the file: these are 0, or
 * "unknown", and the list meta.unknown names them. mt4g reports mean, median, 95th
 * percentile and standard deviation of the latency of single loads. fathom times whole passes
 * (except for memory, where it times single loads), so the values have other meanings here: `mean`
 * and `p50` are both the median, over passes, of the mean latency of a pass. `p95` is the upper end
 * of the interval of a measured latency, which is the 95th percentile of the values whose median it
 * is (probe.h). There is no standard deviation.
 *
 * As in mt4g's results for AMD GPUs, `l1` is the vector L1 and `shared` the LDS. mt4g has no key
 * for the cache between the first one and the L2 that some of these GPUs have. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct fth_gpu *gpu;
    struct fth_json_writer json;
    const char *where;         /* the path of the current object, such as "memory.l2" */
    struct fth_buffer unknown; /* paths of keys that stand for unknown figures, one per line */
};

/* Notes that a key of the current object has a value that stands for an unknown figure. */
static void note_unknown(struct writer *writer, const char *key)
{
    fth_buffer_format(&writer->unknown, "%s.%s\n", writer->where, key);
}

/* Returns a number, or 0 instead of NAN, which it notes as unknown. */
static double required(struct writer *writer, const char *key, double number)
{
    if (!isnan(number))
        return number;
    note_unknown(writer, key);
    return 0;
}

/* put_...(): NAN or a NULL text writes nothing. */
static void put_number(struct writer *writer, const char *key, double number)
{
    if (isnan(number))
        return;
    fth_json_key(&writer->json, key);
    fth_json_number(&writer->json, number);
}

static void put_text(struct writer *writer, const char *key, const char *text)
{
    if (!text)
        return;
    fth_json_key(&writer->json, key);
    fth_json_text(&writer->json, text);
}

/* Writes {"unit": …, "value": …}, which mt4g uses for values from the driver. */
static void put_quantity(struct writer *writer, const char *key, double value, const char *unit)
{
    if (isnan(value))
        return;
    fth_json_key(&writer->json, key);
    fth_json_begin(&writer->json, '{', false);
    put_text(writer, "unit", unit);
    put_number(writer, "value", value);
    fth_json_end(&writer->json, '}');
}

/* The same for an attribute, multiplied by `factor`. */
static void put_fact(struct writer *writer, const char *key, const char *section, const char *name,
                     double factor, const char *unit)
{
    put_quantity(writer, key, factor * fth_gpu_number(writer->gpu, section, name, NAN), unit);
}

/* As put_fact, for a figure that readers require. */
static void put_required(struct writer *writer, const char *key, const char *section,
                         const char *name, double factor, const char *unit)
{
    const double value = factor * fth_gpu_number(writer->gpu, section, name, NAN);
    put_quantity(writer, key, required(writer, key, value), unit);
}

/* Writes {"size": …, "unit": "bytes", "confidence": …, "method": …}, which mt4g uses for measured
 * sizes. */
static void put_size(struct writer *writer, const char *key, const char *section, const char *name)
{
    const struct fth_attribute *a = fth_gpu_attribute(writer->gpu, section, name);
    if (!a || a->kind != FTH_NUMBER)
        return;
    fth_json_key(&writer->json, key);
    fth_json_begin(&writer->json, '{', false);
    put_number(writer, "confidence", a->confidence);
    put_text(writer, "method", a->method);
    put_number(writer, "size", a->number);
    put_text(writer, "unit", "bytes");
    fth_json_end(&writer->json, '}');
}

/* As put_size, for a size that readers require. */
static void put_required_size(struct writer *writer, const char *key, const char *section,
                              const char *name)
{
    if (!isnan(fth_gpu_number(writer->gpu, section, name, NAN))) {
        put_size(writer, key, section, name);
        return;
    }
    fth_json_key(&writer->json, key);
    fth_json_begin(&writer->json, '{', false);
    put_number(writer, "size", required(writer, key, NAN));
    put_text(writer, "unit", "bytes");
    fth_json_end(&writer->json, '}');
}

static void put_latency(struct writer *writer, const char *section)
{
    const struct fth_attribute *a = fth_gpu_attribute(writer->gpu, section, "latency_cycles");
    if (!a || a->kind != FTH_NUMBER)
        return;
    fth_json_key(&writer->json, "latency");
    fth_json_begin(&writer->json, '{', false);
    put_number(writer, "high", a->high);
    put_number(writer, "low", a->low);
    put_number(writer, "mean", a->number);
    put_number(writer, "measurements", a->samples);
    put_text(writer, "method", a->method);
    put_number(writer, "p50", a->number);
    if (a->source == FTH_SOURCE_MEASURED || a->source == FTH_SOURCE_SIMULATED)
        put_number(writer, "p95", a->high);
    put_text(writer, "unit", "cycles");
    fth_json_end(&writer->json, '}');
}

/* As put_latency, for a latency that readers require. */
static void put_required_latency(struct writer *writer, const char *section)
{
    if (!isnan(fth_gpu_number(writer->gpu, section, "latency_cycles", NAN))) {
        put_latency(writer, section);
        return;
    }
    fth_json_key(&writer->json, "latency");
    fth_json_begin(&writer->json, '{', false);
    put_number(writer, "mean", required(writer, "latency", NAN));
    put_text(writer, "unit", "cycles");
    fth_json_end(&writer->json, '}');
}

/* Writes the bandwidths. `both`: readers require both of them. */
static void put_bandwidths(struct writer *writer, const char *section, bool both)
{
    static const double unit = 1 / 1073741824.0;
    void (*const put)(struct writer *, const char *, const char *, const char *, double,
                      const char *) = both ? put_required : put_fact;
    put(writer, "readBandwidth", section, "read_bytes_per_s", unit, "GiB/s");
    put(writer, "writeBandwidth", section, "write_bytes_per_s", unit, "GiB/s");
}

static bool has(const struct writer *writer, const char *section, const char *name)
{
    return !isnan(fth_gpu_number(writer->gpu, section, name, NAN));
}

static void put_sharing(struct writer *writer, const char *section)
{
    static const struct {
        const char *fathom_name, *mt4g_name;
    } names[] = {{"l1", "L1"},
                 {"vector_l1", "L1"},
                 {"scalar_l1", "Scalar L1"},
                 {"texture", "Texture"},
                 {"readonly", "Read Only"},
                 {"constant_l1", "Constant L1"},
                 {"constant_l15", "Constant L1.5"}};
    const struct fth_attribute *with = fth_gpu_attribute(writer->gpu, section, "shared_with");
    if (!with || with->kind != FTH_TEXTS)
        return;
    fth_json_key(&writer->json, "sharedWith");
    fth_json_begin(&writer->json, '[', false);
    for (size_t i = 0; i < with->count; i++) {
        const char *name = with->texts[i];
        for (size_t j = 0; j < FTH_COUNT(names); j++)
            if (strcmp(with->texts[i], names[j].fathom_name) == 0)
                name = names[j].mt4g_name;
        fth_json_text(&writer->json, name);
    }
    fth_json_end(&writer->json, ']');
}

/* Writes the keys that mt4g has for every cache, except its size. `needed`: readers require the
 * fetch granularity and the latency; `both`: they require both bandwidths. */
static void put_cache(struct writer *writer, const char *section, bool needed, bool both)
{
    const char *fetch =
        fth_gpu_attribute(writer->gpu, section, "sector_bytes") ? "sector_bytes" : "line_bytes";
    put_number(writer, "amountPerMultiprocessor",
               fth_gpu_number(writer->gpu, section, "per_sm", NAN));
    (needed ? put_required_size : put_size)(writer, "fetchGranularity", section, fetch);
    (needed ? put_required_latency : put_latency)(writer, section);
    put_size(writer, "lineSize", section, "line_bytes");
    put_bandwidths(writer, section, both);
    put_sharing(writer, section);
}

/* Begins an object. `where` is its path, or NULL if none of its keys is required. */
static void begin(struct writer *writer, const char *key, const char *where)
{
    fth_json_key(&writer->json, key);
    fth_json_begin(&writer->json, '{', false);
    writer->where = where;
}

static void end(struct writer *writer)
{
    fth_json_end(&writer->json, '}');
}

/* Writes a cache of which readers require the size, the fetch granularity and the latency. */
static void put_required_cache(struct writer *writer, const char *section)
{
    put_cache(writer, section, true, false);
    put_required_size(writer, "size", section, "size_bytes");
}

static void put_sized_cache(struct writer *writer, const char *key, const char *where,
                            const char *section)
{
    if (!fth_gpu_find_section(writer->gpu, section))
        return;
    begin(writer, key, where);
    put_required_cache(writer, section);
    end(writer);
}

/* Returns the element of a key of mt4g: `amd` if the description has it, otherwise `other`. */
static const char *choose(const struct writer *writer, const char *amd, const char *other)
{
    return fth_gpu_find_section(writer->gpu, amd) ? amd : other;
}

/* Returns whether the L1 caches loads of a kind ("global", "local"). */
static bool caches(const struct fth_gpu *gpu, const char *element, const char *what)
{
    const struct fth_attribute *a = fth_gpu_attribute(gpu, element, "caches");
    for (size_t i = 0; a && i < a->count; i++)
        if (strcmp(a->texts[i], what) == 0)
            return true;
    return false;
}

static void put_flag(struct writer *writer, const char *key, const char *name)
{
    const char *text = fth_gpu_text(writer->gpu, "device", name);
    if (!text)
        return;
    fth_json_key(&writer->json, key);
    fth_json_bool(&writer->json, strcmp(text, "yes") == 0);
}

static void put_count(struct writer *writer, const char *key, const char *name)
{
    put_number(writer, key, fth_gpu_number(writer->gpu, "device", name, NAN));
}

static void put_required_count(struct writer *writer, const char *key, const char *name)
{
    const double count = fth_gpu_number(writer->gpu, "device", name, NAN);
    put_number(writer, key, required(writer, key, count));
}

static void write_compute(struct writer *writer)
{
    begin(writer, "compute", "compute");
    put_flag(writer, "concurrentKernels", "concurrent_kernels");
    put_required_count(writer, "maxBlocksPerMultiProcessor", "max_blocks_per_sm");
    put_required_count(writer, "maxThreadsPerBlock", "max_threads_per_block");
    put_required_count(writer, "maxThreadsPerMultiProcessor", "max_threads_per_sm");
    put_count(writer, "multiProcessorCount", "sms"); /* 0 SMs would be a division by 0 */
    put_count(writer, "numXCDs", "xcds");
    put_required_count(writer, "numberOfCoresPerMultiProcessor", "cores_per_sm");
    put_count(writer, "regsPerBlock", "max_registers_per_block");
    put_number(writer, "regsPerMultiProcessor",
               fth_gpu_number(writer->gpu, "registers", "size_bytes", NAN) / 4);
    put_flag(writer, "supportsCooperativeLaunch", "cooperative_launch");
    put_required_count(writer, "warpSize", "warp_size");
    end(writer);
}

/* Writes the compute capability or, as mt4g does, the version in the name of AMD's chips: gfx942 is
 * 9.4 with the stepping 2. */
static void write_capability(struct writer *writer)
{
    const char *capability = fth_gpu_text(writer->gpu, "device", "compute_capability");
    const char *chip = fth_gpu_text(writer->gpu, "device", "chip");
    const size_t digits = chip && strncmp(chip, "gfx", 3) == 0 ? strlen(chip + 3) : 0;
    double major = NAN, minor = 0;
    if (capability) {
        char *dot;
        major = (double)strtol(capability, &dot, 10);
        minor = *dot == '.' ? (double)strtol(dot + 1, NULL, 10) : 0;
    } else if (digits >= 3 && strspn(chip + 3, "0123456789") + 1 >= digits) {
        major = 0; /* the last character is the stepping */
        for (size_t i = 0; i + 2 < digits; i++)
            major = 10 * major + (chip[3 + i] - '0');
        minor = chip[3 + digits - 2] - '0';
    }
    begin(writer, "computeCapability", "general.computeCapability");
    put_number(writer, "major", required(writer, "major", major));
    put_number(writer, "minor", minor);
    end(writer);
    writer->where = "general";
}

/* Writes a text that readers require. */
static void put_required_text(struct writer *writer, const char *key, const char *name)
{
    const char *value = fth_gpu_text(writer->gpu, "device", name);
    if (!value)
        note_unknown(writer, key);
    put_text(writer, key, value ? value : "unknown");
}

static void write_general(struct writer *writer)
{
    begin(writer, "general", "general");
    put_required(writer, "clockRate", "device", "clock_mhz", 1000, "kHz");
    write_capability(writer);
    put_required_text(writer, "name", "name");
    put_required_text(writer, "vendor", "vendor");
    end(writer);
}

/* Readers require this object, but none of its keys. */
static void write_l1(struct writer *writer)
{
    const char *element = choose(writer, "vector_l1", "l1");
    begin(writer, "l1", NULL);
    put_cache(writer, element, false, false);
    if (fth_gpu_attribute(writer->gpu, element, "caches")) {
        fth_json_key(&writer->json, "globalL1CacheSupported");
        fth_json_bool(&writer->json, caches(writer->gpu, element, "global"));
        fth_json_key(&writer->json, "localL1CacheSupported");
        fth_json_bool(&writer->json, caches(writer->gpu, element, "local"));
    }
    put_size(writer, "size", element, "size_bytes");
    end(writer);
}

/* The scalar cache and the L3 of AMD GPUs. */
static void write_scalar_l1(struct writer *writer)
{
    const struct fth_gpu *gpu = writer->gpu;
    if (!fth_gpu_find_section(gpu, "scalar_l1"))
        return;
    begin(writer, "scalarL1", "memory.scalarL1");
    put_required_cache(writer, "scalar_l1");
    const double derived = floor(fth_gpu_number(gpu, "device", "sms", NAN) /
                                 fth_gpu_number(gpu, "scalar_l1", "sms_per_instance", NAN));
    put_number(writer, "uniqueAmount", fth_gpu_number(gpu, "scalar_l1", "instances", derived));
    end(writer);
}

/* Unlike those of other caches, the line of the L3 is a value of the driver in mt4g. */
static void write_l3(struct writer *writer)
{
    if (!fth_gpu_find_section(writer->gpu, "l3"))
        return;
    begin(writer, "l3", "memory.l3");
    put_number(writer, "amount", fth_gpu_number(writer->gpu, "l3", "instances", NAN));
    put_latency(writer, "l3");
    put_fact(writer, "lineSize", "l3", "line_bytes", 1, "bytes");
    put_bandwidths(writer, "l3", has(writer, "l3", "read_bytes_per_s"));
    put_fact(writer, "size", "l3", "size_bytes", 1, "bytes");
    end(writer);
}

/* mt4g takes the size of the whole L2 from the driver and measures that of a partition (segment).
 */
static void write_l2(struct writer *writer)
{
    const double size = fth_gpu_number(writer->gpu, "l2", "size_bytes", NAN);
    const struct fth_attribute *partitions = fth_gpu_attribute(writer->gpu, "l2", "partitions");
    begin(writer, "l2", "memory.l2");
    put_number(writer, "amount", fth_gpu_number(writer->gpu, "l2", "instances", NAN));
    put_cache(writer, "l2", false, has(writer, "l2", "latency_cycles"));
    put_fact(writer, "persistingL2CacheMaxSize", "l2", "max_persisting_bytes", 1, "bytes");
    if (partitions && partitions->kind == FTH_NUMBER && !isnan(size)) {
        begin(writer, "segmentSize", "memory.l2");
        put_number(writer, "confidence", partitions->confidence);
        put_text(writer, "method", partitions->method);
        put_number(writer, "size", size / partitions->number);
        put_text(writer, "unit", "bytes");
        end(writer);
    }
    put_required(writer, "size", "l2", "size_bytes", 1, "bytes");
    end(writer);
}

/* If there is one of the constant caches, readers require both. */
static void write_constant(struct writer *writer)
{
    begin(writer, "constant", "memory.constant");
    if (fth_gpu_find_section(writer->gpu, "constant_l1") ||
        fth_gpu_find_section(writer->gpu, "constant_l15")) {
        begin(writer, "l1", "memory.constant.l1");
        put_required_cache(writer, "constant_l1");
        end(writer);
        begin(writer, "l1.5", "memory.constant.l1.5");
        put_required_cache(writer, "constant_l15");
        end(writer);
    }
    writer->where = "memory.constant";
    put_required(writer, "totalConstMem", "device", "constant_memory_bytes", 1, "bytes");
    end(writer);
}

static void write_memory(struct writer *writer)
{
    const char *shared = choose(writer, "lds", "shared");
    begin(writer, "memory", NULL);
    write_constant(writer);
    write_l1(writer);
    write_l2(writer);
    write_l3(writer);
    begin(writer, "main", "memory.main");
    put_latency(writer, "memory");
    put_required(writer, "memoryBusWidth", "device", "memory_bus_bits", 1, "bit");
    put_required(writer, "memoryClockRate", "device", "memory_clock_mhz", 1000, "kHz");
    put_bandwidths(writer, "memory", has(writer, "memory", "latency_cycles"));
    put_required(writer, "totalGlobalMem", "memory", "size_bytes", 1, "bytes");
    end(writer);
    put_sized_cache(writer, "readOnly", "memory.readOnly", "readonly");
    write_scalar_l1(writer);
    begin(writer, "shared", "memory.shared");
    put_latency(writer, shared);
    put_bandwidths(writer, shared, false);
    put_fact(writer, "reservedSharedMemPerBlock", shared, "reserved_block_bytes", 1, "bytes");
    put_required(writer, "sharedMemPerBlock", shared,
                 strcmp(shared, "lds") == 0 ? "max_block_bytes" : "default_block_bytes", 1,
                 "bytes");
    put_required(writer, "sharedMemPerMultiProcessor", shared, "size_bytes", 1, "bytes");
    end(writer);
    put_sized_cache(writer, "texture", "memory.texture", "texture");
    end(writer);
}

/* Writes the list of the keys whose value stands for an unknown figure. */
static void write_unknown(struct writer *writer)
{
    const char *at = writer->unknown.data;
    if (!at)
        return;
    fth_json_key(&writer->json, "unknown");
    fth_json_begin(&writer->json, '[', false);
    while (*at) {
        char path[96];
        const size_t size = strcspn(at, "\n");
        snprintf(path, sizeof path, "%.*s", (int)size, at);
        fth_json_text(&writer->json, path);
        at += size + 1;
    }
    fth_json_end(&writer->json, ']');
}

/* Writes the CUDA version as CUDA encodes it: 13000 for 13.0. */
static void write_meta(struct writer *writer)
{
    const char *version = fth_gpu_text(writer->gpu, "device", "cuda_version");
    begin(writer, "meta", NULL);
    if (version) {
        char *dot;
        double number = 1000.0 * (double)strtol(version, &dot, 10);
        if (*dot == '.')
            number += 10.0 * (double)strtol(dot + 1, NULL, 10);
        put_number(writer, "driver", number);
    }
    put_text(writer, "generator", "fathom");
    put_text(writer, "generatorVersion", fth_version());
    write_unknown(writer);
    end(writer);
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    (void)error;
    struct writer writer = {.gpu = gpu, .json = {.out = out}};
    fth_json_begin(&writer.json, '{', false);
    write_compute(&writer);
    write_general(&writer);
    write_memory(&writer);
    write_meta(&writer);
    fth_json_end(&writer.json, '}');
    out->failed = out->failed || writer.unknown.failed;
    fth_buffer_fini(&writer.unknown);
    return FTH_OK;
}

const struct fth_report_writer fth_report_mt4g = {
    "mt4g", "JSON with the keys of mt4g, for programs that read mt4g results", write_gpu, NULL};
