#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "error.h"
#include "timing.h"

namespace cutlass_ninja {
namespace {

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

/// How long a throttled GPU is left alone.
constexpr auto kRest = std::chrono::milliseconds(50);

/// NVML is read no more often: a reading costs about a millisecond of the host's time.
constexpr auto kBetweenReadings = std::chrono::milliseconds(10);

/// The events of one sample.
struct Pair {
  Event start, stop;
};

class Stopwatch {
 public:
  Stopwatch(std::function<void(int64_t)> const& launch, Nvml const& nvml, cudaStream_t stream)
      : launch_(launch), nvml_(nvml), stream_(stream) {}

  /// The times in ms of `samples` times `launches` launches. While the GPU works, NVML may be read.
  std::vector<double> time(int64_t samples, int64_t launches) {
    while (pairs_.size() < static_cast<size_t>(samples)) pairs_.emplace_back();
    gate_.close(stream_);
    for (int64_t i = 0; i < samples; ++i) {
      pairs_[i].start.record(stream_);
      for (int64_t j = 0; j < launches; ++j) launch_(index_++);
      pairs_[i].stop.record(stream_);
    }
    gate_.open();
    read();
    check(cudaStreamSynchronize(stream_), "timing launches");
    std::vector<double> times;
    for (int64_t i = 0; i < samples; ++i) times.push_back(pairs_[i].stop.ms_since(pairs_[i].start));
    return times;
  }

  int64_t launches() const { return index_; }
  std::vector<Reading>& readings() { return readings_; }
  /// Whether the last reading, which may be a few ms old, shows a throttled GPU.
  bool throttled() const {
    return !readings_.empty() && is_throttled(readings_.back().throttle_reasons);
  }
  void rest() {
    std::this_thread::sleep_for(kRest);
    next_reading_ = {};
  }

 private:
  void read() {
    auto const now = std::chrono::steady_clock::now();
    if (!nvml_.unavailable().empty() || now < next_reading_) return;
    readings_.push_back(nvml_.read());
    next_reading_ = now + kBetweenReadings;
  }

  std::function<void(int64_t)> const& launch_;
  Nvml const& nvml_;
  cudaStream_t stream_;
  Gate gate_;
  std::deque<Pair> pairs_;
  int64_t index_ = 0;
  std::vector<Reading> readings_;
  std::chrono::steady_clock::time_point next_reading_;
};

/// Warms up; gives what one launch took, in ms, at the end of it.
double warmed_up(WarmUp const& plan, double limit_ms, Stopwatch& watch) {
  double spent_ms = 0, launch_ms = 0;
  int64_t count = 1;
  do {
    double const ms = watch.time(1, count)[0];
    spent_ms += ms;
    launch_ms = ms / static_cast<double>(count);
    double const missing = std::max(static_cast<double>(plan.iterations - watch.launches()),
                                    (plan.duration_ms - spent_ms) / std::max(launch_ms, 1e-6));
    count = static_cast<int64_t>(std::clamp(missing, 1.0, double{Sampling::kMaxQueued}));
  } while (spent_ms < limit_ms &&
           (watch.launches() < plan.iterations || spent_ms < plan.duration_ms));
  return launch_ms;
}

}  // namespace

Timing time_launches(WarmUp const& warm_up, SamplingPlan const& plan,
                     std::function<void(int64_t index)> const& launch, Nvml const& nvml,
                     cudaStream_t stream) {
  Stopwatch watch(launch, nvml, stream);
  double const launch_ms = warmed_up(warm_up, plan.duration_ms, watch);
  int64_t const warmup_iterations = watch.launches();
  watch.readings().clear();

  Sampling sampling(plan, launch_ms);
  while (int64_t const samples = sampling.next()) {
    std::vector<double> const times = watch.time(samples, sampling.launches_per_sample());
    bool const discarded = watch.throttled();
    for (double const ms : times) discarded ? sampling.discard(ms) : sampling.keep(ms);
    if (discarded) watch.rest();
  }

  Timing timing{sampling.kept(),
                sampling.launches_per_sample(),
                sampling.discarded(),
                warmup_iterations,
                sampling.relative_stderr(),
                sampling.stop(),
                summarize(watch.readings())};
  timing.conditions.unavailable = nvml.unavailable();
  return timing;
}

}  // namespace cutlass_ninja
