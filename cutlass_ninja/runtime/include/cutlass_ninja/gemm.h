/// The C interface of a GEMM kernel, D = epilogue(alpha * A * B, beta * C) for each of batch_count
/// problems; see cutlass_ninja/epilogue.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cutlass_ninja/abi.h"
#include "cutlass_ninja/epilogue.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One GEMM problem with its operands in device memory. A is m x k, B is k x n, C and D are m x n.
/// Leading dimensions and batch strides count elements. C is read when beta != 0, and always by a
/// residual block.
typedef struct {
  int m, n, k, batch_count;
  void const *a, *b, *c;
  void* d;
  int64_t lda, ldb, ldc, ldd;
  int64_t batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;
  double alpha, beta;
  int split_k_slices;  ///< slices of K that are summed on their own; 1: no split
  cutlass_ninja_epilogue_arguments epilogue;
  int const* parameters;  ///< one for each of the kernel's; null: the defaults
} cutlass_ninja_gemm_arguments;

/// A GEMM kernel: what it is, and how to run it. A parameter block is caller-allocated host memory
/// of footprint.params_bytes, aligned to CUTLASS_NINJA_PARAMS_ALIGNMENT; several may be live at
/// once.
typedef struct {
  int abi_version;          ///< CUTLASS_NINJA_ABI_VERSION of the header that it was compiled with
  char const* description;  ///< JSON object: name, key, architecture and configuration
  char const* name;         ///< the description's "name"
  char const* key;          ///< the description's "key": the content key of this binary
  char const* operation;    ///< the description's "operation": "gemm"
  cutlass_ninja_tensor a, b, c, d;
  cutlass_ninja_element accumulator;
  cutlass_ninja_element element_epilogue;  ///< the type in which alpha and beta are applied
  cutlass_ninja_footprint footprint;

  /// Loads the kernel's device half and compares it with the host half. `initialize` does it, too,
  /// but does not say what is wrong: `*reason` (if not null) gets a static string. Needs a GPU.
  cutlass_ninja_status (*load)(char const** reason);
  /// Whether the kernel runs this problem. Needs no GPU. `*reason` (if not null) gets a static
  /// string that says why not.
  cutlass_ninja_status (*can_implement)(cutlass_ninja_gemm_arguments const*, char const** reason);
  /// Bytes of device memory that the problem needs beside its operands; 0 for none.
  size_t (*workspace_bytes)(cutlass_ninja_gemm_arguments const*);
  /// Fills a parameter block and prepares the workspace on the stream. Called once before the first
  /// `run`, again whenever an argument changes.
  cutlass_ninja_status (*initialize)(cutlass_ninja_gemm_arguments const*, void* workspace,
                                     void* params, cudaStream_t);
  /// Launches the kernel once; returns the launch's own error.
  cudaError_t (*run)(void* params, cudaStream_t);

  /// The type to which the kernel rounds A and B before it multiplies them (TF32 for f32 operands
  /// on tensor cores). VOID: it multiplies them as they are.
  cutlass_ninja_element element_math;

  cutlass_ninja_epilogue epilogue;
  /// Whether slices of K are summed one after the other in D itself, and so each time rounded to
  /// its type.
  int split_k_rounds;

  cutlass_ninja_parameter const* parameters;
  int parameter_count;
} cutlass_ninja_gemm_kernel;

/// The profiler's command line for one GEMM kernel; `main` of every GEMM profiler calls it.
/// Returns the process's exit code.
int cutlass_ninja_profile_gemm(cutlass_ninja_gemm_kernel const* kernel, int argc, char** argv);

#ifdef __cplusplus
}
#endif
