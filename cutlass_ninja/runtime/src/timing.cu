#include <algorithm>

#include "error.h"
#include "timing.h"

namespace cutlass_ninja {
namespace {

/// Launches queued at once: 3 entries each, well below the 1024 that a stream queues.
constexpr int64_t kChunk = 64;

/// After so many clock cycles (about 0.1 s) the gate opens by itself, where launches block.
constexpr long long kGateCycles = 200'000'000;

__global__ void wait_for_gate(int const volatile* open) {
  long long const start = clock64();
  while (*open == 0 && clock64() - start < kGateCycles) {
  }
}

/// Holds a stream back while work is queued on it.
class Gate {
 public:
  Gate() {
    check(cudaHostAlloc(reinterpret_cast<void**>(&open_), sizeof *open_, cudaHostAllocMapped),
          "preparing the timing");
  }
  Gate(Gate const&) = delete;
  Gate& operator=(Gate const&) = delete;
  ~Gate() {
    open();
    cudaFreeHost(open_);
  }

  /// The previous gate on the stream must have been passed.
  void close(cudaStream_t stream) {
    set(0);
    void* device_open = nullptr;
    check(cudaHostGetDevicePointer(&device_open, open_, 0), "preparing the timing");
    wait_for_gate<<<1, 1, 0, stream>>>(static_cast<int const*>(device_open));
    check(cudaGetLastError(), "preparing the timing");
  }
  void open() { set(1); }

 private:
  void set(int value) { *static_cast<int volatile*>(open_) = value; }

  int* open_ = nullptr;
};

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

/// How many launches to queue next, given what was measured so far; 0 when done.
int64_t next_chunk(TimingPlan const& plan, int64_t launches, double total_ms) {
  if (plan.duration_ms <= 0) return std::min(kChunk, plan.iterations - launches);
  if (launches == 0) return 1;
  if (total_ms >= plan.duration_ms) return 0;
  double const missing = (plan.duration_ms - total_ms) / (total_ms / static_cast<double>(launches));
  return missing < kChunk ? std::max<int64_t>(static_cast<int64_t>(missing), 1) : kChunk;
}

}  // namespace

std::vector<float> time_launches(TimingPlan const& plan,
                                 std::function<void(int64_t index)> const& launch,
                                 cudaStream_t stream) {
  int64_t index = 0;
  for (; index < plan.warmup_iterations; ++index) launch(index);
  check(cudaStreamSynchronize(stream), "warming up");

  std::vector<float> samples;
  Gate gate;
  std::vector<Event> starts(kChunk), stops(kChunk);
  double total_ms = 0;
  while (int64_t const chunk = next_chunk(plan, static_cast<int64_t>(samples.size()), total_ms)) {
    gate.close(stream);
    for (int64_t i = 0; i < chunk; ++i) {
      starts[i].record(stream);
      launch(index++);
      stops[i].record(stream);
    }
    gate.open();
    check(cudaStreamSynchronize(stream), "timing launches");
    for (int64_t i = 0; i < chunk; ++i) {
      samples.push_back(stops[i].ms_since(starts[i]));
      total_ms += samples.back();
    }
  }
  return samples;
}

}  // namespace cutlass_ninja
