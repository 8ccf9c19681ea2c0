/// NVIDIA's management library, loaded if the machine has it.
#pragma once

#include <memory>
#include <string>

#include "conditions.h"

namespace cutlass_ninja {

/// One GPU as NVML sees it.
class Nvml {
 public:
  /// Looks for the GPU of this UUID.
  explicit Nvml(std::string const& uuid);
  Nvml(Nvml const&) = delete;
  Nvml& operator=(Nvml const&) = delete;
  ~Nvml();

  /// Why nothing can be read; empty if it can.
  std::string const& unavailable() const { return unavailable_; }
  /// The driver's version, "580.65.06"; empty if it cannot be read.
  std::string const& driver_version() const { return driver_version_; }

  /// The state of the GPU now. Only if it can be read.
  Reading read() const;

 private:
  struct Library;

  std::unique_ptr<Library> library_;
  void* gpu_ = nullptr;
  std::string unavailable_;
  std::string driver_version_;
};

}  // namespace cutlass_ninja
