// A stand-in for the runtime: it says what the kernel is, and of problems on stdin that they take
// as long as the kernel's name says, on a GPU that there is not.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "cutlass_ninja/gemm.h"

namespace {

constexpr char const* kDevice =
    "{\"ordinal\": 0, \"name\": \"Plain GPU\", \"uuid\": \"GPU-0\", \"cuda_runtime_version\": "
    "\"13.0\", "
    "\"cuda_driver_version\": \"13.0\", \"driver_version\": null}";

void answer(cutlass_ninja_gemm_kernel const& kernel, std::string const& line) {
  double const ms = 1 + 0.5 * static_cast<double>(kernel.key[0] % 2) +
                    0.01 * static_cast<double>(std::strlen(kernel.name));
  std::string fields;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    size_t const equals = word.find('=');
    std::string const name = word.substr(2, equals - 2), value = word.substr(equals + 1);
    if (name.find('-') == std::string::npos && name != "cache")
      fields += ", \"" + name + "\": " + value;
  }
  std::printf(
      "{\"kernel\": \"%s\", \"key\": \"%s\", \"operation\": \"gemm\", \"status\": \"success\", "
      "\"reason\": null%s, "
      "\"flop\": 1000000, \"bytes\": 1000, \"samples\": 20, \"discarded_samples\": 0, "
      "\"profiling_iterations\": 20, "
      "\"relative_stderr\": 0.001, \"conditions\": null, \"launches_per_sample\": 1, "
      "\"warmup_iterations\": 1, "
      "\"stopped_by\": \"relative_stderr\", \"verification\": \"passed\", \"verification_checks\": "
      "[], \"tflop_per_s\": %g, "
      "\"gbyte_per_s\": 1, "
      "\"runtime_median_ms\": %g, \"runtime_mean_ms\": %g, \"runtime_min_ms\": %g, "
      "\"runtime_max_ms\": %g, "
      "\"runtime_p5_ms\": %g, \"runtime_p95_ms\": %g, \"runtime_stddev_ms\": 0.001}\n",
      kernel.name, kernel.key, fields.c_str(), 1e-3 / ms, ms, ms, ms, ms, ms, ms);
  std::fflush(stdout);
}

}  // namespace

int cutlass_ninja_profile_gemm(cutlass_ninja_gemm_kernel const* kernel, int argc, char** argv) {
  std::string const last = argc > 1 ? argv[argc - 1] : "";
  if (last == "--list-devices") {
    std::printf("[%s]\n", kDevice);
  } else if (last == "--problems-file=-") {
    for (std::string line; std::getline(std::cin, line);) answer(*kernel, line);
  } else {
    std::puts(kernel->description);
  }
  return 0;
}
