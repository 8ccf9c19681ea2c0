"""A key covers everything that is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernels import AMPERE, CONV2D, HOPPER, expanded, with_values

from cutlass_ninja import sources
from cutlass_ninja.arch import ARCHS
from cutlass_ninja.includes import includes_of
from cutlass_ninja.keys import Keyer
from cutlass_ninja.operations import OPERATIONS, gemm
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


def test_what_an_operation_tells_its_templates_counts(
    tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel,) = expanded(AMPERE, tmp_path).values()
    before = Keyer(tools).kernel(kernel).key
    monkeypatch.setitem(gemm._SWIZZLES, "Identity8", "Another")
    assert Keyer(tools).kernel(kernel).key != before
    monkeypatch.setitem(gemm._SWIZZLES, "Identity4", "Another")
    changed = Keyer(tools).kernel(kernel).key
    monkeypatch.undo()
    assert Keyer(tools).kernel(kernel).key == before != changed


@pytest.mark.parametrize("text", [AMPERE, HOPPER, CONV2D])
def test_what_an_operation_tells_its_templates_does_not_hide_a_field(text: str, tmp_path: Path) -> None:
    """Keys cover fields by what identity.h says of them."""
    for kernel in expanded(text, tmp_path).values():
        values = OPERATIONS[kernel.operation].template_values(kernel.config, ARCHS[kernel.arch])
        shared = kernel.config.keys() & values
        assert [values[name] for name in shared] == [kernel.config[name] for name in shared]


def test_keys_do_not_depend_on_how_many_processes_make_them(tools: Toolchain, tmp_path: Path) -> None:
    text = AMPERE.replace("tn", "[tn, nn, nt, tt]").replace("stages: 3", "stages: [3, 4, 5]")
    kernels = list(expanded(text, tmp_path).values())
    keyer = Keyer(tools)
    expected = [Keyer(tools).kernel(kernel).key for kernel in kernels]
    assert keyer.keys(kernels, cores=1) == expected
    assert keyer.keys(kernels * 500, cores=3) == expected * 500
    assert keyer.digests()


@pytest.mark.parametrize("manifest", ["wide_gemm.yaml", "wide_conv2d.yaml"])
def test_a_key_covers_every_header_that_the_sources_include(manifest: str, tools: Toolchain, tmp_path: Path) -> None:
    text = (Path(__file__).parent / "data" / manifest).read_text(encoding="utf-8")
    keyer = Keyer(tools)
    for kernel in expanded(text, tmp_path).values():
        covered = keyer.kernel(kernel).ingredients["headers"]
        rendered = sources.kernel_sources(kernel, "0" * 20)
        included = {name for one in rendered.values() for name, _ in includes_of(one.encode())} - set(rendered)
        missing = {name for name in included if name.startswith(("cutlass", "cute"))} - set(covered)
        assert not missing, kernel.name


def test_a_header_of_one_kind_of_convolution_is_in_the_keys_of_that_kind_alone(
    tools: Toolchain, tmp_path: Path
) -> None:
    kernels = expanded(with_values(CONV2D, conv_kind="[fprop, wgrad]"), tmp_path).values()
    headers = {kernel.config["conv_kind"]: Keyer(tools).kernel(kernel).ingredients["headers"] for kernel in kernels}
    for kind, other in (("fprop", "wgrad"), ("wgrad", "fprop")):
        assert f"cutlass/conv/kernel/default_conv2d_{kind}.h" in headers[kind]
        assert f"cutlass/conv/kernel/default_conv2d_{kind}.h" not in headers[other]
