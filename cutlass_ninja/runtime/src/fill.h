/// Random operands, the same on every GPU for the same seed.
#pragma once

#include <cuda_runtime_api.h>

#include "tensor.h"

namespace cutlass_ninja {

/// Small random integers: an element is not zero with probability `density`, and then uniformly one
/// of 1 to `radius`, with a random sign unless the type is unsigned.
struct IntegerData {
  int radius;
  double density;
};

/// Identifies a sequence of random numbers. Operands take different streams of one seed.
struct RandomSequence {
  uint64_t seed;
  uint64_t stream;
};

/// Fills a tensor with small integers.
void fill_integers(void* data, Tensor const& tensor, IntegerData integers, RandomSequence sequence,
                   cudaStream_t stream);

/// Fills a tensor with normally distributed numbers of mean 0, rounded to the element type, for
/// integers clamped to it. Of an unsigned type they are the absolute values.
void fill_normal(void* data, Tensor const& tensor, double stddev, RandomSequence sequence,
                 cudaStream_t stream);

}  // namespace cutlass_ninja
