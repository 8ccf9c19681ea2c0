/// A writer of JSON text on one line.
#pragma once

#include <cstdint>
#include <string>

namespace cutlass_ninja {

/// A JSON value as text. A number that JSON cannot hold (NaN, infinity) becomes null.
std::string json_string(std::string const& value);
std::string json_number(double value);
std::string json_number(int64_t value);

/// An object that grows member by member, in the order of the calls.
class JsonObject {
 public:
  /// Adds a member whose value is already JSON text.
  JsonObject& raw(char const* name, std::string const& json);
  JsonObject& string(char const* name, std::string const& value);
  JsonObject& number(char const* name, double value);
  JsonObject& integer(char const* name, int64_t value);
  JsonObject& null(char const* name);

  /// The members without the braces.
  std::string const& members() const { return members_; }
  /// The whole object.
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace cutlass_ninja
