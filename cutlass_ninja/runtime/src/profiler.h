/// The profiler's main program, whatever the operation kind.
#pragma once

#include "workload.h"

namespace cutlass_ninja {

/// Reads the command line, runs each problem, prints one JSON object a problem. Returns the exit
/// code: 0 fine; 1 a result was wrong or a launch failed; 2 the call is wrong, or the kernel
/// supports no problem of it; 3 the machine has no GPU that runs this binary. Never throws.
int profile(Operation const& operation, int argc, char const* const* argv);

}  // namespace cutlass_ninja
