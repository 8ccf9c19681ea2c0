#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cutlass_ninja {
namespace {

/// A clock moves in steps of 15 MHz, less than 1 %, and within a burst by a step or two.
constexpr double kTopClock = 0.97;

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

void TopClock::see(std::optional<double> mhz) {
  if (mhz) mhz_ = std::max(mhz_, *mhz);
}

bool TopClock::reached(std::optional<double> mhz) const { return !mhz || *mhz >= kTopClock * mhz_; }

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
  kept_.push_back({ms / static_cast<double>(launches_per_sample_), sm_clock_mhz});
}

void Sampling::set_aside(TopClock const& top) {
  if (reduced_clock_ || plan_.iterations > 0) return;
  auto const slow = std::stable_partition(kept_.begin(), kept_.end(), [&](Sample const& sample) {
    return top.reached(sample.sm_clock_mhz);
  });
  reduced_.insert(reduced_.end(), slow, kept_.end());
  kept_.erase(slow, kept_.end());
  if (static_cast<int64_t>(reduced_.size()) >= kMostReduced &&
      static_cast<int64_t>(kept_.size()) < kMinSamples) {
    accept_reduced();
  }
}

void Sampling::discard(double ms) {
  ++discarded_;
  spent_ms_ += ms;
}

void Sampling::finish() {
  if (kept_.empty() && !reduced_.empty()) accept_reduced();
}

void Sampling::accept_reduced() {
  reduced_clock_ = true;
  kept_.insert(kept_.end(), reduced_.begin(), reduced_.end());
  reduced_.clear();
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
