/// What the references of all operation kinds have in common.
#pragma once

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

/// The type in which the reference sums products of `a` and `b`: s32 for integers; f64 where an
/// operand has 32 or more bits; else f32, which holds products of 16-bit elements exactly.
cutlass_ninja_element reference_accumulator(cutlass_ninja_element a, cutlass_ninja_element b);

}  // namespace cutlass_ninja
