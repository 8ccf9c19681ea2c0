/// When a result counts as right: which data is used, and how far D may be from the reference.
///
/// Two kinds of data are used. Small integers make every sum exact, so that each element has a
/// bound of its own and one wrong product shows (`max_error_over_bound`). Normally distributed
/// numbers, those that are timed, round as real data does, and are judged by the error's norm
/// (`relative_frobenius`). Where D is an integer there is one right result, and no tolerance, on
/// any data (`max_error`).
#pragma once

#include "compare.h"
#include "fill.h"
#include "workload.h"

namespace cutlass_ninja {

/// How D's error is measured.
enum class Metric {
  kErrorOverBound,  ///< the largest error as a multiple of the element's bound, see Comparison
  kError,           ///< the largest error, of integers
  kFrobenius,       ///< ||D - expected|| / ||expected|| over all batches
};

/// "max_error_over_bound", "max_error" or "relative_frobenius".
char const* metric_name(Metric metric);

/// One comparison of all of D with the reference.
struct Check {
  char const* data;  ///< "integer", "normal", or "after_timing"
  Metric metric;
  double error, tolerance;
  Comparison comparison;

  bool passed() const { return error <= tolerance; }
};

/// The integers whose sums of `depth` products the accumulator and D hold exactly. The sums are
/// random walks: 8 standard deviations must fit, which a sum exceeds with probability 1e-15. The
/// range shrinks from [-2, 2] to [-1, 1], then zeros become more frequent.
IntegerData integer_data(WorkloadShape const& shape);

/// Standard deviations of the normally distributed operands, and of the D that follows from them
/// without activation.
struct NormalData {
  double a, b, c, bias, d;
};

/// 1 for floating-point operands, less where D or the accumulator would come near the largest f16,
/// or where an activation would saturate most of D; 16 for integers, less where D has 8 bits.
NormalData normal_data(WorkloadShape const& shape);

/// The largest ||D - expected|| / ||expected|| of a right kernel on normally distributed data: the
/// sum of
///  - 4 u of the type that operands are rounded to for the product: 2 operands, each cut off; if
///    they are not, 8 u of f32 for f32 operands, which may be multiplied in tf32 parts (3xTF32);
///  - the accumulation of K products, u being the accumulator's unit roundoff. In f16, which is
///    rounded to nearest, errors cancel and the total grows as sqrt(K) (Higham and Mary, "A new
///    approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019): one
///    rounding costs at most u / sqrt(3) of a partial sum in the mean square, and the partial sums'
///    squares average half of the last, which makes 0.41 sqrt(K) u; 0.6 are granted. In f32 and f64
///    it is K u, since tensor cores truncate f32 sums (Fasi, Higham, Mikaitis, Pranesh, "Numerical
///    behavior of NVIDIA tensor cores", PeerJ Comput. Sci. 7, 2021) and truncation errors add up;
///  - 4 u of the epilogue's type: a conversion, two products, a sum;
///  - 1 u of D's type for each slice of K but the last, if they are summed in D;
/// all these times the activation's steepest slope, and
///  - twice the activation's own error, see activation_roundoff;
///  - 1 u of D's type, and its smallest positive number where D is that small;
/// times 1 + 4 / sqrt(elements of D), as the error of few elements strays from its expectation.
/// For comparison: one dropped product gives sqrt(1 / K), a dropped slice of 32 sqrt(32 / K).
double frobenius_tolerance(WorkloadShape const& shape, NormalData const& data);

/// The epilogue's part of an element's bound on small integers: the same 4 u and activation, and
/// for each slice of K but the last that is summed in D a rounding of what integer_data allows.
ErrorBounds error_bounds(WorkloadShape const& shape);

/// Judges a comparison made on small integers.
Check check_integer(WorkloadShape const& shape, Comparison const& comparison);

/// Judges a comparison made on normally distributed data: by the Frobenius norm, but element by
/// element where D is an integer, as that is exact on any data. The error's norm is taken
/// relative to that of the expected D, or to the latter's own expectation if that is larger, so
/// that the few elements of a small D may cancel to nearly 0.
Check check_normal(char const* data, WorkloadShape const& shape, NormalData const& normal,
                   Comparison const& comparison);

}  // namespace cutlass_ninja
