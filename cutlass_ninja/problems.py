"""Problems: from manifests, from `--problem`, and as the text by which results know them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import document, manifest
from .arch import ARCHS
from .document import MappingNode
from .errors import InputError, ManifestError
from .manifest import Problem, problems_of
from .operations import OPERATIONS
from .places import Errors
from .schema import Product, read_product

_ASSIGNMENT = re.compile(r"\s*(\w+)\s*=")


def canonical(values: Mapping[str, Any]) -> str:
    """The one JSON text for a problem's values or for parameters: sorted, whole numbers without a point."""
    return json.dumps({name: _number(value) for name, value in values.items()}, sort_keys=True, separators=(",", ":"))


def ordered(operation: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A problem's values in the order in which its operation declares the fields."""
    fields = [field.name for field in OPERATIONS[operation].problem_fields] if operation in OPERATIONS else []
    places = {name: place for place, name in enumerate(fields)}
    return {name: values[name] for name in sorted(values, key=lambda name: places.get(name, len(places)))}


def text(operation: str, values: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> str:
    """A problem in a few words: what differs from its fields' defaults, `m=64 n=64 k=32`; then any parameters."""
    fields = OPERATIONS[operation].problem_fields if operation in OPERATIONS else ()
    usual = {field.name: field.default for field in fields if field.default is not None}
    told = {name: value for name, value in ordered(operation, values).items() if usual.get(name) != value}
    told |= parameters or {}
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in told.items()
    )


def of_manifests(paths: Sequence[str]) -> list[Problem]:
    """The problems of manifests, each once, in their order. Raises ManifestError."""
    found = (problem for one in manifest.load_all(paths, OPERATIONS, tuple(ARCHS)) for problem in one.problems)
    return once(found)


def given(texts: Iterable[str], kinds: Sequence[str]) -> list[Problem]:
    """What `--problem` options say, as `m=1024,n=[16,32],k=64`: a list gives several problems.

    `kinds` are the operation kinds that it may be meant for; where they are several, `operation=...` says which.
    Raises InputError.
    """
    return once(problem for text in texts for problem in _parse(text, kinds))


def _parse(text: str, kinds: Sequence[str]) -> list[Problem]:
    file = f"--problem {text}"
    errors = Errors(file)
    try:
        node = document.compose("{" + _ASSIGNMENT.sub(r"\1: ", text) + "}", errors)
        if not isinstance(node, MappingNode) or "=" not in text:
            raise InputError(f"error: {file}: expected name=value,..., as m=1024,n=4096,k=4096")
        entry = node.entries.pop("operation", None)
        kind = str(entry.node) if entry else kinds[0] if len(kinds) == 1 else ""
        if kind not in OPERATIONS:
            raise InputError(f"error: {file}: add operation=KIND (one of {', '.join(kinds or OPERATIONS)})")
        fields = OPERATIONS[kind].problem_fields
        choices = read_product(node, fields, f"a {kind} problem", errors).choices
        product = Product(node.mark, {field.name: choices[field.name] for field in fields if field.name in choices})
        found = list(problems_of(kind, OPERATIONS[kind], product, errors))
        errors.check()
    except ManifestError as error:
        # The column is of the text in braces, which nobody has written.
        lines = (line.partition("error: ")[2] for line in str(error).splitlines())
        raise InputError("\n".join(f"error: {file}: {line}" for line in lines)) from None
    return found


def once(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once, in their order."""
    return list({(problem.operation, canonical(problem.values)): problem for problem in problems}.values())


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
