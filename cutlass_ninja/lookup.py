"""What `cutlass_ninja.best` does: the results and the build of a folder -> choices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import choose, document, results
from .choose import Choice
from .contests import CACHES, Query
from .document import MappingNode
from .errors import BuildError, InputError, ManifestError
from .manifest import Problem
from .operations import OPERATIONS
from .places import Errors, nearest
from .plan import Plan
from .problems import canonical
from .schema import Field
from .store import PLAN


def best(
    problem: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    *,
    operation: str = "gemm",
    folder: str = ".",
    results_file: str | None = None,
    gpu: str = "*",
    cache: str = "cold",
    predict: bool = False,
    every: bool = False,
) -> list[Choice]:
    """The fastest verified kernel for one problem or several, for each signature and GPU; for all measured by default.

    A problem gives its operation's fields by name, `{"m": 4096, "n": 4096, "k": 64}`; those left out have their
    defaults. `folder` is the build folder, of whose kernels one is chosen; `every`: of all that were ever measured.
    Raises InputError, MachineError.
    """
    if operation not in OPERATIONS:
        raise InputError(f"error: unknown operation {operation!r} (one of {', '.join(OPERATIONS)})")
    if cache not in CACHES:
        raise InputError(f"error: unknown cache mode {cache!r} (one of {', '.join(CACHES)})")
    given = [problem] if isinstance(problem, Mapping) else list(problem)
    problems = [Problem(operation, _complete(operation, values)) for values in given]
    path = results_file or os.path.join(folder, results.RESULTS)
    with results.open_results(path, write=False) as opened:
        measured = relevant(opened, problems, predict)
    return choose.best(measured, problems, Query(None if every else keys(folder), cache, gpu), predict=predict)


def relevant(opened: results.Results, problems: Sequence[Problem], predict: bool) -> list[results.Result]:
    """The results that a choice for these problems, or for all, depends on. Raises InputError, MachineError."""
    return opened.of(problems) if problems and not predict else opened.all()


def keys(folder: str) -> set[str] | None:
    """The keys of a build folder's kernels; None where nothing was built."""
    try:
        return {target.key for target in Plan.read(Path(folder, PLAN)).kernels}
    except BuildError:
        return None


def _complete(operation: str, values: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field.name: field for field in OPERATIONS[operation].problem_fields}
    for name in values:
        if name not in fields:
            near = nearest(name, fields)
            hint = f"; did you mean {near!r}?" if near else f" (one of {', '.join(fields)})"
            raise InputError(f"error: a {operation} problem has no {name!r}{hint}")
    missing = [name for name, field in fields.items() if field.required and name not in values]
    if missing:
        raise InputError(f"error: a {operation} problem needs {', '.join(missing)}")
    for name, value in values.items():
        _check(operation, fields[name], value)
    defaults = {name: field.default for name, field in fields.items() if field.default is not None}
    complete = defaults | dict(values)
    for violation in OPERATIONS[operation].problem_violations(complete):
        raise InputError(f"error: a {operation} problem's {violation.field}: {violation.message}")
    return complete


def _check(operation: str, field: Field, value: Any) -> None:
    """Raise InputError for a value that a manifest could not have either."""
    where = f"error: a {operation} problem's"
    try:
        written = canonical({field.name: value})
    except TypeError:
        raise InputError(f"{where} {field.name}: expected {field.type.expected}, found {value!r}") from None
    errors = Errors("problem")
    node = document.compose(written, errors)
    assert isinstance(node, MappingNode)
    field.type.read(node.entries[field.name].node, field.name, errors)
    try:
        errors.check()
    except ManifestError as error:
        told = str(error).partition("error: ")[2]
        raise InputError(f"{where} {told}") from None
