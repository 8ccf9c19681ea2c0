"""What GPUs can do at most, by NVIDIA's data sheets: TFLOP/s (or TOP/s) at boost clock, without sparsity.

The names are those that CUDA gives. A GPU that is not listed has no known peak: nothing is guessed. Where a data sheet
gives figures with sparsity alone, which are marked so in it, half of them are meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Peak:
    """The peaks of one GPU; None for what it does not have, or what is not published."""

    f16: float
    """f16 and bf16 operands on tensor cores, f32 accumulators."""
    tf32: float | None
    int8: float | None
    fp8: float | None
    f32: float
    """Outside tensor cores."""
    f64: float | None
    """On tensor cores."""
    bandwidth: float
    """Memory, in TB/s."""
    f64_simt: float | None = None
    """Outside tensor cores."""
    f16_f16: float | None = None
    """With f16 accumulators, where that is faster."""


_H100_SXM = Peak(989.4, 494.7, 1978.9, 1978.9, 66.9, 66.9, 3.35, f64_simt=33.5)
_H100_NVL = Peak(835.5, 417.5, 1670.5, 1670.5, 60.0, 60.0, 3.9, f64_simt=30.0)
_A100_80 = Peak(312.0, 156.0, 624.0, None, 19.5, 19.5, 2.039, f64_simt=9.7)
_A100_40 = replace(_A100_80, bandwidth=1.555)

PEAKS: Mapping[str, Peak] = {
    # NVIDIA HGX B200 data sheet, an eighth of the board.
    "NVIDIA B200": Peak(2250.0, 1125.0, 4500.0, 4500.0, 75.0, 37.0, 7.7, f64_simt=37.0),
    # NVIDIA H200 Tensor Core GPU data sheet; the digits after the point from the H100 whitepaper: it is the same chip.
    "NVIDIA H200": replace(_H100_SXM, bandwidth=4.8),
    "NVIDIA H200 NVL": replace(_H100_NVL, bandwidth=4.8),
    # NVIDIA H100 Tensor Core GPU data sheet, and the Hopper architecture's whitepaper, table "H100 peak performance";
    # NVIDIA GH200 data sheet.
    "NVIDIA H100 80GB HBM3": _H100_SXM,
    "NVIDIA GH200 480GB": replace(_H100_SXM, bandwidth=4.0),
    "NVIDIA H100 NVL": _H100_NVL,
    "NVIDIA H100 PCIe": Peak(756.0, 378.0, 1513.0, 1513.0, 51.2, 51.2, 2.0, f64_simt=25.6),
    # NVIDIA A100 Tensor Core GPU data sheet.
    "NVIDIA A100-SXM4-80GB": _A100_80,
    "NVIDIA A100 80GB PCIe": replace(_A100_80, bandwidth=1.935),
    "NVIDIA A100-SXM4-40GB": _A100_40,
    "NVIDIA A100-PCIE-40GB": _A100_40,
    # NVIDIA A30, A10, A40 data sheets; for RTX A6000, appendix C of the Ampere GA102 whitepaper.
    "NVIDIA A30": Peak(165.0, 82.0, 330.0, None, 10.3, 10.3, 0.933, f64_simt=5.2),
    "NVIDIA A10": Peak(125.0, 62.5, 250.0, None, 31.2, None, 0.6),
    "NVIDIA A40": Peak(149.7, 74.8, 299.3, None, 37.4, None, 0.696),
    "NVIDIA RTX A6000": Peak(154.8, 77.4, 309.7, None, 38.7, None, 0.768),
    # NVIDIA L4, L40, L40S data sheets.
    "NVIDIA L4": Peak(121.0, 60.0, 242.5, 242.5, 30.3, None, 0.3),
    "NVIDIA L40": Peak(181.05, 90.5, 362.0, 362.0, 90.5, None, 0.864),
    "NVIDIA L40S": Peak(362.05, 183.0, 733.0, 733.0, 91.6, None, 0.864),
    # NVIDIA T4 data sheet.
    "Tesla T4": Peak(65.0, None, 130.0, None, 8.1, None, 0.32),
    # NVIDIA Ampere GA102 and Ada GPU architecture whitepapers.
    "NVIDIA GeForce RTX 3090": Peak(71.0, 35.6, 284.0, None, 35.6, None, 0.936, f16_f16=142.0),
    "NVIDIA GeForce RTX 4090": Peak(165.2, 82.6, 660.6, 330.3, 82.6, None, 1.008, f16_f16=330.3),
}

_TENSOR = {"f16": "f16", "bf16": "f16", "f32": "tf32", "tf32": "tf32", "s8": "int8", "u8": "int8", "f64": "f64"}
_SIMT = {"f32": "f32", "f64": "f64_simt"}
_OF_F32 = {
    "multiply_add_fast_f16": ("f16", 1),
    "multiply_add_fast_bf16": ("f16", 1),
    "multiply_add_fast_f32": ("tf32", 3),
}
"""What tensor cores multiply instead of f32 numbers, and how many such products stand for one."""


def peak_tflop_per_s(gpu: str, config: Mapping[str, Any]) -> float | None:
    """The most that this GPU can do in a kernel's arithmetic; None where it is not known."""
    peak = PEAKS.get(gpu)
    if peak is None:
        return None
    element, products = str(config.get("element_a", "")), 1
    if config.get("opcode_class") == "simt":
        column = _SIMT.get(element)
    elif element.startswith("e"):  # e4m3, e5m2
        column = "fp8"
    elif config.get("math_operation") in _OF_F32:
        column, products = _OF_F32[config["math_operation"]]
    else:
        column = _TENSOR.get(element)
    if column == "f16" and config.get("element_accumulator") == "f16" and peak.f16_f16:
        column = "f16_f16"
    rate: float | None = getattr(peak, column) if column else None
    return rate and rate / products
