#include "rotation.h"

#include "error.h"

namespace cutlass_ninja {
namespace {

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

size_t c_bytes(WorkloadShape const& shape) { return shape.reads_c() ? shape.c.bytes() : 0; }

/// Hands out parts of device memory, and fills them with copies.
class Filler {
 public:
  Filler(unsigned char* next, cudaStream_t stream) : next_(next), stream_(stream) {}

  void* take(size_t bytes) {
    unsigned char* const taken = next_;
    next_ += aligned(bytes);
    return taken;
  }
  void const* copy(void const* operand, size_t bytes) {
    void* const copy = take(bytes);
    check(cudaMemcpyAsync(copy, operand, bytes, cudaMemcpyDeviceToDevice, stream_),
          "copying the operands");
    return copy;
  }

 private:
  unsigned char* next_;
  cudaStream_t stream_;
};

}  // namespace

Rotation::Rotation(Workload const& workload, Operands const& own, void* workspace,
                   Params const& params, int64_t copies, cudaStream_t stream)
    : first_(params), operands_{own} {
  WorkloadShape const& shape = workload.shape();
  size_t const stride = aligned(shape.a.bytes()) + aligned(shape.b.bytes()) +
                        aligned(c_bytes(shape)) + aligned(shape.d.bytes());
  memory_ = std::make_unique<DeviceMemory>(stride * static_cast<size_t>(copies - 1));
  Filler filler(memory_->data(), stream);
  for (int64_t i = 1; i < copies; ++i) {
    Operands turn = own;
    turn.a = filler.copy(own.a, shape.a.bytes());
    turn.b = filler.copy(own.b, shape.b.bytes());
    if (c_bytes(shape) > 0) turn.c = filler.copy(own.c, c_bytes(shape));
    turn.d = filler.take(shape.d.bytes());
    operands_.push_back(turn);
    blocks_.emplace_back(params.bytes());
    if (workload.initialize(turn, workspace, blocks_.back().data(), stream) !=
        CUTLASS_NINJA_SUCCESS) {
      throw KernelError("the kernel's initialization was refused for a copy of its operands");
    }
  }
}

void* Rotation::params(int64_t index) const {
  size_t const turn = static_cast<size_t>(index) % operands_.size();
  return turn == 0 ? first_.data() : blocks_[turn - 1].data();
}

Operands const& Rotation::operands(int64_t index) const {
  return operands_[static_cast<size_t>(index) % operands_.size()];
}

int64_t Rotation::bytes(WorkloadShape const& shape) {
  return static_cast<int64_t>(shape.a.bytes() + shape.b.bytes() + c_bytes(shape) + shape.d.bytes());
}

}  // namespace cutlass_ninja
