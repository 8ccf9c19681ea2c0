/// The operands of a problem: what they hold, and where each element lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cutlass_ninja/abi.h"
#include "element.h"

namespace cutlass_ninja {

/// An operand as an array: its element type and how many elements it has.
struct Tensor {
  cutlass_ninja_element element;
  int64_t count;

  size_t bytes() const { return static_cast<size_t>(count) * element_bytes(element); }
};

/// A batch of matrices: how many, and of what size.
struct MatrixShape {
  int64_t rows, columns, batches;

  int64_t count() const { return rows * columns * batches; }
};

/// Where the element of a batch, row and column lies, in elements.
struct MatrixStrides {
  int64_t row, column, batch;
};

/// The strides of packed matrices.
inline MatrixStrides packed(cutlass_ninja_layout layout, int64_t rows, int64_t columns) {
  return layout == CUTLASS_NINJA_ROW_MAJOR ? MatrixStrides{columns, 1, rows * columns}
                                           : MatrixStrides{1, rows, rows * columns};
}

/// The batch, row and column of element `index` of packed matrices, in words.
inline std::string position_text(int64_t index, MatrixShape const& shape,
                                 MatrixStrides const& strides) {
  int64_t const within = index % strides.batch;
  bool const row_major = strides.column == 1;
  int64_t const row = row_major ? within / shape.columns : within % shape.rows;
  int64_t const column = row_major ? within % shape.columns : within / shape.rows;
  return "batch " + std::to_string(index / strides.batch) + ", row " + std::to_string(row) +
         ", column " + std::to_string(column);
}

/// A batch of matrices in device memory, to be read.
struct MatrixView {
  void const* data;
  cutlass_ninja_element element;
  MatrixStrides strides;
};

/// The operands of one problem in device memory. `c` holds poison where it is not read, and is null
/// where the kernel has no C; `bias` is null where it has no bias.
struct Operands {
  void const *a, *b, *c;
  void* d;
  void const* bias;
};

}  // namespace cutlass_ninja
