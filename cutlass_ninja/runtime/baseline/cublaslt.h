/// What is used of cuBLASLt, so that neither its headers nor its library are needed to build. The
/// names and values are those of NVIDIA's cublasLt.h and cublas_api.h, where they have been the
/// same since CUDA 11.
#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <string>

struct CUstream_st;

namespace cutlass_ninja::cublaslt {

using Handle = void*;  // cublasLtHandle_t
using Descriptor =
    void*;  // cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t

enum Operation : int32_t { kNone = 0, kTransposed = 1 };  // cublasOperation_t

enum ComputeType : int {  // cublasComputeType_t
  kCompute16F = 64,
  kCompute32F = 68,
  kCompute64F = 70,
  kCompute32I = 72,
  kCompute32FFastTf32 = 77,
};

enum MatmulAttribute : int { kTransA = 3, kTransB = 4 };  // cublasLtMatmulDescAttributes_t
enum LayoutAttribute : int {
  kBatchCount = 5,
  kBatchStride = 6
};  // cublasLtMatrixLayoutAttribute_t
enum PreferenceAttribute : int { kMaxWorkspaceBytes = 1 };  // cublasLtMatmulPreferenceAttributes_t

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t data[8];
};

struct Candidate {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

/// The library's functions. Each gives a cublasStatus_t, 0 for success.
struct Library {
  size_t (*version)();
  int (*create)(Handle*);
  int (*matmul_create)(Descriptor*, ComputeType, cudaDataType_t scale);
  int (*matmul_set)(Descriptor, MatmulAttribute, void const*, size_t);
  int (*matmul_destroy)(Descriptor);
  int (*layout_create)(Descriptor*, cudaDataType_t, uint64_t rows, uint64_t columns, int64_t ld);
  int (*layout_set)(Descriptor, LayoutAttribute, void const*, size_t);
  int (*layout_destroy)(Descriptor);
  int (*preference_create)(Descriptor*);
  int (*preference_set)(Descriptor, PreferenceAttribute, void const*, size_t);
  int (*preference_destroy)(Descriptor);
  int (*heuristic)(Handle, Descriptor matmul, Descriptor a, Descriptor b, Descriptor c,
                   Descriptor d, Descriptor preference, int requested, Candidate*, int* found);
  int (*matmul)(Handle, Descriptor matmul, void const* alpha, void const* a, Descriptor,
                void const* b, Descriptor, void const* beta, void const* c, Descriptor, void* d,
                Descriptor, Algorithm const*, void* workspace, size_t workspace_bytes,
                CUstream_st*);
};

/// Loads the library at `path`; gives why that fails, or an empty text.
std::string load(std::string const& path, Library& library);

}  // namespace cutlass_ninja::cublaslt
