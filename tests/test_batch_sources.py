"""The sources of a batch."""

from __future__ import annotations

import re

from cutlass_ninja.batch_sources import device_unit, entry_of, host_unit, keys_in, main_of, without_folders

A, B = "a" * 20, "b" * 20


def texts(key: str) -> dict[str, str]:
    return {
        "identity.h": f"#pragma once\n#define ENTRY cutlass_ninja_{key}\n",
        "kernel.h": '#pragma once\n#include "cutlass/gemm.h"\nusing Kernel = int;\n',
        "device.cu": '#include "identity.h"\n#include "kernel.h"\n#include "cutlass/gemm.h"\nvoid device();\n',
        "host.cpp": '#include <new>\n#include "identity.h"\n#include "kernel.h"\nvoid host();\n',
        "profiler.cu": '#include "device.cu"\n#include "host.cpp"\nint main() {}\n',
    }


KERNELS = {A: texts(A), B: texts(B)}


def test_each_kernel_is_in_a_namespace_of_its_own() -> None:
    unit = device_unit(KERNELS)
    first, _, rest = unit.partition(f"namespace kernel_{A} {{\n")
    assert first == '#include "cutlass/gemm.h"\n'
    assert re.findall("^namespace (.*) {$", unit, re.MULTILINE) == [f"kernel_{A}", f"kernel_{B}"]
    assert "#include" not in rest and "#pragma" not in rest
    assert unit.count("using Kernel = int;") == unit.count("void device();") == 2
    assert unit.count("#undef ENTRY\n") == 2 and "void host();" not in unit


def test_the_host_unit_has_stubs_first_and_no_device_half() -> None:
    unit = host_unit(KERNELS)
    assert unit.startswith('#include "cutlass_ninja/host_stubs.h"\n#include <new>\n#include "cutlass/gemm.h"\n')
    assert "void device();" not in unit and unit.count("void host();") == 2
    assert unit.count("#define main cutlass_ninja_main\n") == unit.count("#undef main\n") == 2


def test_macros_for_the_headers_come_before_all_of_them() -> None:
    header = "#pragma once\n#ifndef WIDE\n#define WIDE\n#endif\n" + KERNELS[B]["kernel.h"] + "#define LATER\n"
    kernels = {A: KERNELS[A], B: KERNELS[B] | {"kernel.h": header}}
    assert device_unit(kernels).startswith('#define WIDE\n#include "cutlass/gemm.h"\n')
    assert host_unit(kernels).startswith('#define WIDE\n#include "cutlass_ninja/host_stubs.h"\n')


def test_lines_are_those_of_the_kernels_files() -> None:
    lines = device_unit(KERNELS).splitlines()
    place = lines.index("using Kernel = int;")
    marks = [(index, line) for index, line in enumerate(lines[:place]) if line.startswith("#line")]
    index, mark = marks[-1]
    assert mark == f'#line 1 "{A}/kernel.h"' and place - index == 3


def test_names() -> None:
    assert main_of(A) == f"_ZN27kernel_{A}18cutlass_ninja_mainEiPPc"
    assert entry_of(A) == f"cutlass_ninja_{A}"


def test_messages_name_kernels_by_their_keys() -> None:
    message = f"{B}/kernel.h(3): error: no\n"
    assert keys_in(message, [A, B]) == [B]
    assert keys_in(f"in instantiation of kernel_{A}::Kernel", [A, B]) == [A]
    assert keys_in("cutlass.h(3): error: no", [A, B]) == []
    assert without_folders(message) == "kernel.h(3): error: no\n"
