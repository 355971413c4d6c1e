/* The properties of a device. Most of them are attributes that the driver reports one at a time. */
#include "cudart.h"

#include <string.h>

struct property {
    size_t offset;  /* in struct fth_device_properties */
    int attribute;  /* of the driver */
    unsigned bytes; /* of the property: an int or a size_t */
};

#define PROPERTY(field, attribute)                                                                 \
    {                                                                                              \
        offsetof(struct fth_device_properties, field), attribute,                                  \
            sizeof(((struct fth_device_properties *)0)->field)                                     \
    }

static const struct property properties_of_driver[] = {
    PROPERTY(max_threads_per_block, 1),
    PROPERTY(max_block[0], 2),
    PROPERTY(max_block[1], 3),
    PROPERTY(max_block[2], 4),
    PROPERTY(max_grid[0], 5),
    PROPERTY(max_grid[1], 6),
    PROPERTY(max_grid[2], 7),
    PROPERTY(shared_per_block, 8),
    PROPERTY(constant_bytes, 9),
    PROPERTY(warp_size, 10),
    PROPERTY(max_pitch, 11),
    PROPERTY(registers_per_block, 12),
    PROPERTY(texture_alignment, 14),
    PROPERTY(sm_count, 16),
    PROPERTY(integrated, 18),
    PROPERTY(can_map_host, 19),
    PROPERTY(texture_1d, 21),
    PROPERTY(texture_2d[0], 22),
    PROPERTY(texture_2d[1], 23),
    PROPERTY(texture_3d[0], 24),
    PROPERTY(texture_3d[1], 25),
    PROPERTY(texture_3d[2], 26),
    PROPERTY(texture_2d_layered[0], 27),
    PROPERTY(texture_2d_layered[1], 28),
    PROPERTY(texture_2d_layered[2], 29),
    PROPERTY(surface_alignment, 30),
    PROPERTY(concurrent_kernels, 31),
    PROPERTY(ecc, 32),
    PROPERTY(pci_bus, 33),
    PROPERTY(pci_device, 34),
    PROPERTY(tcc, 35),
    PROPERTY(bus_bits, 37),
    PROPERTY(l2_bytes, 38),
    PROPERTY(max_threads_per_sm, 39),
    PROPERTY(copy_engines, 40),
    PROPERTY(unified_addressing, 41),
    PROPERTY(texture_1d_layered[0], 42),
    PROPERTY(texture_1d_layered[1], 43),
    PROPERTY(texture_2d_gather[0], 45),
    PROPERTY(texture_2d_gather[1], 46),
    PROPERTY(texture_3d_alternate[0], 47),
    PROPERTY(texture_3d_alternate[1], 48),
    PROPERTY(texture_3d_alternate[2], 49),
    PROPERTY(pci_domain, 50),
    PROPERTY(texture_pitch_alignment, 51),
    PROPERTY(texture_cubemap, 52),
    PROPERTY(texture_cubemap_layered[0], 53),
    PROPERTY(texture_cubemap_layered[1], 54),
    PROPERTY(surface_1d, 55),
    PROPERTY(surface_2d[0], 56),
    PROPERTY(surface_2d[1], 57),
    PROPERTY(surface_3d[0], 58),
    PROPERTY(surface_3d[1], 59),
    PROPERTY(surface_3d[2], 60),
    PROPERTY(surface_1d_layered[0], 61),
    PROPERTY(surface_1d_layered[1], 62),
    PROPERTY(surface_2d_layered[0], 63),
    PROPERTY(surface_2d_layered[1], 64),
    PROPERTY(surface_2d_layered[2], 65),
    PROPERTY(surface_cubemap, 66),
    PROPERTY(surface_cubemap_layered[0], 67),
    PROPERTY(surface_cubemap_layered[1], 68),
    PROPERTY(texture_2d_linear[0], 70),
    PROPERTY(texture_2d_linear[1], 71),
    PROPERTY(texture_2d_linear[2], 72),
    PROPERTY(texture_2d_mipmap[0], 73),
    PROPERTY(texture_2d_mipmap[1], 74),
    PROPERTY(major, 75),
    PROPERTY(minor, 76),
    PROPERTY(texture_1d_mipmap, 77),
    PROPERTY(stream_priorities, 78),
    PROPERTY(global_l1, 79),
    PROPERTY(local_l1, 80),
    PROPERTY(shared_per_sm, 81),
    PROPERTY(registers_per_sm, 82),
    PROPERTY(managed_memory, 83),
    PROPERTY(multi_gpu_board, 84),
    PROPERTY(board_group, 85),
    PROPERTY(host_atomics, 86),
    PROPERTY(pageable_access, 88),
    PROPERTY(concurrent_managed, 89),
    PROPERTY(preemption, 90),
    PROPERTY(host_pointer_usable, 91),
    PROPERTY(cooperative, 95),
    PROPERTY(shared_per_block_optin, 97),
    PROPERTY(host_register, 99),
    PROPERTY(host_page_tables, 100),
    PROPERTY(direct_managed, 101),
    PROPERTY(max_blocks_per_sm, 106),
    PROPERTY(max_persisting_l2_bytes, 108),
    PROPERTY(max_window_bytes, 109),
    PROPERTY(reserved_shared_per_block, 111),
    PROPERTY(sparse_arrays, 112),
    PROPERTY(host_register_read_only, 113),
    PROPERTY(timeline_semaphores, 114),
    PROPERTY(pools, 115),
    PROPERTY(rdma, 116),
    PROPERTY(rdma_flush_options, 117),
    PROPERTY(rdma_ordering, 118),
    PROPERTY(pool_handle_types, 119),
    PROPERTY(clusters, 120),
    PROPERTY(deferred_arrays, 121),
    PROPERTY(ipc_events, 125),
    PROPERTY(unified_functions, 129),
    PROPERTY(numa_config, 130),
    PROPERTY(numa_id, 131),
    PROPERTY(mps, 133),
    PROPERTY(host_numa_id, 134),
    PROPERTY(gpu_pci_device, 139),
    PROPERTY(gpu_pci_subsystem, 140),
    PROPERTY(multinode_ipc, 143),
};

static void store(struct fth_device_properties *properties, const struct property *property,
                  int value)
{
    char *place = (char *)properties + property->offset;
    if (property->bytes == sizeof(size_t)) {
        size_t wide = value > 0 ? (size_t)value : 0;
        memcpy(place, &wide, sizeof(wide));
    } else {
        memcpy(place, &value, sizeof(value));
    }
}

FTH_API int cudaGetDeviceProperties(struct fth_device_properties *properties, int device)
{
    int handle = 0, error = fth_start();
    if (!error)
        error = properties ? cuDeviceGet(&handle, device) : FTH_INVALID_VALUE;
    if (error)
        return fth_leave(error);
    memset(properties, 0, sizeof(*properties));
    error = cuDeviceGetName(properties->name, sizeof(properties->name), handle);
    if (!error)
        error = cuDeviceTotalMem_v2(&properties->memory_bytes, handle);
    if (!error)
        error = cuDeviceGetUuid_v2(properties->uuid, handle);
    /* A driver does not have to know every attribute; a property that it does not know is 0. */
    for (size_t i = 0; i < sizeof(properties_of_driver) / sizeof(*properties_of_driver); i++) {
        int value = 0;
        if (!cuDeviceGetAttribute(&value, properties_of_driver[i].attribute, handle))
            store(properties, &properties_of_driver[i], value);
    }
    return fth_leave(error);
}
