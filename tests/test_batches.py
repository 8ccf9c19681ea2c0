"""Which kernels are compiled together."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from kernels import AMPERE, HOPPER, expanded, with_values

from cutlass_ninja import store
from cutlass_ninja.batches import LARGEST, Batch, best_size, plan_batches
from cutlass_ninja.kernel import SINGLE, Kernel
from cutlass_ninja.operations import OPERATIONS, Cost
from cutlass_ninja.plan import KernelTarget, Plan
from cutlass_ninja.store import State, Status
from cutlass_ninja.toolchain import Toolchain

GB = 1_000_000_000
LIGHT = Cost(GB, 30_000_000, 4.2, 1.2)
HEAVY = Cost(3_400_000_000, 400_000_000, 24.0, 4.5)
TOOLS = Toolchain(
    "nvcc", "g++", (), "cudart", {"cudart": "13000", "host_compiler": "12.2", "cutlass": "4.2.0"}, ptxas="ptxas"
)

TILES = with_values(
    AMPERE,
    tile_description="{threadblock_shape: [[64, 64, 32], [128, 64, 32], [64, 128, 32]], warp_count: [2, 2, 1], "
    "stages: [3, 4, 5, 6]}",
    layout="[tn, nt, nn]",
)
"""36 kernels of three tiles."""


@pytest.mark.parametrize("kernels", [1, 2, 16, 30, 31, 100, 1000])
@pytest.mark.parametrize("cores", [1, 2, 16, 128])
@pytest.mark.parametrize("cost", [LIGHT, HEAVY])
def test_there_is_work_for_every_core(kernels: int, cores: int, cost: Cost) -> None:
    size = best_size(kernels, min(kernels, LARGEST), cost, 1000 * GB, cores)
    assert math.ceil(kernels / size) >= min(kernels, cores) / 2


def test_sizes() -> None:
    assert best_size(30, 24, LIGHT, 1000 * GB, 16) == 2
    assert best_size(30, 24, LIGHT, 1000 * GB, 1) == 15
    assert best_size(30, 10, LIGHT, 1000 * GB, 1) == 10
    assert best_size(1000, 24, LIGHT, 1000 * GB, 16) >= 16


def test_large_batches_one_after_the_other_where_memory_holds_no_more() -> None:
    assert best_size(24, 24, HEAVY, 1000 * GB, 8) == 3
    assert best_size(24, 24, HEAVY, 14 * GB, 8) == 4
    assert best_size(24, 5, HEAVY, 5 * GB, 8) == 5


def cost_of(kind: str) -> Cost:
    return OPERATIONS["gemm"].cost({"gemm_kind": kind})


def planned(kernels: Mapping[str, Kernel], tools: Toolchain = TOOLS) -> Plan:
    targets = [
        KernelTarget(label, f"{place:020x}", "r" * 20, OPERATIONS[one.operation].cost(one.config).memory_bytes, one)
        for place, (label, one) in enumerate(kernels.items())
    ]
    return Plan(tools, (), targets, (), ())


def batched(plan: Plan, cached: set[str] = frozenset(), cores: int = 2, memory_gb: int = 64) -> list[Batch]:  # type: ignore[assignment]
    states = {one.key: State(Status.CACHED if one.label in cached else Status.MISSING, "") for one in plan.kernels}
    batches = plan_batches(plan, states, memory_gb * GB, cores)
    assert sorted(one.key for batch in batches for one in batch.targets) == sorted(one.key for one in plan.kernels)
    return batches


def sizes(batches: list[Batch]) -> list[int]:
    return sorted(len(batch.targets) for batch in batches)


def test_thirty_kernels_on_sixteen_cores(tmp_path: Path) -> None:
    kernels = dict(list(expanded(TILES, tmp_path).items())[:30])
    assert sizes(batched(planned(kernels), cores=16)) == [2] * 15


def test_batches_are_about_equal_and_of_the_most_alike(tmp_path: Path) -> None:
    batches = batched(planned(expanded(TILES, tmp_path)), cores=3)
    assert sizes(batches) == [12, 12, 12]
    for batch in batches:
        assert len({repr(one.kernel.config["threadblock_shape"]) for one in batch.targets}) == 1


def test_what_cannot_share_a_front_end_is_apart(tmp_path: Path) -> None:
    kernels = {
        **expanded(TILES, tmp_path),
        **{f"{label}_86": one for label, one in expanded(TILES, tmp_path, archs=["sm_86"]).items()},
        **expanded(HOPPER, tmp_path),
        **{f"{label}_x": one for label, one in expanded(f"nvcc_flags: [-DX]\n{AMPERE}", tmp_path).items()},
    }
    for batch in batched(planned(kernels), cores=1):
        assert (
            len({(one.kernel.arch, one.kernel.settings, one.kernel.config["gemm_kind"]) for one in batch.targets}) == 1
        )
    assert sizes(batched(planned(kernels), cores=1)) == [1, 1, 18, 18, 18, 18]


@pytest.mark.parametrize(("memory_gb", "largest"), [(2, 1), (4, 1), (5, 2), (6, 4), (64, 8)])
def test_a_batch_fits_into_memory(memory_gb: int, largest: int, tmp_path: Path) -> None:
    """What one kernel takes by itself cannot be helped."""
    text = HOPPER.replace("layout: tn", "layout: [tn, nt, nn, tt]").replace(
        "[64, 64, 64]", "[[64, 64, 64], [64, 128, 64]]"
    )
    plan = planned({**expanded(TILES, tmp_path), **expanded(text, tmp_path)})
    heavy = [one for one in batched(plan, memory_gb=memory_gb) if one.targets[0].kernel.arch == "sm_90a"]
    assert max(sizes(heavy)) == largest
    assert max(one.memory_bytes for one in heavy) <= max(0.8 * memory_gb * GB, cost_of("universal3x").memory_bytes)


def test_what_is_cached_or_single_has_an_edge_of_its_own(tmp_path: Path) -> None:
    kernels = expanded(TILES, tmp_path)
    cached = set(list(kernels)[:30])
    assert sizes(batched(planned(kernels), cached=cached, cores=1)) == [1] * 30 + [6]
    single = expanded(TILES, tmp_path, compile=SINGLE)
    assert sizes(batched(planned(single), cores=1)) == [1] * 36


def test_labels_of_one_key_are_compiled_once(tmp_path: Path) -> None:
    plan = planned(expanded(AMPERE, tmp_path))
    (one,) = plan.kernels
    twice = Plan(
        plan.toolchain, (), [one, KernelTarget("other", one.key, one.runtime, one.memory_bytes, one.kernel)], (), ()
    )
    (batch,) = plan_batches(twice, {one.key: State(Status.MISSING, "")}, 64 * GB, 2)
    assert [target.label for target in batch.targets] == [one.label]


def test_memory_is_learned_from_what_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What batches took in this cache counts, if it was more than expected; a record that cannot be read does not."""
    monkeypatch.chdir(tmp_path)
    plan = planned(expanded(TILES, tmp_path))
    built, damaged, *_ = plan.kernels
    light = cost_of("universal")
    expected = max(batch.memory_bytes for batch in batched(plan, {built.label, damaged.label}))
    for target, record in (
        (
            built,
            {
                "batch": {
                    "kernels": ["a", "b"],
                    "peak_memory_bytes": 3 * (light.memory_bytes + light.further_memory_bytes),
                }
            },
        ),
        (damaged, {"batch": None}),
    ):
        Path(store.folder(target)).mkdir(parents=True)
        Path(store.folder(target), store.RECORD).write_text(json.dumps(record))
    learned = [batch for batch in batched(plan, {built.label, damaged.label}) if len(batch.targets) > 1]
    assert max(batch.memory_bytes for batch in learned) == pytest.approx(3 * expected, rel=0.01)
