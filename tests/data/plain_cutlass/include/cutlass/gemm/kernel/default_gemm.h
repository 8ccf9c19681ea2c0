#pragma once

#include "cutlass/cutlass.h"

namespace cutlass::gemm::kernel {

/// The parts of a kernel; Stages stands for all that makes one differ from another.
template <class ElementA, class LayoutA, int AlignmentA, class ElementB, class LayoutB, int AlignmentB, class ElementC,
          class LayoutC, class Accumulator, class OpClass, class ArchTag, class Threadblock, class Warp,
          class Instruction, class EpilogueOutputOp, class Swizzle, int Stages, bool SplitKSerial, class Operator>
struct DefaultGemm {
  struct Mma {
    static constexpr int stages = Stages;
  };
  using Epilogue = EpilogueOutputOp;
  using ThreadblockSwizzle = Swizzle;
  struct GemmKernel {
    using Mma = DefaultGemm::Mma;
    using Epilogue = DefaultGemm::Epilogue;
    using ThreadblockSwizzle = Swizzle;
  };
};

}  // namespace cutlass::gemm::kernel
