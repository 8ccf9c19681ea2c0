"""What a GPU verified, kept in the repository: the results of tests/gpu/verify_kernels.py, one line for kernels alike.

    python tests/gpu/verify_kernels.py --all --json wide.json tests/data/wide_gemm.yaml tests/data/wide_conv2d.yaml
    python docs/record.py --date 2026-11-30 --cutlass 4.2.0 wide.json > docs/recorded/h200.json

A record says what the kernels were, on how many problems each was right, and the worst error as a fraction of its
tolerance; and with which GPU, driver, CUDA and CUTLASS. docs/support.py makes the table of what is supported from it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cutlass_ninja.operations import threadblock

FACETS = (
    "operation",
    "instructions",
    "gemm_kind",
    "conv_kind",
    "stride_support",
    "iterator_algorithm",
    "group_mode",
    "opcode_class",
    "element_a",
    "element_b",
    "element_accumulator",
    "element_c",
    "element_d",
    "math_operation",
    "epilogue_functor",
    "bias",
    "activation",
    "binary_op",
    "unary_op",
    "split_k_mode",
    "swizzling_functor",
    "kernel_schedule",
    "epilogue_schedule",
    "tile_scheduler",
)
"""What a record keeps of a kernel: fields of its configuration, and the first architecture with its instructions."""

FIGURES = ("kernels", "problems", "verified", "worst_error_of_tolerance")
"""What it keeps of their results: numbers of kernels, of problems and of right results; the worst of these."""

_FIRST_ARCH = 75  # What nvcc still compiles for; SIMT kernels are for older ones, too.


def main() -> int:
    """Reads results, prints their record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", help="files that verify_kernels.py --json wrote")
    parser.add_argument("--date", required=True, help="of the run")
    parser.add_argument("--cutlass", required=True, help="the version that was used")
    options = parser.parse_args()
    results = [result for path in options.results for result in json.loads(Path(path).read_text())]
    print(text({"date": options.date, "cutlass": options.cutlass, **record(results)}), end="")
    return 0


def instructions(config: Mapping[str, Any]) -> str:
    """The first architecture that has a kernel's instructions, as manifests name it."""
    if config.get("gemm_kind") == "universal3x":
        return "sm_90a"
    return f"sm_{max(threadblock.arch_tag(config), _FIRST_ARCH)}"


def facets(operation: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of a kernel; None where it has no such field."""
    values = {"operation": operation, **config}
    values["instructions"] = instructions(values)
    return {facet: values.get(facet) for facet in FACETS}


def record(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record of one run. Raises ValueError for results of more than one machine."""
    machines = {
        (one["device"]["name"], one["driver_version"], one["cuda_driver_version"], one["cuda_runtime_version"])
        for one in results
        if "device" in one
    }
    if len(machines) != 1:
        raise ValueError(f"a record is of one machine, these results are of {len(machines)}")
    ((gpu, driver, cuda_driver, cuda_runtime),) = machines
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        alike[tuple(facets(result["about"]["operation"], result["about"]).values())].append(result)
    return {
        "gpu": gpu,
        "driver": driver,
        "cuda_driver": cuda_driver,
        "cuda_runtime": cuda_runtime,
        "fields": [*FACETS, *FIGURES],
        "kernels": [[*values, *figures(alike[values])] for values in sorted(alike, key=str)],
    }


def figures(results: Sequence[Mapping[str, Any]]) -> list[float]:
    """FIGURES of kernels alike."""
    right = sum(result["status"] == "success" for result in results)
    return [len({result["about"]["key"] for result in results}), len(results), right, max(map(worst, results))]


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A record's head and its kernels, each by FACETS (absent where a kernel has none) and FIGURES."""
    recorded = json.loads(path.read_text())
    rows = [dict(zip(recorded["fields"], row, strict=True)) for row in recorded.pop("kernels")]
    return recorded, [{name: value for name, value in row.items() if value is not None} for row in rows]


def worst(result: Mapping[str, Any]) -> float:
    """The largest error of a right result as a fraction of its tolerance, in three digits; 0 for an exact one."""
    if result["status"] != "success":
        return 0.0
    ratios = (check["error"] / check["tolerance"] for check in result["verification_checks"] if check["tolerance"])
    return float(f"{max(ratios, default=0.0):.3g}")


def text(recorded: Mapping[str, Any]) -> str:
    """A record as JSON, one line for kernels alike."""
    head = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in recorded.items() if name != "kernels"]
    rows = ",\n".join(f"  {json.dumps(row, separators=(',', ':'))}" for row in recorded["kernels"])
    return "{\n" + ",\n".join([*head, f' "kernels": [\n{rows}\n ]']) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
