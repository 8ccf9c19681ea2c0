// A kernel timed by a loop written by hand, to compare the profiler's median with. It shares
// nothing with the runtime but the kernel's C interface. Usage: hand_loop M N K; prints the median
// time of a launch in ms.
//
// As in the profiler, a sample is 0.5 ms of launches or more, between two events, and a burst is
// the samples that fit into 4 ms: they are all queued before the GPU begins, and after them it
// rests for 10 ms, so that it has its full clock.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "device.cu"
#include "host.cpp"

#define CHECK(call)                                                       \
  do {                                                                    \
    cudaError_t const error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

__global__ void fill(cutlass::half_t* data, size_t count, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned long long x = (i + 1) * 6364136223846793005ull + seed * 1442695040888963407ull;
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull,
        x ^= x >> 33;
    float const u = (unsigned(x) + 1.0f) * 0x1p-32f, v = unsigned(x >> 32) * 0x1p-32f;
    data[i] = cutlass::half_t(sqrtf(-2 * logf(fminf(u, 1.0f))) * cospif(2 * v));
  }
}

__global__ void wait_until(bool const volatile* open) {
  while (!*open) {
  }
}

int main(int, char** argv) {
  int const m = std::atoi(argv[1]), n = std::atoi(argv[2]), k = std::atoi(argv[3]);
  size_t const sizes[] = {size_t(m) * k, size_t(k) * n, size_t(m) * n};
  size_t const bytes = 2 * (sizes[0] + sizes[1] + sizes[2]);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  size_t const copies = 2 * size_t(properties.l2CacheSize) / bytes + 1;

  cutlass_ninja_gemm_kernel const& kernel = CUTLASS_NINJA_KERNEL;
  std::vector<void*> blocks;
  for (size_t copy = 0; copy < copies; ++copy) {
    cutlass::half_t* operands[3];
    for (int i = 0; i < 3; ++i) {
      CHECK(cudaMalloc(reinterpret_cast<void**>(&operands[i]), 2 * sizes[i]));
      fill<<<1024, 256>>>(operands[i], sizes[i], i);
    }
    cutlass_ninja_gemm_arguments arguments{};
    arguments.m = m, arguments.n = n, arguments.k = k;
    arguments.batch_count = 1, arguments.split_k_slices = 1;
    arguments.a = operands[0], arguments.b = operands[1], arguments.c = operands[2],
    arguments.d = operands[2];
    arguments.lda = k, arguments.ldb = k, arguments.ldc = m, arguments.ldd = m;
    arguments.alpha = 1;
    void* workspace = nullptr;
    if (size_t const needed = kernel.workspace_bytes(&arguments))
      CHECK(cudaMalloc(&workspace, needed));
    blocks.push_back(std::aligned_alloc(CUTLASS_NINJA_PARAMS_ALIGNMENT, 1 << 16));
    if (kernel.initialize(&arguments, workspace, blocks.back(), nullptr) != CUTLASS_NINJA_SUCCESS) {
      std::fprintf(stderr, "the kernel's initialization was refused\n");
      return 1;
    }
  }

  bool* open;
  CHECK(cudaHostAlloc(&open, sizeof *open, cudaHostAllocMapped));
  struct Sample {
    cudaEvent_t start, stop;
  };
  std::deque<Sample> events;
  size_t launch = 0;
  // The mean times of a launch in each sample.
  auto const burst = [&](int samples, int launches) {
    while (int(events.size()) < samples) {
      Sample& added = events.emplace_back();
      CHECK(cudaEventCreate(&added.start));
      CHECK(cudaEventCreate(&added.stop));
    }
    bool volatile& gate = *open;
    gate = false;
    wait_until<<<1, 1>>>(open);
    CHECK(cudaGetLastError());
    for (int i = 0; i < samples; ++i) {
      CHECK(cudaEventRecord(events[i].start));
      for (int j = 0; j < launches; ++j) CHECK(kernel.run(blocks[launch++ % copies], nullptr));
      CHECK(cudaEventRecord(events[i].stop));
    }
    gate = true;
    CHECK(cudaDeviceSynchronize());
    std::vector<float> times(samples);
    for (int i = 0; i < samples; ++i) {
      CHECK(cudaEventElapsedTime(&times[i], events[i].start, events[i].stop));
      times[i] /= launches;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return times;
  };

  // Both kernels are loaded before one may wait for the other.
  *open = true;
  wait_until<<<1, 1>>>(open);
  CHECK(kernel.run(blocks[0], nullptr));
  CHECK(cudaDeviceSynchronize());

  float launch_ms = 0;
  for (int warm_up = 0; warm_up < 12; ++warm_up) launch_ms = burst(1, 16)[0];
  // More than some 1000 entries cannot be queued.
  int const launches = std::min(int(std::ceil(0.5f / launch_ms)), 256);
  int const samples = std::max(1, std::min(int(4 / (launches * launch_ms)), 512 / launches));
  std::vector<float> times;
  while (times.size() < 60) {
    std::vector<float> const more = burst(samples, launches);
    times.insert(times.end(), more.begin(), more.end());
  }
  std::sort(times.begin(), times.end());
  std::printf("%.6f\n", times[times.size() / 2]);
}
