#include "element.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace cutlass_ninja {
namespace {

struct Entry {
  cutlass_ninja_element element;
  size_t bytes;
  NumberFormat format;
};

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr double kMaxBf16 = 0x1.fep127;

constexpr Entry kElements[] = {
    {CUTLASS_NINJA_VOID, 0, {true, 0, 0, 0, 0}},
    {CUTLASS_NINJA_F16, 2, {false, 11, -14, -65504, 65504}},
    {CUTLASS_NINJA_BF16, 2, {false, 8, -126, -kMaxBf16, kMaxBf16}},
    {CUTLASS_NINJA_TF32, 4, {false, 11, -126, -0x1.ffcp127, 0x1.ffcp127}},
    {CUTLASS_NINJA_F32, 4, {false, 24, -126, -kMaxFloat, kMaxFloat}},
    {CUTLASS_NINJA_F64, 8, {false, 53, -1022, -kMaxDouble, kMaxDouble}},
    {CUTLASS_NINJA_S8, 1, {true, 7, 0, -128, 127}},
    {CUTLASS_NINJA_U8, 1, {true, 8, 0, 0, 255}},
    {CUTLASS_NINJA_S32, 4, {true, 31, 0, -2147483648.0, 2147483647.0}},
};

Entry const& entry(cutlass_ninja_element element) {
  for (Entry const& candidate : kElements) {
    if (candidate.element == element) return candidate;
  }
  throw std::invalid_argument("element type " + std::to_string(element) +
                              " is unknown to this runtime");
}

}  // namespace

NumberFormat number_format(cutlass_ninja_element element) { return entry(element).format; }

size_t element_bytes(cutlass_ninja_element element) { return entry(element).bytes; }

unsigned char poison_byte(cutlass_ninja_element element) {
  return number_format(element).integer ? 0x80 : 0xff;
}

double unit_roundoff(NumberFormat const& format) {
  return format.integer ? 0 : std::ldexp(1.0, -format.precision);
}

double smallest_positive(NumberFormat const& format) {
  return format.integer ? 0 : std::ldexp(1.0, format.min_exponent - format.precision + 1);
}

double rounded_to(NumberFormat const& format, double value) {
  if (format.integer) return std::trunc(value);
  if (value == 0) return value;
  int const exponent = std::max(std::ilogb(value), format.min_exponent) - format.precision + 1;
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

}  // namespace cutlass_ninja
