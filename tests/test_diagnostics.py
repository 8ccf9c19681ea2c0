"""What compilers print, and what is made of it. The samples are real: nvcc 13.0, g++ 12, LC_ALL=C."""

from __future__ import annotations

import pytest

from cutlass_ninja import diagnostics

CUDAFE_STATIC_ASSERT = """\
inc/a.h(2): error: static assertion failed with "Message with N too small"
  template <int N> struct A { static_assert(N > 3, "Message with N too small"); static constexpr int v = N; };
                              ^
          detected during instantiation of class "A<N> [with N=2]" at line 2 of a.cu

1 error detected in the compilation of "a.cu".
"""

CUDAFE_OTHER_FIRST = """\
f.cu(1): warning #177-D: variable "x" was declared but never referenced
f.cu(1): error: identifier "undefined_thing" is undefined
  __attribute__((global)) void k(int*p){ *p = undefined_thing; }
                                              ^

inc/a.h(2): error: static assertion failed with "Too small"
2 errors detected in the compilation of "f.cu".
"""

GCC_STATIC_ASSERT = """\
In file included from c.cpp:1:
inc/a.h: In instantiation of 'struct A<1>':
c.cpp:2:13:   required from here
inc/a.h:2:45: error: static assertion failed: Message with N too small
    2 | template <int N> struct A { static_assert(N > 3, "Message with N too small"); static constexpr int v = N; };
      |                                           ~~^~~
inc/a.h:2:45: note: the comparison reduces to '(1 > 3)'
"""

LINKER = """\
/usr/bin/ld: /tmp/tmpxft_00001152_00000000-11_d.o: in function `main':
tmpxft_00001152_00000000-6_d.cudafe1.cpp:(.text+0x33): undefined reference to `f()'
collect2: error: ld returned 1 exit status
"""

PTX = """\
ptxas b2.ptx, line 5; error   : Not a name of any known instruction: 'bogus'
ptxas b2.ptx, line 5; error   : Unknown symbol '%r1'
ptxas fatal   : Ptx assembly aborted due to errors
"""


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (CUDAFE_STATIC_ASSERT, 'static assertion failed: "Message with N too small" (inc/a.h:2)'),
        (CUDAFE_OTHER_FIRST, 'static assertion failed: "Too small" (inc/a.h:2)'),
        (
            CUDAFE_OTHER_FIRST.replace("static", "dynamic"),
            'identifier "undefined_thing" is undefined (f.cu:1)',
        ),
        ("sa.cu(1): error: static assertion failed\n", "static assertion failed (sa.cu:1)"),
        (GCC_STATIC_ASSERT, 'static assertion failed: "Message with N too small" (inc/a.h:2)'),
        (
            "ptxas error   : Entry function '_Z1kPi' uses too much shared data (0x27100 bytes, 0xc000 max)\n",
            "Entry function '_Z1kPi' uses too much shared data (0x27100 bytes, 0xc000 max)",
        ),
        (PTX, "Not a name of any known instruction: 'bogus' (b2.ptx:5)"),
        ("nvcc fatal   : Unsupported gpu architecture 'sm_20'\n", "Unsupported gpu architecture 'sm_20'"),
        (
            "profiler.s: Assembler messages:\nprofiler.s:34: Error: unassigned file number 1\n",
            "unassigned file number 1 (profiler.s:34)",
        ),
        (LINKER, "undefined reference to `f()'"),
        (
            "/usr/bin/ld: cannot find -lnosuch: No such file or directory\ncollect2: error: ld returned 1 exit\n",
            "cannot find -lnosuch: No such file or directory",
        ),
        (
            "e.cu:1:10: fatal error: nope.h: No such file or directory\n",
            "nope.h: No such file or directory (e.cu:1)",
        ),
        ("cc1plus: fatal error: none.cu: No such file or directory\n", "none.cu: No such file or directory"),
        ('er.cu:1:2: error: #error "no way"\n', '#error "no way" (er.cu:1)'),
    ],
)
def test_the_reason_is_the_line_that_says_why(output: str, reason: str) -> None:
    assert diagnostics.reason(output) == reason
    assert diagnostics.machine_trouble(1, output) is None


def test_a_reason_is_never_long() -> None:
    reason = diagnostics.reason("a.h(1): error: " + "x" * 40_000)
    assert reason is not None and len(reason) == 200 and reason.endswith("x... (a.h:1)")


def test_without_an_error_there_is_no_reason() -> None:
    assert diagnostics.reason("all is well\n") is None
    assert diagnostics.machine_trouble(2, "all is well\n") is None
    assert diagnostics.machine_trouble(255, "") is None  # How nvcc passes on ptxas's error.


@pytest.mark.parametrize(
    ("returncode", "output", "trouble"),
    [
        (137, "Killed\n", "Killed"),
        (139, "Segmentation fault\n", "Segmentation fault"),
        (134, "", "killed by signal 6"),
        (-9, "", "killed by signal 9"),
        (127, "", "a program of the toolchain cannot be run"),
        (127, "sh: 1: cicc: not found\n", "cicc: not found"),
        (
            1,
            "gcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n"
            "nvcc fatal   : Failed to preprocess host compiler properties.\n",
            "Killed signal terminated program cc1plus",
        ),
        (
            1,
            "cc1plus: internal compiler error: Aborted\n0x7fc48a69f04f ???\n",
            "internal compiler error: Aborted",
        ),
        (
            1,
            "a.h:3:1: internal compiler error: Segmentation fault\n",
            "internal compiler error: Segmentation fault",
        ),
        (
            1,
            "Assembler messages:\nInternal error (Segmentation fault).\n",
            "Internal error (Segmentation fault)",
        ),
        (
            9,
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
            "'cicc' died due to signal 9 (Kill signal)",
        ),
        (
            1,
            "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
            "ld terminated with signal 9 [Killed]",
        ),
        (
            1,
            "virtual memory exhausted: Cannot allocate memory\n",
            "virtual memory exhausted: Cannot allocate memory",
        ),
        (
            1,
            "<built-in>: fatal error: when writing output to tmp/tmpxft_1_big.cpp4.ii: No space left on device\n",
            "no space left on device: free some space, then run ninja again",
        ),
    ],
)
def test_the_machines_fault_is_told_apart(returncode: int, output: str, trouble: str) -> None:
    assert diagnostics.machine_trouble(returncode, output) == trouble


@pytest.mark.parametrize(
    ("returncode", "output", "crashed"),
    [
        (-11, "", True),
        (139, "", True),
        (1, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n", True),
        (1, "virtual memory exhausted: Cannot allocate memory\n", True),
        (1, "a.h:3:1: internal compiler error: Segmentation fault\n", True),
        (134, "a.ii: No space left on device\n", False),
        (127, "sh: 1: cicc: not found\n", False),
        (2, 'a.h(3): error: static assertion failed with "out of memory"\n', False),
    ],
)
def test_crashes_are_told_from_other_faults_of_the_machine(returncode: int, output: str, crashed: bool) -> None:
    assert diagnostics.crashed(returncode, output) is crashed


def test_a_message_about_memory_is_the_kernels_fault() -> None:
    output = 'a.h(3): error: static assertion failed with "would run out of memory"\n'
    assert diagnostics.machine_trouble(2, output) is None


def test_ptxas_figures() -> None:
    output = """\
$ nvcc -Xptxas -v g.cu
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z2k2Pfi' for 'sm_80'
ptxas info    : Function properties for _Z2k2Pfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]
ptxas info    : Compile time = 1.584 ms
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    992 bytes stack frame, 2144 bytes spill stores, 2148 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 992 bytes cumulative stack size, 364 bytes cmem[0]
ptxas info    : Compile time = 57.499 ms
ptxas info    : Function properties for _Z3extf
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
    assert diagnostics.ptxas(output) == {
        "functions": [
            {
                "function": "_Z2k2Pfi",
                "arch": "sm_80",
                "stack_frame_bytes": 0,
                "spill_stores_bytes": 0,
                "spill_loads_bytes": 0,
                "registers": 12,
                "barriers": 1,
                "static_shared_memory_bytes": 1024,
                "parameters_bytes": 364,
            },
            {
                "function": "k",
                "arch": "sm_80",
                "stack_frame_bytes": 992,
                "spill_stores_bytes": 2144,
                "spill_loads_bytes": 2148,
                "registers": 32,
                "barriers": 0,
                "static_shared_memory_bytes": 0,
                "parameters_bytes": 364,
            },
        ],
        "warnings": [],
    }


def test_ptxas_warnings() -> None:
    lost = (
        "Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register "
        "resources for the wgmma pipeline in the function 'w'"
    )
    output = f"""\
ptxas info    : (C7519) warpgroup.arrive is injected in around line 48 by compiler to allow use of registers in GMMA
ptxas info    : (C7511) {lost}
ptxas info    : (C7511) {lost}
ptxas warning : Stack size for entry function 'k' cannot be statically determined
"""
    assert diagnostics.ptxas(output)["warnings"] == [
        {"code": "C7511", "text": lost},
        {"code": "", "text": "Stack size for entry function 'k' cannot be statically determined"},
    ]
