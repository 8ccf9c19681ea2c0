/// A GEMM written to be right: what the profiled kernels are compared with.
#pragma once

#include <cuda_runtime_api.h>

#include "tensor.h"

namespace cutlass_ninja {

/// The type in which the reference sums products of `a` and `b`: s32 for integers; f64 where an
/// operand has 32 or more bits; else f32, which holds products of 16-bit elements exactly.
cutlass_ninja_element reference_accumulator(cutlass_ninja_element a, cutlass_ninja_element b);

/// Writes A * B without alpha, beta and C. `a` is m x k, `b` is k x n with any strides. `result`
/// has elements of reference_accumulator() at `result_strides`. Asynchronous.
void reference_gemm(MatrixView const& a, MatrixView const& b, void* result,
                    MatrixStrides const& result_strides, MatrixShape const& result_shape, int64_t k,
                    cudaStream_t stream);

}  // namespace cutlass_ninja
