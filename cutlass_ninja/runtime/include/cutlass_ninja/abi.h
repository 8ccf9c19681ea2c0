/// The C interface between a kernel's host half and whoever launches it: the profiler's runtime, or
/// a program that links an exported kernel. Nothing here depends on CUTLASS.
#pragma once

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever a structure of this interface changes its layout or meaning.
#define CUTLASS_NINJA_ABI_VERSION 3

/// Alignment in bytes that a kernel's parameter block needs (128: a TMA descriptor's).
#define CUTLASS_NINJA_PARAMS_ALIGNMENT 128

/// What a kernel answers. The names follow cutlass::Status.
typedef enum {
  CUTLASS_NINJA_SUCCESS = 0,
  CUTLASS_NINJA_NOT_SUPPORTED = 1,   ///< the kernel cannot run this problem (alignment, limits)
  CUTLASS_NINJA_ERROR_INTERNAL = 2,  ///< CUTLASS or CUDA refused for another reason
} cutlass_ninja_status;

/// Element types, named as in cutlass_library.DataType.
typedef enum {
  CUTLASS_NINJA_VOID = 0,
  CUTLASS_NINJA_F16,
  CUTLASS_NINJA_BF16,
  CUTLASS_NINJA_TF32,
  CUTLASS_NINJA_F32,
  CUTLASS_NINJA_F64,
  CUTLASS_NINJA_S8,
  CUTLASS_NINJA_U8,
  CUTLASS_NINJA_S32,
} cutlass_ninja_element;

/// Layouts, named as in cutlass_library.LayoutType.
typedef enum {
  CUTLASS_NINJA_COLUMN_MAJOR = 0,
  CUTLASS_NINJA_ROW_MAJOR = 1,
  CUTLASS_NINJA_TENSOR_NHWC = 2,
} cutlass_ninja_layout;

/// One operand: its element type, layout, and the alignment, in elements, of its pointer and its
/// strides: a matrix's leading dimension and batch stride, an NHWC tensor's channels.
typedef struct {
  cutlass_ninja_element element;
  cutlass_ninja_layout layout;
  int alignment;
} cutlass_ninja_tensor;

/// A run-time parameter: an integer that changes how a kernel computes and not what, and that may
/// be chosen anew for each problem.
typedef struct {
  char const* name;
  char const* help;
  int const* choices;  ///< the first is the default
  int choice_count;
} cutlass_ninja_parameter;

/// What the compiler decided about the kernel's device half.
typedef struct {
  size_t shared_memory_bytes;  ///< dynamic shared memory of one thread block
  size_t params_bytes;         ///< size of the parameter block
  int threads;                 ///< threads of one thread block
  int cluster[3];              ///< thread blocks of one cluster; {1, 1, 1} where there is none
} cutlass_ninja_footprint;

#ifdef __cplusplus
}
#endif
