#include "problem_space.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "error.h"
#include "json.h"
#include "parse.h"

namespace cutlass_ninja {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int>::max();

UsageError too_many() {
  return UsageError("more than " + std::to_string(kMaxProblems) +
                    " problems; shorten the lists or widen the steps of the ranges");
}

int64_t minimum(Field const& field) { return field.type == FieldType::kSize ? 1 : 0; }

/// Appends what `start:end[:step]` or a single integer stands for; false if it is neither.
bool append_integers(Field const& field, std::string const& text, std::vector<double>& values) {
  std::vector<int64_t> bounds;
  for (std::string const& part : split(text, ':')) {
    bool const step = bounds.size() == 2;
    std::optional<int64_t> const bound = parse_integer(part, step ? 1 : minimum(field), kMaxSize);
    if (!bound) return false;
    bounds.push_back(*bound);
  }
  if (bounds.size() > 3) return false;
  int64_t const start = bounds.front();
  int64_t const end = bounds.size() > 1 ? bounds[1] : start;
  int64_t const step = bounds.size() > 2 ? bounds[2] : 1;
  if (end < start) return false;
  if ((end - start) / step >= static_cast<int64_t>(kMaxProblems)) throw too_many();
  for (int64_t size = start; size <= end; size += step) {
    values.push_back(static_cast<double>(size));
  }
  return true;
}

bool append_scalar(std::string const& text, std::vector<double>& values) {
  std::optional<double> const value = parse_number(text);
  if (value) values.push_back(*value);
  return value.has_value();
}

bool append_choice(Field const& field, std::string const& text, std::vector<double>& values) {
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (field.names[i] != text) continue;
    values.push_back(static_cast<double>(i));
    return true;
  }
  return false;
}

/// Appends one of the values that a closed run-time parameter offers; false if it is none.
bool append_offered(Field const& field, std::string const& text, std::vector<double>& values) {
  std::optional<int64_t> const value = parse_integer(text, 0, kMaxSize);
  std::vector<int> const& offered = field.searched;
  if (!value || std::find(offered.begin(), offered.end(), *value) == offered.end()) return false;
  values.push_back(static_cast<double>(*value));
  return true;
}

/// Appends what one part of a comma list stands for; false if it is no value of the field.
bool append(Field const& field, std::string const& text, std::vector<double>& values) {
  if (field.is_closed) return append_offered(field, text, values);
  switch (field.type) {
    case FieldType::kScalar:
      return append_scalar(text, values);
    case FieldType::kChoice:
      return append_choice(field, text, values);
    default:
      return append_integers(field, text, values);
  }
}

}  // namespace

std::string expected_values(Field const& field) {
  if (field.is_closed) {
    std::string text;
    for (int const value : field.searched) {
      text += (text.empty() ? "" : ", ") + std::to_string(value);
    }
    return "one of " + text + ", or a comma list of them";
  }
  switch (field.type) {
    case FieldType::kScalar:
      return "finite numbers: one or a comma list";
    case FieldType::kChoice: {
      std::string names;
      for (char const* name : field.names) names += (names.empty() ? "" : ", ") + std::string(name);
      return "names out of " + names + ": one or a comma list";
    }
    default:
      return "integers from " + std::to_string(minimum(field)) +
             " to 2147483647: one, a comma list or start:end:step with start <= end";
  }
}

std::string value_text(Field const& field, double value) {
  switch (field.type) {
    case FieldType::kScalar:
      return json_number(value);
    case FieldType::kChoice:
      return field.names[static_cast<size_t>(value)];
    default:
      return json_number(static_cast<int64_t>(value));
  }
}

double Problem::scalar(char const* name) const {
  for (size_t i = 0; i < fields_->size(); ++i) {
    if (std::strcmp((*fields_)[i].name, name) == 0) return values_[i];
  }
  throw std::logic_error(std::string("no problem field ") + name);
}

ProblemSpace::ProblemSpace(std::vector<Field> const& fields) : fields_(&fields) {
  for (Field const& field : fields) values_.push_back({field.default_value});
}

void ProblemSpace::set(size_t index, std::string const& text) {
  Field const& field = (*fields_)[index];
  std::vector<double> values;
  for (std::string const& part : split(text, ',')) {
    if (!append(field, part, values)) {
      throw UsageError(std::string("--") + field.name + "=" + text + ": expected " +
                       expected_values(field));
    }
  }
  values_[index] = std::move(values);
}

size_t ProblemSpace::size() const {
  size_t count = 1;
  for (std::vector<double> const& values : values_) {
    count *= values.size();
    if (count > kMaxProblems) throw too_many();
  }
  return count;
}

Problem ProblemSpace::operator[](size_t index) const {
  std::vector<double> chosen(values_.size());
  for (size_t field = values_.size(); field-- > 0;) {
    chosen[field] = values_[field][index % values_[field].size()];
    index /= values_[field].size();
  }
  return Problem(*fields_, std::move(chosen));
}

}  // namespace cutlass_ninja
