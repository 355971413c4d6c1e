/* Writes a description as options of gem5's GPU model: one option per line, for the command line of
 * configs/example/gpufs/runfs.py, whose argparse parser has these options (AmdGPUOptions.py,
 * ruby/GPU_VIPER.py, common/Options.py and runfs.py of github.com/gem5/gem5, versions of 2024 and
 * later). The shell removes the comments and puts the rest on the command line.
 *
 * gem5 configures one die: a GPU with several L2 caches becomes one of them with its compute units.
 * All caches have lines of one size, and a number of sets that is a power of two, of at least 2.
 * The TCP is the vector L1, the TCC the L2, in a power of two of banks, and the SQC the instruction
 * cache, whose size the scalar cache has, too. TreePLRU, gem5's default policy, needs a power of
 * two of ways. MGPUSim is configured by Go code, and reads no file with such figures. */
#include "report/description/config_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The most ways that are tried. Chosen: more than any GPU has. */
enum { MAX_WAYS = 65536 };

/* What the compute unit of gem5 adds to an access of the TCP, in cycles: mem_req_latency and
 * mem_resp_latency in src/gpu-compute/GPU.py, which are no options. */
static const double pipeline_cycles = 100;

struct gem5 {
    struct fth_config config;
    const char *l1; /* the element that becomes the TCP */
    double line;    /* of all caches */
};

static double number(const struct gem5 *gem5, const char *section, const char *name)
{
    return fth_config_number(&gem5->config, section, name);
}

/* Writes a size with the unit that gem5 reads: "16KiB", or "100B" if it is not a whole number of
 * KiB. */
static void put_size(struct gem5 *gem5, const char *key, double bytes, const char *remark)
{
    char value[64];
    if (isnan(bytes))
        return;
    if (fmod(bytes, 1024) == 0)
        snprintf(value, sizeof value, "%.0fKiB", bytes / 1024);
    else
        snprintf(value, sizeof value, "%.0fB", bytes);
    fth_config_put(&gem5->config, key, value, remark);
}

/* Returns the ways nearest to `wanted` with which a cache has a power of two of sets, of at least
 * 2; NAN: there are none. */
static double choose_ways(double bytes, double line, double wanted)
{
    double best = NAN;
    for (unsigned ways = 1; ways <= bytes / line / 2 && ways <= MAX_WAYS; ways++)
        if (fth_is_power_of_two(bytes / (line * ways)) &&
            (isnan(best) || fabs(log2(ways / wanted)) < fabs(log2(best / wanted))))
            best = ways;
    return best;
}

/* Writes the ways and the replacement policy of a cache of this size; `standard` is gem5's default
 * for the ways. */
static void put_ways(struct gem5 *gem5, const char *element, double bytes, const char *ways_key,
                     const char *policy_key, double standard)
{
    static const char *const policies[][2] = {{"lru", "LRURP"},
                                              {"fifo", "FIFORP"},
                                              {"lfu", "LFURP"},
                                              {"plru", "TreePLRURP"},
                                              {"random", "RandomRP"}};
    struct fth_config *config = &gem5->config;
    const double real = number(gem5, element, "ways");
    const double ways =
        choose_ways(bytes, gem5->line, isnan(real) ? standard : fmin(real, MAX_WAYS));
    const char *policy = fth_gpu_text(config->gpu, element, "policy"), *name = NULL;
    if (isnan(ways)) {
        fth_config_comment(config, "The size of %s allows no power of two of sets.", element);
        return;
    }
    if (!isnan(real) && ways != real)
        fth_config_comment(config,
                           "%s has %.0f ways. gem5 needs a power of two of sets; these ways give "
                           "one.",
                           element, real);
    fth_config_put_number(config, ways_key, ways,
                          isnan(real)    ? "assumed"
                          : ways == real ? fth_config_source(config, element, "ways")
                                         : "derived");
    for (size_t i = 0; policy && i < FTH_COUNT(policies); i++)
        if (strcmp(policy, policies[i][0]) == 0)
            name = policies[i][1];
    if (policy && !name)
        fth_config_comment(config,
                           "The replacement policy of %s is \"%s\", which gem5 does not "
                           "have.",
                           element, policy);
    if (!fth_is_power_of_two(ways) && (!name || strcmp(name, "TreePLRURP") == 0))
        fth_config_put(config, policy_key, "LRURP",
                       "assumed: TreePLRU needs a power of two of ways");
    else if (name)
        fth_config_put(config, policy_key, name, fth_config_source(config, element, "policy"));
}

/* Writes the model of the GPU, for which gem5 has the instruction set. */
static void put_device(struct gem5 *gem5)
{
    static const char *const devices[][2] = {{"Vega", "Vega10"},  {"GCN 5", "Vega10"},
                                             {"CDNA", "MI100"},   {"CDNA 1", "MI100"},
                                             {"CDNA 2", "MI200"}, {"CDNA 3", "MI300X"}};
    struct fth_config *config = &gem5->config;
    const char *architecture = fth_gpu_text(config->gpu, "device", "architecture");
    for (size_t i = 0; architecture && i < FTH_COUNT(devices); i++)
        if (strcmp(architecture, devices[i][0]) == 0) {
            fth_config_put(config, "--gpu-device", devices[i][1], NULL);
            return;
        }
    fth_config_comment(config, "gem5 executes the code of some AMD GPUs (--gpu-device Vega10, "
                               "MI100, MI200, MI300X). It cannot run the code of this GPU, only "
                               "other code with the caches of this GPU.");
}

static void put_units(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const double instances = fth_gpu_number(config->gpu, "l2", "instances", 1);
    const double warp = number(gem5, "device", "warp_size");
    const double threads = number(gem5, "device", "max_threads_per_sm");
    double units = number(gem5, "device", "sms");
    fth_config_heading(config, "Compute units");
    if (instances > 1) {
        units = isnan(number(gem5, "l2", "sms_per_instance"))
                    ? floor(units / instances)
                    : number(gem5, "l2", "sms_per_instance");
        fth_config_comment(config,
                           "The GPU has %.0f L2 caches. gem5 has one die with one L2: these are "
                           "the compute units of one of them.",
                           instances);
    }
    fth_config_put_number(config, "--num-compute-units", units,
                          fth_config_source(config, "device", "sms"));
    fth_config_put_fact(config, "--wf-size", "device", "warp_size");
    if (number(gem5, "device", "cores_per_sm") == 64 && warp == 64) {
        fth_config_put(config, "--simds-per-cu", "4", "assumed: 16 lanes per SIMD");
        fth_config_put_number(config, "--wfs-per-simd", threads / warp / 4,
                              fth_config_source(config, "device", "max_threads_per_sm"));
        fth_config_put_number(config, "--vreg-file-size",
                              number(gem5, "registers", "size_bytes") / (4 * 4 * warp),
                              fth_config_source(config, "registers", "size_bytes"));
    }
    char clock[48], value[56];
    const double mhz = number(gem5, "device", "clock_mhz");
    if (!isnan(mhz)) {
        snprintf(value, sizeof value, "%sMHz", fth_number_format(mhz, clock, sizeof clock));
        fth_config_put(config, "--gpu-clock", value,
                       fth_config_source(config, "device", "clock_mhz"));
    }
}

static void put_lds(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const char *element = fth_gpu_find_section(config->gpu, "lds") ? "lds" : "shared";
    const double shared = fth_gpu_number(config->gpu, element, "sms_per_instance", 1);
    fth_config_heading(config, "LDS");
    if (shared > 1)
        fth_config_comment(config, "%.0f compute units share one; gem5 has one for each.", shared);
    fth_config_put_fact(config, "--lds-size", element, "size_bytes");
    fth_config_put_fact(config, "--numLdsBanks", element, "banks");
}

static void put_l1(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const double size = number(gem5, gem5->l1, "size_bytes");
    const double latency = number(gem5, gem5->l1, "latency_cycles");
    fth_config_heading(config, "L1 (TCP)");
    if (isnan(size)) {
        fth_config_comment(config, "The size of the L1 is not known; gem5's default is 16 KiB.");
        return;
    }
    put_size(gem5, "--tcp-size", size, fth_config_source(config, gem5->l1, "size_bytes"));
    put_ways(gem5, gem5->l1, size, "--tcp-assoc", "--tcp-rp", 16);
    if (latency > pipeline_cycles)
        fth_config_put_number(config, "--mandatory_queue_latency", round(latency - pipeline_cycles),
                              "latency of the L1 - 100 cycles of gem5's compute unit");
    else if (!isnan(latency))
        fth_config_comment(config,
                           "An L1 hit takes %.0f cycles; gem5's compute unit alone takes %.0f.",
                           latency, pipeline_cycles);
}

static void put_sqc(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const double size = number(gem5, "instruction_l1", "size_bytes");
    const double each = fth_gpu_number(config->gpu, "instruction_l1", "sms_per_instance", 1);
    const double scalar = fth_gpu_number(config->gpu, "scalar_l1", "sms_per_instance", each);
    const double scalar_size = number(gem5, "scalar_l1", "size_bytes");
    fth_config_heading(config, "Instruction cache (SQC) and scalar cache");
    if (!isnan(size)) {
        if (!isnan(scalar_size) && scalar_size != size)
            fth_config_comment(config,
                               "The scalar cache has %.0f bytes; in gem5 it has the size of the "
                               "instruction cache.",
                               scalar_size);
        put_size(gem5, "--sqc-size", size,
                 fth_config_source(config, "instruction_l1", "size_bytes"));
        put_ways(gem5, "instruction_l1", size, "--sqc-assoc", "--sqc-rp", 8);
    }
    fth_config_put_number(config, "--cu-per-sqc", each,
                          fth_config_source(config, "instruction_l1", "sms_per_instance"));
    fth_config_put_number(config, "--cu-per-scalar-cache", scalar,
                          fth_config_source(config, "scalar_l1", "sms_per_instance"));
    fth_config_put_number(config, "--cu-per-sa", each * scalar / (each == scalar ? scalar : 1),
                          "a multiple of both");
}

static void put_l2(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const double size = number(gem5, "l2", "size_bytes"), slices = number(gem5, "l2", "slices");
    const double banks = isnan(slices) ? 16 : exp2(round(log2(slices)));
    fth_config_heading(config, "L2 (TCC): the size of all banks together");
    if (isnan(size)) {
        fth_config_comment(config, "The size of the L2 is not known; gem5's default is 256 KiB.");
        return;
    }
    put_size(gem5, "--tcc-size", size, fth_config_source(config, "l2", "size_bytes"));
    if (!isnan(slices) && banks != slices)
        fth_config_comment(config, "The L2 has %.0f slices; gem5 needs a power of two.", slices);
    fth_config_put_number(config, "--num-tccs", banks,
                          isnan(slices)     ? "assumed"
                          : banks == slices ? fth_config_source(config, "l2", "slices")
                                            : "derived");
    put_ways(gem5, "l2", size / banks, "--tcc-assoc", "--tcc-rp", 16);
    const double partitions = number(gem5, "l2", "partitions");
    if (partitions > 1)
        fth_config_comment(config,
                           "The L2 has %.0f partitions; gem5's L2 has the same latency for all "
                           "compute units.",
                           partitions);
}

static void put_latencies(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const double l1 = number(gem5, gem5->l1, "latency_cycles");
    const double l2 = number(gem5, "l2", "latency_cycles");
    const double memory = number(gem5, "memory", "latency_cycles");
    if (l2 > l1 || memory > l2)
        fth_config_heading(config, "Latencies behind the L1, in GPU cycles: L2 hit - L1 hit, and "
                                   "memory - L2 hit. gem5 adds the cycles of its networks and of "
                                   "its DRAM model, so that these are upper bounds.");
    fth_config_put_latencies(config, l1, l2, memory, "--TCC_latency", "--gpu-to-dir-latency");
    fth_config_heading(config, "Not written: memory (gem5 models it with --dgpu-mem-type and "
                               "--dgpu-num-dirs), an L3, TLBs (gem5 has pages of 4 KiB), and "
                               "bandwidths.");
}

static void put_head(struct gem5 *gem5)
{
    struct fth_config *config = &gem5->config;
    const char *name = fth_gpu_text(config->gpu, "device", "name");
    const double line = number(gem5, gem5->l1, "line_bytes");
    fth_config_comment(config, "Options of gem5's GPU model: %s.", name ? name : "a GPU");
    fth_config_comment(config, "Written by fathom %s.", fth_version());
    fth_config_comment(config, "Use: gem5.opt configs/example/gpufs/runfs.py $(sed 's/#.*//' FILE) "
                               "--kernel ...");
    fth_config_comment(config, "The word behind a value is its source in the description; "
                               "\"assumed\" marks values that the description does not have. Other "
                               "options keep gem5's defaults.");
    put_device(gem5);
    fth_config_heading(config, "Lines of all caches");
    gem5->line = line == 64 || line == 128 ? line : 64;
    if (gem5->line != line)
        fth_config_comment(config, isnan(line) ? "The line of the L1 is not known."
                                               : "The L1 has lines that gem5 does not support.");
    fth_config_put_number(config, "--cacheline_size", gem5->line,
                          gem5->line == line ? fth_config_source(config, gem5->l1, "line_bytes")
                                             : "assumed");
    if (fth_gpu_number(config->gpu, "l2", "line_bytes", gem5->line) != gem5->line)
        fth_config_comment(config, "The L2 has lines of %.0f bytes.",
                           number(gem5, "l2", "line_bytes"));
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    const enum fth_status status = fth_config_check(gpu, "write gem5 options", error);
    if (status != FTH_OK)
        return status;
    struct gem5 gem5 = {.config = {gpu, out, "="},
                        .l1 = fth_gpu_find_section(gpu, "vector_l1") ? "vector_l1" : "l1"};
    put_head(&gem5);
    put_units(&gem5);
    put_lds(&gem5);
    put_l1(&gem5);
    put_sqc(&gem5);
    put_l2(&gem5);
    put_latencies(&gem5);
    return FTH_OK;
}

const struct fth_report_writer fth_report_gem5 = {"gem5", "options of gem5's GPU model", write_gpu,
                                                  NULL};
