/// What a convolution kernel's host half checks before it asks CUTLASS, so that a refusal has a
/// reason. Nothing here depends on CUTLASS.
///
/// Sources: can_implement of cutlass/conv/device/implicit_gemm_convolution.h and of the iterators
/// in cutlass/conv/threadblock/.
#pragma once

#include "cutlass_ninja/conv2d.h"
#include "cutlass_ninja/launch.h"
#include "cutlass_ninja/operand.h"

namespace cutlass_ninja {

/// An operand of a problem: its channels, which are contiguous in memory and must be a multiple of
/// its alignment, and its elements in all.
struct Conv2dOperand {
  int channels;
  double elements;
};

/// A, B and D of a problem.
struct Conv2dOperands {
  Conv2dOperand a, b, d;
};

/// What a problem's operands are to a kind of convolution. Of grouped activations, the channels are
/// those of a group, at whose first a thread block begins to load.
inline Conv2dOperands conv2d_operands(cutlass_ninja_conv_kind kind,
                                      cutlass_ninja_conv2d_problem const& x) {
  int const channels = x.c / x.groups;
  Conv2dOperand const activations{channels, static_cast<double>(x.n) * x.h * x.w * x.c};
  Conv2dOperand const filters{channels, static_cast<double>(x.k) * x.r * x.s * channels};
  Conv2dOperand const outputs{x.k, static_cast<double>(x.n) * x.p * x.q * x.k};
  switch (kind) {
    case CUTLASS_NINJA_FPROP:
      return {activations, filters, outputs};
    case CUTLASS_NINJA_DGRAD:
      return {outputs, filters, activations};
    default:
      return {outputs, activations, filters};
  }
}

/// Why a kernel's iterators cannot run through the problem; null if they can.
inline char const* conv2d_iteration_fault(cutlass_ninja_conv2d_traits const& traits,
                                          cutlass_ninja_conv2d_problem const& x) {
  bool const strided = x.stride_h != 1 || x.stride_w != 1;
  bool const masks = traits.iterator_algorithm == CUTLASS_NINJA_OPTIMIZED &&
                     traits.conv_kind != CUTLASS_NINJA_WGRAD;
  if (masks && (x.r > 32 || x.s > 32))
    return "r or s exceeds 32, the optimized iterator's mask of filter positions";
  if (traits.iterator_algorithm == CUTLASS_NINJA_FIXED_CHANNELS && x.c != traits.a.alignment)
    return "c is not alignment_a, the channels that the fixed_channels iterator is compiled for";
  if (traits.stride_support == CUTLASS_NINJA_UNITY && strided)
    return "a stride is not 1, but the kernel is for unity stride";
  bool const strided_dgrad =
      traits.conv_kind == CUTLASS_NINJA_DGRAD && traits.stride_support == CUTLASS_NINJA_STRIDED;
  if (strided_dgrad && (x.dilation_h != 1 || x.dilation_w != 1))
    return "a dilation is not 1, but a strided dgrad kernel has none";
  // strided_dgrad_starting_coords in cutlass/conv/conv2d_problem_size.h takes an absolute value of
  // what is negative then, so that some rows are computed twice and others never.
  bool const turned = x.mode == CUTLASS_NINJA_CONVOLUTION;
  if (strided_dgrad && turned && (x.pad_h % x.stride_h > x.r || x.pad_w % x.stride_w > x.s))
    return "a padding modulo its stride exceeds the filter, where CUTLASS's strided dgrad is wrong "
           "for conv_mode conv";
  if (strided_dgrad && strided && x.split_k_slices != 1)
    return "split_k_slices is not 1, but a strided dgrad kernel cannot split K where a stride is "
           "not 1";
  return nullptr;
}

/// Why a kernel cannot divide the problem's groups among its thread blocks; null if it can.
inline char const* conv2d_groups_fault(cutlass_ninja_conv2d_traits const& traits,
                                       cutlass_ninja_conv2d_problem const& x) {
  if (x.groups == 1) return nullptr;
  if (x.c % x.groups != 0 || x.k % x.groups != 0) return "c or k is no multiple of groups";
  int const filters = x.k / x.groups;
  switch (traits.group_mode) {
    case CUTLASS_NINJA_GROUP_MODE_NONE:
      return "groups is not 1, but the kernel is for one group (group_mode none)";
    case CUTLASS_NINJA_GROUP_MODE_SINGLE_GROUP:
      return filters % traits.tile_n == 0
                 ? nullptr
                 : "k / groups is no multiple of the tile's N, as group_mode single_group needs";
    default:
      return traits.tile_n % filters == 0
                 ? nullptr
                 : "k / groups does not divide the tile's N, as group_mode multiple_group needs";
  }
}

/// Why a kernel cannot compute the sums in parts; null if it can, or need not.
inline char const* conv2d_split_fault(cutlass_ninja_conv2d_traits const& traits,
                                      cutlass_ninja_conv2d_problem const& x) {
  if (x.split_k_slices == 1) return nullptr;
  if (traits.group_mode != CUTLASS_NINJA_GROUP_MODE_NONE)
    return "split_k_slices is not 1, but a group convolution does not split K";
  if (traits.iterator_algorithm == CUTLASS_NINJA_FIXED_CHANNELS ||
      traits.iterator_algorithm == CUTLASS_NINJA_FEW_CHANNELS)
    return "split_k_slices is not 1, but the few_channels and fixed_channels iterators do not "
           "split K";
  if (!traits.split_k_rounds) return nullptr;
  bool const integer = traits.d.element == CUTLASS_NINJA_S8 ||
                       traits.d.element == CUTLASS_NINJA_U8 ||
                       traits.d.element == CUTLASS_NINJA_S32;
  if (integer && traits.element_epilogue != CUTLASS_NINJA_S32)
    return "split_k_slices is not 1; a serial split would round D after each slice: use "
           "split_k_mode parallel";
  if (traits.epilogue.binary_op != CUTLASS_NINJA_BINARY_OP_NONE)
    return "split_k_slices is not 1; a residual block cannot be applied in parts";
  return nullptr;
}

/// Why the kernel's loads and stores do not fit the operands; null if they do.
inline char const* conv2d_operands_fault(cutlass_ninja_conv2d_traits const& traits,
                                         cutlass_ninja_conv2d_arguments const& g) {
  Conv2dOperands const operands = conv2d_operands(traits.conv_kind, g.problem);
  if (operands.a.channels % traits.a.alignment != 0 || !is_aligned(traits.a, g.a))
    return "A's channels or pointer do not meet its alignment";
  if (operands.b.channels % traits.b.alignment != 0 || !is_aligned(traits.b, g.b))
    return "B's channels or pointer do not meet its alignment";
  if (operands.d.channels % traits.d.alignment != 0 || !is_aligned(traits.d, g.d))
    return "D's channels or pointer do not meet its alignment";
  if (!is_aligned(traits.c, g.c)) return "C's pointer does not meet its alignment";
  cutlass_ninja_tensor const bias{traits.epilogue.element_bias, traits.d.layout,
                                  traits.d.alignment};
  if (traits.epilogue.bias != CUTLASS_NINJA_BIAS_NONE && !is_aligned(bias, g.epilogue.bias))
    return "the bias's pointer does not meet D's alignment";
  auto large = [](Conv2dOperand const& operand, cutlass_ninja_tensor const& tensor) {
    return operand.elements * static_cast<double>(element_bytes(tensor.element)) >= 0x1p31;
  };
  if (large(operands.a, traits.a) || large(operands.b, traits.b) || large(operands.d, traits.d))
    return "a tensor has 2^31 bytes or more, beyond the kernel's 32-bit offsets";
  return nullptr;
}

/// Refuses, with the reason, what CUTLASS would refuse without one, and split-K where CUTLASS would
/// give a wrong result.
inline cutlass_ninja_status check_conv2d(cutlass_ninja_conv2d_traits const& traits,
                                         cutlass_ninja_conv2d_arguments const& g,
                                         char const** reason) {
  char const* const faults[] = {
      conv2d_iteration_fault(traits, g.problem), conv2d_groups_fault(traits, g.problem),
      conv2d_split_fault(traits, g.problem), conv2d_operands_fault(traits, g)};
  for (char const* fault : faults) {
    if (fault) return refuse(fault, reason);
  }
  return CUTLASS_NINJA_SUCCESS;
}

}  // namespace cutlass_ninja
