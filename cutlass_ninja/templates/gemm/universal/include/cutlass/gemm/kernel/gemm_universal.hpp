/// Stands in for CUTLASS's header of this name: what gemm_universal.h, the kernel of CUTLASS 2.x, needs
/// of it. The real one brings all kernels of CUTLASS 3.x, a third of all that would be compiled.
#pragma once

#include "cute/container/tuple.hpp"

namespace cutlass::gemm::kernel {

template <class ProblemShapeOrThreadblockMma, class CollectiveMainloopOrEpilogue,
          class CollectiveEpilogueOrThreadblockSwizzle, class TileScheduler = void, class Enable = void>
class GemmUniversal;

template <class ProblemShape, class = void>
struct IsCutlass3ArrayKernel : cute::false_type {};

}  // namespace cutlass::gemm::kernel
