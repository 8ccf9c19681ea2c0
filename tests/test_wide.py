"""The wide sets: a kernel of each type, epilogue and so on, compiled by one command. Half an hour: only with `-m wide`."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BuildFolder
from kernels import expanded

DATA = Path(__file__).parent / "data"
WIDE = sorted(DATA.glob("wide_*.yaml"))


@pytest.mark.wide
@pytest.mark.parametrize("manifest", WIDE, ids=lambda path: path.stem)
def test_wide_set_compiles(manifest: Path, folder: BuildFolder) -> None:
    generated = folder.generate(str(manifest))
    assert generated.code == 0, generated.err
    compiled = folder.ninja("-k", "0")
    assert compiled.code == 0, compiled.out


@pytest.mark.parametrize("manifest", WIDE, ids=lambda path: path.stem)
def test_labels_of_the_wide_set_are_names_of_files(manifest: Path, tmp_path: Path) -> None:
    labels = expanded(manifest.read_text(), tmp_path)
    assert len(labels) > 50
    assert max(map(len, labels)) <= 240
