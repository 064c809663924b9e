"""`measure`: runs a planned build on this machine, and holds what it really uses against the plan.

Every storage that the function allocates is filled with a pattern, with a guard behind it, and every input runs over it
and over its complement. On Linux with a C compiler the model runs in a process of its own, and what the virtual machine
and the kernels ask of their allocators is watched there; elsewhere it runs here, and the result says what could not
be seen.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.measuring.handover import MODEL, hand_over
from tvm_memplan.measuring.paint import random_value
from tvm_memplan.measuring.process import run_apart, run_here
from tvm_memplan.measuring.requests import workspace_requests
from tvm_memplan.measuring.symbols import Symbols
from tvm_memplan.measuring.watch import BLOCK, BLOCK_FREED, MARK, Event, most_at_once, why_not
from tvm_memplan.planning.model import Kind
from tvm_memplan.relax import measure_run
from tvm_memplan.relax.build_model import Built
from tvm_memplan.report.measured import Arena, Handed, Measurement, Reality, Request, compare
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.transform.graphs.problem import CALLER, RUN_TIME, SCRATCH
from tvm_memplan.transform.graphs.write import original_name


def measure(built: Built, inputs: Sequence[Sequence[Any]], *, function: str = "main") -> Reality:
    """Run a planned build, and compare what it uses with its report.

    Parameters
    ----------
    built : Built
        What `tvm_memplan.relax.build` returned for ``llvm``, this machine.
    inputs : sequence of sequence of array
        The inputs to run, each with all arguments of the function; `random_inputs` makes some.
    function : str
        The function that the report is of.

    Returns
    -------
    Reality
        Every difference by name; `holds` says whether nothing exceeds the plan.

    Raises
    ------
    BadInput
        The build is not for this machine, has no such function, or there is no input.
    RunFailed
        The model crashed, or refused an input.
    """
    executable, report = built
    if report.target != "llvm":
        raise BadInput(
            f"measure runs builds for llvm on this machine, not for {report.target or 'an unknown target'!r}"
        )
    if not inputs:
        raise BadInput("there is no input to run; tvm_memplan.relax.random_inputs makes some")
    batches = [[np.asarray(value) for value in values] for values in inputs]
    if any(len(batch) != len(batches[0]) for batch in batches):
        raise BadInput("the inputs differ in how many arguments they have")
    missing = why_not()
    if missing:
        seen = run_here(lambda: measure_run.painted_runs(executable, function, batches))
        storages = [[one.arena() for one in row] for row in seen]
        return compare(report, _measurement(report, batches, storages, None, None, missing))
    with tempfile.TemporaryDirectory(prefix="tvm_memplan_") as made:
        folder = Path(made)
        executable.export_library(str(folder / MODEL))
        hand_over(folder, {"function": function}, batches)
        result = run_apart("tvm_memplan.relax.measure_run", folder, watched=True)
        symbols = Symbols(folder / MODEL)
    storages = [[Arena.from_fields(row) for row in rows] for rows in result["storages"]]
    return compare(report, _measurement(report, batches, storages, result, symbols, ""))


def random_inputs(
    mod: Any, function: str = "main", *, sizes: Mapping[str, int] | None = None, count: int = 2, seed: int = 0
) -> list[list[Any]]:
    """Make random arguments for a function: floats of either sign, bytes of any value, and small wide integers.

    Parameters
    ----------
    mod : tvm.IRModule
        Has the function.
    function : str
        Its name.
    sizes : mapping of str to int
        Values of the dimensions that are open.
    count : int
        How many sets of arguments.
    seed : int
        Of the random numbers.

    Raises
    ------
    BadInput
        There is no such function, a dimension has no value, or an argument is no tensor.
    """
    names = {str(var.name_hint): var for var in mod.get_global_vars()}
    if function not in names:
        raise BadInput(f"the module has no function {function!r}; there are {', '.join(sorted(names))}")
    random = np.random.default_rng(seed)
    kinds = relax_dialect().argument_kinds(mod[names[function]], sizes or {})
    return [[random_value(shape, dtype, random) for shape, dtype in kinds] for _ in range(max(1, count))]


def _measurement(
    report: MemoryReport,
    batches: Sequence[Sequence[Any]],
    storages: Sequence[Sequence[Arena]],
    watched: Mapping[str, Any] | None,
    symbols: Symbols | None,
    missing: str,
) -> Measurement:
    """Say which storage is whose: a function allocates its arenas first, then results and what has no known size."""
    arenas, first = _arenas(report, storages)
    seen = Measurement(
        f"on this machine ({report.target}), each input twice",
        2 * len(batches),
        arenas,
        unmeasured=(f"what the virtual machine and the kernels ask allocators for: {missing}",) if missing else (),
    )
    if watched is None or symbols is None:
        return seen
    pooled, naive = watched["pooled"], watched["naive"]
    run = [Event(*row) for row in naive["run"]]
    requests, most = workspace_requests(run, symbols)
    requests = tuple(replace(row, function=_in_report(row.function, report)) for row in requests)
    returned = {i for i, storage in enumerate(storages[0]) if storage.pool == measure_run.RETURNED}
    rest = [i for i in range(len(naive["storages"])) if i not in first and i not in returned]
    others = _storages_at_once(run, set(rest))
    if rest:
        sizes = [naive["storages"][i] for i in rest]
        requests = (*requests, Request("storage", "", max(sizes), len(sizes), others))
    handed = [Handed(arena.pool, arena.size) for arena in arenas]
    known = sum(row.size for row in handed) + sum(pooled["returned"]) + others
    if pooled["at_once"] > known:
        what = (
            "the virtual machine's allocator besides: it rounds up to pages, and the last result stays until the next"
        )
        handed.append(Handed("", pooled["at_once"] - known, what))
    if pooled["pages"]:
        handed.append(Handed("", pooled["pages"], "pages that kernels' workspaces are taken from"))
    lost = (f"{naive['lost']} calls of allocators: there were too many",) if naive["lost"] else ()
    return replace(
        seen,
        requests=requests,
        workspace_at_once=most,
        handed=tuple(handed),
        held=(*_held(report, batches[0], pooled).items(), (RUN_TIME, others)),
        unmeasured=(*seen.unmeasured, *lost),
    )


def _in_report(kernel: str, report: MemoryReport) -> str:
    """What the report calls a kernel: as the model does, which may have one with a name like those of ours itself."""
    return kernel if kernel in {step.partition("#")[0] for step in report.steps} else original_name(kernel)


def _arenas(report: MemoryReport, storages: Sequence[Sequence[Arena]]) -> tuple[tuple[Arena, ...], list[int]]:
    """The arenas of the report's pools over all inputs, and their positions among the storages of a run."""
    ends: dict[str, int] = {}
    for row in report.allocations:
        if row.kind is not Kind.WEIGHTS and row.pool not in (CALLER, RUN_TIME, SCRATCH):
            ends[row.pool] = max(ends.get(row.pool, 0), row.end)
    left = list(range(min(len(ends), *(len(rows) for rows in storages))))
    found: dict[str, int] = {}
    # Of several arenas those whose size is as planned are told by it, and the others by their order.
    for exact in (True, False):
        for pool, end in ends.items():
            here = [i for i in left if not exact or storages[0][i].size == end]
            if pool not in found and here:
                found[pool] = here[0]
                left.remove(here[0])
    arenas = [reduce(Arena.seen_with, (rows[i] for rows in storages)) for i in found.values()]
    return tuple(replace(arena, pool=pool) for pool, arena in zip(found, arenas)), list(found.values())


def _storages_at_once(run: Sequence[Event], which: Container[int]) -> int:
    """The most bytes at once of the storages at some positions: a mark stands before the block of each."""
    kept: list[Event] = []
    position, marked = -1, False
    for event in run:
        if event.kind == MARK:
            position, marked = position + 1, True
        elif event.kind == BLOCK and not event.inside:
            if marked and position in which:
                kept.append(event)
            marked = False
        elif event.kind == BLOCK_FREED:
            kept.append(event)
    return most_at_once(kept, BLOCK, BLOCK_FREED)


def _held(report: MemoryReport, values: Sequence[Any], pooled: Mapping[str, Any]) -> dict[str, int]:
    """What inputs, results and weights took; of the arguments, those with the size of a weight are weights."""
    weights = Counter(row.size for row in report.allocations if row.kind is Kind.WEIGHTS)
    # Results that lie in an arena were measured there.
    inside = sum(row.size for row in report.allocations if row.kind is Kind.OUTPUT and row.pool != CALLER)
    sizes = {CALLER: max(sum(pooled["returned"]) - inside, 0)}
    pool = next((row.pool for row in report.allocations if row.kind is Kind.WEIGHTS), "")
    if pool:
        sizes[pool] = pooled["constants"]
    for value in reversed(values):
        if pool and weights[value.nbytes]:
            weights[value.nbytes] -= 1
            sizes[pool] += value.nbytes
        else:
            sizes[CALLER] += value.nbytes
    return sizes
