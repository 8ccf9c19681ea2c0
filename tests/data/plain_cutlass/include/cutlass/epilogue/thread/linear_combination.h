#pragma once

#include "cutlass/cutlass.h"

namespace cutlass::epilogue::thread {

template <class Element, int Count, class Accumulator, class Compute>
struct LinearCombination {
  using ElementCompute = Compute;
  struct Params {
    Compute alpha, beta;
    Params(Compute alpha, Compute beta) : alpha(alpha), beta(beta) {}
  };
};

}  // namespace cutlass::epilogue::thread
