/// What a kernel's host half needs of CUDA, for any operation kind. Nothing here depends on
/// CUTLASS.
#pragma once

#include <cuda_runtime_api.h>

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

/// CUTLASS_NINJA_NOT_SUPPORTED, with the reason (a static string) if somebody asks for it.
inline cutlass_ninja_status refuse(char const* why, char const** reason) {
  if (reason) *reason = why;
  return CUTLASS_NINJA_NOT_SUPPORTED;
}

/// Whether CUDA can launch a grid of this size (CUDA C++ Programming Guide, technical
/// specifications).
inline bool check_grid(dim3 grid, char const** reason) {
  bool const fits = grid.x <= 0x7fffffffu && grid.y <= 0xffffu && grid.z <= 0xffffu;
  if (!fits) refuse("the problem needs more thread blocks along y or z than CUDA's 65535", reason);
  return fits;
}

/// Multiprocessors of the current device, or 0 without one.
inline int multiprocessors() {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 0;
  return count;
}

/// Lets the kernel have `bytes` of dynamic shared memory; more than 48 KB must be asked for.
inline cudaError_t reserve_shared_memory(void const* entry, size_t bytes) {
  if (bytes < 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(bytes));
}

/// Thread blocks of the kernel that a multiprocessor runs at once; 1 where CUDA cannot tell.
inline int occupancy(void const* entry, int threads, size_t shared_memory_bytes) {
  int blocks = 0;
  cudaError_t const error =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry, threads, shared_memory_bytes);
  return error == cudaSuccess && blocks > 0 ? blocks : 1;
}

/// Lets the kernel have clusters of more than the 8 thread blocks that every GPU can launch.
inline cudaError_t allow_large_cluster(void const* entry) {
  return cudaFuncSetAttribute(entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

/// Launches a kernel of one parameter, in clusters where they have more than one thread block.
inline cudaError_t launch(void const* entry, dim3 grid, dim3 block, dim3 cluster,
                          size_t shared_memory_bytes, void* params, cudaStream_t stream) {
  void* arguments[] = {params};
  if (cluster.x * cluster.y * cluster.z == 1)
    return cudaLaunchKernel(entry, grid, block, arguments, shared_memory_bytes, stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_memory_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, entry, arguments);
}

}  // namespace cutlass_ninja
