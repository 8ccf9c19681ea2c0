"""A manifest is read into typed values with their places, and every error in it is one line that says where.

`manifests/failing/NAME/` holds a manifest and, in expected.txt, the very lines that it must give. With
UPDATE_EXPECTED=1 in the environment the tests write those files anew, to be reviewed as a diff.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from cutlass_ninja import arch, document, operations
from cutlass_ninja.errors import ManifestError
from cutlass_ninja.manifest import MAX_KERNELS, Family, Manifest, load, load_all
from cutlass_ninja.operations.operation import Violation
from cutlass_ninja.places import Errors, Mark
from cutlass_ninja.schema import Boolean, Choice, Field, Integer, Number, Record, Shape, Text, Value

CONFIGS = Path(__file__).parent.parent / "configs"
FAILING = Path(__file__).parent / "manifests" / "failing"
ARCHS = ("sm_75", "sm_80", "sm_90a")
ELEMENTS = Choice(("f16", "bf16", "f32"), "element type")
TILE = Record(
    (
        Field("threadblock_shape", Shape(3), "tile", required=True),
        Field("warp_count", Shape(3), "warps"),
        Field("stages", Integer(2, 16), "stages", required=True),
        Field("cluster_shape", Shape(3), "cluster", default=[1, 1, 1]),
    )
)
LAYOUT = Text("[nt][nt][nt]?", "the letters of A, B and C, as 'tn' or 'tnt'")


@dataclasses.dataclass(frozen=True)
class FakeOperation:
    """As much of an operation as a manifest needs."""

    fields: tuple[Field, ...]
    problem_fields: tuple[Field, ...]
    problem_violations: Callable[[Mapping[str, Any]], Sequence[Violation]] = lambda problem: ()


GEMM = FakeOperation(
    (
        Field("element_a", ELEMENTS, "A", required=True),
        Field("element_c", ELEMENTS, "C", required=True),
        Field("element_accumulator", Choice(("f16", "f32"), "accumulator type"), "sums", required=True),
        Field("layout", LAYOUT, "layout", required=True),
        Field("alignment", Integer(1, 16), "alignment"),
        Field("split", Integer(), "slices of k"),
        Field("instruction_shape", Shape(3), "instruction"),
        Field("tile_description", TILE, "tile", required=True),
        Field("beta_is_zero", Boolean(), "drops C", default=False),
        Field("schedule", Choice(("Auto",), "schedule"), "schedule"),
    ),
    (
        Field("m", Integer(), "rows", required=True),
        Field("n", Integer(), "columns", required=True),
        Field("k", Integer(), "depth", required=True),
        Field("batch_count", Integer(1, 65535), "batch", default=1),
        Field("alpha", Number(), "factor", default=1.0),
        Field("beta", Number(0, 100), "factor", default=0.0),
    ),
)
REDUCE = FakeOperation(
    (
        Field("element", ELEMENTS, "element", required=True),
        Field("width", Integer(), "width"),
        Field("depth", Integer(), "depth"),
        Field("height", Integer(), "height"),
        Field("length", Integer(), "length"),
    ),
    (Field("size", Integer(), "elements", required=True),),
)
OPERATIONS = {"gemm": GEMM, "reduce": REDUCE}

MINIMAL = """\
arch: sm_80
kernels:
  - {operation: reduce, element: f32}
"""
FULL = """\
# A comment
arch: [sm_80, native]
x-tile: &tile {threadblock_shape: [128, 128, 32], warp_count: [2, 2, 1], stages: [3, 4, 5]}
kernels:
  - &f16
    operation: gemm
    element_a: f16
    element_c: 'f16'
    element_accumulator: [f16, f32]
    layout: [tn, nn]
    alignment: [8, 4]
    instruction_shape: [16, 8, 16]
    tile_description:
      - *tile
      - <<: *tile
        threadblock_shape: [[256, 128, 32], [128, 256, 32]]
        stages: 3
  - <<: *f16
    element_a: bf16
    arch: sm_90a
    skip_invalid: true
problems:
  - {m: [1024, 4096], n: 4096, k: 4096, alpha: [1, .5]}
  - {m: 1, n: 2, k: 3, batch_count: 4, beta: 1e1}
"""


def write(folder: Path, text: str | bytes, name: str = "manifest.yaml") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(folder: Path, text: str | bytes) -> Manifest:
    return load(write(folder, text), OPERATIONS, ARCHS)


def error_of(folder: Path, text: str | bytes) -> str:
    """What a manifest's error says, without the folder."""
    with pytest.raises(ManifestError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}{os.sep}", "")


def plain(value: Any) -> Any:
    """Values as the data in them."""
    if isinstance(value, Value):
        return plain(value.data)
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def only_family(manifest: Manifest) -> Family:
    (family,) = manifest.families
    return family


# What goes wrong


@pytest.mark.parametrize("name", sorted(path.name for path in FAILING.iterdir()))
def test_failing_manifest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FAILING / name)
    with pytest.raises(ManifestError) as caught:
        load("manifest.yaml", OPERATIONS, ARCHS)
    expected = Path("expected.txt")
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(f"{caught.value}\n", encoding="utf-8")
    assert f"{caught.value}\n" == expected.read_text(encoding="utf-8")


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="only the pure Python parser is there")
@pytest.mark.parametrize("name", sorted(path.name for path in FAILING.iterdir()))
def test_both_parsers_agree(name: str) -> None:
    text = (FAILING / name / "manifest.yaml").read_text(encoding="utf-8")

    def outcome(loader: type) -> tuple[object, str]:
        errors = Errors("manifest.yaml")
        try:
            root = document.compose(text, errors, loader)
            errors.check()
        except ManifestError as error:
            return None, str(error)
        return root, ""

    assert outcome(yaml.CSafeLoader) == outcome(yaml.SafeLoader)


def test_both_parsers_place_values_alike() -> None:
    roots = [document.compose(FULL, Errors("manifest.yaml"), loader) for loader in (document.LOADER, yaml.SafeLoader)]
    assert roots[0] == roots[1]


def test_no_such_file() -> None:
    with pytest.raises(ManifestError) as caught:
        load("missing.yaml", OPERATIONS, ARCHS)
    assert str(caught.value) == "missing.yaml: error: no such file"


def test_a_line_break_in_the_file_name_stays_one_line(tmp_path: Path) -> None:
    assert error_of(tmp_path, "").count("\n") == 0
    with pytest.raises(ManifestError) as caught:
        load(write(tmp_path, "", "a\nb.yaml"), OPERATIONS, ARCHS)
    assert "a\\nb.yaml:1:1: error: is empty" in str(caught.value)
    with pytest.raises(ManifestError) as caught:
        load("a\nb", OPERATIONS, ARCHS)
    assert str(caught.value) == "a\\nb: error: no such file"


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        load(str(tmp_path), OPERATIONS, ARCHS)
    assert str(caught.value) == f"{tmp_path}: error: is a directory; name a YAML file in it"


def test_an_unreadable_file(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL) + "/below"
    with pytest.raises(ManifestError) as caught:
        load(path, OPERATIONS, ARCHS)
    assert str(caught.value) == f"{path}: error: cannot be read: Not a directory"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"arch: sm_80\n# \xc3\xa4 \xff\n", "2:5: error: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbf# \xe4", "1:3: error: byte 0xe4 is not UTF-8; save the file as UTF-8"),
        (MINIMAL.encode("utf-16"), "1:1: error: is UTF-16 or binary; save it as UTF-8"),
        (MINIMAL.encode("utf-16-le"), "1:1: error: is UTF-16 or binary; save it as UTF-8"),
        (MINIMAL.encode("utf-32"), "1:1: error: is UTF-16 or binary; save it as UTF-8"),
        (b"arch: sm_80\r\nkernels: \0\n", "2:10: error: control character '\\x00' is not allowed in YAML"),
        (b"arch: sm_80\n\n# \x1b[0m\n", "3:3: error: control character '\\x1b' is not allowed in YAML"),
        (b"\xef\xbb\xbf", "1:1: error: is empty: a manifest needs 'arch' and 'kernels'"),
        (b" \n\n", "1:1: error: is empty: a manifest needs 'arch' and 'kernels'"),
    ],
)
def test_what_is_no_text(data: bytes, expected: str, tmp_path: Path) -> None:
    assert error_of(tmp_path, data) == f"manifest.yaml:{expected}"


def test_an_include_folder_must_exist(tmp_path: Path) -> None:
    write(tmp_path, "", "file")
    assert error_of(tmp_path, MINIMAL + "include_dirs: [., here, file]\n").splitlines() == [
        "manifest.yaml:4:19: error: include_dirs: no folder 'here'",
        "manifest.yaml:4:25: error: include_dirs: no folder 'file'",
    ]


def test_the_errors_of_all_files(tmp_path: Path) -> None:
    bad = write(tmp_path, MINIMAL.replace("f32", "f23"), "bad.yaml")
    good = write(tmp_path, MINIMAL, "good.yaml")
    missing = str(tmp_path / "missing.yaml")
    with pytest.raises(ManifestError) as caught:
        load_all([missing, good, bad, bad], OPERATIONS, ARCHS)
    first, second = str(caught.value).splitlines()
    assert first == f"{missing}: error: no such file"
    assert second.startswith(f"{bad}:3:34: error: element: unknown element type 'f23'")
    assert caught.value.exit_code == 2


def test_the_limit_holds_for_all_files_together(tmp_path: Path) -> None:
    values = ", ".join(["1"] * (MAX_KERNELS // 100))
    text = MINIMAL.replace("f32", f"f32, width: [{values}], depth: [{', '.join(['2'] * 60)}]")
    one, two = write(tmp_path, text, "one.yaml"), write(tmp_path, text, "two.yaml")
    assert only_family(load(one, OPERATIONS, ARCHS)).size() == 60_000
    with pytest.raises(ManifestError) as caught:
        load_all([one, two], OPERATIONS, ARCHS)
    assert str(caught.value) == (
        f"{two}:3:5: error: this family makes 60,000 kernels (width 1,000 x depth 60) and 60,000 come "
        "before it; one call may make 100,000"
    )


@pytest.mark.parametrize("name", ["alias_bomb", "alias_bomb_of_lists", "too_deep", "too_many_kernels"])
def test_a_bomb_is_refused_at_once(name: str) -> None:
    start = time.monotonic()
    with pytest.raises(ManifestError):
        load(str(FAILING / name / "manifest.yaml"), OPERATIONS, ARCHS)
    assert time.monotonic() - start < 1


def test_very_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    assert error_of(tmp_path, "[" * 100_000).startswith("manifest.yaml:1:33: error: lists and mappings are nest")
    block = "".join(f"{' ' * depth}a:\n" for depth in range(2_000))
    assert error_of(tmp_path, block).startswith("manifest.yaml:33:33: error: lists and mappings are nested")


def test_merges_of_merges_do_not_blow_up(tmp_path: Path) -> None:
    names = [f"x-{index}" for index in range(30)]
    lines = [f"{names[0]}: &{names[0]} {{element: f32}}"]
    lines += [
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}" for before, name in itertools.pairwise(names)
    ]
    assert "more than 1,000,000 values" in error_of(tmp_path, "\n".join(lines))


# What goes right


def test_a_full_manifest(tmp_path: Path) -> None:
    manifest = read(tmp_path, FULL)
    assert manifest.path == str(tmp_path / "manifest.yaml")
    assert [value.data for value in manifest.arch] == ["sm_80", "native"]
    first, second = manifest.families
    assert (first.operation, first.skip_invalid, second.skip_invalid) == ("gemm", False, True)
    assert first.size() == 2 * 2 * 2 * (3 + 2) * 2
    assert second.size() == 2 * 2 * 2 * (3 + 2)
    assert [value.data for value in first.arch] == ["sm_80", "native"]
    assert [value.data for value in second.arch] == ["sm_90a"]
    assert [value.data for value in second.fields["element_a"]] == ["bf16"]
    assert manifest.cutlass is None
    assert (manifest.settings.include_dirs, manifest.settings.nvcc_flags) == ((), ())


def test_members_are_the_product_in_declared_order(tmp_path: Path) -> None:
    family = read(tmp_path, FULL).families[0]
    members = [plain(member) for member in family.members()]
    assert len(members) == family.size() // 2
    assert members[0] == {
        "element_a": "f16",
        "element_c": "f16",
        "element_accumulator": "f16",
        "layout": "tn",
        "alignment": 8,
        "instruction_shape": [16, 8, 16],
        "tile_description": {
            "threadblock_shape": [128, 128, 32],
            "warp_count": [2, 2, 1],
            "stages": 3,
            "cluster_shape": [1, 1, 1],
        },
        "beta_is_zero": False,
    }
    assert list(members[0]) == [field.name for field in GEMM.fields if field.name in members[0]]
    tiles = [(tile["threadblock_shape"], tile["stages"]) for m in members[:5] for tile in [m["tile_description"]]]
    assert tiles == [
        ([128, 128, 32], 3),
        ([128, 128, 32], 4),
        ([128, 128, 32], 5),
        ([256, 128, 32], 3),
        ([128, 256, 32], 3),
    ]
    assert members[5]["alignment"] == 4
    assert members[10]["layout"] == "nn"


def test_values_know_where_they_were_written(tmp_path: Path) -> None:
    path = str(tmp_path / "manifest.yaml")
    first, second = read(tmp_path, FULL).families
    assert first.mark == Mark(path, 5, 5)
    assert [value.mark for value in first.fields["layout"]] == [Mark(path, 10, 14), Mark(path, 10, 18)]
    assert second.mark == Mark(path, 18, 5)
    assert second.fields["layout"] == first.fields["layout"]
    member = list(second.members())[3]
    tile = member["tile_description"]
    assert tile.mark == Mark(path, 15, 9)
    assert tile.data["stages"] == Value(3, Mark(path, 17, 17))
    assert tile.data["warp_count"] == Value([2, 2, 1], Mark(path, 3, 63))
    assert tile.data["cluster_shape"].mark == tile.mark
    assert member["beta_is_zero"].mark == second.mark
    assert str(first.mark) == f"{path}:5:5"


def test_problems_are_expanded_with_their_defaults(tmp_path: Path) -> None:
    problems = read(tmp_path, FULL).problems
    assert {problem.operation for problem in problems} == {"gemm"}
    assert [(p.values["m"], p.values["alpha"]) for p in problems] == [
        (1024, 1.0),
        (1024, 0.5),
        (4096, 1.0),
        (4096, 0.5),
        (1, 1.0),
    ]
    assert problems[-1].values == {"m": 1, "n": 2, "k": 3, "batch_count": 4, "alpha": 1.0, "beta": 10.0}


def test_problems_of_several_kinds(tmp_path: Path) -> None:
    text = FULL.replace("problems:", "  - {operation: reduce, element: f16}\nproblems:")
    text = text.replace("- {m:", "- {operation: gemm, m:") + "  - {operation: reduce, size: 8}\n"
    problems = read(tmp_path, text).problems
    assert (problems[-1].operation, problems[-1].values) == ("reduce", {"size": 8})


def test_a_problem_of_another_kind_than_the_only_family(tmp_path: Path) -> None:
    text = MINIMAL + "problems: [{operation: gemm, m: 1, n: 1, k: 1}, {size: 1}]\n"
    assert [problem.operation for problem in read(tmp_path, text).problems] == ["gemm", "reduce"]


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    folder = tmp_path / "configs"
    folder.mkdir()
    (tmp_path / "include").mkdir()
    settings = "cutlass: ~/cutlass\ninclude_dirs: [../include, /]\nnvcc_flags: [-lineinfo, -Xptxas, -v, '-DA=a b']\n"
    manifest = read(folder, MINIMAL + settings)
    assert manifest.cutlass == Value("/home/ada/cutlass", Mark(manifest.path, 4, 10))
    assert manifest.settings.include_dirs == (str(tmp_path / "include"), "/")
    assert manifest.settings.nvcc_flags == ("-lineinfo", "-Xptxas", "-v", "-DA=a b")
    assert only_family(manifest).settings == manifest.settings
    one = read(folder, MINIMAL + "cutlass: ../cutlass\ninclude_dirs: ../include\nnvcc_flags: -lineinfo\n")
    assert one.cutlass
    assert one.cutlass.data == str(tmp_path / "cutlass")
    assert one.settings.include_dirs == (str(tmp_path / "include"),)
    assert one.settings.nvcc_flags == ("-lineinfo",)


def test_paths_are_relative_to_the_manifest_and_not_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configs").mkdir()
    write(tmp_path / "configs", MINIMAL + "cutlass: third_party/cutlass\n")
    monkeypatch.chdir(tmp_path)
    manifest = load("configs/manifest.yaml", OPERATIONS, ARCHS)
    assert manifest.path == "configs/manifest.yaml"
    assert manifest.cutlass == Value(
        str(tmp_path / "configs/third_party/cutlass"), Mark("configs/manifest.yaml", 4, 10)
    )


def test_arch_in_every_family_needs_none_above(tmp_path: Path) -> None:
    manifest = read(tmp_path, "kernels: [{operation: reduce, element: f32, arch: [sm_75, sm_80]}]\n")
    assert manifest.arch == ()
    assert only_family(manifest).size() == 2


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + MINIMAL,
        MINIMAL.replace("\n", "\r\n"),
        "%YAML 1.1\n---\n" + MINIMAL + "...\n",
        "{arch: sm_80, kernels: [{operation: reduce, element: f32}]}",
        '{"arch": "sm_80", "kernels": [{"operation": "reduce", "element": "f32"}]}',
        "x-anything: [{a: [~, 1]}, 0x10]\n" + MINIMAL,
        "x-element: &element f32\n" + MINIMAL.replace("f32", "*element"),
        "x-a: &a f16\nx-b: &a f32\n" + MINIMAL.replace("f32", "*a"),
        "x-a: &a {element: f16}\nx-b: &b {element: f32}\n" + MINIMAL.replace("element: f32", "<<: [*b, *a]"),
        "x-a: &a {element: f16}\n" + MINIMAL.replace("element: f32", "element: f32, <<: *a"),
        "x-a: &a {<<: {element: f32}}\n" + MINIMAL.replace("element: f32", "<<: *a"),
        MINIMAL.replace("f32", "[f32]"),
        MINIMAL.replace("f32}", "f32, }  # a comment"),
    ],
)
def test_other_ways_to_write_the_same(text: str, tmp_path: Path) -> None:
    manifest = read(tmp_path, text)
    assert [plain(member) for member in only_family(manifest).members()] == [{"element": "f32"}]
    assert [value.data for value in manifest.arch] == ["sm_80"]


def test_problems_from_lists_come_after_the_manifests_own(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "a.yaml").write_text("operation: gemm\nproblems: [{m: [1, 2], n: 3, k: 4}]\n")
    (tmp_path / "lists" / "b.yaml").write_text("x-note: why\noperation: reduce\nproblems: [{size: 5}]\n")
    lists = "problems_from: [lists/a.yaml, lists/b.yaml, lists/a.yaml]\n"
    manifest = read(tmp_path, MINIMAL + "problems: [{operation: gemm, m: 9, n: 9, k: 9}]\n" + lists)
    assert [(one.operation, *one.values.values()) for one in manifest.problems] == [
        ("gemm", 9, 9, 9, 1, 1.0, 0.0),
        ("gemm", 1, 3, 4, 1, 1.0, 0.0),
        ("gemm", 2, 3, 4, 1, 1.0, 0.0),
        ("reduce", 5),
    ]
    assert [os.path.relpath(path, tmp_path) for path in manifest.problem_lists] == ["lists/a.yaml", "lists/b.yaml"]


def test_shipped_networks_come_with_the_manifests() -> None:
    for name in ("gemm_sm80.yaml", "gemm_sm90.yaml"):
        problems = load(str(CONFIGS / name), operations.OPERATIONS, arch.ARCHS).problems
        sizes = {(one.values["m"], one.values["n"], one.values["k"]) for one in problems}
        assert {(384, 4096, 1024), (1, 28672, 4096)} < sizes


def test_the_problem_fields_that_yaml_once_took_for_booleans(tmp_path: Path) -> None:
    text = FULL + "  - m: 1\n    n: 7\n    k: 1\n"
    assert read(tmp_path, text).problems[-1].values["n"] == 7


def test_equal_values_are_harmless(tmp_path: Path) -> None:
    family = only_family(read(tmp_path, MINIMAL.replace("f32", "[f32, f32]")))
    assert [plain(member) for member in family.members()] == [{"element": "f32"}] * 2


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    one, two = write(tmp_path, MINIMAL, "one.yaml"), write(tmp_path, MINIMAL, "two.yaml")
    (tmp_path / "link.yaml").symlink_to(one)
    paths = [two, one, str(tmp_path / "link.yaml"), str(tmp_path / "." / "two.yaml")]
    assert [manifest.path for manifest in load_all(paths, OPERATIONS, ARCHS)] == [two, one]


@pytest.mark.parametrize("text", ["on", "1e3", "0x10", "no", "null_", "2024-01-01", "1_000", ".5", "true"])
def test_a_text_stays_what_was_written(text: str) -> None:
    (node,) = _items(f"[{text}]")
    assert Field("name", Text(".*", "anything"), "a text").read(node, Errors("-")) == (Value(text, node.mark),)


@pytest.mark.parametrize(
    ("text", "data"),
    [("0", 0.0), ("-1", -1.0), ("1.5", 1.5), (".5", 0.5), ("2.", 2.0), ("1e3", 1000.0), ("1.5E-1", 0.15)],
)
def test_numbers(text: str, data: float) -> None:
    (node,) = _items(f"[{text}]")
    assert [value.data for value in Field("name", Number(), "a number").read(node, Errors("-"))] == [data]


@pytest.mark.parametrize(("text", "data"), [("true", True), ("True", True), ("FALSE", False), ("false", False)])
def test_booleans(text: str, data: bool) -> None:
    (node,) = _items(f"[{text}]")
    assert [value.data for value in Field("name", Boolean(), "a bool").read(node, Errors("-"))] == [data]


def _items(text: str) -> tuple[document.Node, ...]:
    root = document.compose(text, Errors("-"))
    assert isinstance(root, document.ListNode)
    return root.items


def test_reading_is_quick(tmp_path: Path) -> None:
    family = FULL[FULL.index("  - &f16") : FULL.index("problems:")]
    text = FULL.replace("problems:", family * 18 + "problems:")
    assert text.count("\n") > 300
    path = write(tmp_path, text)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        load(path, OPERATIONS, ARCHS)
        times.append(time.perf_counter() - start)
    assert min(times) < (0.06 if yaml.__with_libyaml__ else 0.6)
