"""Run random lowered functions planned and unplanned until told to stop, and print every seed that disagrees.

    python scripts/fuzz_tir.py [--start 0] [--count 1000] [--without RULE]

Needs a TVM, of either line. `--without` removes a rule of live ranges or of in-place pairs, to see how often the
comparison notices; of rules that few programs show, on programs of one kind alone.
Exit code 0 when all agree, 1 otherwise.
"""

import argparse
import importlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    from tests.random_programs import DERIVED
    from tests.removed_rules import REMOVED, SHOWN_BY

    parser.add_argument("--without", choices=tuple(REMOVED), help="a rule to remove")
    options = parser.parse_args()

    from tvm_memplan.dialects.line import RELAY, installed_line

    line = "tir" if installed_line() == RELAY else "tirx"
    programs = importlib.import_module(f"tests.{line}.test_random_programs")

    kinds = SHOWN_BY.get(options.without, DERIVED)
    if options.without:
        setattr(*REMOVED[options.without])
    wrong = []
    for done, seed in enumerate(range(options.start, options.start + options.count), start=1):
        if not programs.agrees(seed, kinds):
            wrong.append(seed)
            print(f"seed {seed} disagrees", flush=True)
        if done % 100 == 0:
            print(f"{done} programs, {len(wrong)} disagree", flush=True)
    print(f"{options.count} programs, {len(wrong)} disagree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
