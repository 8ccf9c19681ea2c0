#include <vector>

#include "buffer.h"
#include "compare.h"
#include "element.cuh"
#include "error.h"
#include "grid.cuh"

namespace cutlass_ninja {
namespace {

constexpr double kInfinity = __builtin_huge_val();

/// The distance between neighbouring numbers of a floating-point format around `value`.
__device__ double ulp(NumberFormat const& format, double value) {
  int const exponent = value == 0 ? format.min_exponent : max(ilogb(value), format.min_exponent);
  return ldexp(1.0, exponent - format.precision + 1);
}

/// The element of `matrix` that belongs to element `index` of the packed D.
__device__ int64_t index_beside(int64_t index, Expectation const& e, MatrixStrides const& strides) {
  int64_t const batch = index / e.d.strides.batch;
  int64_t const within = index % e.d.strides.batch;
  bool const row_major = e.d.strides.column == 1;
  int64_t const row = row_major ? within / e.shape.columns : within % e.shape.rows;
  int64_t const column = row_major ? within % e.shape.columns : within / e.shape.rows;
  return batch * strides.batch + row * strides.row + column * strides.column;
}

__host__ __device__ void merge(Comparison& into, Comparison const& other) {
  if (other.worst > into.worst ||
      (other.worst == into.worst && other.worst_index < into.worst_index)) {
    into.worst = other.worst;
    into.worst_index = other.worst_index;
    into.worst_actual = other.worst_actual;
    into.worst_expected = other.worst_expected;
  }
  into.mismatches += other.mismatches;
  into.error_square += other.error_square;
  into.expected_square += other.expected_square;
}

/// One element's contribution.
__device__ Comparison compare_element(Expectation const& e, int64_t index) {
  double const product = e.alpha * load(e.accumulators.element, e.accumulators.data, index);
  double const addend =
      e.beta == 0 ? 0 : e.beta * load(e.c.element, e.c.data, index_beside(index, e, e.c.strides));
  double const actual = load(e.d.element, e.d.data, index);
  NumberFormat const& format = e.d_format;
  double expected = product + addend;
  double const rounding = format.integer ? 0.5 : ulp(format, expected);
  double const bound = rounding + e.epilogue_roundoff * (fabs(product) + fabs(addend));
  if (format.integer) expected = fmin(fmax(expected, format.lowest), format.highest);

  bool const overflows =
      isinf(actual) && (actual > 0) == (expected > 0) && fabs(expected) + bound >= format.highest;
  if (overflows) return {0, index, actual, expected, 0, 0, 0};
  double const error = isfinite(actual) ? fabs(actual - expected) : kInfinity;
  double const ratio = isfinite(error) ? error / bound : kInfinity;
  return {ratio, index, actual, expected, ratio > 1, error * error, expected * expected};
}

__global__ void compare_kernel(Expectation e, int64_t count, Comparison* results) {
  __shared__ Comparison partial[kBlockThreads];
  Comparison mine{-1, count, 0, 0, 0, 0, 0};
  for (int64_t i = first_index(); i < count; i += index_stride())
    merge(mine, compare_element(e, i));
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = kBlockThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) merge(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) results[blockIdx.x] = partial[0];
}

}  // namespace

Comparison compare(Expectation const& expectation, cudaStream_t stream) {
  int64_t const count = expectation.shape.count();
  std::vector<Comparison> results(grid_blocks(count));
  size_t const bytes = results.size() * sizeof(Comparison);
  DeviceMemory const device_results(bytes);
  auto* const data = reinterpret_cast<Comparison*>(device_results.data());
  compare_kernel<<<static_cast<unsigned>(results.size()), kBlockThreads, 0, stream>>>(expectation,
                                                                                      count, data);
  check(cudaGetLastError(), "comparing D with the reference");
  check(cudaMemcpyAsync(results.data(), data, bytes, cudaMemcpyDeviceToHost, stream),
        "comparing D with the reference");
  check(cudaStreamSynchronize(stream), "comparing D with the reference");
  Comparison total = results.front();
  for (size_t i = 1; i < results.size(); ++i) merge(total, results[i]);
  return total;
}

}  // namespace cutlass_ninja
