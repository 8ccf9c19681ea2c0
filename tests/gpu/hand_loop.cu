// A kernel timed by a loop written by hand, to compare the profiler's median with. It shares
// nothing with the runtime but the kernel's C interface. Usage: hand_loop M N K; prints the median
// time of a launch in ms.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
    arguments.m = m, arguments.n = n, arguments.k = k, arguments.batch_count = 1;
    arguments.a = operands[0], arguments.b = operands[1], arguments.c = operands[2],
    arguments.d = operands[2];
    arguments.lda = k, arguments.ldb = k, arguments.ldc = m, arguments.ldd = m;
    arguments.alpha = 1;
    void* workspace = nullptr;
    if (size_t const needed = kernel.workspace_bytes(&arguments))
      CHECK(cudaMalloc(&workspace, needed));
    blocks.push_back(std::aligned_alloc(CUTLASS_NINJA_PARAMS_ALIGNMENT, 1 << 16));
    if (kernel.initialize(&arguments, workspace, blocks.back(), nullptr) != CUTLASS_NINJA_SUCCESS)
      return 1;
  }

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::vector<float> times;
  size_t launch = 0;
  for (int repetition = 0; repetition < 60; ++repetition) {
    int const launches = 100;
    CHECK(cudaEventRecord(start));
    for (int i = 0; i < launches; ++i) CHECK(kernel.run(blocks[launch++ % copies], nullptr));
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    if (repetition >= 20) times.push_back(ms / launches);
  }
  std::sort(times.begin(), times.end());
  std::printf("%.6f\n", times[times.size() / 2]);
}
