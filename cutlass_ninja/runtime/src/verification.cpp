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

/// A D whose standard deviation is this has most elements where activations bend, or within 8 bits.
constexpr double kActivationStddev = 2;
constexpr double kNarrowStddev = 64;

bool is_narrow(NumberFormat const& format) { return format.integer && format.precision <= 8; }

/// The standard deviation of integer operands.
double integer_stddev(WorkloadShape const& shape) {
  if (!is_narrow(number_format(shape.d.element))) return kIntegerStddev;
  double const scale = std::fabs(shape.alpha) * std::sqrt(static_cast<double>(shape.depth));
  return scale > 0 ? std::clamp(std::sqrt(kNarrowStddev / scale), 0.5, kIntegerStddev)
                   : kIntegerStddev;
}

/// The largest sum of products of small integers, see integer_data.
double integer_sum_limit(WorkloadShape const& shape) {
  return std::min(exact_limit(shape.accumulator), exact_limit(shape.d.element));
}

}  // namespace

char const* metric_name(Metric metric) {
  switch (metric) {
    case Metric::kErrorOverBound:
      return "max_error_over_bound";
    case Metric::kError:
      return "max_error";
    default:
      return "relative_frobenius";
  }
}

IntegerData integer_data(WorkloadShape const& shape) {
  double const depth = static_cast<double>(shape.depth);
  double const limit = integer_sum_limit(shape);
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
  double limit = narrow ? kHeadroom * number_format(CUTLASS_NINJA_F16).highest
                        : std::numeric_limits<double>::infinity();
  if (saturates(shape.fusion.activation)) limit = std::min(limit, kActivationStddev);
  double const root_depth = std::sqrt(static_cast<double>(shape.depth));
  double const a_integer = number_format(shape.a.element).integer;
  double const b_integer = number_format(shape.b.element).integer;
  double const integer = integer_stddev(shape);

  double product = limit / (root_depth * std::max(1.0, std::fabs(shape.alpha)));
  if (a_integer) product /= integer;
  if (b_integer) product /= integer;
  double const operand = std::min(1.0, a_integer || b_integer ? product : std::sqrt(product));

  NormalData data;
  data.a = a_integer ? integer : operand;
  data.b = b_integer ? integer : operand;
  data.c = number_format(shape.c.element).integer
               ? kIntegerStddev
               : std::min(1.0, limit / std::max(1.0, std::fabs(shape.beta)));
  data.bias = shape.bias.count > 0 ? std::min(1.0, limit) : 0;
  double const source = shape.reads_c() ? std::fabs(shape.beta) * data.c : 0;
  double const linear = std::hypot(shape.alpha * data.a * data.b * root_depth, data.bias);
  data.d = shape.fusion.binary_op == CUTLASS_NINJA_BINARY_OP_MULTIPLIES
               ? linear * source
               : std::hypot(linear, source);
  return data;
}

ErrorBounds error_bounds(WorkloadShape const& shape) {
  double const partial = static_cast<double>(shape.partial_roundings) *
                         unit_roundoff(number_format(shape.d.element)) * std::fabs(shape.alpha) *
                         integer_sum_limit(shape);
  return {operations_roundoff(shape.epilogue),
          activation_roundoff(shape.fusion.activation, shape.epilogue), partial,
          steepest_slope(shape.fusion.activation)};
}

double frobenius_tolerance(WorkloadShape const& shape, NormalData const& data) {
  double const depth = static_cast<double>(shape.depth);
  NumberFormat const accumulator = number_format(shape.accumulator);
  NumberFormat const d = number_format(shape.d.element);
  double const roundings = shape.accumulator == CUTLASS_NINJA_F16 ? 0.6 * std::sqrt(depth) : depth;
  double const smallest = data.d > 0 ? smallest_positive(d) / data.d : 0;
  double const linear = operands_roundoff(shape) + roundings * unit_roundoff(accumulator) +
                        operations_roundoff(shape.epilogue) +
                        static_cast<double>(shape.partial_roundings) * unit_roundoff(d);
  double const expected = steepest_slope(shape.fusion.activation) * linear +
                          2 * activation_roundoff(shape.fusion.activation, shape.epilogue) +
                          unit_roundoff(d) + smallest;
  return expected * (1 + 4 / std::sqrt(static_cast<double>(shape.output.count())));
}

Check check_integer(WorkloadShape const& shape, Comparison const& comparison) {
  if (number_format(shape.d.element).integer) {
    return {"integer", Metric::kError, comparison.worst, 0, comparison};
  }
  return {"integer", Metric::kErrorOverBound, comparison.worst, 1, comparison};
}

Check check_normal(char const* data, WorkloadShape const& shape, NormalData const& normal,
                   Comparison const& comparison) {
  if (number_format(shape.d.element).integer) {
    return {data, Metric::kError, comparison.worst, 0, comparison};
  }
  double const expectation = normal.d * std::sqrt(static_cast<double>(shape.output.count()));
  double const norm = std::max(std::sqrt(comparison.expected_square), expectation);
  double const difference = std::sqrt(comparison.error_square);
  double const error = difference == 0 ? 0 : difference / norm;
  return {data, Metric::kFrobenius, error, frobenius_tolerance(shape, normal), comparison};
}

}  // namespace cutlass_ninja
