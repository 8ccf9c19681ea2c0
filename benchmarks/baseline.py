"""Our best kernels beside cuBLASLt, and how far the figures can be trusted: everything on this machine's GPU.

    python benchmarks/baseline.py [--folder DIR] [--manifest benchmarks/hopper_f16.yaml] [--jobs N]
        [--cublaslt libcublasLt.so.13] [--layouts tnn nnn] [--steps build sweep repeat exhaustive]

  build       builds the manifest in the folder; what is in its cache already is used
  sweep       with the baseline, for the layouts that are asked for: the winner, its rate and the factors for each
              problem, beside the best that cuBLASLt offers and beside what it takes by itself, and geometric means
  repeat      sweeps again from scratch: whether the same kernels win as in the last `sweep`, how far medians differ
  exhaustive  sweeps the TN kernels on two problems, quickly and exhaustively: whether coarse passes and finals find the
              same, and the time that they save
Prints one JSON object on stdout. Without the step `build` the folder may be a copy from a machine that has compilers.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from sweeping import build, profile

from cutlass_ninja import results

HERE = Path(__file__).parent
EXHAUSTIVE = ("m=1024,n=1024,k=1024", "m=4096,n=4096,k=4096")
LAYOUTS = ["tnn", "nnn"]
LONG_MS = 0.05
SHOWN = (
    "signature", "kernel", "parameters", "exchanged", "median_ms", "tflop_per_s", "percent_of_peak",
    "baseline_median_ms", "baseline_parameters", "factor",
)  # fmt: skip
STEPS = ["build", "sweep", "repeat", "exhaustive"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="build-baseline")
    parser.add_argument("--manifest", default=str(HERE / "hopper_f16.yaml"))
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--cublaslt", default="")
    options = parser.parse_args()
    folder = Path(options.folder)
    flags = ["--layouts", ",".join(options.layouts)]
    if options.cublaslt:
        flags += ["--cublaslt", options.cublaslt]
    told: dict[str, Any] = {}
    if "build" in options.steps:
        told["build_s"] = build(folder, options.manifest, options.jobs)
    if "sweep" in options.steps:
        told["sweep"] = compared(profile(folder, "first", *flags), measured(folder / "first.sqlite"))
    if "repeat" in options.steps:
        told["repeat"] = repeated(folder, profile(folder, "second", *flags)["best"])
    if "exhaustive" in options.steps:
        told["exhaustive"] = exhaustive(folder)
    print(json.dumps(told, indent=1))


def compared(told: dict[str, Any], found: dict[tuple[str, str, str], results.Result]) -> dict[str, Any]:
    """Our winners beside the baseline's best, and beside what it takes by itself."""
    best = told["best"]
    by_itself = {
        (result.identity[1], result.form.types): result.median_ms or math.nan
        for result in found.values()
        if result.provider != results.OURS and result.parameters == {"algorithm": 0}
    }
    rows = [
        {
            "problem": "x".join(str(choice["problem"][name]) for name in "mnk"),
            **{name: choice[name] for name in SHOWN},
            "factor_by_itself": factor_of(by_itself, choice),
            "ties": len(choice["ties"]),
            "wrong": choice["wrong"],
        }
        for choice in best
    ]
    factors = {(row["problem"], row["signature"]): row["factor"] for row in rows if row["factor"]}
    large = [factor for (problem, _), factor in factors.items() if int(problem.partition("x")[0]) >= 1024]
    return {
        "summary": told["summary"],
        "problems": rows,
        "gpu": best[0]["gpu"] if best else None,
        "driver": best[0]["driver"] if best else None,
        "geometric_mean": geometric_mean(list(factors.values())),
        "geometric_mean_m_1024_up": geometric_mean(large),
        "least_factor": min(factors.values(), default=None),
        "geometric_mean_by_itself": geometric_mean(
            [row["factor_by_itself"] for row in rows if row["factor_by_itself"]]
        ),
    }


def repeated(folder: Path, second: list[dict[str, Any]]) -> dict[str, Any]:
    """How two sweeps differ: winners, and the medians of all that both measured fully."""
    first = json.loads((folder / "first.json").read_text())["best"]
    before, after = by_problem(first), by_problem(second)
    old, new = (measured(folder / f"{name}.sqlite") for name in ("first", "second"))
    both = [
        (old[identity], new[identity])
        for identity in old.keys() & new.keys()
        if old[identity].precision != "coarse" and new[identity].precision != "coarse"
    ]
    differences = sorted(
        abs((b.median_ms or 0) / (a.median_ms or 1) - 1) for a, b in both if (a.median_ms or 0) >= LONG_MS
    )
    winners = []
    for problem in before.keys() & after.keys():
        a, b = before[problem], after[problem]
        # What the first winner takes in the second sweep, beside the second's.
        again = new.get((a["key"], *identity_of(a)))
        loss = (again.median_ms or math.inf) / b["median_ms"] - 1 if again and again.median_ms else None
        winners.append({"problem": problem, "same": a["key"] == b["key"], "first_winners_loss": loss})
    return {
        "same_winner_or_within_1_percent": sum(
            one["same"] or (one["first_winners_loss"] is not None and one["first_winners_loss"] <= 0.01)
            for one in winners
        ),
        "problems": len(winners),
        "others": [one for one in winners if not one["same"]],
        "medians_over_50_us": len(differences),
        "largest_difference": differences[-1] if differences else None,
        "difference_p95": differences[int(0.95 * (len(differences) - 1))] if differences else None,
    }


def exhaustive(folder: Path) -> dict[str, Any]:
    """An exhaustive sweep of the TN kernels on some problems, beside the quick one."""
    only = ["--only", "*_tnn_*", *(f"--problem={problem}" for problem in EXHAUSTIVE)]
    quick = profile(folder, "quick", *only)
    slow = profile(folder, "slow", *only, "--exhaustive")
    pairs = [(choice, by_problem(slow["best"])[problem]) for problem, choice in by_problem(quick["best"]).items()]
    return {
        "quick_s": quick["summary"]["wall_s"],
        "exhaustive_s": slow["summary"]["wall_s"],
        "coarse_error": quick["summary"]["coarse_error"],
        "winners": [
            {
                "problem": problem_text(a),
                "quick": [a["kernel"], a["parameters"], a["median_ms"]],
                "exhaustive": [b["kernel"], b["parameters"], b["median_ms"]],
                "loss": a["median_ms"] / b["median_ms"] - 1,
            }
            for a, b in pairs
        ],
    }


def factor_of(times: dict[tuple[str, str], float], choice: dict[str, Any]) -> float | None:
    time = times.get((results.canonical(choice["problem"]), choice["signature"]))
    return time / choice["median_ms"] if time and choice["median_ms"] else None


def measured(path: Path) -> dict[tuple[str, str, str], results.Result]:
    with results.open_results(str(path), write=False) as opened:
        return {result.identity: result for result in opened.all() if result.verified}


def by_problem(best: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {problem_text(choice): choice for choice in best if choice["median_ms"]}


def problem_text(choice: dict[str, Any]) -> str:
    return f"{'x'.join(str(choice['problem'][name]) for name in 'mnk')} {choice['signature']}"


def identity_of(choice: dict[str, Any]) -> tuple[str, str]:
    return results.canonical(choice["kernel_problem"]), results.canonical(choice["parameters"])


def geometric_mean(values: list[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


if __name__ == "__main__":
    main()
