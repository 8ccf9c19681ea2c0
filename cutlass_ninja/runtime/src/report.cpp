#include "report.h"

#include <algorithm>

#include "json.h"

namespace cutlass_ninja {
namespace {

JsonObject device_object(Device const& device) {
  return JsonObject()
      .integer("ordinal", device.ordinal)
      .string("name", device.name)
      .string("uuid", device.uuid)
      .string("compute_capability", device.compute_capability)
      .integer("multiprocessors", device.multiprocessors)
      .integer("l2_bytes", device.l2_bytes);
}

void add_versions(JsonObject& object, Device const& device, Nvml const& nvml) {
  std::string const& driver = nvml.driver_version();
  object.string("cuda_runtime_version", device.runtime_version)
      .string("cuda_driver_version", device.driver_version);
  driver.empty() ? object.null("driver_version") : object.string("driver_version", driver);
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

/// A JSON array of texts.
std::string list_json(std::vector<std::string> const& texts) {
  std::string list;
  for (std::string const& text : texts) list += (list.empty() ? "" : ", ") + json_string(text);
  return "[" + list + "]";
}

/// A number, or null.
void add(JsonObject& object, char const* name, std::optional<double> const& value) {
  value ? object.number(name, *value) : object.null(name);
}

std::string conditions_json(Conditions const& conditions) {
  JsonObject object;
  conditions.unavailable.empty() ? object.null("unavailable")
                                 : object.string("unavailable", conditions.unavailable);
  object.integer("readings", conditions.readings);
  add(object, "sm_clock_mhz", conditions.sm_clock_mhz);
  add(object, "sm_clock_min_mhz", conditions.sm_clock_min_mhz);
  object.raw("reduced_clock", conditions.reduced_clock ? "true" : "false");
  add(object, "memory_clock_mhz", conditions.memory_clock_mhz);
  add(object, "temperature_c", conditions.temperature_c);
  add(object, "power_w", conditions.power_w);
  object.raw("throttle_reasons", list_json(throttle_names(conditions.throttle_reasons)));
  return object.text();
}

/// How the launches were timed; null where they were not.
void add_timing(JsonObject& line, Outcome const& outcome) {
  line.integer("copies", outcome.copies);
  if (!outcome.timing) {
    for (char const* const name :
         {"warmup_iterations", "profiling_iterations", "launches_per_sample", "samples",
          "discarded_samples", "relative_stderr", "stopped_by", "conditions"}) {
      line.null(name);
    }
    return;
  }
  Timing const& timing = *outcome.timing;
  int64_t const samples = outcome.runtime_ms ? outcome.runtime_ms->count : 0;
  line.integer("warmup_iterations", timing.warmup_iterations)
      .integer("profiling_iterations", samples * timing.launches_per_sample)
      .integer("launches_per_sample", timing.launches_per_sample)
      .integer("samples", samples)
      .integer("discarded_samples", timing.discarded)
      .number("relative_stderr", timing.relative_stderr)
      .string("stopped_by", stop_name(timing.stop))
      .raw("conditions", conditions_json(timing.conditions));
}

void add_field(JsonObject& object, Field const& field, double value) {
  std::string const text = value_text(field, value);
  field.type == FieldType::kChoice ? object.string(field.name, text) : object.raw(field.name, text);
}

/// The problem's fields, and apart from them the kernel's run-time parameters.
void add_problem(JsonObject& line, Problem const& problem) {
  JsonObject parameters;
  for (size_t i = 0; i < problem.fields().size(); ++i) {
    Field const& field = problem.fields()[i];
    add_field(field.is_parameter() ? parameters : line, field, problem.values()[i]);
  }
  line.raw("parameters", parameters.text());
}

/// What run-time parameters a kernel offers: the values worth a try, the default first.
std::string parameters_json(Operation const& operation) {
  JsonObject parameters;
  for (Field const& field : operation.fields()) {
    if (!field.is_parameter()) continue;
    std::string choices;
    for (int const choice : field.searched) {
      choices += (choices.empty() ? "" : ", ") + std::to_string(choice);
    }
    parameters.raw(field.name, "[" + choices + "]");
  }
  return parameters.text();
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
                          std::to_string(footprint.cluster[2]) + "]")
      .raw("parameters", parameters_json(operation));

  // Between the tokens of a JSON text a line break is no more than a blank.
  std::string text = operation.description;
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(text.rfind('}'));
  text.erase(text.find_last_not_of(' ') + 1);
  bool const empty = text.back() == '{';
  return text + (empty ? "" : ", ") + added.members() + "}";
}

std::string devices_json(std::vector<Device> const& devices) {
  std::string list;
  for (Device const& device : devices) {
    JsonObject object = device_object(device);
    add_versions(object, device, Nvml(device.uuid));
    list += (list.empty() ? "" : ", ") + object.text();
  }
  return "[" + list + "]";
}

std::string report(Surroundings const& surroundings, Problem const& problem,
                   Workload const* workload, Settings const& settings, Outcome const& outcome) {
  Operation const& operation = surroundings.operation;
  Device const& device = surroundings.device;
  JsonObject line;
  line.string("kernel", operation.name)
      .string("key", operation.key)
      .string("operation", operation.kind)
      .string("status", status_name(outcome.status));
  outcome.reason.empty() ? line.null("reason") : line.string("reason", outcome.reason);
  add_problem(line, problem);
  line.raw("device", device_object(device).text());
  add_versions(line, device, surroundings.nvml);
  line.raw("seed", std::to_string(settings.seed)).string("cache", cache_mode_name(settings.cache));
  add_timing(line, outcome);
  add_runtime(line, outcome.runtime_ms, workload);
  return line.integer("workspace_bytes", outcome.workspace_bytes)
      .string("verification", verification(outcome))
      .raw("verification_checks", checks_json(outcome.checks))
      .text();
}

}  // namespace cutlass_ninja
