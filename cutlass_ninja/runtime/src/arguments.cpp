#include "arguments.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

#include "error.h"
#include "json.h"
#include "parse.h"

namespace cutlass_ninja {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();

template <typename Member>
bool set_count(std::string const& text, Member& member) {
  std::optional<int64_t> const value = parse_integer(text, 0, kMaxInt);
  if (value) member = static_cast<int>(*value);
  return value.has_value();
}

/// A number from 0, multiplied by `unit`.
bool set_amount(std::string const& text, double unit, double& member) {
  std::optional<double> const value = parse_number(text);
  if (!value || *value < 0) return false;
  member = *value * unit;
  return true;
}

/// One flag that is no problem field.
struct Flag {
  char const* name;
  char const* default_text;
  char const* help;
  char const* expected;
  bool (*set)(std::string const&, Arguments&);  ///< false: the value is not as expected
  bool of_call = false;  ///< says something of the whole call: not for a line of a problems file
};

constexpr char const* kExpectedCount = "an integer from 0 to 2147483647";
constexpr char const* kExpectedTime = "milliseconds, 0 or more";

constexpr Flag kFlags[] = {
    {"warmup-iterations", "10", "untimed launches before the timed ones", kExpectedCount,
     [](std::string const& text, Arguments& a) {
       return set_count(text, a.settings.warmup_iterations);
     }},
    {"warmup-duration", "20", "ms of GPU time that the untimed launches take at least",
     kExpectedTime,
     [](std::string const& text, Arguments& a) {
       return set_amount(text, 1, a.settings.warmup_duration_ms);
     }},
    {"profiling-iterations", "",
     "so many timed launches, whatever the next three say; 0 only verifies", kExpectedCount,
     [](std::string const& text, Arguments& a) {
       return set_count(text, a.settings.profiling_iterations);
     }},
    {"relative-stderr", "0.5",
     "samples until the standard error of their mean is below this many %",
     "a percentage, 0 or more",
     [](std::string const& text, Arguments& a) {
       return set_amount(text, 0.01, a.settings.relative_stderr);
     }},
    {"min-iterations", "50", "timed launches at least", kExpectedCount,
     [](std::string const& text, Arguments& a) {
       return set_count(text, a.settings.min_iterations);
     }},
    {"profiling-duration", "1000", "ms, with the rests, after which to stop in any case",
     kExpectedTime,
     [](std::string const& text, Arguments& a) {
       return set_amount(text, 1, a.settings.profiling_duration_ms);
     }},
    {"burst-duration", "4", "ms of GPU time that are queued at once", "milliseconds, more than 0",
     [](std::string const& text, Arguments& a) {
       return set_amount(text, 1, a.settings.burst_duration_ms) && a.settings.burst_duration_ms > 0;
     }},
    {"rest-duration", "10",
     "ms of rest after a burst, for a steady clock; 0: none, as under a sustained load",
     kExpectedTime,
     [](std::string const& text, Arguments& a) {
       return set_amount(text, 1, a.settings.rest_duration_ms);
     }},
    {"cache", "cold", "cold: copies of the operands, more than twice the L2, take turns; warm: one",
     "cold or warm",
     [](std::string const& text, Arguments& a) {
       a.settings.cache = text == "warm" ? CacheMode::kWarm : CacheMode::kCold;
       return text == "warm" || text == "cold";
     }},
    {"verification-enabled", "true", "compares every element of D with a reference",
     "true, false, on, off, 1 or 0",
     [](std::string const& text, Arguments& a) {
       std::optional<bool> const value = parse_bool(text);
       if (value) a.settings.verification_enabled = *value;
       return value.has_value();
     }},
    {"seed", "2024", "seed of the operands' random values",
     "an integer from 0 to 18446744073709551615",
     [](std::string const& text, Arguments& a) {
       std::optional<uint64_t> const value = parse_unsigned(text);
       if (value) a.settings.seed = *value;
       return value.has_value();
     }},
    {"device", "0", "ordinal of the CUDA device", kExpectedCount,
     [](std::string const& text, Arguments& a) { return set_count(text, a.settings.device); },
     /*of_call=*/true},
    {"problems-file", "", "takes flags for each problem from the lines of this file; -: from stdin",
     "a file or -",
     [](std::string const& text, Arguments& a) {
       a.problems_file = text;
       return !text.empty();
     },
     /*of_call=*/true},
};

/// The flags without a value.
struct Command {
  char const* name;
  Arguments::Action action;
  char const* help;
};

constexpr Command kCommands[] = {
    {"help", Arguments::Action::kHelp, "prints this text"},
    {"describe", Arguments::Action::kDescribe, "prints what the kernel is, as a JSON object"},
    {"list-devices", Arguments::Action::kListDevices, "prints the CUDA devices, as a JSON array"},
};

/// A flag's name as it is compared: dashes and underscores are the same.
std::string normalized(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The entry of a table that a flag names, or null.
template <typename Table>
auto find(Table const& table, std::string const& name) -> decltype(&*std::begin(table)) {
  for (auto const& entry : table) {
    if (normalized(entry.name) == normalized(name)) return &entry;
  }
  return nullptr;
}

/// "did you mean --x?", where a flag is near enough to what was typed, else "see --help".
std::string suggestion(std::vector<Field> const& fields, std::string const& typed) {
  std::vector<std::string> known;
  for (Field const& field : fields) known.emplace_back(field.name);
  for (Flag const& flag : kFlags) known.emplace_back(flag.name);
  for (Command const& command : kCommands) known.emplace_back(command.name);
  std::string nearest;
  size_t best = std::min<size_t>(typed.size(), 4);
  for (std::string const& name : known) {
    size_t const distance = edit_distance(normalized(typed), normalized(name));
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest.empty() ? "see --help" : "did you mean --" + nearest + "?";
}

/// What stands for a field's values in the usage text.
char const* placeholder(FieldType type) {
  switch (type) {
    case FieldType::kScalar:
      return "numbers";
    case FieldType::kChoice:
      return "names";
    default:
      return "sizes";
  }
}

std::string usage_line(std::string const& flag, std::string const& default_text,
                       std::string const& help) {
  std::string line = "  --" + flag;
  line.append(std::max<size_t>(34, line.size() + 1) - line.size(), ' ');
  line += help;
  if (!default_text.empty()) line += " [" + default_text + "]";
  return line + "\n";
}

/// Reads flags and their values over what `arguments` holds. Throws UsageError.
void read_flags(std::vector<Field> const& fields, std::vector<std::string> const& words,
                bool is_line, Arguments& arguments) {
  for (size_t i = 0; i < words.size(); ++i) {
    std::string const& argument = words[i];
    if (argument.compare(0, 2, "--") != 0) {
      throw UsageError(argument + ": not a flag; flags begin with --, see --help");
    }
    size_t const equals = argument.find('=');
    std::string const name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);

    Command const* const command = find(kCommands, name);
    Field const* const field = find(fields, name);
    Flag const* const flag = find(kFlags, name);
    if (is_line && (command || (flag && flag->of_call))) {
      throw UsageError("--" + name + ": not for a line of a problems file");
    }
    if (command) {
      if (equals != std::string::npos) {
        throw UsageError(argument + ": --" + command->name + " takes no value");
      }
      arguments.action = command->action;
      if (command->action == Arguments::Action::kHelp) return;
      continue;
    }
    if (!field && !flag) {
      throw UsageError("--" + name + ": unknown flag; " + suggestion(fields, name));
    }

    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < words.size() && words[i + 1].compare(0, 2, "--") != 0) {
      value = words[++i];
    } else {
      throw UsageError(std::string("--") + (field ? field->name : flag->name) +
                       ": missing value; expected " +
                       (field ? expected_values(*field) : flag->expected));
    }
    if (field) {
      arguments.problems.set(static_cast<size_t>(field - fields.data()), value);
    } else if (!flag->set(value, arguments)) {
      throw UsageError(std::string("--") + flag->name + "=" + value + ": expected " +
                       flag->expected);
    }
  }
  arguments.problems.size();
}

}  // namespace

Arguments parse_arguments(std::vector<Field> const& fields, int argc, char const* const* argv) {
  Arguments arguments{Arguments::Action::kProfile, Settings(), ProblemSpace(fields), ""};
  read_flags(fields, std::vector<std::string>(argv + std::min(argc, 1), argv + argc),
             /*is_line=*/false, arguments);
  return arguments;
}

void for_each_line(std::vector<Field> const& fields, Arguments const& arguments,
                   std::function<void(Arguments const&)> const& run) {
  bool const is_stdin = arguments.problems_file == "-";
  std::ifstream file;
  if (!is_stdin) file.open(arguments.problems_file);
  if (!is_stdin && !file) {
    throw UsageError("--problems-file=" + arguments.problems_file + ": cannot be read");
  }
  std::istream& lines = is_stdin ? std::cin : file;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::vector<std::string> const flags{std::istream_iterator<std::string>(words), {}};
    if (flags.empty()) continue;
    Arguments own = arguments;
    try {
      read_flags(fields, flags, /*is_line=*/true, own);
    } catch (UsageError const& error) {
      throw UsageError(arguments.problems_file + ":" + std::to_string(number) + ": " +
                       error.what());
    }
    run(own);
  }
}

std::string usage(std::string const& program, std::string const& kernel,
                  std::vector<Field> const& fields) {
  std::string text = "usage: " + program + " [--flag=value]...\n\nProfiles " + kernel +
                     ".\nPrints one JSON object a problem, one a line.\n\nproblem:\n";
  for (Field const& field : fields) {
    text += usage_line(std::string(field.name) + "=<" + placeholder(field.type) + ">",
                       value_text(field, field.default_value), field.help);
  }
  text +=
      "  Sizes are one integer, a comma list or start:end:step (end included); numbers and names "
      "are\n"
      "  one or a comma list. Several lists give their product.\n\nprofiling:\n";
  for (Flag const& flag : kFlags) {
    text += usage_line(std::string(flag.name) + "=<value>", flag.default_text, flag.help);
  }
  text += "\n";
  for (Command const& command : kCommands) text += usage_line(command.name, "", command.help);
  return text +
         "\nexit codes: 0 fine; 1 a result was wrong or a launch failed; 2 the call is wrong or "
         "the\n"
         "kernel supports no problem of it; 3 the machine has no GPU that runs this binary\n";
}

}  // namespace cutlass_ninja
