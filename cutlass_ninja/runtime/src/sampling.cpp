#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cutlass_ninja {
namespace {

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

Sampling::Sampling(SamplingPlan const& plan, double launch_ms)
    : plan_(plan),
      launch_ms_(std::max(launch_ms, 1e-6)),
      launches_per_sample_(choose_launches_per_sample(plan, launch_ms_)) {}

int64_t Sampling::next() const {
  int64_t const queued = std::max<int64_t>(
      std::min(kMaxQueued / launches_per_sample_,
               static_cast<int64_t>(kQueuedMs / (launch_ms_ * launches_per_sample_))),
      1);
  if (plan_.iterations > 0) {
    int64_t const missing = plan_.iterations - launches() - discarded_ * launches_per_sample_;
    return std::clamp<int64_t>((missing + launches_per_sample_ - 1) / launches_per_sample_, 0,
                               queued);
  }
  bool const begun = !kept_.empty() || discarded_ > 0;
  return begun && (is_precise() || spent_ms_ >= plan_.duration_ms) ? 0 : queued;
}

void Sampling::keep(double ms) {
  double const launch_ms = ms / static_cast<double>(launches_per_sample_);
  kept_.push_back(launch_ms);
  spent_ms_ += ms;
  double const deviation = launch_ms - mean_;
  mean_ += deviation / static_cast<double>(kept_.size());
  squares_ += deviation * (launch_ms - mean_);
}

void Sampling::discard(double ms) {
  ++discarded_;
  spent_ms_ += ms;
}

double Sampling::relative_stderr() const {
  double const count = static_cast<double>(kept_.size());
  if (count < 2) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares_ / (count - 1) / count) / mean_;
}

bool Sampling::is_precise() const {
  return static_cast<int64_t>(kept_.size()) >= kMinSamples && launches() >= plan_.min_iterations &&
         spent_ms_ >= std::min(kSettlingMs, plan_.duration_ms / 4) &&
         relative_stderr() <= plan_.relative_stderr;
}

Stop Sampling::stop() const {
  if (plan_.iterations > 0) return Stop::kIterations;
  return is_precise() ? Stop::kRelativeStderr : Stop::kDuration;
}

}  // namespace cutlass_ninja
