/* Writes a description as JSON with the keys of mt4g, so that programs that read mt4g results can
 * read it (github.com/caps-tum/mt4g; the keys are those in its folder sample_results, August 2025).
 *
 * Figures that the description does not have are omitted. mt4g reports mean, median, 95th
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
};

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

static void put_bandwidths(struct writer *writer, const char *section)
{
    static const double gib = 1073741824.0;
    put_fact(writer, "readBandwidth", section, "read_bytes_per_s", 1 / gib, "GiB/s");
    put_fact(writer, "writeBandwidth", section, "write_bytes_per_s", 1 / gib, "GiB/s");
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

/* Writes the keys that mt4g has for every cache, except its size. */
static void put_cache(struct writer *writer, const char *section)
{
    put_number(writer, "amountPerMultiprocessor",
               fth_gpu_number(writer->gpu, section, "per_sm", NAN));
    put_size(writer, "fetchGranularity", section,
             fth_gpu_attribute(writer->gpu, section, "sector_bytes") ? "sector_bytes"
                                                                     : "line_bytes");
    put_latency(writer, section);
    put_size(writer, "lineSize", section, "line_bytes");
    put_bandwidths(writer, section);
    put_sharing(writer, section);
}

static void begin(struct writer *writer, const char *key)
{
    fth_json_key(&writer->json, key);
    fth_json_begin(&writer->json, '{', false);
}

static void end(struct writer *writer)
{
    fth_json_end(&writer->json, '}');
}

static void put_sized_cache(struct writer *writer, const char *key, const char *section)
{
    if (!fth_gpu_find_section(writer->gpu, section))
        return;
    begin(writer, key);
    put_cache(writer, section);
    put_size(writer, "size", section, "size_bytes");
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

static void write_compute(struct writer *writer)
{
    begin(writer, "compute");
    put_flag(writer, "concurrentKernels", "concurrent_kernels");
    put_count(writer, "maxBlocksPerMultiProcessor", "max_blocks_per_sm");
    put_count(writer, "maxThreadsPerBlock", "max_threads_per_block");
    put_count(writer, "maxThreadsPerMultiProcessor", "max_threads_per_sm");
    put_count(writer, "multiProcessorCount", "sms");
    put_count(writer, "numXCDs", "xcds");
    put_count(writer, "numberOfCoresPerMultiProcessor", "cores_per_sm");
    put_count(writer, "regsPerBlock", "max_registers_per_block");
    put_number(writer, "regsPerMultiProcessor",
               fth_gpu_number(writer->gpu, "registers", "size_bytes", NAN) / 4);
    put_flag(writer, "supportsCooperativeLaunch", "cooperative_launch");
    put_count(writer, "warpSize", "warp_size");
    end(writer);
}

static void write_general(struct writer *writer)
{
    const char *capability = fth_gpu_text(writer->gpu, "device", "compute_capability");
    begin(writer, "general");
    put_fact(writer, "clockRate", "device", "clock_mhz", 1000, "kHz");
    if (capability) {
        char *dot;
        begin(writer, "computeCapability");
        put_number(writer, "major", (double)strtol(capability, &dot, 10));
        put_number(writer, "minor", *dot == '.' ? (double)strtol(dot + 1, NULL, 10) : 0);
        end(writer);
    }
    put_text(writer, "name", fth_gpu_text(writer->gpu, "device", "name"));
    put_text(writer, "vendor", fth_gpu_text(writer->gpu, "device", "vendor"));
    end(writer);
}

static void write_l1(struct writer *writer)
{
    const char *element = choose(writer, "vector_l1", "l1");
    if (!fth_gpu_find_section(writer->gpu, element))
        return;
    begin(writer, "l1");
    put_cache(writer, element);
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
    if (!fth_gpu_find_section(writer->gpu, "scalar_l1"))
        return;
    begin(writer, "scalarL1");
    put_cache(writer, "scalar_l1");
    put_size(writer, "size", "scalar_l1", "size_bytes");
    put_number(writer, "uniqueAmount", fth_gpu_number(writer->gpu, "scalar_l1", "instances", NAN));
    end(writer);
}

static void write_l3(struct writer *writer)
{
    if (!fth_gpu_find_section(writer->gpu, "l3"))
        return;
    begin(writer, "l3");
    put_number(writer, "amount", fth_gpu_number(writer->gpu, "l3", "instances", NAN));
    put_cache(writer, "l3");
    put_fact(writer, "size", "l3", "size_bytes", 1, "bytes");
    end(writer);
}

/* mt4g takes the size of the whole L2 from the driver and measures that of a partition (segment).
 */
static void write_l2(struct writer *writer)
{
    const double size = fth_gpu_number(writer->gpu, "l2", "size_bytes", NAN);
    const struct fth_attribute *partitions = fth_gpu_attribute(writer->gpu, "l2", "partitions");
    if (!fth_gpu_find_section(writer->gpu, "l2"))
        return;
    begin(writer, "l2");
    put_number(writer, "amount", fth_gpu_number(writer->gpu, "l2", "instances", NAN));
    put_cache(writer, "l2");
    put_fact(writer, "persistingL2CacheMaxSize", "l2", "max_persisting_bytes", 1, "bytes");
    if (partitions && partitions->kind == FTH_NUMBER && !isnan(size)) {
        begin(writer, "segmentSize");
        put_number(writer, "confidence", partitions->confidence);
        put_text(writer, "method", partitions->method);
        put_number(writer, "size", size / partitions->number);
        put_text(writer, "unit", "bytes");
        end(writer);
    }
    put_quantity(writer, "size", size, "bytes");
    end(writer);
}

static void write_memory(struct writer *writer)
{
    const char *shared = choose(writer, "lds", "shared");
    begin(writer, "memory");
    begin(writer, "constant");
    put_sized_cache(writer, "l1", "constant_l1");
    put_sized_cache(writer, "l1.5", "constant_l15");
    put_fact(writer, "totalConstMem", "device", "constant_memory_bytes", 1, "bytes");
    end(writer);
    write_l1(writer);
    write_l2(writer);
    write_l3(writer);
    begin(writer, "main");
    put_latency(writer, "memory");
    put_fact(writer, "memoryBusWidth", "device", "memory_bus_bits", 1, "bit");
    put_fact(writer, "memoryClockRate", "device", "memory_clock_mhz", 1000, "kHz");
    put_bandwidths(writer, "memory");
    put_fact(writer, "totalGlobalMem", "memory", "size_bytes", 1, "bytes");
    end(writer);
    put_sized_cache(writer, "readOnly", "readonly");
    write_scalar_l1(writer);
    begin(writer, "shared");
    put_latency(writer, shared);
    put_bandwidths(writer, shared);
    put_fact(writer, "reservedSharedMemPerBlock", shared, "reserved_block_bytes", 1, "bytes");
    put_fact(writer, "sharedMemPerBlock", shared,
             strcmp(shared, "lds") == 0 ? "max_block_bytes" : "default_block_bytes", 1, "bytes");
    put_fact(writer, "sharedMemPerMultiProcessor", shared, "size_bytes", 1, "bytes");
    end(writer);
    put_sized_cache(writer, "texture", "texture");
    end(writer);
}

/* Writes the CUDA version as CUDA encodes it: 13000 for 13.0. */
static void write_meta(struct writer *writer)
{
    const char *version = fth_gpu_text(writer->gpu, "device", "cuda_version");
    begin(writer, "meta");
    if (version) {
        char *dot;
        double number = 1000.0 * (double)strtol(version, &dot, 10);
        if (*dot == '.')
            number += 10.0 * (double)strtol(dot + 1, NULL, 10);
        put_number(writer, "driver", number);
    }
    put_text(writer, "generator", "fathom");
    put_text(writer, "generatorVersion", fth_version());
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
    return FTH_OK;
}

const struct fth_report_writer fth_report_mt4g = {
    "mt4g", "JSON with the keys of mt4g, for programs that read mt4g results", write_gpu, NULL};
