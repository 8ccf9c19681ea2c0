/// A kernel's parameter block.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "cutlass_ninja/abi.h"

namespace cutlass_ninja {

/// A parameter block as the kernel's interface wants it.
class Params {
 public:
  explicit Params(size_t bytes)
      : bytes_(bytes),
        data_(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment), std::free) {
    if (!data_) throw std::bad_alloc();
  }
  void* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = CUTLASS_NINJA_PARAMS_ALIGNMENT;
  size_t bytes_;
  std::unique_ptr<void, void (*)(void*)> data_;
};

}  // namespace cutlass_ninja
