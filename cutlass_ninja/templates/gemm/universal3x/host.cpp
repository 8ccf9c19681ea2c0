// The host half: the kernel behind the C interface of cutlass_ninja/gemm.h.
#include <new>

#include "cutlass_ninja/gemm_host.h"
#include "cutlass_ninja/module.h"
#include "identity.h"
#include "kernel.h"

extern "C" cutlass_ninja_gemm_kernel const CUTLASS_NINJA_KERNEL;

namespace {

{% set params = "GemmKernel::Params" -%}
{% set shared_storage = "GemmKernel::SharedStorageSize" -%}
{% set threads = "GemmKernel::MaxThreadsPerBlock" -%}
{% include "host_half.cpp" %}

{% set persistent = "Pingpong" in kernel_schedule or "Cooperative" in kernel_schedule -%}
{% if persistent -%}
/// What a persistent tile scheduler takes at run time. The values of RasterOrderOptions: 0 leaves the order to CUTLASS.
enum Parameter { kRasterOrder, kMaxSwizzleSize };
constexpr int kRasterOrders[] = {0, 1, 2};
constexpr int kMaxSwizzleSizes[] = {1, 2, 4, 8};
{% if tile_scheduler == "StreamK" -%}
constexpr int kSlices[] = {1, 2, 4, 8};
{% endif -%}
constexpr cutlass_ninja_parameter kParameters[] = {
    {"raster_order", "order of the tiles: 0 by shape, 1 along M, 2 along N", kRasterOrders, 3},
    {"max_swizzle_size", "width of the bands of tiles that follow one another", kMaxSwizzleSizes, 4},
{%- if tile_scheduler == "StreamK" %}
    {"split_k_slices", "slices of K that are summed on their own", kSlices, 4},
{%- endif %}
};
{% set parameters, parameter_count = "kParameters", (3 if tile_scheduler == "StreamK" else 2) %}
{% endif -%}
{% if tile_scheduler == "StreamK" -%}
/// A parameter block. The kernel leaves its barriers as they are in the end: each launch must begin with a workspace
/// initialized anew.
struct Block {
  GemmKernel::Params params;
  GemmKernel::Arguments arguments;
  void* workspace;
};
{%- else -%}
/// A parameter block.
struct Block {
  GemmKernel::Params params;
};
{%- endif %}

/// A stride of rank 3 whose other mode is contiguous.
template <class Stride, int Mode>
Stride strided(int64_t leading_dimension, int64_t batch_stride) {
  Stride stride;
  cute::get<Mode>(stride) = leading_dimension;
  cute::get<2>(stride) = batch_stride;
  return stride;
}

{% set residual = epilogue_functor == "linear_combination_residual_block" -%}
decltype(CollectiveEpilogue::Arguments::thread) fuse(cutlass_ninja_gemm_arguments const& g) {
  using Compute = {{ type_epilogue }};
  decltype(CollectiveEpilogue::Arguments::thread) fused{};
{%- if residual %}
  auto& joined = fused{{ ".op_0" if unary_op != "identity" }};
  auto& activated = joined.op_0;
  auto& linear = activated{{ ".op_0" if activation != "identity" }};
  linear.op_0.scalars[0] = Compute(g.alpha);
{%- if bias != "none" %}
  linear.op_2.{{ "ptr_col" if bias == "per_row" else "ptr_row" }} = static_cast<GemmKernel::ElementD const*>(g.epilogue.bias);
  cute::get<2>(linear.op_2.{{ "dCol" if bias == "per_row" else "dRow" }}) = g.epilogue.batch_stride_bias;
{%- endif %}
{%- if activation == "leaky_relu" %}
  activated.op_1.leaky_alpha = Compute(g.epilogue.leaky_relu_slope);
{%- endif %}
  joined.op_1.op_0.scalars[0] = Compute(g.beta);
{%- else %}
  fused.alpha = Compute(g.alpha);
  fused.beta = Compute(g.beta);
{%- if bias != "none" %}
  fused.bias_ptr = static_cast<GemmKernel::ElementD const*>(g.epilogue.bias);
  cute::get<2>(fused.dBias) = g.epilogue.batch_stride_bias;
{%- endif %}
{%- if activation == "leaky_relu" %}
  fused.activation.leaky_alpha = Compute(g.epilogue.leaky_relu_slope);
{%- endif %}
{%- endif %}
  return fused;
}

/// `multiprocessors` is needed by kernels that are launched, not by those that are only checked.
GemmKernel::Arguments lower(cutlass_ninja_gemm_arguments const& g, int multiprocessors = 1) {
  using ElementA = GemmKernel::ElementA;
  using ElementB = GemmKernel::ElementB;
  using ElementD = GemmKernel::ElementD;
  GemmKernel::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {g.m, g.n, g.k, g.batch_count};
  arguments.mainloop.ptr_A = static_cast<ElementA const*>(g.a);
  arguments.mainloop.dA = strided<GemmKernel::StrideA, {{ 0 if layout_a == "t" else 1 }}>(g.lda, g.batch_stride_a);
  arguments.mainloop.ptr_B = static_cast<ElementB const*>(g.b);
  arguments.mainloop.dB = strided<GemmKernel::StrideB, {{ 0 if layout_b == "n" else 1 }}>(g.ldb, g.batch_stride_b);
{%- if element_c != "void" %}
  arguments.epilogue.ptr_C = static_cast<GemmKernel::ElementC const*>(g.c);
  arguments.epilogue.dC = strided<GemmKernel::StrideC, {{ 0 if layout_c == "t" else 1 }}>(g.ldc, g.batch_stride_c);
{%- endif %}
  arguments.epilogue.ptr_D = static_cast<ElementD*>(g.d);
  arguments.epilogue.dD = strided<GemmKernel::StrideD, {{ 0 if layout_c == "t" else 1 }}>(g.ldd, g.batch_stride_d);
  arguments.epilogue.thread = fuse(g);
{%- if tile_scheduler == "StreamK" %}
  arguments.scheduler.splits = g.split_k_slices;
{%- endif %}
  arguments.hw_info.sm_count = multiprocessors;
{%- if persistent %}
  auto const& kernel = CUTLASS_NINJA_KERNEL;
  auto& scheduler = arguments.scheduler;
  scheduler.raster_order = static_cast<decltype(scheduler.raster_order)>(cutlass_ninja::parameter(kernel, g, kRasterOrder));
  scheduler.max_swizzle_size = cutlass_ninja::parameter(kernel, g, kMaxSwizzleSize);
{%- endif %}
  return arguments;
}

cutlass_ninja_status can_implement(cutlass_ninja_gemm_arguments const* g, char const** reason) {
  auto status = cutlass_ninja::check_operands(CUTLASS_NINJA_KERNEL, *g, reason);
  if (status != CUTLASS_NINJA_SUCCESS) return status;
{%- if tile_scheduler != "StreamK" %}
  if (g->split_k_slices > 1)
    return cutlass_ninja::refuse("split_k_slices is more than 1; of CUTLASS 3.x only the StreamK scheduler splits K",
                                 reason);
{%- endif %}
  if (GemmKernel::can_implement(lower(*g))) return status;
  return cutlass_ninja::refuse("CUTLASS's can_implement refuses the problem", reason);
}

size_t workspace_bytes(cutlass_ninja_gemm_arguments const* g) {
  return GemmKernel::get_workspace_size(lower(*g, cutlass_ninja::multiprocessors()));
}

cutlass_ninja_status initialize(cutlass_ninja_gemm_arguments const* g, void* workspace,
                                void* params, cudaStream_t stream) {
  void const* entry = kernel_entry();
  if (!entry || cutlass_ninja::reserve_shared_memory(entry, GemmKernel::SharedStorageSize) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
{%- if not portable_cluster %}
  if (cutlass_ninja::allow_large_cluster(entry) != cudaSuccess) return CUTLASS_NINJA_ERROR_INTERNAL;
{%- endif %}
  auto arguments = lower(*g, cutlass_ninja::multiprocessors());
  if (GemmKernel::initialize_workspace(arguments, workspace, stream) != cutlass::Status::kSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
{%- if tile_scheduler == "StreamK" %}
  new (params) Block{GemmKernel::to_underlying_arguments(arguments, workspace), arguments, workspace};
{%- else %}
  new (params) Block{GemmKernel::to_underlying_arguments(arguments, workspace)};
{%- endif %}
  return CUTLASS_NINJA_SUCCESS;
}

cudaError_t run(void* params, cudaStream_t stream) {
  auto* block = static_cast<Block*>(params);
{%- if tile_scheduler == "StreamK" %}
  if (GemmKernel::initialize_workspace(block->arguments, block->workspace, stream) != cutlass::Status::kSuccess)
    return cudaErrorUnknown;
{%- endif %}
  dim3 const grid = GemmKernel::get_grid_shape(block->params);
  return cutlass_ninja::launch(kernel_entry(), grid, GemmKernel::get_block_shape(),
                               dim3({{ cluster_shape | join(", ") }}),
                               GemmKernel::SharedStorageSize, &block->params, stream);
}

}  // namespace

{% set block = "Block" %}
{% include "gemm/kernel_table.cpp" %}
