"""Programs on which planners have been wrong compute the right thing after our passes, on llvm and on c."""

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tests.tirx import programs
from tests.tirx.programs import PROGRAMS
from tests.tirx.running import OURS, build, flat, run
from tvm_memplan.analysis import analyze_memory

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: str(f.attrs["global_symbol"]))


def arguments(program, seed):
    shape, out, _ = PROGRAMS[program]
    values = np.random.default_rng(seed).normal(size=shape).astype("float32")
    return [-values if seed % 2 else values, np.full(out, np.nan, "float32")]


def figures(program, alignment=1):
    (report,) = analyze_memory(flat(program), alignment=alignment).values()
    return report


@every_program
@pytest.mark.parametrize("spy", [False, True], ids=["bare", "spied"])
def test_llvm_code_is_right(program, spy):
    module = build(program, OURS, spy=spy)
    for seed in range(4):
        values = arguments(program, seed)
        (_, got), _ = run(module, values)
        np.testing.assert_allclose(got, PROGRAMS[program][2](values[0]), rtol=1e-5)


@every_program
def test_vectorised_llvm_code_is_right(program):
    module = build(program, OURS, vectorize=True, spy=False)
    values = arguments(program, 7)
    (_, got), _ = run(module, values)
    np.testing.assert_allclose(got, PROGRAMS[program][2](values[0]), rtol=1e-5)


@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p is not programs.predicated_stores],  # TVM writes no C for those
    ids=lambda f: str(f.attrs["global_symbol"]),
)
def test_c_code_is_right(program, tmp_path):
    module = build(program, OURS, "c", spy=False)
    for seed in range(2):
        values = arguments(program, seed)
        (_, got), _ = run(module, values, tmp_path)
        np.testing.assert_allclose(got, PROGRAMS[program][2](values[0]), rtol=1e-5)


def planned_bytes(program, alignment=1):
    (pool,) = figures(program, alignment).pools
    return pool.planned


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (programs.alias_read_at_another_index, 64),
        (programs.value_nobody_reads, 64),
        (programs.consecutive_loops, 800),
        (programs.small_buffers_after_a_big_one, 1600),
        (programs.carried_by_the_loop, 64),
        (programs.read_again_in_each_iteration, 64),
        (programs.branches, 64),
        (programs.while_condition_reads, 36),
        (programs.predicated_stores, 64),
        (programs.leaves_a_loop_early, 96),
        (programs.returns_early, 64),
        (programs.both_touched_in_one_leaf, 64),
    ],
    ids=lambda value: str(value.attrs["global_symbol"]) if hasattr(value, "attrs") else str(value),
)
def test_the_arena_is_as_small_as_the_rules_allow(program, expected):
    assert planned_bytes(program) == expected
