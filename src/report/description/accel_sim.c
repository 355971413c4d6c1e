/* Writes a description as a configuration of GPGPU-Sim and Accel-Sim (gpgpusim.config).
 *
 * The keys, their defaults and the rules for their values are those of the source of GPGPU-Sim 4
 * (src/gpgpu-sim/gpu-sim.cc, gpu-sim.h, gpu-cache.h, addrdec.cc, shader.cc and l2cache.cc of
 * github.com/accel-sim/gpgpu-sim_distribution). The simulator ends with an error if a file has an
 * unknown key, so that this file writes only keys that GPGPU-Sim 4.0 and later versions have. It
 * leaves out keys with a usable default if the description does not have their figure. The defaults
 * of the caches are not usable: the simulator cannot parse them.
 * accel_sim_caches.c writes the caches. */
#include "report/description/accel_sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(const struct fth_accel *accel, const char *section, const char *name)
{
    return fth_config_number(&accel->config, section, name);
}

static const char *text(const struct fth_accel *accel, const char *section, const char *name)
{
    return fth_gpu_text(accel->config.gpu, section, name);
}

static void put_code(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const int major = accel->capability / 10;
    fth_config_heading(config, "Code");
    if (accel->capability) {
        fth_config_put_number(config, "-gpgpu_ptx_force_max_capability", accel->capability, NULL);
        fth_config_put_number(config, "-gpgpu_compute_capability_major", major,
                              fth_config_source(config, "device", "compute_capability"));
        fth_config_put_number(config, "-gpgpu_compute_capability_minor", accel->capability % 10,
                              NULL);
        fth_config_put_number(config, "-gpgpu_occupancy_sm_number", accel->capability, NULL);
        fth_config_put_number(config, "-gpgpu_coalesce_arch", accel->capability, NULL);
        return;
    }
    fth_config_comment(config, "The description has no compute capability. The simulator needs "
                               "one, and executes CUDA code only; 7.0 is assumed.");
    fth_config_put(config, "-gpgpu_occupancy_sm_number", "70", "assumed");
    fth_config_put(config, "-gpgpu_coalesce_arch", "70", "assumed");
}

/* Returns the maximum number of threads per SM by the compute capability (CUDA C++ Programming
 * Guide, technical specifications per compute capability); 0: not in this table. */
static double threads_by_capability(int capability)
{
    static const struct {
        int capability;
        double threads;
    } table[] = {{20, 1536}, {21, 1536},  {30, 2048},  {35, 2048}, {37, 2048}, {50, 2048},
                 {52, 2048}, {53, 2048},  {60, 2048},  {61, 2048}, {62, 2048}, {70, 2048},
                 {72, 2048}, {75, 1024},  {80, 2048},  {86, 1536}, {87, 1536}, {89, 1536},
                 {90, 2048}, {100, 2048}, {103, 2048}, {120, 1536}};
    for (size_t i = 0; i < FTH_COUNT(table); i++)
        if (table[i].capability == capability)
            return table[i].threads;
    return 0;
}

/* Writes the number of threads per SM and the warp size, which are one value. */
static void put_threads(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const double warp = number(accel, "device", "warp_size");
    const char *origin = NULL; /* of a number of threads that the description does not have */
    double threads = number(accel, "device", "max_threads_per_sm");
    if (isnan(threads)) {
        threads = threads_by_capability(accel->capability);
        origin = threads > 0 ? "threads: by the compute capability" : "threads: assumed";
        threads = threads > 0 ? threads : 2048;
    }
    char value[64], remark[96];
    snprintf(value, sizeof value, "%.0f:%.0f", threads, isnan(warp) ? 32 : warp);
    snprintf(remark, sizeof remark, "%s%swarp size: assumed", origin ? origin : "",
             origin ? "; " : "");
    if (!origin)
        origin = fth_config_source(config, "device", "max_threads_per_sm");
    fth_config_put(config, "-gpgpu_shader_core_pipeline", value, isnan(warp) ? remark : origin);
}

static void put_sms(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const double registers = number(accel, "registers", "size_bytes") / 4;
    const double block_registers = number(accel, "device", "max_registers_per_block");
    fth_config_heading(
        config, "SMs. Each is a cluster of its own, as in the configurations of the simulator.");
    fth_config_put_fact(config, "-gpgpu_n_clusters", "device", "sms");
    fth_config_put(config, "-gpgpu_n_cores_per_cluster", "1", NULL);
    put_threads(accel);
    fth_config_put_fact(config, "-gpgpu_shader_cta", "device", "max_blocks_per_sm");
    fth_config_put_number(config, "-gpgpu_shader_registers", registers,
                          fth_config_source(config, "registers", "size_bytes"));
    if (isnan(block_registers))
        fth_config_put_number(config, "-gpgpu_registers_per_block", registers,
                              "assumed: all registers of an SM");
    else
        fth_config_put_fact(config, "-gpgpu_registers_per_block", "device",
                            "max_registers_per_block");
}

static void put_shared(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const char *element = fth_accel_shared(accel);
    const char *limit = isnan(number(accel, element, "max_block_bytes")) ? "default_block_bytes"
                                                                         : "max_block_bytes";
    fth_config_heading(config, "Shared memory");
    fth_config_put_fact(config, "-gpgpu_shmem_size", element, "size_bytes");
    fth_config_put_fact(config, "-gpgpu_shmem_sizeDefault", element, "size_bytes");
    fth_config_put_fact(config, "-gpgpu_shmem_per_block", element, limit);
    fth_config_put_fact(config, "-gpgpu_shmem_num_banks", element, "banks");
    fth_config_put(config, "-gpgpu_shmem_warp_parts", "1", "assumed");
    fth_config_put(config, "-gpgpu_shmem_limited_broadcast", "0", "assumed");
    fth_config_put_number(config, "-gpgpu_smem_latency",
                          round(number(accel, element, "latency_cycles")),
                          fth_config_source(config, element, "latency_cycles"));
}

/* Writes the latencies behind the L1 as what each level adds. */
static void put_latencies(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const double l1 = fth_gpu_number(config->gpu, fth_accel_l1(accel), "latency_cycles", 0);
    const double l2 = number(accel, "l2", "latency_cycles");
    const double memory = number(accel, "memory", "latency_cycles");
    if (!(l2 > l1) && !(memory > l2))
        return;
    fth_config_heading(config, "Latencies behind the L1, in SM cycles: L2 hit - L1 hit, and memory "
                               "- L2 hit. The simulator adds the cycles of its pipelines, queues "
                               "and interconnect, so that all latencies of this file are upper "
                               "bounds.");
    fth_config_put_latencies(config, l1, l2, memory, "-gpgpu_l2_rop_latency", "-dram_latency");
}

/* Returns the clock of the DRAM at which all controllers together have the peak bandwidth of the
 * memory, if a controller transfers `bytes` per cycle; NAN: the bandwidth is not known. */
static double dram_clock(struct fth_accel *accel, double bytes)
{
    double peak = number(accel, "memory", "peak_bytes_per_s");
    if (isnan(peak)) {
        peak = number(accel, "device", "memory_clock_mhz") * 1e6 * 2 *
               number(accel, "device", "memory_bus_bits") / 8;
        if (!isnan(peak))
            fth_config_comment(&accel->config, "Assumed: two transfers per memory clock.");
    }
    return round(peak / (accel->controllers * bytes) / 1e4) / 100;
}

static void put_memory(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const double bytes = accel->sectored_l2 ? 32 : FTH_ACCEL_LINE;
    const double core = number(accel, "device", "clock_mhz");
    const double slice = number(accel, "l2", "slice_bytes");
    fth_config_heading(config, "Memory. The description has no DRAM timing, so that this is the "
                               "simulator's model with a fixed latency and bandwidth.");
    fth_config_put(config, "-gpgpu_simple_dram_model", "1", NULL);
    fth_config_put_number(config, "-gpgpu_dram_buswidth", bytes / 2, NULL);
    fth_config_put(config, "-gpgpu_dram_burst_length", "2", NULL);
    fth_config_put(config, "-dram_data_command_freq_ratio", "2", NULL);
    char mapping[128];
    snprintf(mapping, sizeof mapping,
             "dramid@%.0f;00000000.00000000.00000000.00000000.RRRRRRRR.RRRRRRRR.RRBCCCCB.CCCSSSSS",
             fth_is_power_of_two(slice) ? log2(slice) : 8);
    fth_config_put(config, "-gpgpu_mem_addr_mapping", mapping,
                   fth_is_power_of_two(slice) ? "controllers are interleaved by slice_bytes"
                                              : "assumed: interleaved by 256 bytes");
    fth_config_heading(config, "Clocks in MHz: SMs, interconnect, L2, DRAM. The DRAM clock gives "
                               "the controllers the peak bandwidth of the memory.");
    if (isnan(core)) {
        fth_config_comment(config, "The clock of the SMs is not known; the default of the "
                                   "simulator is 500 MHz.");
        return;
    }
    const double dram = dram_clock(accel, bytes);
    char clock[40], memory[40], value[160];
    fth_number_format(core, clock, sizeof clock);
    fth_number_format(isnan(dram) ? core : dram, memory, sizeof memory);
    snprintf(value, sizeof value, "%s:%s:%s:%s", clock, clock, clock, memory);
    fth_config_put(config, "-gpgpu_clock_domains", value,
                   isnan(dram) ? "interconnect, L2 and DRAM: assumed"
                               : "interconnect and L2: assumed");
}

/* Names the elements of the description for which there is no key. */
static void put_missing(struct fth_accel *accel)
{
    static const struct {
        const char *element, *words;
    } missing[] = {{"instruction_l0", "an instruction L0"},
                   {"constant_l15", "a constant L1.5"},
                   {"l3", "an L3"},
                   {"tlb_l1", "TLBs"},
                   {"cluster_shared", "shared memory of other SMs"},
                   {"tma", "asynchronous bulk copies"}};
    struct fth_buffer list = {0};
    for (size_t i = 0; i < FTH_COUNT(missing); i++)
        if (fth_gpu_find_section(accel->config.gpu, missing[i].element))
            fth_buffer_format(&list, "%s%s", list.size ? ", " : "", missing[i].words);
    if (fth_gpu_find_section(accel->config.gpu, "vector_l1") &&
        fth_gpu_find_section(accel->config.gpu, "l1"))
        fth_buffer_format(&list, "%sa cache between the first one and the L2",
                          list.size ? ", " : "");
    if (list.size) {
        fth_config_heading(&accel->config,
                           "Elements of the description for which there is no key:");
        fth_config_comment(&accel->config, "%s.", list.data);
    }
    accel->config.out->failed = accel->config.out->failed || list.failed;
    fth_buffer_fini(&list);
}

static void put_head(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const char *name = text(accel, "device", "name");
    const char *vendor = text(accel, "device", "vendor");
    fth_config_comment(config, "Configuration of GPGPU-Sim 4 and Accel-Sim: %s.",
                       name ? name : "a GPU");
    fth_config_comment(config, "Written by fathom %s.", fth_version());
    fth_config_comment(config, "The word behind a value is its source in the description; "
                               "\"assumed\" marks values that the description does not have.");
    fth_config_comment(config, "Pipelines, functional units, schedulers and the latencies of "
                               "instructions are not in this file. Load it after a configuration "
                               "that has them: the last value of a key counts.");
    if (vendor && strcmp(vendor, "NVIDIA") != 0)
        fth_config_comment(config, "The simulator executes CUDA code. It cannot run the code of "
                                   "this GPU, only other code with the caches of this GPU.");
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    const enum fth_status status = fth_config_check(gpu, "write Accel-Sim configuration", error);
    if (status != FTH_OK)
        return status;
    struct fth_accel accel = {.config = {gpu, out, " "}};
    const char *capability = fth_gpu_text(gpu, "device", "compute_capability");
    if (capability)
        accel.capability = (int)lround(10 * fth_strtod(capability, NULL));
    const double line = number(&accel, "l2", "line_bytes");
    const double sector = number(&accel, "l2", "sector_bytes");
    accel.sectored_l2 = isnan(line) || line < FTH_ACCEL_LINE || sector == FTH_ACCEL_SECTOR;
    put_head(&accel);
    put_code(&accel);
    put_sms(&accel);
    fth_accel_put_l1(&accel);
    put_shared(&accel);
    fth_accel_put_read_only(&accel);
    fth_accel_put_l2(&accel);
    put_latencies(&accel);
    put_memory(&accel);
    fth_config_heading(&accel.config, "Interconnect: the built-in crossbar");
    fth_config_put(&accel.config, "-network_mode", "2", "assumed");
    put_missing(&accel);
    return FTH_OK;
}

const struct fth_report_writer fth_report_accel_sim = {
    "accel-sim", "configuration of GPGPU-Sim and Accel-Sim", write_gpu, NULL};
