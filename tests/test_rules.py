"""What CUTLASS or the hardware cannot have is refused, at its place, before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernels import AMPERE, HOPPER, expanded, with_values

from cutlass_ninja.errors import ManifestError

TILE = "{threadblock_shape: %s, warp_count: %s, stages: %s}"
HOPPER_TILE = "{threadblock_shape: %s, cluster_shape: %s, stages: %s}"


def refusals(text: str, folder: Path) -> list[str]:
    """The error lines of a manifest, without its path."""
    with pytest.raises(ManifestError) as caught:
        expanded(text, folder)
    return [line.partition("manifest.yaml:")[2] for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"arch": "sm_75"},
            "9:24: error: tensorop instruction [16, 8, 16] on f16 needs sm_80 or later, not sm_75",
        ),
        (
            {"instruction_shape": "[8, 8, 4]"},
            "9:24: error: no tensorop instruction [8, 8, 4] for f16 with f32 accumulation; use [16, 8, 8] or [16, 8, 16]",
        ),
        (
            {"element_a": "bf16", "element_c": "bf16", "element_accumulator": "f16"},
            "6:26: error: no instruction multiplies bf16 with f16 accumulation",
        ),
        (
            {"tile_description": TILE % ("[64, 64, 32]", "[2, 2, 1]", 1)},
            "10:88: error: stages is 1; a 2.x kernel needs at least 2",
        ),
        (
            {"tile_description": TILE % ("[128, 256, 64]", "[2, 4, 1]", 4)},
            "10:90: error: 4 stages of a 128x256x64 tile need 192 KB of shared memory; sm_80 has 163 KB",
        ),
        (
            {"arch": "sm_86", "tile_description": TILE % ("[128, 256, 32]", "[2, 4, 1]", 5)},
            "10:90: error: 5 stages of a 128x256x32 tile need 120 KB of shared memory; sm_86 has 99 KB",
        ),
        (
            {"tile_description": TILE % ("[100, 64, 32]", "[3, 2, 1]", 3)},
            "10:70: error: threadblock_shape [100, 64, 32] is not divisible by warp_count [3, 2, 1] in M",
        ),
        (
            {"tile_description": TILE % ("[64, 64, 32]", "[2, 16, 1]", 3)},
            "10:43: error: warp tile [32, 4, 32] is not divisible by instruction_shape [16, 8, 16] in N",
        ),
        (
            {"tile_description": TILE % ("[64, 64, 48]", "[2, 2, 1]", 3)},
            "10:43: error: warp tile K 48 is 3 x instruction K 16; it must be an even number of them, at least 2",
        ),
        (
            {"tile_description": TILE % ("[256, 256, 32]", "[8, 8, 1]", 3)},
            "10:71: error: warp_count [8, 8, 1] is 2048 threads; a thread block has at most 1024",
        ),
        (
            {"alignment": "8\n    tile_scheduler: StreamK"},
            "9:21: error: tile_scheduler is for universal3x kernels, not for universal ones; leave it out",
        ),
        (
            {"alignment": "1"},
            "8:16: error: alignment_a 1 of f16 is 2 bytes, but a multistage kernel loads by cp.async, which moves 4, 8 or "
            "16: use stages: 2",
        ),
        ({"alignment": "3"}, "8:16: error: alignment_a is 3; of f16 a power of two up to 8 is legal"),
        ({"alignment": "16"}, "8:16: error: alignment_a is 16; of f16 a power of two up to 8 is legal"),
        (
            {"element_c": "bf16"},
            "5:16: error: C is bf16; a universal kernel that sums f16 in f32 writes f16 or f32",
        ),
        (
            {"tile_description": "{threadblock_shape: [64, 64, 32], stages: 3}"},
            "10:23: error: a universal kernel needs tile_description.warp_count",
        ),
    ],
)
def test_ampere(values: dict[str, str], line: str, tmp_path: Path) -> None:
    assert line in refusals(with_values(AMPERE, **values), tmp_path)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"arch": "sm_90"},
            "4:16: error: a universal3x kernel uses wgmma and TMA, which only sm_90a has, not sm_90: plain sm_90 compiles "
            "and fails at run time",
        ),
        ({"arch": "sm_80"}, "4:16: error: a universal3x kernel uses wgmma and TMA, which only sm_90a has, not sm_80"),
        (
            {"tile_description": "{threadblock_shape: [96, 64, 64]}"},
            "10:43: error: tile M is 96; wgmma needs a multiple of 64",
        ),
        (
            {"kernel_schedule": "TmaWarpSpecializedCooperative"},
            "10:43: error: tile M is 64; a cooperative kernel's two warp groups need a multiple of 128",
        ),
        (
            {"tile_description": "{threadblock_shape: [64, 264, 64]}"},
            "10:43: error: tile N is 264; wgmma needs a multiple of 8 from 16 to 256",
        ),
        (
            {"tile_description": "{threadblock_shape: [64, 40, 64]}"},
            "10:43: error: tile N is 40; TMA's tiles of a column-major B need a multiple of 16, or CuTe's Stride "
            "Divisibility Condition fails",
        ),
        (
            {
                "layout": "tt\n    alignment: 2",
                "kernel_schedule": "CpAsyncWarpSpecializedPingpong",
                "tile_description": "{threadblock_shape: [64, 96, 32]}",
            },
            "11:43: error: 128 threads cannot share evenly the loads of B's 96x32 tile, 2 elements each, contiguous "
            "along N",
        ),
        (
            {"tile_description": "{threadblock_shape: [64, 64, 40]}"},
            "10:43: error: tile K is 40; wgmma on f16 needs a multiple of 16",
        ),
        (
            {"tile_description": HOPPER_TILE % ("[64, 64, 64]", "[1, 1, 1]", 1)},
            "10:91: error: stages is 1; use 0 (automatic) or at least 2",
        ),
        (
            {"tile_description": HOPPER_TILE % ("[256, 256, 128]", "[1, 1, 1]", 0)},
            "10:94: error: a 256x256x128 tile leaves room for 1 automatic stages in sm_90a's 227 KB of shared memory; "
            "at least 2 are needed: use a smaller tile",
        ),
        (
            {"tile_description": HOPPER_TILE % ("[128, 256, 64]", "[1, 1, 1]", 5)},
            "10:93: error: 5 stages of a 128x256x64 tile and 16 KB of epilogue exceed sm_90a's 227 KB of shared memory; "
            "at most 4 fit",
        ),
        (
            {"tile_description": HOPPER_TILE % ("[64, 64, 64]", "[8, 4, 1]", 0)},
            "10:72: error: cluster 8x4x1 is 32 thread blocks; at most 16",
        ),
        (
            {"kernel_schedule": "TmaWarpSpecializedPingpong\n    tile_scheduler: StreamK"},
            "10:21: error: kernel_schedule TmaWarpSpecializedPingpong has no StreamK; only the cooperative ones have",
        ),
        (
            {"layout": "tn\n    alignment: 4"},
            "9:16: error: alignment_a 4 of f16 is 8 bytes; TMA needs at least 16: use a CpAsync schedule",
        ),
        (
            {"kernel_schedule": "TmaWarpSpecialized\n    epilogue_schedule: TmaWarpSpecializedCooperative"},
            "10:24: error: epilogue_schedule TmaWarpSpecializedCooperative does not suit kernel_schedule "
            "TmaWarpSpecialized; use TmaWarpSpecialized or NoSmemWarpSpecialized",
        ),
        (
            {"kernel_schedule": "TmaWarpSpecialized\n    swizzling_functor: Identity4"},
            "10:24: error: swizzling_functor is for universal kernels, not for universal3x ones; leave it out",
        ),
        (
            {"tile_description": "{threadblock_shape: [64, 64, 64], warp_count: [4, 1, 1]}"},
            "10:69: error: tile_description.warp_count is for universal kernels, not for universal3x ones; leave it out",
        ),
        ({"element_c": "void"}, "6:16: error: C is void, so element_d must say what D is"),
        ({"element_accumulator": "f16", "element_a": "bf16"}, "7:26: error: wgmma accumulates bf16 in f32, not in f16"),
    ],
)
def test_hopper(values: dict[str, str], line: str, tmp_path: Path) -> None:
    assert line in refusals(with_values(HOPPER, **values), tmp_path)


def test_invalid_members_are_dropped_and_counted_when_asked(tmp_path: Path) -> None:
    from cutlass_ninja import generate
    from cutlass_ninja.generate import Request

    tile = TILE % ("[64, 64, 32]", "[2, 2, 1]", "[1, 2, 3]")
    (tmp_path / "m.yaml").write_text(with_values(AMPERE, tile_description=tile, layout="tn\n    skip_invalid: true"))
    selection = generate.select(Request([str(tmp_path / "m.yaml")]))
    assert len(selection.kernels) == 2
    assert [line.partition("m.yaml:")[2] for line in selection.skipped] == [
        "3:5: skipped 1 of 3 members: 1 x stages is 1; a 2.x kernel needs at least 2"
    ]


def test_an_ampere_kernel_is_built_for_later_architectures(tmp_path: Path) -> None:
    kernels = expanded(with_values(AMPERE, arch="[sm_80, sm_86, sm_89, sm_90a, sm_120]"), tmp_path)
    assert sorted(kernel.arch for kernel in kernels.values()) == ["sm_120", "sm_80", "sm_86", "sm_89", "sm_90a"]


def test_d_is_aligned_by_its_own_type_unless_c_says_otherwise(tmp_path: Path) -> None:
    text = with_values(HOPPER, element_c="f32\n    element_d: f16")
    (kernel,) = expanded(text, tmp_path).values()
    assert (kernel.config["alignment_c"], kernel.config["alignment_d"]) == (4, 8)
    nosmem = "TmaWarpSpecialized\n    epilogue_schedule: NoSmemWarpSpecialized\n    alignment_c: 2"
    (kernel,) = expanded(with_values(text, kernel_schedule=nosmem), tmp_path).values()
    assert (kernel.config["alignment_c"], kernel.config["alignment_d"]) == (2, 2)


def test_all_errors_at_once(tmp_path: Path) -> None:
    text = with_values(AMPERE, arch="[sm_75, sm_80]", alignment="[3, 16]")
    assert len(refusals(text, tmp_path)) >= 3


def test_one_value_for_several_fields_is_blamed_once(tmp_path: Path) -> None:
    assert refusals(with_values(AMPERE, alignment="3"), tmp_path) == [
        "8:16: error: alignment_a is 3; of f16 a power of two up to 8 is legal"
    ]


def test_simt_kernels_need_no_alignment(tmp_path: Path) -> None:
    text = with_values(
        AMPERE,
        element_a="f32",
        element_c="f32",
        instruction_shape="[1, 1, 1]",
        tile_description="{threadblock_shape: [64, 64, 8], warp_count: [2, 1, 1], stages: 2}",
    ).replace("    alignment: 8\n", "")
    (kernel,) = expanded(text, tmp_path)
    assert kernel == "cutlass_simt_sgemm_64x64_8x2_tn_align1"
