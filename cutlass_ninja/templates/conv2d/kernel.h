// {{ name }}
#pragma once
{% set parallel = split_k_mode == "parallel" %}
{% include "epilogue/includes.h" -%}
#include "cutlass/conv/kernel/{{ default_header }}"
{% if parallel -%}
#include "cutlass/reduction/kernel/reduce_split_k.h"
#include "cutlass/reduction/thread/reduction_operators.h"
{% endif %}
{% include "epilogue/output_op.h" %}
using ConvKernel = cutlass::conv::kernel::{{ default_kernel }}<
    {{ type_a }}, cutlass::layout::TensorNHWC,
    {{ type_b }}, cutlass::layout::TensorNHWC,
    {{ type_accumulator if parallel else type_c }}, cutlass::layout::TensorNHWC,
    {{ type_accumulator }},
    cutlass::arch::{{ "OpClassSimt" if opcode_class == "simt" else "OpClassTensorOp" }},
    cutlass::arch::Sm{{ arch_tag }},
    cutlass::gemm::GemmShape<{{ threadblock_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ warp_shape | join(", ") }}>,
    cutlass::gemm::GemmShape<{{ instruction_shape | join(", ") }}>,
    {{ "PartialOp" if parallel else "OutputOp" }},
    {{ swizzle }},
    {{ stages }},
    {{ math_tag }},
{%- if group_mode != "none" %}
    cutlass::conv::GroupMode::{{ group_mode_tag }},
{%- endif %}
    cutlass::conv::IteratorAlgorithm::{{ iterator_algorithm_tag }},
    cutlass::conv::StrideSupport::{{ stride_support_tag }},
    {{ alignment_a }},
    {{ alignment_b }}>::Kernel;
