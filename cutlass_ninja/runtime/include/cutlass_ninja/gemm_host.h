/// What a GEMM kernel's host half checks before it asks CUTLASS. Nothing here depends on CUTLASS.
#pragma once

#include <climits>
#include <cstdint>

#include "cutlass_ninja/gemm.h"
#include "cutlass_ninja/launch.h"
#include "cutlass_ninja/operand.h"

namespace cutlass_ninja {

/// Whether a pointer, its leading dimension and, in a batch, its stride meet the operand's
/// alignment.
inline bool is_aligned(cutlass_ninja_tensor const& tensor, size_t element_bytes,
                       void const* pointer, int64_t leading_dimension, int64_t batch_stride,
                       int batch_count) {
  return reinterpret_cast<uintptr_t>(pointer) % (tensor.alignment * element_bytes) == 0 &&
         leading_dimension % tensor.alignment == 0 &&
         (batch_count == 1 || batch_stride % tensor.alignment == 0);
}

/// The value of the kernel's run-time parameter `index`.
inline int parameter(cutlass_ninja_gemm_kernel const& kernel, cutlass_ninja_gemm_arguments const& g,
                     int index) {
  return g.parameters ? g.parameters[index] : kernel.parameters[index].choices[0];
}

/// Refuses a problem whose operands do not meet the kernel's alignment, naming the operand, a
/// beta != 0 for a kernel that has no C, and slices of K in a batch.
inline cutlass_ninja_status check_operands(cutlass_ninja_gemm_kernel const& kernel,
                                           cutlass_ninja_gemm_arguments const& g,
                                           char const** reason) {
  auto aligned = [&](cutlass_ninja_tensor const& tensor, void const* pointer, int64_t ld,
                     int64_t stride) {
    return is_aligned(tensor, element_bytes(tensor.element), pointer, ld, stride, g.batch_count);
  };
  if (!aligned(kernel.a, g.a, g.lda, g.batch_stride_a))
    return refuse("A's pointer, leading dimension or batch stride does not meet its alignment",
                  reason);
  if (!aligned(kernel.b, g.b, g.ldb, g.batch_stride_b))
    return refuse("B's pointer, leading dimension or batch stride does not meet its alignment",
                  reason);
  if (!aligned(kernel.d, g.d, g.ldd, g.batch_stride_d))
    return refuse("D's pointer, leading dimension or batch stride does not meet its alignment",
                  reason);
  if (kernel.epilogue.bias != CUTLASS_NINJA_BIAS_NONE &&
      !is_aligned({kernel.epilogue.element_bias, kernel.d.layout, kernel.d.alignment},
                  element_bytes(kernel.epilogue.element_bias), g.epilogue.bias, 0,
                  g.epilogue.batch_stride_bias, g.batch_count))
    return refuse("the bias's pointer or batch stride does not meet D's alignment", reason);
  if (g.split_k_slices > 1 && g.batch_count > 1)
    return refuse("split_k_slices is more than 1 in a batch; CUTLASS splits K of one problem only",
                  reason);
  if (kernel.c.element == CUTLASS_NINJA_VOID)
    return g.beta == 0
               ? CUTLASS_NINJA_SUCCESS
               : refuse("beta is not 0, but the kernel has no C (its type is void)", reason);
  if (!aligned(kernel.c, g.c, g.ldc, g.batch_stride_c))
    return refuse("C's pointer, leading dimension or batch stride does not meet its alignment",
                  reason);
  return CUTLASS_NINJA_SUCCESS;
}

/// Whether the leading dimensions fit the 32 bits that some of CUTLASS's kernels keep them in.
inline bool check_leading_dimensions(cutlass_ninja_gemm_arguments const& g, char const** reason) {
  for (int64_t ld : {g.lda, g.ldb, g.ldc, g.ldd}) {
    if (ld > INT_MAX) {
      refuse("a leading dimension is larger than the kernel's 32 bits", reason);
      return false;
    }
  }
  return true;
}

}  // namespace cutlass_ninja
