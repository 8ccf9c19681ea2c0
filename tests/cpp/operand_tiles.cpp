// What the warps of a tensor core kernel read from a tile in shared memory, by CUTLASS's own
// iterators, on the CPU: ldmatrix only notes its addresses, and the layout says which elements
// stand there. For each line of cases.inc,
//
//   CASE(element, operand A?, contiguous along K?, tile, warps, tile K, instruction M or N,
//   instruction K)
//
// prints 1 if each warp reads its part, all of it and nothing else, in the first warp's order; else
// 0.
#include <cstdio>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "cutlass/array.h"
#include "cutlass_ninja/host_stubs.h"

namespace noted {

std::vector<void const*>* addresses;
int matrices;

template <class Layout, int N>
void ldsm(cutlass::Array<unsigned, N>&, void const* address) {
  matrices = N;
  addresses->push_back(address);
}

}  // namespace noted

// A copy in which the iterators call noted::ldsm.
#include "cutlass/layout/tensor_op_multiplicand_sm75.h"
#include "mma_tensor_op_tile_iterator.h"

using namespace cutlass;

namespace {

using Place = std::pair<int, int>;  // Of an element: along M or N, and along K.

template <bool A>
MatrixCoord coord(int extent, int depth) {
  return A ? MatrixCoord(extent, depth) : MatrixCoord(depth, extent);
}

template <class E, bool A, bool AlongK, int Tile, int Warps, int K, int InstructionMn,
          int InstructionK>
bool reads_its_part() {
  constexpr int kBits = sizeof_bits<E>::value;
  constexpr int kLine = 128 / int(sizeof(E));
  constexpr int kCrosswise = AlongK ? K : kLine < Tile ? kLine : Tile;
  using Layout = std::conditional_t<
      AlongK,
      std::conditional_t<A, layout::RowMajorTensorOpMultiplicandCrosswise<kBits, kCrosswise>,
                         layout::ColumnMajorTensorOpMultiplicandCrosswise<kBits, kCrosswise>>,
      std::conditional_t<A, layout::ColumnMajorTensorOpMultiplicandCongruous<kBits, kCrosswise>,
                         layout::RowMajorTensorOpMultiplicandCongruous<kBits, kCrosswise>>>;
  constexpr int kWarp = Tile / Warps;
  using Shape = std::conditional_t<A, MatrixShape<kWarp, K>, MatrixShape<K, kWarp>>;
  using Instruction = std::conditional_t<A, MatrixShape<InstructionMn, InstructionK>,
                                         MatrixShape<InstructionK, InstructionMn>>;
  using TileIterator = gemm::warp::MmaTensorOpMultiplicandTileIterator<
      Shape, A ? gemm::Operand::kA : gemm::Operand::kB, E, Layout, Instruction, 1, 32, 1>;
  constexpr bool kPlainLoads =
      kBits == 32 && !AlongK;  // No ldmatrix: the values themselves say their place.

  std::vector<E> memory(4 * Tile * K);
  Layout const layout = Layout::packed(coord<A>(Tile, 2 * K));
  std::map<long, Place> places;
  for (int x = 0; x < Tile; ++x) {
    for (int k = 0; k < K; ++k) {
      long const offset = layout(coord<A>(x, k));
      places[offset] = {x, k};
      if constexpr (kPlainLoads) memory[offset] = E(x * K + k);
    }
  }

  std::vector<Place> first;
  for (int warp = 0; warp < Warps; ++warp) {
    std::vector<TileIterator> lanes;
    for (int lane = 0; lane < 32; ++lane) {
      lanes.emplace_back(typename TileIterator::TensorRef(memory.data(), layout), lane);
      lanes.back().add_tile_offset(coord<A>(warp, 0));
    }
    for (int group = 0; group < K / InstructionK; ++group) {
      std::vector<Place> read;
      auto note = [&](Place place) {
        read.emplace_back(place.first - warp * kWarp, place.second - group * InstructionK);
      };
      std::vector<std::vector<void const*>> addresses(32);
      for (int lane = 0; lane < 32; ++lane) {
        typename TileIterator::Fragment fragment;
        fragment.fill(E(0));
        noted::addresses = &addresses[lane];
        lanes[lane].set_kgroup_index(group);
        lanes[lane].load(fragment);
        ++lanes[lane];
        if constexpr (kPlainLoads) {
          for (int i = 0; i < int(fragment.size()); ++i)
            note({int(fragment[i]) / K, int(fragment[i]) % K});
        }
      }
      for (size_t load = 0; load < addresses[0].size(); ++load) {
        if (noted::matrices == 3) return false;  // There is no such ldmatrix.
        for (int row = 0; row < 8 * noted::matrices; ++row) {
          auto const found =
              places.find(static_cast<E const*>(addresses[row][load]) - memory.data());
          if (found == places.end()) return false;
          note(found->second);
        }
      }
      std::set<Place> const distinct(read.begin(), read.end());
      if (first.empty()) first = read;
      for (Place const& place : distinct) {
        if (place.first < 0 || place.first >= kWarp || place.second < 0 ||
            place.second >= InstructionK)
          return false;
      }
      if (read != first ||
          distinct.size() != size_t(kWarp * InstructionK / (kPlainLoads ? 1 : 128 / kBits)))
        return false;
    }
  }
  return true;
}

}  // namespace

#define CASE(...) std::puts(reads_its_part<__VA_ARGS__>() ? "1" : "0");

int main() {
#include "cases.inc"
}
