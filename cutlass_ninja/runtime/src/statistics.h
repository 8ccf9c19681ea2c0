/// What a list of measurements says.
#pragma once

#include <cstdint>
#include <vector>

namespace cutlass_ninja {

/// In the unit of the samples.
struct Statistics {
  int64_t count;
  double median, mean, min, max;
  double p5, p95;  ///< percentiles, interpolated linearly between neighbours
  double stddev;   ///< of the sample (n - 1); 0 for one sample
};

/// `samples` must not be empty.
Statistics summarize(std::vector<double> samples);

}  // namespace cutlass_ninja
