"""What a compile came to -> the store: the record beside the product, or the memory of a failure."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import clock, scratch, store
from .errors import BuildError
from .files import writing
from .jobs import Job
from .keys import Identity

FORMAT = 1
"""The number of build.json's format."""


@dataclass(frozen=True)
class Outcome:
    """What the commands of a job came to: an empty reason means that they built it."""

    folder: str
    """Where they left the product, the sources and the log."""
    reason: str
    figures: Mapping[str, Any]
    """What build.json says of the compile, beside what it was made from."""


def publish(job: Job, outcome: Outcome, identity: Identity, keep: bool) -> None:
    """Put what is to stay into one folder and move it to its place; with `keep`, leave a copy behind.

    Raises BuildError, also for a failure, which is recorded.
    """
    folder = outcome.folder
    product = store.product(job.target)
    names = [store.LOG, *job.published] + ([] if outcome.reason else [product, *job.made_beside])
    record = {
        "format": FORMAT,
        "status": "failed" if outcome.reason else "built",
        **({"reason": outcome.reason} if outcome.reason else {}),
        "key": job.target.key,
        "built_at": clock.text(clock.now()),
        **job.description,
        "inputs": dict(identity.ingredients),
        "commands": [list(command) for command in (*job.front_end, *job.commands)],
        **outcome.figures,
        "sources": list(job.published),
        "log": store.LOG,
    }
    staged = f"{folder}/out"
    transfer = shutil.copy2 if keep else os.rename
    with writing(scratch.FOLDER):
        os.mkdir(staged)
        for name in names:
            transfer(f"{folder}/{name}", f"{staged}/{name}")
        if not outcome.reason:
            record[store.recorded_as(job.target)] = store.digest(f"{staged}/{product}")
        Path(staged, store.RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    store.publish(staged, job.target)
    if outcome.reason:
        raise failure(job, outcome.reason)


def failure(job: Job, reason: str, hint: str = "") -> BuildError:
    """The error that tells of a failed compile."""
    lines = [f"error: {reason}", f"  log: {store.folder(job.target)}/{store.LOG}", *([f"  {hint}"] if hint else [])]
    return BuildError("\n".join(lines))
