"""Kernels that were wrong, failed, or never came to be measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import problems, store
from ..errors import BuildError
from ..plan import Plan
from ..results import Result
from ..store import PLAN, Status

_WORST_FIRST = ("incorrect", "crashed", "timed_out", "failed", "skipped", "success", "not_supported")
_HARMLESS = "not_supported"
NOT_COMPILED = "not compiled"
"""What is said of a kernel that nvcc refused."""
NOT_VERIFIED = "not verified"
"""What is said of a kernel that was timed and not verified."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong with one kernel in the same way, on as many problems as it did."""

    kernel: str
    key: str
    status: str
    """That of its results, NOT_COMPILED or NOT_VERIFIED."""
    reason: str
    """Of the first of them."""
    problem: str
    """The first of them in a few words; empty where it is no matter of problems."""
    count: int
    """On how many problems, with how many parameters."""


def of_results(results: Iterable[Result]) -> list[Trouble]:
    """The troubles of results, the worst first. What a kernel does not support is none."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if not result.verified and result.status != _HARMLESS:
            found.setdefault((result.key, result.status), []).append(result)
    ordered = sorted(found.values(), key=lambda alike: (severity(alike[0]), alike[0].kernel, alike[0].key))
    return [_trouble(alike) for alike in ordered]


def uncompiled() -> list[Trouble]:
    """The kernels of the build in the current folder that do not compile; none where there is no build."""
    try:
        targets = Plan.read(PLAN).kernels
    except BuildError:
        return []
    states = store.survey(targets)
    failed = [target for target in targets if states[target.key].status is Status.FAILED]
    return [
        Trouble(target.kernel.name, target.key, NOT_COMPILED, states[target.key].reason, "", 1) for target in failed
    ]


def severity(result: Result) -> int:
    """The place of a result's status among those that are no success: the worst first."""
    return _WORST_FIRST.index(result.status) if result.status in _WORST_FIRST else 0


def status(result: Result) -> str:
    """How a result that is not verified is called."""
    return NOT_VERIFIED if result.status == "success" else result.status


def reason(result: Result) -> str:
    """Why it is not verified, in words; for a wrong one without, the error and the tolerance."""
    check = result.worst_check()
    if result.reason or result.status != "incorrect" or not check:
        return result.reason
    return f"error {check.get('error')}, tolerance {check.get('tolerance')}"


def _trouble(alike: list[Result]) -> Trouble:
    first = alike[0]
    problem = problems.text(first.operation, first.problem, first.parameters)
    return Trouble(first.kernel, first.key, status(first), reason(first), problem, len(alike))
