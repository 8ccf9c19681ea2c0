#include "problem_run.h"

#include <memory>

#include "buffer.h"
#include "cache_mode.h"
#include "device.h"
#include "error.h"
#include "json.h"
#include "params.h"
#include "rotation.h"
#include "timing.h"

namespace cutlass_ninja {
namespace {

/// The device memory of one problem.
struct Buffers {
  Buffers(WorkloadShape const& shape, size_t workspace_bytes, size_t accumulators_bytes,
          cudaStream_t stream)
      : a(shape.a.bytes(), poison_byte(shape.a.element), stream),
        b(shape.b.bytes(), poison_byte(shape.b.element), stream),
        c(shape.c.bytes(), poison_byte(shape.c.element), stream),
        d(shape.d.bytes(), poison_byte(shape.d.element), stream),
        bias(shape.bias.bytes(), poison_byte(shape.bias.element), stream),
        workspace(workspace_bytes, poison_byte(CUTLASS_NINJA_F32), stream),
        accumulators(accumulators_bytes) {}

  Operands operands() const { return {a.data(), b.data(), c.data(), d.data(), bias.data()}; }

  GuardedBuffer a, b, c, d, bias, workspace;
  DeviceMemory accumulators;
};

std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The order of the operands' random streams.
enum RandomStream : uint64_t { kStreamA, kStreamB, kStreamC, kStreamBias };

class ProblemRun {
 public:
  ProblemRun(Workload const& workload, Buffers& buffers, size_t params_bytes,
             Settings const& settings, Device const& device, Nvml const& nvml, cudaStream_t stream)
      : workload_(workload),
        shape_(workload.shape()),
        buffers_(buffers),
        params_(params_bytes),
        settings_(settings),
        device_(device),
        nvml_(nvml),
        normal_(normal_data(shape_)),
        stream_(stream) {}

  /// Fills in the outcome as far as it gets.
  void execute(Outcome& outcome) {
    cutlass_ninja_status const status = workload_.initialize(
        buffers_.operands(), buffers_.workspace.data(), params_.data(), stream_);
    if (status != CUTLASS_NINJA_SUCCESS) return refuse(status, outcome);

    if (settings_.verification_enabled && !verify_integer(outcome)) return;
    fill_normal_operands();
    if (settings_.verification_enabled && !verify_normal(outcome)) return;
    if (settings_.profiling_iterations != 0) measure(outcome);
  }

 private:
  /// What `initialize` answered, as an outcome.
  void refuse(cutlass_ninja_status status, Outcome& outcome) {
    cudaError_t const error = cudaGetLastError();
    check_kernel_image(error);
    outcome.status =
        status == CUTLASS_NINJA_NOT_SUPPORTED ? Status::kNotSupported : Status::kFailed;
    outcome.reason = "the kernel's initialization was refused";
    if (error != cudaSuccess) outcome.reason = CudaError(error, "initializing the kernel").what();
  }

  void launch() { launch(params_.data()); }

  void launch(void* params) {
    cudaError_t const error = workload_.run(params, stream_);
    check_kernel_image(error);
    check(error, "launching the kernel");
    check(cudaGetLastError(), "launching the kernel");
  }

  /// Launches once, and waits for a D of which nothing is left from earlier launches.
  void launch_alone() {
    buffers_.d.poison(stream_);
    launch();
    check(cudaStreamSynchronize(stream_), "running the kernel");
  }

  /// Times the kernel, and verifies what timing left: a race, or a workspace that is not left as it
  /// was found, shows in the last timed launch or in one more, whose D starts as poison.
  void measure(Outcome& outcome) {
    outcome.copies = rotation_copies(Rotation::bytes(shape_), device_.l2_bytes, settings_.cache);
    Rotation const rotation(workload_, buffers_.operands(), buffers_.workspace.data(), params_,
                            outcome.copies, stream_);
    WarmUp const warm_up{settings_.warmup_iterations, settings_.warmup_duration_ms};
    SamplingPlan const plan{settings_.profiling_iterations.value_or(0),
                            settings_.min_iterations,
                            settings_.relative_stderr,
                            settings_.profiling_duration_ms,
                            {settings_.burst_duration_ms, settings_.rest_duration_ms}};
    int64_t last = 0;
    Timing timing = time_launches(
        warm_up, plan,
        [&](int64_t index) {
          last = index;
          launch(rotation.params(index));
        },
        device_.multiprocessors, nvml_, stream_);
    if (settings_.verification_enabled &&
        !verify_after_timing(rotation.operands(last).d, outcome)) {
      return;
    }
    if (timing.samples.empty()) {
      outcome.status = Status::kFailed;
      outcome.reason = "the GPU was throttled all the time: " +
                       joined(throttle_names(timing.conditions.throttle_reasons));
    } else {
      outcome.runtime_ms = summarize(timing.samples);
    }
    timing.samples.clear();
    outcome.timing = std::move(timing);
  }

  bool verify_integer(Outcome& outcome) {
    IntegerData const integers = integer_data(shape_);
    fill_integers(buffers_.a.data(), shape_.a, integers, {settings_.seed, kStreamA}, stream_);
    fill_integers(buffers_.b.data(), shape_.b, integers, {settings_.seed, kStreamB}, stream_);
    if (shape_.reads_c()) {
      fill_integers(buffers_.c.data(), shape_.c, {2, 0.8}, {settings_.seed, kStreamC}, stream_);
    }
    if (shape_.bias.count > 0) {
      RandomSequence const sequence{settings_.seed, kStreamBias};
      fill_integers(buffers_.bias.data(), shape_.bias, {2, 0.8}, sequence, stream_);
    }
    refer();
    launch_alone();
    return conclude(check_integer(shape_, compare_d()), outcome);
  }

  void fill_normal_operands() {
    fill_normal(buffers_.a.data(), shape_.a, normal_.a, {settings_.seed, kStreamA}, stream_);
    fill_normal(buffers_.b.data(), shape_.b, normal_.b, {settings_.seed, kStreamB}, stream_);
    if (shape_.reads_c()) {
      fill_normal(buffers_.c.data(), shape_.c, normal_.c, {settings_.seed, kStreamC}, stream_);
    }
    if (shape_.bias.count > 0) {
      RandomSequence const sequence{settings_.seed, kStreamBias};
      fill_normal(buffers_.bias.data(), shape_.bias, normal_.bias, sequence, stream_);
    }
  }

  bool verify_normal(Outcome& outcome) {
    refer();
    launch_alone();
    return conclude(check_normal("normal", shape_, normal_, compare_d()), outcome);
  }

  /// `last_d` is the D of the last timed launch.
  bool verify_after_timing(void const* last_d, Outcome& outcome) {
    Check const timed = check_normal("after_timing", shape_, normal_, compare_d(last_d));
    launch_alone();
    Check const alone = check_normal("after_timing", shape_, normal_, compare_d());
    return conclude(timed.passed() ? alone : timed, outcome);
  }

  void refer() {
    workload_.reference(buffers_.operands(), buffers_.accumulators.data(), stream_);
    check(cudaStreamSynchronize(stream_), "running the reference");
  }

  Comparison compare_d() { return compare_d(buffers_.d.data()); }

  Comparison compare_d(void const* d) {
    NumberFormat const epilogue = number_format(shape_.epilogue);
    Expectation expectation;
    expectation.d = {d, shape_.d.element, shape_.d_strides};
    expectation.accumulators = {buffers_.accumulators.data(), workload_.reference_accumulator(),
                                shape_.d_strides};
    expectation.c = {buffers_.c.data(), shape_.c.element, shape_.c_strides};
    expectation.shape = shape_.output;
    expectation.epilogue = {shape_.fusion,
                            shape_.epilogue,
                            rounded_to(epilogue, shape_.alpha),
                            rounded_to(epilogue, shape_.beta),
                            rounded_to(epilogue, kLeakyReluSlope),
                            buffers_.bias.data(),
                            shape_.reads_c()};
    expectation.d_format = number_format(shape_.d.element);
    expectation.bounds = error_bounds(shape_);
    return compare(expectation, stream_);
  }

  /// Records a check; false, with the reason, if it or a guard shows that the kernel is wrong.
  bool conclude(Check const& check, Outcome& outcome) {
    outcome.checks.push_back(check);
    outcome.reason = damage();
    if (outcome.reason.empty() && !check.passed()) outcome.reason = fault(check);
    if (outcome.reason.empty()) return true;
    outcome.status = Status::kIncorrect;
    return false;
  }

  /// Which buffer something was written beside, if any.
  std::string damage() const {
    struct Named {
      char const* name;
      GuardedBuffer const& buffer;
    };
    Named const buffers[] = {{"D", buffers_.d},           {"A", buffers_.a},
                             {"B", buffers_.b},           {"C", buffers_.c},
                             {"the bias", buffers_.bias}, {"the workspace", buffers_.workspace}};
    for (Named const& named : buffers) {
      int64_t const bytes = named.buffer.damaged_bytes(stream_);
      if (bytes > 0) {
        return "out-of-bounds write: " + std::to_string(bytes) + " bytes beside " + named.name +
               " were changed";
      }
    }
    return "";
  }

  std::string fault(Check const& check) const {
    Comparison const& comparison = check.comparison;
    std::string const worst = workload_.position(comparison.worst_index) + " is " +
                              json_number(comparison.worst_actual) + " instead of " +
                              json_number(comparison.worst_expected);
    std::string const data = std::string(check.data) + " check: ";
    if (check.metric == Metric::kFrobenius) {
      return data + "the relative Frobenius error " + json_number(check.error) + " exceeds " +
             json_number(check.tolerance) + "; the worst element, " + worst;
    }
    return data + std::to_string(comparison.mismatches) + " of " + std::to_string(shape_.d.count) +
           " elements of D are wrong; the worst, " + worst;
  }

  Workload const& workload_;
  WorkloadShape const& shape_;
  Buffers& buffers_;
  Params params_;
  Settings const& settings_;
  Device const& device_;
  Nvml const& nvml_;
  NormalData normal_;
  cudaStream_t stream_;
};

/// The reason for which tensors of so many bytes are not supported.
std::string out_of_memory(size_t bytes) {
  size_t free = 0, total = 0;
  cudaGetLastError();
  check(cudaMemGetInfo(&free, &total), "asking for the free memory");
  return "out of device memory: the operands, the workspace and the reference need " +
         std::to_string(bytes >> 20) + " MiB and " + std::to_string(free >> 20) + " MiB are free";
}

}  // namespace

char const* status_name(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "success";
    case Status::kIncorrect:
      return "incorrect";
    case Status::kNotSupported:
      return "not_supported";
    case Status::kFailed:
      break;
  }
  return "failed";
}

Outcome Outcome::not_supported(std::string reason) {
  Outcome outcome;
  outcome.status = Status::kNotSupported;
  outcome.reason = std::move(reason);
  return outcome;
}

Outcome Outcome::failed(std::string reason) {
  Outcome outcome;
  outcome.status = Status::kFailed;
  outcome.reason = std::move(reason);
  return outcome;
}

Outcome run_problem(Workload const& workload, size_t params_bytes, Settings const& settings,
                    Device const& device, Nvml const& nvml, cudaStream_t stream) {
  WorkloadShape const& shape = workload.shape();
  char const* reason = nullptr;
  if (workload.can_implement(&reason) != CUTLASS_NINJA_SUCCESS) {
    return Outcome::not_supported(reason ? reason : "the kernel cannot implement this problem");
  }
  size_t const workspace_bytes = workload.workspace_bytes();
  size_t const accumulators_bytes =
      settings.verification_enabled
          ? Tensor{workload.reference_accumulator(), shape.d.count}.bytes()
          : 0;

  std::unique_ptr<Buffers> buffers;
  Outcome outcome;
  outcome.workspace_bytes = static_cast<int64_t>(workspace_bytes);
  try {
    buffers = std::make_unique<Buffers>(shape, workspace_bytes, accumulators_bytes, stream);
    ProblemRun(workload, *buffers, params_bytes, settings, device, nvml, stream).execute(outcome);
  } catch (KernelError const& error) {
    outcome.status = Status::kFailed;
    outcome.reason = error.what();
  } catch (CudaError const& error) {
    bool const no_memory = !buffers && error.code == cudaErrorMemoryAllocation;
    outcome.status = no_memory ? Status::kNotSupported : Status::kFailed;
    outcome.reason = no_memory ? out_of_memory(shape.a.bytes() + shape.b.bytes() + shape.c.bytes() +
                                               shape.d.bytes() + shape.bias.bytes() +
                                               workspace_bytes + accumulators_bytes)
                               : error.what();
  }
  return outcome;
}

}  // namespace cutlass_ninja
