#include "error.h"

namespace cutlass_ninja {

CudaError::CudaError(cudaError_t code, char const* doing)
    : std::runtime_error(std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) +
                         ") while " + doing),
      code(code) {}

void check(cudaError_t code, char const* doing) {
  if (code != cudaSuccess) throw CudaError(code, doing);
}

bool cuda_is_lost() {
  cudaGetLastError();
  return cudaDeviceSynchronize() != cudaSuccess;
}

}  // namespace cutlass_ninja
