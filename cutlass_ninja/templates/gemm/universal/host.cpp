// The host half: the kernel behind the C interface of cutlass_ninja/gemm.h.
#include <new>

#include "cutlass_ninja/gemm_host.h"
#include "cutlass_ninja/module.h"
#include "identity.h"
#include "kernel.h"
{% set parallel = split_k_mode == "parallel" -%}
{% set residual = epilogue_functor == "linear_combination_residual_block" -%}
{% set first, second = ("b", "a") if transposed else ("a", "b") %}
extern "C" cutlass_ninja_gemm_kernel const CUTLASS_NINJA_KERNEL;

namespace {

{% set params = "GemmKernel::Params" -%}
{% set shared_storage = "sizeof(GemmKernel::SharedStorage)" -%}
{% set threads = "GemmKernel::kThreadCount" -%}
{% include "host_half.cpp" %}
{% set splits = not residual and (parallel or stream_k or type_c not in ("int8_t", "uint8_t")) -%}
{% if splits -%}
constexpr int kSlices[] = {1, 2, 4, 8, 16};
constexpr cutlass_ninja_parameter kParameters[] = {
    {"split_k_slices", "slices of K that are summed on their own", kSlices, 5}};
{% set parameters, parameter_count = "kParameters", 1 %}
{% endif -%}
using Params = GemmKernel::Params;
{% if parallel %}
/// A parameter block.
struct Block {
  Params params;
  Reduction::Params reduction;
};
{%- elif stream_k %}
/// A parameter block. The kernel does not leave all of its barriers as it found them: each launch must begin with a
/// workspace initialized anew.
struct Block {
  Params params;
  void* workspace;
};
{%- else %}
/// A parameter block.
struct Block {
  Params params;
};
{%- endif %}

{% include "epilogue/scale.cpp" %}
GemmKernel::Arguments lower(cutlass_ninja_gemm_arguments const& g) {
  bool const batched = g.batch_count > 1;
  cutlass::gemm::GemmCoord const size({{ "g.n, g.m, g.k" if transposed else "g.m, g.n, g.k" }});
  return {batched ? cutlass::gemm::GemmUniversalMode::kBatched
                  : cutlass::gemm::GemmUniversalMode::{{ "kGemmSplitKParallel" if parallel else "kGemm" }},
          size,
          batched ? g.batch_count : g.split_k_slices,
{%- if parallel %}
          {},
          g.{{ first }}, g.{{ second }}, nullptr, nullptr,
          0, 0, 0, int64_t(size.m()) * size.n(),
          g.ld{{ first }}, g.ld{{ second }}, size.n(), size.n()};
{%- elif has_broadcast %}
          scale(g),
          g.{{ first }}, g.{{ second }}, g.c, g.d, const_cast<void*>(g.epilogue.bias), nullptr,
          g.batch_stride_{{ first }}, g.batch_stride_{{ second }}, g.batch_stride_c, g.batch_stride_d,
          g.epilogue.batch_stride_bias, 0,
          static_cast<int>(g.ld{{ first }}), static_cast<int>(g.ld{{ second }}), static_cast<int>(g.ldc),
          static_cast<int>(g.ldd), 0, 0};
{%- else %}
          scale(g),
          g.{{ first }}, g.{{ second }}, g.c, g.d,
          g.batch_stride_{{ first }}, g.batch_stride_{{ second }}, g.batch_stride_c, g.batch_stride_d,
          g.ld{{ first }}, g.ld{{ second }}, g.ldc, g.ldd};
{%- endif %}
}
{% if stream_k %}
/// Stream-K shares the work among all thread blocks that the GPU runs at once.
Params lower_params(cutlass_ninja_gemm_arguments const& g) {
  void const* entry = kernel_entry();
  if (entry) cutlass_ninja::reserve_shared_memory(entry, sizeof(GemmKernel::SharedStorage));
  return Params(lower(g), cutlass_ninja::multiprocessors(),
                cutlass_ninja::occupancy(entry, GemmKernel::kThreadCount, sizeof(GemmKernel::SharedStorage)));
}
{%- else %}
// GemmUniversal's parameters depend on the GPU only for stream-K, which this kernel does not use.
Params lower_params(cutlass_ninja_gemm_arguments const& g) { return Params(lower(g), 0, 0); }
{%- endif %}
{%- if parallel %}

Reduction::Params lower_reduction(cutlass_ninja_gemm_arguments const& g, Params const& params, void* workspace) {
  using Sum = Reduction::ElementWorkspace;
  using Output = Reduction::ElementOutput;
  cutlass::MatrixCoord const size = params.problem_size.mn();
  return {size,
          params.grid_tiled_shape.k(),
          size_t(size.row()) * size.column(),
          {static_cast<Sum*>(workspace), cutlass::layout::RowMajor(size.column())},
          {static_cast<Output*>(g.d), cutlass::layout::RowMajor(g.ldd)},
          {static_cast<Output*>(const_cast<void*>(g.c)), cutlass::layout::RowMajor(g.ldc)},
          scale(g)};
}
{%- endif %}

cutlass_ninja_status can_implement(cutlass_ninja_gemm_arguments const* g, char const** reason) {
  auto status = cutlass_ninja::check_operands(CUTLASS_NINJA_KERNEL, *g, reason);
  if (status != CUTLASS_NINJA_SUCCESS) return status;
{%- if parallel %}
  if (g->batch_count > 1)
    return cutlass_ninja::refuse("the kernel splits K in parallel; CUTLASS does so for one problem only", reason);
{%- elif residual %}
  if (g->split_k_slices > 1)
    return cutlass_ninja::refuse("split_k_slices is more than 1; a residual block cannot be applied in parts", reason);
{%- elif not stream_k and type_c in ("int8_t", "uint8_t", "int32_t") and type_epilogue != "int32_t" %}
  if (g->split_k_slices > 1)
    return cutlass_ninja::refuse(
        "split_k_slices is more than 1; a serial split would round D after each slice: use split_k_mode parallel",
        reason);
{%- endif %}
{%- if has_broadcast or parallel %}
  if (!cutlass_ninja::check_leading_dimensions(*g, reason)) return CUTLASS_NINJA_NOT_SUPPORTED;
{%- endif %}
{%- if not stream_k %}
  Params const params = lower_params(*g);
  if (!cutlass_ninja::check_grid(params.get_grid_dims(), reason)) return CUTLASS_NINJA_NOT_SUPPORTED;
{%- endif %}
{%- if parallel %}
  if (!cutlass_ninja::check_grid(Reduction::grid_shape(params.problem_size.mn()), reason))
    return CUTLASS_NINJA_NOT_SUPPORTED;
{%- endif %}
  if (GemmKernel::can_implement(lower(*g)) == cutlass::Status::kSuccess) return status;
  return cutlass_ninja::refuse("CUTLASS's can_implement refuses the problem", reason);
}

size_t workspace_bytes(cutlass_ninja_gemm_arguments const* g) {
  return lower_params(*g).get_workspace_size();
}

cutlass_ninja_status initialize(cutlass_ninja_gemm_arguments const* g, void* workspace,
                                void* params, cudaStream_t {{ "stream" if not parallel }}) {
  void const* entry = kernel_entry();
{%- if parallel %}
  if (!reduction_entry()) return CUTLASS_NINJA_ERROR_INTERNAL;
{%- endif %}
  if (!entry ||
      cutlass_ninja::reserve_shared_memory(entry, sizeof(GemmKernel::SharedStorage)) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
{%- if parallel %}
  auto* block = new (params) Block{lower_params(*g), {}};
  block->params.ptr_D = workspace;
  block->reduction = lower_reduction(*g, block->params, workspace);
  return CUTLASS_NINJA_SUCCESS;
{%- else %}
{%- if stream_k %}
  auto* block = new (params) Block{lower_params(*g), workspace};
{%- else %}
  auto* block = new (params) Block{lower_params(*g)};
{%- endif %}
  return block->params.init_workspace(workspace, stream) == cutlass::Status::kSuccess
             ? CUTLASS_NINJA_SUCCESS
             : CUTLASS_NINJA_ERROR_INTERNAL;
{%- endif %}
}

cudaError_t run(void* params, cudaStream_t stream) {
  auto* block = static_cast<Block*>(params);
{%- if stream_k %}
  if (block->params.init_workspace(block->workspace, stream) != cutlass::Status::kSuccess)
    return cudaErrorUnknown;
{%- endif %}
  dim3 const grid = block->params.get_grid_dims();
  cudaError_t const error =
      cutlass_ninja::launch(kernel_entry(), grid, dim3(GemmKernel::kThreadCount), dim3(1),
                            sizeof(GemmKernel::SharedStorage), &block->params, stream);
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

{% set block = "Block" %}
{% include "gemm/kernel_table.cpp" %}
