// The device half: the kernel's entry point, under a name that no other kernel has.
#include "cutlass_ninja/module.h"
#include "identity.h"
#include "kernel.h"

static_assert(sizeof(GemmKernel::SharedStorage) <= {{ shared_memory_bytes }},
              "the kernel needs more shared memory than a thread block of {{ arch }} can have");

extern "C" __global__ void CUTLASS_NINJA_ENTRY(GemmKernel::Params params) {
  extern __shared__ char shared_storage[];
  GemmKernel::invoke(params, *reinterpret_cast<GemmKernel::SharedStorage*>(shared_storage));
}
{%- if split_k_mode == "parallel" %}

// Sums up the slices of K.
extern "C" __global__ void CUTLASS_NINJA_REDUCTION_ENTRY(Reduction::Params params) {
  Reduction::SharedStorage shared_storage;
  Reduction()(params, shared_storage);
}
{%- endif %}

{% set params = "GemmKernel::Params" -%}
{% set shared_storage = "sizeof(GemmKernel::SharedStorage)" -%}
{% set threads = "GemmKernel::kThreadCount" -%}
{% include "device_half.cu" %}
