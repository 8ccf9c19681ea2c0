#include <algorithm>

#include "error.h"
#include "sm_clock.h"

namespace cutlass_ninja {
namespace {

__global__ void read_cycles(long long* cycles, unsigned multiprocessors) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm < multiprocessors) cycles[sm] = clock64();
}

}  // namespace

SmClock::SmClock(int multiprocessors, int64_t most_readings)
    : multiprocessors_(multiprocessors),
      most_readings_(most_readings),
      memory_(sizeof(Cycles) * static_cast<size_t>(multiprocessors * most_readings)),
      cycles_(static_cast<size_t>(multiprocessors * most_readings)) {
  // Loads the kernel, which could not be done while others wait on the device.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, read_cycles), "reading the clock");
}

void SmClock::begin(cudaStream_t stream) {
  readings_ = 0;
  check(cudaMemsetAsync(memory_.data(), 0, sizeof(Cycles) * cycles_.size(), stream),
        "reading the clock");
}

void SmClock::read(cudaStream_t stream) {
  if (readings_ == most_readings_) return;
  if (events_.size() == static_cast<size_t>(readings_)) events_.emplace_back();
  events_[static_cast<size_t>(readings_)].record(stream);
  // A block for each multiprocessor: most of them get one.
  read_cycles<<<static_cast<unsigned>(multiprocessors_), 1, 0, stream>>>(
      reinterpret_cast<Cycles*>(memory_.data()) + readings_ * multiprocessors_,
      static_cast<unsigned>(multiprocessors_));
  check(cudaGetLastError(), "reading the clock");
  ++readings_;
}

void SmClock::end(cudaStream_t stream) {
  size_t const bytes = sizeof(Cycles) * static_cast<size_t>(readings_ * multiprocessors_);
  check(cudaMemcpyAsync(cycles_.data(), memory_.data(), bytes, cudaMemcpyDeviceToHost, stream),
        "reading the clock");
}

std::optional<double> SmClock::mhz(int64_t from, int64_t to) const {
  if (to >= readings_) return std::nullopt;
  double const ms = events_[static_cast<size_t>(to)].ms_since(events_[static_cast<size_t>(from)]);
  if (ms < kLeastMs) return std::nullopt;
  std::vector<double> clocks;
  for (int64_t sm = 0; sm < multiprocessors_; ++sm) {
    Cycles const start = cycles_[static_cast<size_t>(from * multiprocessors_ + sm)];
    Cycles const stop = cycles_[static_cast<size_t>(to * multiprocessors_ + sm)];
    if (start != 0 && stop > start) clocks.push_back(static_cast<double>(stop - start) * 1e-3 / ms);
  }
  if (clocks.empty()) return std::nullopt;
  auto const middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace cutlass_ninja
