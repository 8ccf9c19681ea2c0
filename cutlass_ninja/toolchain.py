"""The compilers and CUTLASS: where they are looked for, and what identifies them in keys."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from .arch import Arch
from .errors import MachineError

_T = TypeVar("_T")

OLDEST_NVCC = (12, 4)
OLDEST_CUTLASS = (3, 5)

_GET_NVCC = "get it: pip install 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-cccl==13.*'"
_GET_CUTLASS = "get it: pip install 'nvidia-cutlass==4.*'"
_GET_CXX = "get it: apt-get install g++"
_CUDA_FOLDER = "/usr/local/cuda"


@dataclass(frozen=True)
class Toolchain:
    """What compiles a kernel. Paths are absolute; `identity` is what of them enters a key."""

    nvcc: str
    host_compiler: str
    cutlass: tuple[str, ...]
    """CUTLASS's include folders."""
    cudart: str
    """libcudart_static.a"""
    identity: Mapping[str, str]
    """Versions by the tool's name. Never a path."""
    cuda_include: tuple[str, ...] = ()
    """The toolkit's include folders, which nvcc searches by itself."""
    ptxas: str = ""
    """The toolkit's ptxas, or empty if it is not where it belongs."""

    def refreshed(self) -> Toolchain:
        """The same tools, their identity read again."""
        toolkit = Toolkit.of(self.nvcc)
        return replace(self, identity=_identity(toolkit, self.host_compiler, self.cutlass))

    def summary(self) -> str:
        """What was found, in one line."""
        nvcc, cxx = self.identity["nvcc"].split()[0], self.identity["host_compiler"]
        return (
            f"nvcc {nvcc} ({self.nvcc}), host compiler {cxx} ({self.host_compiler}), "
            f"CUTLASS {self.identity['cutlass']} ({self.cutlass[0]})"
        )


@dataclass(frozen=True)
class Toolkit:
    """An nvcc and the folders that belong to it, as `nvcc -dryrun` names them."""

    nvcc: str
    version: tuple[int, int]
    release: str
    """As 13.0.88."""
    build: str
    include: tuple[str, ...]
    libraries: tuple[str, ...]
    root: str

    @classmethod
    def of(cls, nvcc: str) -> Toolkit:
        """Asks an nvcc about itself. Raises MachineError when it does not work."""
        banner = _output([nvcc, "--version"])
        found = re.search(r"release (\d+)\.(\d+), V(\S+)", banner)
        if not found:
            raise MachineError(f"error: {nvcc} is no working nvcc (no release in what `--version` prints); {_GET_NVCC}")
        build = re.search(r"^Build (\S+)", banner, re.MULTILINE)
        dryrun = _output([nvcc, "-dryrun", "-c", "none.cu"])
        folders = {
            variable: tuple(
                dict.fromkeys(os.path.realpath(path) for path in re.findall(pattern, _line(dryrun, variable)))
            )
            for variable, pattern in (
                ("INCLUDES", r'-I([^"]+)"'),
                ("SYSTEM_INCLUDES", r'"-isystem" "([^"]+)"'),
                ("LIBRARIES", r'-L([^"]+)"'),
            )
        }
        return cls(
            nvcc=nvcc,
            version=(int(found[1]), int(found[2])),
            release=found[3],
            build=build[1] if build else "",
            include=folders["INCLUDES"] + folders["SYSTEM_INCLUDES"],
            libraries=folders["LIBRARIES"],
            root=os.path.realpath(_line(dryrun, "TOP") or os.path.dirname(os.path.dirname(nvcc))),
        )

    def find(self, *names: str) -> str | None:
        """The first of these paths that exists below the toolkit's include folders."""
        for folder in self.include:
            for name in names:
                if os.path.exists(path := os.path.join(folder, name)):
                    return path
        return None


def find(
    nvcc: str | None = None,
    cutlass: str | None = None,
    manifest_cutlass: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Toolchain:
    """The toolchain of this machine.

    nvcc: `--nvcc`, CUDA_HOME or CUDA_PATH, PATH, PyPI's wheels, /usr/local/cuda. CUTLASS: `--cutlass`, CUTLASS_PATH,
    the manifest, the installed nvidia-cutlass. Host compiler: NVCC_CCBIN, then g++ on PATH. Raises MachineError for all
    that is missing or too old, one line each, with the command that gets it.
    """
    problems: list[str] = []
    toolkit = _attempt(problems, lambda: _find_toolkit(nvcc, environ))
    includes = _attempt(problems, lambda: _find_cutlass(cutlass, manifest_cutlass, environ))
    compiler = _attempt(problems, lambda: _find_host_compiler(environ))
    cudart = _attempt(problems, lambda: _find_cudart(toolkit)) if toolkit else None
    if not (toolkit and includes and compiler and cudart):
        raise MachineError("\n".join(problems))
    identity = _identity(toolkit, compiler, includes)
    ptxas = os.path.join(toolkit.root, "bin", "ptxas")
    return Toolchain(
        toolkit.nvcc,
        compiler,
        includes,
        cudart,
        identity,
        toolkit.include,
        ptxas if os.access(ptxas, os.X_OK) else "",
    )


def check_archs(toolchain: Toolchain, archs: Iterable[Arch]) -> None:
    """Raises MachineError for an architecture that this nvcc is too old for."""
    release = toolchain.identity["nvcc"].split()[0]
    version = tuple(int(part) for part in release.split(".")[:2])
    for arch in archs:
        if version < arch.nvcc:
            needed = ".".join(map(str, arch.nvcc))
            raise MachineError(
                f"error: {arch.name} needs nvcc {needed} or later; {toolchain.nvcc} is {release}; {_GET_NVCC}"
            )


def installed_cutlass() -> str | None:
    """The headers that the nvidia-cutlass wheel installed, found without importing it."""
    includes = (os.path.join(folder, "cutlass_library", "source", "include") for folder in sys.path)
    return next((path for path in includes if os.path.isfile(os.path.join(path, "cutlass", "version.h"))), None)


def installed_nvcc() -> str | None:
    """The nvcc that NVIDIA's wheels installed."""
    import importlib.metadata as metadata  # It takes a while, and is for those alone who have no other nvcc.

    try:
        files = metadata.files("nvidia-cuda-nvcc") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "nvcc" and file.parent.name == "bin":
            return os.path.realpath(str(file.locate()))
    return None


def _attempt(problems: list[str], action: Callable[[], _T]) -> _T | None:
    """What an action gives; its MachineError is noted."""
    try:
        return action()
    except MachineError as error:
        problems.append(str(error))
        return None


def _find_toolkit(named: str | None, environ: Mapping[str, str]) -> Toolkit:
    """The first that works and is new enough; of those that the user did not name, what does not is passed over."""
    refused: list[str] = []
    for origin, path in _nvcc_candidates(named, environ):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            try:
                return _toolkit(os.path.abspath(path))
            except MachineError as error:
                if origin:
                    raise
                refused.append(str(error))
        elif origin:
            raise MachineError(f"error: {origin}: there is no nvcc at {path}; correct it, or leave it out")
    places = f"--nvcc, CUDA_HOME, CUDA_PATH, PATH, PyPI's wheels, {_CUDA_FOLDER}"
    raise MachineError(refused[0] if refused else f"error: no nvcc was found ({places}); {_GET_NVCC}")


def _toolkit(nvcc: str) -> Toolkit:
    toolkit = Toolkit.of(nvcc)
    if toolkit.version < OLDEST_NVCC:
        oldest = ".".join(map(str, OLDEST_NVCC))
        raise MachineError(f"error: {nvcc} is nvcc {toolkit.release}; {oldest} or later is needed; {_GET_NVCC}")
    return toolkit


def _nvcc_candidates(named: str | None, environ: Mapping[str, str]) -> Iterator[tuple[str | None, str]]:
    """Where nvcc may be, in order; an origin is given where the user named the place, which must then be right."""
    if named:
        yield "--nvcc", os.path.join(named, "bin", "nvcc") if os.path.isdir(named) else shutil.which(named) or named
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            yield variable, os.path.join(environ[variable], "bin", "nvcc")
    if on_path := shutil.which("nvcc", path=environ.get("PATH")):
        yield None, on_path
    if installed := installed_nvcc():
        yield None, installed
    yield None, os.path.join(_CUDA_FOLDER, "bin", "nvcc")


def _find_cutlass(named: str | None, in_manifest: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    named_places = (
        ("--cutlass", named),
        ("CUTLASS_PATH", environ.get("CUTLASS_PATH")),
        ("the manifest's cutlass", in_manifest),
    )
    for origin, place in named_places:
        if place:
            return (_cutlass_include(origin, place),)
    installed = installed_cutlass()
    if installed:
        return (_cutlass_include("nvidia-cutlass", installed),)
    raise MachineError(
        "error: CUTLASS was not found (--cutlass, CUTLASS_PATH, the manifest, the installed nvidia-cutlass); "
        f"{_GET_CUTLASS}"
    )


def _cutlass_include(origin: str, place: str) -> str:
    for folder in (os.path.join(place, "include"), place):
        if os.path.isfile(os.path.join(folder, "cutlass", "version.h")):
            include = os.path.realpath(folder)
            version = _cutlass_version(include)
            if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST_CUTLASS:
                oldest = ".".join(map(str, OLDEST_CUTLASS))
                raise MachineError(
                    f"error: {origin}: {place} is CUTLASS {version}; {oldest} or later is needed; {_GET_CUTLASS}"
                )
            return include
    raise MachineError(f"error: {origin}: {place} holds no CUTLASS (no include/cutlass/version.h); name its checkout")


def _find_host_compiler(environ: Mapping[str, str]) -> str:
    named = environ.get("NVCC_CCBIN")
    found = shutil.which(named or "g++", path=environ.get("PATH"))
    if named and os.path.isdir(named):
        found = shutil.which("g++", path=named)
    if found is None:
        if named:
            raise MachineError(f"error: NVCC_CCBIN: there is no compiler at {named}; correct it, or unset it")
        raise MachineError(f"error: no host compiler (g++) was found on PATH; {_GET_CXX}")
    return os.path.abspath(found)


def _find_cudart(toolkit: Toolkit) -> str:
    folders = [*toolkit.libraries, *(os.path.join(toolkit.root, name) for name in ("lib64", "lib"))]
    for folder in folders:
        if os.path.isfile(path := os.path.join(folder, "libcudart_static.a")):
            return os.path.realpath(path)
    raise MachineError(f"error: {toolkit.nvcc} has no libcudart_static.a; {_GET_NVCC}")


def _identity(toolkit: Toolkit, host_compiler: str, cutlass: tuple[str, ...]) -> dict[str, str]:
    """Versions, with those of the toolkit's headers, which other packages than nvcc's may bring."""
    return {
        "machine": platform.machine(),
        "nvcc": f"{toolkit.release} {toolkit.build}".strip(),
        "cudart": _macro(toolkit.find("cuda_runtime_api.h"), "CUDART_VERSION"),
        "cub": _macro(toolkit.find("cub/version.cuh", "cccl/cub/version.cuh"), "CUB_VERSION"),
        "host_compiler": _output([host_compiler, "--version"]).partition("\n")[0].partition(" ")[2],
        "cutlass": _cutlass_version(cutlass[0]),
    }


def _cutlass_version(include: str) -> str:
    header = os.path.join(include, "cutlass", "version.h")
    return ".".join(_macro(header, f"CUTLASS_{part}") for part in ("MAJOR", "MINOR", "PATCH"))


def _macro(header: str | None, name: str) -> str:
    """The value of a #define, or an empty text without one."""
    if header is None:
        return ""
    text = Path(header).read_text(encoding="utf-8", errors="replace")
    found = re.search(rf"^\s*#\s*define\s+{name}\s+(\w+)", text, re.MULTILINE)
    return found[1] if found else ""


def _output(command: list[str]) -> str:
    """What a command prints, on both streams; empty if it cannot be run."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")}
    environment["LC_ALL"] = "C"
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def _line(dryrun: str, variable: str) -> str:
    found = re.search(rf"^#\$ {variable}=(.*)$", dryrun, re.MULTILINE)
    return found[1].strip() if found else ""
