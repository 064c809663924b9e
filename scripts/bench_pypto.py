"""Print how the PyPTO problems are planned: sizes against bounds and capacities, and penalties.

    python scripts/bench_pypto.py [--all] [FOLDER]

Every plan is judged before it is counted. The tables go to stdout as Markdown; --all adds a row per problem.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from data_folder import DATA

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.files import read_problem
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Problem
from tvm_memplan.planning.planners import PLANNERS, less_penalty, plan

DEFAULT = DATA / "problems" / "pypto"


class Result(NamedTuple):
    """What a planner made of a problem; sizes in bytes, None where it found no plan."""

    outcome: str
    size: int | None
    bound: int
    paid: int
    paid_with_room: int
    seconds: float


def pypto_problems(folder: Path) -> Iterator[tuple[str, Problem]]:
    """Yield the problems of a folder by name, sorted."""
    for file in sorted(folder.glob("*.json")):
        yield file.stem, read_problem(file)


def result(problem: Problem, planner: str) -> Result:
    """Plan a problem and say how that went."""
    members = {p: [i for i, b in enumerate(problem.buffers) if p in problem.candidates(b)] for p in problem.pools}
    least = {pool: bound(problem, members[pool], pool).bytes for pool in problem.pools}
    room = {pool.name: pool.capacity for pool in problem.pools if pool.capacity is not None}
    start = time.perf_counter()
    try:
        made = plan(problem, planner)
    except DoesNotFit:
        proven = any(least[pool] > room.get(pool.name, least[pool]) for pool in problem.pools)
        outcome = "proven not to fit" if proven else "not found to fit"
        return Result(outcome, None, sum(least.values()), 0, 0, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    roomy = less_penalty(made, planner, room)
    check_plan(roomy)
    optimal = all(made.size(pool.name) == least[pool] for pool in problem.pools)
    outcome = "at the bound" if optimal else "above the bound"
    return Result(outcome, made.size(), sum(least.values()), made.penalty, roomy.penalty, seconds)


def main(arguments: list[str]) -> int:
    rows = "--all" in arguments
    folder = Path(next((a for a in arguments if not a.startswith("-")), DEFAULT))
    problems = list(pypto_problems(folder))
    if not problems:
        print(f"no .json files in {folder}; give the folder of the problems as the argument", file=sys.stderr)
        return 2
    if rows:
        print("| problem | buffers | bytes (auto) | bound | outcome | penalties | paid | paid with room |")
        print("|---" * 8 + "|")
        for name, problem in problems:
            r = result(problem, "auto")
            costs = sum(cost for _, _, cost in problem.penalties)
            size = "-" if r.size is None else f"{r.size:,}"
            print(
                f"| {name} | {len(problem.buffers)} | {size} | {r.bound:,} | {r.outcome} "
                f"| {costs} | {r.paid} | {r.paid_with_room} |"
            )
        print()
    print("| planner | at the bound | above | proven not to fit | not found | bytes / bound | paid | with room | s |")
    print("|---" * 9 + "|")
    for planner in sorted(PLANNERS):
        results = [result(problem, planner) for _, problem in problems]
        outcomes = Counter(r.outcome for r in results)
        sizes = [(r.size, r.bound) for r in results if r.size is not None]
        ratio = sum(size for size, _ in sizes) / sum(least for _, least in sizes)
        counts = [outcomes[o] for o in ("at the bound", "above the bound", "proven not to fit", "not found to fit")]
        paid = sum(r.paid for r in results), sum(r.paid_with_room for r in results)
        seconds = sum(r.seconds for r in results)
        print(
            f"| {planner} | "
            + " | ".join(map(str, counts))
            + f" | {ratio:.4f} | {paid[0]} | {paid[1]} | {seconds:.1f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
