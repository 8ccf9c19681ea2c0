#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace cutlass_ninja {
namespace {

double quantile(std::vector<double> const& sorted, double fraction) {
  double const position = fraction * static_cast<double>(sorted.size() - 1);
  size_t const below = static_cast<size_t>(position);
  size_t const above = std::min(below + 1, sorted.size() - 1);
  double const weight = position - static_cast<double>(below);
  return sorted[below] * (1 - weight) + sorted[above] * weight;
}

}  // namespace

Statistics summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  double const count = static_cast<double>(samples.size());
  double sum = 0;
  for (double const sample : samples) sum += sample;
  double const mean = sum / count;
  double squares = 0;
  for (double const sample : samples) squares += (sample - mean) * (sample - mean);

  Statistics statistics;
  statistics.count = static_cast<int64_t>(samples.size());
  statistics.median = quantile(samples, 0.5);
  statistics.mean = mean;
  statistics.min = samples.front();
  statistics.max = samples.back();
  statistics.p5 = quantile(samples, 0.05);
  statistics.p95 = quantile(samples, 0.95);
  statistics.stddev = samples.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return statistics;
}

}  // namespace cutlass_ninja
