/// Every element of D against what it should be.
#pragma once

#include <cuda_runtime_api.h>

#include "epilogue.h"
#include "tensor.h"

namespace cutlass_ninja {

/// What D should be: the epilogue of the sums, computed in f64.
struct Expectation {
  MatrixView d;             ///< packed
  MatrixView accumulators;  ///< laid out as D
  MatrixView c;             ///< read where the epilogue reads it
  MatrixShape shape;
  Epilogue epilogue;
  NumberFormat d_format;
  ErrorBounds bounds;
};

/// How D differs. The bound of one element is
///     ulp(expected) + the epilogue's error, see `apply` in epilogue.cuh
/// where ulp is the distance between neighbouring numbers of D's type (rounding to nearest costs
/// half of it). An integer D has no bound: it is right or wrong.
/// A NaN is infinitely wrong; so is an infinity, unless the expected value overflows the type.
struct Comparison {
  double worst;  ///< the largest |D - expected|: as a multiple of its bound, of an integer D itself
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
