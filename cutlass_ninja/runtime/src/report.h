/// The JSON that the profiler prints.
#pragma once

#include <string>

#include "arguments.h"
#include "device.h"
#include "problem_run.h"
#include "workload.h"

namespace cutlass_ninja {

/// The kernel's own description with its footprint and ABI version added.
std::string describe(Operation const& operation);

/// One problem's line. `workload` is null where the problem is too large to be counted.
std::string report(Operation const& operation, Problem const& problem, Workload const* workload,
                   Device const& device, Settings const& settings, Outcome const& outcome);

}  // namespace cutlass_ninja
