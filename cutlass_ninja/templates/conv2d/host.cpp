// The host half: the kernel behind the C interface of cutlass_ninja/conv2d.h.
#include <new>

#include "cutlass/conv/device/implicit_gemm_convolution.h"
#include "cutlass_ninja/conv2d_host.h"
#include "identity.h"
#include "kernel.h"

namespace {

using Params = ConvKernel::Params;
using Device = cutlass::conv::device::ImplicitGemmConvolution<ConvKernel>;

static_assert(alignof(Params) <= CUTLASS_NINJA_PARAMS_ALIGNMENT,
              "a parameter block is aligned to CUTLASS_NINJA_PARAMS_ALIGNMENT bytes only");

{% macro tensor(element, alignment) -%}
{CUTLASS_NINJA_{{ element | upper }}, CUTLASS_NINJA_TENSOR_NHWC, {{ alignment }}}
{%- endmacro -%}
constexpr cutlass_ninja_conv2d_traits kTraits = {
    CUTLASS_NINJA_{{ conv_kind | upper }},
    CUTLASS_NINJA_{{ iterator_algorithm | upper }},
    CUTLASS_NINJA_{{ stride_support | upper }},
    CUTLASS_NINJA_GROUP_MODE_{{ group_mode | upper }},
    {{ threadblock_shape[1] }},
    {{ tensor(element_a, alignment_a) }},
    {{ tensor(element_b, alignment_b) }},
    {{ tensor(element_c, alignment_c) }},
    {{ tensor(element_c, alignment_c) }},
};

/// A packed tensor at this place.
template <class Ref>
Ref packed(void const* data, cutlass::Tensor4DCoord const& extent) {
  auto* elements = static_cast<typename Ref::Element*>(const_cast<void*>(data));
  return {elements, Ref::Layout::packed(extent)};
}

ConvKernel::Arguments lower(cutlass_ninja_conv2d_arguments const& g) {
  using Epilogue = ConvKernel::EpilogueOutputOp;
  using Compute = Epilogue::ElementCompute;
  cutlass_ninja_conv2d_problem const& x = g.problem;
  cutlass::conv::Operator constexpr kind = ConvKernel::kConvolutionalOperator;
  cutlass::conv::Mode const mode = x.mode == CUTLASS_NINJA_CONVOLUTION
                                       ? cutlass::conv::Mode::kConvolution
                                       : cutlass::conv::Mode::kCrossCorrelation;
  cutlass::conv::Conv2dProblemSize const size(
      x.n, x.h, x.w, x.c, x.k, x.r, x.s, x.p, x.q, x.pad_h, x.pad_w, x.stride_h, x.stride_w,
      x.dilation_h, x.dilation_w, mode, x.split_k_slices, x.groups);
  auto const output = cutlass::conv::implicit_gemm_tensor_c_extent(kind, size);
  return {size,
          packed<ConvKernel::TensorRefA>(
              g.a, cutlass::conv::implicit_gemm_tensor_a_extent(kind, size)),
          packed<ConvKernel::TensorRefB>(
              g.b, cutlass::conv::implicit_gemm_tensor_b_extent(kind, size)),
          packed<ConvKernel::TensorRefC>(g.c, output),
          packed<ConvKernel::TensorRefC>(g.d, output),
          Epilogue::Params(Compute(g.alpha), Compute(g.beta)),
          cutlass::conv::SplitKMode::kSerial};
}

cutlass_ninja_status can_implement(cutlass_ninja_conv2d_arguments const* g, char const** reason) {
  auto const status = cutlass_ninja::check_conv2d(kTraits, *g, reason);
  if (status != CUTLASS_NINJA_SUCCESS) return status;
  if (Device::can_implement(lower(*g)) == cutlass::Status::kSuccess) return status;
  return cutlass_ninja::refuse("CUTLASS's can_implement refuses the problem", reason);
}

size_t workspace_bytes(cutlass_ninja_conv2d_arguments const* g) {
  return Device::get_workspace_size(lower(*g));
}

cutlass_ninja_status initialize(cutlass_ninja_conv2d_arguments const* g, void* workspace,
                                void* params, cudaStream_t stream) {
  void const* entry = reinterpret_cast<void const*>(&CUTLASS_NINJA_ENTRY);
  if (cutlass_ninja::reserve_shared_memory(entry, sizeof(ConvKernel::SharedStorage)) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
  ConvKernel::Arguments const arguments = lower(*g);
  // Split-K slices take turns by semaphores, which must be 0 before a launch and are so after it.
  if (cudaMemsetAsync(workspace, 0, Device::get_workspace_size(arguments), stream) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
  new (params) Params(arguments, static_cast<int*>(workspace));
  return CUTLASS_NINJA_SUCCESS;
}

cudaError_t run(void* params, cudaStream_t stream) {
  void const* entry = reinterpret_cast<void const*>(&CUTLASS_NINJA_ENTRY);
  ConvKernel::ThreadblockSwizzle const swizzle;
  dim3 const grid = swizzle.get_grid_shape(static_cast<Params*>(params)->grid_tiled_shape);
  return cutlass_ninja::launch(entry, grid, dim3(ConvKernel::kThreadCount), dim3(1),
                               sizeof(ConvKernel::SharedStorage), params, stream);
}

}  // namespace

extern "C" cutlass_ninja_conv2d_kernel const cutlass_ninja_kernel = {
    CUTLASS_NINJA_ABI_VERSION,
    CUTLASS_NINJA_DESCRIPTION,
    CUTLASS_NINJA_NAME,
    CUTLASS_NINJA_KEY,
    "conv2d",
    kTraits,
    CUTLASS_NINJA_{{ element_accumulator | upper }},
    CUTLASS_NINJA_{{ element_epilogue | upper }},
    {
        sizeof(ConvKernel::SharedStorage),
        sizeof(Params),
        ConvKernel::kThreadCount,
        {1, 1, 1},
    },
    can_implement,
    workspace_bytes,
    initialize,
    run,
    /*element_math=*/CUTLASS_NINJA_{{ element_math | upper }},
};
