#include "report.h"

#include <algorithm>

#include "json.h"

namespace cutlass_ninja {
namespace {

std::string device_json(Device const& device) {
  return JsonObject()
      .integer("ordinal", device.ordinal)
      .string("name", device.name)
      .string("uuid", device.uuid)
      .string("compute_capability", device.compute_capability)
      .integer("multiprocessors", device.multiprocessors)
      .text();
}

char const* verification(Outcome const& outcome) {
  if (outcome.status == Status::kIncorrect) return "failed";
  return outcome.status == Status::kSuccess && !outcome.checks.empty() ? "passed" : "skipped";
}

std::string checks_json(std::vector<Check> const& checks) {
  std::string text;
  for (Check const& check : checks) {
    if (!text.empty()) text += ", ";
    text += JsonObject()
                .string("data", check.data)
                .string("metric", metric_name(check.metric))
                .number("error", check.error)
                .number("tolerance", check.tolerance)
                .text();
  }
  return "[" + text + "]";
}

/// The figures that follow from the launches' times; null where there are none.
void add_runtime(JsonObject& line, std::optional<Statistics> const& ms, Workload const* workload) {
  struct Figure {
    char const* name;
    double Statistics::* member;
  };
  constexpr Figure kFigures[] = {
      {"runtime_median_ms", &Statistics::median}, {"runtime_mean_ms", &Statistics::mean},
      {"runtime_min_ms", &Statistics::min},       {"runtime_max_ms", &Statistics::max},
      {"runtime_p5_ms", &Statistics::p5},         {"runtime_p95_ms", &Statistics::p95},
      {"runtime_stddev_ms", &Statistics::stddev},
  };
  line.integer("profiling_iterations", ms ? ms->count : 0);
  for (Figure const& figure : kFigures) {
    ms ? line.number(figure.name, (*ms).*figure.member) : line.null(figure.name);
  }
  if (workload) {
    line.integer("flop", workload->shape().flop).integer("bytes", workload->shape().bytes);
  } else {
    line.null("flop").null("bytes");
  }
  if (ms && workload) {
    double const seconds = ms->median * 1e-3;
    line.number("tflop_per_s", static_cast<double>(workload->shape().flop) / seconds * 1e-12)
        .number("gbyte_per_s", static_cast<double>(workload->shape().bytes) / seconds * 1e-9);
  } else {
    line.null("tflop_per_s").null("gbyte_per_s");
  }
}

}  // namespace

std::string describe(Operation const& operation) {
  cutlass_ninja_footprint const& footprint = operation.footprint;
  JsonObject added;
  added.integer("abi_version", operation.abi_version)
      .integer("shared_memory_bytes", static_cast<int64_t>(footprint.shared_memory_bytes))
      .integer("params_bytes", static_cast<int64_t>(footprint.params_bytes))
      .integer("threads", footprint.threads)
      .raw("cluster", "[" + std::to_string(footprint.cluster[0]) + ", " +
                          std::to_string(footprint.cluster[1]) + ", " +
                          std::to_string(footprint.cluster[2]) + "]");

  // Between the tokens of a JSON text a line break is no more than a blank.
  std::string text = operation.description;
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(text.rfind('}'));
  text.erase(text.find_last_not_of(' ') + 1);
  bool const empty = text.back() == '{';
  return text + (empty ? "" : ", ") + added.members() + "}";
}

std::string report(Operation const& operation, Problem const& problem, Workload const* workload,
                   Device const& device, Settings const& settings, Outcome const& outcome) {
  JsonObject line;
  line.string("kernel", operation.name)
      .string("key", operation.key)
      .string("operation", operation.kind)
      .string("status", status_name(outcome.status));
  outcome.reason.empty() ? line.null("reason") : line.string("reason", outcome.reason);
  for (size_t i = 0; i < problem.fields().size(); ++i) {
    Field const& field = problem.fields()[i];
    double const value = problem.values()[i];
    field.type == FieldType::kChoice ? line.string(field.name, value_text(field, value))
                                     : line.raw(field.name, value_text(field, value));
  }
  line.raw("device", device_json(device))
      .string("cuda_runtime_version", device.runtime_version)
      .string("cuda_driver_version", device.driver_version)
      .raw("seed", std::to_string(settings.seed))
      .integer("warmup_iterations", settings.warmup_iterations);
  add_runtime(line, outcome.runtime_ms, workload);
  return line.integer("workspace_bytes", outcome.workspace_bytes)
      .string("verification", verification(outcome))
      .raw("verification_checks", checks_json(outcome.checks))
      .text();
}

}  // namespace cutlass_ninja
