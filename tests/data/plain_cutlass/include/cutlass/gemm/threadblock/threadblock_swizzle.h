#pragma once

namespace cutlass::gemm::threadblock {

template <int N>
struct GemmIdentityThreadblockSwizzle {};

}  // namespace cutlass::gemm::threadblock
