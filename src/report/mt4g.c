/* The description under the keys of mt4g's JSON, so that programs which read its results
 * (github.com/caps-tum/mt4g; the keys are those of the results in its sample_results, August 2025)
 * read ours.
 *
 * What a description does not have is left out. mt4g gives of a latency the mean, median, 95th
 * percentile and deviation of single loads; we time whole passes, so `mean` and `p50` are both the
 * median over passes of the mean of a pass, `p95` is where the interval of a measured latency ends,
 * the 95th percentile of what it is the median of (probe.h), and no deviation is known. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
    const struct fth_gpu *gpu;
    struct fth_json_writer json;
};

static void put_number(struct page *page, const char *key, double number)
{
    if (isnan(number))
        return;
    fth_json_key(&page->json, key);
    fth_json_number(&page->json, number);
}

static void put_text(struct page *page, const char *key, const char *text)
{
    if (!text)
        return;
    fth_json_key(&page->json, key);
    fth_json_text(&page->json, text);
}

/* {"unit": …, "value": …} of what the driver tells. */
static void put_quantity(struct page *page, const char *key, double value, const char *unit)
{
    if (isnan(value))
        return;
    fth_json_key(&page->json, key);
    fth_json_begin(&page->json, '{', false);
    put_text(page, "unit", unit);
    put_number(page, "value", value);
    fth_json_end(&page->json, '}');
}

static void put_fact(struct page *page, const char *key, const char *section, const char *name,
                     double factor, const char *unit)
{
    put_quantity(page, key, factor * fth_gpu_number(page->gpu, section, name, NAN), unit);
}

/* {"size": …, "unit": "bytes", "confidence": …, "method": …} of what was measured. */
static void put_size(struct page *page, const char *key, const char *section, const char *name)
{
    const struct fth_attribute *a = fth_gpu_attribute(page->gpu, section, name);
    if (!a || a->kind != FTH_NUMBER)
        return;
    fth_json_key(&page->json, key);
    fth_json_begin(&page->json, '{', false);
    put_number(page, "confidence", a->confidence);
    put_text(page, "method", a->method);
    put_number(page, "size", a->number);
    put_text(page, "unit", "bytes");
    fth_json_end(&page->json, '}');
}

static void put_latency(struct page *page, const char *section)
{
    const struct fth_attribute *a = fth_gpu_attribute(page->gpu, section, "latency_cycles");
    if (!a || a->kind != FTH_NUMBER)
        return;
    fth_json_key(&page->json, "latency");
    fth_json_begin(&page->json, '{', false);
    put_number(page, "high", a->high);
    put_number(page, "low", a->low);
    put_number(page, "mean", a->number);
    put_number(page, "measurements", a->samples);
    put_text(page, "method", a->method);
    put_number(page, "p50", a->number);
    if (a->source == FTH_SOURCE_MEASURED)
        put_number(page, "p95", a->high);
    put_text(page, "unit", "cycles");
    fth_json_end(&page->json, '}');
}

static void put_bandwidths(struct page *page, const char *section)
{
    static const double gib = 1073741824.0;
    put_fact(page, "readBandwidth", section, "read_bytes_per_s", 1 / gib, "GiB/s");
    put_fact(page, "writeBandwidth", section, "write_bytes_per_s", 1 / gib, "GiB/s");
}

static void put_sharing(struct page *page, const char *section)
{
    static const struct {
        const char *ours, *theirs;
    } names[] = {{"l1", "L1"},
                 {"texture", "Texture"},
                 {"readonly", "Read Only"},
                 {"constant_l1", "Constant L1"},
                 {"constant_l15", "Constant L1.5"}};
    const struct fth_attribute *with = fth_gpu_attribute(page->gpu, section, "shared_with");
    if (!with || with->kind != FTH_TEXTS)
        return;
    fth_json_key(&page->json, "sharedWith");
    fth_json_begin(&page->json, '[', false);
    for (size_t i = 0; i < with->count; i++) {
        const char *name = with->texts[i];
        for (size_t j = 0; j < FTH_COUNT(names); j++)
            if (strcmp(with->texts[i], names[j].ours) == 0)
                name = names[j].theirs;
        fth_json_text(&page->json, name);
    }
    fth_json_end(&page->json, ']');
}

/* What mt4g has of each cache. */
static void put_cache(struct page *page, const char *section)
{
    put_number(page, "amountPerMultiprocessor", fth_gpu_number(page->gpu, section, "per_sm", NAN));
    put_size(page, "fetchGranularity", section,
             fth_gpu_attribute(page->gpu, section, "sector_bytes") ? "sector_bytes" : "line_bytes");
    put_latency(page, section);
    put_size(page, "lineSize", section, "line_bytes");
    put_bandwidths(page, section);
    put_sharing(page, section);
}

static void begin(struct page *page, const char *key)
{
    fth_json_key(&page->json, key);
    fth_json_begin(&page->json, '{', false);
}

static void end(struct page *page)
{
    fth_json_end(&page->json, '}');
}

static void put_sized_cache(struct page *page, const char *key, const char *section)
{
    if (!fth_gpu_find_section(page->gpu, section))
        return;
    begin(page, key);
    put_cache(page, section);
    put_size(page, "size", section, "size_bytes");
    end(page);
}

static bool caches(const struct fth_gpu *gpu, const char *what)
{
    const struct fth_attribute *a = fth_gpu_attribute(gpu, "l1", "caches");
    for (size_t i = 0; a && i < a->count; i++)
        if (strcmp(a->texts[i], what) == 0)
            return true;
    return false;
}

static void put_flag(struct page *page, const char *key, const char *name)
{
    const char *text = fth_gpu_text(page->gpu, "device", name);
    if (!text)
        return;
    fth_json_key(&page->json, key);
    fth_json_bool(&page->json, strcmp(text, "yes") == 0);
}

static void put_count(struct page *page, const char *key, const char *name)
{
    put_number(page, key, fth_gpu_number(page->gpu, "device", name, NAN));
}

static void write_compute(struct page *page)
{
    begin(page, "compute");
    put_flag(page, "concurrentKernels", "concurrent_kernels");
    put_count(page, "maxBlocksPerMultiProcessor", "max_blocks_per_sm");
    put_count(page, "maxThreadsPerBlock", "max_threads_per_block");
    put_count(page, "maxThreadsPerMultiProcessor", "max_threads_per_sm");
    put_count(page, "multiProcessorCount", "sms");
    put_count(page, "numberOfCoresPerMultiProcessor", "cores_per_sm");
    put_count(page, "regsPerBlock", "max_registers_per_block");
    put_number(page, "regsPerMultiProcessor",
               fth_gpu_number(page->gpu, "registers", "size_bytes", NAN) / 4);
    put_flag(page, "supportsCooperativeLaunch", "cooperative_launch");
    put_count(page, "warpSize", "warp_size");
    end(page);
}

static void write_general(struct page *page)
{
    const char *capability = fth_gpu_text(page->gpu, "device", "compute_capability");
    begin(page, "general");
    put_fact(page, "clockRate", "device", "clock_mhz", 1000, "kHz");
    if (capability) {
        char *dot;
        begin(page, "computeCapability");
        put_number(page, "major", (double)strtol(capability, &dot, 10));
        put_number(page, "minor", *dot == '.' ? (double)strtol(dot + 1, NULL, 10) : 0);
        end(page);
    }
    put_text(page, "name", fth_gpu_text(page->gpu, "device", "name"));
    put_text(page, "vendor", fth_gpu_text(page->gpu, "device", "vendor"));
    end(page);
}

static void write_l1(struct page *page)
{
    if (!fth_gpu_find_section(page->gpu, "l1"))
        return;
    begin(page, "l1");
    put_cache(page, "l1");
    if (fth_gpu_attribute(page->gpu, "l1", "caches")) {
        fth_json_key(&page->json, "globalL1CacheSupported");
        fth_json_bool(&page->json, caches(page->gpu, "global"));
        fth_json_key(&page->json, "localL1CacheSupported");
        fth_json_bool(&page->json, caches(page->gpu, "local"));
    }
    put_size(page, "size", "l1", "size_bytes");
    end(page);
}

/* mt4g has the size of all of it from the driver, and measures that of a partition. */
static void write_l2(struct page *page)
{
    const double size = fth_gpu_number(page->gpu, "l2", "size_bytes", NAN);
    const struct fth_attribute *partitions = fth_gpu_attribute(page->gpu, "l2", "partitions");
    if (!fth_gpu_find_section(page->gpu, "l2"))
        return;
    begin(page, "l2");
    put_cache(page, "l2");
    put_fact(page, "persistingL2CacheMaxSize", "l2", "max_persisting_bytes", 1, "bytes");
    if (partitions && partitions->kind == FTH_NUMBER && !isnan(size)) {
        begin(page, "segmentSize");
        put_number(page, "confidence", partitions->confidence);
        put_text(page, "method", partitions->method);
        put_number(page, "size", size / partitions->number);
        put_text(page, "unit", "bytes");
        end(page);
    }
    put_quantity(page, "size", size, "bytes");
    end(page);
}

static void write_memory(struct page *page)
{
    begin(page, "memory");
    begin(page, "constant");
    put_sized_cache(page, "l1", "constant_l1");
    put_sized_cache(page, "l1.5", "constant_l15");
    put_fact(page, "totalConstMem", "device", "constant_memory_bytes", 1, "bytes");
    end(page);
    write_l1(page);
    write_l2(page);
    begin(page, "main");
    put_latency(page, "memory");
    put_fact(page, "memoryBusWidth", "device", "memory_bus_bits", 1, "bit");
    put_fact(page, "memoryClockRate", "device", "memory_clock_mhz", 1000, "kHz");
    put_bandwidths(page, "memory");
    put_fact(page, "totalGlobalMem", "memory", "size_bytes", 1, "bytes");
    end(page);
    put_sized_cache(page, "readOnly", "readonly");
    begin(page, "shared");
    put_latency(page, "shared");
    put_bandwidths(page, "shared");
    put_fact(page, "reservedSharedMemPerBlock", "shared", "reserved_block_bytes", 1, "bytes");
    put_fact(page, "sharedMemPerBlock", "shared", "default_block_bytes", 1, "bytes");
    put_fact(page, "sharedMemPerMultiProcessor", "shared", "size_bytes", 1, "bytes");
    end(page);
    put_sized_cache(page, "texture", "texture");
    end(page);
}

/* CUDA's way to write 13.0 as a number. */
static void write_meta(struct page *page)
{
    const char *version = fth_gpu_text(page->gpu, "device", "cuda_version");
    begin(page, "meta");
    if (version) {
        char *dot;
        double number = 1000.0 * (double)strtol(version, &dot, 10);
        if (*dot == '.')
            number += 10.0 * (double)strtol(dot + 1, NULL, 10);
        put_number(page, "driver", number);
    }
    put_text(page, "generator", "fathom");
    put_text(page, "generatorVersion", fth_version());
    end(page);
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    (void)error;
    struct page page = {.gpu = gpu, .json = {.out = out}};
    fth_json_begin(&page.json, '{', false);
    write_compute(&page);
    write_general(&page);
    write_memory(&page);
    write_meta(&page);
    fth_json_end(&page.json, '}');
    return FTH_OK;
}

const struct fth_report_writer fth_report_mt4g = {
    "mt4g", "JSON with the keys of mt4g, for programs that read its results", write_gpu, NULL};
