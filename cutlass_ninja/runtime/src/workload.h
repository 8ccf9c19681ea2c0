/// What an operation kind (gemm, conv2d) tells the profiler about itself, and how it is run. A new
/// kind implements these two classes and changes nothing else.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "epilogue.h"
#include "problem_space.h"
#include "tensor.h"

namespace cutlass_ninja {

/// One problem, D = epilogue(alpha * (sums of products of A and B), beta * C), as numbers. D is
/// seen as a batch of matrices, whatever it is to the operation kind.
struct WorkloadShape {
  Tensor a, b, c, d;  ///< c: VOID if the kernel has none
  MatrixShape output;
  MatrixStrides c_strides, d_strides;  ///< d's are packed
  int64_t depth;                       ///< products summed for one element of D
  double alpha, beta;
  cutlass_ninja_element accumulator, epilogue;
  cutlass_ninja_element
      math;  ///< to which operands are rounded before products; VOID: they are not
  int64_t flop, bytes;
  cutlass_ninja_epilogue fusion{};  ///< what is done beside alpha, beta and C
  Tensor bias{};                    ///< VOID if the kernel has none; the same for all batches
  /// How often partial sums are rounded to D's type before the last rounding.
  int64_t partial_roundings = 0;

  /// Whether C is read.
  bool reads_c() const { return beta != 0 || fusion.binary_op != CUTLASS_NINJA_BINARY_OP_NONE; }
};

/// One problem of one kernel.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual WorkloadShape const& shape() const = 0;

  /// The four entries of a kernel's interface, see for example cutlass_ninja/gemm.h.
  virtual cutlass_ninja_status can_implement(char const** reason) const = 0;
  virtual size_t workspace_bytes() const = 0;
  virtual cutlass_ninja_status initialize(Operands const& operands, void* workspace, void* params,
                                          cudaStream_t stream) const = 0;
  virtual cudaError_t run(void* params, cudaStream_t stream) const = 0;

  /// Where the element `index` of D lies, in the words of the operation kind.
  virtual std::string position(int64_t index) const = 0;

  /// The element type of `reference`'s result.
  virtual cutlass_ninja_element reference_accumulator() const = 0;
  /// Writes the sums of products, laid out as D, without alpha, beta and C. Asynchronous.
  virtual void reference(Operands const& operands, void* result, cudaStream_t stream) const = 0;
};

/// One kernel of one operation kind.
class Operation {
 public:
  virtual ~Operation() = default;

  int abi_version;          ///< of the header that the kernel was compiled with
  char const* description;  ///< a JSON object
  char const *name, *key, *kind;
  cutlass_ninja_footprint footprint;
  /// Loads the kernel's device half; see cutlass_ninja/gemm.h.
  cutlass_ninja_status (*load)(char const** reason);

  /// The fields of the kind's problems.
  virtual std::vector<Field> const& fields() const = 0;
  /// A problem made ready. Throws UnsupportedProblem.
  virtual std::unique_ptr<Workload> workload(Problem const& problem) const = 0;
};

}  // namespace cutlass_ninja
