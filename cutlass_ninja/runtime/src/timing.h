/// How long launches take on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

namespace cutlass_ninja {

/// How many launches are made.
struct TimingPlan {
  int warmup_iterations;
  int iterations;
  double duration_ms;  ///< if > 0, replaces `iterations`: the GPU time after which to stop
};

/// Times each launch by a pair of events around it, in ms. Launches are queued in chunks behind a
/// gate, so the GPU never waits for the host between the two events of a pair. `launch` enqueues
/// one launch on `stream` and throws on an error; it is given the launch's index, so that it may
/// rotate operands. Throws CudaError.
std::vector<float> time_launches(TimingPlan const& plan,
                                 std::function<void(int64_t index)> const& launch,
                                 cudaStream_t stream);

}  // namespace cutlass_ninja
