/// What a kernel of any operation kind does with its sums before it writes D:
///     D = unary_op(activation(alpha * sum + beta * C + bias))
/// or, where it has a binary_op (a residual block),
///     D = unary_op(binary_op(activation(alpha * sum + bias), beta * C))
#pragma once

#include <stdint.h>

#include "cutlass_ninja/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A vector that is added to the scaled sums.
typedef enum {
  CUTLASS_NINJA_BIAS_NONE = 0,
  CUTLASS_NINJA_BIAS_PER_ROW,     ///< one value for each row of D
  CUTLASS_NINJA_BIAS_PER_COLUMN,  ///< one value for each column of D
} cutlass_ninja_bias;

/// Activation functions, by the names of cutlass::epilogue::thread.
typedef enum {
  CUTLASS_NINJA_ACTIVATION_IDENTITY = 0,
  CUTLASS_NINJA_ACTIVATION_RELU,
  CUTLASS_NINJA_ACTIVATION_LEAKY_RELU,
  CUTLASS_NINJA_ACTIVATION_GELU,         ///< by erf
  CUTLASS_NINJA_ACTIVATION_GELU_TAYLOR,  ///< approximated by tanh
  CUTLASS_NINJA_ACTIVATION_SILU,
  CUTLASS_NINJA_ACTIVATION_SIGMOID,
  CUTLASS_NINJA_ACTIVATION_HARDSWISH,
  CUTLASS_NINJA_ACTIVATION_TANH,
} cutlass_ninja_activation;

/// How a residual block joins its second source.
typedef enum {
  CUTLASS_NINJA_BINARY_OP_NONE = 0,  ///< it is no residual block
  CUTLASS_NINJA_BINARY_OP_PLUS,
  CUTLASS_NINJA_BINARY_OP_MULTIPLIES,
} cutlass_ninja_binary_op;

/// A kernel's epilogue.
typedef struct {
  cutlass_ninja_bias bias;
  cutlass_ninja_element element_bias;  ///< VOID where there is no bias
  cutlass_ninja_activation activation;
  cutlass_ninja_binary_op binary_op;
  cutlass_ninja_activation unary_op;  ///< IDENTITY or RELU
} cutlass_ninja_epilogue;

/// What the epilogue needs beside alpha, beta and C. The bias is aligned as D is.
typedef struct {
  void const* bias;           ///< in device memory; not read by a kernel without bias
  int64_t batch_stride_bias;  ///< in elements; 0: one bias for all batches
  double leaky_relu_slope;    ///< factor of negative numbers
} cutlass_ninja_epilogue_arguments;

#ifdef __cplusplus
}
#endif
