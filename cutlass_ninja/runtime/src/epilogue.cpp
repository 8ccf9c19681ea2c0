#include "epilogue.h"

#include <cmath>

namespace cutlass_ninja {

Field beta_field(cutlass_ninja_epilogue const& epilogue) {
  bool const residual = epilogue.binary_op != CUTLASS_NINJA_BINARY_OP_NONE;
  return {"beta", FieldType::kScalar, residual ? 1.0 : 0.0,
          residual ? "factor of C, the residual block's second source"
                   : "factor of C; C is not read where it is 0"};
}

double steepest_slope(cutlass_ninja_activation activation) {
  switch (activation) {
    case CUTLASS_NINJA_ACTIVATION_HARDSWISH:
      return 1.5;
    case CUTLASS_NINJA_ACTIVATION_GELU:
    case CUTLASS_NINJA_ACTIVATION_GELU_TAYLOR:
    case CUTLASS_NINJA_ACTIVATION_SILU:
      return 1.13;
    default:
      return 1;
  }
}

bool saturates(cutlass_ninja_activation activation) {
  return activation > CUTLASS_NINJA_ACTIVATION_LEAKY_RELU;
}

double activation_roundoff(cutlass_ninja_activation activation, cutlass_ninja_element compute) {
  double const roundoff = unit_roundoff(number_format(compute));
  bool const approximates = compute != CUTLASS_NINJA_F64;
  switch (activation) {
    case CUTLASS_NINJA_ACTIVATION_IDENTITY:
    case CUTLASS_NINJA_ACTIVATION_RELU:
      return 0;
    case CUTLASS_NINJA_ACTIVATION_TANH:
    case CUTLASS_NINJA_ACTIVATION_GELU_TAYLOR:
      return 8 * roundoff + (approximates ? std::ldexp(1.0, -10) : 0);
    default:
      return 8 * roundoff;
  }
}

}  // namespace cutlass_ninja
