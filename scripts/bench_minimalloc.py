"""Print how close every planner comes to the bound on the MiniMalloc problems (or any folder of such CSV files).

    python scripts/bench_minimalloc.py [FOLDER]

Every plan is judged before it is counted. The table goes to stdout as Markdown.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tvm_memplan.planning.bound import bound
from tvm_memplan.planning.files import read_csv
from tvm_memplan.planning.planners import PLANNERS, plan

DEFAULT = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "problems" / "minimalloc"


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else DEFAULT
    files = sorted(folder.glob("*.csv"))
    if not files:
        print(f"no .csv files in {folder}; give the folder of the problems as the argument", file=sys.stderr)
        return 2
    names = sorted(PLANNERS)
    print("| problem | buffers | bound | " + " | ".join(names) + " | seconds |")
    print("|---" * (len(names) + 4) + "|")
    for file in files:
        problem = read_csv(file)
        least = bound(problem).bytes
        start = time.perf_counter()
        ratios = [f"{plan(problem, name).size() / least:.3f}" if least else "1.000" for name in names]
        seconds = time.perf_counter() - start
        print(f"| {file.stem} | {len(problem.buffers)} | {least} | " + " | ".join(ratios) + f" | {seconds:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
