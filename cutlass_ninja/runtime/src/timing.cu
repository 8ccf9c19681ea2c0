#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "error.h"
#include "event.h"
#include "sm_clock.h"
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

/// NVML is read no more often: a reading costs about a millisecond of the host's time.
constexpr auto kBetweenReadings = std::chrono::milliseconds(10);

/// The events of one sample.
struct Pair {
  Event start, stop;
};

/// What one sample took, and at which clock.
struct Measured {
  double ms;
  std::optional<double> sm_clock_mhz;
};

class Stopwatch {
 public:
  Stopwatch(std::function<void(int64_t)> const& launch, Pace const& pace, int multiprocessors,
            Nvml const& nvml, cudaStream_t stream)
      : launch_(launch),
        rests_(pace),
        clock_(multiprocessors, Sampling::kMaxQueuedSamples + 1),
        nvml_(nvml),
        stream_(stream) {}

  /// One burst: `samples` times `launches` launches. While the GPU works, NVML may be read.
  std::vector<Measured> burst(int64_t samples, int64_t launches) {
    while (pairs_.size() < static_cast<size_t>(samples)) pairs_.emplace_back();
    clock_.begin(stream_);
    gate_.close(stream_);
    clock_.read(stream_);
    for (int64_t i = 0; i < samples; ++i) {
      pairs_[i].start.record(stream_);
      for (int64_t j = 0; j < launches; ++j) launch_(index_++);
      pairs_[i].stop.record(stream_);
      clock_.read(stream_);
    }
    gate_.open();
    read();
    clock_.end(stream_);
    check(cudaStreamSynchronize(stream_), "timing launches");
    std::vector<Measured> measured;
    burst_ms_ = 0;
    for (int64_t i = 0; i < samples; ++i) {
      double const ms = pairs_[i].stop.ms_since(pairs_[i].start);
      measured.push_back({ms, clock_.mhz(i, i + 1)});
      burst_ms_ += ms;
    }
    return measured;
  }

  int64_t launches() const { return index_; }
  std::vector<Reading>& readings() { return readings_; }
  /// Whether the last reading, which may be a few ms old, shows a throttled GPU.
  bool throttled() const {
    return !readings_.empty() && is_throttled(readings_.back().throttle_reasons);
  }
  /// Leaves the GPU alone after a burst that showed it `slowed` or throttled, or did not, and says
  /// how long, in ms.
  double rest(bool slowed) {
    double const ms = rests_.after(burst_ms_, slowed || throttled());
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    return ms;
  }

 private:
  void read() {
    auto const now = std::chrono::steady_clock::now();
    if (!nvml_.unavailable().empty() || now < next_reading_) return;
    readings_.push_back(nvml_.read());
    next_reading_ = now + kBetweenReadings;
  }

  std::function<void(int64_t)> const& launch_;
  Rests rests_;
  SmClock clock_;
  Nvml const& nvml_;
  cudaStream_t stream_;
  Gate gate_;
  std::deque<Pair> pairs_;
  int64_t index_ = 0;
  double burst_ms_ = 0;
  std::vector<Reading> readings_;
  std::chrono::steady_clock::time_point next_reading_;
};

/// Warms up; gives what one launch took, in ms, at the end of it.
double warmed_up(WarmUp const& plan, SamplingPlan const& limits, Stopwatch& watch) {
  double spent_ms = 0, launch_ms = 0;
  int64_t count = 1;
  do {
    double const ms = watch.burst(1, count)[0].ms;
    spent_ms += ms;
    launch_ms = std::max(ms / static_cast<double>(count), 1e-6);
    watch.rest(false);
    double const missing = std::max(static_cast<double>(plan.iterations - watch.launches()),
                                    (plan.duration_ms - spent_ms) / launch_ms);
    double const most =
        std::clamp(limits.pace.burst_ms / launch_ms, 1.0, double{Sampling::kMaxQueued});
    count = static_cast<int64_t>(std::clamp(missing, 1.0, most));
  } while (spent_ms < limits.duration_ms &&
           (watch.launches() < plan.iterations || spent_ms < plan.duration_ms));
  return launch_ms;
}

/// Adds the clocks of the samples that count.
void add_clocks(std::vector<Sample> const& samples, Conditions& conditions) {
  double sum = 0, count = 0;
  for (Sample const& sample : samples) {
    if (!sample.sm_clock_mhz) continue;
    double const mhz = *sample.sm_clock_mhz;
    sum += mhz;
    count += 1;
    conditions.sm_clock_min_mhz = std::min(conditions.sm_clock_min_mhz.value_or(mhz), mhz);
  }
  if (count > 0) conditions.sm_clock_mhz = sum / count;
}

}  // namespace

Timing time_launches(WarmUp const& warm_up, SamplingPlan const& plan,
                     std::function<void(int64_t index)> const& launch, int multiprocessors,
                     Nvml const& nvml, cudaStream_t stream) {
  Stopwatch watch(launch, plan.pace, multiprocessors, nvml, stream);
  double const launch_ms = warmed_up(warm_up, plan, watch);
  int64_t const warmup_iterations = watch.launches();
  watch.readings().clear();

  Sampling sampling(plan, launch_ms);
  while (int64_t const samples = sampling.next()) {
    std::vector<Measured> const burst = watch.burst(samples, sampling.launches_per_sample());
    for (Measured const& one : burst) {
      if (watch.throttled()) {
        sampling.discard(one.ms);
      } else {
        sampling.add(one.ms, one.sm_clock_mhz);
      }
    }
    if (plan.pace.rest_ms > 0) sampling.set_aside();
    sampling.rest(watch.rest(sampling.slowed()));
  }
  sampling.finish();

  Timing timing{{},
                sampling.launches_per_sample(),
                sampling.discarded(),
                warmup_iterations,
                sampling.relative_stderr(),
                sampling.stop(),
                summarize(watch.readings())};
  for (Sample const& sample : sampling.kept()) timing.samples.push_back(sample.ms);
  add_clocks(sampling.kept(), timing.conditions);
  timing.conditions.reduced_clock = sampling.reduced_clock();
  timing.conditions.unavailable = nvml.unavailable();
  return timing;
}

}  // namespace cutlass_ninja
