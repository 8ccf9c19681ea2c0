#include "problem_space.h"

#include <cstring>
#include <limits>

#include "error.h"
#include "parse.h"

namespace cutlass_ninja {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int>::max();

UsageError too_many() {
  return UsageError("more than " + std::to_string(kMaxProblems) +
                    " problems; shorten the lists or widen the steps of the ranges");
}

/// Appends what `start:end[:step]` or a single size stands for; false if it is neither.
bool append_sizes(std::string const& text, std::vector<double>& values) {
  std::vector<int64_t> bounds;
  for (std::string const& part : split(text, ':')) {
    std::optional<int64_t> const bound = parse_integer(part, 1, kMaxSize);
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

}  // namespace

char const* expected_values(FieldType type) {
  return type == FieldType::kSize ? "integers from 1 to 2147483647: one, a comma list or "
                                    "start:end:step with start <= end"
                                  : "finite numbers: one or a comma list";
}

double Problem::scalar(char const* name) const {
  for (size_t i = 0; i < fields_->size(); ++i) {
    if (std::strcmp((*fields_)[i].name, name) == 0) return values_[i];
  }
  throw std::logic_error(std::string("no problem field ") + name);
}

ProblemSpace::ProblemSpace(std::vector<Field> const& fields) : fields_(fields) {
  for (Field const& field : fields) values_.push_back({field.default_value});
}

void ProblemSpace::set(size_t index, std::string const& text) {
  Field const& field = fields_[index];
  std::vector<double> values;
  for (std::string const& part : split(text, ',')) {
    bool const valid =
        field.type == FieldType::kSize ? append_sizes(part, values) : append_scalar(part, values);
    if (!valid) {
      throw UsageError(std::string("--") + field.name + "=" + text + ": expected " +
                       expected_values(field.type));
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
  return Problem(fields_, std::move(chosen));
}

}  // namespace cutlass_ninja
