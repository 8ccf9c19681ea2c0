"""The problems that convolutions are verified on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PEAK = "peak"
"""The problem that shows a kernel's speed."""


def conv2d_problems(about: Mapping[str, Any]) -> dict[str, dict[str, float | str]]:
    """Problems that the kernel is for: of its strides, its groups, and channels that its alignments allow."""
    iterator, mode, tile_n = about["iterator_algorithm"], about["group_mode"], about["threadblock_shape"][1]
    dgrad, fprop = about["conv_kind"] == "dgrad", about["conv_kind"] == "fprop"
    strided = about["stride_support"] == "strided"
    a, b, out = (about[f"alignment_{operand}"] for operand in "abc")
    c, k = (max(a, b), out) if fprop else (max(b, out), a)  # The fewest channels and filters.
    many = {"c": c if iterator == "fixed_channels" else 5 * c, "k": 7 * k}
    few = {"c": c, "k": k}
    deep = {"c": c if iterator.endswith("channels") else max(c, 256), "k": max(k, 256)}
    alpha, beta = 1.5, -0.5
    if about["element_c"] in ("s8", "u8"):
        alpha = 1 / 32  # So that few results saturate.
    elif about["element_epilogue"] == "s32":
        alpha, beta = 3, -2
    scaled = {"alpha": alpha, "beta": beta}
    square = {"r": 3, "s": 3, "pad_h": 1, "pad_w": 1}
    ragged = {"n": 3, "h": 13, "w": 11, **many, **square}
    problems: dict[str, dict[str, float | str]] = {
        "regular": {"n": 8, "h": 16, "w": 16, "c": deep["c"], "k": 128, **square},
        "ragged": ragged,
        "batch 1": {**ragged, "n": 1},
        "fewest channels": {"n": 2, "h": 9, "w": 10, **few, **square},
        "one pixel": {"n": 1, "h": 1, "w": 1, **many, "r": 1, "s": 1, "pad_h": 0, "pad_w": 0},
        "padding beyond the filter": {**ragged, "pad_h": 4, "pad_w": 3},
        "flat filter": {**ragged, "r": 1, "s": 5, "pad_h": 0, "pad_w": 2},
        "turned filter": {**ragged, "r": 3, "s": 2, "conv_mode": "conv"},
        "beta": {**ragged, **scaled},
        "beta 1": {**ragged, "alpha": alpha, "beta": 1},
        PEAK: {"n": 64, "h": 28, "w": 28, **deep, **square},
    }
    if strided:
        problems |= {
            "stride 2": {**ragged, "stride_h": 2, "stride_w": 2},
            "stride 3 and 2": {**ragged, "stride_h": 3, "stride_w": 2, "beta": 1},
            "1x1 filter, stride 2": {
                **{**ragged, "r": 1, "s": 1, "pad_h": 0, "pad_w": 0},
                **{"stride_h": 2, "stride_w": 2, **scaled},
            },
            "7x7 filter, stride 2": {
                **{"n": 2, "h": 33, "w": 29, **many, "r": 7, "s": 7, "pad_h": 3, "pad_w": 3},
                **{"stride_h": 2, "stride_w": 2},
            },
            "turned filter, stride 2": {**ragged, "r": 2, "s": 3, "stride_h": 2, "stride_w": 2, "conv_mode": "conv"},
        }
    if not (dgrad and strided):
        problems["dilation 2"] = {**ragged, "pad_h": 2, "pad_w": 2, "dilation_h": 2, "dilation_w": 2}
        problems["dilation 3 and 2"] = {**ragged, "pad_h": 3, "pad_w": 1, "dilation_h": 3, "dilation_w": 2}
    if mode != "none":
        filters = tile_n if mode == "single_group" else tile_n // 2
        grouped = {"n": 2, "h": 9, "w": 10, **square}
        problems["2 groups"] = {**grouped, "c": 2 * 5 * c, "k": 2 * filters, "groups": 2}
        problems["4 groups, beta"] = {**grouped, "c": 4 * c, "k": 4 * filters, "groups": 4, **scaled}
    if mode == "none" and not iterator.endswith("channels") and can_split(about):
        problems["2 slices"] = {**ragged, "split_k_slices": 2}
        problems["5 slices, beta"] = {**ragged, "split_k_slices": 5, **scaled}
    return problems


def can_split(about: Mapping[str, Any]) -> bool:
    """Whether the epilogue can be applied to sums of parts of K."""
    serial = about["split_k_mode"] == "serial"
    rounds = about["element_c"] in ("s8", "u8", "s32") and about["element_epilogue"] != "s32"
    return not (serial and (rounds or "binary_op" in about))
