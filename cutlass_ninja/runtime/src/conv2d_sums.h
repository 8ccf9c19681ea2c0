/// One element of a convolution's D as the sum of its products, for the reference: straight from
/// the definition, without the implicit GEMM's detours.
#pragma once

#include <cstdint>

#include "cutlass_ninja/conv2d.h"

#ifdef __CUDACC__
#define CUTLASS_NINJA_HOST_DEVICE __host__ __device__
#else
#define CUTLASS_NINJA_HOST_DEVICE
#endif

namespace cutlass_ninja {

/// Along one axis, the activation that meets output `output` at filter position `filter`; it may
/// lie in the padding.
CUTLASS_NINJA_HOST_DEVICE inline int activation_at(int output, int filter, int extent, int pad,
                                                   int stride, int dilation, bool turned) {
  int const position = turned ? extent - 1 - filter : filter;
  return output * stride - pad + position * dilation;
}

/// Along one axis, the output that meets activation `activation` at filter position `filter`, or -1
/// if there is none.
CUTLASS_NINJA_HOST_DEVICE inline int output_at(int activation, int filter, int extent, int pad,
                                               int stride, int dilation, bool turned, int outputs) {
  int const position = turned ? extent - 1 - filter : filter;
  int const distance = activation + pad - position * dilation;
  return distance < 0 || distance % stride != 0 || distance / stride >= outputs ? -1
                                                                                : distance / stride;
}

/// Sums the products of one element of D. `a(i)` and `b(i)` give element i of A and B as `Sum`.
template <typename Sum, typename A, typename B>
CUTLASS_NINJA_HOST_DEVICE Sum fprop_sum(cutlass_ninja_conv2d_problem const& x, int64_t index,
                                        A const& a, B const& b) {
  bool const turned = x.mode == CUTLASS_NINJA_CONVOLUTION;
  int const channels = x.c / x.groups;
  int const k = static_cast<int>(index % x.k);
  int const q = static_cast<int>(index / x.k % x.q);
  int const p = static_cast<int>(index / x.k / x.q % x.p);
  int64_t const n = index / x.k / x.q / x.p;
  int const first_channel = k / (x.k / x.groups) * channels;
  Sum sum = 0;
  for (int r = 0; r < x.r; ++r) {
    int const h = activation_at(p, r, x.r, x.pad_h, x.stride_h, x.dilation_h, turned);
    if (h < 0 || h >= x.h) continue;
    for (int s = 0; s < x.s; ++s) {
      int const w = activation_at(q, s, x.s, x.pad_w, x.stride_w, x.dilation_w, turned);
      if (w < 0 || w >= x.w) continue;
      int64_t const activation = ((n * x.h + h) * x.w + w) * x.c + first_channel;
      int64_t const filter = ((static_cast<int64_t>(k) * x.r + r) * x.s + s) * channels;
      for (int c = 0; c < channels; ++c) sum += a(activation + c) * b(filter + c);
    }
  }
  return sum;
}

template <typename Sum, typename A, typename B>
CUTLASS_NINJA_HOST_DEVICE Sum dgrad_sum(cutlass_ninja_conv2d_problem const& x, int64_t index,
                                        A const& a, B const& b) {
  bool const turned = x.mode == CUTLASS_NINJA_CONVOLUTION;
  int const channels = x.c / x.groups;
  int const filters = x.k / x.groups;
  int const c = static_cast<int>(index % x.c);
  int const w = static_cast<int>(index / x.c % x.w);
  int const h = static_cast<int>(index / x.c / x.w % x.h);
  int64_t const n = index / x.c / x.w / x.h;
  int64_t const first_filter = static_cast<int64_t>(c / channels) * filters;
  int64_t const filter_size = static_cast<int64_t>(x.r) * x.s * channels;
  Sum sum = 0;
  for (int r = 0; r < x.r; ++r) {
    int const p = output_at(h, r, x.r, x.pad_h, x.stride_h, x.dilation_h, turned, x.p);
    if (p < 0) continue;
    for (int s = 0; s < x.s; ++s) {
      int const q = output_at(w, s, x.s, x.pad_w, x.stride_w, x.dilation_w, turned, x.q);
      if (q < 0) continue;
      int64_t const output = ((n * x.p + p) * x.q + q) * x.k + first_filter;
      int64_t const filter = first_filter * filter_size +
                             (static_cast<int64_t>(r) * x.s + s) * channels + c % channels;
      for (int k = 0; k < filters; ++k) sum += a(output + k) * b(filter + k * filter_size);
    }
  }
  return sum;
}

template <typename Sum, typename A, typename B>
CUTLASS_NINJA_HOST_DEVICE Sum wgrad_sum(cutlass_ninja_conv2d_problem const& x, int64_t index,
                                        A const& a, B const& b) {
  bool const turned = x.mode == CUTLASS_NINJA_CONVOLUTION;
  int const channels = x.c / x.groups;
  int const s = static_cast<int>(index / channels % x.s);
  int const r = static_cast<int>(index / channels / x.s % x.r);
  int64_t const k = index / channels / x.s / x.r;
  int64_t const c = k / (x.k / x.groups) * channels + index % channels;
  Sum sum = 0;
  for (int64_t n = 0; n < x.n; ++n) {
    for (int p = 0; p < x.p; ++p) {
      int const h = activation_at(p, r, x.r, x.pad_h, x.stride_h, x.dilation_h, turned);
      if (h < 0 || h >= x.h) continue;
      for (int q = 0; q < x.q; ++q) {
        int const w = activation_at(q, s, x.s, x.pad_w, x.stride_w, x.dilation_w, turned);
        if (w < 0 || w >= x.w) continue;
        sum += a(((n * x.p + p) * x.q + q) * x.k + k) * b(((n * x.h + h) * x.w + w) * x.c + c);
      }
    }
  }
  return sum;
}

/// The same for any kind of convolution.
template <typename Sum, typename A, typename B>
CUTLASS_NINJA_HOST_DEVICE Sum conv2d_sum(cutlass_ninja_conv_kind kind,
                                         cutlass_ninja_conv2d_problem const& x, int64_t index,
                                         A const& a, B const& b) {
  switch (kind) {
    case CUTLASS_NINJA_FPROP:
      return fprop_sum<Sum>(x, index, a, b);
    case CUTLASS_NINJA_DGRAD:
      return dgrad_sum<Sum>(x, index, a, b);
    default:
      return wgrad_sum<Sum>(x, index, a, b);
  }
}

}  // namespace cutlass_ninja
