/// Kernels that walk an array with a stride of the whole grid, so that no size is too large for
/// the grid's own limits.
#pragma once

#include <cstdint>

namespace cutlass_ninja {

constexpr int kBlockThreads = 256;

/// Thread blocks of kBlockThreads for an array of `count`: enough to fill any GPU, never more than
/// there is work, never none.
inline unsigned grid_blocks(int64_t count) {
  int64_t const blocks = (count + kBlockThreads - 1) / kBlockThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 2048 ? 2048 : blocks);
}

/// The first index of the calling thread, and how far it is to its next.
__device__ inline int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x;
}
__device__ inline int64_t index_stride() { return static_cast<int64_t>(gridDim.x) * kBlockThreads; }

}  // namespace cutlass_ninja
