#include <algorithm>

#include "element.cuh"
#include "error.h"
#include "reference.h"
#include "reference_gemm.h"

namespace cutlass_ninja {
namespace {

// A block of kSide x kSide threads computes kTile x kTile results, kDepth products at a time; each
// thread owns every kSide-th row and column of the tile.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kSide = 16;
constexpr int kThreads = kSide * kSide;
constexpr int kOwn = kTile / kSide;
constexpr int kLoads = kTile * kDepth / kThreads;

/// A slice of A or B in shared memory. The padding keeps transposed writes off one bank.
template <typename Accumulator>
using Slice = Accumulator[kDepth][kTile + 1];

/// A or B as the sum sees them: one index along the result's side, one along k.
struct Side {
  void const* data;
  cutlass_ninja_element element;
  int64_t side_stride, k_stride, batch_stride;
  int64_t side_size;
};

/// For with_element: fills a slice with the block's part of A or B, zeros beyond their edges.
template <typename Accumulator>
struct LoadSlice {
  Slice<Accumulator>& slice;
  Side const& side;
  int64_t batch, first_side, first_k, k;

  template <cutlass_ninja_element E>
  __device__ void operator()() {
    bool const k_is_contiguous = side.k_stride == 1;
    int64_t const origin = batch * side.batch_stride;
    Accumulator values[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      int64_t const s = first_side + side_of(i, k_is_contiguous);
      int64_t const kk = first_k + k_of(i, k_is_contiguous);
      values[i] =
          s < side.side_size && kk < k
              ? load<Accumulator, E>(side.data, origin + s * side.side_stride + kk * side.k_stride)
              : Accumulator(0);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      slice[k_of(i, k_is_contiguous)][side_of(i, k_is_contiguous)] = values[i];
    }
  }

  /// Neighbouring threads load neighbouring addresses, whichever index is contiguous.
  static __device__ int side_of(int i, bool k_is_contiguous) {
    int const item = i * kThreads + static_cast<int>(threadIdx.x);
    return k_is_contiguous ? item / kDepth : item % kTile;
  }
  static __device__ int k_of(int i, bool k_is_contiguous) {
    int const item = i * kThreads + static_cast<int>(threadIdx.x);
    return k_is_contiguous ? item % kDepth : item / kTile;
  }
};

template <typename Accumulator>
__global__ void __launch_bounds__(kThreads, 2)
    reference_gemm_kernel(Side a, Side b, Accumulator* result, MatrixStrides strides,
                          MatrixShape shape, int64_t k) {
  __shared__ Slice<Accumulator> a_slice;
  __shared__ Slice<Accumulator> b_slice;
  int const thread_row = static_cast<int>(threadIdx.x) / kSide;
  int const thread_column = static_cast<int>(threadIdx.x) % kSide;
  int64_t const row_tiles = (shape.rows + kTile - 1) / kTile;
  int64_t const column_tiles = (shape.columns + kTile - 1) / kTile;
  int64_t const tiles = row_tiles * column_tiles * shape.batches;

  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int64_t const first_row = tile % row_tiles * kTile;
    int64_t const first_column = tile / row_tiles % column_tiles * kTile;
    int64_t const batch = tile / row_tiles / column_tiles;

    Accumulator sums[kOwn][kOwn] = {};
    for (int64_t first_k = 0; first_k < k; first_k += kDepth) {
      LoadSlice<Accumulator> load_a{a_slice, a, batch, first_row, first_k, k};
      LoadSlice<Accumulator> load_b{b_slice, b, batch, first_column, first_k, k};
      with_element(a.element, load_a);
      with_element(b.element, load_b);
      __syncthreads();
#pragma unroll 4
      for (int kk = 0; kk < kDepth; ++kk) {
        Accumulator a_own[kOwn], b_own[kOwn];
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
          a_own[i] = a_slice[kk][thread_row + i * kSide];
          b_own[i] = b_slice[kk][thread_column + i * kSide];
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
#pragma unroll
          for (int j = 0; j < kOwn; ++j) sums[i][j] += a_own[i] * b_own[j];
        }
      }
      __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        int64_t const row = first_row + thread_row + i * kSide;
        int64_t const column = first_column + thread_column + j * kSide;
        if (row < shape.rows && column < shape.columns) {
          result[batch * strides.batch + row * strides.row + column * strides.column] = sums[i][j];
        }
      }
    }
  }
}

template <typename Accumulator>
void launch(Side const& a, Side const& b, void* result, MatrixStrides const& strides,
            MatrixShape const& shape, int64_t k, cudaStream_t stream) {
  int64_t const tiles =
      ((shape.rows + kTile - 1) / kTile) * ((shape.columns + kTile - 1) / kTile) * shape.batches;
  unsigned const blocks = static_cast<unsigned>(std::min<int64_t>(tiles, 1 << 30));
  reference_gemm_kernel<<<blocks, kThreads, 0, stream>>>(a, b, static_cast<Accumulator*>(result),
                                                         strides, shape, k);
}

}  // namespace

void reference_gemm(MatrixView const& a, MatrixView const& b, void* result,
                    MatrixStrides const& result_strides, MatrixShape const& result_shape, int64_t k,
                    cudaStream_t stream) {
  Side const side_a{a.data,           a.element,       a.strides.row,
                    a.strides.column, a.strides.batch, result_shape.rows};
  Side const side_b{b.data,        b.element,       b.strides.column,
                    b.strides.row, b.strides.batch, result_shape.columns};
  switch (reference_accumulator(a.element, b.element)) {
    case CUTLASS_NINJA_S32:
      launch<int32_t>(side_a, side_b, result, result_strides, result_shape, k, stream);
      break;
    case CUTLASS_NINJA_F32:
      launch<float>(side_a, side_b, result, result_strides, result_shape, k, stream);
      break;
    default:
      launch<double>(side_a, side_b, result, result_strides, result_shape, k, stream);
  }
  check(cudaGetLastError(), "launching the reference");
}

}  // namespace cutlass_ninja
