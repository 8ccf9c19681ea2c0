/// The profiler's command line, the same for every operation kind but for its problem fields.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache_mode.h"
#include "problem_space.h"

namespace cutlass_ninja {

/// How problems are run, whatever they are.
struct Settings {
  int warmup_iterations = 10;
  double warmup_duration_ms = 20;
  std::optional<int> profiling_iterations;  ///< timed launches; 0 only verifies; nothing: as many
                                            ///< as `relative_stderr` needs
  int min_iterations = 50;
  double relative_stderr = 0.005;  ///< a fraction
  double profiling_duration_ms = 1000;
  double burst_duration_ms = 4;
  double rest_duration_ms = 10;
  CacheMode cache = CacheMode::kCold;
  bool verification_enabled = true;
  uint64_t seed = 2024;
  int device = 0;
};

/// What one call asks for.
struct Arguments {
  enum class Action { kProfile, kHelp, kDescribe, kListDevices };

  Action action = Action::kProfile;
  Settings settings;
  ProblemSpace problems;
  std::string problems_file;  ///< where further calls stand, one a line; "-": stdin; empty: nowhere
};

/// Reads argv[1..]. Takes `--flag=value` and `--flag value`, dashes and underscores alike; of a
/// repeated flag the last counts. Throws UsageError with one line that names the flag, the value
/// and what is allowed. `fields` must outlive the result.
Arguments parse_arguments(std::vector<Field> const& fields, int argc, char const* const* argv);

/// Calls `run` for each line of `arguments.problems_file` as soon as it was read: flags as on the
/// command line, separated by blanks, over those of `arguments`. Throws UsageError, which names the
/// line.
void for_each_line(std::vector<Field> const& fields, Arguments const& arguments,
                   std::function<void(Arguments const&)> const& run);

/// The usage text, one flag a line.
std::string usage(std::string const& program, std::string const& kernel,
                  std::vector<Field> const& fields);

}  // namespace cutlass_ninja
