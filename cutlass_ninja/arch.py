"""What the architectures offer: one row for each name that nvcc's `-gencode` takes.

The architecture that a kernel is *compiled for* is not the one that it was *written for* (CUTLASS's ArchTag): an
Sm80 kernel may be built for sm_86, sm_89 or sm_90a.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from .errors import MachineError


@dataclass(frozen=True, slots=True)
class Arch:
    """One compilation target."""

    name: str
    """As nvcc's `code=` takes it: sm_80, sm_90a."""
    shared_memory_bytes: int
    """The most that one thread block can have (CUDA C++ Programming Guide, technical specifications)."""
    nvcc: tuple[int, int]
    """The first nvcc that compiles for it."""

    @property
    def compute_capability(self) -> int:
        """Major and minor version as one number: 80, 90, 120."""
        return int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def gencode(self) -> str:
        """Nvcc's flag for machine code of this architecture and nothing else."""
        virtual = self.name.replace("sm_", "compute_")
        return f"-gencode=arch={virtual},code={self.name}"


_KIB = 1024

ARCHS = {
    arch.name: arch
    for arch in (
        Arch("sm_75", 64 * _KIB, (12, 0)),
        Arch("sm_80", 163 * _KIB, (12, 0)),
        Arch("sm_86", 99 * _KIB, (12, 0)),
        Arch("sm_87", 163 * _KIB, (12, 0)),
        Arch("sm_89", 99 * _KIB, (12, 0)),
        Arch("sm_90", 227 * _KIB, (12, 0)),
        Arch("sm_90a", 227 * _KIB, (12, 0)),
        Arch("sm_100", 227 * _KIB, (12, 8)),
        Arch("sm_100a", 227 * _KIB, (12, 8)),
        Arch("sm_103", 227 * _KIB, (12, 9)),
        Arch("sm_103a", 227 * _KIB, (12, 9)),
        Arch("sm_120", 99 * _KIB, (12, 8)),
        Arch("sm_120a", 99 * _KIB, (12, 8)),
    )
}

NATIVE = "native"
"""The name that stands for the GPUs of this machine."""


def native(nvidia_smi: str = "nvidia-smi") -> tuple[Arch, ...]:
    """The architectures of this machine's GPUs, each once, as nvidia-smi names them.

    Where an architecture has a specific target (sm_90a), that one is meant: it has all the instructions.
    Raises MachineError without a GPU, or for one that is not in the table.
    """
    query = [nvidia_smi, "--query-gpu=compute_cap", "--format=csv,noheader"]
    remedy = f"name the architecture instead, for example --arch sm_80 (one of {', '.join(ARCHS)})"
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30).stdout.split()
    except (OSError, subprocess.SubprocessError):
        raise MachineError(f"error: arch native: no GPU was found ({nvidia_smi} gave none); {remedy}") from None
    found = []
    for capability in sorted(set(answer)):
        name = "sm_" + capability.replace(".", "")
        arch = ARCHS.get(name + "a") or ARCHS.get(name)
        if arch is None:
            raise MachineError(f"error: arch native: this GPU's compute capability {capability} is not known; {remedy}")
        found.append(arch)
    if not found:
        raise MachineError(f"error: arch native: no GPU was found ({nvidia_smi} lists none); {remedy}")
    return tuple(found)
