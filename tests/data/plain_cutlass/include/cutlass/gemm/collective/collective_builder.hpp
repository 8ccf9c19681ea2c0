#pragma once

#include "cutlass/cutlass.h"

namespace cutlass::gemm {

struct KernelTmaWarpSpecialized {};
struct KernelTmaWarpSpecializedPingpong {};
struct KernelTmaWarpSpecializedCooperative {};

namespace collective {

template <int N>
struct StageCount {};
template <int Bytes>
struct StageCountAutoCarveout {};

template <class ArchTag, class OpClass, class A, class LayoutA, int AlignmentA, class B, class LayoutB, int AlignmentB,
          class Accumulator, class Tile, class Cluster, class Stages, class Schedule>
struct CollectiveBuilder {
  struct CollectiveOp {
    using ElementA = A;
    using ElementB = B;
  };
};

}  // namespace collective
}  // namespace cutlass::gemm
