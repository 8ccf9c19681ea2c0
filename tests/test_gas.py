"""Cutting programs out of the assembly of a batch."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cutlass_ninja.errors import BuildError
from cutlass_ninja.gas import Gas

BATCH = """\
\t.file\t"batch.cpp"
\t.text
\t.section\t.rodata.str1.1,"aMS",@progbits,1
.LC0:
\t.string\t"of a"
.LC1:
\t.string\t"of b"
.LC2:
\t.string\t"shared; main_a: .LC9"
\t.section\t.text.main_a,"ax",@progbits
\t.globl\tmain_a
\t.type\tmain_a, @function
main_a:
.LFB10:
\t.cfi_startproc
\tleaq\t.LC2(%rip), %rdi
\tleaq\t.LC0(%rip), %rsi
\tcall\tinlined
\tjmp\t.L4
.L4:
\tret
\t.cfi_endproc
.LFE10:
\t.size\tmain_a, .-main_a
\t.section\t.text.main_b,"ax",@progbits
\t.globl\tmain_b
\t.type\tmain_b, @function
main_b:
.LFB11:
\t.cfi_startproc
\tleaq\t.LC1(%rip), %rsi
\tmovsd\t.LC7(%rip), %xmm0
\tmovq\ttable(%rip), %rax
\tcall\talias
\tret
\t.cfi_endproc
.LFE11:
\t.size\tmain_b, .-main_b
\t.section\t.text.inlined,"axG",@progbits,inlined,comdat
\t.weak\tinlined
\t.type\tinlined, @function
inlined:
.LFB12:
\tret
.LFE12:
\t.size\tinlined, .-inlined
\t.set\talias,inlined
\t.section\t.data.rel.ro.local.table,"aw"
\t.align 8
\t.type\ttable, @object
\t.size\ttable, 8
table:
\t.quad\tmain_b
\t.local\tcounter
\t.comm\tcounter,8,8
\t.section\t.rodata.cst8,"aM",@progbits,8
\t.align 8
.LC5:
\t.long\t0
\t.long\t1
\t.align 8
.LC7:
\t.long\t0
\t.long\t1072693248
\t.ident\t"GCC: (Debian 12.2.0) 12.2.0"
\t.section\t.note.GNU-stack,"",@progbits
"""


def test_a_program_holds_what_its_main_uses() -> None:
    text = Gas(BATCH).part("main_a")
    assert '\t.string\t"of a"' in text and '"of b"' not in text
    assert "inlined,comdat" in text and "\t.weak\tinlined\n" in text
    for absent in ("main_b", "table", "counter", "cst8", ".ident", ".file", "alias"):
        assert absent not in text
    assert re.findall(r"^main:$", text, re.MULTILINE) == ["main:"] and "\t.globl\tmain\n" in text
    assert "main_a" not in re.sub('".*"', "", text)
    assert text.endswith('\t.section\t.note.GNU-stack,"",@progbits\n')


def test_aliases_tables_and_constants_come_along() -> None:
    text = Gas(BATCH).part("main_b")
    assert "\t.set\talias,inlined\n" in text and text.index("inlined:\n") < text.index("\t.set\talias,inlined")
    assert "table:\n\t.quad\tmain\n" in text
    assert "\t.long\t1072693248\n" in text and "\t.long\t1\n" not in text
    assert "counter" not in text


def test_labels_are_numbered_anew() -> None:
    text = Gas(BATCH).part("main_a")
    labels = re.findall(r"^(\.L\w+):", text, re.MULTILINE)
    assert set(labels) == {f".L{place}" for place in range(len(labels))}
    assert set(re.findall(r"\.L\w+", re.sub('".*"', "", text))) == set(labels)


def test_strings_stay_as_they_are() -> None:
    assert '\t.string\t"shared; main_a: .LC9"\n' in Gas(BATCH).part("main_a")


def test_a_program_does_not_depend_on_the_batch() -> None:
    other = BATCH.replace(".LC0", ".LC30").replace(".L4", ".L44").replace("LFB10", "LFB99").replace("LFE10", "LFE99")
    other = re.sub(r"\t\.section\t\.text\.main_b(.|\n)*\.-main_b\n", "", other)
    assert Gas(other).part("main_a") == Gas(BATCH).part("main_a")


def test_a_program_that_is_missing() -> None:
    with pytest.raises(BuildError, match="the compiled batch has no main_c"):
        Gas(BATCH).part("main_c")


FLAGS = ["-O1", "-ffunction-sections", "-fdata-sections", "-fno-inline-functions-called-once"]

STREAMS = """\
#include <iostream>
#include <string>
namespace first {
struct Base { virtual ~Base() {} virtual int value() const { return 1; } };
struct Derived : Base { int value() const override { return 40; } };
thread_local int counted = 1;
double half(double x) { return x * 0.5; }
int main_(int argc, char**) {
  static std::string const text = "a static local";
  Base const& base = argc > 100 ? *new Base : *new Derived;
  try { if (argc > 1) throw std::string("thrown"); } catch (std::string const&) { return 7; }
  switch (argc + 5) { case 1: return 3; case 2: return 9; case 3: return 8; case 4: return 1; case 5: return 4; case 9: return 5; }
  std::cout << text << ' ' << half(base.value()) << std::endl;
  return counted;
}
}
namespace second {
int counter;
int main_(int, char**) { std::cout << "second " << ++counter << std::endl; return 2; }
}
"""


def assembled(source: str, folder: Path) -> Gas:
    (folder / "batch.cpp").write_text(source)
    subprocess.run(["g++", *FLAGS, "-S", "batch.cpp", "-o", "batch.s"], cwd=folder, check=True)
    return Gas((folder / "batch.s").read_text())


def program(gas: Gas, main: str, folder: Path) -> bytes:
    (folder / "part.s").write_text(gas.part(main))
    subprocess.run(["g++", "-s", "part.s", "-o", "program"], cwd=folder, check=True)
    return (folder / "program").read_bytes()


def test_what_gcc_writes_runs_as_programs_of_their_own(tmp_path: Path) -> None:
    """With virtual tables, exceptions, static and thread-local variables, jump tables and streams."""
    gas = assembled(STREAMS, tmp_path)
    built = program(gas, "_ZN5first5main_EiPPc", tmp_path)
    for arguments, code, out in (([], 1, "a static local 20\n"), (["x"], 7, "")):
        ran = subprocess.run(["./program", *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (code, out)
    assert b"second" not in built
    program(gas, "_ZN6second5main_EiPPc", tmp_path)
    ran = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "second 1\n")

    alone = "\n".join(STREAMS.partition("namespace second")[:1])
    assert program(assembled(alone, tmp_path), "_ZN5first5main_EiPPc", tmp_path) == built


def test_what_else_is_initialized_before_main_is_refused(tmp_path: Path) -> None:
    gas = assembled("#include <string>\nstd::string name(100, 'x');\nint main_() { return name.size(); }\n", tmp_path)
    assert re.fullmatch(r"\S+ is initialized before main", gas.refused)
    assert assembled(STREAMS, tmp_path).refused == ""
