/// What a kernel does with its sums before it writes D, as the reference sees it.
#pragma once

#include "cutlass_ninja/epilogue.h"
#include "element.h"
#include "problem_space.h"

namespace cutlass_ninja {

/// The factor of negative numbers that leaky ReLU is profiled with.
constexpr double kLeakyReluSlope = 0.01;

/// The problem field that says how much of C is added: by default none, but all of a residual
/// block's second source.
Field beta_field(cutlass_ninja_epilogue const& epilogue);

/// An epilogue with its operands. Factors are as the kernel's epilogue type holds them.
struct Epilogue {
  cutlass_ninja_epilogue fusion;
  cutlass_ninja_element compute;  ///< the type that the kernel applies alpha, beta and the rest in
  double alpha, beta, leaky_relu_slope;
  void const* bias;
  bool reads_c;
};

/// How far a kernel's floating-point D may be from the reference, element by element.
struct ErrorBounds {
  double linear;      ///< relative, of each addend of alpha * sum + beta * C + bias
  double activation;  ///< relative, of the activation's argument and of its result
  double partial;     ///< absolute, of alpha * sum
  double slope;       ///< the activation's steepest: by how much it magnifies these errors
};

/// The steepest slope of an activation: by how much it magnifies an error.
double steepest_slope(cutlass_ninja_activation activation);

/// Whether an activation bends most of what lies further from 0 than a few units out of sight.
bool saturates(cutlass_ninja_activation activation);

/// The largest relative error of an activation computed in a type, of its argument or result,
/// whichever is larger. Tanh in f16 and f32 is the GPU's approximation, whose relative error is at
/// most 2^-10.987 (CUDA Math API, tanh.approx); the other functions are a few operations.
double activation_roundoff(cutlass_ninja_activation activation, cutlass_ninja_element compute);

}  // namespace cutlass_ninja
