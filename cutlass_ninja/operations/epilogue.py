"""What a kernel does with its sums before it writes them: one vocabulary for all operation kinds and both CUTLASSes.

    linear_combination                 D = activation(alpha * sum + beta * C + bias)
    linear_combination_clamp           D = clamp(round(alpha * sum + beta * C)), for 8-bit integers
    linear_combination_residual_block  D = unary_op(binary_op(activation(alpha * sum + bias), beta * C))

Sources: cutlass/epilogue/thread/linear_combination{,_generic,_clamp,_bias_elementwise,_residual_block}.h and
activation.h for 2.x, cutlass/epilogue/fusion/operations.hpp and the builders of cutlass/epilogue/collective for 3.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..elements import ELEMENTS
from ..schema import Choice, Field
from .operation import Config, Violation

LINEAR, CLAMP, RESIDUAL = "linear_combination", "linear_combination_clamp", "linear_combination_residual_block"
FUNCTORS = (LINEAR, CLAMP, RESIDUAL)


@dataclass(frozen=True, slots=True)
class Activation:
    """One activation function."""

    cpp: str
    """Its template in cutlass::epilogue::thread."""
    heavy: bool
    """Whether it costs so much that CUTLASS keeps the epilogue's loop rolled (kIsHeavy)."""


ACTIVATIONS = {
    "identity": Activation("Identity", False),
    "relu": Activation("ReLu", False),
    "leaky_relu": Activation("LeakyReLU", False),
    "gelu": Activation("GELU", True),
    "gelu_taylor": Activation("GELU_taylor", True),
    "silu": Activation("SiLu", True),
    "sigmoid": Activation("Sigmoid", True),
    "hardswish": Activation("HardSwish", False),
    "tanh": Activation("Tanh", True),
}
"""By their names in manifests. gelu is exact, by erf; gelu_taylor is the approximation by tanh."""

BIASES = ("none", "per_row", "per_column")
BINARY_OPS = ("plus", "multiplies")
UNARY_OPS = ("identity", "relu")

UNREMARKABLE = {
    "epilogue_functor": LINEAR,
    "bias": "none",
    "activation": "identity",
    "binary_op": "plus",
    "unary_op": "identity",
}
"""Values that a kernel's label does not mention."""

FIELDS = (
    Field("epilogue_functor", Choice(FUNCTORS, "epilogue functor"), "default: clamp for 8-bit integers, else linear"),
    Field("bias", Choice(BIASES, "bias"), "a vector added before the activation: one value a row or a column of D"),
    Field("activation", Choice(tuple(ACTIVATIONS), "activation"), "default: identity"),
    Field("binary_op", Choice(BINARY_OPS, "binary operation"), "of a residual block, with beta * C; default: plus"),
    Field("unary_op", Choice(UNARY_OPS, "unary operation"), "of a residual block, applied last; default: identity"),
)


def default_element_epilogue(accumulator: str, element_d: str) -> str:
    """The type in which alpha and beta are applied: the accumulator's, but f32 where sums are scaled to 8 bits."""
    return "f32" if _is_narrow(element_d) else accumulator


def configure(values: Mapping[str, Any], element_d: str) -> dict[str, Any]:
    """The epilogue's part of a configuration, from the fields that were given."""
    functor = values.get("epilogue_functor", CLAMP if _is_narrow(element_d) else LINEAR)
    config = {
        "epilogue_functor": functor,
        "bias": values.get("bias", "none"),
        "activation": values.get("activation", "identity"),
    }
    if functor == RESIDUAL:
        config |= {"binary_op": values.get("binary_op", "plus"), "unary_op": values.get("unary_op", "identity")}
    return config


def foreign(values: Mapping[str, Any], config: Config) -> dict[str, str]:
    """The given fields that mean nothing to this epilogue, and why."""
    if config["epilogue_functor"] == RESIDUAL:
        return {}
    return {
        name: f"{name} is for epilogue_functor {RESIDUAL}, not for {config['epilogue_functor']}; leave it out"
        for name in ("binary_op", "unary_op")
        if name in values
    }


def is_plain(config: Config) -> bool:
    """Whether D is no more than alpha * sum + beta * C, clamped or not."""
    return (config["bias"], config["activation"]) == ("none", "identity") and config["epilogue_functor"] != RESIDUAL


def has_broadcast(config: Config) -> bool:
    """Whether a 2.x kernel needs the epilogue with a broadcast vector, EpilogueWithBroadcast."""
    return (config["bias"], config["epilogue_functor"]) not in (("none", LINEAR), ("none", CLAMP))


def violations(config: Config) -> Iterator[Violation]:
    """What no kernel can have, of whichever kind."""
    functor, element_d = config["epilogue_functor"], config["element_d"]
    if functor == CLAMP and not _is_narrow(element_d):
        yield Violation("epilogue_functor", f"{CLAMP} is for s8 and u8 outputs; D is {element_d}")
    elif functor != CLAMP and _is_narrow(element_d):
        yield Violation(
            "epilogue_functor", f"{functor} does not saturate, and D is {element_d}; use {CLAMP}, which does"
        )
    if ELEMENTS[element_d].integer:
        for field, plain in (("bias", "none"), ("activation", "identity")):
            if config[field] != plain:
                yield Violation(field, f"{field} is {config[field]}, and D is {element_d}; it is for floating-point D")
        if functor == RESIDUAL:
            yield Violation("epilogue_functor", f"{RESIDUAL} is for floating-point D; D is {element_d}")
    if functor == RESIDUAL and config["element_c"] == "void":
        yield Violation("element_c", f"C is void, but it is what a {RESIDUAL} adds or multiplies by")


def violations_2x(config: Config) -> Iterator[Violation]:
    """What CUTLASS 2.x cannot have. D's layout is `layout_c`: n (column-major) or t (row-major)."""
    yield from violations(config)
    contiguous = "per_column" if config["layout_c"] == "t" else "per_row"
    if config["bias"] not in ("none", contiguous):
        order = "row-major" if config["layout_c"] == "t" else "column-major"
        yield Violation(
            "bias",
            f"bias is {config['bias']} and D {order}; EpilogueWithBroadcast repeats a vector that lies along D's "
            f"contiguous dimension: use {contiguous}, or the other layout of C and D",
        )
    if config["epilogue_functor"] == RESIDUAL and config["activation"] == "leaky_relu":
        yield Violation(
            "activation",
            "LinearCombinationResidualBlock hands no slope to its activation, so leaky_relu would be relu; use relu",
        )


def violations_3x(config: Config) -> Iterator[Violation]:
    """What CUTLASS 3.x cannot have."""
    yield from violations(config)
    if config["epilogue_schedule"] == "NoSmemWarpSpecialized" and not is_plain(config):
        field = next(
            name
            for name, plain in (("epilogue_functor", LINEAR), ("bias", "none"), ("activation", "identity"))
            if config[name] != plain
        )
        yield Violation(
            field,
            f"{field} is {config[field]}; CollectiveBuilder fuses it into TMA epilogues only, not into "
            "NoSmemWarpSpecialized",
        )


def template_values(config: Config) -> dict[str, Any]:
    """What the templates need of the epilogue beside the configuration itself."""
    activation = ACTIVATIONS[config["activation"]]
    return {
        "activation_cpp": f"cutlass::epilogue::thread::{activation.cpp}",
        "activation_heavy": activation.heavy,
        "unary_op_cpp": f"cutlass::epilogue::thread::{ACTIVATIONS[config.get('unary_op', 'identity')].cpp}",
        "has_broadcast": has_broadcast(config),
    }


def _is_narrow(element: str) -> bool:
    return ELEMENTS[element].integer and ELEMENTS[element].bits == 8
