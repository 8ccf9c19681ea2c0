"""Kills builds at random moments, then lets ninja finish: nothing wrong may ever be in the cache.

    python tests/stress/kill_loop.py --kills 200

A reference is built undisturbed. Then, again and again, some kernels are taken out of the cache, ninja is started, and a
part of the build gets SIGKILL: a compiler, the build edge, ninja, its whole session, everything at once, or the
generator. A share of the kills waits until a finished profiler lies in scratch/, to come between compile and publish.
Ninja then runs to its end, while orphans of the kill may still be at work. After that each profiler must be, byte for
byte, that of the reference, no failure recorded, and nothing left over in scratch/ and cache/.

Prints one line in the end. Exit code 1: something was wrong, and the folder is kept.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from plain import MANIFEST, NINJAS, Project, copy_package

BURST = 5
"""The most kills before ninja may finish."""
TARGETS = {"compiler": 4, "edge": 4, "ninja": 2, "session": 3, "everything": 2, "generator": 2}
"""What is killed, with how often relative to the others."""
AIMED_SHARE = 0.5
"""The part of the kills that waits for a finished profiler in scratch/."""
WINDOW_S = 0.06
"""How long after that moment a kill comes at most: publishing takes that long."""


@dataclass
class Tally:
    """What has happened so far."""

    kills: Counter[str] = field(default_factory=Counter)
    victims: Counter[str] = field(default_factory=Counter)
    unpublished: int = 0
    """Kills at a moment when a finished profiler lay in scratch/."""
    rebuilds: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Process:
    """A running process of the build."""

    pid: int
    name: str
    session: int
    folder: str
    command: str


def main() -> int:
    """The script."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="kill-loop-"))
    reference, project = prepare(place)
    chance = random.Random(options.seed)
    tally = Tally()
    started = time.monotonic()
    while tally.kills.total() < options.kills and not tally.wrong:
        take_out(project, chance)
        for _ in range(min(chance.randint(1, BURST), options.kills - tally.kills.total())):
            disturb(project, chance, tally)
        finish(project, reference, chance, tally)
    print(summary(tally, options.seed, time.monotonic() - started))
    for line in tally.wrong:
        print(f"error: {line}", file=sys.stderr)
    if tally.wrong:
        print(f"the folder is kept: {project.path}", file=sys.stderr)
        return 1
    shutil.rmtree(place)
    return 0


def prepare(place: Path) -> tuple[dict[str, bytes], Project]:
    """The profilers of an undisturbed build by their paths in the cache, and a project to build them in."""
    manifest = MANIFEST.replace("[3, 4]", "[3, 4, 5]")
    undisturbed = Project.create(place / "reference", copy_package(place / "package"), manifest)
    undisturbed.rebuilt()
    return contents(undisturbed), undisturbed.copied(place / "project")


def take_out(project: Project, chance: random.Random) -> None:
    """Removes some kernels from the cache, and now and then the runtime libraries, so that there is work."""
    folders = [path.parent for path in project.profilers()]
    for folder in chance.sample(folders, chance.randint(1, len(folders))):
        shutil.rmtree(folder)
    if chance.random() < 0.15:
        shutil.rmtree(project.path / "cache/runtime")


def disturb(project: Project, chance: random.Random, tally: Tally) -> None:
    """Starts a build and kills a part of it. Nothing is counted if the build was over before."""
    (target,) = chance.choices(list(TARGETS), list(TARGETS.values()))
    if target == "generator":
        (project.path / "build.ninja").unlink(missing_ok=True)
        command = [sys.executable, "-m", "cutlass_ninja", *project.arguments]
    else:
        command = [chance.choice(NINJAS)]
    orphans = finished_profilers(project)
    build = project.start(*command)
    if target != "generator" and chance.random() < AIMED_SHARE:
        while build.poll() is None and not finished_profilers(project) - orphans:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, WINDOW_S))
    else:
        time.sleep(chance.uniform(0, 0.4 if target == "generator" else 2))
    unpublished = finished_profilers(project) - orphans
    chosen = victims(target, build.pid, project, chance, tally)
    for pid in chosen:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    if chosen and unpublished:
        tally.unpublished += 1
    build.communicate()


def victims(target: str, build: int, project: Project, chance: random.Random, tally: Tally) -> list[int]:
    """The processes to kill, which are counted."""
    running = list(processes(project.path))
    if not any(process.pid == build for process in running):
        return []
    if target in ("ninja", "generator"):
        chosen = [process for process in running if process.pid == build]
    elif target == "session":
        chosen = [process for process in running if process.session == build]
    elif target == "everything":
        chosen = running
    elif target == "edge":
        edges = [process for process in running if "cutlass_ninja/edge" in process.command]
        chosen = [chance.choice(edges)] if edges else []
    else:
        scratch = str(project.path / "scratch")
        compilers = [process for process in running if process.folder.startswith(scratch)]
        chosen = [chance.choice(compilers)] if compilers else []
    if chosen:
        tally.kills[target] += 1
        tally.victims.update(process.name for process in chosen)
    return [process.pid for process in chosen]


def finish(project: Project, reference: dict[str, bytes], chance: random.Random, tally: Tally) -> None:
    """Lets ninja finish and looks at what there is."""
    before = {path.parent for path in project.profilers()}
    if not (project.path / "build.ninja").exists():
        project.generated()
    done = project.run(chance.choice(NINJAS))
    if done.code:
        tally.wrong.append(f"ninja fails after the kills:\n{done.out}{done.err}")
        return
    tally.rebuilds += len({path.parent for path in project.profilers()} - before)
    while any(processes(project.path)):  # Compilers that outlived their edges.
        time.sleep(0.01)
    rows = json.loads(project.generated("--json").out)
    tally.wrong += [f"{row['label']} is {row['state']}: {row['reason']}" for row in rows if row["state"] != "cached"]
    found = contents(project)
    for path, content in reference.items():
        if path not in found:
            tally.wrong.append(f"{path} is missing")
        elif found[path] != content:
            tally.wrong.append(f"{path} is not that of the undisturbed build")
    tally.wrong += [f"{path} is unexpected" for path in found.keys() - reference.keys()]
    tally.wrong += [f"{path} is left over" for path in project.leftovers()]
    for record in project.path.glob("cache/*/**/build.json"):
        status = json.loads(record.read_text())["status"]
        if status != "built":
            tally.wrong.append(f"{record}: {status}")
    links = sorted(os.listdir(project.path / "cache/bin"))
    if links != sorted(row["label"] for row in rows):
        tally.wrong.append(f"cache/bin holds {links}")
    if chance.random() < 0.1:
        for profiler in project.profilers():
            described = json.loads(subprocess.run([profiler, "--describe"], capture_output=True, check=True).stdout)
            if described["key"] != profiler.parent.name:
                tally.wrong.append(f"{profiler} describes {described}")


def contents(project: Project) -> dict[str, bytes]:
    """The profilers by their paths in the build folder."""
    return {str(path.relative_to(project.path)): path.read_bytes() for path in project.profilers()}


def finished_profilers(project: Project) -> set[str]:
    """The folders in scratch/ that hold a linked profiler, still to be published: each kernel of a batch has its own."""
    # glob.glob, unlike Path.glob, bears that folders vanish.
    found = glob.glob(f"{project.path}/scratch/**/profiler", recursive=True)
    return {re.sub(r"(/out)?/profiler$", "", path) for path in found}


def processes(folder: Path) -> Iterator[Process]:
    """The processes that work in a folder or below."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            where = os.readlink(f"/proc/{entry}/cwd").removesuffix(" (deleted)")
            if where != str(folder) and not where.startswith(f"{folder}/"):
                continue
            stat = Path(f"/proc/{entry}/stat").read_text()
            name, _, rest = stat.partition("(")[2].rpartition(")")
            state, _, _, session, *_ = rest.split()
            command = Path(f"/proc/{entry}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if state != "Z":
            yield Process(int(entry), name, int(session), where, command)


def summary(tally: Tally, seed: int, seconds: float) -> str:
    """The line in the end."""
    kills = ", ".join(f"{target} {count}" for target, count in tally.kills.most_common())
    return (
        f"{tally.kills.total()} kills in {seconds:.0f} s, seed {seed} ({kills}); {tally.victims.total()} processes of "
        f"{len(tally.victims)} programs; {tally.unpublished} kills between link and publish; "
        f"{tally.rebuilds} rebuilds; {len(tally.wrong)} mismatches"
    )


if __name__ == "__main__":
    sys.exit(main())
