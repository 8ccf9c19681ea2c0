"""What a kernel computes, as opposed to how: kernels of one signature can stand in for one another.

So can kernels of others where they are asked otherwise; see forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PREFIXES = ("element_", "layout")
_NAMES = ("conv_kind", "math_operation", "bias", "activation", "binary_op", "unary_op")
"""Other fields of a configuration that change the result, beside those that begin with _PREFIXES."""
_UNREMARKABLE = (None, "none", "identity", "multiply_add", "multiply_add_saturate")
"""Values of _NAMES that mean the same as none."""


def signature(config: Mapping[str, Any], problem: Mapping[str, Any]) -> dict[str, Any]:
    """The values that decide what is computed for this problem.

    C's type is none of them where beta is 0, as C is not read. For f32 operands, tensor cores count as another
    arithmetic: they multiply in TF32.
    """
    found = {name: value for name, value in config.items() if name.startswith(_PREFIXES)} | _remarkable(config)
    if problem.get("beta", 0) == 0:
        found.pop("element_c", None)
    if config.get("element_a") == "f32" and "opcode_class" in config:
        found["opcode_class"] = config["opcode_class"]
    return found


def is_plain(config: Mapping[str, Any]) -> bool:
    """Whether D = alpha * A * B + beta * C is all that is computed, in the operands' own arithmetic."""
    return not _remarkable(config)


def shown(config: Mapping[str, Any]) -> str:
    """A signature in a few words: `f16*f16+f32=f16 tnn`, with `*` for a layout that does not matter."""
    config = {"element_d": config.get("element_c", "?"), **config}
    elements = [str(config.get(f"element_{which}", "?")) for which in ("a", "b", "accumulator", "d")]
    extra = [str(value) for value in _remarkable(config).values()]
    if config.get("element_a") == "f32" and config.get("opcode_class") == "tensorop":
        extra.append("tf32")
    return " ".join(["{}*{}+{}={}".format(*elements), layout(config), *extra])


def layout(config: Mapping[str, Any]) -> str:
    """The layouts of A, B and C in a word, `tnn`, or what all tensors have: `nhwc`."""
    return "".join(str(config.get(f"layout_{which}", "")) for which in "abc") or str(config.get("layout", ""))


def _remarkable(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: config[name] for name in _NAMES if config.get(name) not in _UNREMARKABLE}
