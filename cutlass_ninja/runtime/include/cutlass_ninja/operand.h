/// What the host halves of all operation kinds know of operands. Nothing here depends on CUTLASS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

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

/// Whether a pointer is aligned to this many elements of the operand.
inline bool is_aligned(cutlass_ninja_tensor const& tensor, void const* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) %
             (tensor.alignment * element_bytes(tensor.element)) ==
         0;
}

}  // namespace cutlass_ninja
