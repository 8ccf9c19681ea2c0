// Compares the reference's sums with convolutions computed another way: each product is scattered
// to where it belongs. Arguments: n h w c k r s pad_h pad_w stride_h stride_w dilation_h dilation_w
// groups conv_mode (0: cross, 1: conv).
#include "conv2d_sums.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

using cutlass_ninja::conv2d_sum;

namespace {

/// Small integers of either sign, and no zeros: a product that is left out or taken twice shows.
std::vector<long> numbers(long count, unsigned seed) {
  std::vector<long> values(count);
  for (long& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<long>(seed >> 16) % 9 * 2 - 9;
  }
  return values;
}

long differences(cutlass_ninja_conv_kind kind, cutlass_ninja_conv2d_problem const& x,
                 std::vector<long> const& a, std::vector<long> const& b,
                 std::vector<long> const& expected) {
  long different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    different += expected[i] != conv2d_sum<long>(
                                    kind, x, static_cast<int64_t>(i),
                                    [&](int64_t j) { return a.at(static_cast<size_t>(j)); },
                                    [&](int64_t j) { return b.at(static_cast<size_t>(j)); });
  }
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 16) return 2;
  int v[15];
  for (int i = 0; i < 15; ++i) v[i] = std::atoi(argv[i + 1]);
  cutlass_ninja_conv2d_problem x{};
  x.n = v[0], x.h = v[1], x.w = v[2], x.c = v[3], x.k = v[4], x.r = v[5], x.s = v[6];
  x.pad_h = v[7], x.pad_w = v[8], x.stride_h = v[9], x.stride_w = v[10];
  x.dilation_h = v[11], x.dilation_w = v[12], x.groups = v[13];
  x.mode = static_cast<cutlass_ninja_conv_mode>(v[14]);
  x.split_k_slices = 1;

  // Outputs are counted by trying, on an image that is written down with its padding.
  auto outputs = [](int extent, int filter, int pad, int stride, int dilation) {
    int count = 0;
    while (count * stride + (filter - 1) * dilation < extent + 2 * pad) ++count;
    return count;
  };
  x.p = outputs(x.h, x.r, x.pad_h, x.stride_h, x.dilation_h);
  x.q = outputs(x.w, x.s, x.pad_w, x.stride_w, x.dilation_w);

  int const channels = x.c / x.groups;
  int const filters = x.k / x.groups;
  std::vector<long> const activation = numbers(1l * x.n * x.h * x.w * x.c, 1);
  std::vector<long> const filter = numbers(1l * x.k * x.r * x.s * channels, 2);
  std::vector<long> const gradient = numbers(1l * x.n * x.p * x.q * x.k, 3);
  std::vector<long> y(gradient.size()), dx(activation.size()), dw(filter.size());
  long products = 0;
  for (int n = 0; n < x.n; ++n)
    for (int h = 0; h < x.h; ++h)
      for (int w = 0; w < x.w; ++w)
        for (int r = 0; r < x.r; ++r)
          for (int s = 0; s < x.s; ++s) {
            int const down = x.mode == CUTLASS_NINJA_CONVOLUTION ? x.r - 1 - r : r;
            int const right = x.mode == CUTLASS_NINJA_CONVOLUTION ? x.s - 1 - s : s;
            for (int p = 0; p < x.p; ++p)
              for (int q = 0; q < x.q; ++q) {
                if (p * x.stride_h + down * x.dilation_h != h + x.pad_h) continue;
                if (q * x.stride_w + right * x.dilation_w != w + x.pad_w) continue;
                for (int group = 0; group < x.groups; ++group)
                  for (int k = group * filters; k < (group + 1) * filters; ++k)
                    for (int c = 0; c < channels; ++c) {
                      size_t const i = ((1ul * n * x.h + h) * x.w + w) * x.c + group * channels + c;
                      size_t const f = ((1ul * k * x.r + r) * x.s + s) * channels + c;
                      size_t const o = ((1ul * n * x.p + p) * x.q + q) * x.k + k;
                      y[o] += activation[i] * filter[f];
                      dx[i] += gradient[o] * filter[f];
                      dw[f] += gradient[o] * activation[i];
                      ++products;
                    }
              }
          }
  std::printf("p %d q %d products %ld: fprop %ld dgrad %ld wgrad %ld\n", x.p, x.q, products,
              differences(CUTLASS_NINJA_FPROP, x, activation, filter, y),
              differences(CUTLASS_NINJA_DGRAD, x, gradient, filter, dx),
              differences(CUTLASS_NINJA_WGRAD, x, gradient, activation, dw));
}
