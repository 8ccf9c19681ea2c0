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

/// An array of all devices, with the versions of CUDA and of the driver.
std::string devices_json(std::vector<Device> const& devices);

/// What is the same for all problems of a process.
struct Surroundings {
  Operation const& operation;
  Device const& device;
  Nvml const& nvml;
};

/// One problem's line. `workload` is null where the problem is too large to be counted.
std::string report(Surroundings const& surroundings, Problem const& problem,
                   Workload const* workload, Settings const& settings, Outcome const& outcome);

}  // namespace cutlass_ninja
