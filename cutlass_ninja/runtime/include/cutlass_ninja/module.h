/// The device half of a kernel that was compiled apart from its host half: a cubin in the executable.
#pragma once

/// A macro's value as a string.
#define CUTLASS_NINJA_STRING(name) CUTLASS_NINJA_STRING_OF(name)
#define CUTLASS_NINJA_STRING_OF(name) #name

namespace cutlass_ninja {

/// What both halves of a kernel must agree on.
struct Halves {
  unsigned long long params_bytes;         ///< size of the kernel's parameter
  unsigned long long shared_memory_bytes;  ///< dynamic shared memory of one thread block
  unsigned long long threads;              ///< threads of one thread block
};

/// A kernel's handle for CUDA's launch functions, or null and why it cannot be had.
struct Kernel {
  void const* entry;
  char const* reason;
};

/// A kernel of the executable's cubin. Needs a GPU.
Kernel load_kernel(char const* entry);

/// The same, if the host half's view of it is the device half's, which the cubin holds under the
/// name `halves`.
Kernel load_kernel(char const* entry, char const* halves, Halves const& host);

}  // namespace cutlass_ninja
