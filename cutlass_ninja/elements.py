"""Element types, by the names of cutlass_library.DataType."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Element:
    """One element type."""

    name: str
    bits: int
    cpp: str
    """The C++ type."""
    letter: str
    """How a 2.x kernel's name abbreviates it as an accumulator (cutlass_library.ShortDataTypeNames)."""
    integer: bool = False


ELEMENTS = {
    element.name: element
    for element in (
        Element("f16", 16, "cutlass::half_t", "h"),
        Element("bf16", 16, "cutlass::bfloat16_t", "bf"),
        Element("tf32", 32, "cutlass::tfloat32_t", "tf32"),
        Element("f32", 32, "float", "s"),
        Element("f64", 64, "double", "d"),
        Element("s8", 8, "int8_t", "s8", integer=True),
        Element("u8", 8, "uint8_t", "u8", integer=True),
        Element("s32", 32, "int32_t", "i", integer=True),
        Element("void", 0, "void", ""),
    )
}
