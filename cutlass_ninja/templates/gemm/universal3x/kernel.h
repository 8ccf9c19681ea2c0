// {{ name }}
#pragma once

// In this order: CUTLASS 3.5's epilogues compile only after its kernels.
#include "cutlass/gemm/kernel/gemm_universal.hpp"

#include "cutlass/gemm/collective/collective_builder.hpp"

#include "cutlass/epilogue/collective/collective_builder.hpp"

using TileShape = cute::Shape<{% for extent in threadblock_shape %}cute::_{{ extent }}{{ ", " if not loop.last }}{% endfor %}>;
using ClusterShape = cute::Shape<{% for extent in cluster_shape %}cute::_{{ extent }}{{ ", " if not loop.last }}{% endfor %}>;

using CollectiveEpilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
    TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto,
    {{ type_accumulator }}, {{ type_epilogue }},
    {{ type_c }}, {{ layout_tag[layout_c] }}, {{ alignment_c }},
    {{ type_d }}, {{ layout_tag[layout_c] }}, {{ alignment_d }},
    cutlass::epilogue::{{ epilogue_schedule }},
    cutlass::epilogue::fusion::{{ functor }}<{{ type_d }}, {{ type_epilogue }}, {{ type_c }}, {{ type_epilogue }}>
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
