/// Elements in device memory, read and written as numbers. The conversions are spelt out here so
/// that no further header of the toolkit is needed.
#pragma once

#include <cstdint>

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

/// Element `index` of an array of `E`, as the arithmetic type `T`.
template <typename T, cutlass_ninja_element E>
__device__ inline T load(void const* data, int64_t index) {
  if constexpr (E == CUTLASS_NINJA_F16) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t const*>(data)[index]));
    return static_cast<T>(value);
  } else if constexpr (E == CUTLASS_NINJA_BF16) {
    uint32_t const bits = static_cast<uint16_t const*>(data)[index];
    return static_cast<T>(__uint_as_float(bits << 16));
  } else if constexpr (E == CUTLASS_NINJA_TF32 || E == CUTLASS_NINJA_F32) {
    return static_cast<T>(static_cast<float const*>(data)[index]);
  } else if constexpr (E == CUTLASS_NINJA_F64) {
    return static_cast<T>(static_cast<double const*>(data)[index]);
  } else if constexpr (E == CUTLASS_NINJA_S8) {
    return static_cast<T>(static_cast<int8_t const*>(data)[index]);
  } else if constexpr (E == CUTLASS_NINJA_U8) {
    return static_cast<T>(static_cast<uint8_t const*>(data)[index]);
  } else {
    static_assert(E == CUTLASS_NINJA_S32, "no such element in memory");
    return static_cast<T>(static_cast<int32_t const*>(data)[index]);
  }
}

/// Calls `function.operator()<E>()` with the element type as a constant. VOID is not in memory and
/// must not be asked for.
template <typename Function>
__device__ inline void with_element(cutlass_ninja_element element, Function& function) {
  switch (element) {
    case CUTLASS_NINJA_VOID:
      break;
    case CUTLASS_NINJA_F16:
      return function.template operator()<CUTLASS_NINJA_F16>();
    case CUTLASS_NINJA_BF16:
      return function.template operator()<CUTLASS_NINJA_BF16>();
    case CUTLASS_NINJA_TF32:
    case CUTLASS_NINJA_F32:
      return function.template operator()<CUTLASS_NINJA_F32>();
    case CUTLASS_NINJA_F64:
      return function.template operator()<CUTLASS_NINJA_F64>();
    case CUTLASS_NINJA_S8:
      return function.template operator()<CUTLASS_NINJA_S8>();
    case CUTLASS_NINJA_U8:
      return function.template operator()<CUTLASS_NINJA_U8>();
    case CUTLASS_NINJA_S32:
      return function.template operator()<CUTLASS_NINJA_S32>();
  }
}

/// For with_element: reads one element as a double, which holds every type exactly.
struct LoadDouble {
  void const* data;
  int64_t index;
  double value = 0;

  template <cutlass_ninja_element E>
  __device__ void operator()() {
    value = load<double, E>(data, index);
  }
};

/// Element `index` of an array whose type is known only at run time.
__device__ inline double load(cutlass_ninja_element element, void const* data, int64_t index) {
  LoadDouble loaded{data, index};
  with_element(element, loaded);
  return loaded.value;
}

/// The bits of a finite float rounded to nearest, ties to even, without its `dropped` low bits.
__device__ inline uint32_t rounded_bits(float value, int dropped) {
  uint32_t const bits = __float_as_uint(value);
  uint32_t const half = 1u << (dropped - 1);
  return (bits + half - 1 + ((bits >> dropped) & 1)) & ~(2 * half - 1);
}

/// Writes a finite number as element `index`, rounded to nearest; integers are clamped to the range
/// of the type.
__device__ inline void store(cutlass_ninja_element element, void* data, int64_t index,
                             double value) {
  float const single = static_cast<float>(value);
  switch (element) {
    case CUTLASS_NINJA_F16: {
      uint16_t bits;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(single));
      static_cast<uint16_t*>(data)[index] = bits;
      break;
    }
    case CUTLASS_NINJA_BF16:
      static_cast<uint16_t*>(data)[index] = static_cast<uint16_t>(rounded_bits(single, 16) >> 16);
      break;
    case CUTLASS_NINJA_TF32:
      static_cast<float*>(data)[index] = __uint_as_float(rounded_bits(single, 13));
      break;
    case CUTLASS_NINJA_F32:
      static_cast<float*>(data)[index] = single;
      break;
    case CUTLASS_NINJA_F64:
      static_cast<double*>(data)[index] = value;
      break;
    case CUTLASS_NINJA_S8:
      static_cast<int8_t*>(data)[index] =
          static_cast<int8_t>(max(-128, min(127, __double2int_rn(value))));
      break;
    case CUTLASS_NINJA_U8:
      static_cast<uint8_t*>(data)[index] =
          static_cast<uint8_t>(max(0, min(255, __double2int_rn(value))));
      break;
    case CUTLASS_NINJA_S32:
      static_cast<int32_t*>(data)[index] = __double2int_rn(value);
      break;
    case CUTLASS_NINJA_VOID:
      break;
  }
}

}  // namespace cutlass_ninja
