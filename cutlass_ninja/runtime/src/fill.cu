#include "element.cuh"
#include "error.h"
#include "fill.h"
#include "grid.cuh"

namespace cutlass_ninja {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose outputs for successive
/// inputs pass statistical tests.
__host__ __device__ uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t key_of(RandomSequence sequence) { return mixed(mixed(sequence.seed) + sequence.stream); }

/// 64 random bits for one index of a sequence.
__device__ uint64_t random_bits(uint64_t key, int64_t index) {
  return mixed(key ^ mixed(static_cast<uint64_t>(index)));
}

/// 32 bits as a number in (0, 1].
__device__ double unit_interval(uint32_t bits) { return (bits + 1.0) * 0x1p-32; }

__global__ void fill_integers_kernel(void* data, Tensor tensor, IntegerData integers,
                                     uint64_t key) {
  for (int64_t i = first_index(); i < tensor.count; i += index_stride()) {
    uint64_t const bits = random_bits(key, i);
    uint32_t const low = static_cast<uint32_t>(bits);
    uint32_t const high = static_cast<uint32_t>(bits >> 32);
    int value = 0;
    if (unit_interval(low) <= integers.density) {
      value = 1 + static_cast<int>((high >> 1) % integers.radius);
      if (tensor.element != CUTLASS_NINJA_U8 && (high & 1)) value = -value;
    }
    store(tensor.element, data, i, value);
  }
}

__global__ void fill_normal_kernel(void* data, Tensor tensor, double stddev, uint64_t key) {
  for (int64_t i = first_index(); i < tensor.count; i += index_stride()) {
    uint64_t const bits = random_bits(key, i);
    double const radius = sqrt(-2 * log(unit_interval(static_cast<uint32_t>(bits))));
    double const angle = unit_interval(static_cast<uint32_t>(bits >> 32));
    double const value = stddev * radius * cospi(2 * angle);
    store(tensor.element, data, i, tensor.element == CUTLASS_NINJA_U8 ? fabs(value) : value);
  }
}

}  // namespace

void fill_integers(void* data, Tensor const& tensor, IntegerData integers, RandomSequence sequence,
                   cudaStream_t stream) {
  fill_integers_kernel<<<grid_blocks(tensor.count), kBlockThreads, 0, stream>>>(
      data, tensor, integers, key_of(sequence));
  check(cudaGetLastError(), "filling an operand");
}

void fill_normal(void* data, Tensor const& tensor, double stddev, RandomSequence sequence,
                 cudaStream_t stream) {
  fill_normal_kernel<<<grid_blocks(tensor.count), kBlockThreads, 0, stream>>>(data, tensor, stddev,
                                                                              key_of(sequence));
  check(cudaGetLastError(), "filling an operand");
}

}  // namespace cutlass_ninja
