/// How many copies of the operands take turns, so that launches do not find theirs in the L2 cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cutlass_ninja {

/// What the caches hold when a launch begins.
enum class CacheMode {
  kCold,  ///< launches take turns among copies of the operands, more than twice the L2 in all
  kWarm,  ///< every launch works on the same operands
};

/// "cold" or "warm".
inline char const* cache_mode_name(CacheMode mode) {
  return mode == CacheMode::kCold ? "cold" : "warm";
}

/// Copies of operands so small that they cannot fill the L2: each needs a parameter block of its
/// own.
constexpr int64_t kMaxCopies = 4096;

/// The fewest copies of `bytes` that are more than twice the L2 in all, at most kMaxCopies.
inline int64_t rotation_copies(int64_t bytes, int64_t l2_bytes, CacheMode mode) {
  if (mode == CacheMode::kWarm) return 1;
  return std::min(2 * l2_bytes / std::max<int64_t>(bytes, 1) + 1, kMaxCopies);
}

}  // namespace cutlass_ninja
