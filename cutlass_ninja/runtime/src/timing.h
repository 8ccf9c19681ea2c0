/// How long launches take on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "conditions.h"
#include "nvml.h"
#include "sampling.h"

namespace cutlass_ninja {

/// What is launched before anything is timed. It ends when both were reached, or when it has taken
/// as long as the measurement itself may.
struct WarmUp {
  int64_t iterations;
  double duration_ms;
};

/// One measurement.
struct Timing {
  std::vector<double> samples;  ///< ms of one launch; empty if all were discarded
  int64_t launches_per_sample;
  int64_t discarded;
  int64_t warmup_iterations;
  double relative_stderr;  ///< see Sampling
  Stop stop;
  Conditions conditions;
};

/// Times launches by pairs of events around a few of them in a row. A burst of them is queued
/// behind a gate, so that the GPU never waits for the host between the two events of a pair; after
/// each burst the GPU rests, as the plan's pace says. Samples that were not taken at the top clock
/// are set aside, and so is all of a burst during which NVML says `is_throttled`. `launch` enqueues
/// one launch on `stream` and throws on an error; it is given the launch's index, so that it may
/// rotate operands. Throws CudaError.
Timing time_launches(WarmUp const& warm_up, SamplingPlan const& plan,
                     std::function<void(int64_t index)> const& launch, int multiprocessors,
                     Nvml const& nvml, cudaStream_t stream);

}  // namespace cutlass_ninja
