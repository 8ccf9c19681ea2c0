/// The problems that one call profiles: the product of each problem field's values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cutlass_ninja {

/// What a problem field holds.
enum class FieldType {
  kSize,    ///< an integer from 1 to 2^31 - 1
  kCount,   ///< an integer from 0 to 2^31 - 1
  kScalar,  ///< a finite number
  kChoice,  ///< one of some names
};

/// One field of an operation kind's problem, and so one flag of the command line.
struct Field {
  char const* name;
  FieldType type;
  double default_value;
  char const* help;
  std::vector<char const*> names = {};  ///< of a choice, whose value is an index into them
  /// Of a run-time parameter, which changes how the kernel computes and not what: the values that
  /// are worth a try, the default first.
  std::vector<int> searched = {};
  bool is_closed = false;  ///< whether there are no other values than `searched`

  bool is_parameter() const { return !searched.empty(); }
};

/// What the command line takes for a field, in words.
std::string expected_values(Field const& field);

/// A value of a field as the command line takes it.
std::string value_text(Field const& field, double value);

/// One problem: a value for each field of its kind. Sizes, counts and choices are exact in a
/// double.
class Problem {
 public:
  Problem(std::vector<Field> const& fields, std::vector<double> values)
      : fields_(&fields), values_(std::move(values)) {}

  std::vector<Field> const& fields() const { return *fields_; }
  std::vector<double> const& values() const { return values_; }

  /// The value of the field `name`, which must exist.
  double scalar(char const* name) const;
  /// The same for a size, a count or a choice.
  int size(char const* name) const { return static_cast<int>(scalar(name)); }

 private:
  std::vector<Field> const* fields_;
  std::vector<double> values_;
};

/// The most problems that one call may ask for.
constexpr size_t kMaxProblems = 1000000;

/// The product of the fields' values; the first field varies slowest.
class ProblemSpace {
 public:
  /// Every field at its default. `fields` must outlive the space and its problems.
  explicit ProblemSpace(std::vector<Field> const& fields);

  /// Replaces one field's values by those that `text` lists: `16`, `16,32`, for sizes and counts
  /// also `16:64:16`, whose end is included and whose step may be omitted (1). Throws UsageError.
  void set(size_t field, std::string const& text);

  /// How many problems there are. Throws UsageError beyond kMaxProblems.
  size_t size() const;
  Problem operator[](size_t index) const;

 private:
  std::vector<Field> const* fields_;
  std::vector<std::vector<double>> values_;
};

}  // namespace cutlass_ninja
