/// The C interface of a two-dimensional convolution kernel, D = epilogue(alpha * conv(A, B), beta *
/// C); see cutlass_ninja/epilogue.h. D is a matrix of as many columns as it has channels (wgrad: of
/// filter elements).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cutlass_ninja/abi.h"
#include "cutlass_ninja/epilogue.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Which of the three products a kernel computes, named as in cutlass_library.ConvKind. Activations
/// are n x h x w x c, filters k x r x s x (c / groups), outputs n x p x q x k; each is packed, its
/// last index contiguous.
typedef enum {
  CUTLASS_NINJA_FPROP = 0,  ///< A: activations, B: filters, C and D: outputs
  CUTLASS_NINJA_DGRAD = 1,  ///< A: outputs' gradient, B: filters, C and D: activations' gradient
  CUTLASS_NINJA_WGRAD = 2,  ///< A: outputs' gradient, B: activations, C and D: filters' gradient
} cutlass_ninja_conv_kind;

/// How a kernel finds its operands' elements, named as in cutlass_library.IteratorAlgorithm.
typedef enum {
  CUTLASS_NINJA_ANALYTIC = 0,
  CUTLASS_NINJA_OPTIMIZED = 1,
  CUTLASS_NINJA_FIXED_CHANNELS = 2,
  CUTLASS_NINJA_FEW_CHANNELS = 3,
} cutlass_ninja_iterator_algorithm;

/// Which strides a kernel is for, named as in cutlass_library.StrideSupport.
typedef enum {
  CUTLASS_NINJA_STRIDED = 0,
  CUTLASS_NINJA_UNITY = 1,
} cutlass_ninja_stride_support;

/// How a kernel divides groups among thread blocks, named as in cutlass_library.GroupMode.
typedef enum {
  CUTLASS_NINJA_GROUP_MODE_NONE = 0,            ///< one group only
  CUTLASS_NINJA_GROUP_MODE_SINGLE_GROUP = 1,    ///< a thread block computes in one group
  CUTLASS_NINJA_GROUP_MODE_MULTIPLE_GROUP = 2,  ///< a thread block computes several groups
} cutlass_ninja_group_mode;

/// Whether the filter is turned by 180 degrees, named as in cutlass_library.ConvMode.
typedef enum {
  CUTLASS_NINJA_CROSS_CORRELATION = 0,
  CUTLASS_NINJA_CONVOLUTION = 1,
} cutlass_ninja_conv_mode;

/// The extents of one problem. p = (h + 2 pad_h - (r - 1) dilation_h - 1) / stride_h + 1, rounded
/// down; q likewise. split_k_slices is how many parts the sum of an element of D is computed in.
typedef struct {
  int n, h, w, c, k, r, s, p, q;
  int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
  int groups, split_k_slices;
  cutlass_ninja_conv_mode mode;
} cutlass_ninja_conv2d_problem;

/// One problem with its operands in device memory. C is read when beta != 0, and always by a
/// residual block.
typedef struct {
  cutlass_ninja_conv2d_problem problem;
  void const *a, *b, *c;
  void* d;
  double alpha, beta;
  cutlass_ninja_epilogue_arguments epilogue;
} cutlass_ninja_conv2d_arguments;

/// What kind of convolution kernel it is.
typedef struct {
  cutlass_ninja_conv_kind conv_kind;
  cutlass_ninja_iterator_algorithm iterator_algorithm;
  cutlass_ninja_stride_support stride_support;
  cutlass_ninja_group_mode group_mode;
  int tile_n;  ///< columns of D's matrix that one thread block computes
  cutlass_ninja_tensor a, b, c, d;
  cutlass_ninja_element element_epilogue;  ///< the type in which alpha and beta are applied
  cutlass_ninja_epilogue epilogue;
  /// Whether slices of K are summed one after the other in D itself, and so each time rounded to
  /// its type.
  int split_k_rounds;
} cutlass_ninja_conv2d_traits;

/// A convolution kernel: what it is, and how to run it. Its members are those of
/// cutlass_ninja_gemm_kernel, which see.
typedef struct {
  int abi_version;
  char const* description;
  char const* name;
  char const* key;
  char const* operation;  ///< "conv2d"
  cutlass_ninja_conv2d_traits traits;
  cutlass_ninja_element accumulator;
  cutlass_ninja_footprint footprint;

  cutlass_ninja_status (*load)(char const** reason);
  cutlass_ninja_status (*can_implement)(cutlass_ninja_conv2d_arguments const*, char const** reason);
  size_t (*workspace_bytes)(cutlass_ninja_conv2d_arguments const*);
  cutlass_ninja_status (*initialize)(cutlass_ninja_conv2d_arguments const*, void* workspace,
                                     void* params, cudaStream_t);
  cudaError_t (*run)(void* params, cudaStream_t);

  cutlass_ninja_element element_math;
} cutlass_ninja_conv2d_kernel;

/// The profiler's command line for one convolution kernel; `main` of every such profiler calls it.
/// Returns the process's exit code.
int cutlass_ninja_profile_conv2d(cutlass_ninja_conv2d_kernel const* kernel, int argc, char** argv);

#ifdef __cplusplus
}
#endif
