"""The command line: parses arguments, calls the rest, prints. Messages go to stderr, results to stdout."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from . import __version__, doctor, generate, store
from .arch import ARCHS, NATIVE
from .errors import CutlassNinjaError, InputError, MachineError
from .generate import Generated, Request, Selection
from .places import nearest
from .plan import Plan
from .store import State, Status

_DESCRIPTION = (
    "Expand kernel manifests into CUTLASS sources and a build.ninja that compiles a profiler for each kernel."
)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"error: {message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `cutlass-ninja`.

    Returns its exit code: 0 fine, 1 the work failed, 2 wrong input or call, 3 the machine lacks something.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments and arguments[0] in _COMMANDS:
            return _COMMANDS[arguments[0]](arguments[1:])
        _refuse_unknown_command(arguments)
        return _generate(arguments)
    except CutlassNinjaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _generate(arguments: Sequence[str]) -> int:
    parser = _parser("", _DESCRIPTION, _EPILOG)
    _add_selection(parser)
    parser.add_argument("--template", metavar="FILE", help="use this instead of build.ninja.in")
    parser.add_argument("--keep-scratch", action="store_true", help="leave every compile's scratch folder behind")
    parser.add_argument("--retry-failed", action="store_true", help="compile again what failed with the same key")
    parser.add_argument("--json", action="store_true", help="print the kernels as JSON, as `list --json` does")
    parser.add_argument("--version", action="version", version=f"cutlass-ninja {__version__}")
    options = parser.parse_args(arguments)
    request = _request(options)
    folder = _build_folder(options.folder, create=True)
    selection = generate.select(request)
    tools = generate.find_toolchain(request, selection)
    _say(tools.summary())
    template = generate.read_template(request)
    plan = generate.plan(request, selection, tools, folder)
    os.chdir(folder)
    if options.retry_failed:
        store.forget_failures([*plan.kernels, *plan.runtimes])
    generated = generate.write(request, plan, template)
    _report(selection, generated)
    if options.json:
        _print_json(_rows(selection, generated.plan, generated.states))
    return 0


def _check(arguments: Sequence[str]) -> int:
    parser = _parser("check", "Validate manifests; compile and write nothing.")
    parser.add_argument("manifests", nargs="+", metavar="MANIFEST")
    _add_archs(parser)
    options = parser.parse_args(arguments)
    selection = generate.select(Request(options.manifests, tuple(options.archs)))
    _say_skipped(selection)
    print(f"{len(selection.kernels)} kernels, {selection.problems} problems")
    return 0


def _list(arguments: Sequence[str]) -> int:
    parser = _parser("list", "The kernels of manifests with key and state: cached, to build, failed, damaged.")
    _add_selection(parser)
    parser.add_argument("--json", action="store_true", help="print an array of objects")
    options = parser.parse_args(arguments)
    request = _request(options)
    selection = generate.select(request)
    folder = _build_folder(options.folder, create=False)
    plan, states = _look_up(request, selection, folder)
    rows = _rows(selection, plan, states)
    if options.json:
        _print_json(rows)
        return 0
    _say_skipped(selection)
    for row in rows:
        reason = f"  {row['reason']}" if row["reason"] else ""
        print(f"{row['state']:<9} {row['key'] or '-':<20} {row['label']}{reason}")
    return 0


def _doctor(arguments: Sequence[str]) -> int:
    parser = _parser("doctor", "What was found on this machine, what is missing, and how to get it.")
    parser.add_argument("--nvcc", metavar="PATH")
    parser.add_argument("--cutlass", metavar="DIR")
    options = parser.parse_args(arguments)
    findings = doctor.examine(options.nvcc, options.cutlass)
    for finding in findings:
        print(finding)
    return MachineError.exit_code if any(finding.blocks for finding in findings) else 0


_COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {"check": _check, "list": _list, "doctor": _doctor}

_EPILOG = f"""other commands, each with --help of its own:
  check MANIFEST...    validate only
  list MANIFEST...     kernels with key and state
  doctor               what was found, what is missing, how to get it

architectures: {NATIVE}, {", ".join(ARCHS)}
exit codes: 0 fine; 1 the work failed; 2 wrong input or call; 3 the machine lacks something"""


def _parser(command: str, description: str, epilog: str | None = None) -> _Parser:
    return _Parser(
        prog=f"cutlass-ninja {command}".strip(),
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifests", nargs="+", metavar="MANIFEST", help="a YAML manifest; several are one build")
    parser.add_argument("-C", dest="folder", default=".", metavar="DIR", help="the build folder (default: here)")
    _add_archs(parser)
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="keep kernels of this name only")
    parser.add_argument("--cutlass", metavar="DIR", help="a CUTLASS checkout, or its include folder")
    parser.add_argument("--nvcc", metavar="PATH", help="nvcc, or a CUDA toolkit's folder")


def _add_archs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arch",
        dest="archs",
        action="extend",
        type=_archs,
        default=[],
        metavar="ARCH[,ARCH]",
        help="compile for these instead of the manifests' own",
    )


def _archs(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in (NATIVE, *ARCHS):
            near = nearest(name, (NATIVE, *ARCHS))
            hint = f"; did you mean {near}?" if near else ""
            raise argparse.ArgumentTypeError(
                f"unknown architecture {name!r}{hint} (one of {NATIVE}, {', '.join(ARCHS)})"
            )
    return names


def _request(options: argparse.Namespace) -> Request:
    return Request(
        manifests=tuple(options.manifests),
        archs=tuple(options.archs),
        only=tuple(options.only),
        nvcc=options.nvcc,
        cutlass=options.cutlass,
        template=getattr(options, "template", None),
        keep_scratch=getattr(options, "keep_scratch", False),
    )


def _refuse_unknown_command(arguments: Sequence[str]) -> None:
    """A word that is neither a command nor a file is more likely a misspelt command than a missing manifest."""
    word = arguments[0] if arguments else ""
    near = nearest(word, _COMMANDS)
    if near and word.isalpha() and not os.path.exists(word):
        raise InputError(f"error: {word!r} is neither a command nor a manifest; did you mean {near!r}?")


def _build_folder(folder: str, *, create: bool) -> str:
    """The build folder, absolute. Raises InputError for one that cannot be."""
    if create:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"error: -C {folder}: {error.strerror}; name a folder") from error
    elif not os.path.isdir(folder):
        raise InputError(f"error: -C {folder}: there is no such folder")
    return os.path.abspath(folder)


def _look_up(request: Request, selection: Selection, folder: str) -> tuple[Plan | None, Mapping[str, State]]:
    """The plan and what the cache holds of it; no plan where the machine cannot compile, which keys depend on."""
    try:
        tools = generate.find_toolchain(request, selection)
    except MachineError as error:
        _say(f"{error}\nkeys and states are not known without it")
        return None, {}
    plan = generate.plan(request, selection, tools, folder)
    os.chdir(folder)
    return plan, store.survey(plan.kernels)


def _rows(selection: Selection, plan: Plan | None, states: Mapping[str, State]) -> list[dict[str, Any]]:
    keys = {target.label: target.key for target in plan.kernels} if plan else {}
    rows = []
    for label, kernel in selection.kernels.items():
        key = keys.get(label)
        state = states[key] if key else None
        rows.append(
            {
                "label": label,
                "name": kernel.name,
                "operation": kernel.operation,
                "arch": kernel.arch,
                "key": key,
                "state": state.status.value if state else "unknown",
                "reason": state.reason if state else "",
                "path": f"{store.kernel_dir(kernel.name, key)}/{store.PROFILER}" if key else None,
                "config": dict(kernel.config),
            }
        )
    return rows


def _report(selection: Selection, generated: Generated) -> None:
    _say_skipped(selection)
    if generated.repaired:
        _say(f"{len(generated.repaired)} damaged files removed from the cache, to be built again")
    counts = Counter(generated.states[target.key].status for target in generated.plan.kernels)
    to_build = counts[Status.MISSING] + counts[Status.DAMAGED]
    failed = (
        f", {counts[Status.FAILED]} failed before (--retry-failed compiles them again)" if counts[Status.FAILED] else ""
    )
    _say(f"{len(selection.kernels)} kernels: {counts[Status.CACHED]} cached, {to_build} to build{failed}")


def _say_skipped(selection: Selection) -> None:
    for line in selection.skipped:
        _say(line)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))
