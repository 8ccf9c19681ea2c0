// The host half: the kernel behind the C interface of cutlass_ninja/conv2d.h.
#include <new>

#include "cutlass_ninja/conv2d_host.h"
#include "cutlass_ninja/module.h"
#include "identity.h"
#include "kernel.h"
{% set parallel = split_k_mode == "parallel" %}
extern "C" cutlass_ninja_conv2d_kernel const CUTLASS_NINJA_KERNEL;

namespace {

{% set params = "ConvKernel::Params" -%}
{% set shared_storage = "sizeof(ConvKernel::SharedStorage)" -%}
{% set threads = "ConvKernel::kThreadCount" -%}
{% include "host_half.cpp" %}

using Params = ConvKernel::Params;

/// A parameter block.
struct Block {
  Params params;
{%- if parallel %}
  Reduction::Params reduction;
{%- endif %}
};

static_assert(alignof(Block) <= CUTLASS_NINJA_PARAMS_ALIGNMENT,
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
    {{ tensor(element_d, alignment_c) }},
    CUTLASS_NINJA_{{ element_epilogue | upper }},
{% include "epilogue/traits.cpp" %}    /*split_k_rounds=*/{{ 0 if parallel else 1 }},
};

{% include "epilogue/scale.cpp" %}
/// A packed tensor at this place.
template <class Ref>
Ref packed(void const* data, cutlass::Tensor4DCoord const& extent) {
  auto* elements = static_cast<typename Ref::Element*>(const_cast<void*>(data));
  return {elements, Ref::Layout::packed(extent)};
}

/// `d` is where the kernel writes{{ " its sums of parts of K" if parallel }}.
ConvKernel::Arguments lower(cutlass_ninja_conv2d_arguments const& g, void* d) {
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
{%- if parallel %}
          packed<ConvKernel::TensorRefC>(nullptr, output),
          packed<ConvKernel::TensorRefC>(d, output),
          {},
          cutlass::conv::SplitKMode::kParallel
{%- else %}
          packed<ConvKernel::TensorRefC>(g.c, output),
          packed<ConvKernel::TensorRefC>(d, output),
          scale(g),
          cutlass::conv::SplitKMode::kSerial
{%- endif %}
{%- if has_broadcast %},
          const_cast<void*>(g.epilogue.bias)
{%- endif %}};
}
{% if parallel %}
Reduction::Params lower_reduction(cutlass_ninja_conv2d_arguments const& g, Params const& params,
                                  void* workspace) {
  using Sum = Reduction::ElementWorkspace;
  using Output = Reduction::ElementOutput;
  cutlass::MatrixCoord const size = params.implicit_gemm_problem_size.mn();
  cutlass::layout::RowMajor const layout(size.column());
  return {size,
          params.grid_tiled_shape.k(),
          size_t(size.row()) * size.column(),
          {static_cast<Sum*>(workspace), layout},
          {static_cast<Output*>(g.d), layout},
          {static_cast<Output*>(const_cast<void*>(g.c)), layout},
          scale(g)};
}
{% endif %}
dim3 grid_dims(Params const& params) {
  return ConvKernel::ThreadblockSwizzle().get_grid_shape(params.grid_tiled_shape);
}

// cutlass::conv::device::ImplicitGemmConvolution, which asks the same and a little less, is for nvcc alone.
cutlass_ninja_status can_implement(cutlass_ninja_conv2d_arguments const* g, char const** reason) {
  auto const status = cutlass_ninja::check_conv2d(kTraits, *g, reason);
  if (status != CUTLASS_NINJA_SUCCESS) return status;
  Params const params(lower(*g, g->d));
  if (!cutlass_ninja::check_grid(grid_dims(params), reason)) return CUTLASS_NINJA_NOT_SUPPORTED;
{%- if parallel %}
  dim3 const reduction = Reduction::grid_shape(params.implicit_gemm_problem_size.mn());
  if (!cutlass_ninja::check_grid(reduction, reason)) return CUTLASS_NINJA_NOT_SUPPORTED;
{%- endif %}
  bool const iterates =
      ConvKernel::Mma::IteratorA::can_implement(params.problem_size) == cutlass::Status::kSuccess &&
      ConvKernel::Mma::IteratorB::can_implement(params.problem_size) == cutlass::Status::kSuccess;
  return iterates ? status : cutlass_ninja::refuse("CUTLASS's iterators refuse the problem", reason);
}

size_t workspace_bytes(cutlass_ninja_conv2d_arguments const* g) {
  Params const params(lower(*g, g->d));
{%- if parallel %}
  cutlass::MatrixCoord const size = params.implicit_gemm_problem_size.mn();
  return sizeof(Reduction::ElementWorkspace) * size.row() * size.column() * params.grid_tiled_shape.k();
{%- else %}
  // Slices of K take turns by semaphores.
  cutlass::gemm::GemmCoord const tiles = params.grid_tiled_shape;
  return g->problem.split_k_slices > 1 ? sizeof(int) * tiles.m() * tiles.n() : 0;
{%- endif %}
}

cutlass_ninja_status initialize(cutlass_ninja_conv2d_arguments const* g, void* workspace,
                                void* params, cudaStream_t {{ "stream" if not parallel }}) {
  void const* entry = kernel_entry();
{%- if parallel %}
  if (!reduction_entry()) return CUTLASS_NINJA_ERROR_INTERNAL;
{%- endif %}
  if (!entry ||
      cutlass_ninja::reserve_shared_memory(entry, sizeof(ConvKernel::SharedStorage)) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
{%- if parallel %}
  auto* block = new (params) Block{Params(lower(*g, workspace)), {}};
  block->reduction = lower_reduction(*g, block->params, workspace);
{%- else %}
  // Semaphores must be 0 before a launch, and are so after it.
  size_t const bytes = workspace_bytes(g);
  if (bytes > 0 && cudaMemsetAsync(workspace, 0, bytes, stream) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
  new (params) Block{Params(lower(*g, g->d), static_cast<int*>(workspace))};
{%- endif %}
  return CUTLASS_NINJA_SUCCESS;
}

cudaError_t run(void* params, cudaStream_t stream) {
  auto* block = static_cast<Block*>(params);
  cudaError_t const error =
      cutlass_ninja::launch(kernel_entry(), grid_dims(block->params), dim3(ConvKernel::kThreadCount), dim3(1),
                            sizeof(ConvKernel::SharedStorage), &block->params, stream);
{%- if parallel %}
  if (error != cudaSuccess) return error;
  return cutlass_ninja::launch(reduction_entry(), Reduction::grid_shape(block->reduction.problem_size),
                               Reduction::block_shape(), dim3(1), sizeof(Reduction::SharedStorage),
                               &block->reduction, stream);
{%- else %}
  return error;
{%- endif %}
}

}  // namespace

extern "C" cutlass_ninja_conv2d_kernel const CUTLASS_NINJA_KERNEL = {
    CUTLASS_NINJA_ABI_VERSION,
    CUTLASS_NINJA_DESCRIPTION,
    CUTLASS_NINJA_NAME,
    CUTLASS_NINJA_KEY,
    "conv2d",
    kTraits,
    CUTLASS_NINJA_{{ element_accumulator | upper }},
    {
        sizeof(ConvKernel::SharedStorage),
        sizeof(Block),
        ConvKernel::kThreadCount,
        {1, 1, 1},
    },
    load,
    can_implement,
    workspace_bytes,
    initialize,
    run,
    /*element_math=*/CUTLASS_NINJA_{{ math_element | upper }},
};
