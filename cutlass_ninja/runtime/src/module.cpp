#include "cutlass_ninja/module.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#if CUDART_VERSION >= 12080  // the first that has cudaLibraryLoadData

/// The cubin: part of every executable whose kernel was compiled in halves.
extern "C" unsigned char const cutlass_ninja_image[];

namespace cutlass_ninja {
namespace {

Kernel refuse(char const* what, cudaError_t error) {
  static char reason[256];
  std::snprintf(reason, sizeof reason, "%s: %s", what, cudaGetErrorString(error));
  return {nullptr, reason};
}

Kernel disagree(Halves const& device, Halves const& host) {
  static char reason[256];
  std::snprintf(reason, sizeof reason,
                "the kernel's halves disagree: its parameter has %llu bytes in the device half and "
                "%llu in the host half, shared memory %llu and %llu, a block %llu and %llu threads",
                device.params_bytes, host.params_bytes, device.shared_memory_bytes,
                host.shared_memory_bytes, device.threads, host.threads);
  return {nullptr, reason};
}

/// The executable's cubin, loaded once.
struct Library {
  cudaLibrary_t handle = nullptr;
  cudaError_t error = cudaLibraryLoadData(&handle, cutlass_ninja_image, nullptr, nullptr, 0,
                                          nullptr, nullptr, 0);
};

Library const& library() {
  static Library const loaded;
  return loaded;
}

}  // namespace

Kernel load_kernel(char const* entry) {
  if (auto error = library().error) return refuse("the kernel's cubin cannot be loaded", error);
  cudaKernel_t kernel = nullptr;
  if (auto error = cudaLibraryGetKernel(&kernel, library().handle, entry))
    return refuse("the kernel is not in its cubin", error);
  return {reinterpret_cast<void const*>(kernel), nullptr};
}

Kernel load_kernel(char const* entry, char const* halves, Halves const& host) {
  Kernel const kernel = load_kernel(entry);
  if (!kernel.entry) return kernel;
  void* stated = nullptr;
  size_t bytes = 0;
  Halves device{};
  if (auto error = cudaLibraryGetGlobal(&stated, &bytes, library().handle, halves))
    return refuse("the kernel's cubin does not describe it", error);
  if (auto error = cudaMemcpy(&device, stated, sizeof device, cudaMemcpyDeviceToHost))
    return refuse("the kernel's cubin cannot be read", error);
  bool const same = device.params_bytes == host.params_bytes && device.threads == host.threads &&
                    device.shared_memory_bytes == host.shared_memory_bytes;
  return same ? kernel : disagree(device, host);
}

}  // namespace cutlass_ninja

#endif
