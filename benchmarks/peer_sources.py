"""The same kernels as others have them compiled: CUTLASS's library, and a single file with a main, as TVM does it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from string import Template
from typing import Any

from cutlass_ninja.kernel import Kernel
from cutlass_ninja.operations import threadblock

_HEAD = """\
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
$includes

$kernel

static void check(cudaError_t error) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

static void check(cutlass::Status status) {
  if (status != cutlass::Status::kSuccess) {
    std::fprintf(stderr, "%s\\n", cutlass::cutlassGetStatusString(status));
    std::exit(1);
  }
}

static void* zeros(size_t bytes) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, bytes));
  check(cudaMemset(pointer, 0, bytes));
  return pointer;
}

template <class Operation>
void measure(typename Operation::Arguments const& arguments) {
  Operation operation;
  check(operation.can_implement(arguments));
  check(operation.initialize(arguments, zeros(Operation::get_workspace_size(arguments))));
  check(operation());
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  check(cudaEventRecord(start));
  for (int i = 0; i < 100; ++i) check(operation());
  check(cudaEventRecord(stop));
  check(cudaEventSynchronize(stop));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, stop));
  std::printf("%f\\n", milliseconds / 100);
}

"""

_GEMM_2X = """\
using Gemm = cutlass::gemm::device::Gemm<
    $element_a, $layout_a, $element_b, $layout_b, $element_c, $layout_c, $accumulator, $opcode, $arch,
    cutlass::gemm::GemmShape<$tile>, cutlass::gemm::GemmShape<$warp>, cutlass::gemm::GemmShape<$instruction>,
    $functor<$element_c, $align_c, $accumulator, $epilogue>, $swizzle, $stages, $align_a, $align_b, false, $math>;
"""
_GEMM_2X_MAIN = """\
int main(int argc, char const* argv[]) {
  int m = argc > 1 ? std::atoi(argv[1]) : 1024, n = argc > 2 ? std::atoi(argv[2]) : 1024;
  int k = argc > 3 ? std::atoi(argv[3]) : 1024;
  auto* a = static_cast<typename Gemm::ElementA*>(zeros(size_t(m) * k * sizeof(typename Gemm::ElementA)));
  auto* b = static_cast<typename Gemm::ElementB*>(zeros(size_t(k) * n * sizeof(typename Gemm::ElementB)));
  auto* c = static_cast<typename Gemm::ElementC*>(zeros(size_t(m) * n * sizeof(typename Gemm::ElementC)));
  int lda = Gemm::LayoutA::packed({m, k}).stride(0), ldb = Gemm::LayoutB::packed({k, n}).stride(0);
  int ldc = Gemm::LayoutC::packed({m, n}).stride(0);
  measure<Gemm>({{m, n, k}, {a, lda}, {b, ldb}, {c, ldc}, {c, ldc}, {1, 0}});
}
"""
_GEMM_3X_MAIN = """\
int main(int argc, char const* argv[]) {
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<$name>;
  int m = argc > 1 ? std::atoi(argv[1]) : 1024, n = argc > 2 ? std::atoi(argv[2]) : 1024;
  int k = argc > 3 ? std::atoi(argv[3]) : 1024;
  auto* a = static_cast<typename Gemm::ElementA*>(zeros(size_t(m) * k * sizeof(typename Gemm::ElementA)));
  auto* b = static_cast<typename Gemm::ElementB*>(zeros(size_t(k) * n * sizeof(typename Gemm::ElementB)));
  auto* d = static_cast<typename Gemm::ElementD*>(zeros(size_t(m) * n * sizeof(typename Gemm::ElementD)));
  typename Gemm::Arguments arguments{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {a, cutlass::make_cute_packed_stride(typename Gemm::GemmKernel::StrideA{}, {m, k, 1}),
       b, cutlass::make_cute_packed_stride(typename Gemm::GemmKernel::StrideB{}, {n, k, 1})},
      {{}, nullptr, cutlass::make_cute_packed_stride(typename Gemm::GemmKernel::StrideC{}, {m, n, 1}),
       d, cutlass::make_cute_packed_stride(typename Gemm::GemmKernel::StrideD{}, {m, n, 1})}};
  arguments.epilogue.thread.alpha = 1;
  arguments.epilogue.thread.beta = 0;
  measure<Gemm>(arguments);
}
"""
_CONV2D_MAIN = """\
int main(int argc, char const* argv[]) {
  using Conv = cutlass::conv::device::ImplicitGemmConvolution<${name}_base>;
  using Layout = cutlass::layout::TensorNHWC;
  int n = argc > 1 ? std::atoi(argv[1]) : 32, h = argc > 2 ? std::atoi(argv[2]) : 56;
  int c = argc > 3 ? std::atoi(argv[3]) : 64, k = argc > 4 ? std::atoi(argv[4]) : 64;
  cutlass::conv::Conv2dProblemSize problem(
      n, h, h, c, k, 3, 3, h, h, 1, 1, 1, 1, 1, 1, cutlass::conv::Mode::kCrossCorrelation);
  auto* x = static_cast<typename Conv::ElementA*>(zeros(size_t(n) * h * h * c * sizeof(typename Conv::ElementA)));
  auto* w = static_cast<typename Conv::ElementB*>(zeros(size_t(k) * 9 * c * sizeof(typename Conv::ElementB)));
  auto* y = static_cast<typename Conv::ElementC*>(zeros(size_t(n) * h * h * k * sizeof(typename Conv::ElementC)));
  Layout of_x = Layout::packed({n, h, h, c}), of_w = Layout::packed({k, 3, 3, c}), of_y = Layout::packed({n, h, h, k});
  measure<Conv>({problem, {x, of_x}, {w, of_w}, {y, of_y}, {y, of_y}, {1, 0}});
}
"""

_2X_HEADERS = ("cutlass/gemm/device/gemm.h", "cutlass/epilogue/thread/linear_combination_clamp.h")
_3X_HEADERS = (
    "cute/tensor.hpp",
    "cutlass/epilogue/collective/collective_builder.hpp",
    "cutlass/gemm/collective/collective_builder.hpp",
    "cutlass/gemm/device/gemm_universal_adapter.h",
    "cutlass/gemm/kernel/gemm_universal.hpp",
    "cutlass/util/packed_stride.hpp",
)
_CONV2D_HEADERS = (
    "cutlass/conv/kernel/default_conv2d_fprop.h",
    "cutlass/conv/device/implicit_gemm_convolution.h",
    "cutlass/epilogue/thread/linear_combination_clamp.h",
)

# What CMakeLists.txt and tools/library/CMakeLists.txt of CUTLASS 4.2 come to in a Release build of the library.
_LIBRARY_FLAGS = (
    "-DCUTLASS_ENABLE_TENSOR_CORE_MMA=1",
    "-DCUTLASS_ENABLE_GDC_FOR_SM100=1",
    "--expt-relaxed-constexpr",
    "-ftemplate-backtrace-limit=0",
    "-DCUTLASS_TEST_LEVEL=0",
    "-DCUTLASS_TEST_ENABLE_CACHED_RESULTS=1",
    "-DCUTLASS_CONV_UNIT_TEST_RIGOROUS_SIZE_ENABLED=1",
    "-DCUTLASS_DEBUG_TRACE_LEVEL=0",
    "-Xcompiler=-Wconversion",
    "-Xcompiler=-fno-strict-aliasing",
    "-O3",
    "-DNDEBUG",
    "-std=c++17",
    "-Xcompiler=-fPIC",
)
_LIBRARY_INCLUDES = ("include", "tools/library/include", "tools/library/src", "tools/util/include")

_FILE_FLAGS = (
    "-O3",
    "-DNDEBUG",
    "-std=c++17",
    "-DCUTLASS_ENABLE_TENSOR_CORE_MMA=1",
    "--expt-relaxed-constexpr",
    "-Xcompiler=-Wconversion",
    "-Xcompiler=-fno-strict-aliasing",
)
_FILE_INCLUDES = ("include", "tools/util/include")


@dataclass(frozen=True)
class Checkout:
    """A CUTLASS checkout, or the part of one that is needed: see build_cost.py."""

    folder: Path
    library: Any
    """cutlass_library, its generator."""

    @classmethod
    def at(cls, folder: Path) -> Checkout:
        """The checkout in a folder. Raises SystemExit if it is none."""
        needed = ("python/cutlass_library", *_LIBRARY_INCLUDES)
        if missing := [name for name in needed if not (folder / name).is_dir()]:
            raise SystemExit(f"error: {folder} has no {missing[0]}: --cutlass-checkout must name a checkout of CUTLASS")
        sys.path.insert(0, str(folder / "python"))
        return cls(folder.resolve(), import_module("cutlass_library"))

    def library_command(self, kernel: Kernel, source: Path, curand: Path | None) -> list[str]:
        """Writes CUTLASS's own source for a kernel. Gives what compiles it, after nvcc, to a library's object."""
        operation = self._operation(kernel)
        name = operation.procedural_name()
        emitters = {
            "gemm": self.library.gemm_operation.EmitGemmConfigurationLibrary,
            "conv2d": self.library.conv2d_operation.EmitConv2dConfigurationLibrary,
        }
        with emitters[kernel.operation](str(source.parent), name) as emitter:
            emitter.emit(operation)
        (source.parent / f"{name}.cu").rename(source)
        includes = [f"-I{self.folder / name}" for name in _LIBRARY_INCLUDES]
        includes += [f"-isystem={curand}"] if curand else []
        return [*_LIBRARY_FLAGS, _gencode(kernel), *includes, "-c", str(source), "-o", f"{source}.o"]

    def file_command(self, kernel: Kernel, source: Path) -> list[str]:
        """Writes one file with a main that measures a kernel. Gives what compiles and links it, after nvcc."""
        source.write_text(self._file(kernel), encoding="utf-8")
        includes = [f"-I{self.folder / name}" for name in _FILE_INCLUDES]
        return [*_FILE_FLAGS, _gencode(kernel), *includes, str(source), "-o", f"{source}.out"]

    def _file(self, kernel: Kernel) -> str:
        operation = self._operation(kernel)
        if kernel.operation == "conv2d":
            definition, main, headers = self._conv2d_definition(operation), _CONV2D_MAIN, _CONV2D_HEADERS
        elif kernel.config["gemm_kind"] == "universal3x":
            emitter = self.library.gemm_operation.EmitGemmUniversal3xInstance()
            definition, main, headers = emitter.emit(operation), _GEMM_3X_MAIN, _3X_HEADERS
        else:
            definition, main, headers = self._gemm_definition(kernel, operation), _GEMM_2X_MAIN, _2X_HEADERS
        includes = "\n".join(f'#include "{header}"' for header in headers)
        head = Template(_HEAD).substitute(includes=includes, kernel=definition)
        return head + Template(main).safe_substitute(name=operation.procedural_name())

    def _conv2d_definition(self, operation: Any) -> str:
        return str(self.library.conv2d_operation.EmitConv2dInstance().emit(operation))

    def _gemm_definition(self, kernel: Kernel, operation: Any) -> str:
        tags, config, tile = self.library, kernel.config, operation.tile_description
        return Template(_GEMM_2X).substitute(
            element_a=tags.DataTypeTag[operation.A.element],
            element_b=tags.DataTypeTag[operation.B.element],
            element_c=tags.DataTypeTag[operation.C.element],
            layout_a=tags.LayoutTag[operation.A.layout],
            layout_b=tags.LayoutTag[operation.B.layout],
            layout_c=tags.LayoutTag[operation.C.layout],
            accumulator=tags.DataTypeTag[operation.accumulator_type()],
            epilogue=tags.DataTypeTag[operation.element_epilogue],
            opcode=tags.OpcodeClassTag[tile.math_instruction.opcode_class],
            arch=f"cutlass::arch::Sm{threadblock.arch_tag(config)}",
            tile=_shape(config["threadblock_shape"]),
            warp=_shape([size // count for size, count in zip(config["threadblock_shape"], config["warp_count"])]),
            instruction=_shape(config["instruction_shape"]),
            functor=tags.EpilogueFunctorTag[operation.epilogue_functor],
            swizzle=tags.SwizzlingFunctorTag[operation.swizzling_functor],
            stages=config["stages"],
            align_a=config["alignment_a"],
            align_b=config["alignment_b"],
            align_c=config["alignment_c"],
            math=tags.MathOperationTag[tile.math_instruction.math_operation],
        )

    def _operation(self, kernel: Kernel) -> Any:
        """A kernel as cutlass_library has it."""
        config = kernel.config
        return self._conv2d(config) if kernel.operation == "conv2d" else self._gemm(config)

    def _gemm(self, config: Mapping[str, Any]) -> Any:
        names = self.library
        hopper = config["gemm_kind"] == "universal3x"
        arch = 90 if hopper else threadblock.arch_tag(config)
        operands = [self._tensor(config, one, _LAYOUTS[config[f"layout_{one}"]]) for one in "abc"]
        arguments: dict[str, Any] = {}
        if hopper:
            arguments["D"] = names.TensorDescription(
                names.DataType[config["element_d"]], operands[2].layout, config["alignment_d"]
            )
            arguments["kernel_schedule"] = names.KernelScheduleType[config["kernel_schedule"]]
            arguments["epilogue_schedule"] = names.EpilogueScheduleType[config["epilogue_schedule"]]
            arguments["tile_scheduler"] = names.TileSchedulerType[config["tile_scheduler"]]
        else:
            arguments["swizzling_functor"] = names.SwizzlingFunctor[config["swizzling_functor"]]
        return names.gemm_operation.GemmOperation(
            names.GemmKind.Universal3x if hopper else names.GemmKind.Universal,
            arch,
            self._tile(config, arch),
            *operands,
            names.DataType[config["element_epilogue"]],
            self._functor(config),
            **arguments,
        )

    def _conv2d(self, config: Mapping[str, Any]) -> Any:
        names, arch = self.library, threadblock.arch_tag(config)
        return names.conv2d_operation.Conv2dOperation(
            names.ConvKind[config["conv_kind"].capitalize()],
            names.IteratorAlgorithm[_camel(config["iterator_algorithm"])],
            arch,
            self._tile(config, arch),
            *(self._tensor(config, one, "TensorNHWC") for one in "abc"),
            names.DataType[config["element_epilogue"]],
            names.StrideSupport[config["stride_support"].capitalize()],
            self._functor(config),
            names.SwizzlingFunctor[config["swizzling_functor"]],
        )

    def _functor(self, config: Mapping[str, Any]) -> Any:
        return self.library.EpilogueFunctor[_camel(config["epilogue_functor"])]

    def _tensor(self, config: Mapping[str, Any], operand: str, layout: str) -> Any:
        names = self.library
        element = names.DataType[config[f"element_{operand}"]]
        return names.TensorDescription(element, names.LayoutType[layout], config[f"alignment_{operand}"])

    def _tile(self, config: Mapping[str, Any], arch: int) -> Any:
        names = self.library
        shape = config["threadblock_shape"]
        instruction = names.MathInstruction(
            config["instruction_shape"] or [64, shape[1], 16],
            *(names.DataType[config[f"element_{one}"]] for one in ("a", "b", "accumulator")),
            {"tensorop": names.OpcodeClass.TensorOp, "simt": names.OpcodeClass.Simt}[config["opcode_class"]],
            names.MathOperation[config.get("math_operation", "multiply_add")],
        )
        warps = config.get("warp_count") or [4, 1, 1]
        cluster = config.get("cluster_shape") or [1, 1, 1]
        return names.TileDescription(shape, config["stages"], warps, instruction, arch, 1024, cluster)


_LAYOUTS = {"n": "ColumnMajor", "t": "RowMajor"}


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _gencode(kernel: Kernel) -> str:
    """CUTLASS embeds PTX beside the machine code."""
    number = kernel.arch.removeprefix("sm_")
    return f"--generate-code=arch=compute_{number},code=[compute_{number},sm_{number}]"


def _shape(sizes: Any) -> str:
    return ", ".join(map(str, sizes))
