// {{ name }}
#pragma once

{% if extended_mma -%}
// For one wgmma of N = {{ threadblock_shape[1] }}, where CUTLASS would take several of a usual N.
#ifndef CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
#endif

{% endif -%}
// In this order: CUTLASS 3.5's epilogues compile only after its kernels.
#include "cutlass/gemm/kernel/gemm_universal.hpp"

#include "cutlass/gemm/collective/collective_builder.hpp"

#include "cutlass/epilogue/collective/collective_builder.hpp"

using TileShape = cute::Shape<{% for extent in threadblock_shape %}cute::_{{ extent }}{{ ", " if not loop.last }}{% endfor %}>;
using ClusterShape = cute::Shape<{% for extent in cluster_shape %}cute::_{{ extent }}{{ ", " if not loop.last }}{% endfor %}>;

{% set fusion = "cutlass::epilogue::fusion" -%}
{% set round = "cutlass::FloatRoundStyle::round_to_nearest" -%}
{% set vector = {"per_row": "PerRow", "per_column": "PerCol"} -%}
{% if epilogue_functor == "linear_combination_residual_block" -%}
// alpha * sum, with the bias, through the activation.
using Scale = {{ fusion }}::Sm90ScalarBroadcast<{{ type_epilogue }}, cute::Stride<cute::_0, cute::_0, int64_t>>;
{% if bias == "none" -%}
using Linear = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<cutlass::multiplies, {{ type_epilogue }}, {{ type_epilogue }}, {{ round }}>,
    Scale, {{ fusion }}::Sm90AccFetch>;
{% else -%}
using Bias = {{ fusion }}::{{ "Sm90ColBroadcast" if bias == "per_row" else "Sm90RowBroadcast" }}<
    0, TileShape, {{ type_d }}, {{ type_epilogue }},
    cute::Stride<{{ "cute::_1, cute::_0" if bias == "per_row" else "cute::_0, cute::_1" }}, int64_t>>;
using Linear = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<cutlass::homogeneous_multiply_add, {{ type_epilogue }}, {{ type_epilogue }}, {{ round }}>,
    Scale, {{ fusion }}::Sm90AccFetch, Bias>;
{% endif -%}
{% if activation == "identity" -%}
using Activated = Linear;
{% else -%}
using Activated = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<{{ activation_cpp }}, {{ type_epilogue }}, {{ type_epilogue }}, {{ round }}>, Linear>;
{% endif %}
// Joined with beta * C.
using Source = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<cutlass::multiplies, {{ type_epilogue }}, {{ type_epilogue }}, {{ round }}>,
    Scale, {{ fusion }}::Sm90SrcFetch<{{ type_c }}>>;
{% if unary_op == "identity" -%}
using Fusion = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<cutlass::{{ binary_op }}, {{ type_d }}, {{ type_epilogue }}, {{ round }}>, Activated, Source>;
{%- else -%}
using Joined = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<cutlass::{{ binary_op }}, {{ type_epilogue }}, {{ type_epilogue }}, {{ round }}>,
    Activated, Source>;
using Fusion = {{ fusion }}::Sm90EVT<
    {{ fusion }}::Sm90Compute<{{ unary_op_cpp }}, {{ type_d }}, {{ type_epilogue }}, {{ round }}>, Joined>;
{%- endif %}
{% elif bias != "none" -%}
using Fusion = {{ fusion }}::LinComb{{ vector[bias] }}Bias{{ "EltAct" if activation != "identity" }}<
    {{ activation_cpp ~ ", " if activation != "identity" }}{{ type_d }}, {{ type_epilogue }}, {{ type_d }}, {{ type_c }}, {{ type_epilogue }}>;
{% elif activation != "identity" -%}
using Fusion = {{ fusion }}::LinCombEltAct<
    {{ activation_cpp }}, {{ type_d }}, {{ type_epilogue }}, {{ type_c }}, {{ type_epilogue }}>;
{% else -%}
using Fusion = {{ fusion }}::LinearCombination<{{ type_d }}, {{ type_epilogue }}, {{ type_c }}, {{ type_epilogue }}>;
{% endif %}
using CollectiveEpilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
    TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto,
    {{ type_accumulator }}, {{ type_epilogue }},
    {{ type_c }}, {{ layout_tag[layout_c] }}, {{ alignment_c }},
    {{ type_d }}, {{ layout_tag[layout_c] }}, {{ alignment_d }},
    cutlass::epilogue::{{ epilogue_schedule }},
    Fusion
  >::CollectiveOp;

using CollectiveMainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
    {{ type_a }}, {{ layout_tag[layout_a] }}, {{ alignment_a }},
    {{ type_b }}, {{ layout_tag[layout_b] }}, {{ alignment_b }},
    {{ type_accumulator }},
    TileShape, ClusterShape,
{%- if stages %}
    cutlass::gemm::collective::StageCount<{{ stages }}>,
{%- else %}
    cutlass::gemm::collective::StageCountAutoCarveout<
        static_cast<int>(sizeof(CollectiveEpilogue::SharedStorage))>,
{%- endif %}
    cutlass::gemm::Kernel{{ kernel_schedule }}
  >::CollectiveOp;

using GemmKernel = cutlass::gemm::kernel::GemmUniversal<
    cute::Shape<int, int, int, int>, CollectiveMainloop, CollectiveEpilogue,
    {{ "cutlass::gemm::StreamKScheduler" if tile_scheduler == "StreamK" else "void" }}>;
