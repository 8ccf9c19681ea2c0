/// Operands that take turns, so that launches do not find theirs in the cache.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "buffer.h"
#include "params.h"
#include "workload.h"

namespace cutlass_ninja {

/// Copies of a problem's operands, each with a parameter block, among which launches take turns.
/// The first are the problem's own; all have the same values, and one workspace.
class Rotation {
 public:
  /// Makes the copies. Throws CudaError, and KernelError if the kernel refuses one of them.
  Rotation(Workload const& workload, Operands const& own, void* workspace, Params const& params,
           int64_t copies, cudaStream_t stream);

  /// The parameter block of a launch.
  void* params(int64_t index) const;
  /// The operands of a launch.
  Operands const& operands(int64_t index) const;

  /// What one launch reads and writes.
  static int64_t bytes(WorkloadShape const& shape);

 private:
  Params const& first_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<Operands> operands_;
  std::vector<Params> blocks_;
};

}  // namespace cutlass_ninja
