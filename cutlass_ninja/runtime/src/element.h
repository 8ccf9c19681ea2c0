/// The element types as numbers: sizes, precision and range.
#pragma once

#include <cstddef>

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

/// Which numbers an element type holds. Floating-point formats have `precision` significant bits
/// and normal numbers down to 2^min_exponent; integers have `precision` bits beside the sign.
struct NumberFormat {
  bool integer;
  int precision;
  int min_exponent;
  double lowest, highest;
};

/// Throws std::invalid_argument for a value that is no element type.
NumberFormat number_format(cutlass_ninja_element element);

/// Bytes of one element; 0 for VOID.
size_t element_bytes(cutlass_ninja_element element);

/// The byte that fills memory which must not be read or must be overwritten: it makes a NaN of
/// every floating-point type, and a large negative number of the signed integers.
unsigned char poison_byte(cutlass_ninja_element element);

/// Half the distance from 1 to the next larger number: the largest relative error of rounding to
/// nearest. 0 for integers.
double unit_roundoff(NumberFormat const& format);

/// The smallest positive number, a subnormal one; 0 for integers.
double smallest_positive(NumberFormat const& format);

/// `value` as the type holds it: rounded to nearest, for integers towards zero as in C.
double rounded_to(NumberFormat const& format, double value);

}  // namespace cutlass_ninja
