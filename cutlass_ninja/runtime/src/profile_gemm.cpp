/// The operation kind gemm: D = epilogue(alpha * A * B, beta * C) for each batch.
#include "cutlass_ninja/gemm.h"
#include "error.h"
#include "profiler.h"
#include "reference.h"
#include "reference_gemm.h"

namespace cutlass_ninja {
namespace {

/// Where counting in 64 bits is certainly safe: elements in bits, operations in flop.
constexpr double kMaxCount = 0x1p58;

/// Counts are as cutlass_profiler's: flop = 2 (m n k + m n) for each batch, whatever beta is; bytes
/// = A + B + D, C where it is read, and the bias. Operands are packed.
WorkloadShape gemm_shape(cutlass_ninja_gemm_kernel const& kernel, Problem const& problem) {
  int64_t const m = problem.size("m");
  int64_t const n = problem.size("n");
  int64_t const k = problem.size("k");
  int64_t const batches = problem.size("batch_count");
  if (static_cast<double>(m) * static_cast<double>(n) * (static_cast<double>(k) + 1) *
          static_cast<double>(batches) >
      kMaxCount) {
    throw UnsupportedProblem("the problem has more operations than can be counted in 64 bits");
  }

  WorkloadShape shape;
  bool const has_c = kernel.c.element != CUTLASS_NINJA_VOID;
  shape.a = {kernel.a.element, m * k * batches};
  shape.b = {kernel.b.element, k * n * batches};
  shape.c = {kernel.c.element, has_c ? m * n * batches : 0};
  shape.d = {kernel.d.element, m * n * batches};
  shape.output = {m, n, batches};
  shape.c_strides = packed(kernel.c.layout, m, n);
  shape.d_strides = packed(kernel.d.layout, m, n);
  shape.depth = k;
  shape.alpha = problem.scalar("alpha");
  shape.beta = problem.scalar("beta");
  shape.accumulator = kernel.accumulator;
  shape.epilogue = kernel.element_epilogue;
  shape.math = kernel.element_math;
  shape.fusion = kernel.epilogue;
  if (kernel.epilogue.bias != CUTLASS_NINJA_BIAS_NONE) {
    bool const per_row = kernel.epilogue.bias == CUTLASS_NINJA_BIAS_PER_ROW;
    shape.bias = {kernel.epilogue.element_bias, per_row ? m : n};
  }
  if (kernel.split_k_rounds) shape.partial_roundings = problem.size("split_k_slices") - 1;
  shape.flop = 2 * m * n * (k + 1) * batches;
  shape.bytes = static_cast<int64_t>(shape.a.bytes() + shape.b.bytes() + shape.d.bytes() +
                                     (shape.reads_c() ? shape.c.bytes() : 0) + shape.bias.bytes());
  return shape;
}

/// The distance, in elements, between neighbouring columns (column-major) or rows (row-major).
int64_t leading_dimension(cutlass_ninja_tensor const& tensor, int64_t rows, int64_t columns) {
  return tensor.layout == CUTLASS_NINJA_ROW_MAJOR ? columns : rows;
}

class GemmWorkload : public Workload {
 public:
  GemmWorkload(cutlass_ninja_gemm_kernel const& kernel, Problem const& problem)
      : kernel_(kernel),
        shape_(gemm_shape(kernel, problem)),
        split_k_slices_(problem.size("split_k_slices")) {
    for (int i = 0; i < kernel.parameter_count; ++i) {
      parameters_.push_back(problem.size(kernel.parameters[i].name));
    }
  }

  WorkloadShape const& shape() const override { return shape_; }

  cutlass_ninja_status can_implement(char const** reason) const override {
    if (shape_.beta != 0 && kernel_.c.element == CUTLASS_NINJA_VOID) {
      *reason = "the kernel has no C, so beta must be 0";
      return CUTLASS_NINJA_NOT_SUPPORTED;
    }
    cutlass_ninja_gemm_arguments const arguments = bind(Operands{});
    return kernel_.can_implement(&arguments, reason);
  }

  size_t workspace_bytes() const override {
    cutlass_ninja_gemm_arguments const arguments = bind(Operands{});
    return kernel_.workspace_bytes(&arguments);
  }

  cutlass_ninja_status initialize(Operands const& operands, void* workspace, void* params,
                                  cudaStream_t stream) const override {
    cutlass_ninja_gemm_arguments const arguments = bind(operands);
    return kernel_.initialize(&arguments, workspace, params, stream);
  }

  cudaError_t run(void* params, cudaStream_t stream) const override {
    return kernel_.run(params, stream);
  }

  cutlass_ninja_element reference_accumulator() const override {
    return cutlass_ninja::reference_accumulator(kernel_.a.element, kernel_.b.element);
  }

  std::string position(int64_t index) const override {
    return position_text(index, shape_.output, shape_.d_strides);
  }

  void reference(Operands const& operands, void* result, cudaStream_t stream) const override {
    MatrixView const a{operands.a, kernel_.a.element,
                       packed(kernel_.a.layout, shape_.output.rows, shape_.depth)};
    MatrixView const b{operands.b, kernel_.b.element,
                       packed(kernel_.b.layout, shape_.depth, shape_.output.columns)};
    reference_gemm(a, b, result, shape_.d_strides, shape_.output, shape_.depth, stream);
  }

 private:
  /// The kernel's arguments with these operands.
  cutlass_ninja_gemm_arguments bind(Operands const& operands) const {
    int64_t const m = shape_.output.rows;
    int64_t const n = shape_.output.columns;
    int64_t const k = shape_.depth;
    cutlass_ninja_gemm_arguments arguments;
    arguments.m = static_cast<int>(m);
    arguments.n = static_cast<int>(n);
    arguments.k = static_cast<int>(k);
    arguments.batch_count = static_cast<int>(shape_.output.batches);
    arguments.a = operands.a;
    arguments.b = operands.b;
    arguments.c = operands.c;
    arguments.d = operands.d;
    arguments.lda = leading_dimension(kernel_.a, m, k);
    arguments.ldb = leading_dimension(kernel_.b, k, n);
    arguments.ldc = leading_dimension(kernel_.c, m, n);
    arguments.ldd = leading_dimension(kernel_.d, m, n);
    arguments.batch_stride_a = m * k;
    arguments.batch_stride_b = k * n;
    arguments.batch_stride_c = m * n;
    arguments.batch_stride_d = m * n;
    arguments.alpha = shape_.alpha;
    arguments.beta = shape_.beta;
    arguments.split_k_slices = split_k_slices_;
    arguments.epilogue = {operands.bias, 0, kLeakyReluSlope};
    arguments.parameters = parameters_.empty() ? nullptr : parameters_.data();
    return arguments;
  }

  cutlass_ninja_gemm_kernel const& kernel_;
  WorkloadShape shape_;
  int split_k_slices_;
  std::vector<int> parameters_;
};

class GemmOperation : public Operation {
 public:
  explicit GemmOperation(cutlass_ninja_gemm_kernel const& kernel)
      : kernel_(kernel),
        fields_{
            {"m", FieldType::kSize, 1024, "rows of A, C and D"},
            {"n", FieldType::kSize, 1024, "columns of B, C and D"},
            {"k", FieldType::kSize, 1024, "columns of A, rows of B"},
            {"batch_count", FieldType::kSize, 1, "independent matrices of each operand"},
            {"alpha", FieldType::kScalar, 1, "factor of A * B"},
            beta_field(kernel.epilogue),
            {"split_k_slices", FieldType::kSize, 1, "slices of K that are summed on their own"},
        } {
    abi_version = kernel.abi_version;
    description = kernel.description;
    name = kernel.name;
    key = kernel.key;
    kind = kernel.operation;
    footprint = kernel.footprint;
    load = kernel.load;
    for (int i = 0; i < kernel.parameter_count; ++i) add_parameter(kernel.parameters[i]);
  }

  std::vector<Field> const& fields() const override { return fields_; }

  std::unique_ptr<Workload> workload(Problem const& problem) const override {
    return std::make_unique<GemmWorkload>(kernel_, problem);
  }

 private:
  /// A field of its own, or what is worth a try of one that there is.
  void add_parameter(cutlass_ninja_parameter const& parameter) {
    std::vector<int> const choices(parameter.choices, parameter.choices + parameter.choice_count);
    for (Field& field : fields_) {
      if (std::string(field.name) != parameter.name) continue;
      field.searched = choices;
      return;
    }
    double const first = choices.front();
    fields_.push_back({parameter.name, FieldType::kSize, first, parameter.help, {}, choices, true});
  }

  cutlass_ninja_gemm_kernel const& kernel_;
  std::vector<Field> fields_;
};

}  // namespace
}  // namespace cutlass_ninja

int cutlass_ninja_profile_gemm(cutlass_ninja_gemm_kernel const* kernel, int argc, char** argv) {
  return cutlass_ninja::profile(cutlass_ninja::GemmOperation(*kernel), argc, argv);
}
