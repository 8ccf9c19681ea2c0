// The device half: the kernel's entry point, under a name that no other kernel has.
#include "cutlass_ninja/module.h"
#include "identity.h"
#include "kernel.h"

static_assert(GemmKernel::SharedStorageSize <= {{ shared_memory_bytes }},
              "the kernel needs more shared memory than a thread block of {{ arch }} can have");

extern "C" __global__ void __launch_bounds__(GemmKernel::MaxThreadsPerBlock,
                                             GemmKernel::MinBlocksPerMultiprocessor)
    CUTLASS_NINJA_ENTRY(__grid_constant__ GemmKernel::Params const params) {
  extern __shared__ char shared_storage[];
  GemmKernel kernel;
  kernel(params, shared_storage);
}

{% set params = "GemmKernel::Params" -%}
{% set shared_storage = "GemmKernel::SharedStorageSize" -%}
{% set threads = "GemmKernel::MaxThreadsPerBlock" -%}
{% include "device_half.cu" %}
