/// The profiler's command line, the same for every operation kind but for its problem fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem_space.h"

namespace cutlass_ninja {

/// How problems are run, whatever they are.
struct Settings {
  int warmup_iterations = 10;
  int profiling_iterations = 100;    ///< timed launches; 0 only verifies
  double profiling_duration_ms = 0;  ///< if > 0, launches until this much GPU time was spent
  bool verification_enabled = true;
  uint64_t seed = 2024;
  int device = 0;
};

/// What one call asks for.
struct Arguments {
  enum class Action { kProfile, kHelp, kDescribe };

  Action action = Action::kProfile;
  Settings settings;
  ProblemSpace problems;
};

/// Reads argv[1..]. Takes `--flag=value` and `--flag value`, dashes and underscores alike; of a
/// repeated flag the last counts. Throws UsageError with one line that names the flag, the value
/// and what is allowed. `fields` must outlive the result.
Arguments parse_arguments(std::vector<Field> const& fields, int argc, char const* const* argv);

/// The usage text, one flag a line.
std::string usage(std::string const& program, std::string const& kernel,
                  std::vector<Field> const& fields);

}  // namespace cutlass_ninja
