"""The command lines that compile, and what of them enters a key.

Every path in them is relative to the folder in which they run, with symbolic links to what lies elsewhere: neither the
key, nor the log, nor the bytes of the result depend on where things are installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .arch import ARCHS
from .batch_sources import DEVICE_UNIT, HOST_UNIT, STUBS
from .halves import flags_of
from .kernel import Kernel
from .sources import ENTRY_POINT, runtime_folder, runtime_sources, stand_ins
from .toolchain import Toolchain

RUNTIME_LIBRARY = "libcutlass_ninja.a"
BASELINE = "cublaslt"
"""The executable that is published beside the runtime library: cuBLASLt as a profiler."""

KEYED_VARIABLES = (
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
)
"""Environment variables that change what the compilers produce."""

_COMMON_FLAGS = ("-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-Xptxas=-v", "-objtemp")
_LINK_FLAGS = ("-s", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections")
_LINK_LIBRARIES = ("-ldl", "-lrt", "-lpthread")

_APART = "-DCUTLASS_NINJA_APART"
_HOST_FLAGS = (
    "-std=c++17",
    "-O1",
    "-DNDEBUG",
    "-fpermissive",
    "-w",
    "-ffunction-sections",
    "-fdata-sections",
    # So that no function's code depends on what else is in the batch.
    "-fno-inline-functions-called-once",
    "--param=max-inline-insns-single=0",
    "--param=max-inline-insns-auto=0",
    "--param=inline-unit-growth=100000",
    "-fno-ipa-modref",
    "-fno-ipa-profile",
    "-fno-ipa-pure-const",
    "-fno-ipa-reference",
)
"""For the host halves of a batch, which check and launch: their own speed is no matter."""

PTX = "batch.ptx"
"""The device halves of a batch."""
HOST_ASSEMBLY = "batch.s"
"""The host halves of a batch."""
KERNEL_PTX = "kernel.ptx"
CUBIN = "kernel.cubin"
PROFILER_ASSEMBLY = "profiler.s"

_CLANGD_HEADER = os.path.join(os.path.dirname(__file__), "clangd.h")


def include_folders(toolchain: Toolchain, kernel: Kernel) -> tuple[str, ...]:
    """The include folders of a kernel's compile, absolute, in the order in which they are searched."""
    return tuple(_includes(toolchain, kernel).values())


def links(toolchain: Toolchain, kernel: Kernel) -> dict[str, str]:
    """The symbolic links that the commands rely on: name -> absolute folder."""
    toolkit = dict(zip(_toolkit_names(toolchain), toolchain.cuda_include))
    return {**_includes(toolchain, kernel), **toolkit, "cudart": os.path.dirname(toolchain.cudart)}


def kernel_flags(toolchain: Toolchain, kernel: Kernel) -> list[str]:
    """The flags of a kernel's compile that enter its key."""
    return [*_COMMON_FLAGS, *_workaround(toolchain), ARCHS[kernel.arch].gencode, *kernel.settings.nvcc_flags]


def host_flags(toolchain: Toolchain, kernel: Kernel) -> list[str]:
    """The flags of a host half's compile, where it is compiled apart, that enter the key."""
    given = flags_of(kernel.settings.nvcc_flags).host
    # What is included before the source may be device code, too.
    stubs = ["-include", STUBS] if any(flag.startswith("-include") for flag in given) else []
    return [*_HOST_FLAGS, *_workaround(toolchain), *stubs, *given]


def ptxas_flags(kernel: Kernel) -> list[str]:
    """The flags of a device half's assembly, where it is compiled apart, that enter the key."""
    return [f"-arch={kernel.arch}", "-v", *flags_of(kernel.settings.nvcc_flags).ptxas]


def runtime_flags(arch: str) -> list[str]:
    """The flags of the runtime's compile that enter its key."""
    return [*_COMMON_FLAGS, ARCHS[arch].gencode]


def link_flags() -> list[str]:
    """The flags of a profiler's link, which enter its key."""
    return [*_LINK_FLAGS, *_LINK_LIBRARIES]


def kernel_commands(toolchain: Toolchain, kernel: Kernel, runtime_library: str) -> list[list[str]]:
    """Compile a kernel's sources and link its profiler, in the folder that holds them and the links."""
    compiled = "profiler.o"
    flags = [*kernel_flags(toolchain, kernel), *_include_flags(toolchain, kernel)]
    return [
        [*_nvcc(toolchain), *flags, *_unit(ENTRY_POINT), "-o", compiled],
        _link(toolchain, compiled, runtime_library, "cudart"),
    ]


def front_end_commands(toolchain: Toolchain, kernel: Kernel) -> list[list[str]]:
    """Compile the units of a batch, of which `kernel` is one, to PTX and to the host's assembly, in their folder."""
    includes = _include_flags(toolchain, kernel)
    device = [*kernel_flags(toolchain, kernel), _APART, *includes]
    host = [*host_flags(toolchain, kernel), _APART, *includes]
    toolkit = [word for name in _toolkit_names(toolchain) for word in ("-isystem", name)]
    return [
        [*_nvcc(toolchain), *device, *_unit(DEVICE_UNIT, "-ptx"), "-o", PTX],
        [toolchain.host_compiler, *host, *toolkit, "-S", HOST_UNIT, "-o", HOST_ASSEMBLY],
    ]


def back_end_commands(toolchain: Toolchain, kernel: Kernel, runtime_library: str) -> list[list[str]]:
    """Assemble what was cut out of a batch for one kernel and link its profiler, in a folder below the batch's."""
    cudart = os.path.join(os.pardir, "cudart")
    return [
        [toolchain.ptxas, *ptxas_flags(kernel), KERNEL_PTX, "-o", CUBIN],
        _link(toolchain, PROFILER_ASSEMBLY, os.path.join(os.pardir, runtime_library), cudart),
    ]


def runtime_commands(toolchain: Toolchain, arch: str) -> list[list[str]]:
    """Compile the runtime's sources, archive them, and link the baseline with that, in the folder that holds them."""
    units = [name for name in runtime_sources() if name.endswith((".cu", ".cpp"))]
    objects = {unit: unit.replace("/", "_") + ".o" for unit in units}
    flags = [*runtime_flags(arch), "-Iinclude"]
    compiles = [[*_nvcc(toolchain), *flags, *_unit(unit), "-o", out] for unit, out in objects.items()]
    of_baseline = [out for unit, out in objects.items() if unit.startswith("baseline/")]
    archived = [out for out in objects.values() if out not in of_baseline]
    linked = [*of_baseline, RUNTIME_LIBRARY, f"cudart/{os.path.basename(toolchain.cudart)}"]
    return [
        *compiles,
        ["ar", "rcsD", RUNTIME_LIBRARY, *archived],
        [toolchain.host_compiler, *_LINK_FLAGS, *linked, *_LINK_LIBRARIES, "-o", BASELINE],
    ]


def runtime_links(toolchain: Toolchain) -> dict[str, str]:
    """The symbolic links that `runtime_commands` rely on: name -> absolute folder."""
    return {"cudart": os.path.dirname(toolchain.cudart)}


def environment() -> dict[str, str]:
    """The environment of every command: the user's, with messages in English and no paths to write into executables."""
    return {name: value for name, value in os.environ.items() if name != "LD_RUN_PATH"} | {"LC_ALL": "C"}


def keyed_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What of the environment enters a key: those of KEYED_VARIABLES that are set."""
    return {name: environ[name] for name in KEYED_VARIABLES if environ.get(name)}


def _workaround(toolchain: Toolchain) -> list[str]:
    """What CUTLASS 3.5.1 needs with CUDA 13: it takes 13.0 for older than 12.5 and names types that are no more."""
    if toolchain.identity["cutlass"] != "3.5.1" or not toolchain.identity["nvcc"].startswith("13."):
        return []
    return [f"-DPFN_{name}=PFN_{name}_v12000" for name in ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col")]


def _nvcc(toolchain: Toolchain) -> list[str]:
    return [toolchain.nvcc, "-ccbin", toolchain.host_compiler]


def _link(toolchain: Toolchain, compiled: str, runtime_library: str, cudart: str) -> list[str]:
    inputs = [compiled, runtime_library, os.path.join(cudart, os.path.basename(toolchain.cudart))]
    return [toolchain.host_compiler, *_LINK_FLAGS, *inputs, *_LINK_LIBRARIES, "-o", "profiler"]


def _unit(name: str, phase: str = "-c") -> list[str]:
    """A source to compile. Nvcc would digest its absolute path into the names of what is local to the source."""
    return [f"-Xcudafe=--orig_src_path_name={name}", phase, name]


def _includes(toolchain: Toolchain, kernel: Kernel) -> dict[str, str]:
    """The include folders of a kernel's compile, by the names of the links to them."""
    own = {f"include{index}": folder for index, folder in enumerate(kernel.settings.include_dirs)}
    replaced = {"stand_ins": folder} if (folder := stand_ins(kernel)) else {}
    cutlass = {f"cutlass{index or ''}": folder for index, folder in enumerate(toolchain.cutlass)}
    return {**own, **replaced, **cutlass, "runtime": os.path.join(runtime_folder(), "include")}


def _include_flags(toolchain: Toolchain, kernel: Kernel) -> list[str]:
    return [f"-I{name}" for name in _includes(toolchain, kernel)]


def _toolkit_names(toolchain: Toolchain) -> list[str]:
    return [f"toolkit{index}" for index in range(len(toolchain.cuda_include))]


def clangd_arguments(toolchain: Toolchain, kernel: Kernel, folder: str) -> list[str]:
    """How clangd is to read a kernel's published source in `folder`: clang's flags, absolute paths.

    As plain C++ with the help of clangd.h: clang's CUDA mode knows no toolkit newer than itself.
    """
    major, minor = toolchain.identity.get("nvcc", "0.0").split(".")[:2]
    return [
        "clang++",
        "-x",
        "c++",
        "-std=c++17",
        "-DNDEBUG",
        f"-DCUTLASS_NINJA_NVCC_MAJOR={major}",
        f"-DCUTLASS_NINJA_NVCC_MINOR={minor}",
        *(f"-I{path}" for path in include_folders(toolchain, kernel)),
        *(f"-isystem{path}" for path in toolchain.cuda_include),
        "-include",
        _CLANGD_HEADER,
        f"{folder}/{ENTRY_POINT}",
    ]
