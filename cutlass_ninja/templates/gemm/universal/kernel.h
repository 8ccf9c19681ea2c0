// {{ name }}
#pragma once

#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/gemm/kernel/gemm_universal.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"

{% if transposed -%}
// D is column-major: the kernel computes its transpose, B^T * A^T.
{% endif -%}
using DefaultGemm = cutlass::gemm::kernel::DefaultGemm<
    {{ operands[0].type }}, {{ operands[0].layout }}, {{ operands[0].alignment }},
    {{ operands[1].type }}, {{ operands[1].layout }}, {{ operands[1].alignment }},
    {{ type_c }}, cutlass::layout::RowMajor,
    {{ type_accumulator }},
    cutlass::arch::{{ "OpClassSimt" if opcode_class == "simt" else "OpClassTensorOp" }},
    cutlass::arch::Sm{{ arch_tag }},
    cutlass::gemm::GemmShape<{{ threadblock_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ warp_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ instruction_shape | join(", ") }}>,
    cutlass::epilogue::thread::{{ functor }}<
        {{ type_c }}, {{ alignment_c }}, {{ type_accumulator }}, {{ type_epilogue }}>,
    {{ swizzle }},
    {{ stages }},
    /*SplitKSerial=*/true,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

using GemmKernel = cutlass::gemm::kernel::GemmUniversal<
    DefaultGemm::Mma, DefaultGemm::Epilogue, DefaultGemm::ThreadblockSwizzle>;
