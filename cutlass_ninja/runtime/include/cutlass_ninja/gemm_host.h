/// What a GEMM kernel's host half checks before it asks CUTLASS. Nothing here depends on CUTLASS.
#pragma once

#include <cstdint>

#include "cutlass_ninja/gemm.h"
#include "cutlass_ninja/launch.h"

/// The translation unit's kernel.
extern "C" cutlass_ninja_gemm_kernel const cutlass_ninja_kernel;

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

/// The size in bytes of an element of this type; 0 for void.
inline size_t element_bytes(cutlass_ninja_element element) {
  switch (element) {
    case CUTLASS_NINJA_VOID:
      return 0;
    case CUTLASS_NINJA_S8:
    case CUTLASS_NINJA_U8:
      return 1;
    case CUTLASS_NINJA_F16:
    case CUTLASS_NINJA_BF16:
      return 2;
    case CUTLASS_NINJA_F64:
      return 8;
    default:
      return 4;
  }
}

/// Refuses a problem whose operands do not meet the kernel's alignment, naming the operand, and a
/// beta != 0 for a kernel that has no C.
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
  if (kernel.c.element == CUTLASS_NINJA_VOID)
    return g.beta == 0
               ? CUTLASS_NINJA_SUCCESS
               : refuse("beta is not 0, but the kernel has no C (its type is void)", reason);
  if (!aligned(kernel.c, g.c, g.ldc, g.batch_stride_c))
    return refuse("C's pointer, leading dimension or batch stride does not meet its alignment",
                  reason);
  return CUTLASS_NINJA_SUCCESS;
}

}  // namespace cutlass_ninja
