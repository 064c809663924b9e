"""Does a planned model fit a board: by how much, what holds the peak, and could any plan fit?

::

    board      region      size - reserve = have      need (planned)     excess
    RAM   ->   sram        262,144 -  24,576          331,776            94,208     does not fit
    flash ->   flash     1,048,576                    310,020                 0     fits

Inputs, outputs, activations and workspace go to RAM, weights to read-only memory. `pools_for` turns a board into
pools, `plan_for` plans with them in such a way that a plan which does not fit still has figures, `judge_budget`
compares, `explain` says why not. The verdict always rests on a finished plan: a search that gave up early never
decides it.
"""

from tvm_memplan.budget.explain import explain, raise_over_budget
from tvm_memplan.budget.json import verdict_fields
from tvm_memplan.budget.judge import judge_budget
from tvm_memplan.budget.pools import (
    BoardPools,
    Reserve,
    Reserves,
    chosen_pools,
    plan_for,
    pools_for,
    usable_regions,
    with_reserves,
)
from tvm_memplan.budget.text import verdict_text
from tvm_memplan.budget.verdict import RegionVerdict, Verdict

__all__ = [
    "BoardPools",
    "RegionVerdict",
    "Reserve",
    "Reserves",
    "Verdict",
    "chosen_pools",
    "explain",
    "judge_budget",
    "plan_for",
    "pools_for",
    "raise_over_budget",
    "usable_regions",
    "verdict_fields",
    "verdict_text",
    "with_reserves",
]
