#pragma once

#include "cutlass/cutlass.h"

namespace cutlass::epilogue {

struct TmaWarpSpecialized {};
struct TmaWarpSpecializedCooperative {};
struct NoSmemWarpSpecialized {};

namespace fusion {
template <class D, class Compute, class C, class Scalar>
struct LinearCombination {
  using ElementScalar = Scalar;
};
}  // namespace fusion

namespace collective {

struct EpilogueTileAuto {};

template <class ArchTag, class OpClass, class Tile, class Cluster, class EpilogueTile, class Accumulator, class Compute,
          class C, class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD, class Schedule, class Fusion>
struct CollectiveBuilder {
  struct CollectiveOp {
    using ElementC = C;
    using ElementD = D;
    using ElementScalar = typename Fusion::ElementScalar;
    struct SharedStorage {};
    struct Arguments {
      struct Thread {
        ElementScalar alpha, beta;
      } thread;
      C const* ptr_C;
      cute::Stride dC;
      D* ptr_D;
      cute::Stride dD;
    };
  };
};

}  // namespace collective
}  // namespace cutlass::epilogue
