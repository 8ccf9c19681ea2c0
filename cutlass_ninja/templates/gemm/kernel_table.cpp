static_assert(alignof({{ block }}) <= CUTLASS_NINJA_PARAMS_ALIGNMENT,
              "a parameter block is aligned to CUTLASS_NINJA_PARAMS_ALIGNMENT bytes only");

{% macro tensor(operand, alignment) -%}
{CUTLASS_NINJA_{{ operand[0] | upper }}, {{ "CUTLASS_NINJA_COLUMN_MAJOR" if operand[1] == "n" else "CUTLASS_NINJA_ROW_MAJOR" }}, {{ alignment }}}
{%- endmacro -%}
extern "C" cutlass_ninja_gemm_kernel const CUTLASS_NINJA_KERNEL = {
    CUTLASS_NINJA_ABI_VERSION,
    CUTLASS_NINJA_DESCRIPTION,
    CUTLASS_NINJA_NAME,
    CUTLASS_NINJA_KEY,
    "gemm",
    {{ tensor((element_a, layout_a), alignment_a) }},
    {{ tensor((element_b, layout_b), alignment_b) }},
    {{ tensor((element_c, layout_c), alignment_c) }},
    {{ tensor((element_d, layout_c), alignment_d | default(alignment_c)) }},
    CUTLASS_NINJA_{{ element_accumulator | upper }},
    CUTLASS_NINJA_{{ element_epilogue | upper }},
    {
        {{ shared_storage }},
        sizeof({{ block }}),
        {{ threads }},
        { {{ (cluster_shape | default([1, 1, 1])) | join(", ") }} },
    },
    load,
    can_implement,
    workspace_bytes,
    initialize,
    run,
    /*element_math=*/CUTLASS_NINJA_{{ math_element | upper }},
{% include "epilogue/traits.cpp" %}    /*split_k_rounds=*/{{ 1 if split_k_mode | default("parallel") == "serial" and not stream_k else 0 }},
    {{ parameters | default("nullptr") }},
    {{ parameter_count | default(0) }},
};
