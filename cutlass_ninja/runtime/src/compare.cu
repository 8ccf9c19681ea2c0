#include <vector>

#include "buffer.h"
#include "compare.h"
#include "element.cuh"
#include "epilogue.cuh"
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

/// Batch, row and column of an element.
struct Position {
  int64_t batch, row, column;
};

/// Where element `index` of the packed D lies.
__device__ Position position(int64_t index, Expectation const& e) {
  int64_t const within = index % e.d.strides.batch;
  bool const row_major = e.d.strides.column == 1;
  return {index / e.d.strides.batch, row_major ? within / e.shape.columns : within % e.shape.rows,
          row_major ? within % e.shape.columns : within / e.shape.rows};
}

__device__ double load_c(Expectation const& e, Position const& at) {
  if (!e.epilogue.reads_c) return 0;
  MatrixStrides const& strides = e.c.strides;
  return load(e.c.element, e.c.data,
              at.batch * strides.batch + at.row * strides.row + at.column * strides.column);
}

__device__ double load_bias(Epilogue const& epilogue, Position const& at) {
  if (epilogue.fusion.bias == CUTLASS_NINJA_BIAS_NONE) return 0;
  bool const per_row = epilogue.fusion.bias == CUTLASS_NINJA_BIAS_PER_ROW;
  return load(epilogue.fusion.element_bias, epilogue.bias, per_row ? at.row : at.column);
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
  Position const at = position(index, e);
  double const sum = load(e.accumulators.element, e.accumulators.data, index);
  double const c = load_c(e, at);
  double const actual = load(e.d.element, e.d.data, index);
  NumberFormat const& format = e.d_format;
  if (format.integer) {
    double expected = 0;
    double const error = integer_error(e.epilogue, format, sum, c, actual, &expected);
    return {error, index, actual, expected, error > 0, error * error, expected * expected};
  }
  auto const [expected, epilogue_bound] =
      apply(e.epilogue, e.bounds, sum, c, load_bias(e.epilogue, at));
  double const bound = ulp(format, expected) + epilogue_bound;

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
