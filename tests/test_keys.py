"""A key covers everything that is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernels import AMPERE, expanded

from cutlass_ninja import sources
from cutlass_ninja.keys import Keyer
from cutlass_ninja.toolchain import Toolchain


def test_what_python_itself_writes_into_identity_h_counts(
    tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel,) = expanded(AMPERE, tmp_path).values()
    before = Keyer(tools).kernel(kernel).key
    assert Keyer(tools).kernel(kernel).key == before
    header = sources.identity_header
    monkeypatch.setattr(sources, "identity_header", lambda kernel, key: header(kernel, key) + "// more\n")
    assert Keyer(tools).kernel(kernel).key != before
