#include "conv2d_sums.h"
#include "element.cuh"
#include "error.h"
#include "grid.cuh"
#include "reference_conv2d.h"

namespace cutlass_ninja {
namespace {

/// Reads an operand whose type is a constant.
template <typename Sum, cutlass_ninja_element E>
struct Loader {
  void const* data;

  __device__ Sum operator()(int64_t index) const { return load<Sum, E>(data, index); }
};

template <typename Sum, cutlass_ninja_element A, cutlass_ninja_element B>
__global__ void reference_conv2d_kernel(cutlass_ninja_conv_kind kind,
                                        cutlass_ninja_conv2d_problem problem, Loader<Sum, A> a,
                                        Loader<Sum, B> b, Sum* result, int64_t count) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    result[i] = conv2d_sum<Sum>(kind, problem, i, a, b);
}

struct Problem {
  cutlass_ninja_conv_kind kind;
  cutlass_ninja_conv2d_problem const& sizes;
  void const *a, *b;
  void* result;
  int64_t count;
  cudaStream_t stream;
};

template <typename Sum, cutlass_ninja_element A, cutlass_ninja_element B = A>
void launch(Problem const& problem) {
  reference_conv2d_kernel<<<grid_blocks(problem.count), kBlockThreads, 0, problem.stream>>>(
      problem.kind, problem.sizes, Loader<Sum, A>{problem.a}, Loader<Sum, B>{problem.b},
      static_cast<Sum*>(problem.result), problem.count);
}

/// The references, by operand types. Their sums are of reference_accumulator()'s type.
struct Reference {
  cutlass_ninja_element a, b;
  void (*launch)(Problem const&);
};

constexpr Reference kReferences[] = {
    {CUTLASS_NINJA_F16, CUTLASS_NINJA_F16, launch<float, CUTLASS_NINJA_F16>},
    {CUTLASS_NINJA_BF16, CUTLASS_NINJA_BF16, launch<float, CUTLASS_NINJA_BF16>},
    {CUTLASS_NINJA_TF32, CUTLASS_NINJA_TF32, launch<double, CUTLASS_NINJA_F32>},
    {CUTLASS_NINJA_F32, CUTLASS_NINJA_F32, launch<double, CUTLASS_NINJA_F32>},
    {CUTLASS_NINJA_S8, CUTLASS_NINJA_S8, launch<int32_t, CUTLASS_NINJA_S8>},
    {CUTLASS_NINJA_S8, CUTLASS_NINJA_U8, launch<int32_t, CUTLASS_NINJA_S8, CUTLASS_NINJA_U8>},
    {CUTLASS_NINJA_U8, CUTLASS_NINJA_S8, launch<int32_t, CUTLASS_NINJA_U8, CUTLASS_NINJA_S8>},
    {CUTLASS_NINJA_U8, CUTLASS_NINJA_U8, launch<int32_t, CUTLASS_NINJA_U8>},
};

}  // namespace

void reference_conv2d(cutlass_ninja_conv_kind kind, cutlass_ninja_conv2d_problem const& problem,
                      Conv2dInput const& a, Conv2dInput const& b, void* result, int64_t count,
                      cudaStream_t stream) {
  for (Reference const& reference : kReferences) {
    if (reference.a != a.element || reference.b != b.element) continue;
    reference.launch({kind, problem, a.data, b.data, result, count, stream});
    return check(cudaGetLastError(), "launching the reference");
  }
  throw std::invalid_argument("no reference multiplies these element types");
}

}  // namespace cutlass_ninja
