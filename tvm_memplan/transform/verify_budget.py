"""`VerifyBudget`: stop a pipeline whose functions need more memory than there is.

It plans each PrimFunc without changing it (one that `RewriteStorage` has done has just its arenas to plan) and
compares the sum of its arenas, and of what has to be left alone, with the budget. Functions run one after the
other, so each is held against the whole.

Leaves alone: the module, always. What the callers of the functions hold (inputs, outputs, tensors between operators)
is not in a PrimFunc and not counted here; `tvm-memplan check` and `tvm_memplan.relay.plan` count a whole model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm_memplan.boards import Board, Region, load_board
from tvm_memplan.budget import Reserve, judge_budget, raise_over_budget
from tvm_memplan.dialects.extents import checked_bounds
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.sizes import parse_size
from tvm_memplan.transform.function_plan import name_of, plan_function


def VerifyBudget(
    budget: int | str | Board,
    reserve: Reserve | int = 0,
    *,
    external: bool = False,
    planner: str = "auto",
    alignment: int = 64,
    upper_bounds: Mapping[str, int] | None = None,
) -> Any:
    """Make the pass.

    Parameters
    ----------
    budget : int, str or Board
        Bytes; a size such as ``"64KiB"``; a board, or the name or file of one, whose RAM is then the budget.
    reserve : Reserve or int
        Bytes of it to keep free.
    external : bool
        With a board: whether memory outside the chip counts.
    planner, alignment, upper_bounds :
        As for `tvm_memplan.transform.PlanMemory`; used for functions that are not rewritten yet.

    Returns
    -------
    tvm.transform.Pass
        It changes nothing.

    Raises
    ------
    OverBudget
        While it runs: need, have, excess, and what holds the peak of the function.
    BadInput
        At once, when the budget is neither a size nor a board.
    """
    dialect = tir_dialect()

    board, bounds = _board(budget), checked_bounds(upper_bounds)

    def transform(function: Any, module: Any, _context: Any) -> Any:
        report = plan_function(function, name_of(function, module), planner, alignment, upper_bounds=bounds).in_bytes()
        raise_over_budget(judge_budget(report, board, reserve, external=external))
        return function

    return dialect.function_pass(transform, "tvm_memplan.VerifyBudget")


def _board(budget: int | str | Board) -> Board:
    if isinstance(budget, Board):
        return budget
    if isinstance(budget, str) and not budget[:1].isdigit():
        return load_board(budget)
    size = parse_size(budget) if isinstance(budget, str) else budget
    if size <= 0:
        raise BadInput(f"a budget must be more than 0 bytes, got {size}")
    return Board("the budget", "", "", (Region("memory", size, "sram"),))
