// {{ name }}
#pragma once

#include "{{ default_header }}"
#include "cutlass/epilogue/thread/{{ functor_header }}"

using ConvKernel = cutlass::conv::kernel::{{ default_kernel }}<
    {{ type_a }}, cutlass::layout::TensorNHWC,
    {{ type_b }}, cutlass::layout::TensorNHWC,
    {{ type_c }}, cutlass::layout::TensorNHWC,
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
    cutlass::arch::{{ math_tag }},
{%- if group_mode != "none" %}
    cutlass::conv::GroupMode::{{ group_mode_tag }},
{%- endif %}
    cutlass::conv::IteratorAlgorithm::{{ iterator_algorithm_tag }},
    cutlass::conv::StrideSupport::{{ stride_support_tag }},
    {{ alignment_a }},
    {{ alignment_b }}>::Kernel;
