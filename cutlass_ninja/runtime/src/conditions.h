/// The state of the GPU in which something was measured. Nothing here depends on CUDA or NVML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cutlass_ninja {

/// What NVML said at one moment; nothing for what it does not know of this GPU.
struct Reading {
  std::optional<double> memory_clock_mhz, temperature_c, power_w;
  uint64_t throttle_reasons = 0;  ///< nvmlClocksThrottleReasons
};

/// What is known of one measurement's surroundings.
struct Conditions {
  std::string unavailable;  ///< why there are no readings; empty if there are
  int64_t readings = 0;
  /// Of the samples, by the multiprocessors' own counters: the mean, and the lowest.
  std::optional<double> sm_clock_mhz, sm_clock_min_mhz;
  bool reduced_clock = false;  ///< whether samples count that were taken below the top clock
  std::optional<double> memory_clock_mhz, power_w;  ///< means of the readings
  std::optional<double> temperature_c;              ///< the highest
  uint64_t throttle_reasons = 0;                    ///< all that were ever given
};

/// Whether what is measured in this state must be discarded: the GPU protects itself against heat
/// or a failing power supply. The cap of its power by software is no such reason: NVML gives it for
/// a while after it has ended, and the clock of each sample tells.
bool is_throttled(uint64_t reasons);

/// The reasons by name: "sw_power_cap", "hw_thermal_slowdown"... Those that only say what clock was
/// asked for (idle, application clocks) are left out.
std::vector<std::string> throttle_names(uint64_t reasons);

/// What readings say together.
Conditions summarize(std::vector<Reading> const& readings);

}  // namespace cutlass_ninja
