// A GEMM kernel without CUTLASS, one thread an element of D, to test the runtime with. What it
// computes is chosen by macros; a fault can be planted that the runtime must find.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <csignal>
#include <new>
#include <type_traits>

#include "cutlass_ninja/gemm.h"

// Elements, by the names of cutlass_ninja_element; layouts of A, B, C, D: 0 column-, 1 row-major.
#ifndef PLAIN_AB
#define PLAIN_AB F16
#endif
#ifndef PLAIN_CD
#define PLAIN_CD PLAIN_AB
#endif
#ifndef PLAIN_ACCUMULATOR
#define PLAIN_ACCUMULATOR F32
#endif
#ifndef PLAIN_EPILOGUE
#define PLAIN_EPILOGUE F32
#endif
// Of the epilogue, by the names of cutlass_ninja/epilogue.h.
#ifndef PLAIN_BIAS
#define PLAIN_BIAS NONE
#endif
#ifndef PLAIN_ACTIVATION
#define PLAIN_ACTIVATION IDENTITY
#endif
#ifndef PLAIN_BINARY_OP
#define PLAIN_BINARY_OP NONE
#endif
#ifndef PLAIN_UNARY_OP
#define PLAIN_UNARY_OP IDENTITY
#endif
#ifndef PLAIN_LAYOUTS
#define PLAIN_LAYOUTS 1, 0, 0, 0
#endif
#ifndef PLAIN_ALIGNMENT
#define PLAIN_ALIGNMENT 1
#endif
#ifndef PLAIN_ABI_VERSION
#define PLAIN_ABI_VERSION CUTLASS_NINJA_ABI_VERSION
#endif
#ifndef PLAIN_KEY
#define PLAIN_KEY "0123456789abcdef"
#endif
#ifndef PLAIN_FAULT
#define PLAIN_FAULT none
#endif

#define PLAIN_JOIN2(a, b) a##b
#define PLAIN_JOIN(a, b) PLAIN_JOIN2(a, b)
#define PLAIN_ELEMENT(name) PLAIN_JOIN(CUTLASS_NINJA_, name)

namespace {

enum class Fault {
  none,
  swapped_layout,   // A is read as if it had the other layout
  wrong_beta,       // C is added as it is
  wrong_alpha,      // alpha is not applied
  dropped_k,        // the last product is missing
  no_bias,          // the bias is not added
  no_activation,    // the activation is not applied
  swapped_bias,     // the bias is taken along the other dimension
  early_source,     // a residual block's second source is added before the activation
  first_batch,      // every batch reads the first A
  unwritten,        // the last element of D is not written
  out_of_bounds,    // the element after D is written
  reads_c,          // C is read and multiplied by beta == 0
  later_launches,   // launches after the third are wrong
  illegal_address,  // the kernel writes to address 8: a sticky error
  launch_error,     // the launch asks for more threads than there can be
  refused,          // initialize reports an error
  hang,             // the kernel never ends
  crash,            // the host half ends the process by a signal
  slow,             // the kernel takes a millisecond more
};

constexpr Fault kFault = Fault::PLAIN_FAULT;
constexpr cutlass_ninja_element kAB = PLAIN_ELEMENT(PLAIN_AB);
constexpr cutlass_ninja_element kCD = PLAIN_ELEMENT(PLAIN_CD);
constexpr cutlass_ninja_element kAccumulator = PLAIN_ELEMENT(PLAIN_ACCUMULATOR);
constexpr cutlass_ninja_element kEpilogue = PLAIN_ELEMENT(PLAIN_EPILOGUE);
constexpr cutlass_ninja_bias kBias = PLAIN_JOIN(CUTLASS_NINJA_BIAS_, PLAIN_BIAS);
constexpr cutlass_ninja_activation kActivation =
    PLAIN_JOIN(CUTLASS_NINJA_ACTIVATION_, PLAIN_ACTIVATION);
constexpr cutlass_ninja_binary_op kBinaryOp = PLAIN_JOIN(CUTLASS_NINJA_BINARY_OP_, PLAIN_BINARY_OP);
constexpr cutlass_ninja_activation kUnaryOp = PLAIN_JOIN(CUTLASS_NINJA_ACTIVATION_, PLAIN_UNARY_OP);

/// The layout of operand A, B, C or D: 0 to 3.
__host__ __device__ constexpr int layout(int operand) {
  int const layouts[] = {PLAIN_LAYOUTS};
  return layouts[operand];
}

template <cutlass_ninja_element>
struct Storage;
template <>
struct Storage<CUTLASS_NINJA_F16> {
  using Type = __half;
};
template <>
struct Storage<CUTLASS_NINJA_BF16> {
  using Type = __nv_bfloat16;
};
template <>
struct Storage<CUTLASS_NINJA_F32> {
  using Type = float;
};
template <>
struct Storage<CUTLASS_NINJA_F64> {
  using Type = double;
};
template <>
struct Storage<CUTLASS_NINJA_S8> {
  using Type = int8_t;
};
template <>
struct Storage<CUTLASS_NINJA_U8> {
  using Type = uint8_t;
};
template <>
struct Storage<CUTLASS_NINJA_S32> {
  using Type = int32_t;
};

template <typename T>
__device__ double widened(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return static_cast<double>(value);
  }
}

/// Rounds to nearest; integers saturate.
template <typename T>
__device__ T narrowed(double value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
    int const low = std::is_signed_v<T> ? -128 : 0;
    return static_cast<T>(max(low, min(low + 255, __double2int_rn(value))));
  } else if constexpr (std::is_integral_v<T>) {
    return __double2int_rn(value);
  } else {
    return static_cast<T>(value);
  }
}

/// What the kernel's host half and its device half share.
struct Params {
  cutlass_ninja_gemm_arguments problem;
  int launch;
  int order;
};

/// An activation in f32, as kernels apply it.
__device__ float activate(cutlass_ninja_activation activation, float x, float slope) {
  switch (activation) {
    case CUTLASS_NINJA_ACTIVATION_RELU:
      return fmaxf(x, 0);
    case CUTLASS_NINJA_ACTIVATION_LEAKY_RELU:
      return x > 0 ? x : x * slope;
    case CUTLASS_NINJA_ACTIVATION_GELU:
      return x * normcdff(x);
    case CUTLASS_NINJA_ACTIVATION_GELU_TAYLOR:
      return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    case CUTLASS_NINJA_ACTIVATION_SILU:
      return x / (1 + expf(-x));
    case CUTLASS_NINJA_ACTIVATION_SIGMOID:
      return 1 / (1 + expf(-x));
    case CUTLASS_NINJA_ACTIVATION_HARDSWISH:
      return x * fminf(fmaxf(x + 3, 0), 6) / 6;
    case CUTLASS_NINJA_ACTIVATION_TANH:
      return tanhf(x);
    default:
      return x;
  }
}

__device__ int64_t offset(int layout, int64_t ld, int64_t row, int64_t column) {
  return layout == CUTLASS_NINJA_ROW_MAJOR ? row * ld + column : column * ld + row;
}

__global__ void plain_gemm(Params params) {
  using AB = Storage<kAB>::Type;
  using CD = Storage<kCD>::Type;
  using Accumulator = Storage<kAccumulator>::Type;
  cutlass_ninja_gemm_arguments const& p = params.problem;
  int64_t const area = int64_t(p.m) * p.n;
  int64_t const total = area * p.batch_count;
  int64_t const thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread >= total) return;
  int64_t const turned = params.order == 1 ? total - 1 - thread : thread + total / 2;
  int64_t const index = params.order == 0 ? thread : turned % total;
  int64_t const batch = index / area;
  int64_t const row = index % area % p.m;
  int64_t const column = index % area / p.m;

  bool const swapped = kFault == Fault::swapped_layout;
  int const a_layout = swapped ? 1 - layout(0) : layout(0);
  int64_t const lda = swapped ? int64_t(p.m) + p.k - p.lda : p.lda;
  int64_t const a_batch = kFault == Fault::first_batch ? 0 : batch;
  AB const* a = static_cast<AB const*>(p.a) + a_batch * p.batch_stride_a;
  AB const* b = static_cast<AB const*>(p.b) + batch * p.batch_stride_b;
  CD const* c = static_cast<CD const*>(p.c) + batch * p.batch_stride_c;
  CD* d = static_cast<CD*>(p.d) + batch * p.batch_stride_d;

  Accumulator sum = narrowed<Accumulator>(0);
  int const k_end = kFault == Fault::dropped_k ? p.k - 1 : p.k;
  for (int k = 0; k < k_end; ++k) {
    double const product =
        widened(a[offset(a_layout, lda, row, k)]) * widened(b[offset(layout(1), p.ldb, k, column)]);
    sum = narrowed<Accumulator>(widened(sum) + product);
  }

  double const alpha = kFault == Fault::wrong_alpha ? 1 : p.alpha;
  double const beta = kFault == Fault::wrong_beta ? 1 : p.beta;
  double result = alpha * widened(sum);
  double source = 0;
  if (p.beta != 0 || kBinaryOp != CUTLASS_NINJA_BINARY_OP_NONE || kFault == Fault::reads_c) {
    source = beta * widened(c[offset(layout(2), p.ldc, row, column)]);
  }
  bool const early = kFault == Fault::early_source;
  if (kBinaryOp == CUTLASS_NINJA_BINARY_OP_NONE || early) result += source;
  if (kBias != CUTLASS_NINJA_BIAS_NONE && kFault != Fault::no_bias) {
    bool const per_row = (kBias == CUTLASS_NINJA_BIAS_PER_ROW) != (kFault == Fault::swapped_bias);
    result += widened(static_cast<CD const*>(p.epilogue.bias)[per_row ? row : column]);
  }
  float const slope = static_cast<float>(p.epilogue.leaky_relu_slope);
  if (kActivation != CUTLASS_NINJA_ACTIVATION_IDENTITY && kFault != Fault::no_activation) {
    result = activate(kActivation, static_cast<float>(result), slope);
  }
  if (kBinaryOp == CUTLASS_NINJA_BINARY_OP_PLUS && !early) result += source;
  if (kBinaryOp == CUTLASS_NINJA_BINARY_OP_MULTIPLIES) result *= source;
  if (kUnaryOp == CUTLASS_NINJA_ACTIVATION_RELU) result = fmax(result, 0.0);
  if (kFault == Fault::later_launches && params.launch > 3 && index == 0) result += 1000;
  if (kFault == Fault::hang) {
    while (true) __nanosleep(1000);
  }
  if (kFault == Fault::slow && index == 0) {
    long long const start = clock64();
    while (clock64() - start < 1'000'000) {
    }
  }
  if (kFault == Fault::illegal_address) d = reinterpret_cast<CD*>(8);
  bool const last = index == total - 1;
  if (kFault == Fault::unwritten && last) return;
  d[offset(layout(3), p.ldd, row, column)] = narrowed<CD>(result);
  if (kFault == Fault::out_of_bounds && last) d[area] = narrowed<CD>(result);
}

cutlass_ninja_status load(char const**) { return CUTLASS_NINJA_SUCCESS; }

cutlass_ninja_status can_implement(cutlass_ninja_gemm_arguments const* arguments,
                                   char const** reason) {
  if (arguments->k % PLAIN_ALIGNMENT == 0) return CUTLASS_NINJA_SUCCESS;
  if (reason) *reason = "k is not a multiple of the alignment";
  return CUTLASS_NINJA_NOT_SUPPORTED;
}

size_t workspace_bytes(cutlass_ninja_gemm_arguments const*) { return 0; }

cutlass_ninja_status initialize(cutlass_ninja_gemm_arguments const* arguments, void*, void* params,
                                cudaStream_t) {
  if (kFault == Fault::refused) return CUTLASS_NINJA_ERROR_INTERNAL;
  int const order = arguments->parameters ? arguments->parameters[0] : 0;
  new (params) Params{*arguments, 0, order};
  return CUTLASS_NINJA_SUCCESS;
}

cudaError_t run(void* params, cudaStream_t stream) {
  if (kFault == Fault::crash) std::raise(SIGSEGV);
  Params& own = *static_cast<Params*>(params);
  ++own.launch;
  int const threads = kFault == Fault::launch_error ? 2048 : 128;
  int64_t const count = int64_t(own.problem.m) * own.problem.n * own.problem.batch_count;
  plain_gemm<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(own);
  return cudaGetLastError();
}

// A run-time parameter: in which order threads take D's elements; 0 as they lie, 1 from the end, 2
// from the middle.
constexpr int kOrders[] = {0, 1, 2};
constexpr cutlass_ninja_parameter kParameters[] = {{"order", "order of the elements", kOrders, 3}};

cutlass_ninja_tensor tensor(cutlass_ninja_element element, int layout) {
  return {element, static_cast<cutlass_ninja_layout>(layout), PLAIN_ALIGNMENT};
}

}  // namespace

int main(int argc, char** argv) {
  cutlass_ninja_gemm_kernel kernel = {};
  kernel.abi_version = PLAIN_ABI_VERSION;
  kernel.description =
      "{\"name\": \"plain_gemm\", \"key\": \"" PLAIN_KEY "\", \"operation\": \"gemm\"}\n";
  kernel.name = "plain_gemm";
  kernel.key = PLAIN_KEY;
  kernel.operation = "gemm";
  kernel.a = tensor(kAB, layout(0));
  kernel.b = tensor(kAB, layout(1));
  kernel.c = tensor(kCD, layout(2));
  kernel.d = tensor(kCD, layout(3));
  kernel.accumulator = kAccumulator;
  kernel.element_epilogue = kEpilogue;
  kernel.footprint = {0, sizeof(Params), 128, {1, 1, 1}};
  bool const has_bias = kBias != CUTLASS_NINJA_BIAS_NONE;
  kernel.epilogue = {kBias, has_bias ? kCD : CUTLASS_NINJA_VOID, kActivation, kBinaryOp, kUnaryOp};
  kernel.load = load;
  kernel.can_implement = can_implement;
  kernel.workspace_bytes = workspace_bytes;
  kernel.initialize = initialize;
  kernel.run = run;
  kernel.parameters = kParameters;
  kernel.parameter_count = 1;
  return cutlass_ninja_profile_gemm(&kernel, argc, argv);
}
