/// What can go wrong, by who can put it right, and the check of every CUDA call.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace cutlass_ninja {

/// The command line is wrong: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The machine lacks what the profiler needs: exit code 3.
struct MachineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// There is no such problem, or it is too large to be counted in 64 bits, whatever the kernel.
struct UnsupportedProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The kernel itself refused what it had accepted before.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A CUDA call failed. The message gives CUDA's name and text of the error, and what was being
/// done.
struct CudaError : std::runtime_error {
  CudaError(cudaError_t code, char const* doing);
  cudaError_t code;
};

/// Throws a CudaError unless `code` is cudaSuccess. `doing` completes "... while".
void check(cudaError_t code, char const* doing);

/// Whether the process's CUDA context is lost: every further call would report the same error.
/// Clears an error that is not sticky.
bool cuda_is_lost();

}  // namespace cutlass_ninja
