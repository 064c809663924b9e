"""Print how our planners and those of others do on packing problems: arena / bound, CPU and wall-clock seconds.

    python scripts/bench_planner.py [--folder FOLDER] [--only NAME ...] [--planners NAME ...] [--synthetic 10000 ...]
                                    [--time-limit 3] [--minimalloc PATH]

FOLDER holds problems as CSV files, in folders or not; `bench_pypto.py` has those of PyPTO, with their constraints, and
`bench_relay.py` whole programs captured from TVM. Every result is judged by `check_plan` before it is counted, and
a result that breaks a rule is printed as such. Peers that are not installed (`pip install 'tvm-memplan[bench]'`) or
cannot take a problem are left out, with the reason below the table. Markdown goes to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from data_folder import DATA

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.files import read_csv
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Problem
from tvm_memplan.planning.planners import plan

DEFAULT = DATA / "problems"

#: Offsets in the order of the buffers, and what the planner says of them.
Answer = tuple[Sequence[int], str]
Planner = Callable[[Problem], Answer]

#: Beyond so many buffers peers written in plain Python, or whose search is quadratic, are not asked.
MOST_FOR_PEERS = 5000
MOST_FOR_USMP = 500


class Skip(Exception):
    """A planner cannot take part; the reason is the message."""


@dataclass(frozen=True)
class Case:
    """A problem to plan."""

    name: str
    problem: Problem


def cases(folder: Path, only: Sequence[str], synthetic: Sequence[int]) -> Iterator[Case]:
    for file in sorted(folder.rglob("*.csv")):
        name = file.name.split(".")[0] if file.name.endswith(".1048576.csv") else file.stem
        if not only or name in only:
            yield Case(name, read_csv(file))
    for count in synthetic:
        yield Case(f"synthetic {count}", synthetic_problem(count))


def synthetic_problem(count: int, seed: int = 0) -> Problem:
    """Return buffers of 64 bytes to 256 KiB, about a hundred of which are alive at a time, born at any time."""
    source = random.Random(seed)
    buffers = []
    for i in range(count):
        start = source.randrange(2 * count)
        stop = start + 1 + int(source.expovariate(1 / 200))
        buffers.append(Buffer(f"b{i}", 64 * source.randrange(1, 4096), (LiveRange(start, stop),)))
    return Problem(tuple(buffers))


def ours(name: str, seconds: float) -> Planner:
    def run(problem: Problem) -> Answer:
        made = plan(problem, name, seconds)
        outcome = made.outcome
        said = "" if outcome is None else "proved" if outcome.proved else "cut" if outcome.cut else ""
        return [place.offset for place in made.placements], said

    return run


def omnimalloc(name: str, seconds: float) -> Planner:
    def run(problem: Problem) -> Answer:
        try:
            import omnimalloc as omni
            from omnimalloc.allocators import BaseAllocator
        except ImportError as error:
            raise Skip(str(error)) from error
        _only_plain(problem, "omnimalloc", MOST_FOR_PEERS if name in ("supermalloc", "tabu_search") else 200_000)
        given = [
            omni.Allocation(id=i, size=b.size, start=b.live_ranges[0].start, end=b.live_ranges[0].stop)
            for i, b in enumerate(problem.buffers)
        ]
        allocator = BaseAllocator.resolve(name)
        if hasattr(allocator, "_timeout"):
            allocator = type(allocator)(timeout=seconds)
        at = {one.id: one.offset for one in omni.allocate(given, allocator)}
        return [at[i] for i in range(len(given))], ""

    return run


@dataclass
class _LiveRange:
    """What Vela's allocator asks of a live range; its last step is inclusive."""

    start_time: int
    end_time: int
    size: int

    def get_alignment(self) -> int:
        return 1


def vela(iterations: int) -> Planner:
    def run(problem: Problem) -> Answer:
        try:
            from ethosu.vela.hillclimb_allocation import allocate_live_ranges
        except ImportError as error:
            raise Skip(str(error)) from error
        _only_plain(problem, "vela", 1000)
        ranges = [b.live_ranges[0] for b in problem.buffers]
        rank = {step: k for k, step in enumerate(sorted({t for r in ranges for t in (r.start, r.stop)}))}
        given = [_LiveRange(rank[r.start], rank[r.stop] - 1, b.size) for r, b in zip(ranges, problem.buffers)]
        return allocate_live_ranges(given, iterations, 1 << 62), ""

    return run


def usmp(algorithm: str) -> Planner:
    def run(problem: Problem) -> Answer:
        try:
            import tvm
            from tvm.ir.memory_pools import PoolInfoProperties, WorkspacePoolInfo
            from tvm.tir.usmp.utils import BufferInfo
        except ImportError as error:
            raise Skip(f"{error}; it comes with TVM 0.19: pip install 'tvm-memplan[relay]'") from error
        _only_plain(problem, "USMP", MOST_FOR_USMP)
        pool = WorkspacePoolInfo("arena", [tvm.target.Target("c")], PoolInfoProperties(size_hint_bytes=-1))
        infos = [BufferInfo(f"b{i:04}", b.size, [pool], alignment=1) for i, b in enumerate(problem.buffers)]
        conflicts = Conflicts(problem)
        for i, info in enumerate(infos):
            info.set_conflicts([infos[j] for j in conflicts.of(i).tolist()])
        answer = tvm.get_global_func(f"tir.usmp.algo.{algorithm}")(infos, bound(problem).bytes)
        at = {str(info.name_hint): int(place.byte_offset) for info, place in answer.items()}
        return [at[f"b{i:04}"] for i in range(len(infos))], ""

    return run


def minimalloc(binary: Path, seconds: float) -> Planner:
    """Run the C++ program, told the bound as its capacity, or the 1 MiB of the MiniMalloc problems where it is more."""

    def run(problem: Problem) -> Answer:
        _only_plain(problem, "minimalloc", MOST_FOR_PEERS)
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in.csv"), Path(folder, "out.csv")
            with source.open("w", newline="") as out:
                rows = csv.writer(out)
                rows.writerow(("id", "lower", "upper", "size"))
                for i, b in enumerate(problem.buffers):
                    rows.writerow((i, b.live_ranges[0].start, b.live_ranges[0].stop, b.size))
            least = bound(problem).bytes
            for capacity in dict.fromkeys((least, max(least, 1 << 20))):
                done = subprocess.run(
                    [str(binary), f"--capacity={capacity}", f"--input={source}", f"--output={target}",
                     f"--timeout={seconds:g}s"],
                    capture_output=True,
                )  # fmt: skip
                if done.returncode == 0 and target.exists():
                    with target.open(newline="") as lines:
                        at = {int(row["id"]): int(row["offset"]) for row in csv.DictReader(lines)}
                    return [at[i] for i in range(len(problem.buffers))], f"told {capacity}"
        raise Skip("minimalloc found nothing")

    return run


def _only_plain(problem: Problem, who: str, most: int) -> None:
    if len(problem.buffers) > most:
        raise Skip(f"{who} is not asked for more than {most} buffers")
    if any(len(b.live_ranges) != 1 or b.alignment != 1 for b in problem.buffers) or problem.conflicts is not None:
        raise Skip(f"{who} is only asked for problems of one live range and no alignment")


def measure(planner: Planner, problem: Problem, least: int) -> tuple[str, float, float]:
    """Return a cell of the table, CPU seconds and wall-clock seconds."""
    wall, cpu = time.perf_counter(), _cpu()
    offsets, said = planner(problem)
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    pool = problem.pools[0].name
    made = Plan(replace(problem), tuple(Placement(pool, int(at)) for at in offsets))
    try:
        check_plan(made)
    except BadPlan:
        return "not valid", cpu, wall
    ratio = made.size() / least if least else 1.0
    return f"{ratio:.4f}" + (f" {said}" if said else ""), cpu, wall


def _cpu() -> float:
    return sum(getrusage(who).ru_utime + getrusage(who).ru_stime for who in (RUSAGE_SELF, RUSAGE_CHILDREN))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=DEFAULT)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--planners", nargs="*", default=[])
    parser.add_argument("--synthetic", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--time-limit", type=float, default=3.0)
    parser.add_argument("--minimalloc", type=Path)
    options = parser.parse_args(arguments)
    seconds = options.time_limit
    planners: dict[str, Planner] = {
        "auto": ours("auto", seconds),
        "exact": ours("exact", seconds),
        "greedy_by_size": ours("greedy_by_size", seconds),
        **{f"omnimalloc {name}": omnimalloc(name, seconds) for name in ("supermalloc", "tabu_search", "omni")},
        "vela 300": vela(300),
        **{f"USMP {name}": usmp(name) for name in ("greedy_by_size", "greedy_by_conflicts", "hill_climb")},
    }
    if options.minimalloc:
        planners["minimalloc"] = minimalloc(options.minimalloc, seconds)
    if options.planners:
        planners = {name: planners[name] for name in options.planners}
    names = list(planners)
    totals = dict.fromkeys(names, 0.0)
    reasons: dict[str, None] = {}
    plan(synthetic_problem(4000))  # compiles, or loads what was compiled
    plan(synthetic_problem(300), time_limit=1.0)
    print("Each cell: arena / bound, CPU s, wall s.\n")
    print("| problem | buffers | bound | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 3) + "|")
    for case in cases(options.folder, options.only, options.synthetic):
        least = bound(case.problem).bytes
        cells = []
        for name, planner in planners.items():
            print(f"{case.name}: {name}", file=sys.stderr)
            try:
                cell, cpu, wall = measure(planner, case.problem, least)
            except Skip as reason:
                reasons[f"{name}: {reason}"] = None
                cells.append("")
                continue
            totals[name] += cpu
            cells.append(f"{cell}, {cpu:.2f}, {wall:.2f}")
        print(f"| {case.name} | {len(case.problem.buffers)} | {least} | " + " | ".join(cells) + " |", flush=True)
    print("| CPU seconds | | | " + " | ".join(f"{totals[name]:.1f}" for name in names) + " |")
    for reason in reasons:
        print(f"\n- {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
