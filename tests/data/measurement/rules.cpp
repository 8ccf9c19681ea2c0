// The rules of measuring, which need no GPU, behind a command line: a line of results for each
// call.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cache_mode.h"
#include "conditions.h"
#include "sampling.h"
#include "statistics.h"

using namespace cutlass_ninja;

namespace {

/// copies BYTES L2_BYTES cold|warm
int copies(char** argv) {
  CacheMode const mode = std::string(argv[2]) == "warm" ? CacheMode::kWarm : CacheMode::kCold;
  std::printf("%lld\n", static_cast<long long>(
                            rotation_copies(std::atoll(argv[0]), std::atoll(argv[1]), mode)));
  return 0;
}

/// sample ITERATIONS MIN_ITERATIONS RELATIVE_STDERR DURATION_MS LAUNCH_MS NOISE THROTTLED SLOW MHZ
/// INTERRUPTED: takes samples whose launches last LAUNCH_MS, alternately more and less by the
/// fraction NOISE; the first THROTTLED bursts are discarded, the SLOW bursts after them (if it is
/// negative: all but the -SLOW first) were at MHZ instead of 1980 MHz; the first sample of the
/// INTERRUPTED first bursts took four times as long, at 2300 MHz.
int sample(char** argv) {
  double const launch_ms = std::atof(argv[4]), noise = std::atof(argv[5]), mhz = std::atof(argv[8]);
  int throttled = std::atoi(argv[6]);
  int const slow = std::atoi(argv[7]), interrupted = std::atoi(argv[9]);
  Pace const pace{4, 10};
  Sampling sampling(
      {std::atoll(argv[0]), std::atoll(argv[1]), std::atof(argv[2]), std::atof(argv[3]), pace},
      launch_ms);
  int64_t bursts = 0, largest = 0;
  int sampled = 0;
  double sign = 1;
  while (int64_t const samples = sampling.next()) {
    ++bursts;
    if (samples > largest) largest = samples;
    bool const slowed = slow < 0 ? sampled >= -slow : sampled < slow;
    for (int64_t i = 0; i < samples; ++i) {
      double const ms =
          launch_ms * (1 + sign * noise) * static_cast<double>(sampling.launches_per_sample());
      if (throttled > 0) {
        sampling.discard(ms);
      } else if (i == 0 && sampled < interrupted) {
        sampling.add(ms * 4, 2300);
      } else {
        sampling.add(slowed ? ms * 1980 / mhz : ms, slowed ? mhz : 1980);
      }
      sign = -sign;
    }
    throttled > 0 ? --throttled : ++sampled;
    sampling.set_aside();
    sampling.rest(pace.rest_ms);
  }
  sampling.finish();
  std::printf("%lld %lld %lld %lld %lld %d %.9g %s\n",
              static_cast<long long>(sampling.kept().size()),
              static_cast<long long>(sampling.launches_per_sample()),
              static_cast<long long>(sampling.discarded()), static_cast<long long>(bursts),
              static_cast<long long>(largest), sampling.reduced_clock(), sampling.relative_stderr(),
              stop_name(sampling.stop()));
  return 0;
}

/// rests BURST_MS SLOWED...: the rest after each of some bursts, 1: slowed, 0: not
int rests(int argc, char** argv) {
  Rests rests({4, 10});
  for (int i = 1; i < argc; ++i) {
    std::printf("%g ", rests.after(std::atof(argv[0]), std::atoi(argv[i]) != 0));
  }
  std::printf("\n");
  return 0;
}

/// summarize MS...
int statistics(int argc, char** argv) {
  std::vector<double> samples;
  for (int i = 0; i < argc; ++i) samples.push_back(std::atof(argv[i]));
  Statistics const s = summarize(samples);
  std::printf("%lld %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", static_cast<long long>(s.count),
              s.median, s.mean, s.min, s.max, s.p5, s.p95, s.stddev);
  return 0;
}

/// throttle MASK: whether samples are discarded, and the reasons.
int throttle(char** argv) {
  uint64_t const mask = std::strtoull(argv[0], nullptr, 16);
  std::printf("%d", is_throttled(mask));
  for (std::string const& name : throttle_names(mask)) std::printf(" %s", name.c_str());
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argv[1];
  if (what == "copies") return copies(argv + 2);
  if (what == "sample") return sample(argv + 2);
  if (what == "rests") return rests(argc - 2, argv + 2);
  if (what == "summarize") return statistics(argc - 2, argv + 2);
  return throttle(argv + 2);
}
