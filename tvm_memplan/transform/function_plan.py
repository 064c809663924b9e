"""The plan of one PrimFunc: how it is made, and how it travels in the function's attributes.

The text in the attribute holds only what cannot be worked out again: the planner's name, what was asked for (alignment,
scopes, upper bounds), and by region the offset of every buffer in the arena, the barriers that are to be added, the
slots of textures, and where the arena begins anew in another allocation. (An arena of global
memory is cut into pieces, see `tvm_memplan.planning.finishing.pieces`; of shared memory a launch has one of each kind.)
Whoever reads it captures the function afresh and judges the offsets against the live ranges found then, so a plan that
no longer fits its function is refused rather than applied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tvm_memplan.dialects.arenas import Layout
from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.finishing.onto_inputs import onto_inputs
from tvm_memplan.planning.finishing.pieces import cuts, in_pieces
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.lifetimes.barriers import as_planned, block_problem, needed_barriers
from tvm_memplan.planning.lifetimes.in_place import in_place_pairs
from tvm_memplan.planning.lifetimes.liveness import Liveness, live_ranges
from tvm_memplan.planning.model import Placement, Plan, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import LeftAlone, MemoryReport
from tvm_memplan.report.textures import texture_figures, texture_rows
from tvm_memplan.transform.texture_plan import TexturePlan, plan_textures, recorded_textures

#: Function attribute that `PlanMemory` writes and `RewriteStorage` reads.
PLAN_ATTRIBUTE = "tvm_memplan.plan"
#: Function attribute that `RewriteStorage` leaves behind: bytes of each arena, as JSON.
ARENA_ATTRIBUTE = "tvm_memplan.arena"
#: Function attribute that goes with it: the scopes that are done, as JSON; without it, global memory is.
DONE_ATTRIBUTE = "tvm_memplan.scopes"

_VERSION = 3


@dataclass(frozen=True)
class RegionPlan:
    """A region with what was found out about it.

    `starts` says where the pieces of its arena begin, `barriers` which have to be added for its plan.
    """

    region: Region
    liveness: Liveness
    plan: Plan
    starts: tuple[int, ...] = (0,)
    textures: TexturePlan = field(default_factory=TexturePlan)
    barriers: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the region's arena."""
        return self.plan.size()

    @property
    def barrier_reasons(self) -> tuple[str, ...]:
        """The pairs of buffers that share bytes only because of an added barrier."""
        bare = as_planned(self.region.trace, self.plan, ()).problem.separate - self.plan.problem.separate
        names = [buffer.name for buffer in self.plan.problem.buffers]
        return tuple(f"{names[j]!r} on bytes of {names[i]!r}" for i, j in sorted(bare) if self.plan.share(i, j))

    @property
    def offsets(self) -> dict[str, int]:
        """Byte offset of each buffer in the arena."""
        return {b.name: p.offset for b, p in zip(self.plan.problem.buffers, self.plan.placements)}

    @property
    def layout(self) -> Layout:
        """Where each buffer lies, by piece."""
        pieces = in_pieces(self.plan, self.starts)
        numbers = {pool.name: number for number, pool in enumerate(pieces.problem.pools)}
        placed = zip(pieces.problem.buffers, pieces.placements)
        return Layout(
            tuple(pool.capacity or 0 for pool in pieces.problem.pools),
            {buffer.name: (numbers[place.pool], place.offset) for buffer, place in placed},
        )


@dataclass(frozen=True)
class FunctionPlan:
    """A function with a judged plan for each of its regions."""

    captured: Captured
    regions: tuple[RegionPlan, ...]
    planner: str
    alignment: int
    scopes: tuple[str, ...] = ("global",)
    upper_bounds: Mapping[str, int] = field(default_factory=dict)

    def to_attribute(self) -> str:
        """The text for `PLAN_ATTRIBUTE`."""
        return json.dumps(
            {
                "version": _VERSION,
                "planner": self.planner,
                "alignment": self.alignment,
                "upper_bounds": dict(self.upper_bounds),
                "scopes": self.scopes,
                "barriers": {r.region.name: r.barriers for r in self.regions if r.barriers},
                "regions": {r.region.name: r.offsets for r in self.regions},
                "pieces": {r.region.name: r.starts for r in self.regions if len(r.starts) > 1},
                "textures": {r.region.name: r.textures.to_fields() for r in self.regions if r.textures.scopes},
            },
            sort_keys=True,
        )

    def reports(self, target: str = "") -> tuple[MemoryReport, ...]:
        """One report per region; the first also lists what was left alone."""
        name, left = self.captured.function, self.captured.left_alone
        if not self.regions:
            return (MemoryReport(name, target, self.planner, (), (), (), left),)
        return tuple(
            _with_textures(
                memory_report(
                    planned.plan,
                    planned.liveness.steps,
                    model=name if index == 0 else f"{name}/{planned.region.name}",
                    target=target,
                    left_alone=left if index == 0 else (),
                    notes=_barrier_notes(planned),
                ),
                planned,
            )
            for index, planned in enumerate(self.regions)
        )

    def whole(self) -> MemoryReport:
        """One report of all regions together; the arena of a parallel loop is counted once, not per worker."""
        first, *others = self.reports()
        return replace(
            first,
            pools=tuple(pool for report in (first, *others) for pool in report.pools),
            allocations=tuple(row for report in (first, *others) for row in report.allocations),
            notes=(
                *(note for report in (first, *others) for note in report.notes),
                *(note for planned, report in zip(self.regions, (first, *others)) for note in _note(planned, report)),
            ),
        )

    def in_bytes(self) -> MemoryReport:
        """As `whole`, with arenas of symbolic size among what was left alone, since their bytes are not known."""
        report, symbolic = self.whole(), [(r, r.region.unit) for r in self.regions if r.region.unit is not None]
        pools = {planned.plan.problem.pools[0].name for planned, _ in symbolic}
        unknown = tuple(
            LeftAlone(
                ", ".join(planned.region.variables),
                self.captured.function,
                planned.region.scope,
                None,
                f"its size is a multiple of {unit.text}, which has no upper bound",
            )
            for planned, unit in symbolic
        )
        return replace(
            report,
            pools=tuple(pool for pool in report.pools if pool.pool not in pools),
            left_alone=(*report.left_alone, *unknown),
        )


def _with_textures(report: MemoryReport, planned: RegionPlan) -> MemoryReport:
    """`report` with the figures and rows of the region's textures, which share its steps."""
    pools, rows = list(report.pools), list(report.allocations)
    for one in planned.textures.scopes:
        pools.append(texture_figures(one.scope, one.textures, one.slots, one.element_bytes, report.steps))
        rows.extend(texture_rows(one.scope, one.textures, one.slots, one.element_bytes))
    return replace(report, pools=tuple(pools), allocations=tuple(rows))


def _note(planned: RegionPlan, report: MemoryReport) -> Iterator[str]:
    region = planned.region
    each = "" if region.unit is None else f" times {region.unit.text}"
    if region.anchor is not None:
        whose = "worker" if region.scope == "global" else "block of threads"
        yield f"{report.model} has one arena of {planned.size} bytes{each} per {whose}"
    elif region.unit is not None:
        yield f"the figures of pool {report.pools[0].pool!r} are bytes{each}"


def _barrier_notes(planned: RegionPlan) -> tuple[str, ...]:
    if not planned.barriers:
        return ()
    names = ", ".join(planned.barrier_reasons)
    many = "barrier is" if len(planned.barriers) == 1 else "barriers are"
    return (f"{len(planned.barriers)} {many} added, each once per launch, for {names}",)


def _problem(region: Region, inserted: Sequence[int] | None = ()) -> tuple[Liveness, Problem]:
    """The problem of a region; of one in a launch, with just the `inserted` barriers, or, for None, as it may be."""
    if region.scope in SHARED:
        return block_problem(region.trace, Pool(region.name, scopes=(region.scope,)), inserted)
    liveness = live_ranges(region.trace)
    # Textures come last, so that an index means the same buffer in the liveness and in the problem.
    buffers = tuple(sorted(liveness.buffers, key=lambda buffer: buffer.name in region.textures))
    liveness, flat = replace(liveness, buffers=buffers), buffers[: len(buffers) - len(region.textures)]
    pool = Pool(f"{region.name}.global" if region.anchor is not None else "global" + region.name.removeprefix("body"))
    return liveness, Problem(flat, (pool,), in_place=in_place_pairs(region.trace, liveness))


def _planned(region: Region, planner: str) -> RegionPlan:
    liveness, problem = _problem(region, None)
    made = plan(problem, planner)
    if region.scope not in SHARED:
        made = onto_inputs(made)
        starts = cuts(made, [region.elements[buffer.name] for buffer in made.problem.buffers])
        check_plan(in_pieces(made, starts))
        return RegionPlan(region, liveness, made, starts, plan_textures(region, liveness))
    barriers = needed_barriers(region.trace, made)
    final = as_planned(region.trace, made, barriers)
    check_plan(final)
    return RegionPlan(region, liveness, final, barriers=barriers)


def plan_function(
    function: Any,
    name: str,
    planner: str = "auto",
    alignment: int = 64,
    scopes: Sequence[str] = ("global",),
    upper_bounds: Mapping[str, int] | None = None,
) -> FunctionPlan:
    """Plan every region of a PrimFunc; nothing is changed.

    Parameters
    ----------
    function : PrimFunc
        After FlattenBuffer (on TVM 0.19, StorageFlatten before it).
    name : str
        Its name, for messages.
    planner : str
        A name from `tvm_memplan.planning.planners.PLANNERS`.
    alignment : int
        Bytes, as for `tvm_memplan.transform.PlanMemory`.
    scopes : sequence of str
        Whose buffers are planned.
    upper_bounds : mapping of str to int, optional
        By the name of a parameter, the most that it will be.
    """
    captured = tir_dialect().capture(function, name, alignment, scopes, upper_bounds)
    regions = tuple(_planned(region, planner) for region in captured.regions)
    return FunctionPlan(captured, regions, planner, alignment, tuple(scopes), upper_bounds or {})


def recorded_plan(function: Any, name: str, text: str) -> FunctionPlan:
    """Bring a recorded plan and the function as it is now together, and judge it.

    Raises
    ------
    BadPlan
        When the text is not a plan, when the function has other buffers than those that were planned, or when two
        of them now conflict.
    """
    again = f"run PlanMemory on function {name!r} again, right before RewriteStorage"
    try:
        recorded = json.loads(text)
        if recorded["version"] != _VERSION:
            raise ValueError(f"version {recorded['version']!r}")
        planner, alignment = str(recorded["planner"]), int(recorded["alignment"])
        placed: Mapping[str, Mapping[str, int]] = recorded["regions"]
        bounds = {str(variable): int(most) for variable, most in recorded["upper_bounds"].items()}
        slots: Mapping[str, Any] = recorded["textures"]
        scopes = tuple(map(str, recorded["scopes"]))
        barriers = {r: tuple(map(int, numbers)) for r, numbers in recorded["barriers"].items()}
        pieces = {r: tuple(map(int, starts)) for r, starts in recorded["pieces"].items()}
        offsets = {r: {b: int(o) for b, o in buffers.items()} for r, buffers in placed.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise BadPlan(f"attribute {PLAN_ATTRIBUTE} of function {name!r} is not a plan ({wrong}); {again}") from None
    captured = tir_dialect().capture(function, name, alignment, scopes, bounds)
    found = {region.name: set(region.variables) for region in captured.regions}
    if found != {region: set(buffers) for region, buffers in offsets.items()}:
        raise BadPlan(f"function {name!r} no longer has the buffers it was planned with; {again}")
    regions = []
    for region in captured.regions:
        added = barriers.get(region.name, ())
        liveness, problem = _problem(region, added)
        places = tuple(Placement(problem.pools[0].name, offsets[region.name][b.name]) for b in problem.buffers)
        candidate = Plan(problem, places, planner)
        try:
            check_plan(candidate)
            starts = pieces.get(region.name, (0,)) if region.scope not in SHARED else (0,)
            check_plan(in_pieces(candidate, starts))
            textures = recorded_textures(region, liveness, slots.get(region.name, ()))
        except BadPlan as wrong:
            raise BadPlan(f"function {name!r} has changed since it was planned: {wrong}; {again}") from None
        regions.append(RegionPlan(region, liveness, candidate, starts, textures, added))
    return FunctionPlan(captured, tuple(regions), planner, alignment, scopes, bounds)


def done_scopes(function: Any) -> tuple[str, ...]:
    """The scopes that `RewriteStorage` has done in a function."""
    if attribute(function, ARENA_ATTRIBUTE) is None:
        return ()
    return tuple(json.loads(str(attribute(function, DONE_ATTRIBUTE) or '["global"]')))


def name_of(function: Any, module: Any) -> str:
    """What people call `function`: its global symbol, or the name it has in `module`."""
    symbol = attribute(function, "global_symbol")
    if symbol is not None:
        return str(symbol)
    # TVM may have taken the function out of the module while a pass works on it, and left nothing in its place.
    for variable, member in module.functions.items():
        if member is None or member.same_as(function):
            return str(variable.name_hint)
    return "primfunc"
