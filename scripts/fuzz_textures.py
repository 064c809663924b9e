"""Run random functions with textures planned and unplanned on an OpenCL device, and print every seed that disagrees.

    python scripts/fuzz_textures.py [--start 0] [--count 100] [--without loops|births]

Needs TVM 0.19, pyopencl and an OpenCL device with images. `--without` removes a rule of the live ranges, to see how
often the comparison notices; a kernel that would have to read and write one image, which OpenCL refuses, counts as
noticed. Exit code 0 when all agree, 1 otherwise.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
sys.path.append(str(Path(__file__).resolve().parent.parent))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--without", choices=("loops", "births"), help="a rule to remove")
    options = parser.parse_args()

    from tests.opencl import test_textures
    from tests.removed_rules import REMOVED
    from tests.tir import texture_programs

    if options.without:
        setattr(*REMOVED[options.without])
    wrong = refused = before = after = 0
    for done, seed in enumerate(range(options.start, options.start + options.count)):
        if done and done % 10 == 0:
            print(f"{done} programs, {wrong} disagree, {refused} refused", flush=True)
        try:
            same, plain, planned = test_textures.same_bits(
                texture_programs.random_program(seed), texture_programs.inputs
            )
        except Exception as error:
            if "BUILD_PROGRAM_FAILURE" not in str(error):
                raise
            refused += 1
            print(f"seed {seed}: the device refuses a kernel", flush=True)
            continue
        before, after = before + plain, after + planned
        if not same:
            wrong += 1
            print(f"seed {seed} disagrees", flush=True)
    print(
        f"{options.count} programs, {wrong} disagree, {refused} refused; {before:,} texels unplanned, {after:,} planned"
    )
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())
