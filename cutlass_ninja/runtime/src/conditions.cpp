#include "conditions.h"

#include <algorithm>

namespace cutlass_ninja {
namespace {

struct Throttle {
  uint64_t bit;
  char const* name;
  bool discards;
};

/// nvml.h's nvmlClocksThrottleReason*.
constexpr Throttle kThrottles[] = {
    {0x04, "sw_power_cap", false},       {0x08, "hw_slowdown", true},
    {0x10, "sync_boost", false},         {0x20, "sw_thermal_slowdown", true},
    {0x40, "hw_thermal_slowdown", true}, {0x80, "hw_power_brake_slowdown", true},
};

using Member = std::optional<double> Reading::*;

std::vector<double> values(std::vector<Reading> const& readings, Member member) {
  std::vector<double> found;
  for (Reading const& reading : readings) {
    if (reading.*member) found.push_back(*(reading.*member));
  }
  return found;
}

std::optional<double> mean(std::vector<double> const& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (double const value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

bool is_throttled(uint64_t reasons) {
  return std::any_of(std::begin(kThrottles), std::end(kThrottles), [&](Throttle const& throttle) {
    return throttle.discards && (reasons & throttle.bit);
  });
}

std::vector<std::string> throttle_names(uint64_t reasons) {
  std::vector<std::string> names;
  for (Throttle const& throttle : kThrottles) {
    if (reasons & throttle.bit) names.push_back(throttle.name);
  }
  return names;
}

Conditions summarize(std::vector<Reading> const& readings) {
  Conditions conditions;
  conditions.readings = static_cast<int64_t>(readings.size());
  std::vector<double> const temperatures = values(readings, &Reading::temperature_c);
  conditions.memory_clock_mhz = mean(values(readings, &Reading::memory_clock_mhz));
  conditions.power_w = mean(values(readings, &Reading::power_w));
  if (!temperatures.empty()) {
    conditions.temperature_c = *std::max_element(temperatures.begin(), temperatures.end());
  }
  for (Reading const& reading : readings) conditions.throttle_reasons |= reading.throttle_reasons;
  return conditions;
}

}  // namespace cutlass_ninja
