#include "json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cutlass_ninja {

std::string json_string(std::string const& value) {
  std::string text = "\"";
  for (char const c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      text += escape;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string json_number(int64_t value) { return std::to_string(value); }

JsonObject& JsonObject::raw(char const* name, std::string const& json) {
  if (!members_.empty()) members_ += ", ";
  members_ += json_string(name) + ": " + json;
  return *this;
}

JsonObject& JsonObject::string(char const* name, std::string const& value) {
  return raw(name, json_string(value));
}

JsonObject& JsonObject::number(char const* name, double value) {
  return raw(name, json_number(value));
}

JsonObject& JsonObject::integer(char const* name, int64_t value) {
  return raw(name, json_number(value));
}

JsonObject& JsonObject::null(char const* name) { return raw(name, "null"); }

}  // namespace cutlass_ninja
