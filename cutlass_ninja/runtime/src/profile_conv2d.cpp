/// The operation kind conv2d: D = epilogue(alpha * conv(A, B), beta * C), forward or one of its
/// gradients.
#include <algorithm>
#include <climits>

#include "cutlass_ninja/conv2d.h"
#include "error.h"
#include "profiler.h"
#include "reference.h"
#include "reference_conv2d.h"

namespace cutlass_ninja {
namespace {

/// Where counting in 64 bits is certainly safe: elements in bits, operations in flop.
constexpr double kMaxCount = 0x1p58;

/// The extent of the output along one axis; 0 where the filter does not fit into the input.
int output_extent(int input, int filter, int pad, int stride, int dilation) {
  int64_t const span = static_cast<int64_t>(filter - 1) * dilation + 1;
  int64_t const room = input + 2 * static_cast<int64_t>(pad) - span;
  return room < 0 ? 0 : static_cast<int>(std::min<int64_t>(room / stride + 1, INT_MAX));
}

cutlass_ninja_conv2d_problem conv2d_problem(Problem const& problem) {
  cutlass_ninja_conv2d_problem x;
  x.n = problem.size("n");
  x.h = problem.size("h");
  x.w = problem.size("w");
  x.c = problem.size("c");
  x.k = problem.size("k");
  x.r = problem.size("r");
  x.s = problem.size("s");
  x.pad_h = problem.size("pad_h");
  x.pad_w = problem.size("pad_w");
  x.stride_h = problem.size("stride_h");
  x.stride_w = problem.size("stride_w");
  x.dilation_h = problem.size("dilation_h");
  x.dilation_w = problem.size("dilation_w");
  x.groups = problem.size("groups");
  x.split_k_slices = problem.size("split_k_slices");
  x.mode = static_cast<cutlass_ninja_conv_mode>(problem.size("conv_mode"));
  x.p = output_extent(x.h, x.r, x.pad_h, x.stride_h, x.dilation_h);
  x.q = output_extent(x.w, x.s, x.pad_w, x.stride_w, x.dilation_w);
  if (x.p == 0 || x.q == 0)
    throw UnsupportedProblem("the dilated filter is larger than the padded activations");
  if (x.c % x.groups != 0 || x.k % x.groups != 0)
    throw UnsupportedProblem("c and k must be multiples of groups");
  return x;
}

/// The product of matrices to which a convolution amounts, as cutlass_profiler counts it.
struct ImplicitGemm {
  int64_t m, n, k;
};

/// Throws UnsupportedProblem if it cannot be counted.
ImplicitGemm implicit_gemm(cutlass_ninja_conv_kind kind, cutlass_ninja_conv2d_problem const& x) {
  double const activations = static_cast<double>(x.n) * x.h * x.w * x.c;
  double const outputs = static_cast<double>(x.n) * x.p * x.q * x.k;
  double const filters = static_cast<double>(x.r) * x.s * x.c * x.k;
  if (std::max(activations, outputs) * filters > kMaxCount)
    throw UnsupportedProblem("the problem has more operations than can be counted in 64 bits");
  int64_t const filter = static_cast<int64_t>(x.r) * x.s;
  int64_t const c = x.c / x.groups;
  int64_t const k = x.k / x.groups;
  int64_t const inputs = static_cast<int64_t>(x.n) * x.h * x.w;
  int64_t const results = static_cast<int64_t>(x.n) * x.p * x.q;
  switch (kind) {
    case CUTLASS_NINJA_FPROP:
      return {results, x.k, filter * c};
    case CUTLASS_NINJA_DGRAD:
      return {inputs, x.c, filter * k};
    default:
      return {x.k, filter * c, results};
  }
}

/// Counts are as cutlass_profiler's: of the implicit GEMM, flop = 2 (m n k + m n), of which a
/// strided dgrad skips the products that meet no output; bytes = A's, B's and D's matrices, C's
/// where it is read, and the bias.
WorkloadShape conv2d_shape(cutlass_ninja_conv2d_kernel const& kernel, Problem const& problem,
                           cutlass_ninja_conv2d_problem const& x) {
  cutlass_ninja_conv2d_traits const& traits = kernel.traits;
  ImplicitGemm const gemm = implicit_gemm(traits.conv_kind, x);
  int64_t const channels = x.c / x.groups;
  int64_t const activations = static_cast<int64_t>(x.n) * x.h * x.w * x.c;
  int64_t const filters = static_cast<int64_t>(x.k) * x.r * x.s * channels;
  int64_t const outputs = static_cast<int64_t>(x.n) * x.p * x.q * x.k;

  WorkloadShape shape;
  bool const fprop = traits.conv_kind == CUTLASS_NINJA_FPROP;
  bool const wgrad = traits.conv_kind == CUTLASS_NINJA_WGRAD;
  shape.a = {traits.a.element, fprop ? activations : outputs};
  shape.b = {traits.b.element, wgrad ? activations : filters};
  shape.c = {traits.c.element, gemm.m * gemm.n};
  shape.d = {traits.d.element, gemm.m * gemm.n};
  shape.output = {gemm.m, gemm.n, 1};
  shape.c_strides = packed(CUTLASS_NINJA_ROW_MAJOR, gemm.m, gemm.n);
  shape.d_strides = shape.c_strides;
  shape.depth = gemm.k;
  if (traits.split_k_rounds) shape.partial_roundings = x.split_k_slices - 1;
  shape.fusion = traits.epilogue;
  if (traits.epilogue.bias != CUTLASS_NINJA_BIAS_NONE)
    shape.bias = {traits.epilogue.element_bias, gemm.n};
  shape.alpha = problem.scalar("alpha");
  shape.beta = problem.scalar("beta");
  shape.accumulator = kernel.accumulator;
  shape.epilogue = traits.element_epilogue;
  shape.math = kernel.element_math;

  int64_t const met =
      traits.conv_kind == CUTLASS_NINJA_DGRAD ? static_cast<int64_t>(x.stride_h) * x.stride_w : 1;
  shape.flop = 2 * gemm.m * gemm.n * gemm.k / met + 2 * gemm.m * gemm.n;
  auto bytes = [](cutlass_ninja_tensor const& tensor, int64_t count) {
    return static_cast<int64_t>(Tensor{tensor.element, count}.bytes());
  };
  shape.bytes = bytes(traits.a, gemm.m * gemm.k) + bytes(traits.b, gemm.n * gemm.k) +
                bytes(traits.d, gemm.m * gemm.n) +
                (shape.reads_c() ? bytes(traits.c, gemm.m * gemm.n) : 0) +
                static_cast<int64_t>(shape.bias.bytes());
  return shape;
}

class Conv2dWorkload : public Workload {
 public:
  Conv2dWorkload(cutlass_ninja_conv2d_kernel const& kernel, Problem const& problem)
      : kernel_(kernel),
        problem_(conv2d_problem(problem)),
        shape_(conv2d_shape(kernel, problem, problem_)) {}

  WorkloadShape const& shape() const override { return shape_; }

  cutlass_ninja_status can_implement(char const** reason) const override {
    cutlass_ninja_conv2d_arguments const arguments = bind(Operands{});
    return kernel_.can_implement(&arguments, reason);
  }

  size_t workspace_bytes() const override {
    cutlass_ninja_conv2d_arguments const arguments = bind(Operands{});
    return kernel_.workspace_bytes(&arguments);
  }

  cutlass_ninja_status initialize(Operands const& operands, void* workspace, void* params,
                                  cudaStream_t stream) const override {
    cutlass_ninja_conv2d_arguments const arguments = bind(operands);
    return kernel_.initialize(&arguments, workspace, params, stream);
  }

  cudaError_t run(void* params, cudaStream_t stream) const override {
    return kernel_.run(params, stream);
  }

  std::string position(int64_t index) const override {
    struct Axis {
      char const* name;
      int64_t extent;
    };
    cutlass_ninja_conv2d_problem const& x = problem_;
    Axis const axes[][4] = {
        {{"n", x.n}, {"p", x.p}, {"q", x.q}, {"k", x.k}},
        {{"n", x.n}, {"h", x.h}, {"w", x.w}, {"c", x.c}},
        {{"k", x.k}, {"r", x.r}, {"s", x.s}, {"c", x.c / x.groups}},
    };
    std::string text;
    for (int axis = 3; axis >= 0; --axis) {
      auto const& [name, extent] = axes[kernel_.traits.conv_kind][axis];
      text = std::string(name) + " " + std::to_string(index % extent) + (text.empty() ? "" : ", ") +
             text;
      index /= extent;
    }
    return text;
  }

  cutlass_ninja_element reference_accumulator() const override {
    return cutlass_ninja::reference_accumulator(kernel_.traits.a.element, kernel_.traits.b.element);
  }

  void reference(Operands const& operands, void* result, cudaStream_t stream) const override {
    reference_conv2d(kernel_.traits.conv_kind, problem_, {operands.a, kernel_.traits.a.element},
                     {operands.b, kernel_.traits.b.element}, result, shape_.d.count, stream);
  }

 private:
  /// The kernel's arguments with these operands.
  cutlass_ninja_conv2d_arguments bind(Operands const& operands) const {
    return {problem_,   operands.a,   operands.b,  operands.c,
            operands.d, shape_.alpha, shape_.beta, {operands.bias, 0, kLeakyReluSlope}};
  }

  cutlass_ninja_conv2d_kernel const& kernel_;
  cutlass_ninja_conv2d_problem problem_;
  WorkloadShape shape_;
};

class Conv2dOperation : public Operation {
 public:
  /// The fields' names and defaults are cutlass_profiler's.
  explicit Conv2dOperation(cutlass_ninja_conv2d_kernel const& kernel)
      : kernel_(kernel),
        fields_{
            {"n", FieldType::kSize, 1, "images"},
            {"h", FieldType::kSize, 16, "height of an image"},
            {"w", FieldType::kSize, 16, "width of an image"},
            {"c", FieldType::kSize, 64, "channels of an image"},
            {"k", FieldType::kSize, 64, "filters, channels of an output"},
            {"r", FieldType::kSize, 3, "height of a filter"},
            {"s", FieldType::kSize, 3, "width of a filter"},
            {"pad_h", FieldType::kCount, 1, "zeros above and below an image"},
            {"pad_w", FieldType::kCount, 1, "zeros left and right of an image"},
            {"stride_h", FieldType::kSize, 1, "vertical step of the filter"},
            {"stride_w", FieldType::kSize, 1, "horizontal step of the filter"},
            {"dilation_h", FieldType::kSize, 1, "vertical distance within a filter"},
            {"dilation_w", FieldType::kSize, 1, "horizontal distance within a filter"},
            {"groups", FieldType::kSize, 1, "parts of the channels that are convolved apart"},
            {"conv_mode",
             FieldType::kChoice,
             CUTLASS_NINJA_CROSS_CORRELATION,
             "conv turns the filter by 180 degrees",
             {"cross", "conv"}},
            {"split_k_slices",
             FieldType::kSize,
             1,
             "parts in which each sum is computed",
             {},
             {1, 2, 4, 8, 16}},
            {"alpha", FieldType::kScalar, 1, "factor of the convolution"},
            beta_field(kernel.traits.epilogue),
        } {
    abi_version = kernel.abi_version;
    description = kernel.description;
    name = kernel.name;
    key = kernel.key;
    kind = kernel.operation;
    footprint = kernel.footprint;
    load = kernel.load;
  }

  std::vector<Field> const& fields() const override { return fields_; }

  std::unique_ptr<Workload> workload(Problem const& problem) const override {
    return std::make_unique<Conv2dWorkload>(kernel_, problem);
  }

 private:
  cutlass_ninja_conv2d_kernel const& kernel_;
  std::vector<Field> fields_;
};

}  // namespace
}  // namespace cutlass_ninja

int cutlass_ninja_profile_conv2d(cutlass_ninja_conv2d_kernel const* kernel, int argc, char** argv) {
  return cutlass_ninja::profile(cutlass_ninja::Conv2dOperation(*kernel), argc, argv);
}
