/* The elements and attributes of fathom-gpu/1, in one table each. A new attribute needs one row
 * here and one in docs/gpu-description.md; a test checks that both are the same. */
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

#define CACHE FTH_CLASS_CACHE
#define L1 FTH_CLASS_L1
#define ICACHE FTH_CLASS_ICACHE
#define SHARED FTH_CLASS_SHARED
#define CLUSTER FTH_CLASS_CLUSTER
#define L2 FTH_CLASS_L2
#define TLB FTH_CLASS_TLB
#define MEMORY FTH_CLASS_MEMORY
#define REGISTERS FTH_CLASS_REGISTERS
#define ENGINE FTH_CLASS_ENGINE
#define DEVICE FTH_CLASS_DEVICE
#define NOISE FTH_CLASS_NOISE
#define ELEMENTS (CACHE | ICACHE | SHARED | TLB | MEMORY | REGISTERS | ENGINE)

static const struct fth_element_def sections[] = {
    {"device", "Device", "device", DEVICE},
    {"noise", "Noise", "noise", NOISE},
    {"l1", "L1 data", "L1", CACHE | L1},
    {"vector_l1", "Vector L1", "vector L1", CACHE | L1},
    {"scalar_l1", "Scalar L1", "scalar L1", CACHE},
    {"texture", "Texture", "tex", CACHE},
    {"readonly", "Read-only", "ro", CACHE},
    {"constant_l1", "Constant L1", "const L1", CACHE},
    {"constant_l15", "Constant L1.5", "const L1.5", CACHE},
    {"instruction_l0", "Instruction L0", "instr L0", ICACHE},
    {"instruction_l1", "Instruction L1", "instr L1", ICACHE},
    {"instruction_l15", "Instruction L1.5", "instr L1.5", ICACHE},
    {"shared", "Shared memory", "shared", SHARED},
    {"lds", "LDS", "LDS", SHARED},
    {"cluster_shared", "Cluster shared", "cluster", SHARED | CLUSTER},
    {"l2", "L2", "L2", CACHE | L2},
    {"l3", "L3", "L3", CACHE},
    {"tlb_l1", "TLB L1", "TLB L1", TLB},
    {"tlb_l2", "TLB L2", "TLB L2", TLB},
    {"tlb_l3", "TLB L3", "TLB L3", TLB},
    {"memory", "Device memory", "memory", MEMORY},
    {"registers", "Registers", "registers", REGISTERS},
    {"tma", "Copy engine", "TMA", ENGINE},
};
/* The first sections, device and noise, are not elements. */
enum { NOT_ELEMENTS = 2 };

static const char *const kinds[] = {"gpu", "cpu", "accelerator", NULL};
static const char *const scopes[] = {"sm", "gpc", "gpu", "group", NULL};
static const char *const policies[] = {"lru",    "fifo",     "lfu",   "plru",
                                       "random", "weighted", "clock", NULL};
static const char *const join_extents[] = {"sectors", "line", NULL};
static const char *const cached_spaces[] = {"global", "local", NULL};
static const char *const addressings[] = {"virtual", "physical", NULL};
static const char *const patterns[] = {"P1", "P2", "P3", "P4", "P5", "P6", NULL};
static const char *const block_orders[] = {"sm", "gpc", NULL};
static const char *const refills[] = {"free", "order", NULL};
static const char *const write_misses[] = {"allocate", "no_allocate", NULL};
static const char *const write_hits[] = {"update", "evict", NULL};
static const char *const evicted_parts[] = {"sector", "line", NULL};
static const char *const partial_writes[] = {"fetch", "mask", NULL};
static const char *const far_copies[] = {"invalidate", "update", NULL};
static const char *const write_policies[] = {"write_back", "write_through", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const keeps[] = {"yes", "no", "unknown", NULL};
static const char *const priorities[] = {"first", "normal", "last", "none", "unknown", NULL};

static const struct fth_attribute_def attributes[] = {
    {"name", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"vendor", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"kind", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, kinds},
    {"architecture", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"chip", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"compute_capability", DEVICE, FTH_TEXT, FTH_RULE_CAPABILITY, NULL},
    {"sms", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"xcds", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"shader_arrays", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"cores_per_sm", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"schedulers_per_sm", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"warp_size", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"memory_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"memory_bus_bits", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_threads_per_block", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_threads_per_sm", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"backend", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"driver", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"uuid", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"max_blocks_per_sm", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"local_stack_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"local_reserved_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_registers_per_block", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"constant_memory_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"texture_alignment_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_linear_texels", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"single_to_double_ratio", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"copy_engines", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"memory_sync_domains", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_block_dims", DEVICE, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"max_grid_dims", DEVICE, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"integrated", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"kernel_timeout", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"concurrent_kernels", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"cooperative_launch", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"cluster_launch", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"preemption", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"stream_priorities", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"tensor_maps", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"multicast", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"mps", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"unified_addressing", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"managed_memory", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"concurrent_managed_access", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"pageable_access", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"host_page_tables", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"host_atomics", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"virtual_memory_management", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"memory_pools", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"gpu_direct_rdma", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"cuda_version", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"opencl_version", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"pci_bus", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"pci_device", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"pcie_generation", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"pcie_lanes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_pcie_generation", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_pcie_lanes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"link_to_device_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_from_device_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_both_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_pageable_to_device_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_pageable_from_device_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_latency_ns", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_load_latency_ns", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_load_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"link_store_bytes_per_s", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"managed_fault_ns", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"managed_page_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"max_memory_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"current_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"current_memory_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"power_w", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"power_limit_w", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"temperature_c", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"throttling", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"host", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"measured_at", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"board_part_number", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"vbios", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"serial", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"memory_temperature_c", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"loaded_clock_mhz", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"loaded_power_w", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"loaded_temperature_c", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"loaded_throttling", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"performance_state", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"throttle_power_us", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"throttle_thermal_us", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"pcie_replays", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"nvlinks", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"nvlinks_active", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"nvlink_errors", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"ecc_correctable", DEVICE | MEMORY, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"ecc_uncorrectable", DEVICE | MEMORY, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"ecc_uncorrectable_volatile", DEVICE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"clock_source", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"unit_source", DEVICE, FTH_TEXT, FTH_RULE_TEXT, NULL},
    {"instruction_bytes", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"clock_resolution_cycles", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"clock_read_cycles", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"timing_cycles", DEVICE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"gpc_by_sm", DEVICE, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"tpc_by_sm", DEVICE, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"block_order", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, block_orders},
    {"block_first_gpcs", DEVICE, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"block_return_blocks", DEVICE, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"block_refill", DEVICE, FTH_TEXT, FTH_RULE_CHOICE, refills},
    {"loads_per_scoreboard", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"sectors_in_flight_per_sm", DEVICE, FTH_NUMBER, FTH_RULE_COUNT, NULL},

    {"seed", NOISE, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"jitter_cycles", NOISE, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"outlier_rate", NOISE, FTH_NUMBER, FTH_RULE_FRACTION, NULL},
    {"neighbour_rate", NOISE, FTH_NUMBER, FTH_RULE_FRACTION, NULL},

    {"scope", ELEMENTS, FTH_TEXT, FTH_RULE_CHOICE, scopes},
    {"size_bytes", ELEMENTS & ~TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"default_size_bytes", CACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"carveout_size_bytes", L1, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"unified_bytes", CACHE | SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"onset_bytes", CACHE | ICACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"resident_bytes", CACHE | ICACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"full_miss_bytes", CACHE | ICACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"line_bytes", CACHE | ICACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"sector_bytes", CACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"fill_bytes", CACHE, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"sets", CACHE | ICACHE | TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"ways", CACHE | ICACHE | TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"set_ways", CACHE | TLB, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"index", CACHE | TLB, FTH_TEXT, FTH_RULE_INDEX, NULL},
    {"policy", CACHE | ICACHE | TLB, FTH_TEXT, FTH_RULE_CHOICE, policies},
    {"way_weights", CACHE | TLB, FTH_NUMBERS, FTH_RULE_POSITIVE, NULL},
    {"rows", CACHE | TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"row_ways", CACHE | TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"set_masks", CACHE, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"row_masks", CACHE, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"policy_candidates", CACHE, FTH_TEXTS, FTH_RULE_TEXT, NULL},
    {"policy_bits", CACHE, FTH_NUMBERS, FTH_RULE_POSITIVE, NULL},
    {"periodic", CACHE | TLB, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"write_miss", L1 | L2, FTH_TEXT, FTH_RULE_CHOICE, write_misses},
    {"write_hit", L1, FTH_TEXT, FTH_RULE_CHOICE, write_hits},
    {"write_evicts", L1, FTH_TEXT, FTH_RULE_CHOICE, evicted_parts},
    {"store_merge_cycles", L1, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"partial_write", L2, FTH_TEXT, FTH_RULE_CHOICE, partial_writes},
    {"write_far_copy", L2, FTH_TEXT, FTH_RULE_CHOICE, far_copies},
    {"write_policy", L2, FTH_TEXT, FTH_RULE_CHOICE, write_policies},
    {"access_variants", L1 | L2, FTH_TEXTS, FTH_RULE_CHOICE, fth_variant_names + 1},
    {"access_fill_bytes", L1 | L2, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"access_priorities", L1 | L2, FTH_TEXTS, FTH_RULE_CHOICE, priorities},
    {"access_keeps", L1, FTH_TEXTS, FTH_RULE_CHOICE, keeps},
    {"overflow_pages", TLB, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"overflow_missed", TLB, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"addressing", L1, FTH_TEXT, FTH_RULE_CHOICE, addressings},
    {"tlb_miss_cycles", L1, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"spectrum_patterns", L1 | L2, FTH_TEXTS, FTH_RULE_CHOICE, patterns},
    {"spectrum_cycles", L1 | L2, FTH_NUMBERS, FTH_RULE_POSITIVE, NULL},
    {"latency_cycles", ELEMENTS & ~(TLB | REGISTERS), FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"latency_ns", ELEMENTS & ~(TLB | REGISTERS), FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"far_latency_cycles", L2 | CLUSTER | MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"latency_by_sm_cycles", L2, FTH_NUMBERS, FTH_RULE_POSITIVE, NULL},
    {"cold_latency_cycles", MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"cycles_per_instruction", ICACHE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"miss_penalty_cycles", TLB, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"per_sm", CACHE | ICACHE | SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"instances", CACHE | ICACHE | SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"sms_per_instance", CACHE | ICACHE | SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"disturbed_by_warp", CACHE, FTH_NUMBERS, FTH_RULE_FRACTION, NULL},
    {"shared_with", CACHE | ICACHE, FTH_TEXTS, FTH_RULE_ELEMENT, NULL},
    {"caches", L1, FTH_TEXTS, FTH_RULE_CHOICE, cached_spaces},
    {"partitions", L2, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"slices", L2, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"slice_bytes", L2, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"slice_masks", L2, FTH_NUMBERS, FTH_RULE_COUNT, NULL},
    {"slice_group_by_sm", L2, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"slice_latency_cycles", L2, FTH_NUMBERS, FTH_RULE_POSITIVE, NULL},
    {"home_mask", L2, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"partition_by_sm", L2, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"join_group_by_sm", L2, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"join_window_cycles", L2, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"join_extent", L2, FTH_TEXT, FTH_RULE_CHOICE, join_extents},
    {"prefetched_part", L2, FTH_NUMBER, FTH_RULE_FRACTION, NULL},
    {"max_persisting_bytes", L2, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"max_window_bytes", L2, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"banks", CACHE | SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"bank_bytes", SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"conflict_cycles", SHARED, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"max_block_bytes", SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"default_block_bytes", SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"reserved_block_bytes", SHARED, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"carveout_bytes", SHARED, FTH_NUMBERS, FTH_RULE_WHOLE, NULL},
    {"page_bytes", TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"entries", TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"reach_bytes", TLB, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"read_bytes_per_s", CACHE | SHARED | MEMORY, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"write_bytes_per_s", CACHE | SHARED | MEMORY, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"copy_bytes_per_s", CACHE | SHARED | MEMORY, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"peak_bytes_per_s", SHARED | MEMORY, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"page_table_bytes", MEMORY, FTH_NUMBER, FTH_RULE_COUNT, NULL},
    {"page_table_switch_cycles", MEMORY, FTH_NUMBER, FTH_RULE_NOT_NEGATIVE, NULL},
    {"refresh_period_ns", MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"refresh_cycles", MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"pause_period_ns", MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"pause_cycles", MEMORY, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"ecc", MEMORY, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"compression", MEMORY, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"remapped_rows_correctable", MEMORY, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"remapped_rows_uncorrectable", MEMORY, FTH_NUMBER, FTH_RULE_WHOLE, NULL},
    {"remap_pending", MEMORY, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"remap_failure", MEMORY, FTH_TEXT, FTH_RULE_CHOICE, yes_no},
    {"store_latency_cycles", ENGINE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"bytes_per_cycle", ENGINE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"store_bytes_per_cycle", ENGINE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
    {"copy_cycles", ENGINE, FTH_NUMBER, FTH_RULE_POSITIVE, NULL},
};

static const struct fth_element_def *find_section(const char *name)
{
    for (size_t i = 0; i < FTH_COUNT(sections); i++)
        if (strcmp(sections[i].name, name) == 0)
            return &sections[i];
    return NULL;
}

const struct fth_element_def *fth_schema_element_at(size_t index)
{
    return index < FTH_COUNT(sections) - NOT_ELEMENTS ? &sections[index + NOT_ELEMENTS] : NULL;
}

const char *fth_element_name(size_t index)
{
    const struct fth_element_def *element = fth_schema_element_at(index);
    return element ? element->name : NULL;
}

const struct fth_element_def *fth_schema_element(const char *name)
{
    const struct fth_element_def *element = find_section(name);
    return element && element->classes & (DEVICE | NOISE) ? NULL : element;
}

const struct fth_attribute_def *fth_schema_attribute_at(size_t index)
{
    return index < FTH_COUNT(attributes) ? &attributes[index] : NULL;
}

const struct fth_attribute_def *fth_schema_attribute(const char *section, const char *name)
{
    const struct fth_element_def *where = find_section(section);
    const struct fth_attribute_def *def;
    for (size_t i = 0; where && (def = fth_schema_attribute_at(i)); i++)
        if (def->classes & where->classes && strcmp(def->name, name) == 0)
            return def;
    return NULL;
}

const char *fth_schema_suggest_attribute(const char *section, const char *name)
{
    const char *names[FTH_COUNT(attributes)];
    size_t count = 0;
    const struct fth_element_def *where = find_section(section);
    const struct fth_attribute_def *def;
    for (size_t i = 0; where && (def = fth_schema_attribute_at(i)); i++)
        if (def->classes & where->classes)
            names[count++] = def->name;
    return fth_suggest(name, names, count);
}

const char *fth_schema_suggest_element(const char *name)
{
    const char *names[FTH_COUNT(sections)];
    size_t count = 0;
    for (size_t i = NOT_ELEMENTS; i < FTH_COUNT(sections); i++)
        names[count++] = sections[i].name;
    return fth_suggest(name, names, count);
}

static const char *const source_names[] = {
    [FTH_SOURCE_NONE] = NULL,
    [FTH_SOURCE_MEASURED] = "measured",
    [FTH_SOURCE_DRIVER] = "driver",
    [FTH_SOURCE_DERIVED] = "derived",
    [FTH_SOURCE_PUBLISHED] = "published",
    [FTH_SOURCE_SIMULATED] = "simulated",
};

const char *fth_source_name(enum fth_source source)
{
    return source_names[source];
}

bool fth_source_parse(const char *name, enum fth_source *source)
{
    for (size_t i = 1; i < FTH_COUNT(source_names); i++)
        if (strcmp(source_names[i], name) == 0) {
            *source = (enum fth_source)i;
            return true;
        }
    return false;
}

/* Parses the number of an address bit, 0 to 63, without sign or space, and moves *at behind it. */
static bool bit_number(const char **at, unsigned *bit)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    unsigned long number = strtoul(*at, &end, 10);
    if (number > 63)
        return false;
    *at = end;
    *bit = (unsigned)number;
    return true;
}

int fth_index_parse(const char *text, unsigned bits[64])
{
    if (strcmp(text, "mod") == 0 || strcmp(text, "xor") == 0 || strcmp(text, "prime") == 0)
        return 0;
    const char *at;
    unsigned bit;
    if (strncmp(text, "shift:", 6) == 0) {
        at = text + 6;
        return bit_number(&at, &bit) && *at == '\0' ? 0 : -1;
    }
    if (strncmp(text, "bits:[", 6) != 0)
        return -1;
    at = text + 6;
    int count = 0;
    uint64_t seen = 0;
    do {
        if (count == 64 || !bit_number(&at, &bit) || seen >> bit & 1)
            return -1;
        seen |= (uint64_t)1 << bit;
        bits[count++] = bit;
    } while (*at == ',' && at++);
    return strcmp(at, "]") == 0 ? count : -1;
}
