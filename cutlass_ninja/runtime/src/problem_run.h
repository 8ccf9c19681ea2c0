/// One problem of one kernel, from its operands to its verified measurement.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "device.h"
#include "nvml.h"
#include "statistics.h"
#include "timing.h"
#include "verification.h"
#include "workload.h"

namespace cutlass_ninja {

/// How a problem ended.
enum class Status {
  kSuccess,
  kIncorrect,     ///< D differs from the reference, or something beside an operand was written
  kNotSupported,  ///< the kernel cannot run the problem, or its tensors do not fit the memory
  kFailed,        ///< a launch, or CUDA before it, reported an error
};

/// "success", "incorrect", "not_supported" or "failed".
char const* status_name(Status status);

/// What became of one problem.
struct Outcome {
  Status status = Status::kSuccess;
  std::string reason;  ///< why it is no success; empty for a success
  int64_t workspace_bytes = 0;
  std::vector<Check> checks;             ///< empty if verification was skipped
  std::optional<Statistics> runtime_ms;  ///< of a success that was timed
  std::optional<Timing> timing;          ///< of what was timed, without the samples
  int64_t copies = 0;                    ///< of the operands, among which launches took turns

  static Outcome not_supported(std::string reason);
  static Outcome failed(std::string reason);
};

/// Verifies the kernel on small integers and on the data that is timed, times it, and verifies what
/// the last timed launch and a further one left. A CUDA error becomes part of the outcome; a GPU
/// that cannot run the kernel's code throws MachineError.
Outcome run_problem(Workload const& workload, size_t params_bytes, Settings const& settings,
                    Device const& device, Nvml const& nvml, cudaStream_t stream);

}  // namespace cutlass_ninja
