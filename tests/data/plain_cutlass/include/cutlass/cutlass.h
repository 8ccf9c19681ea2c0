// What both kinds of kernels include.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cutlass/version.h"

namespace cutlass {

enum class Status { kSuccess, kErrorInternal };

struct half_t {};
struct bfloat16_t {};

namespace layout {
struct ColumnMajor {};
struct RowMajor {};
}  // namespace layout

namespace arch {
struct OpClassTensorOp {};
struct OpClassSimt {};
struct OpMultiplyAdd {};
struct Sm75 {};
struct Sm80 {};
struct Sm90 {};
}  // namespace arch

namespace gemm {
struct GemmCoord {
  int m_, n_, k_;
  GemmCoord(int m, int n, int k) : m_(m), n_(n), k_(k) {}
};

enum class GemmUniversalMode { kGemm, kBatched };

template <int M, int N, int K>
struct GemmShape {};
}  // namespace gemm

}  // namespace cutlass
