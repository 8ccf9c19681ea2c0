/// How many launches are timed, and when there are enough. Nothing here depends on CUDA.
#pragma once

#include <cstdint>
#include <vector>

namespace cutlass_ninja {

/// What a measurement must reach.
struct SamplingPlan {
  int64_t iterations;      ///< if > 0: so many launches, whatever the other members say
  int64_t min_iterations;  ///< at least so many launches, unless the time is over
  double relative_stderr;  ///< the standard error of the mean over the mean, as a fraction
  double duration_ms;      ///< the GPU time after which to stop, whatever was reached
};

/// Why a measurement ended.
enum class Stop { kRelativeStderr, kDuration, kIterations };

/// "relative_stderr", "duration" or "iterations".
char const* stop_name(Stop stop);

/// The samples of one measurement. A sample is the mean time of a few launches in a row: one event
/// alone costs about a microsecond and ticks in half of one, so a sample lasts at least kSampleMs.
///
/// There are enough samples when the relative standard error of their mean (their standard
/// deviation over the square root of their number, over their mean) is at most the plan's, they are
/// at least kMinSamples, hold the plan's min_iterations, and lasted kSettlingMs (or a quarter of
/// the plan's duration, if that is less), in which the GPU's power management settles. Discarded
/// samples count towards the duration only.
class Sampling {
 public:
  /// `launch_ms` is about what one launch takes.
  Sampling(SamplingPlan const& plan, double launch_ms);

  /// The launches of each sample.
  int64_t launches_per_sample() const { return launches_per_sample_; }

  /// How many samples to take next, in one go; 0 when there are enough.
  int64_t next() const;

  /// Adds a sample that took `ms` in all.
  void keep(double ms);
  /// Notes a sample that was taken while the GPU was throttled.
  void discard(double ms);

  /// The kept samples: ms of one launch.
  std::vector<double> const& kept() const { return kept_; }
  int64_t discarded() const { return discarded_; }

  /// Of the kept samples; infinite for fewer than two.
  double relative_stderr() const;
  /// Why there are enough samples.
  Stop stop() const;

  static constexpr double kSampleMs = 0.5;
  static constexpr int64_t kMinSamples = 16;
  static constexpr double kSettlingMs = 50;
  /// Launches that are queued at once: with what a launch may need beside its kernel they stay
  /// below the 1024 entries of a stream's queue.
  static constexpr int64_t kMaxQueued = 256;
  /// About the GPU time that is queued at once.
  static constexpr double kQueuedMs = 10;

 private:
  int64_t launches() const { return static_cast<int64_t>(kept_.size()) * launches_per_sample_; }
  bool is_precise() const;

  SamplingPlan plan_;
  double launch_ms_;
  int64_t launches_per_sample_;
  std::vector<double> kept_;
  int64_t discarded_ = 0;
  double spent_ms_ = 0;
  double mean_ = 0, squares_ = 0;  // Welford's: the mean, and the sum of squared deviations from it
};

}  // namespace cutlass_ninja
