/// Device memory that notices writes beside it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cutlass_ninja {

/// Device memory, freed with the object; null for no bytes.
class DeviceMemory {
 public:
  /// Throws CudaError; cudaErrorMemoryAllocation if there is not enough.
  explicit DeviceMemory(size_t bytes);
  DeviceMemory(DeviceMemory const&) = delete;
  DeviceMemory& operator=(DeviceMemory const&) = delete;
  ~DeviceMemory();

  unsigned char* data() const { return data_; }

 private:
  unsigned char* data_ = nullptr;
};

/// Device memory between two guard regions. All of it is filled with the poison byte, and so stays
/// what was never written.
class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, unsigned char poison, cudaStream_t stream);

  /// The memory between the guards, aligned to 256 bytes; null if it has no bytes.
  void* data() const { return bytes_ == 0 ? nullptr : memory_.data() + kGuardBytes; }

  /// Fills what lies between the guards with the poison byte again.
  void poison(cudaStream_t stream);

  /// How many bytes of the guards are no longer poison. Waits for the stream.
  int64_t damaged_bytes(cudaStream_t stream) const;

  /// Large enough to hold what a tile's overhang writes first; a multiple of 256.
  static constexpr size_t kGuardBytes = 1 << 20;

 private:
  size_t bytes_;
  unsigned char poison_;
  DeviceMemory memory_;
};

}  // namespace cutlass_ninja
