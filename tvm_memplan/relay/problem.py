"""From a lowered program to a planning problem: pools, alignments, and whose conflicts count.

::

    activations, workspace  ->  the activation pools      shared by time
    weights                 ->  the weight pools          never shared, never with the above
    inputs, outputs         ->  `caller`                  supplied by the caller, counted but not placed by us
                                (or the activation pools, with `io_in_pool`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.lifetimes.in_place import in_place_pairs
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Buffer, Kind, Pool, Problem
from tvm_memplan.planning.spilling.traffic import traffic
from tvm_memplan.relay.origins import program_origins, program_step_layers
from tvm_memplan.relay.targets import Configuration
from tvm_memplan.relay.usmp import Lowered
from tvm_memplan.report.memory import LeftAlone
from tvm_memplan.report.origin import Origin

#: The pool that stands for the buffers which the caller of the model supplies.
CALLER = "caller"
DEFAULT_POOLS = (Pool("workspace"),)
DEFAULT_WEIGHT_POOLS = (Pool("weights"),)


@dataclass(frozen=True)
class ProgramProblem:
    """A problem and what is to be told about it.

    `traffic` is what a run moves to and from each buffer, in bytes; `origins` says what tensors the buffers are, and
    `step_layers` which layer each step belongs to.
    """

    problem: Problem
    steps: tuple[str, ...]
    left_alone: tuple[LeftAlone, ...]
    notes: tuple[str, ...]
    traffic: Mapping[str, int] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    step_layers: tuple[str, ...] = ()


def program_problem(
    lowered: Lowered, config: Configuration, pools: Sequence[Pool], weight_pools: Sequence[Pool]
) -> ProgramProblem:
    """Make the problem of a whole program.

    Parameters
    ----------
    lowered : Lowered
        The program and what TVM says about it.
    config : Configuration
        Alignments.
    pools, weight_pools : sequence of Pool
        Where activations and workspace, and weights, may go, in order of preference.

    Raises
    ------
    BadInput
        When a pool is named twice, or as the caller's.
    """
    names = [pool.name for pool in (*pools, *weight_pools)]
    for name in names:
        if names.count(name) > 1 or name == CALLER:
            raise BadInput(f"pool {name!r}: names have to differ from each other and from {CALLER!r}")
    trace = lowered.program.trace
    liveness = live_ranges(trace)
    homes = {True: tuple(pool.name for pool in weight_pools), False: tuple(pool.name for pool in pools)}
    buffers: list[Buffer] = []
    left = list(lowered.program.left_alone)
    for buffer in liveness.buffers:
        if buffer.name not in lowered.program.statements:
            buffers.append(replace(buffer, pools=(CALLER,)))
        elif buffer.name in lowered.offered:
            alignment = _alignment(buffer, lowered, config)
            buffers.append(replace(buffer, pools=homes[buffer.kind is Kind.WEIGHTS], alignment=alignment))
        else:
            reason = "TVM's rewrite cannot move it (it is allocated in a loop that is not serial)"
            left.append(LeftAlone(buffer.name, buffer.operator, buffer.scope, buffer.size, reason))
    # TVM's own order of allocations changes from run to run; that of first use does not.
    buffers.sort(key=lambda b: (b.live_ranges[0].start, b.name))
    separate, notes = _compare(buffers, lowered)
    notes = (*lowered.notes, *notes)
    at = {buffer.name: i for i, buffer in enumerate(buffers)}
    named = ((liveness.buffers[d].name, liveness.buffers[s].name) for d, s in in_place_pairs(trace, liveness))
    in_place = frozenset(
        (at[d], at[s]) for d, s in named if d in at and s in at and buffers[at[d]].pools == buffers[at[s]].pools
    )
    caller = (Pool(CALLER),) if any(buffer.pools == (CALLER,) for buffer in buffers) else ()
    problem = Problem(tuple(buffers), (*pools, *weight_pools, *caller), separate=separate, in_place=in_place)
    if caller:
        notes = (*notes, "inputs and outputs are supplied by the caller: counted here, but not in the workspace")
    for name in lowered.program.unwritten:
        notes = (
            *notes,
            f"nothing is written to output {name!r}: to a tensor that is returned more than once, reshaped or not, "
            "TVM's AOT executor gives one place only; return it once",
        )
    return ProgramProblem(
        problem,
        liveness.steps,
        tuple(left),
        notes,
        traffic(trace),
        program_origins(lowered.program, lowered.layers),
        program_step_layers(lowered.program, lowered.layers),
    )


def _alignment(buffer: Buffer, lowered: Lowered, config: Configuration) -> int:
    least = config.constant_alignment if buffer.kind is Kind.WEIGHTS else config.alignment
    if config.trusts_declared_alignment:
        return max(least, lowered.program.declared_alignments.get(buffer.name, 1))
    return least


def _compare(buffers: Sequence[Buffer], lowered: Lowered) -> tuple[frozenset[tuple[int, int]], tuple[str, ...]]:
    """Keep apart what either analysis keeps apart, and say where they differ."""
    movable = [i for i, b in enumerate(buffers) if b.pools != (CALLER,) and b.kind is not Kind.WEIGHTS]
    extra: set[tuple[int, int]] = set()
    missed: list[tuple[str, str]] = []
    for at, i in enumerate(movable):
        for j in movable[at + 1 :]:
            a, b = buffers[i], buffers[j]
            theirs = (min(a.name, b.name), max(a.name, b.name)) in lowered.usmp_conflicts
            ours = a.alive_with(b)
            if theirs and not ours:
                extra.add((i, j))
            elif ours and not theirs:
                missed.append((a.name, b.name))
    notes = []
    if extra:
        notes.append(f"{len(extra)} pairs are kept apart only because TVM's coarser analysis does so")
    if missed:
        first, second = missed[0]
        notes.append(
            f"{len(missed)} pairs that are alive together are kept apart although TVM's own analysis misses them, "
            f"first {first!r} and {second!r}"
        )
    return frozenset(extra), tuple(notes)
