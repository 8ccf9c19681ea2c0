// {{ name }}
#pragma once
{% set parallel = split_k_mode == "parallel" -%}
{% set clamp = epilogue_functor == "linear_combination_clamp" -%}
{% set residual = epilogue_functor == "linear_combination_residual_block" -%}
{% set generic = activation != "identity" and not has_broadcast -%}
{% set threads = "cutlass::epilogue::thread" %}
#include "cutlass/epilogue/thread/linear_combination.h"
{% if clamp -%}
#include "cutlass/epilogue/thread/linear_combination_clamp.h"
{% elif residual -%}
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/epilogue/thread/linear_combination_residual_block.h"
{% elif has_broadcast -%}
#include "cutlass/epilogue/thread/linear_combination_bias_elementwise.h"
{% elif generic -%}
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/epilogue/thread/linear_combination_generic.h"
{% endif -%}
#include "cutlass/gemm/kernel/default_gemm.h"
{% if has_broadcast -%}
// After default_gemm.h: it does not include all that it names.
#include "cutlass/epilogue/threadblock/default_epilogue_with_broadcast.h"
#include "cutlass/gemm/kernel/{{ "gemm_streamk_with_fused_epilogue.h" if stream_k else "gemm_with_fused_epilogue.h" }}"
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
{% if parallel -%}
#include "cutlass/reduction/kernel/reduce_split_k.h"
#include "cutlass/reduction/thread/reduction_operators.h"
{% endif %}
using OutputOp =
{%- if clamp %} {{ threads }}::LinearCombinationClamp<
    {{ type_c }}, {{ alignment_c }}, {{ type_accumulator }}, {{ type_epilogue }}>;
{%- elif residual %} {{ threads }}::LinearCombinationResidualBlock<
    {{ type_c }}, {{ type_accumulator }}, {{ type_epilogue }}, {{ type_c }}, {{ alignment_c }},
    {{ activation_cpp }}, cutlass::{{ binary_op }}, {{ unary_op_cpp }}>;
{%- elif has_broadcast %} {{ threads }}::LinearCombinationBiasElementwise<
    {{ type_c }}, {{ type_accumulator }}, {{ type_epilogue }}, {{ type_c }}, {{ type_c }}, {{ alignment_c }},
    {{ activation_cpp }}<{{ type_epilogue }}>, cutlass::plus<{{ type_epilogue }}>,
    /*StoreT=*/false>;
{%- elif generic %} {{ threads }}::LinearCombinationGeneric<
    {{ activation_cpp }},
    {{ type_c }}, {{ alignment_c }}, {{ type_accumulator }}, {{ type_epilogue }},
    {{ threads }}::ScaleType::Default, cutlass::FloatRoundStyle::round_to_nearest,
    /*IsHeavy=*/{{ activation_heavy | lower }}>;
{%- else %} {{ threads }}::LinearCombination<
    {{ type_c }}, {{ alignment_c }}, {{ type_accumulator }}, {{ type_epilogue }}>;
{%- endif %}
{% if parallel %}
// Each slice of K writes its sums as they are; the reduction adds them up and applies OutputOp.
using PartialOp = {{ threads }}::LinearCombination<
    {{ type_accumulator }}, {{ alignment_partial }}, {{ type_accumulator }}, {{ type_accumulator }},
    {{ threads }}::ScaleType::Nothing>;

using Reduction = cutlass::reduction::kernel::ReduceSplitK<
    cutlass::MatrixShape<4, 32 * OutputOp::kCount>, OutputOp,
    cutlass::reduction::thread::ReduceAdd<{{ type_accumulator }}, {{ type_accumulator }}, OutputOp::kCount>>;
{% endif %}
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
Default{{ "Streamk" if stream_k }}EpilogueWithBroadcastTensorOp<
    DefaultGemm::Epilogue::Shape, DefaultGemm::Epilogue::WarpMmaOperator, DefaultGemm::Epilogue::kPartitionsK,
{%- endif %}
    {{ type_c }}, OutputOp::ElementT, OutputOp::ElementVector, OutputOp, {{ alignment_c }}>::Epilogue;
{% endif %}
using GemmKernel = cutlass::gemm::kernel::
{%- if has_broadcast -%}
Gemm{{ "Streamk" if stream_k }}WithFusedEpilogue<
    DefaultGemm::Mma, Epilogue, DefaultGemm::ThreadblockSwizzle>;
{%- else -%}
GemmUniversal{{ "Streamk" if stream_k }}<
    DefaultGemm::Mma, DefaultGemm::Epilogue, DefaultGemm::ThreadblockSwizzle>;
{%- endif %}
