#include "verification.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cutlass_ninja {
namespace {

constexpr double kDeviations = 8;

/// D's standard deviation stays below this fraction of the largest f16.
constexpr double kHeadroom = 1.0 / 20;

constexpr double kIntegerStddev = 16;

/// The largest integer below which the type holds all.
double exact_limit(cutlass_ninja_element element) {
  return std::ldexp(1.0, number_format(element).precision);
}

/// The epilogue's unit roundoff times the operations that may each cost as much.
double operations_roundoff(cutlass_ninja_element element) {
  return 4 * unit_roundoff(number_format(element));
}

/// What is lost of the operands before they are multiplied.
double operands_roundoff(WorkloadShape const& shape) {
  if (shape.math != CUTLASS_NINJA_VOID) return operations_roundoff(shape.math);
  bool const f32 = shape.a.element == CUTLASS_NINJA_F32 || shape.b.element == CUTLASS_NINJA_F32;
  return f32 ? 8 * unit_roundoff(number_format(CUTLASS_NINJA_F32)) : 0;
}

bool sums_integers(WorkloadShape const& shape) {
  return number_format(shape.a.element).integer && number_format(shape.b.element).integer &&
         number_format(shape.accumulator).integer;
}

}  // namespace

char const* metric_name(Metric metric) {
  return metric == Metric::kErrorOverBound ? "max_error_over_bound" : "relative_frobenius";
}

IntegerData integer_data(WorkloadShape const& shape) {
  double const depth = static_cast<double>(shape.depth);
  double const limit = std::min(exact_limit(shape.accumulator), exact_limit(shape.d.element));
  bool const only_positive =
      shape.a.element == CUTLASS_NINJA_U8 && shape.b.element == CUTLASS_NINJA_U8;

  // With density p, a product of {-1, 0, 1} has the variance p^2; of positive ones, also the mean
  // p^2. Uniform over [-2, 2] (p = 0.8) both are at most 4.
  double const wide = only_positive ? 4 * depth + kDeviations * 2 * std::sqrt(depth)
                                    : kDeviations * 2 * std::sqrt(depth);
  if (wide <= limit) return {2, 0.8};
  double const sum = only_positive ? std::sqrt(kDeviations * kDeviations / 4 + limit) -
                                         kDeviations / 2  // solves sum^2 + 8 sum = limit
                                   : limit / kDeviations;
  return {1, std::min(2.0 / 3, sum / std::sqrt(depth))};
}

NormalData normal_data(WorkloadShape const& shape) {
  bool const narrow =
      std::min(number_format(shape.accumulator).highest, number_format(shape.d.element).highest) ==
      number_format(CUTLASS_NINJA_F16).highest;
  double const limit = narrow ? kHeadroom * number_format(CUTLASS_NINJA_F16).highest
                              : std::numeric_limits<double>::infinity();
  double const root_depth = std::sqrt(static_cast<double>(shape.depth));
  double const a_integer = number_format(shape.a.element).integer;
  double const b_integer = number_format(shape.b.element).integer;

  double product = limit / (root_depth * std::max(1.0, std::fabs(shape.alpha)));
  if (a_integer) product /= kIntegerStddev;
  if (b_integer) product /= kIntegerStddev;
  double const operand = std::min(1.0, a_integer || b_integer ? product : std::sqrt(product));

  NormalData data;
  data.a = a_integer ? kIntegerStddev : operand;
  data.b = b_integer ? kIntegerStddev : operand;
  data.c = number_format(shape.c.element).integer
               ? kIntegerStddev
               : std::min(1.0, limit / std::max(1.0, std::fabs(shape.beta)));
  data.d = std::hypot(shape.alpha * data.a * data.b * root_depth, shape.beta * data.c);
  return data;
}

double epilogue_roundoff(WorkloadShape const& shape) { return operations_roundoff(shape.epilogue); }

double frobenius_tolerance(WorkloadShape const& shape, NormalData const& data) {
  double const depth = static_cast<double>(shape.depth);
  NumberFormat const accumulator = number_format(shape.accumulator);
  NumberFormat const d = number_format(shape.d.element);
  double const roundings = shape.accumulator == CUTLASS_NINJA_F16 ? 0.6 * std::sqrt(depth) : depth;
  double const smallest = data.d > 0 ? smallest_positive(d) / data.d : 0;
  double const expected = operands_roundoff(shape) + roundings * unit_roundoff(accumulator) +
                          epilogue_roundoff(shape) + unit_roundoff(d) + smallest;
  return expected * (1 + 4 / std::sqrt(static_cast<double>(shape.output.count())));
}

Check check_integer(Comparison const& comparison) {
  return {"integer", Metric::kErrorOverBound, comparison.worst, 1, comparison};
}

Check check_normal(char const* data, WorkloadShape const& shape, NormalData const& normal,
                   Comparison const& comparison) {
  if (sums_integers(shape)) {
    return {data, Metric::kErrorOverBound, comparison.worst, 1, comparison};
  }
  double const expectation = normal.d * std::sqrt(static_cast<double>(shape.output.count()));
  double const norm = std::max(std::sqrt(comparison.expected_square), expectation);
  double const difference = std::sqrt(comparison.error_square);
  double const error = difference == 0 ? 0 : difference / norm;
  return {data, Metric::kFrobenius, error, frobenius_tolerance(shape, normal), comparison};
}

}  // namespace cutlass_ninja
