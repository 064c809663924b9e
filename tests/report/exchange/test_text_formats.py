"""C source and the summary CSV; the C goes through a compiler where there is one."""

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given

from tests.browser.reports import EVIL, everything, evil
from tests.report.any_report import REPORTS
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.report.exchange import buffer_plan_c, c_header, vela_summary

needs_c = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
needs_cpp = pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")


def compiled(source, *options, compiler="cc"):
    done = subprocess.run([compiler, *options, "-"], input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@given(REPORTS)
def test_no_macro_is_defined_twice_and_every_line_is_c(report):
    text = c_header(report)
    names = re.findall(r"^#define (\S+)", text, re.MULTILINE)
    assert len(set(names)) == len(names) == 1 + 2 * (len(report.pools) + len(report.allocations))
    for line in text.splitlines():
        assert re.fullmatch(r"|/\*.*\*/|#ifndef \w+|#endif /\* \w+ \*/|#define \w+(?: \d+(?:ULL)?)?", line, re.ASCII), (
            line
        )
        assert line.count("*/") <= 1


@needs_c
@pytest.mark.parametrize("report", [everything, evil])
def test_a_compiler_takes_the_header_and_reads_the_numbers(report):
    use = "int check[MEMPLAN_CONV_OUT_OFFSET == 4096 && MEMPLAN_POOL_SRAM_SIZE == 14336 ? 1 : -1];\n"
    source = c_header(report()) + (use if report is everything else "int nothing;\n")
    compiled(source, "-x", "c", "-std=c99", "-Wall", "-Werror", "-pedantic", "-fsyntax-only")


def test_names_that_give_one_macro_are_told_apart():
    report = everything()
    twice = replace(report, allocations=tuple(replace(row, name="a.b") for row in report.allocations[:2]))
    text = c_header(twice)
    assert "MEMPLAN_A_B_OFFSET" in text and "MEMPLAN_A_B_2_OFFSET" in text
    with pytest.raises(BadInput, match="no name of a C macro"):
        c_header(report, prefix="1 2")


def small_plan(**more):
    buffers = (
        Buffer("x", 8, (LiveRange(0, 2),), **more),
        Buffer(EVIL + "\\", 8, (LiveRange(1, 3),)),
        Buffer("w", 4, (LiveRange(0, 3),), kind=Kind.WEIGHTS),
    )
    places = (Placement("arena", 0), Placement("arena", 8), Placement("flash", 0))
    return Plan(Problem(buffers, (Pool("arena"), Pool("flash"))), places)


STRUCT = """
#include <stdint.h>
namespace tflite {
struct BufferDescriptor { int32_t offset; };
struct BufferPlan { int32_t buffer_count; BufferDescriptor buffer_plan_entries[1]; };
}
"""


@needs_cpp
def test_a_compiler_takes_the_buffer_plan_and_reads_the_offsets(tmp_path):
    # The struct as tflite-micro declares it, in the place of its header.
    source = buffer_plan_c(small_plan()).replace(
        '#include "tensorflow/lite/micro/memory_planner/memory_plan_struct.h"', STRUCT
    )
    source += "#include <stdio.h>\nint main() { for (int i = 0; i < memory_plan->buffer_count; ++i)"
    source += ' printf("%d ", (int)(&memory_plan->buffer_plan_entries[0])[i].offset); }\n'
    program = tmp_path / "program"
    compiled(source, "-x", "c++", "-std=c++17", "-Wall", "-Werror", "-o", str(program), compiler="c++")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "0 8 "


def test_a_buffer_plan_of_two_arenas_or_a_bad_name_is_refused():
    problem = Problem((Buffer("x", 8, (LiveRange(0, 2),)), Buffer("y", 8, (LiveRange(0, 2),))), (Pool("a"), Pool("b")))
    with pytest.raises(BadInput, match="one arena, and the plan uses pools a, b"):
        buffer_plan_c(Plan(problem, (Placement("a", 0), Placement("b", 0))))
    with pytest.raises(BadInput, match="no name of a C variable"):
        buffer_plan_c(small_plan(), name="a b")


def test_the_summary_has_velas_labels_and_kib():
    labels, figures = csv.reader(vela_summary(everything()).splitlines())
    row = dict(zip(labels, figures))
    assert row["network"] == "a small net" and row["experiment"] == "default"
    assert float(row["sram_memory_used"]) == 14336 / 1024
    assert int(row["total_original_weights"]) == 30000
    assert labels[:4] == ["experiment", "network", "system_config", "memory_mode"]


@given(REPORTS)
def test_the_summary_is_two_lines_of_as_many_fields(report):

    rows = list(csv.reader(io.StringIO(vela_summary(report), newline="")))
    assert len(rows) == 2 and len(rows[0]) == len(rows[1]) == len(set(rows[0]))
