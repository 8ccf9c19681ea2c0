/// The clock of the multiprocessors, by their own counters.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "buffer.h"
#include "event.h"

namespace cutlass_ninja {

/// Reads the cycle counters of the multiprocessors at points of a stream. Cycles over time between
/// two such points give the clock at which the work between them really ran, where NVML only knows
/// a clock of some milliseconds ago. A reading takes about two microseconds.
class SmClock {
 public:
  SmClock(int multiprocessors, int64_t most_readings);

  /// Forgets the readings before.
  void begin(cudaStream_t stream);
  /// Enqueues the next reading; one beyond `most_readings` is left out.
  void read(cudaStream_t stream);
  /// Enqueues the readings' way to the host.
  void end(cudaStream_t stream);

  /// Once the stream has passed `end`: the mean clock between two readings, by their numbers from
  /// 0; nothing if they lie too near together to tell, or no multiprocessor was read both times.
  std::optional<double> mhz(int64_t from, int64_t to) const;

  /// How far apart two readings must lie at least: what events miss, about a microsecond, is half a
  /// percent of it.
  static constexpr double kLeastMs = 0.2;

 private:
  using Cycles = long long;

  int64_t multiprocessors_, most_readings_;
  DeviceMemory memory_;
  std::vector<Cycles> cycles_;  ///< by reading and multiprocessor; 0: not read
  std::deque<Event> events_;
  int64_t readings_ = 0;
};

}  // namespace cutlass_ninja
