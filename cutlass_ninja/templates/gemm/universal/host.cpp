// The host half: the kernel behind the C interface of cutlass_ninja/gemm.h.
#include <new>

#include "cutlass_ninja/gemm_host.h"
#include "identity.h"
#include "kernel.h"

namespace {

using Params = GemmKernel::Params;

GemmKernel::Arguments lower(cutlass_ninja_gemm_arguments const& g) {
  using Epilogue = GemmKernel::EpilogueOutputOp;
  using Compute = Epilogue::ElementCompute;
  return {g.batch_count > 1 ? cutlass::gemm::GemmUniversalMode::kBatched
                            : cutlass::gemm::GemmUniversalMode::kGemm,
{%- if transposed %}
          {g.n, g.m, g.k},
          g.batch_count,
          Epilogue::Params(Compute(g.alpha), Compute(g.beta)),
          g.b, g.a, g.c, g.d,
          g.batch_stride_b, g.batch_stride_a, g.batch_stride_c, g.batch_stride_d,
          g.ldb, g.lda, g.ldc, g.ldd
{%- else %}
          {g.m, g.n, g.k},
          g.batch_count,
          Epilogue::Params(Compute(g.alpha), Compute(g.beta)),
          g.a, g.b, g.c, g.d,
          g.batch_stride_a, g.batch_stride_b, g.batch_stride_c, g.batch_stride_d,
          g.lda, g.ldb, g.ldc, g.ldd
{%- endif -%}
  };
}

// GemmUniversal's parameters depend on the GPU only for stream-K, which this kernel does not use.
Params lower_params(cutlass_ninja_gemm_arguments const& g) { return Params(lower(g), 0, 0); }

cutlass_ninja_status can_implement(cutlass_ninja_gemm_arguments const* g, char const** reason) {
  auto status = cutlass_ninja::check_operands(cutlass_ninja_kernel, *g, reason);
  if (status != CUTLASS_NINJA_SUCCESS) return status;
  dim3 const grid = lower_params(*g).get_grid_dims();
  if (!cutlass_ninja::check_grid(grid, reason)) return CUTLASS_NINJA_NOT_SUPPORTED;
  if (GemmKernel::can_implement(lower(*g)) == cutlass::Status::kSuccess) return status;
  return cutlass_ninja::refuse("CUTLASS's can_implement refuses the problem", reason);
}

size_t workspace_bytes(cutlass_ninja_gemm_arguments const* g) {
  return lower_params(*g).get_workspace_size();
}

cutlass_ninja_status initialize(cutlass_ninja_gemm_arguments const* g, void* workspace,
                                void* params, cudaStream_t stream) {
  void const* entry = reinterpret_cast<void const*>(&CUTLASS_NINJA_ENTRY);
  if (cutlass_ninja::reserve_shared_memory(entry, sizeof(GemmKernel::SharedStorage)) != cudaSuccess)
    return CUTLASS_NINJA_ERROR_INTERNAL;
  auto* lowered = new (params) Params(lower_params(*g));
  return lowered->init_workspace(workspace, stream) == cutlass::Status::kSuccess
             ? CUTLASS_NINJA_SUCCESS
             : CUTLASS_NINJA_ERROR_INTERNAL;
}

cudaError_t run(void* params, cudaStream_t stream) {
  void const* entry = reinterpret_cast<void const*>(&CUTLASS_NINJA_ENTRY);
  dim3 const grid = static_cast<Params*>(params)->get_grid_dims();
  return cutlass_ninja::launch(entry, grid, dim3(GemmKernel::kThreadCount), dim3(1),
                               sizeof(GemmKernel::SharedStorage), params, stream);
}

}  // namespace

{% set threads = "GemmKernel::kThreadCount" %}
{% set block = "Params" %}
{% set shared_storage = "sizeof(GemmKernel::SharedStorage)" %}
{% include "gemm/kernel_table.cpp" %}
