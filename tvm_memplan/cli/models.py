"""Models from files, through the driver of the TVM that is installed, which is imported only when one is to be read.

A model is lowered once, which takes seconds, and then planned into as many sets of pools as it takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.progress import progress, stage
from tvm_memplan.dialects.line import RELAX, installed_line, require_relay_line
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Buffer, Plan, Pool, Problem
from tvm_memplan.report.memory import MemoryReport

if TYPE_CHECKING:
    from tvm_memplan.transform.graphs.ends import Outputs

_ACTIVATIONS, _WEIGHTS = Pool("activations"), Pool("weights")


class Planned(Protocol):
    """A model that was read and lowered."""

    @property
    def problem(self) -> Problem:
        """What is placed by a plan, in a pool that has no limit: no weights, nothing of the caller's."""

    @property
    def titles(self) -> Mapping[str, str]:
        """What people call the buffers, by their names."""

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small."""


def open_model(
    path: str,
    target: str | None,
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, int],
    outputs: Outputs = "own",
    donated: Sequence[str] = (),
) -> Planned:
    """Read a model and lower it, with the TVM that is installed.

    Parameters
    ----------
    path : str
        The file.
    target : str or None
        What it is lowered for; None is C that serves every core.
    shapes : mapping of str to tuple of int
        Shapes of inputs that the file leaves open.
    bounds : mapping of str to int
        Upper bounds of dimensions, which TVM 0.19 does not have.
    outputs, donated :
        As for `tvm_memplan.relax.plan`; the drivers of TVM 0.19 have other ways (`io_in_pool`).
    """
    require_file(path)
    if installed_line() == RELAX:
        from tvm_memplan.cli.relax_models import RelaxModel

        return RelaxModel(path, target, shapes, bounds, outputs, donated)
    refuse_bounds(bounds)
    if outputs != "own" or donated:
        raise BadInput("--outputs and --donate are for models on apache-tvm 0.27")
    return Model(path, target, shapes)


def refuse_bounds(bounds: Mapping[str, int]) -> None:
    """Raise BadInput if there are bounds: they are for the Relax line."""
    if bounds:
        raise BadInput("--bound is for models on apache-tvm 0.27; the shapes of TVM 0.19's models are fixed")


def require_file(path: str) -> None:
    """Raise BadInput unless there is a file."""
    if not Path(path).is_file():
        what = "is no ordinary file" if path and Path(path).exists() else "no such file"
        raise BadInput(f"{path or repr(path)}: {what}")


class Model:
    """A model that was read and lowered by Relay.

    Parameters
    ----------
    path : str
        The file.
    target : str or None
        What it is lowered for; None is the C that `tvm_memplan.relay.micro_config` writes, which serves every core:
        nothing in it is Arm's own. Where the interface is C, inputs and outputs are planned into the pools, too.
    shapes : mapping of str to tuple of int
        Shapes of inputs that the file leaves open.
    io_in_pool : bool
        False leaves inputs and outputs to the caller in any case.
    """

    def __init__(
        self, path: str, target: str | None, shapes: Mapping[str, tuple[int, ...]], io_in_pool: bool = True
    ) -> None:
        relay = driver()
        from tvm_memplan.relay.targets import configuration_for
        from tvm_memplan.relay.trial import try_target

        config = relay.micro_config() if target is None else configuration_for(target)
        if target is not None:
            with progress(f"trying {target}"):
                try_target(config.target)
        with stage(f"reading {path}"):
            model = relay.read_model(path, shapes)
        with stage(f"lowering {path} for {config.target}"):
            made = relay.plan(
                model.mod,
                model.params,
                config,
                pools=[_ACTIVATIONS],
                weight_pools=[_WEIGHTS],
                planner="first_fit_by_start",
                io_in_pool=io_in_pool and config.interface_api == "c",
                model=Path(path).name,
            )
        self._notes: tuple[str, ...] = ()
        if io_in_pool and config.interface_api == "c":
            self._notes = ("inputs and outputs are part of the plan, as in a build with io_in_pool=True",)
        self._problem: Problem = made.plan.problem
        self._made = made

    @property
    def problem(self) -> Problem:
        """What is placed by a plan, in a pool that has no limit: no weights, nothing of the caller's."""
        return placed_in(self._problem, [_ACTIVATIONS.name])

    @property
    def titles(self) -> dict[str, str]:
        """What people call the buffers, by their names."""
        titles: dict[str, str] = self._made.report.titles
        return titles

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small."""
        from tvm_memplan.planning.spilling.spill import plan_pools, spill_notes
        from tvm_memplan.report.build import memory_report

        made: Plan = plan_pools(_with_pools(self._problem, pools), self._made.traffic, planner, time_limit)
        known, names = self._made.report, (self._made.origins, self._made.step_layers)
        notes = (*self._made.notes, *self._notes, *spill_notes(made, self._made.traffic))
        return memory_report(made, known.steps, known.model, known.target, known.left_alone, notes, *names)


def placed_in(problem: Problem, pools: Collection[str]) -> Problem:
    """Return `problem` without the buffers that may go elsewhere than to `pools`."""
    from tvm_memplan.budget.suggest.subproblem import without

    return without(problem, [i for i, buffer in enumerate(problem.buffers) if not set(buffer.pools) <= set(pools)])


def _with_pools(problem: Problem, pools: BoardPools) -> Problem:
    """Return `problem` with its two stand-in pools replaced; other pools (the caller's) stay."""
    others = tuple(pool for pool in problem.pools if pool not in (_ACTIVATIONS, _WEIGHTS))
    names: dict[tuple[str, ...], tuple[str, ...]] = {
        (_ACTIVATIONS.name,): tuple(pool.name for pool in pools.activations),
        (_WEIGHTS.name,): tuple(pool.name for pool in pools.weights),
    }

    def move(buffer: Buffer) -> Buffer:
        return replace(buffer, pools=names.get(buffer.pools, buffer.pools))

    buffers = tuple(move(buffer) for buffer in problem.buffers)
    return replace(problem, buffers=buffers, pools=(*pools.activations, *pools.weights, *others))


def driver() -> Any:
    """Return `tvm_memplan.relay`; an error says what to install where it cannot be imported."""
    require_relay_line("reading a model")
    from tvm_memplan import relay

    return relay
