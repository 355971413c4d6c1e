/* Compares the structures of frontends/cudart with those of CUDA's headers: sizes and offsets. It
 * is only compiled. */
#include "cudart_types.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours)
#define FIELD(ours, our_field, theirs, their_field)                                                \
    _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field),              \
                   #ours "." #our_field)

SIZE(fth_dim3, dim3);
FIELD(fth_dim3, x, dim3, x);
FIELD(fth_dim3, y, dim3, y);
FIELD(fth_dim3, z, dim3, z);

SIZE(fth_extent, struct cudaExtent);
FIELD(fth_extent, width, struct cudaExtent, width);
FIELD(fth_extent, height, struct cudaExtent, height);
FIELD(fth_extent, depth, struct cudaExtent, depth);

SIZE(fth_position, struct cudaPos);
FIELD(fth_position, x, struct cudaPos, x);
FIELD(fth_position, y, struct cudaPos, y);
FIELD(fth_position, z, struct cudaPos, z);

SIZE(fth_pitched, struct cudaPitchedPtr);
FIELD(fth_pitched, pointer, struct cudaPitchedPtr, ptr);
FIELD(fth_pitched, pitch, struct cudaPitchedPtr, pitch);
FIELD(fth_pitched, width, struct cudaPitchedPtr, xsize);
FIELD(fth_pitched, height, struct cudaPitchedPtr, ysize);

SIZE(fth_channel, struct cudaChannelFormatDesc);
FIELD(fth_channel, bits, struct cudaChannelFormatDesc, x);
FIELD(fth_channel, kind, struct cudaChannelFormatDesc, f);

SIZE(fth_copy_3d, struct cudaMemcpy3DParms);
FIELD(fth_copy_3d, source_array, struct cudaMemcpy3DParms, srcArray);
FIELD(fth_copy_3d, source_position, struct cudaMemcpy3DParms, srcPos);
FIELD(fth_copy_3d, source, struct cudaMemcpy3DParms, srcPtr);
FIELD(fth_copy_3d, target_array, struct cudaMemcpy3DParms, dstArray);
FIELD(fth_copy_3d, target_position, struct cudaMemcpy3DParms, dstPos);
FIELD(fth_copy_3d, target, struct cudaMemcpy3DParms, dstPtr);
FIELD(fth_copy_3d, extent, struct cudaMemcpy3DParms, extent);
FIELD(fth_copy_3d, kind, struct cudaMemcpy3DParms, kind);

SIZE(fth_copy_3d_peer, struct cudaMemcpy3DPeerParms);
FIELD(fth_copy_3d_peer, source_array, struct cudaMemcpy3DPeerParms, srcArray);
FIELD(fth_copy_3d_peer, source_position, struct cudaMemcpy3DPeerParms, srcPos);
FIELD(fth_copy_3d_peer, source, struct cudaMemcpy3DPeerParms, srcPtr);
FIELD(fth_copy_3d_peer, source_device, struct cudaMemcpy3DPeerParms, srcDevice);
FIELD(fth_copy_3d_peer, target_array, struct cudaMemcpy3DPeerParms, dstArray);
FIELD(fth_copy_3d_peer, target_position, struct cudaMemcpy3DPeerParms, dstPos);
FIELD(fth_copy_3d_peer, target, struct cudaMemcpy3DPeerParms, dstPtr);
FIELD(fth_copy_3d_peer, target_device, struct cudaMemcpy3DPeerParms, dstDevice);
FIELD(fth_copy_3d_peer, extent, struct cudaMemcpy3DPeerParms, extent);

SIZE(fth_set_node, struct cudaMemsetParams);
FIELD(fth_set_node, target, struct cudaMemsetParams, dst);
FIELD(fth_set_node, pitch, struct cudaMemsetParams, pitch);
FIELD(fth_set_node, value, struct cudaMemsetParams, value);
FIELD(fth_set_node, element_bytes, struct cudaMemsetParams, elementSize);
FIELD(fth_set_node, width, struct cudaMemsetParams, width);
FIELD(fth_set_node, height, struct cudaMemsetParams, height);

SIZE(fth_set_node, CUDA_MEMSET_NODE_PARAMS);
FIELD(fth_set_node, target, CUDA_MEMSET_NODE_PARAMS, dst);
FIELD(fth_set_node, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
FIELD(fth_set_node, value, CUDA_MEMSET_NODE_PARAMS, value);
FIELD(fth_set_node, element_bytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
FIELD(fth_set_node, width, CUDA_MEMSET_NODE_PARAMS, width);
FIELD(fth_set_node, height, CUDA_MEMSET_NODE_PARAMS, height);

SIZE(fth_host_node, struct cudaHostNodeParams);
FIELD(fth_host_node, function, struct cudaHostNodeParams, fn);
FIELD(fth_host_node, data, struct cudaHostNodeParams, userData);

SIZE(fth_host_node, CUDA_HOST_NODE_PARAMS);
FIELD(fth_host_node, function, CUDA_HOST_NODE_PARAMS, fn);
FIELD(fth_host_node, data, CUDA_HOST_NODE_PARAMS, userData);

SIZE(fth_location, struct cudaMemLocation);
FIELD(fth_location, type, struct cudaMemLocation, type);
FIELD(fth_location, id, struct cudaMemLocation, id);

SIZE(fth_location, CUmemLocation);
FIELD(fth_location, type, CUmemLocation, type);
FIELD(fth_location, id, CUmemLocation, id);

SIZE(fth_access, struct cudaMemAccessDesc);
FIELD(fth_access, location, struct cudaMemAccessDesc, location);
FIELD(fth_access, flags, struct cudaMemAccessDesc, flags);

SIZE(fth_access, CUmemAccessDesc);
FIELD(fth_access, location, CUmemAccessDesc, location);
FIELD(fth_access, flags, CUmemAccessDesc, flags);

SIZE(fth_pool_properties, struct cudaMemPoolProps);
FIELD(fth_pool_properties, allocation_type, struct cudaMemPoolProps, allocType);
FIELD(fth_pool_properties, handle_types, struct cudaMemPoolProps, handleTypes);
FIELD(fth_pool_properties, location, struct cudaMemPoolProps, location);
FIELD(fth_pool_properties, max_bytes, struct cudaMemPoolProps, maxSize);
FIELD(fth_pool_properties, usage, struct cudaMemPoolProps, usage);

SIZE(fth_pool_properties, CUmemPoolProps);
FIELD(fth_pool_properties, allocation_type, CUmemPoolProps, allocType);
FIELD(fth_pool_properties, handle_types, CUmemPoolProps, handleTypes);
FIELD(fth_pool_properties, location, CUmemPoolProps, location);
FIELD(fth_pool_properties, max_bytes, CUmemPoolProps, maxSize);
FIELD(fth_pool_properties, usage, CUmemPoolProps, usage);

SIZE(fth_alloc_node, struct cudaMemAllocNodeParams);
FIELD(fth_alloc_node, pool, struct cudaMemAllocNodeParams, poolProps);
FIELD(fth_alloc_node, access, struct cudaMemAllocNodeParams, accessDescs);
FIELD(fth_alloc_node, access_count, struct cudaMemAllocNodeParams, accessDescCount);
FIELD(fth_alloc_node, bytes, struct cudaMemAllocNodeParams, bytesize);
FIELD(fth_alloc_node, address, struct cudaMemAllocNodeParams, dptr);

SIZE(fth_alloc_node, CUDA_MEM_ALLOC_NODE_PARAMS);
FIELD(fth_alloc_node, pool, CUDA_MEM_ALLOC_NODE_PARAMS, poolProps);
FIELD(fth_alloc_node, access, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
FIELD(fth_alloc_node, access_count, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
FIELD(fth_alloc_node, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
FIELD(fth_alloc_node, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);

SIZE(fth_resource, struct cudaResourceDesc);
FIELD(fth_resource, type, struct cudaResourceDesc, resType);
FIELD(fth_resource, of, struct cudaResourceDesc, res);
FIELD(fth_resource, of.linear.pointer, struct cudaResourceDesc, res.linear.devPtr);
FIELD(fth_resource, of.linear.channel, struct cudaResourceDesc, res.linear.desc);
FIELD(fth_resource, of.linear.bytes, struct cudaResourceDesc, res.linear.sizeInBytes);
FIELD(fth_resource, of.pitched.channel, struct cudaResourceDesc, res.pitch2D.desc);
FIELD(fth_resource, of.pitched.width, struct cudaResourceDesc, res.pitch2D.width);
FIELD(fth_resource, of.pitched.height, struct cudaResourceDesc, res.pitch2D.height);
FIELD(fth_resource, of.pitched.pitch, struct cudaResourceDesc, res.pitch2D.pitchInBytes);
FIELD(fth_resource, flags, struct cudaResourceDesc, flags);

SIZE(fth_texture, struct cudaTextureDesc);
FIELD(fth_texture, address_mode, struct cudaTextureDesc, addressMode);
FIELD(fth_texture, filter_mode, struct cudaTextureDesc, filterMode);
FIELD(fth_texture, read_mode, struct cudaTextureDesc, readMode);
FIELD(fth_texture, srgb, struct cudaTextureDesc, sRGB);
FIELD(fth_texture, border, struct cudaTextureDesc, borderColor);
FIELD(fth_texture, normalized, struct cudaTextureDesc, normalizedCoords);
FIELD(fth_texture, max_anisotropy, struct cudaTextureDesc, maxAnisotropy);
FIELD(fth_texture, mipmap_filter_mode, struct cudaTextureDesc, mipmapFilterMode);
FIELD(fth_texture, mipmap_bias, struct cudaTextureDesc, mipmapLevelBias);
FIELD(fth_texture, min_mipmap_level, struct cudaTextureDesc, minMipmapLevelClamp);
FIELD(fth_texture, max_mipmap_level, struct cudaTextureDesc, maxMipmapLevelClamp);
FIELD(fth_texture, no_trilinear_optimization, struct cudaTextureDesc, disableTrilinearOptimization);
FIELD(fth_texture, seamless_cubemap, struct cudaTextureDesc, seamlessCubemap);

SIZE(fth_resource_view, struct cudaResourceViewDesc);
FIELD(fth_resource_view, format, struct cudaResourceViewDesc, format);
FIELD(fth_resource_view, width, struct cudaResourceViewDesc, width);
FIELD(fth_resource_view, height, struct cudaResourceViewDesc, height);
FIELD(fth_resource_view, depth, struct cudaResourceViewDesc, depth);
FIELD(fth_resource_view, first_level, struct cudaResourceViewDesc, firstMipmapLevel);
FIELD(fth_resource_view, last_level, struct cudaResourceViewDesc, lastMipmapLevel);
FIELD(fth_resource_view, first_layer, struct cudaResourceViewDesc, firstLayer);
FIELD(fth_resource_view, last_layer, struct cudaResourceViewDesc, lastLayer);

SIZE(fth_resource_view, CUDA_RESOURCE_VIEW_DESC);
FIELD(fth_resource_view, format, CUDA_RESOURCE_VIEW_DESC, format);
FIELD(fth_resource_view, width, CUDA_RESOURCE_VIEW_DESC, width);
FIELD(fth_resource_view, height, CUDA_RESOURCE_VIEW_DESC, height);
FIELD(fth_resource_view, depth, CUDA_RESOURCE_VIEW_DESC, depth);
FIELD(fth_resource_view, first_level, CUDA_RESOURCE_VIEW_DESC, firstMipmapLevel);
FIELD(fth_resource_view, last_level, CUDA_RESOURCE_VIEW_DESC, lastMipmapLevel);
FIELD(fth_resource_view, first_layer, CUDA_RESOURCE_VIEW_DESC, firstLayer);
FIELD(fth_resource_view, last_layer, CUDA_RESOURCE_VIEW_DESC, lastLayer);

SIZE(fth_pointer_attributes, struct cudaPointerAttributes);
FIELD(fth_pointer_attributes, type, struct cudaPointerAttributes, type);
FIELD(fth_pointer_attributes, device, struct cudaPointerAttributes, device);
FIELD(fth_pointer_attributes, device_pointer, struct cudaPointerAttributes, devicePointer);
FIELD(fth_pointer_attributes, host_pointer, struct cudaPointerAttributes, hostPointer);

SIZE(fth_function_attributes, struct cudaFuncAttributes);
FIELD(fth_function_attributes, shared_bytes, struct cudaFuncAttributes, sharedSizeBytes);
FIELD(fth_function_attributes, constant_bytes, struct cudaFuncAttributes, constSizeBytes);
FIELD(fth_function_attributes, local_bytes, struct cudaFuncAttributes, localSizeBytes);
FIELD(fth_function_attributes, max_threads, struct cudaFuncAttributes, maxThreadsPerBlock);
FIELD(fth_function_attributes, registers, struct cudaFuncAttributes, numRegs);
FIELD(fth_function_attributes, ptx_version, struct cudaFuncAttributes, ptxVersion);
FIELD(fth_function_attributes, binary_version, struct cudaFuncAttributes, binaryVersion);
FIELD(fth_function_attributes, cache_mode, struct cudaFuncAttributes, cacheModeCA);
FIELD(fth_function_attributes, max_dynamic_shared_bytes, struct cudaFuncAttributes,
      maxDynamicSharedSizeBytes);
FIELD(fth_function_attributes, carveout, struct cudaFuncAttributes, preferredShmemCarveout);
FIELD(fth_function_attributes, cluster_required, struct cudaFuncAttributes, clusterDimMustBeSet);
FIELD(fth_function_attributes, cluster_width, struct cudaFuncAttributes, requiredClusterWidth);
FIELD(fth_function_attributes, cluster_height, struct cudaFuncAttributes, requiredClusterHeight);
FIELD(fth_function_attributes, cluster_depth, struct cudaFuncAttributes, requiredClusterDepth);
FIELD(fth_function_attributes, cluster_policy, struct cudaFuncAttributes,
      clusterSchedulingPolicyPreference);
FIELD(fth_function_attributes, large_cluster_allowed, struct cudaFuncAttributes,
      nonPortableClusterSizeAllowed);

SIZE(fth_attribute, cudaLaunchAttribute);
FIELD(fth_attribute, id, cudaLaunchAttribute, id);
FIELD(fth_attribute, value, cudaLaunchAttribute, val);
FIELD(fth_attribute, value.cluster, cudaLaunchAttribute, val.clusterDim);

SIZE(fth_attribute, CUlaunchAttribute);
FIELD(fth_attribute, id, CUlaunchAttribute, id);
FIELD(fth_attribute, value, CUlaunchAttribute, value);
FIELD(fth_attribute, value.cluster, CUlaunchAttribute, value.clusterDim);

SIZE(fth_launch, cudaLaunchConfig_t);
FIELD(fth_launch, grid, cudaLaunchConfig_t, gridDim);
FIELD(fth_launch, block, cudaLaunchConfig_t, blockDim);
FIELD(fth_launch, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
FIELD(fth_launch, stream, cudaLaunchConfig_t, stream);
FIELD(fth_launch, attributes, cudaLaunchConfig_t, attrs);
FIELD(fth_launch, attribute_count, cudaLaunchConfig_t, numAttrs);

SIZE(fth_kernel_node, struct cudaKernelNodeParams);
FIELD(fth_kernel_node, function, struct cudaKernelNodeParams, func);
FIELD(fth_kernel_node, grid, struct cudaKernelNodeParams, gridDim);
FIELD(fth_kernel_node, block, struct cudaKernelNodeParams, blockDim);
FIELD(fth_kernel_node, shared_bytes, struct cudaKernelNodeParams, sharedMemBytes);
FIELD(fth_kernel_node, parameters, struct cudaKernelNodeParams, kernelParams);
FIELD(fth_kernel_node, extra, struct cudaKernelNodeParams, extra);

SIZE(fth_instantiation, cudaGraphInstantiateParams);
FIELD(fth_instantiation, flags, cudaGraphInstantiateParams, flags);
FIELD(fth_instantiation, upload_stream, cudaGraphInstantiateParams, uploadStream);
FIELD(fth_instantiation, failed_node, cudaGraphInstantiateParams, errNode_out);
FIELD(fth_instantiation, result, cudaGraphInstantiateParams, result_out);

SIZE(fth_instantiation, CUDA_GRAPH_INSTANTIATE_PARAMS);
FIELD(fth_instantiation, flags, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
FIELD(fth_instantiation, upload_stream, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
FIELD(fth_instantiation, failed_node, CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
FIELD(fth_instantiation, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);

SIZE(fth_update_result, cudaGraphExecUpdateResultInfo);
FIELD(fth_update_result, result, cudaGraphExecUpdateResultInfo, result);
FIELD(fth_update_result, failed_node, cudaGraphExecUpdateResultInfo, errorNode);
FIELD(fth_update_result, failed_source, cudaGraphExecUpdateResultInfo, errorFromNode);

SIZE(fth_update_result, CUgraphExecUpdateResultInfo);
FIELD(fth_update_result, result, CUgraphExecUpdateResultInfo, result);
FIELD(fth_update_result, failed_node, CUgraphExecUpdateResultInfo, errorNode);
FIELD(fth_update_result, failed_source, CUgraphExecUpdateResultInfo, errorFromNode);

SIZE(fth_edge, cudaGraphEdgeData);
FIELD(fth_edge, from_port, cudaGraphEdgeData, from_port);
FIELD(fth_edge, to_port, cudaGraphEdgeData, to_port);
FIELD(fth_edge, type, cudaGraphEdgeData, type);

SIZE(fth_edge, CUgraphEdgeData);
FIELD(fth_edge, from_port, CUgraphEdgeData, from_port);
FIELD(fth_edge, to_port, CUgraphEdgeData, to_port);
FIELD(fth_edge, type, CUgraphEdgeData, type);

SIZE(fth_node, struct cudaGraphNodeParams);
FIELD(fth_node, type, struct cudaGraphNodeParams, type);
FIELD(fth_node, of.kernel, struct cudaGraphNodeParams, kernel);
FIELD(fth_node, of.copy.copy, struct cudaGraphNodeParams, memcpy.copyParams);
FIELD(fth_node, of.set, struct cudaGraphNodeParams, memset);
FIELD(fth_node, of.host, struct cudaGraphNodeParams, host);
FIELD(fth_node, of.child.graph, struct cudaGraphNodeParams, graph.graph);
FIELD(fth_node, of.event, struct cudaGraphNodeParams, eventWait);
FIELD(fth_node, of.alloc, struct cudaGraphNodeParams, alloc);
FIELD(fth_node, of.address, struct cudaGraphNodeParams, free);

SIZE(fth_device_properties, struct cudaDeviceProp);
FIELD(fth_device_properties, name, struct cudaDeviceProp, name);
FIELD(fth_device_properties, uuid, struct cudaDeviceProp, uuid);
FIELD(fth_device_properties, luid, struct cudaDeviceProp, luid);
FIELD(fth_device_properties, luid_node_mask, struct cudaDeviceProp, luidDeviceNodeMask);
FIELD(fth_device_properties, memory_bytes, struct cudaDeviceProp, totalGlobalMem);
FIELD(fth_device_properties, shared_per_block, struct cudaDeviceProp, sharedMemPerBlock);
FIELD(fth_device_properties, registers_per_block, struct cudaDeviceProp, regsPerBlock);
FIELD(fth_device_properties, warp_size, struct cudaDeviceProp, warpSize);
FIELD(fth_device_properties, max_pitch, struct cudaDeviceProp, memPitch);
FIELD(fth_device_properties, max_threads_per_block, struct cudaDeviceProp, maxThreadsPerBlock);
FIELD(fth_device_properties, max_block, struct cudaDeviceProp, maxThreadsDim);
FIELD(fth_device_properties, max_grid, struct cudaDeviceProp, maxGridSize);
FIELD(fth_device_properties, constant_bytes, struct cudaDeviceProp, totalConstMem);
FIELD(fth_device_properties, major, struct cudaDeviceProp, major);
FIELD(fth_device_properties, minor, struct cudaDeviceProp, minor);
FIELD(fth_device_properties, texture_alignment, struct cudaDeviceProp, textureAlignment);
FIELD(fth_device_properties, texture_pitch_alignment, struct cudaDeviceProp, texturePitchAlignment);
FIELD(fth_device_properties, sm_count, struct cudaDeviceProp, multiProcessorCount);
FIELD(fth_device_properties, integrated, struct cudaDeviceProp, integrated);
FIELD(fth_device_properties, can_map_host, struct cudaDeviceProp, canMapHostMemory);
FIELD(fth_device_properties, texture_1d, struct cudaDeviceProp, maxTexture1D);
FIELD(fth_device_properties, texture_1d_mipmap, struct cudaDeviceProp, maxTexture1DMipmap);
FIELD(fth_device_properties, texture_2d, struct cudaDeviceProp, maxTexture2D);
FIELD(fth_device_properties, texture_2d_mipmap, struct cudaDeviceProp, maxTexture2DMipmap);
FIELD(fth_device_properties, texture_2d_linear, struct cudaDeviceProp, maxTexture2DLinear);
FIELD(fth_device_properties, texture_2d_gather, struct cudaDeviceProp, maxTexture2DGather);
FIELD(fth_device_properties, texture_3d, struct cudaDeviceProp, maxTexture3D);
FIELD(fth_device_properties, texture_3d_alternate, struct cudaDeviceProp, maxTexture3DAlt);
FIELD(fth_device_properties, texture_cubemap, struct cudaDeviceProp, maxTextureCubemap);
FIELD(fth_device_properties, texture_1d_layered, struct cudaDeviceProp, maxTexture1DLayered);
FIELD(fth_device_properties, texture_2d_layered, struct cudaDeviceProp, maxTexture2DLayered);
FIELD(fth_device_properties, texture_cubemap_layered, struct cudaDeviceProp,
      maxTextureCubemapLayered);
FIELD(fth_device_properties, surface_1d, struct cudaDeviceProp, maxSurface1D);
FIELD(fth_device_properties, surface_2d, struct cudaDeviceProp, maxSurface2D);
FIELD(fth_device_properties, surface_3d, struct cudaDeviceProp, maxSurface3D);
FIELD(fth_device_properties, surface_1d_layered, struct cudaDeviceProp, maxSurface1DLayered);
FIELD(fth_device_properties, surface_2d_layered, struct cudaDeviceProp, maxSurface2DLayered);
FIELD(fth_device_properties, surface_cubemap, struct cudaDeviceProp, maxSurfaceCubemap);
FIELD(fth_device_properties, surface_cubemap_layered, struct cudaDeviceProp,
      maxSurfaceCubemapLayered);
FIELD(fth_device_properties, surface_alignment, struct cudaDeviceProp, surfaceAlignment);
FIELD(fth_device_properties, concurrent_kernels, struct cudaDeviceProp, concurrentKernels);
FIELD(fth_device_properties, ecc, struct cudaDeviceProp, ECCEnabled);
FIELD(fth_device_properties, pci_bus, struct cudaDeviceProp, pciBusID);
FIELD(fth_device_properties, pci_device, struct cudaDeviceProp, pciDeviceID);
FIELD(fth_device_properties, pci_domain, struct cudaDeviceProp, pciDomainID);
FIELD(fth_device_properties, tcc, struct cudaDeviceProp, tccDriver);
FIELD(fth_device_properties, copy_engines, struct cudaDeviceProp, asyncEngineCount);
FIELD(fth_device_properties, unified_addressing, struct cudaDeviceProp, unifiedAddressing);
FIELD(fth_device_properties, bus_bits, struct cudaDeviceProp, memoryBusWidth);
FIELD(fth_device_properties, l2_bytes, struct cudaDeviceProp, l2CacheSize);
FIELD(fth_device_properties, max_persisting_l2_bytes, struct cudaDeviceProp,
      persistingL2CacheMaxSize);
FIELD(fth_device_properties, max_threads_per_sm, struct cudaDeviceProp,
      maxThreadsPerMultiProcessor);
FIELD(fth_device_properties, stream_priorities, struct cudaDeviceProp, streamPrioritiesSupported);
FIELD(fth_device_properties, global_l1, struct cudaDeviceProp, globalL1CacheSupported);
FIELD(fth_device_properties, local_l1, struct cudaDeviceProp, localL1CacheSupported);
FIELD(fth_device_properties, shared_per_sm, struct cudaDeviceProp, sharedMemPerMultiprocessor);
FIELD(fth_device_properties, registers_per_sm, struct cudaDeviceProp, regsPerMultiprocessor);
FIELD(fth_device_properties, managed_memory, struct cudaDeviceProp, managedMemory);
FIELD(fth_device_properties, multi_gpu_board, struct cudaDeviceProp, isMultiGpuBoard);
FIELD(fth_device_properties, board_group, struct cudaDeviceProp, multiGpuBoardGroupID);
FIELD(fth_device_properties, host_atomics, struct cudaDeviceProp, hostNativeAtomicSupported);
FIELD(fth_device_properties, pageable_access, struct cudaDeviceProp, pageableMemoryAccess);
FIELD(fth_device_properties, concurrent_managed, struct cudaDeviceProp, concurrentManagedAccess);
FIELD(fth_device_properties, preemption, struct cudaDeviceProp, computePreemptionSupported);
FIELD(fth_device_properties, host_pointer_usable, struct cudaDeviceProp,
      canUseHostPointerForRegisteredMem);
FIELD(fth_device_properties, cooperative, struct cudaDeviceProp, cooperativeLaunch);
FIELD(fth_device_properties, shared_per_block_optin, struct cudaDeviceProp, sharedMemPerBlockOptin);
FIELD(fth_device_properties, host_page_tables, struct cudaDeviceProp,
      pageableMemoryAccessUsesHostPageTables);
FIELD(fth_device_properties, direct_managed, struct cudaDeviceProp, directManagedMemAccessFromHost);
FIELD(fth_device_properties, max_blocks_per_sm, struct cudaDeviceProp, maxBlocksPerMultiProcessor);
FIELD(fth_device_properties, max_window_bytes, struct cudaDeviceProp, accessPolicyMaxWindowSize);
FIELD(fth_device_properties, reserved_shared_per_block, struct cudaDeviceProp,
      reservedSharedMemPerBlock);
FIELD(fth_device_properties, host_register, struct cudaDeviceProp, hostRegisterSupported);
FIELD(fth_device_properties, sparse_arrays, struct cudaDeviceProp, sparseCudaArraySupported);
FIELD(fth_device_properties, host_register_read_only, struct cudaDeviceProp,
      hostRegisterReadOnlySupported);
FIELD(fth_device_properties, timeline_semaphores, struct cudaDeviceProp,
      timelineSemaphoreInteropSupported);
FIELD(fth_device_properties, pools, struct cudaDeviceProp, memoryPoolsSupported);
FIELD(fth_device_properties, rdma, struct cudaDeviceProp, gpuDirectRDMASupported);
FIELD(fth_device_properties, rdma_flush_options, struct cudaDeviceProp,
      gpuDirectRDMAFlushWritesOptions);
FIELD(fth_device_properties, rdma_ordering, struct cudaDeviceProp, gpuDirectRDMAWritesOrdering);
FIELD(fth_device_properties, pool_handle_types, struct cudaDeviceProp,
      memoryPoolSupportedHandleTypes);
FIELD(fth_device_properties, deferred_arrays, struct cudaDeviceProp,
      deferredMappingCudaArraySupported);
FIELD(fth_device_properties, ipc_events, struct cudaDeviceProp, ipcEventSupported);
FIELD(fth_device_properties, clusters, struct cudaDeviceProp, clusterLaunch);
FIELD(fth_device_properties, unified_functions, struct cudaDeviceProp, unifiedFunctionPointers);
FIELD(fth_device_properties, numa_config, struct cudaDeviceProp, deviceNumaConfig);
FIELD(fth_device_properties, numa_id, struct cudaDeviceProp, deviceNumaId);
FIELD(fth_device_properties, mps, struct cudaDeviceProp, mpsEnabled);
FIELD(fth_device_properties, host_numa_id, struct cudaDeviceProp, hostNumaId);
FIELD(fth_device_properties, gpu_pci_device, struct cudaDeviceProp, gpuPciDeviceID);
FIELD(fth_device_properties, gpu_pci_subsystem, struct cudaDeviceProp, gpuPciSubsystemID);
FIELD(fth_device_properties, multinode_ipc, struct cudaDeviceProp, hostNumaMultinodeIpcSupported);

SIZE(fth_cu_copy_2d, CUDA_MEMCPY2D);
FIELD(fth_cu_copy_2d, source_x, CUDA_MEMCPY2D, srcXInBytes);
FIELD(fth_cu_copy_2d, source_y, CUDA_MEMCPY2D, srcY);
FIELD(fth_cu_copy_2d, source_type, CUDA_MEMCPY2D, srcMemoryType);
FIELD(fth_cu_copy_2d, source_host, CUDA_MEMCPY2D, srcHost);
FIELD(fth_cu_copy_2d, source_device, CUDA_MEMCPY2D, srcDevice);
FIELD(fth_cu_copy_2d, source_array, CUDA_MEMCPY2D, srcArray);
FIELD(fth_cu_copy_2d, source_pitch, CUDA_MEMCPY2D, srcPitch);
FIELD(fth_cu_copy_2d, target_x, CUDA_MEMCPY2D, dstXInBytes);
FIELD(fth_cu_copy_2d, target_y, CUDA_MEMCPY2D, dstY);
FIELD(fth_cu_copy_2d, target_type, CUDA_MEMCPY2D, dstMemoryType);
FIELD(fth_cu_copy_2d, target_host, CUDA_MEMCPY2D, dstHost);
FIELD(fth_cu_copy_2d, target_device, CUDA_MEMCPY2D, dstDevice);
FIELD(fth_cu_copy_2d, target_array, CUDA_MEMCPY2D, dstArray);
FIELD(fth_cu_copy_2d, target_pitch, CUDA_MEMCPY2D, dstPitch);
FIELD(fth_cu_copy_2d, width, CUDA_MEMCPY2D, WidthInBytes);
FIELD(fth_cu_copy_2d, height, CUDA_MEMCPY2D, Height);

SIZE(fth_cu_copy_3d, CUDA_MEMCPY3D);
FIELD(fth_cu_copy_3d, source_x, CUDA_MEMCPY3D, srcXInBytes);
FIELD(fth_cu_copy_3d, source_y, CUDA_MEMCPY3D, srcY);
FIELD(fth_cu_copy_3d, source_z, CUDA_MEMCPY3D, srcZ);
FIELD(fth_cu_copy_3d, source_level, CUDA_MEMCPY3D, srcLOD);
FIELD(fth_cu_copy_3d, source_type, CUDA_MEMCPY3D, srcMemoryType);
FIELD(fth_cu_copy_3d, source_host, CUDA_MEMCPY3D, srcHost);
FIELD(fth_cu_copy_3d, source_device, CUDA_MEMCPY3D, srcDevice);
FIELD(fth_cu_copy_3d, source_array, CUDA_MEMCPY3D, srcArray);
FIELD(fth_cu_copy_3d, source_pitch, CUDA_MEMCPY3D, srcPitch);
FIELD(fth_cu_copy_3d, source_height, CUDA_MEMCPY3D, srcHeight);
FIELD(fth_cu_copy_3d, target_x, CUDA_MEMCPY3D, dstXInBytes);
FIELD(fth_cu_copy_3d, target_y, CUDA_MEMCPY3D, dstY);
FIELD(fth_cu_copy_3d, target_z, CUDA_MEMCPY3D, dstZ);
FIELD(fth_cu_copy_3d, target_type, CUDA_MEMCPY3D, dstMemoryType);
FIELD(fth_cu_copy_3d, target_host, CUDA_MEMCPY3D, dstHost);
FIELD(fth_cu_copy_3d, target_device, CUDA_MEMCPY3D, dstDevice);
FIELD(fth_cu_copy_3d, target_array, CUDA_MEMCPY3D, dstArray);
FIELD(fth_cu_copy_3d, target_pitch, CUDA_MEMCPY3D, dstPitch);
FIELD(fth_cu_copy_3d, target_height, CUDA_MEMCPY3D, dstHeight);
FIELD(fth_cu_copy_3d, width, CUDA_MEMCPY3D, WidthInBytes);
FIELD(fth_cu_copy_3d, height, CUDA_MEMCPY3D, Height);
FIELD(fth_cu_copy_3d, depth, CUDA_MEMCPY3D, Depth);

SIZE(fth_cu_array_shape, CUDA_ARRAY3D_DESCRIPTOR);
FIELD(fth_cu_array_shape, width, CUDA_ARRAY3D_DESCRIPTOR, Width);
FIELD(fth_cu_array_shape, height, CUDA_ARRAY3D_DESCRIPTOR, Height);
FIELD(fth_cu_array_shape, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
FIELD(fth_cu_array_shape, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
FIELD(fth_cu_array_shape, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
FIELD(fth_cu_array_shape, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);

SIZE(fth_cu_resource, CUDA_RESOURCE_DESC);
FIELD(fth_cu_resource, type, CUDA_RESOURCE_DESC, resType);
FIELD(fth_cu_resource, of, CUDA_RESOURCE_DESC, res);
FIELD(fth_cu_resource, of.linear.address, CUDA_RESOURCE_DESC, res.linear.devPtr);
FIELD(fth_cu_resource, of.linear.format, CUDA_RESOURCE_DESC, res.linear.format);
FIELD(fth_cu_resource, of.linear.channels, CUDA_RESOURCE_DESC, res.linear.numChannels);
FIELD(fth_cu_resource, of.linear.bytes, CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
FIELD(fth_cu_resource, of.pitched.width, CUDA_RESOURCE_DESC, res.pitch2D.width);
FIELD(fth_cu_resource, of.pitched.height, CUDA_RESOURCE_DESC, res.pitch2D.height);
FIELD(fth_cu_resource, of.pitched.pitch, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
FIELD(fth_cu_resource, flags, CUDA_RESOURCE_DESC, flags);

SIZE(fth_cu_texture, CUDA_TEXTURE_DESC);
FIELD(fth_cu_texture, address_mode, CUDA_TEXTURE_DESC, addressMode);
FIELD(fth_cu_texture, filter_mode, CUDA_TEXTURE_DESC, filterMode);
FIELD(fth_cu_texture, flags, CUDA_TEXTURE_DESC, flags);
FIELD(fth_cu_texture, max_anisotropy, CUDA_TEXTURE_DESC, maxAnisotropy);
FIELD(fth_cu_texture, mipmap_filter_mode, CUDA_TEXTURE_DESC, mipmapFilterMode);
FIELD(fth_cu_texture, mipmap_bias, CUDA_TEXTURE_DESC, mipmapLevelBias);
FIELD(fth_cu_texture, min_mipmap_level, CUDA_TEXTURE_DESC, minMipmapLevelClamp);
FIELD(fth_cu_texture, max_mipmap_level, CUDA_TEXTURE_DESC, maxMipmapLevelClamp);
FIELD(fth_cu_texture, border, CUDA_TEXTURE_DESC, borderColor);

SIZE(fth_cu_launch, CUlaunchConfig);
FIELD(fth_cu_launch, grid, CUlaunchConfig, gridDimX);
FIELD(fth_cu_launch, block, CUlaunchConfig, blockDimX);
FIELD(fth_cu_launch, shared_bytes, CUlaunchConfig, sharedMemBytes);
FIELD(fth_cu_launch, stream, CUlaunchConfig, hStream);
FIELD(fth_cu_launch, attributes, CUlaunchConfig, attrs);
FIELD(fth_cu_launch, attribute_count, CUlaunchConfig, numAttrs);

SIZE(fth_cu_kernel_node, CUDA_KERNEL_NODE_PARAMS);
FIELD(fth_cu_kernel_node, function, CUDA_KERNEL_NODE_PARAMS, func);
FIELD(fth_cu_kernel_node, grid, CUDA_KERNEL_NODE_PARAMS, gridDimX);
FIELD(fth_cu_kernel_node, block, CUDA_KERNEL_NODE_PARAMS, blockDimX);
FIELD(fth_cu_kernel_node, shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
FIELD(fth_cu_kernel_node, parameters, CUDA_KERNEL_NODE_PARAMS, kernelParams);
FIELD(fth_cu_kernel_node, extra, CUDA_KERNEL_NODE_PARAMS, extra);
FIELD(fth_cu_kernel_node, kernel, CUDA_KERNEL_NODE_PARAMS, kern);
FIELD(fth_cu_kernel_node, context, CUDA_KERNEL_NODE_PARAMS, ctx);

/* Numbers of errors and other values. */
_Static_assert(FTH_INVALID_PITCH == (int)cudaErrorInvalidPitchValue, "");
_Static_assert(FTH_INVALID_SYMBOL == (int)cudaErrorInvalidSymbol, "");
_Static_assert(FTH_INVALID_CHANNEL == (int)cudaErrorInvalidChannelDescriptor, "");
_Static_assert(FTH_INVALID_DIRECTION == (int)cudaErrorInvalidMemcpyDirection, "");
_Static_assert(FTH_MISSING_CONFIGURATION == (int)cudaErrorMissingConfiguration, "");
_Static_assert(FTH_INVALID_HANDLE == (int)cudaErrorInvalidResourceHandle, "");
_Static_assert(FTH_INVALID_DEVICE_FUNCTION == (int)cudaErrorInvalidDeviceFunction, "");
_Static_assert(FTH_INVALID_IMAGE == (int)cudaErrorInvalidKernelImage, "");
_Static_assert(FTH_NO_KERNEL_IMAGE == (int)cudaErrorNoKernelImageForDevice, "");
_Static_assert(FTH_PEER_UNSUPPORTED == (int)cudaErrorPeerAccessUnsupported, "");
_Static_assert(FTH_SYMBOL_NOT_FOUND == (int)cudaErrorSymbolNotFound, "");
_Static_assert(FTH_PEER_NOT_ENABLED == (int)cudaErrorPeerAccessNotEnabled, "");
_Static_assert(FTH_NOT_SUPPORTED == (int)cudaErrorNotSupported, "");
_Static_assert(FTH_NODE_FREE == (int)cudaGraphNodeTypeMemFree, "");
_Static_assert(FTH_CU_SNORM16X4 == (int)CU_AD_FORMAT_SNORM_INT16X4, "");
_Static_assert(FTH_CU_POINTER_ORDINAL == (int)CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "");
_Static_assert(FTH_CU_SEAMLESS_CUBEMAP == CU_TRSF_SEAMLESS_CUBEMAP, "");
