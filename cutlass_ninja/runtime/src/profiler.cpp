#include "profiler.h"

#include <algorithm>
#include <cstdio>

#include "arguments.h"
#include "device.h"
#include "error.h"
#include "problem_run.h"
#include "report.h"

namespace cutlass_ninja {
namespace {

enum ExitCode { kFine = 0, kWrongResult = 1, kWrongCall = 2, kNoMachine = 3 };

void print_error(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "error: %s\n", message.c_str());
}

void print(std::string const& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int profile_problems(Operation const& operation, Arguments const& arguments) {
  Settings const& settings = arguments.settings;
  Device const device = use_device(settings.device);
  Stream const stream;
  bool lost = false, wrong = false, supported = false;
  std::string first_reason;

  for (size_t i = 0; i < arguments.problems.size(); ++i) {
    Problem const problem = arguments.problems[i];
    std::unique_ptr<Workload> workload;
    Outcome outcome;
    try {
      workload = operation.workload(problem);
      outcome =
          lost ? Outcome::failed("not run: an earlier CUDA error is sticky")
               : run_problem(*workload, operation.footprint.params_bytes, settings, stream.get());
    } catch (UnsupportedProblem const& error) {
      outcome = Outcome::not_supported(error.what());
    }
    print(report(operation, problem, workload.get(), device, settings, outcome) + "\n");

    if (outcome.status == Status::kFailed) lost = lost || cuda_is_lost();
    wrong = wrong || outcome.status == Status::kFailed || outcome.status == Status::kIncorrect;
    supported = supported || outcome.status != Status::kNotSupported;
    if (i == 0) first_reason = outcome.reason;
  }
  if (!supported) {
    print_error("no problem of this call is supported by " + std::string(operation.name) +
                "; the first: " + first_reason);
    return kWrongCall;
  }
  return wrong ? kWrongResult : kFine;
}

int run(Operation const& operation, int argc, char const* const* argv) {
  if (operation.abi_version != CUTLASS_NINJA_ABI_VERSION) {
    print_error("the kernel was compiled for version " + std::to_string(operation.abi_version) +
                " of the kernel interface and linked with a runtime of version " +
                std::to_string(CUTLASS_NINJA_ABI_VERSION) + "; build both again");
    return kWrongResult;
  }
  Arguments const arguments = parse_arguments(operation.fields(), argc, argv);
  switch (arguments.action) {
    case Arguments::Action::kHelp:
      print(usage(argc > 0 ? argv[0] : operation.name, operation.name, operation.fields()));
      return kFine;
    case Arguments::Action::kDescribe:
      print(describe(operation) + "\n");
      return kFine;
    case Arguments::Action::kProfile:
      break;
  }
  return profile_problems(operation, arguments);
}

}  // namespace

int profile(Operation const& operation, int argc, char const* const* argv) {
  try {
    return run(operation, argc, argv);
  } catch (UsageError const& error) {
    print_error(error.what());
    return kWrongCall;
  } catch (MachineError const& error) {
    print_error(error.what());
    return kNoMachine;
  } catch (std::exception const& error) {
    print_error(error.what());
    return kWrongResult;
  }
}

}  // namespace cutlass_ninja
