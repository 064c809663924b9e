"""Random Relax programs: planned and unplanned builds agree in every bit that any kernel writes."""

import random

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
from tvm import relax, tirx

from tests.relax.running import FUSION, plans, same_bits

SIDE = 8
#: Element-wise, transposing, reversing and reducing operators, and pieces: what may be in place and what must not.
OPERATORS = (
    relax.op.add,
    relax.op.multiply,
    lambda a, b: relax.op.tanh(a),
    relax.op.matmul,
    lambda a, b: relax.op.permute_dims(a),
    lambda a, b: relax.op.nn.softmax(a, axis=-1),
    lambda a, b: relax.op.strided_slice(relax.op.concat([a, b], axis=0), [0], [4], [4 + SIDE]),
    lambda a, b: relax.op.flip(a, axis=1),
    lambda a, b: relax.op.nn.gelu(a),
    lambda a, b: relax.op.subtract(a, relax.op.permute_dims(a)),
)
DATAFLOW = (relax.transform.ConvertToDataflow(min_size=1), relax.transform.DeadCodeElimination())


#: The same for tensors of which the first dimension is open.
OPEN_OPERATORS = (
    relax.op.add,
    relax.op.multiply,
    lambda a, b: relax.op.tanh(a),
    lambda a, b: relax.op.nn.softmax(a, axis=-1),
    lambda a, b: relax.op.flip(a, axis=0),
    lambda a, b: relax.op.nn.gelu(a),
    lambda a, b: relax.op.subtract(a, relax.op.flip(b, axis=0)),
    lambda a, b: relax.op.multiply(a, relax.op.sum(b, axis=1, keepdims=True)),
)


def program(seed, operators=OPERATORS, rows=SIDE):
    chosen, builder = random.Random(seed), relax.BlockBuilder()
    values = [relax.Var(name, relax.TensorType((rows, SIDE), "float32")) for name in "xy"]
    with builder.function("main", list(values)):
        for _ in range(chosen.randint(8, 20)):
            made = chosen.choice(operators)(chosen.choice(values[-5:]), chosen.choice(values[-6:]))
            values.append(builder.emit(made))
        both = chosen.random() < 0.3
        builder.emit_func_output(builder.emit(relax.Tuple(values[-2:])) if both else values[-1])
    return builder.get()


#: The last one is what showed that a promise of one kernel is taken for that of all.
SEEDS = (*range(8), 37)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_compute_the_same_bits(seed):
    fusion = (*DATAFLOW, *FUSION) if seed % 2 else ()
    numbers = np.random.default_rng(seed)
    inputs = [[numbers.normal(size=(SIDE, SIDE)).astype("float32") / 2 for _ in "xy"] for _ in range(2)]
    assert same_bits(program(seed), inputs, before=fusion)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_open_size_compute_the_same_bits(seed):
    made = program(seed, OPEN_OPERATORS, tirx.Var("n", "int64"))
    numbers = np.random.default_rng(seed)
    inputs = [[numbers.normal(size=(n, SIDE)).astype("float32") / 2 for _ in "xy"] for n in (1, 7, 40)]
    before = (*DATAFLOW, *FUSION) if seed % 2 else ()
    assert plans(made, before)["main"].symbolic
    assert same_bits(made, inputs, before=before)


@pytest.mark.parametrize("seed", range(50, 54))
def test_random_programs_without_a_spy_compute_the_same_bits(seed):
    """A spy may keep what it is shown, so only without one are arguments in place one argument."""
    made = program(seed, OPEN_OPERATORS, tirx.Var("n", "int64")) if seed % 2 else program(seed)
    numbers = np.random.default_rng(seed)
    inputs = [[numbers.normal(size=(SIDE, SIDE)).astype("float32") / 2 for _ in "xy"] for _ in range(2)]
    assert same_bits(made, inputs, spy=False)


def test_random_programs_share_inside_kernels():
    assert sum(len(plans(program(seed))["main"].sharing) for seed in range(8)) > 0
