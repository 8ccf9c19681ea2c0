#include "profiler.h"

#include <algorithm>
#include <cstdio>

#include "arguments.h"
#include "device.h"
#include "error.h"
#include "nvml.h"
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

/// Runs problems one after the other, and remembers what the exit code needs.
class Session {
 public:
  Session(Operation const& operation, int device)
      : operation_(operation), device_(use_device(device)), nvml_(device_.uuid) {}

  /// Runs the problems of one call and prints a line for each.
  void run(Arguments const& arguments) {
    for (size_t i = 0; i < arguments.problems.size(); ++i) {
      run(arguments.problems[i], arguments.settings);
    }
  }

  ExitCode exit_code() const {
    if (count_ > 0 && !supported_) {
      print_error("no problem of this call is supported by " + std::string(operation_.name) +
                  "; the first: " + first_reason_);
      return kWrongCall;
    }
    return wrong_ ? kWrongResult : kFine;
  }

 private:
  void run(Problem const& problem, Settings const& settings) {
    std::unique_ptr<Workload> workload;
    Outcome outcome;
    try {
      workload = operation_.workload(problem);
      outcome = lost_ ? Outcome::failed("not run: an earlier CUDA error is sticky")
                      : run_problem(*workload, operation_.footprint.params_bytes, settings, device_,
                                    nvml_, stream_.get());
    } catch (UnsupportedProblem const& error) {
      outcome = Outcome::not_supported(error.what());
    }
    print(report({operation_, device_, nvml_}, problem, workload.get(), settings, outcome) + "\n");

    if (outcome.status == Status::kFailed) lost_ = lost_ || cuda_is_lost();
    wrong_ = wrong_ || outcome.status == Status::kFailed || outcome.status == Status::kIncorrect;
    supported_ = supported_ || outcome.status != Status::kNotSupported;
    if (count_++ == 0) first_reason_ = outcome.reason;
  }

  Operation const& operation_;
  Device const device_;
  Nvml const nvml_;
  Stream const stream_;
  int64_t count_ = 0;
  bool lost_ = false, wrong_ = false, supported_ = false;
  std::string first_reason_;
};

int profile_problems(Operation const& operation, Arguments const& arguments) {
  Session session(operation, arguments.settings.device);
  char const* reason = nullptr;
  if (operation.load(&reason) != CUTLASS_NINJA_SUCCESS) {
    check_kernel_image(cudaGetLastError());
    print_error(std::string(operation.name) + ": " + reason);
    return kWrongResult;
  }
  if (arguments.problems_file.empty()) {
    session.run(arguments);
  } else {
    for_each_line(operation.fields(), arguments, [&](Arguments const& line) { session.run(line); });
  }
  return session.exit_code();
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
    case Arguments::Action::kListDevices:
      print(devices_json(list_devices()) + "\n");
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
