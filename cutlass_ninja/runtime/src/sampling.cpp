#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cutlass_ninja {
namespace {

/// A clock moves in steps of 15 MHz, less than 1 %, and within a burst by a step or two.
constexpr double kTopClock = 0.97;

/// See Sampling.
double top_clock(std::vector<Sample> const& samples) {
  std::vector<double> times;
  for (Sample const& sample : samples) times.push_back(sample.ms);
  auto const middle = times.begin() + (static_cast<std::ptrdiff_t>(times.size()) - 1) / 2;
  std::nth_element(times.begin(), middle, times.end());
  double mhz = 0;
  for (Sample const& sample : samples) {
    if (sample.ms <= *middle) mhz = std::max(mhz, sample.sm_clock_mhz.value_or(0));
  }
  return mhz;
}

int64_t choose_launches_per_sample(SamplingPlan const& plan, double launch_ms) {
  double const wanted = std::ceil(Sampling::kSampleMs / launch_ms);
  int64_t const launches =
      static_cast<int64_t>(std::min(wanted, static_cast<double>(Sampling::kMaxQueued)));
  // Few launches still make some samples, of which there are statistics.
  return plan.iterations > 0
             ? std::min(launches, std::max<int64_t>(plan.iterations / Sampling::kMinSamples, 1))
             : launches;
}

}  // namespace

char const* stop_name(Stop stop) {
  switch (stop) {
    case Stop::kRelativeStderr:
      return "relative_stderr";
    case Stop::kDuration:
      return "duration";
    case Stop::kIterations:
      break;
  }
  return "iterations";
}

double Rests::after(double burst_ms, bool slowed) {
  times_ = slowed ? std::min(2 * times_, kMostTimes) : 1;
  return times_ * pace_.rest_ms * burst_ms / pace_.burst_ms;
}

Sampling::Sampling(SamplingPlan const& plan, double launch_ms)
    : plan_(plan),
      launch_ms_(std::max(launch_ms, 1e-6)),
      launches_per_sample_(choose_launches_per_sample(plan, launch_ms_)) {}

int64_t Sampling::next() const {
  int64_t const queued = std::max<int64_t>(
      std::min({kMaxQueued / launches_per_sample_, kMaxQueuedSamples,
                static_cast<int64_t>(plan_.pace.burst_ms / (launch_ms_ * launches_per_sample_))}),
      1);
  if (plan_.iterations > 0) {
    int64_t const missing = plan_.iterations - launches() - discarded() * launches_per_sample_;
    return std::clamp<int64_t>((missing + launches_per_sample_ - 1) / launches_per_sample_, 0,
                               queued);
  }
  bool const begun = !kept_.empty() || discarded() > 0;
  return begun && (is_precise() || spent_ms_ >= plan_.duration_ms) ? 0 : queued;
}

void Sampling::add(double ms, std::optional<double> sm_clock_mhz) {
  spent_ms_ += ms;
  samples_.push_back({ms / static_cast<double>(launches_per_sample_), sm_clock_mhz});
  kept_.push_back(samples_.back());
}

void Sampling::set_aside() {
  if (samples_.empty() || reduced_clock_ || plan_.iterations > 0) return;
  least_mhz_ = kTopClock * top_clock(samples_);
  kept_.clear();
  for (Sample const& sample : samples_) {
    if (!is_reduced(sample)) kept_.push_back(sample);
  }
  if (reduced() >= kMostReduced && static_cast<int64_t>(kept_.size()) < kMinSamples) {
    accept_reduced();
  }
}

void Sampling::finish() {
  if (reduced() > 0 && static_cast<int64_t>(kept_.size()) < kFewSamples) accept_reduced();
}

void Sampling::accept_reduced() {
  reduced_clock_ = true;
  kept_ = samples_;
}

bool Sampling::slowed() const { return !samples_.empty() && is_reduced(samples_.back()); }

bool Sampling::is_reduced(Sample const& sample) const {
  return sample.sm_clock_mhz && *sample.sm_clock_mhz < least_mhz_;
}

void Sampling::discard(double ms) {
  ++discarded_;
  spent_ms_ += ms;
}

double Sampling::relative_stderr() const {
  double const count = static_cast<double>(kept_.size());
  if (count < 2) return std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  for (Sample const& sample : kept_) sum += sample.ms;
  double const mean = sum / count;
  for (Sample const& sample : kept_) squares += (sample.ms - mean) * (sample.ms - mean);
  return std::sqrt(squares / (count - 1) / count) / mean;
}

bool Sampling::is_precise() const {
  double covered_ms = 0;
  for (Sample const& sample : kept_) {
    covered_ms += sample.ms * static_cast<double>(launches_per_sample_);
  }
  return static_cast<int64_t>(kept_.size()) >= kMinSamples && launches() >= plan_.min_iterations &&
         covered_ms >= std::min(kCoveredMs, plan_.duration_ms / 8) &&
         relative_stderr() <= plan_.relative_stderr;
}

Stop Sampling::stop() const {
  if (plan_.iterations > 0) return Stop::kIterations;
  return is_precise() ? Stop::kRelativeStderr : Stop::kDuration;
}

}  // namespace cutlass_ninja
