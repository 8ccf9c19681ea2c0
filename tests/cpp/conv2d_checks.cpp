// What a convolution kernel's host half refuses before it asks CUTLASS. Arguments: name=value, of
// the kernel's traits and of the problem; what is not given is a 64-channel 3x3 convolution by an
// optimized f16 fprop kernel.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "cutlass_ninja/conv2d_host.h"

int main(int argc, char** argv) {
  std::map<std::string, int> v = {{"conv_kind", CUTLASS_NINJA_FPROP},
                                  {"iterator_algorithm", CUTLASS_NINJA_OPTIMIZED},
                                  {"stride_support", CUTLASS_NINJA_STRIDED},
                                  {"group_mode", CUTLASS_NINJA_GROUP_MODE_NONE},
                                  {"tile_n", 64},
                                  {"alignment_a", 8},
                                  {"alignment_b", 8},
                                  {"alignment_c", 8},
                                  {"element_c", CUTLASS_NINJA_F16},
                                  {"offset_a", 0},
                                  {"offset_c", 0},
                                  {"offset_bias", 0},
                                  {"bias", 0},
                                  {"binary_op", 0},
                                  {"split_k_rounds", 1},
                                  {"conv_mode", 0},
                                  {"element_epilogue", CUTLASS_NINJA_F32},
                                  {"n", 1},
                                  {"h", 16},
                                  {"w", 16},
                                  {"c", 64},
                                  {"k", 64},
                                  {"r", 3},
                                  {"s", 3},
                                  {"p", 16},
                                  {"q", 16},
                                  {"pad_h", 1},
                                  {"pad_w", 1},
                                  {"stride_h", 1},
                                  {"stride_w", 1},
                                  {"dilation_h", 1},
                                  {"dilation_w", 1},
                                  {"groups", 1},
                                  {"split_k_slices", 1}};
  for (int i = 1; i < argc; ++i) {
    std::string const argument = argv[i];
    size_t const equals = argument.find('=');
    v.at(argument.substr(0, equals)) = std::atoi(argument.c_str() + equals + 1);
  }
  auto const c = static_cast<cutlass_ninja_element>(v["element_c"]);
  cutlass_ninja_conv2d_traits const traits = {
      static_cast<cutlass_ninja_conv_kind>(v["conv_kind"]),
      static_cast<cutlass_ninja_iterator_algorithm>(v["iterator_algorithm"]),
      static_cast<cutlass_ninja_stride_support>(v["stride_support"]),
      static_cast<cutlass_ninja_group_mode>(v["group_mode"]),
      v["tile_n"],
      {CUTLASS_NINJA_F16, CUTLASS_NINJA_TENSOR_NHWC, v["alignment_a"]},
      {CUTLASS_NINJA_F16, CUTLASS_NINJA_TENSOR_NHWC, v["alignment_b"]},
      {c, CUTLASS_NINJA_TENSOR_NHWC, v["alignment_c"]},
      {c, CUTLASS_NINJA_TENSOR_NHWC, v["alignment_c"]},
      static_cast<cutlass_ninja_element>(v["element_epilogue"]),
      {static_cast<cutlass_ninja_bias>(v["bias"]), v["bias"] ? c : CUTLASS_NINJA_VOID,
       CUTLASS_NINJA_ACTIVATION_IDENTITY, static_cast<cutlass_ninja_binary_op>(v["binary_op"]),
       CUTLASS_NINJA_ACTIVATION_IDENTITY},
      v["split_k_rounds"]};
  cutlass_ninja_conv2d_arguments arguments{};
  arguments.problem = {v["n"],
                       v["h"],
                       v["w"],
                       v["c"],
                       v["k"],
                       v["r"],
                       v["s"],
                       v["p"],
                       v["q"],
                       v["pad_h"],
                       v["pad_w"],
                       v["stride_h"],
                       v["stride_w"],
                       v["dilation_h"],
                       v["dilation_w"],
                       v["groups"],
                       v["split_k_slices"],
                       static_cast<cutlass_ninja_conv_mode>(v["conv_mode"])};
  arguments.a = reinterpret_cast<void const*>(static_cast<uintptr_t>(v["offset_a"]));
  arguments.c = reinterpret_cast<void const*>(static_cast<uintptr_t>(v["offset_c"]));
  arguments.epilogue.bias = reinterpret_cast<void const*>(static_cast<uintptr_t>(v["offset_bias"]));
  char const* reason = "supported";
  cutlass_ninja::check_conv2d(traits, arguments, &reason);
  std::puts(reason);
}
