{#- What is done with the sums before they are written: OutputOp; and for sums of parts of K, Reduction. -#}
{% set clamp = epilogue_functor == "linear_combination_clamp" -%}
{% set residual = epilogue_functor == "linear_combination_residual_block" -%}
{% set generic = activation != "identity" and not has_broadcast -%}
{% set threads = "cutlass::epilogue::thread" -%}
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
{% if split_k_mode == "parallel" %}
// Each slice of K writes its sums as they are; the reduction adds them up and applies OutputOp.
using PartialOp = {{ threads }}::LinearCombination<
    {{ type_accumulator }}, {{ alignment_partial }}, {{ type_accumulator }}, {{ type_accumulator }},
    {{ threads }}::ScaleType::Nothing>;

using Reduction = cutlass::reduction::kernel::ReduceSplitK<
    cutlass::MatrixShape<4, 32 * OutputOp::kCount>, OutputOp,
    cutlass::reduction::thread::ReduceAdd<{{ type_accumulator }}, {{ type_accumulator }}, OutputOp::kCount>>;
{% endif %}