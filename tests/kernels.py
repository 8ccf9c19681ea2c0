"""Small manifests for tests, and their kernels."""

from __future__ import annotations

from pathlib import Path

from cutlass_ninja import generate
from cutlass_ninja.generate import Request
from cutlass_ninja.kernel import Kernel

AMPERE = """\
arch: sm_80
kernels:
  - operation: gemm
    element_a: f16
    element_c: f16
    element_accumulator: f32
    layout: tn
    alignment: 8
    instruction_shape: [16, 8, 16]
    tile_description: {threadblock_shape: [64, 64, 32], warp_count: [2, 2, 1], stages: 3}
"""
"""One kernel of CUTLASS 2.x, of the smallest tile."""

HOPPER = """\
arch: sm_90a
kernels:
  - operation: gemm
    gemm_kind: universal3x
    element_a: f16
    element_c: f16
    element_accumulator: f32
    layout: tn
    kernel_schedule: TmaWarpSpecialized
    tile_description: {threadblock_shape: [64, 64, 64]}
"""
"""One kernel of CUTLASS 3.x, of the smallest tile."""

CONV2D = """\
arch: sm_80
kernels:
  - operation: conv2d
    conv_kind: fprop
    element_a: f16
    element_c: f16
    element_accumulator: f32
    alignment: 8
    instruction_shape: [16, 8, 16]
    tile_description: {threadblock_shape: [64, 64, 32], warp_count: [2, 2, 1], stages: 3}
"""
"""One convolution of CUTLASS 2.x, of the smallest tile."""


def expanded(text: str, folder: Path, **request: object) -> dict[str, Kernel]:
    """The kernels of a manifest's text, by label."""
    path = folder / "manifest.yaml"
    path.write_text(text)
    return dict(generate.select(Request([str(path)], **request)).kernels)  # type: ignore[arg-type]


def with_values(text: str, **values: str) -> str:
    """The text with other values for some of its keys."""
    lines = []
    for line in text.splitlines():
        key = line.strip().removeprefix("- ").partition(":")[0]
        lines.append(f"{line.partition(':')[0]}: {values.pop(key)}" if key in values else line)
    assert not values, f"the text has no {values}"
    return "\n".join(lines) + "\n"
