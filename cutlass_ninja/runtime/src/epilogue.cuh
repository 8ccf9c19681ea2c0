/// The epilogue of one element of D, in f64 or, where D is an integer, exactly as the kernel
/// computes it. For references of any operation kind.
#pragma once

#include "element.cuh"
#include "epilogue.h"

namespace cutlass_ninja {

/// What one element of a floating-point D should be, and how far it may be from that before it is
/// rounded to D's type.
struct Expected {
  double value, bound;
};

/// An activation in f64.
__device__ inline double activate(cutlass_ninja_activation activation, double x, double slope) {
  switch (activation) {
    case CUTLASS_NINJA_ACTIVATION_RELU:
      return fmax(x, 0.0);
    case CUTLASS_NINJA_ACTIVATION_LEAKY_RELU:
      return x > 0 ? x : x * slope;
    case CUTLASS_NINJA_ACTIVATION_GELU:
      return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case CUTLASS_NINJA_ACTIVATION_GELU_TAYLOR:
      return 0.5 * x * (1 + tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x)));
    case CUTLASS_NINJA_ACTIVATION_SILU:
      return x / (1 + exp(-x));
    case CUTLASS_NINJA_ACTIVATION_SIGMOID:
      return 1 / (1 + exp(-x));
    case CUTLASS_NINJA_ACTIVATION_HARDSWISH:
      return x * fmin(fmax(x + 3, 0.0), 6.0) / 6;
    case CUTLASS_NINJA_ACTIVATION_TANH:
      return tanh(x);
    default:
      return x;
  }
}

/// One element from its sum, C and bias, each as f64 holds them.
__device__ inline Expected apply(Epilogue const& epilogue, ErrorBounds const& bounds, double sum,
                                 double c, double bias) {
  bool const residual = epilogue.fusion.binary_op != CUTLASS_NINJA_BINARY_OP_NONE;
  double const product = epilogue.alpha * sum;
  double const source = epilogue.reads_c ? epilogue.beta * c : 0;
  double const addend = residual ? 0 : source;
  double const linear = product + addend + bias;
  double value = activate(epilogue.fusion.activation, linear, epilogue.leaky_relu_slope);
  double bound = bounds.slope * (bounds.linear * (fabs(product) + fabs(addend) + fabs(bias)) +
                                 bounds.partial) +
                 bounds.activation * (fabs(linear) + fabs(value));
  if (epilogue.fusion.binary_op == CUTLASS_NINJA_BINARY_OP_PLUS) {
    bound += bounds.linear * (fabs(value) + fabs(source));
    value += source;
  } else if (epilogue.fusion.binary_op == CUTLASS_NINJA_BINARY_OP_MULTIPLIES) {
    value *= source;
    bound = bound * fabs(source) + bounds.linear * fabs(value);
  }
  return {activate(epilogue.fusion.unary_op, value, epilogue.leaky_relu_slope), bound};
}

/// How far `actual` is from an integer D, which has one right value: alpha * sum + beta * C in s32,
/// or in f32 and then rounded to nearest, ties to even, and either way clamped to D's type. In f32
/// the compiler fuses one of the two products with their sum; it may be either.
__device__ inline double integer_error(Epilogue const& epilogue, NumberFormat const& format,
                                       double sum, double c, double actual, double* expected) {
  auto clamped = [&](double value) { return fmin(fmax(value, format.lowest), format.highest); };
  if (epilogue.compute == CUTLASS_NINJA_S32) {
    int64_t const scaled = static_cast<int64_t>(epilogue.alpha) * static_cast<int64_t>(sum);
    int64_t const source =
        epilogue.reads_c ? static_cast<int64_t>(epilogue.beta) * static_cast<int64_t>(c) : 0;
    *expected = clamped(static_cast<double>(static_cast<int32_t>(scaled + source)));
    return fabs(actual - *expected);
  }
  float const alpha = static_cast<float>(epilogue.alpha), beta = static_cast<float>(epilogue.beta);
  float const x = static_cast<float>(sum), y = static_cast<float>(c);
  float const first =
      epilogue.reads_c ? __fmaf_rn(alpha, x, __fmul_rn(beta, y)) : __fmul_rn(alpha, x);
  float const second = epilogue.reads_c ? __fmaf_rn(beta, y, __fmul_rn(alpha, x)) : first;
  *expected = clamped(rint(static_cast<double>(first)));
  return fmin(fabs(actual - *expected), fabs(actual - clamped(rint(static_cast<double>(second)))));
}

}  // namespace cutlass_ninja
