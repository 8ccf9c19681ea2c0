/// A GEMM written to be right: what the profiled kernels are compared with.
#pragma once

#include <cuda_runtime_api.h>

#include "tensor.h"

namespace cutlass_ninja {

/// Writes A * B without alpha, beta and C. `a` is m x k, `b` is k x n with any strides. `result`
/// has elements of reference_accumulator() at `result_strides`. Asynchronous.
void reference_gemm(MatrixView const& a, MatrixView const& b, void* result,
                    MatrixStrides const& result_strides, MatrixShape const& result_shape, int64_t k,
                    cudaStream_t stream);

}  // namespace cutlass_ninja
