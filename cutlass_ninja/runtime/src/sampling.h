/// How many launches are timed, at what pace, and when there are enough. Nothing here depends on
/// CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cutlass_ninja {

/// How launches are spread over time. Under a load without pauses a large GPU exceeds its power
/// limit within milliseconds, and from then on its clock, and with it every time, wanders and
/// follows what was run before. In short bursts with pauses a kernel always gets the same clock.
struct Pace {
  double burst_ms;  ///< about the GPU time that is queued at once
  double
      rest_ms;  ///< how long the GPU is left alone after such a burst, in proportion after others
};

/// What a measurement must reach.
struct SamplingPlan {
  int64_t iterations;      ///< if > 0: so many launches, whatever the other members say
  int64_t min_iterations;  ///< at least so many launches, unless the time is over
  double relative_stderr;  ///< the standard error of the mean over the mean, as a fraction
  double duration_ms;      ///< the time, with the rests, after which to stop, whatever was reached
  Pace pace;
};

/// Why a measurement ended.
enum class Stop { kRelativeStderr, kDuration, kIterations };

/// "relative_stderr", "duration" or "iterations".
char const* stop_name(Stop stop);

/// How long to leave the GPU alone: longer and longer while that does not bring it back to the top
/// clock.
class Rests {
 public:
  explicit Rests(Pace const& pace) : pace_(pace) {}

  /// The next rest, in ms, after a burst of `burst_ms` at the end of which the GPU was `slowed`.
  double after(double burst_ms, bool slowed);

 private:
  static constexpr double kMostTimes = 8;

  Pace pace_;
  double times_ = 1;
};

/// One sample.
struct Sample {
  double ms;  ///< of one launch
  std::optional<double> sm_clock_mhz;
};

/// The samples of one measurement. A sample is the mean time of a few launches in a row: one event
/// alone costs about a microsecond and ticks in half of one, so a sample lasts at least kSampleMs.
///
/// There are enough samples when the relative standard error of their mean (their standard
/// deviation over the square root of their number, over their mean) is at most the plan's, they are
/// at least kMinSamples, hold the plan's min_iterations, and lasted kCoveredMs (or an eighth of the
/// plan's duration, if that is less). The top clock is the highest of the faster half of all
/// samples: what takes longer at a higher clock was interrupted, by another process say, and tells
/// nothing of the clock that this kernel gets. Samples at less than the top clock are set aside,
/// also if it was only seen after them. Where the GPU does not get there again, so that
/// kMostReduced were, these are what there is, and all count. Samples that are set aside or
/// discarded count towards the duration only. Where a number of launches is asked for, none is set
/// aside.
class Sampling {
 public:
  /// `launch_ms` is about what one launch takes.
  Sampling(SamplingPlan const& plan, double launch_ms);

  /// The launches of each sample.
  int64_t launches_per_sample() const { return launches_per_sample_; }

  /// How many samples to take next, in one burst; 0 when there are enough.
  int64_t next() const;

  /// Adds a sample that took `ms` in all.
  void add(double ms, std::optional<double> sm_clock_mhz);
  /// Sets aside what does not reach the top clock of the samples so far.
  void set_aside();
  /// Notes a sample that was taken while the GPU protected itself.
  void discard(double ms);
  /// Notes that the GPU was left alone.
  void rest(double ms) { spent_ms_ += ms; }
  /// To be called once, at the end: where fewer than kFewSamples are left, all count.
  void finish();

  /// The samples that count.
  std::vector<Sample> const& kept() const { return kept_; }
  /// Those that do not.
  int64_t discarded() const { return discarded_ + reduced(); }
  /// Whether the last sample was taken at less than the top clock.
  bool slowed() const;
  /// Whether samples count that were taken at less than the top clock.
  bool reduced_clock() const { return reduced_clock_; }

  /// Of the kept samples; infinite for fewer than two.
  double relative_stderr() const;
  /// Why there are enough samples.
  Stop stop() const;

  static constexpr double kSampleMs = 0.5;
  static constexpr int64_t kMinSamples = 16, kFewSamples = 4;
  static constexpr int64_t kMostReduced = 4 * kMinSamples;
  static constexpr double kCoveredMs = 12;
  /// What is queued at once: with what a launch may need beside its kernel, and a sample beside its
  /// launches, it stays below the 1024 entries of a stream's queue.
  static constexpr int64_t kMaxQueued = 256, kMaxQueuedSamples = 32;

 private:
  int64_t launches() const { return static_cast<int64_t>(kept_.size()) * launches_per_sample_; }
  int64_t reduced() const { return static_cast<int64_t>(samples_.size() - kept_.size()); }
  void accept_reduced();
  bool is_reduced(Sample const& sample) const;
  bool is_precise() const;

  SamplingPlan plan_;
  double launch_ms_;
  int64_t launches_per_sample_;
  std::vector<Sample> samples_, kept_;
  double least_mhz_ = 0;
  bool reduced_clock_ = false;
  int64_t discarded_ = 0;
  double spent_ms_ = 0;
};

}  // namespace cutlass_ninja
