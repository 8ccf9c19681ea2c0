/// Every element of D against what it should be.
#pragma once

#include <cuda_runtime_api.h>

#include "tensor.h"

namespace cutlass_ninja {

/// What D should be: alpha * accumulator + beta * C, computed in f64.
struct Expectation {
  MatrixView d;             ///< packed
  MatrixView accumulators;  ///< laid out as D
  MatrixView c;             ///< not read where beta is 0
  MatrixShape shape;
  double alpha, beta;  ///< as the kernel's epilogue type holds them
  NumberFormat d_format;
  double epilogue_roundoff;  ///< relative error granted to alpha * accumulator and to beta * C
};

/// How D differs. The bound of one element is
///     ulp(expected) + epilogue_roundoff * (|alpha * accumulator| + |beta * C|)
/// where ulp is the distance between neighbouring numbers of D's type (rounding to nearest costs
/// half of it); for integers it is 1/2, and the expected value is clamped to the type's range.
/// A NaN is infinitely wrong; so is an infinity, unless the expected value overflows the type.
struct Comparison {
  double worst;            ///< the largest |D - expected| as a multiple of its bound
  int64_t worst_index;     ///< where in D, in elements; the lowest of equals
  double worst_actual;     ///< D there
  double worst_expected;   ///< the reference there
  int64_t mismatches;      ///< elements beyond their bound
  double error_square;     ///< sum of (D - expected)^2
  double expected_square;  ///< sum of expected^2
};

/// Compares all of D. Waits for the stream. The same for the same operands: sums have a fixed
/// order.
Comparison compare(Expectation const& expectation, cudaStream_t stream);

}  // namespace cutlass_ninja
