#include "reference.h"

#include "element.h"

namespace cutlass_ninja {

cutlass_ninja_element reference_accumulator(cutlass_ninja_element a, cutlass_ninja_element b) {
  if (number_format(a).integer && number_format(b).integer) return CUTLASS_NINJA_S32;
  bool const wide = element_bytes(a) >= 4 || element_bytes(b) >= 4;
  return wide ? CUTLASS_NINJA_F64 : CUTLASS_NINJA_F32;
}

}  // namespace cutlass_ninja
