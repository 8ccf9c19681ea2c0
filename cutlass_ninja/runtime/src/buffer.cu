#include "buffer.h"
#include "error.h"
#include "grid.cuh"

namespace cutlass_ninja {
namespace {

__global__ void count_other_bytes(unsigned char const* data, int64_t bytes, unsigned char expected,
                                  unsigned long long* count) {
  for (int64_t i = first_index(); i < bytes; i += index_stride()) {
    if (data[i] != expected) atomicAdd(count, 1ull);
  }
}

}  // namespace

DeviceMemory::DeviceMemory(size_t bytes) {
  if (bytes == 0) return;
  check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "allocating device memory");
}

DeviceMemory::~DeviceMemory() { cudaFree(data_); }

GuardedBuffer::GuardedBuffer(size_t bytes, unsigned char poison, cudaStream_t stream)
    : bytes_(bytes), poison_(poison), memory_(bytes + 2 * kGuardBytes) {
  check(cudaMemsetAsync(memory_.data(), poison_, bytes + 2 * kGuardBytes, stream),
        "poisoning a buffer");
}

void GuardedBuffer::poison(cudaStream_t stream) {
  check(cudaMemsetAsync(memory_.data() + kGuardBytes, poison_, bytes_, stream),
        "poisoning a buffer");
}

int64_t GuardedBuffer::damaged_bytes(cudaStream_t stream) const {
  DeviceMemory const device_count(sizeof(unsigned long long));
  auto* const count = reinterpret_cast<unsigned long long*>(device_count.data());
  check(cudaMemsetAsync(count, 0, sizeof *count, stream), "checking guards");
  size_t const guards[] = {0, kGuardBytes + bytes_};
  for (size_t const guard : guards) {
    count_other_bytes<<<grid_blocks(kGuardBytes), kBlockThreads, 0, stream>>>(
        memory_.data() + guard, kGuardBytes, poison_, count);
    check(cudaGetLastError(), "checking guards");
  }
  unsigned long long result = 0;
  check(cudaMemcpyAsync(&result, count, sizeof result, cudaMemcpyDeviceToHost, stream),
        "checking guards");
  check(cudaStreamSynchronize(stream), "checking guards");
  return static_cast<int64_t>(result);
}

}  // namespace cutlass_ninja
