"""Plans of a chain of operators, named and numbered as a compiler does it."""

from collections import Counter

from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.report import memory_report


def chain(*layers, pool="arena", planner="greedy_by_size"):
    """The report of a chain; each layer is an operator's name and the bytes of its output.

    Outputs are ``sid_0``, ``sid_1``, ...; the second ``conv`` is ``conv_1``, and so on.
    """
    seen = Counter()
    buffers, steps = [], []
    for i, (operator, size) in enumerate(layers):
        steps.append(operator if not seen[operator] else f"{operator}_{seen[operator]}")
        seen[operator] += 1
        buffers.append(Buffer(f"sid_{i}", size, (LiveRange(i, i + 2),), operator=steps[-1]))
    made = plan(Problem(tuple(buffers), (Pool(pool),)), planner=planner)
    return memory_report(made, (*steps, "return"), model="chain")
