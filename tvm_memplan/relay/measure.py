"""`measure`: runs a planned build on this machine, and holds what it really uses against the plan.

The arenas are filled with a pattern, with guards before and behind, and every input runs over it and over its
complement. On Linux with a C compiler the model runs in a process of its own, and what TVM's executor and the kernels
ask of their allocators is watched there; elsewhere it runs here, and the result says what could not be seen.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvm_memplan.errors import BadInput
from tvm_memplan.measuring.handover import MODEL, hand_over
from tvm_memplan.measuring.paint import random_value
from tvm_memplan.measuring.process import run_apart, run_here
from tvm_memplan.measuring.requests import workspace_requests
from tvm_memplan.measuring.symbols import Symbols
from tvm_memplan.measuring.watch import Event, why_not
from tvm_memplan.planning.model import Kind
from tvm_memplan.relay import measure_run
from tvm_memplan.relay.build_model import Built
from tvm_memplan.relay.pools import c_name
from tvm_memplan.relay.problem import CALLER
from tvm_memplan.report.measured import Arena, Handed, Measurement, Reality, compare
from tvm_memplan.report.memory import MemoryReport


def measure(built: Built, inputs: Sequence[Mapping[str, Any]] | None = None, *, count: int = 2) -> Reality:
    """Run a planned build, and compare what it uses with its report.

    Parameters
    ----------
    built : Built
        What `tvm_memplan.relay.build` returned, for this machine and TVM's C++ runtime.
    inputs : sequence of mapping of str to array, or None
        The inputs to run, each by the names of the model's inputs; None makes random ones.
    count : int
        How many random ones.

    Returns
    -------
    Reality
        Every difference by name; `holds` says whether nothing exceeds the plan.

    Raises
    ------
    BadInput
        The build is not for this machine, or an input is missing or of another shape.
    RunFailed
        The model crashed.
    """
    module, report = built
    if str(module.runtime) != "cpp" or "llvm" not in str(module.target):
        raise BadInput(
            f"measure runs builds for llvm and TVM's C++ runtime, not for {report.target!r}: export that to C, and "
            "run `make measure` in the folder"
        )
    entry, spec, weights = specification(module, report)
    batches = batches_of(module, inputs, count)
    spec["entry"] = entry
    missing = why_not()
    if missing:
        call = module.module.get_function(entry, True)
        seen = run_here(lambda: measure_run.painted_runs(call, spec, batches, weights))
        return compare(report, _measurement([w.arena() for w in seen], len(batches), report, (missing,)))
    with tempfile.TemporaryDirectory(prefix="tvm_memplan_") as made:
        folder = Path(made)
        module.export_library(str(folder / MODEL))
        hand_over(folder, spec, batches, weights=weights)
        result = run_apart("tvm_memplan.relay.measure_run", folder, watched=True)
        symbols = Symbols(folder / MODEL, f"{module.libmod_name}_")
    arenas = [Arena.from_fields(row) for row in result["arenas"]]
    plain = _measurement(arenas, len(batches), report, ())
    return compare(report, _with_allocators(plain, result, spec, report, symbols))


def _measurement(arenas: Sequence[Arena], inputs: int, report: MemoryReport, missing: tuple[str, ...]) -> Measurement:
    how = f"on this machine ({report.target.split()[0] if report.target else 'llvm'}), each input twice"
    lost = tuple(f"what the run time and the kernels ask allocators for: {why}" for why in missing)
    return Measurement(how, 2 * inputs, tuple(arenas), None if missing else (), unmeasured=lost)


def _with_allocators(
    seen: Measurement, result: Mapping[str, Any], spec: Mapping[str, Any], report: MemoryReport, symbols: Symbols
) -> Measurement:
    """Add what was seen of allocators: the blocks that TVM's executor took are told apart by their sizes."""
    requests, most = workspace_requests([Event(*row) for row in result["run"]], symbols)
    blocks = Counter(result["blocks"])
    handed: list[Handed] = []
    weights = next((row.pool for row in report.allocations if row.kind is Kind.WEIGHTS), "")
    wanted = [(CALLER, size) for size in spec["io_sizes"]]
    wanted += [(weights if pool["pool"] is None else pool["pool"], pool["size"]) for pool in spec["pools"]]
    for pool, size in wanted:
        if blocks[size]:
            blocks[size] -= 1
            handed.append(Handed(pool, size))
    rest, known = sorted(blocks.elements()), sum(row.size for row in handed)
    if result["at_once"] > known:
        what = f"the most at once besides, by TVM's executor: {len(rest)} more blocks, the largest of {rest[-1]:,} B"
        handed.append(Handed("", result["at_once"] - known, f"{what}, {max(0, result['kept'] - known):,} B are kept"))
    if result["pages"]:
        handed.append(Handed("", result["pages"], "pages that kernels' workspaces are taken from"))
    pools = {figures.pool for figures in report.pools}
    held: dict[str, int] = {}
    for row in handed:
        if row.pool in (CALLER, weights) and row.pool in pools:
            held[row.pool] = held.get(row.pool, 0) + row.size
    lost = (f"{result['lost']} calls of allocators: there were too many",) if result["lost"] else ()
    return Measurement(
        seen.how,
        seen.runs,
        seen.arenas,
        requests,
        most,
        tuple(handed),
        tuple(held.items()),
        unmeasured=(*seen.unmeasured, *lost),
    )


def specification(module: Any, report: MemoryReport) -> tuple[str, dict[str, Any], Any]:
    """The entry function, what it takes besides its inputs, and the bytes of the weights."""
    meta = module.executor_codegen_metadata
    written = [p.pool for p in report.pools if any(_planned_in(report, p.pool))]
    names = {c_name(pool): pool for pool in written}
    if len(written) == 1:
        names["global_workspace"] = written[0]
    weights: Any = np.zeros(0, np.uint8)
    pools: list[dict[str, Any]] = []
    for var in meta.pools or ():
        found = meta.pool_inputs[var]
        if str(found.pool_info.pool_name) == "global_const_workspace":
            weights = _weights(found.pool_info.constant_info_array)
            pools.append({"pool": None, "size": len(weights)})
            continue
        name = str(found.pool_info.pool_name)
        pools.append({"pool": names.get(name, name), "size": int(found.allocated_size)})
    outputs = [(_shape(kind), str(kind.dtype)) for kind in meta.output_tensor_types]
    declared = [(_shape(kind), str(kind.dtype)) for kind in (*meta.input_tensor_types, *meta.output_tensor_types)]
    sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in declared]
    return f"tvmgen_{module.libmod_name}___tvm_main__", {"outputs": outputs, "pools": pools, "io_sizes": sizes}, weights


def _planned_in(report: MemoryReport, pool: str) -> list[bool]:
    return [True for row in report.allocations if row.pool == pool and row.kind is not Kind.WEIGHTS and pool != CALLER]


def _weights(constants: Sequence[Any]) -> Any:
    placed = [(int(info.byte_offset), info.data.numpy().tobytes()) for info in constants]
    blob = np.zeros(max((at + len(data) for at, data in placed), default=0), np.uint8)
    for at, data in placed:
        blob[at : at + len(data)] = np.frombuffer(data, np.uint8)
    return blob


def _shape(kind: Any) -> list[int]:
    return [int(extent) for extent in kind.shape]


def batches_of(module: Any, inputs: Sequence[Mapping[str, Any]] | None, count: int) -> list[list[Any]]:
    """The values of every input, in the model's order; random ones where `inputs` is None."""
    meta = module.executor_codegen_metadata
    declared = [(str(v.name), tuple(_shape(k)), str(k.dtype)) for v, k in zip(meta.inputs, meta.input_tensor_types)]
    if inputs is None:
        random = np.random.default_rng(0)
        return [[random_value(shape, dtype, random) for _, shape, dtype in declared] for _ in range(max(1, count))]
    if not inputs:
        raise BadInput("there is no input to run; leave `inputs` out for random ones")
    made = []
    for i, batch in enumerate(inputs):
        row = []
        for name, shape, dtype in declared:
            if name not in batch:
                raise BadInput(f"input {i} lacks {name!r}; the model takes {', '.join(n for n, _, _ in declared)}")
            value = np.asarray(batch[name])
            if value.shape != shape or str(value.dtype) != dtype:
                raise BadInput(f"input {i}: {name!r} is {value.dtype}{list(value.shape)}, not {dtype}{list(shape)}")
            row.append(value)
        made.append(row)
    return made
