"""What the benchmarks share that build a manifest's kernels and sweep them on this machine's GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def build(folder: Path, manifest: str, jobs: int) -> float:
    """Seconds that building took; nothing where all is in the cache."""
    started = time.monotonic()
    run([*ninja_command("-C", str(folder)), manifest])
    command = ["ninja", "-C", str(folder), "-k", "0", *([f"-j{jobs}"] if jobs else [])]
    subprocess.run(command, check=False, stdout=sys.stderr)
    return round(time.monotonic() - started, 1)


def profile(folder: Path, name: str, *flags: str) -> dict[str, Any]:
    """What `profile --json` says of a sweep into a file of its own, with the seconds that it took."""
    file = (folder / f"{name}.sqlite").absolute()
    file.unlink(missing_ok=True)
    started = time.monotonic()
    told: dict[str, Any] = json.loads(
        run([*ninja_command("profile", "-C", str(folder)), "--json", "--results", str(file), *flags])
    )
    told["summary"]["wall_s"] = round(time.monotonic() - started, 1)
    (folder / f"{name}.json").write_text(json.dumps(told))
    return told


def ninja_command(*words: str) -> list[str]:
    """Cutlass-ninja as this interpreter runs it."""
    return [sys.executable, "-m", "cutlass_ninja", *words]


def run(command: list[str]) -> str:
    """A command's output; its messages go on. It may exit with 1: a kernel failed, which the output says."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with exit status {done.returncode}")
    return done.stdout
