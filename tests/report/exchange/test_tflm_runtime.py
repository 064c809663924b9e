"""TensorFlow Lite Micro itself runs a model with a plan of ours in it, and gives what it gave without.

Needs the package tflite-micro and the models of `shared_data`.
"""

import numpy as np
import pytest

from tvm_memplan.planning.files.tflm import ALIGNMENT, offsets_from_tflm, offsets_to_tflm, plan_to_tflm
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Pool, Problem
from tvm_memplan.planning.planners import plan

runtime = pytest.importorskip("tflite_micro").runtime
flatbuffers = pytest.importorskip("flatbuffers")
schema = pytest.importorskip("tflite_micro.tensorflow.lite.micro.python.schema_py_generated")

SIZES = {schema.TensorType.INT8: 1, schema.TensorType.UINT8: 1, schema.TensorType.INT32: 4}


@pytest.fixture(params=["person_detect.tflite", "hello_world_int8.tflite"])
def model(request, shared_data):
    path = shared_data / "models" / "tflm" / request.param
    return schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(path.read_bytes(), 0))


def tensors(model):
    """One buffer per tensor, in their order: alive from the operator that writes it to the last that reads it."""
    (graph,) = model.subgraphs
    count = len(graph.operators)
    first, last = {i: 0 for i in graph.inputs}, {i: count for i in graph.outputs}
    for step, operator in enumerate(graph.operators):
        for i in operator.outputs:
            first[i] = step
        for i in (*operator.inputs, *operator.outputs):
            last[i] = max(last.get(i, 0), step)
    buffers = []
    for i, tensor in enumerate(graph.tensors):
        stored = model.buffers[tensor.buffer].data is not None
        size = int(np.prod(tensor.shape)) * SIZES[tensor.type]
        lives = (LiveRange(0, count + 1),) if stored else (LiveRange(first[i], last[i] + 1),)
        buffers.append(
            Buffer(
                f"{i}",
                size,
                lives,
                kind=Kind.WEIGHTS if stored else Kind.ACTIVATION,
                pools=("flash" if stored else "arena",),
            )
        )
    return tuple(buffers)


def with_metadata(model, data):
    holder, entry = schema.BufferT(), schema.MetadataT()
    holder.data = np.frombuffer(data, np.uint8)
    entry.name, entry.buffer = "OfflineMemoryAllocation", len(model.buffers)
    model.buffers.append(holder)
    model.metadata = [*(model.metadata or []), entry]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def outputs(data):
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=400 * 1024)
    shape = interpreter.get_input_details(0)["shape"]
    found = []
    for seed in range(3):
        interpreter.set_input(np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8), 0)
        interpreter.invoke()
        found.append(interpreter.get_output(0).copy())
    return found


def pack(model):
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_tflm_runs_our_plan_and_computes_the_same(model):
    before = outputs(pack(model))
    problem = Problem(tensors(model), (Pool("arena", alignment=ALIGNMENT), Pool("flash")))
    made = plan(problem, planner="greedy_by_size")
    after = outputs(with_metadata(model, plan_to_tflm(made)))
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a, b)


def test_tflm_does_read_it(model):
    # All tensors on one place: were the plan not used, the outputs would be as before.
    before = outputs(pack(model))
    stored = [buffer.kind is Kind.WEIGHTS for buffer in tensors(model)]
    data = offsets_to_tflm([-1 if there else 0 for there in stored])
    assert len(offsets_from_tflm(data)) == len(stored)
    after = outputs(with_metadata(model, data))
    assert any((a != b).any() for a, b in zip(before, after))


def test_tflm_refuses_another_number_of_offsets(model):
    data = offsets_to_tflm([-1] * (len(tensors(model)) - 1))
    with pytest.raises(RuntimeError):
        runtime.Interpreter.from_bytes(with_metadata(model, data), arena_size=400 * 1024)
