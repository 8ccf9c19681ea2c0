/// A convolution written to be right: what the profiled kernels are compared with.
#pragma once

#include <cuda_runtime_api.h>

#include "cutlass_ninja/conv2d.h"

namespace cutlass_ninja {

/// A or B in device memory.
struct Conv2dInput {
  void const* data;
  cutlass_ninja_element element;
};

/// Writes the `count` elements of D without alpha, beta and C, packed, as elements of
/// reference_accumulator(). Asynchronous.
void reference_conv2d(cutlass_ninja_conv_kind kind, cutlass_ninja_conv2d_problem const& problem,
                      Conv2dInput const& a, Conv2dInput const& b, void* result, int64_t count,
                      cudaStream_t stream);

}  // namespace cutlass_ninja
