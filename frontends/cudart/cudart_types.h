/* Structures of the CUDA runtime API as programs pass them, and of the driver API: version 13,
 * Linux, 64 bits.
 *
 * Only the layout matters here; tests/programs/cuda_layout.c compares it with CUDA's headers
 * where they are installed. Enumerations of the API are passed as int. Handles of the runtime are
 * handles of the driver, as CUDA documents.
 */
#ifndef FTH_CUDART_TYPES_H
#define FTH_CUDART_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Handles of the driver. */
struct fth_cu_context;
struct fth_cu_library;
struct fth_cu_kernel;
struct fth_cu_function;
struct fth_cu_stream;
struct fth_cu_event;
struct fth_cu_array;
struct fth_cu_mipmap;
struct fth_cu_pool;
struct fth_cu_graph;
struct fth_cu_node;
struct fth_cu_exec;
struct fth_cu_object;

/* The stream that each thread has as its default stream in programs compiled for that. */
#define FTH_PER_THREAD_STREAM ((struct fth_cu_stream *)2)

/* Results of the runtime that this library tests or returns itself. The driver uses the same
 * numbers. */
enum {
    FTH_SUCCESS = 0,
    FTH_INVALID_VALUE = 1,
    FTH_OUT_OF_MEMORY = 2,
    FTH_INVALID_PITCH = 12,
    FTH_INVALID_SYMBOL = 13,
    FTH_INVALID_CHANNEL = 20,
    FTH_INVALID_DIRECTION = 21,
    FTH_MISSING_CONFIGURATION = 52,
    FTH_INVALID_DEVICE_FUNCTION = 98,
    FTH_NO_DEVICE = 100,
    FTH_INVALID_DEVICE = 101,
    FTH_INVALID_IMAGE = 200,
    FTH_NO_KERNEL_IMAGE = 209,
    FTH_PEER_UNSUPPORTED = 217,
    FTH_INVALID_HANDLE = 400,
    FTH_SYMBOL_NOT_FOUND = 500,
    FTH_PEER_NOT_ENABLED = 705,
    FTH_NOT_SUPPORTED = 801,
};

/* Direction of a copy. */
enum {
    FTH_HOST_TO_HOST = 0,
    FTH_HOST_TO_DEVICE = 1,
    FTH_DEVICE_TO_HOST = 2,
    FTH_DEVICE_TO_DEVICE = 3,
    FTH_BY_ADDRESS = 4,
};

struct fth_dim3 {
    unsigned x, y, z;
};

struct fth_extent {
    size_t width, height, depth;
};

struct fth_position {
    size_t x, y, z;
};

struct fth_pitched {
    void *pointer;
    size_t pitch, width, height;
};

struct fth_channel {
    int bits[4]; /* of x, y, z and w */
    int kind;
};

/* Kinds of channels. */
enum { FTH_CHANNEL_SIGNED = 0, FTH_CHANNEL_UNSIGNED = 1, FTH_CHANNEL_FLOAT = 2 };

struct fth_copy_3d {
    struct fth_cu_array *source_array;
    struct fth_position source_position;
    struct fth_pitched source;
    struct fth_cu_array *target_array;
    struct fth_position target_position;
    struct fth_pitched target;
    struct fth_extent extent;
    int kind;
};

struct fth_copy_3d_peer {
    struct fth_cu_array *source_array;
    struct fth_position source_position;
    struct fth_pitched source;
    int source_device;
    struct fth_cu_array *target_array;
    struct fth_position target_position;
    struct fth_pitched target;
    int target_device;
    struct fth_extent extent;
};

/* The driver's structures for sets in a graph, host nodes, pools, resource views, launch attributes
 * and locations have the same layout as the runtime's and are passed on as they are. */
struct fth_set_node {
    void *target;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};

struct fth_host_node {
    void (*function)(void *);
    void *data;
};

struct fth_location {
    int type;
    int id;
};

enum { FTH_LOCATION_DEVICE = 1 };

struct fth_access {
    struct fth_location location;
    int flags;
};

struct fth_pool_properties {
    int allocation_type, handle_types;
    struct fth_location location;
    void *security;
    size_t max_bytes;
    unsigned short usage;
    unsigned char reserved[54];
};

struct fth_alloc_node {
    struct fth_pool_properties pool;
    const struct fth_access *access;
    size_t access_count, bytes;
    void *address;
};

struct fth_resource {
    int type;
    union {
        struct fth_cu_array *array;
        struct fth_cu_mipmap *mipmap;
        struct {
            void *pointer;
            struct fth_channel channel;
            size_t bytes;
        } linear;
        struct {
            void *pointer;
            struct fth_channel channel;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags;
};

enum { FTH_RESOURCE_ARRAY, FTH_RESOURCE_MIPMAP, FTH_RESOURCE_LINEAR, FTH_RESOURCE_PITCHED };

struct fth_texture {
    int address_mode[3];
    int filter_mode, read_mode, srgb;
    float border[4];
    int normalized;
    unsigned max_anisotropy;
    int mipmap_filter_mode;
    float mipmap_bias, min_mipmap_level, max_mipmap_level;
    int no_trilinear_optimization, seamless_cubemap;
};

struct fth_resource_view {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
    unsigned reserved[16];
};

struct fth_pointer_attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

struct fth_function_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared_bytes;
    int carveout, cluster_required, cluster_width, cluster_height, cluster_depth;
    int cluster_policy, large_cluster_allowed;
    int reserved[16];
};

struct fth_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        uint64_t words[8];
        int cooperative;
        struct fth_dim3 cluster;
    } value;
};

struct fth_launch {
    struct fth_dim3 grid, block;
    size_t shared_bytes;
    struct fth_cu_stream *stream;
    struct fth_attribute *attributes;
    unsigned attribute_count;
};

struct fth_kernel_node {
    const void *function;
    struct fth_dim3 grid, block;
    unsigned shared_bytes;
    void **parameters, **extra;
};

struct fth_instantiation {
    unsigned long long flags;
    struct fth_cu_stream *upload_stream;
    struct fth_cu_node *failed_node;
    int result;
};

struct fth_update_result {
    int result;
    struct fth_cu_node *failed_node, *failed_source;
};

struct fth_edge {
    unsigned char from_port, to_port, type, reserved[5];
};

/* Parameters of a node of any type. */
struct fth_node {
    int type;
    int reserved[3];
    union {
        long long reserved[29];
        struct fth_kernel_node kernel;
        struct {
            int flags;
            int reserved[3];
            struct fth_copy_3d copy;
        } copy;
        struct fth_set_node set;
        struct fth_host_node host;
        struct {
            struct fth_cu_graph *graph;
            int ownership;
        } child;
        struct fth_cu_event *event;
        struct fth_alloc_node alloc;
        void *address;
    } of;
    long long reserved2;
};

enum {
    FTH_NODE_KERNEL,
    FTH_NODE_COPY,
    FTH_NODE_SET,
    FTH_NODE_HOST,
    FTH_NODE_GRAPH,
    FTH_NODE_EMPTY,
    FTH_NODE_WAIT,
    FTH_NODE_RECORD,
    FTH_NODE_ALLOC = 10,
    FTH_NODE_FREE = 11,
};

struct fth_device_properties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_node_mask;
    size_t memory_bytes, shared_per_block;
    int registers_per_block, warp_size;
    size_t max_pitch;
    int max_threads_per_block, max_block[3], max_grid[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int sm_count, integrated, can_map_host;
    int texture_1d, texture_1d_mipmap, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3];
    int texture_2d_gather[2], texture_3d[3], texture_3d_alternate[3], texture_cubemap;
    int texture_1d_layered[2], texture_2d_layered[3], texture_cubemap_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3];
    int surface_cubemap, surface_cubemap_layered[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines;
    int unified_addressing, bus_bits, l2_bytes, max_persisting_l2_bytes, max_threads_per_sm;
    int stream_priorities, global_l1, local_l1;
    size_t shared_per_sm;
    int registers_per_sm, managed_memory, multi_gpu_board, board_group, host_atomics;
    int pageable_access, concurrent_managed, preemption, host_pointer_usable, cooperative;
    size_t shared_per_block_optin;
    int host_page_tables, direct_managed, max_blocks_per_sm, max_window_bytes;
    size_t reserved_shared_per_block;
    int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, pools;
    int rdma, rdma_flush_options, rdma_ordering, pool_handle_types, deferred_arrays;
    int ipc_events, clusters, unified_functions, numa_config, numa_id, mps, host_numa_id;
    unsigned gpu_pci_device, gpu_pci_subsystem;
    int multinode_ipc;
    int reserved[56];
};

/* ---- structures of the driver ---- */

/* Types of memory in a copy. */
enum { FTH_CU_HOST = 1, FTH_CU_DEVICE = 2, FTH_CU_ARRAY = 3, FTH_CU_UNIFIED = 4 };

struct fth_cu_copy_2d {
    size_t source_x, source_y;
    int source_type;
    const void *source_host;
    uint64_t source_device;
    const struct fth_cu_array *source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    int target_type;
    void *target_host;
    uint64_t target_device;
    struct fth_cu_array *target_array;
    size_t target_pitch;
    size_t width, height;
};

struct fth_cu_copy_3d {
    size_t source_x, source_y, source_z, source_level;
    int source_type;
    const void *source_host;
    uint64_t source_device;
    struct fth_cu_array *source_array;
    void *reserved0;
    size_t source_pitch, source_height;
    size_t target_x, target_y, target_z, target_level;
    int target_type;
    void *target_host;
    uint64_t target_device;
    struct fth_cu_array *target_array;
    void *reserved1;
    size_t target_pitch, target_height;
    size_t width, height, depth;
};

struct fth_cu_array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

/* Formats of the elements of an array. */
enum {
    FTH_CU_U8 = 0x01,
    FTH_CU_U16 = 0x02,
    FTH_CU_U32 = 0x03,
    FTH_CU_S8 = 0x08,
    FTH_CU_S16 = 0x09,
    FTH_CU_S32 = 0x0a,
    FTH_CU_F16 = 0x10,
    FTH_CU_F32 = 0x20,
    FTH_CU_UNORM8X1 = 0xc0,
    FTH_CU_SNORM16X4 = 0xcb,
};

struct fth_cu_resource {
    int type;
    union {
        struct fth_cu_array *array;
        struct fth_cu_mipmap *mipmap;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    } of;
    unsigned flags;
};

struct fth_cu_texture {
    int address_mode[3];
    int filter_mode;
    unsigned flags, max_anisotropy;
    int mipmap_filter_mode;
    float mipmap_bias, min_mipmap_level, max_mipmap_level;
    float border[4];
    int reserved[12];
};

enum {
    FTH_CU_READ_AS_INTEGER = 0x01,
    FTH_CU_NORMALIZED = 0x02,
    FTH_CU_SRGB = 0x10,
    FTH_CU_NO_TRILINEAR_OPTIMIZATION = 0x20,
    FTH_CU_SEAMLESS_CUBEMAP = 0x40,
};

struct fth_cu_launch {
    struct fth_dim3 grid, block;
    unsigned shared_bytes;
    struct fth_cu_stream *stream;
    struct fth_attribute *attributes;
    unsigned attribute_count;
};

struct fth_cu_kernel_node {
    struct fth_cu_function *function;
    struct fth_dim3 grid, block;
    unsigned shared_bytes;
    void **parameters, **extra;
    struct fth_cu_kernel *kernel;
    struct fth_cu_context *context;
};

/* Attributes of a pointer. */
enum {
    FTH_CU_POINTER_TYPE = 2,
    FTH_CU_POINTER_DEVICE = 3,
    FTH_CU_POINTER_HOST = 4,
    FTH_CU_POINTER_MANAGED = 8,
    FTH_CU_POINTER_ORDINAL = 9,
};

#endif
