// {{ name }}
#pragma once
{% set parallel = split_k_mode == "parallel" %}
{% include "epilogue/includes.h" -%}
#include "cutlass/gemm/kernel/default_gemm.h"
{% if has_broadcast -%}
// After default_gemm.h: it does not include all that it names.
#include "cutlass/epilogue/threadblock/default_epilogue_with_broadcast.h"
#include "cutlass/gemm/kernel/gemm_with_fused_epilogue.h"
{% elif stream_k -%}
#include "cutlass/gemm/kernel/gemm_universal_streamk.h"
{% else -%}
#include "cutlass/gemm/kernel/gemm_universal.h"
{% endif -%}
{% if stream_k -%}
#include "cutlass/gemm/threadblock/threadblock_swizzle_streamk.h"
{% else -%}
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"
{% endif -%}
{% if split_k_mode == "parallel" -%}
#include "cutlass/reduction/kernel/reduce_split_k.h"
#include "cutlass/reduction/thread/reduction_operators.h"
{% endif %}
{% include "epilogue/output_op.h" %}
{% if transposed -%}
// D is column-major: the kernel computes its transpose, B^T * A^T.
{% endif -%}
using DefaultGemm = cutlass::gemm::kernel::DefaultGemm<
    {{ operands[0].type }}, {{ operands[0].layout }}, {{ operands[0].alignment }},
    {{ operands[1].type }}, {{ operands[1].layout }}, {{ operands[1].alignment }},
    {{ type_accumulator if parallel else type_c }}, cutlass::layout::RowMajor,
    {{ type_accumulator }},
    cutlass::arch::{{ "OpClassSimt" if opcode_class == "simt" else "OpClassTensorOp" }},
    cutlass::arch::Sm{{ arch_tag }},
    cutlass::gemm::GemmShape<{{ threadblock_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ warp_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ instruction_shape | join(", ") }}>,
    {{ "PartialOp" if parallel else "OutputOp" }},
    {{ swizzle }},
    {{ stages }},
    /*SplitKSerial=*/true,
    {{ math_tag }}>::GemmKernel;
{% if has_broadcast %}
using Epilogue = cutlass::epilogue::threadblock::
{%- if opcode_class == "simt" -%}
DefaultEpilogueWithBroadcastSimt<
    DefaultGemm::Epilogue::Shape, DefaultGemm::Epilogue::WarpMmaOperator,
{%- else -%}
DefaultEpilogueWithBroadcastTensorOp<
    DefaultGemm::Epilogue::Shape, DefaultGemm::Epilogue::WarpMmaOperator, DefaultGemm::Epilogue::kPartitionsK,
{%- endif %}
    {{ type_c }}, OutputOp::ElementT, OutputOp::ElementVector, OutputOp, {{ alignment_c }}>::Epilogue;
{% endif %}
using GemmKernel = cutlass::gemm::kernel::
{%- if has_broadcast -%}
GemmWithFusedEpilogue<
    DefaultGemm::Mma, Epilogue, DefaultGemm::ThreadblockSwizzle>;
{%- else -%}
GemmUniversal{{ "Streamk" if stream_k }}<
    DefaultGemm::Mma, DefaultGemm::Epilogue, DefaultGemm::ThreadblockSwizzle>;
{%- endif %}
