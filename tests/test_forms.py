"""Forms of problems: those that are called the same read and write the same memory, and no others do."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from cutlass_ninja.forms import Form, exchanged_problem, of_kernel
from cutlass_ninja.manifest import Problem

Flat = Sequence[int]

TYPES = {name: "f16" for name in ("element_a", "element_b", "element_c", "element_d", "element_accumulator")}
BATCH, ALPHA, BETA = 2, 3, 5


def config(layout: str, **values: str) -> dict[str, str]:
    return {**TYPES, **{f"layout_{which}": letter for which, letter in zip("abc", layout)}, **values}


def sized(m: int, n: int, k: int, **values: Any) -> dict[str, Any]:
    return {"m": m, "n": n, "k": k, "batch_count": 1, "alpha": 1, "beta": 0, **values}


def form(layout: str, m: int, n: int, k: int, **values: str) -> Form:
    return of_kernel("gemm", config(layout, **values), sized(m, n, k))


def at(layout: str, rows: int, columns: int, batch: int, row: int, column: int) -> int:
    """Where an element of packed matrices lies in memory."""
    inner = row * columns + column if layout == "t" else column * rows + row
    return batch * rows * columns + inner


def computed(layout: str, bias: str, sizes: tuple[int, int, int], a: Flat, b: Flat, c: Flat, vector: Flat) -> Flat:
    """D as it lies in memory, from operands as they do."""
    m, n, k = sizes
    added = {"none": lambda i, j: 0, "per_row": lambda i, j: vector[i], "per_column": lambda i, j: vector[j]}[bias]
    d = [0] * (BATCH * m * n)
    for batch, i, j in product(range(BATCH), range(m), range(n)):
        total = sum(a[at(layout[0], m, k, batch, i, x)] * b[at(layout[1], k, n, batch, x, j)] for x in range(k))
        place = at(layout[2], m, n, batch, i, j)
        d[place] = ALPHA * total + BETA * c[place] + added(i, j)
    return tuple(d)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("extents", [(1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (3, 3)])
def test_one_computation_is_one_function_of_memory(extents: tuple[int, int], k: int) -> None:
    """All layouts, biases and both orders of the extents: the same if and only if D comes out the same."""
    chance = random.Random(1)
    few, many, c, vector = (
        [chance.randint(1, 99) for _ in range(BATCH * size)]
        for size in (extents[0] * k, extents[1] * k, extents[0] * extents[1], max(extents))
    )
    found: dict[Form, set[frozenset[Flat]]] = defaultdict(set)
    for letters, bias, (m, n) in product(
        product("nt", repeat=3), ("none", "per_row", "per_column"), {extents, extents[::-1]}
    ):
        layout = "".join(letters)
        values = sized(m, n, k, batch_count=BATCH, alpha=ALPHA, beta=BETA)
        computation = of_kernel("gemm", config(layout, bias=bias), values).computation
        orders = [(few, many), (many, few)] if m == n else [(few, many) if m < n else (many, few)]
        found[computation].add(frozenset(computed(layout, bias, (m, n, k), a, b, c, vector) for a, b in orders))
    assert all(len(outcomes) == 1 for outcomes in found.values())
    assert len({outcome for outcomes in found.values() for outcome in outcomes}) == len(found)


def test_a_form_names_the_kernel_that_computes_it_exchanged() -> None:
    tnn = form("tnn", 16, 4096, 64)
    assert tnn.exchanged == form("tnt", 4096, 16, 64)
    assert tnn.exchanged.exchanged == tnn
    assert form("nnn", 16, 4096, 64).exchanged == form("ttt", 4096, 16, 64)
    assert form("tnt", 16, 4096, 64).computation != tnn.computation


def test_types_and_biases_change_sides() -> None:
    mixed = form("tnn", 2, 3, 4, element_a="s8", element_b="u8", bias="per_row", activation="relu")
    assert mixed.exchanged == form("tnt", 3, 2, 4, element_a="u8", element_b="s8", bias="per_column", activation="relu")
    assert mixed.computation != form("tnt", 3, 2, 4, element_a="s8", element_b="u8", bias="per_column").computation


def test_factors_batches_and_slices_stay() -> None:
    values = sized(2, 3, 4, batch_count=5, alpha=0.5, beta=2, split_k_slices=6)
    other = of_kernel("gemm", config("tnn"), values).exchanged
    assert other and other.values == {**values, "m": 3, "n": 2}
    assert list(other.values) == ["m", "n", "k", "batch_count", "alpha", "beta", "split_k_slices"]


@pytest.mark.parametrize(
    ("sizes", "types"),
    [
        ((2, 3, 4), "f16*f16+f32=f16 tnn"),
        ((1, 3, 4), "f16*f16+f32=f16 *n*"),
        ((2, 1, 4), "f16*f16+f32=f16 t**"),
        ((2, 3, 1), "f16*f16+f32=f16 **n"),
        ((1, 1, 4), "f16*f16+f32=f16 ***"),
    ],
)
def test_layouts_of_vectors_do_not_matter(sizes: tuple[int, int, int], types: str) -> None:
    assert form("tnn", *sizes, element_accumulator="f32").types == types


def test_c_counts_only_where_it_is_read() -> None:
    unread, read = sized(2, 3, 4), sized(2, 3, 4, beta=1)
    void = config("tnn", element_c="void")
    assert of_kernel("gemm", void, unread) == of_kernel("gemm", config("tnn"), unread)
    assert of_kernel("gemm", void, read) != of_kernel("gemm", config("tnn"), read)


@pytest.mark.parametrize("operation", ["conv2d", "of a later version"])
def test_other_operations_have_one_form(operation: str) -> None:
    one = of_kernel(operation, {**TYPES, "layout": "nhwc"}, {"n": 1, "k": 1})
    assert one.exchanged is None and one.computation == one
    assert exchanged_problem(Problem(operation, {"n": 1, "k": 1})) is None
