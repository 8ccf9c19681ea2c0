/// The GPU that problems run on.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cutlass_ninja {

/// What a measurement must say about where it was made.
struct Device {
  int ordinal;
  std::string name;
  std::string uuid;                ///< as nvidia-smi prints it
  std::string compute_capability;  ///< "9.0"
  int multiprocessors;
  int64_t l2_bytes;
  std::string runtime_version;  ///< the CUDA runtime's that this binary holds, "13.0"
  std::string driver_version;   ///< the newest CUDA that the driver supports, "13.0"
};

/// The CUDA devices of this machine, as CUDA_VISIBLE_DEVICES limits and orders them. Throws
/// MachineError if there is none.
std::vector<Device> list_devices();

/// Makes a device current and describes it. Throws MachineError if there is none, none with that
/// ordinal, or if it cannot run this binary's code.
Device use_device(int ordinal);

/// Throws the MachineError that says which GPU cannot run which code, if that is what `code` means.
void check_kernel_image(cudaError_t code);

/// A stream of the current device.
class Stream {
 public:
  Stream();
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  ~Stream();

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace cutlass_ninja
