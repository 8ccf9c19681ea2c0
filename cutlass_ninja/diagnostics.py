"""Reading what compilers print: the one line that says why, what was the machine's fault, and ptxas's figures."""

from __future__ import annotations

import re
from typing import Any

LENGTH = 200
"""No reason is longer than this many characters."""

# The first pattern that matches a line tells what is wrong in it: `text`, and where known `file` and `line`.
_ERRORS = tuple(
    re.compile(pattern)
    for pattern in (
        # cudafe++ and cicc (EDG): inc/a.h(2): error: ...
        r"(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.+)",
        # g++, cc1plus: inc/a.h:2:45: error: ...
        r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.+)",
        # The assembler: profiler.s:34: Error: ...
        r"(?P<file>[^\s:][^:]*):(?P<line>\d+): Error: (?P<text>.+)",
        # ptxas on a file of PTX: ptxas profiler.ptx, line 24; error   : ...
        r"ptxas (?P<file>[^,]+), line (?P<line>\d+); (?:error|fatal) *: (?P<text>.+)",
        # nvcc's own tools: ptxas error   : ..., nvcc fatal   : ...
        r"(?:ptxas|nvcc|nvlink|cicc|cudafe\+\+|fatbinary) (?:error|fatal) *: (?P<text>.+)",
        # The linker: /usr/bin/ld: a.o:a.cpp:(.text+0x33): undefined reference to `f()'
        r".*: (?P<text>undefined reference to .+)",
        r"(?:\S*/)?ld: (?P<text>(?:cannot find|error:|fatal error:) ?.+)",
        # g++, cc1plus, without a place: cc1plus: fatal error: ...
        r"[\w+./-]+: (?:fatal )?error: (?P<text>.+)",
    )
)

_STATIC_ASSERTION = re.compile(
    r'static assertion failed(?: with "(?P<edg>.*)"$|: (?P<gcc>.+)|$)',
)

# What a compile prints when a program of it crashed or ran out of memory; the reason given is the group's text.
_CRASHES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(internal compiler error: (?:Segmentation fault|Aborted|Bus error|Killed).*)",
        r"^(?:.*: )?((?:Killed|Segmentation fault|Aborted|Bus error|Terminated|Hangup)(?: \(core dumped\))?)$",
        r"(\S+ died due to signal \d+.*)",
        r"((?:Killed|Terminated|Segmentation fault|Aborted|Bus error) signal terminated program \S+)",
        r"(\S+ terminated with signal \d+.*)",
        r"^(Internal error \((?:Segmentation fault|Aborted|Bus error|Killed)\))",
        r"(?i)((?:virtual memory exhausted|memory exhausted|out of memory|cannot allocate memory|std::bad_alloc).*)",
    )
)

# The same for what else is the machine's fault, and not the kernel's.
_TROUBLES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i)(no space left on device|disk quota exceeded|read-only file system|input/output error)",
        r"(?i)(cannot fork.*|resource temporarily unavailable|too many open files)",
        r"(?i)(cannot execute .*|\S+: (?:command )?not found)$",
        r"(Failed to preprocess host compiler properties)",
    )
)

_NO_SPACE = re.compile(r"(?i)no space left on device|disk quota exceeded")


def reason(output: str) -> str | None:
    """Why a compile failed, in one line: its first error, or before that the message of a failed static_assert."""
    found = [match for line in output.splitlines() if (match := _error(line))]
    if not found:
        return None
    first = next((match for match in found if _STATIC_ASSERTION.match(match["text"])), found[0])
    text = _STATIC_ASSERTION.sub(_quote_message, first["text"])
    groups = first.groupdict()
    place = f" ({groups['file']}:{groups['line']})" if groups.get("file") else ""
    return _cut(text, LENGTH - len(place)) + place


def machine_trouble(returncode: int, output: str) -> str | None:
    """What kept a compile from ending that has nothing to do with the kernel: a signal, no memory, a full disk.

    Another attempt may succeed, so such a failure must not be remembered. `returncode` is the failed command's:
    negative, or 128 and more, for a signal; 126 and 127 from a shell that finds no program.
    """
    for line in output.splitlines():
        if _NO_SPACE.search(line):
            return "no space left on device: free some space, then run ninja again"
    for line in output.splitlines():
        if _placed(line):
            continue
        for pattern in (*_CRASHES, *_TROUBLES):
            if match := pattern.search(line):
                return _cut(match[1], LENGTH)
    if _is_signal(returncode):
        return f"killed by signal {-returncode if returncode < 0 else returncode - 128}"
    if returncode in (126, 127):
        return "a program of the toolchain cannot be run"
    return None


def crashed(returncode: int, output: str) -> bool:
    """Whether what `machine_trouble` tells of is a crash or a lack of memory: smaller compiles may not have it."""
    lines = [line for line in output.splitlines() if not _placed(line)]
    if any(_NO_SPACE.search(line) for line in output.splitlines()):
        return False
    return _is_signal(returncode) or any(pattern.search(line) for line in lines for pattern in _CRASHES)


def _is_signal(returncode: int) -> bool:
    return returncode < 0 or 128 < returncode <= 192


def ptxas(output: str) -> dict[str, Any]:
    """What `ptxas -v` and its warnings say, as JSON: the figures of each kernel function, and what costs speed."""
    functions: list[dict[str, Any]] = []
    warnings: list[dict[str, str]] = []
    properties_of = ""
    for line in output.splitlines():
        if match := re.match(r"ptxas info *: Compiling entry function '(.+)' for '(\w+)'", line):
            functions.append({"function": match[1], "arch": match[2]})
        elif match := re.match(r"ptxas info *: Function properties for (\S+)", line):
            properties_of = match[1]
        elif functions and properties_of == functions[-1]["function"] and "bytes stack frame" in line:
            functions[-1] |= _amounts(line, _PROPERTIES)
            properties_of = ""
        elif functions and "registers" not in functions[-1] and re.match(r"ptxas info *: Used \d+ registers", line):
            functions[-1] |= {"static_shared_memory_bytes": 0, "barriers": 0} | _amounts(line, _USES)
        elif match := _WARNING.match(line):
            warning = {"code": match["code"] or "", "text": match["text"]}
            if warning not in warnings:
                warnings.append(warning)
    return {"functions": functions, "warnings": warnings}


_WARNING = re.compile(
    r"ptxas (?:info *: \((?P<code>C\d+)\) (?=Potential Performance Loss)|warning *: (?:\(C\d+\) )?)(?P<text>.+)"
)

_PROPERTIES = {
    "stack_frame_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores_bytes": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads_bytes": re.compile(r"(\d+) bytes spill loads"),
}

_USES = {
    "registers": re.compile(r"Used (\d+) registers"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "static_shared_memory_bytes": re.compile(r"(\d+) bytes smem"),
    "parameters_bytes": re.compile(r"(\d+) bytes cmem\[0\]"),
}


def _amounts(line: str, patterns: dict[str, re.Pattern[str]]) -> dict[str, int]:
    return {name: int(match[1]) for name, pattern in patterns.items() if (match := pattern.search(line))}


def _error(line: str) -> re.Match[str] | None:
    for pattern in _ERRORS:
        if match := pattern.match(line):
            return match
    return None


def _placed(line: str) -> bool:
    """Whether the line is an error at a line of a source file, whose text may say anything."""
    match = _error(line)
    return match is not None and bool(match.groupdict().get("file")) and "internal compiler error" not in line


def _quote_message(match: re.Match[str]) -> str:
    message = match["edg"] or match["gcc"]
    return f'static assertion failed: "{message}"' if message else "static assertion failed"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(length - 3, 1)] + "..."
