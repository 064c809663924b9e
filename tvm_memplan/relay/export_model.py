"""`export`: a model as a folder of plain C for a board, with every buffer where the plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm_memplan.boards import Board
from tvm_memplan.budget import (
    Reserve,
    Reserves,
    Verdict,
    judge_budget,
    pools_for,
    raise_over_budget,
    usable_regions,
    with_reserves,
)
from tvm_memplan.errors import BadInput
from tvm_memplan.export import CModel, Device, files_of, write_folder
from tvm_memplan.relay.c_model import Options, c_model
from tvm_memplan.relay.plan_model import Planner, Pools
from tvm_memplan.relay.targets import micro_config
from tvm_memplan.report.memory import MemoryReport


@dataclass(frozen=True)
class Exported:
    """What an export leaves behind.

    Parameters
    ----------
    folder : Path
        Where the files are.
    model : CModel
        What they say.
    device : Device or None
        What they are for.
    verdict : Verdict or None
        How it fits the board, where one was named.
    """

    folder: Path
    model: CModel
    device: Device | None
    verdict: Verdict | None

    @property
    def report(self) -> MemoryReport:
        """The figures of the plan."""
        return self.model.report


def export(
    mod: Any,
    params: Mapping[str, Any] | None = None,
    folder: str | Path = "model",
    *,
    board: Board | None = None,
    reserve: Reserves = 0,
    external: bool = False,
    memory: Sequence[str] = (),
    pools: Pools | None = None,
    target: Any = None,
    planner: Planner = "auto",
    io_in_pool: bool = True,
    weights_in: str = "",
    name: str = "model",
    title: str = "",
    opt_level: int = 3,
) -> Exported:
    """Write a model as C that needs nothing of TVM, with all of its memory planned.

    Parameters
    ----------
    mod, params
        As for `tvm_memplan.relay.plan`.
    folder : str or Path
        Where the files go; it is made where it is missing.
    board : Board or None
        What it is for: its regions become pools, linker regions and a program that can be run.
    reserve : int, Reserve or sequence of Reserve
        With `board`: bytes to keep free for stack, heap and the program's own variables. The first says in which region
        the example keeps its stack.
    external : bool
        With `board`: whether memory outside the chip may be used.
    memory : sequence of str
        With `board`: the regions of RAM that may hold the arenas, the preferred one first; empty takes all
        of them, the largest first.
    pools : sequence of Pool or of tvm.ir.memory_pools.PoolInfo, or None
        Without `board`: the pools, in order of preference.
    target : Configuration, str, tvm.target.Target or None
        Plain C; None takes `micro_config`, whose code runs on every core.
    planner : str or callable
        As for `tvm_memplan.relay.plan`.
    io_in_pool : bool
        Whether inputs and outputs lie in the arenas, where they share bytes with all else; otherwise the caller
        supplies them as arguments of the run function.
    weights_in : str
        A region of RAM (or any name, without a board) that the weights are copied to; empty leaves them constants.
    name : str
        A C identifier: what every name and file of the model starts with.
    title : str
        What the README calls it.
    opt_level : int
        Relay's optimisation level.

    Raises
    ------
    BadInput
        An option is wrong, or the folder cannot be written.
    DoesNotFit, OverBudget
        The model does not fit the pools or the board; nothing is written then.
    UnsupportedIR
        TVM cannot build the model, or what it builds needs TVM on the device.
    """
    if board is not None and pools is not None:
        raise BadInput("give either a board or pools, not both")
    options = Options(
        target=micro_config() if target is None else target,
        planner=planner,
        io_in_pool=io_in_pool,
        weights_in=weights_in,
        name=name,
        title=title or name,
        opt_level=opt_level,
    )
    if board is None:
        model = c_model(mod, params, options, pools=pools)
        return Exported(write_folder(files_of(model), folder), model, None, None)
    model, device, verdict = for_board(mod, params, options, board, reserve, external=external, memory=memory)
    raise_over_budget(verdict)
    return Exported(write_folder(files_of(model, device), folder), model, device, verdict)


def for_board(
    mod: Any,
    params: Mapping[str, Any] | None,
    options: Options,
    board: Board,
    reserve: Reserves = 0,
    *,
    external: bool = False,
    memory: Sequence[str] = (),
) -> tuple[CModel, Device, Verdict]:
    """Build a model for a board and judge it; arguments as for `export`, and nothing is written."""
    kept = with_reserves(reserve)
    pools = pools_for(board, kept, external=external, memory=memory)
    usable = usable_regions(board, kept, external=external, memory=memory)
    copied = options.weights_in
    if copied and copied not in {pool.name for pool in pools.activations}:
        names = ", ".join(pool.name for pool in pools.activations)
        raise BadInput(f"board {board.name}: weights cannot be copied to {copied!r}; the plan uses {names}")
    model = c_model(mod, params, options, pools.activations, pools.weights)
    if model.weights_in_ram:
        kept = (*kept, Reserve(model.weights_size, copied))
    verdict = judge_budget(model.report, board, kept, external=external, memory=memory)
    device = Device(
        name=board.name,
        cpu=board.cpu,
        regions=(*usable.ram, *usable.rom),
        data=next(iter(usable.kept), usable.ram[0].name),  # the program lives where room is kept for it
        rom=usable.rom[0].name if usable.rom else "",
    )
    return model, device, verdict
