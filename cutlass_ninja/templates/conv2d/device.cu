// The device half: the kernel's entry point, under a name that no other kernel has.
#include "identity.h"
#include "kernel.h"

static_assert(sizeof(ConvKernel::SharedStorage) <= {{ shared_memory_bytes }},
              "the kernel needs more shared memory than a thread block of {{ arch }} can have");

extern "C" __global__ void CUTLASS_NINJA_ENTRY(ConvKernel::Params params) {
  extern __shared__ char shared_storage[];
  ConvKernel kernel;
  kernel(params, *reinterpret_cast<ConvKernel::SharedStorage*>(shared_storage));
}
