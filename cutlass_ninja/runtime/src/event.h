/// A CUDA event that knows its time.
#pragma once

#include <cuda_runtime_api.h>

#include "error.h"

namespace cutlass_ninja {

/// A point of a stream. Its time is known once the stream has passed it. Throws CudaError.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "preparing the timing"); }
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "timing a launch"); }
  float ms_since(Event const& start) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.event_, event_), "timing a launch");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace cutlass_ninja
