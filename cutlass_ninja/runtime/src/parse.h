/// Text to values, strictly: the whole text must be the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cutlass_ninja {

/// The parts of `text` between the separators; at least one, possibly empty.
std::vector<std::string> split(std::string const& text, char separator);

/// A decimal integer within [low, high], else nothing.
std::optional<int64_t> parse_integer(std::string const& text, int64_t low, int64_t high);

/// A decimal integer within [0, 2^64 - 1], else nothing.
std::optional<uint64_t> parse_unsigned(std::string const& text);

/// A finite decimal number, else nothing.
std::optional<double> parse_number(std::string const& text);

/// true, on, 1, false, off or 0, else nothing.
std::optional<bool> parse_bool(std::string const& text);

/// How many insertions, deletions and replacements of a character turn `a` into `b`.
size_t edit_distance(std::string const& a, std::string const& b);

}  // namespace cutlass_ninja
