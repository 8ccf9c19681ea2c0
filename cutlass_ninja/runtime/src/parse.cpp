#include "parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace cutlass_ninja {
namespace {

template <typename Integer>
std::optional<Integer> parse_whole(std::string const& text) {
  Integer value{};
  char const* const end = text.data() + text.size();
  std::from_chars_result const result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> split(std::string const& text, char separator) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<int64_t> parse_integer(std::string const& text, int64_t low, int64_t high) {
  std::optional<int64_t> const value = parse_whole<int64_t>(text);
  return value && low <= *value && *value <= high ? value : std::nullopt;
}

std::optional<uint64_t> parse_unsigned(std::string const& text) {
  return parse_whole<uint64_t>(text);
}

std::optional<double> parse_number(std::string const& text) {
  // strtod would also take leading blanks, hexadecimal, "inf" and "nan".
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string const& text) {
  if (text == "true" || text == "on" || text == "1") return true;
  if (text == "false" || text == "off" || text == "0") return false;
  return std::nullopt;
}

size_t edit_distance(std::string const& a, std::string const& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t const replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace cutlass_ninja
