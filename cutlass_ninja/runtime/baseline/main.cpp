/// The baseline: cuBLASLt behind the interface of a GEMM kernel, so that the same code verifies,
/// times and reports it.
///
///   baseline --library=PATH --key=KEY --a=f16 --b=f16 --c=f16 --d=f16 --accumulator=f32
///   --layout=tnn [--math=tf32]
///            FLAG...
///
/// after which a profiler's flags follow. Its run-time parameter `algorithm` is the rank in
/// cuBLASLt's heuristic: 0 is what cublasLtMatmul would take by itself. `baseline --library=PATH
/// --library-version` prints the version alone.
#include <cuda_fp16.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "cublaslt.h"
#include "cutlass_ninja/gemm.h"

namespace {

namespace lt = cutlass_ninja::cublaslt;

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr int kAlgorithms[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr int kAlgorithmCount = sizeof kAlgorithms / sizeof *kAlgorithms;
constexpr cutlass_ninja_parameter kParameters[] = {
    {"algorithm", "rank in cuBLASLt's heuristic", kAlgorithms, kAlgorithmCount}};

struct Element {
  char const* name;
  cutlass_ninja_element element;
  cudaDataType_t type;
};

constexpr Element kElements[] = {
    {"f16", CUTLASS_NINJA_F16, CUDA_R_16F}, {"bf16", CUTLASS_NINJA_BF16, CUDA_R_16BF},
    {"f32", CUTLASS_NINJA_F32, CUDA_R_32F}, {"f64", CUTLASS_NINJA_F64, CUDA_R_64F},
    {"s8", CUTLASS_NINJA_S8, CUDA_R_8I},    {"s32", CUTLASS_NINJA_S32, CUDA_R_32I},
};

cudaDataType_t data_type(cutlass_ninja_element element) {
  for (Element const& known : kElements) {
    if (known.element == element) return known.type;
  }
  throw std::runtime_error("unknown element type");
}

/// alpha or beta, as cuBLASLt reads it.
struct Factor {
  Factor(cutlass_ninja_element element, double value) {
    float const f32 = static_cast<float>(value);
    int32_t const s32 = static_cast<int32_t>(value);
    __half const f16 = __float2half(f32);
    switch (element) {
      case CUTLASS_NINJA_F16:
        std::memcpy(data, &f16, sizeof f16);
        break;
      case CUTLASS_NINJA_F64:
        std::memcpy(data, &value, sizeof value);
        break;
      case CUTLASS_NINJA_S32:
        std::memcpy(data, &s32, sizeof s32);
        break;
      default:
        std::memcpy(data, &f32, sizeof f32);
    }
  }

  alignas(8) unsigned char data[8] = {};
};

/// A problem as cuBLASLt knows it. All matrices are column-major to it: a row-major one is its
/// transpose, and for a row-major D it is D^T = B^T * A^T that is computed.
class Problem {
 public:
  Problem(lt::Library const& library, lt::Handle handle, cutlass_ninja_gemm_kernel const& kernel,
          lt::ComputeType compute, cutlass_ninja_gemm_arguments const& g)
      : library_(library) {
    bool const transposed = kernel.d.layout == CUTLASS_NINJA_ROW_MAJOR;
    cudaDataType_t const scale = data_type(kernel.element_epilogue);
    check(library.matmul_create(&matmul_, compute, scale));
    // Whether A (or B) as it lies in memory, read by columns, is the transpose of the operand.
    bool const a = (kernel.a.layout == CUTLASS_NINJA_ROW_MAJOR) != transposed;
    bool const b = (kernel.b.layout == CUTLASS_NINJA_ROW_MAJOR) != transposed;
    set_operation(transposed ? lt::kTransB : lt::kTransA, a);
    set_operation(transposed ? lt::kTransA : lt::kTransB, b);
    a_ = layout(kernel.a, g.m, g.k, g.lda, g.batch_stride_a, g.batch_count);
    b_ = layout(kernel.b, g.k, g.n, g.ldb, g.batch_stride_b, g.batch_count);
    c_ = layout(kernel.c, g.m, g.n, g.ldc, g.batch_stride_c, g.batch_count);
    d_ = layout(kernel.d, g.m, g.n, g.ldd, g.batch_stride_d, g.batch_count);

    lt::Descriptor preference = nullptr;
    check(library.preference_create(&preference));
    check(library.preference_set(preference, lt::kMaxWorkspaceBytes, &kWorkspaceBytes,
                                 sizeof kWorkspaceBytes));
    candidates_.resize(kAlgorithmCount);
    int found = 0;
    int const status =
        library.heuristic(handle, matmul_, transposed ? b_ : a_, transposed ? a_ : b_, c_, d_,
                          preference, kAlgorithmCount, candidates_.data(), &found);
    library.preference_destroy(preference);
    candidates_.resize(status == 0 ? found : 0);
    transposed_ = transposed;
  }
  Problem(Problem const&) = delete;
  Problem& operator=(Problem const&) = delete;
  ~Problem() {
    for (lt::Descriptor one : {a_, b_, c_, d_}) library_.layout_destroy(one);
    library_.matmul_destroy(matmul_);
  }

  size_t algorithms() const { return candidates_.size(); }

  int run(lt::Handle handle, int algorithm, cutlass_ninja_gemm_arguments const& g,
          Factor const& alpha, Factor const& beta, void* workspace, cudaStream_t stream) const {
    void const* const left = transposed_ ? g.b : g.a;
    void const* const right = transposed_ ? g.a : g.b;
    return library_.matmul(handle, matmul_, alpha.data, left, transposed_ ? b_ : a_, right,
                           transposed_ ? a_ : b_, beta.data, g.beta == 0 ? g.d : g.c, c_, g.d, d_,
                           &candidates_[static_cast<size_t>(algorithm)].algorithm, workspace,
                           kWorkspaceBytes, stream);
  }

 private:
  static void check(int status) {
    if (status != 0) throw std::runtime_error("cuBLASLt: status " + std::to_string(status));
  }

  void set_operation(lt::MatmulAttribute which, bool transpose) {
    lt::Operation const operation = transpose ? lt::kTransposed : lt::kNone;
    check(library_.matmul_set(matmul_, which, &operation, sizeof operation));
  }

  lt::Descriptor layout(cutlass_ninja_tensor const& tensor, int rows, int columns, int64_t ld,
                        int64_t stride, int batches) {
    bool const row_major = tensor.layout == CUTLASS_NINJA_ROW_MAJOR;
    lt::Descriptor made = nullptr;
    check(library_.layout_create(&made, data_type(tensor.element), row_major ? columns : rows,
                                 row_major ? rows : columns, ld));
    int32_t const count = batches;
    check(library_.layout_set(made, lt::kBatchCount, &count, sizeof count));
    check(library_.layout_set(made, lt::kBatchStride, &stride, sizeof stride));
    return made;
  }

  lt::Library const& library_;
  lt::Descriptor matmul_ = nullptr, a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
  std::vector<lt::Candidate> candidates_;
  bool transposed_;
};

/// What the kernel's functions share: their interface has no place for it.
struct Baseline {
  lt::Library library;
  lt::Handle handle = nullptr;
  lt::ComputeType compute = lt::kCompute32F;
  cutlass_ninja_gemm_kernel kernel = {};
  std::string description;
  std::unique_ptr<Problem> problem;  ///< the last one asked for
  std::tuple<int, int, int, int> sizes;

  static Baseline& instance() {
    static Baseline baseline;
    return baseline;
  }

  Problem const& problem_of(cutlass_ninja_gemm_arguments const& g) {
    std::tuple const asked{g.m, g.n, g.k, g.batch_count};
    if (!handle && library.create(&handle) != 0) {
      throw std::runtime_error("cuBLASLt cannot be initialized");
    }
    if (!problem || sizes != asked) {
      problem = std::make_unique<Problem>(library, handle, kernel, compute, g);
      sizes = asked;
    }
    return *problem;
  }
};

/// A parameter block.
struct Params {
  Problem const* problem;
  cutlass_ninja_gemm_arguments arguments;
  int algorithm;
  Factor alpha, beta;
  void* workspace;
};

int algorithm_of(cutlass_ninja_gemm_arguments const& g) {
  return g.parameters ? g.parameters[0] : kAlgorithms[0];
}

cutlass_ninja_status load_nothing(char const**) { return CUTLASS_NINJA_SUCCESS; }

cutlass_ninja_status can_implement(cutlass_ninja_gemm_arguments const* g, char const** reason) {
  size_t const offered = Baseline::instance().problem_of(*g).algorithms();
  if (static_cast<size_t>(algorithm_of(*g)) < offered) return CUTLASS_NINJA_SUCCESS;
  *reason = offered == 0 ? "cuBLASLt has no algorithm for the problem"
                         : "cuBLASLt's heuristic offers fewer algorithms for the problem";
  return CUTLASS_NINJA_NOT_SUPPORTED;
}

size_t workspace_bytes(cutlass_ninja_gemm_arguments const*) { return kWorkspaceBytes; }

cutlass_ninja_status initialize(cutlass_ninja_gemm_arguments const* g, void* workspace,
                                void* params, cudaStream_t) {
  Baseline& baseline = Baseline::instance();
  cutlass_ninja_element const scale = baseline.kernel.element_epilogue;
  new (params) Params{&baseline.problem_of(*g), *g,       algorithm_of(*g), {scale, g->alpha},
                      {scale, g->beta},         workspace};
  return CUTLASS_NINJA_SUCCESS;
}

cudaError_t run(void* params, cudaStream_t stream) {
  Params const& own = *static_cast<Params*>(params);
  int const status = own.problem->run(Baseline::instance().handle, own.algorithm, own.arguments,
                                      own.alpha, own.beta, own.workspace, stream);
  if (status == 0) return cudaSuccess;
  cudaError_t const error = cudaGetLastError();
  return error == cudaSuccess ? cudaErrorUnknown : error;
}

using Options = std::map<std::string, std::string>;

/// Takes the baseline's own options out of the command line.
Options take_options(std::vector<char*>& words) {
  Options options;
  std::vector<char*> others;
  for (char* const word : words) {
    std::string const text = word;
    size_t const equals = text.find('=');
    std::string const name = text.substr(0, equals);
    bool const own = name == "--library" || name == "--library-version" || name == "--key" ||
                     name == "--a" || name == "--b" || name == "--c" || name == "--d" ||
                     name == "--accumulator" || name == "--layout" || name == "--math";
    if (own) {
      options[name.substr(2)] = equals == std::string::npos ? "" : text.substr(equals + 1);
    } else {
      others.push_back(word);
    }
  }
  words = others;
  return options;
}

cutlass_ninja_element element_of(std::string const& name) {
  for (Element const& known : kElements) {
    if (name == known.name) return known.element;
  }
  throw std::runtime_error("cuBLASLt as it is used here has no element type '" + name + "'");
}

cutlass_ninja_tensor tensor(Options const& options, char const* operand, size_t place) {
  std::string const layout = options.at("layout");
  bool const row_major = layout.at(place) == 't';
  return {element_of(options.at(operand)),
          row_major ? CUTLASS_NINJA_ROW_MAJOR : CUTLASS_NINJA_COLUMN_MAJOR, 1};
}

void configure(Options const& options, Baseline& baseline) {
  cutlass_ninja_gemm_kernel& kernel = baseline.kernel;
  kernel.a = tensor(options, "a", 0);
  kernel.b = tensor(options, "b", 1);
  kernel.c = tensor(options, "c", 2);
  kernel.d = tensor(options, "d", 2);
  kernel.accumulator = element_of(options.at("accumulator"));
  kernel.element_epilogue = kernel.accumulator;
  bool const tf32 = options.count("math") > 0 && options.at("math") == "tf32";
  switch (kernel.accumulator) {
    case CUTLASS_NINJA_F16:
      baseline.compute = lt::kCompute16F;
      break;
    case CUTLASS_NINJA_F64:
      baseline.compute = lt::kCompute64F;
      break;
    case CUTLASS_NINJA_S32:
      baseline.compute = lt::kCompute32I;
      if (kernel.d.element != CUTLASS_NINJA_S32) kernel.element_epilogue = CUTLASS_NINJA_F32;
      break;
    default:
      baseline.compute = tf32 ? lt::kCompute32FFastTf32 : lt::kCompute32F;
      kernel.element_math = tf32 ? CUTLASS_NINJA_TF32 : CUTLASS_NINJA_VOID;
  }
  kernel.abi_version = CUTLASS_NINJA_ABI_VERSION;
  std::string const& key = options.at("key");
  baseline.description =
      "{\"name\": \"cublaslt\", \"key\": \"" + key + "\", \"operation\": \"gemm\"}";
  kernel.description = baseline.description.c_str();
  kernel.name = "cublaslt";
  kernel.key = key.c_str();
  kernel.operation = "gemm";
  kernel.footprint = {0, sizeof(Params), 0, {1, 1, 1}};
  kernel.load = load_nothing;
  kernel.can_implement = can_implement;
  kernel.workspace_bytes = workspace_bytes;
  kernel.initialize = initialize;
  kernel.run = run;
  kernel.parameters = kParameters;
  kernel.parameter_count = 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  Options const options = take_options(words);
  Baseline& baseline = Baseline::instance();
  std::string message;
  try {
    message = lt::load(options.at("library"), baseline.library);
    if (message.empty() && options.count("library-version") > 0) {
      std::printf("%zu\n", baseline.library.version());
      return 0;
    }
    if (message.empty()) configure(options, baseline);
  } catch (std::out_of_range const&) {
    message = "an option of the baseline's own is missing";
  } catch (std::exception const& error) {
    message = error.what();
  }
  if (!message.empty()) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    return 3;
  }
  return cutlass_ninja_profile_gemm(&baseline.kernel, static_cast<int>(words.size()), words.data());
}
