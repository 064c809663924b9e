"""Bytes of whole Relax models by where their outputs lie and what they may overwrite, on apache-tvm 0.27.

One row per model, all in bytes: what a call takes besides its inputs and weights.

- *own*: the arena, and the outputs beside it, each allocated by itself;
- *arena*: the arena with the outputs in it, all of which is held for as long as one of them is;
- *caller*: the arena, where the caller supplies tensors for the outputs (its own bytes are not counted);
- *donated*: as own, where the inputs that are named may be overwritten.

    python scripts/bench_ends.py [MODEL ...]
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: What is given away: what a caller replaces by an output, or makes anew for each call.
DONATED = {
    "MLP": ["x"],
    "Llama-like": ["cache_0", "cache_1"],
    "decoder step, cache of a fixed size": ["keys", "values"],
}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args(arguments)
    try:
        from tests.relax.end_programs import Decode
        from tests.relax.networks import FULL, Network
    except ImportError as error:
        print(f"bench_ends: {error}; this needs: pip install 'tvm-memplan[relax]'", file=sys.stderr)
        return 2
    models = {name: FULL[name] for name in ("MLP", "ResNet-18", "Llama-like", "with if")}
    models["decoder step, cache of a fixed size"] = lambda: Network(Decode, "main")
    unknown = [name for name in options.models if name not in models]
    if unknown:
        print(f"bench_ends: no such model: {', '.join(unknown)}; there are {', '.join(models)}", file=sys.stderr)
        return 2
    print("| model | outputs | own | arena | caller | donated | what is donated |\n" + "|---" * 7 + "|", flush=True)
    worse = 0
    for name in options.models or models:
        module, donated = models[name]().module, DONATED.get(name, ["x"])
        own, arena, caller, given = (
            taken(module, **asked) for asked in ({}, {"outputs": "arena"}, {"outputs": "caller"}, {"donated": donated})
        )
        worse += arena[0] > own[0] or given[0] > own[0] or caller[0] > own[0]
        figures = (own[1], own[0], arena[0], caller[0], given[0])
        print(f"| {name} | " + " | ".join(f"{n:,}" for n in figures) + f" | {', '.join(donated)} |", flush=True)
    if worse:
        print(f"bench_ends: {worse} rows take more than with outputs of their own", file=sys.stderr)
    return 1 if worse else 0


def taken(module, outputs="own", donated=()):
    """What a call takes besides its inputs and weights, and the outputs alone."""
    from tvm_memplan.planning.model import Kind
    from tvm_memplan.relax import plan

    made = plan(module, outputs=outputs, donated=donated)
    beside = [row.size for row in made.report.allocations if row.kind is Kind.OUTPUT and row.pool == "caller"]
    return sum(made.graph.arenas.values()) + (sum(beside) if outputs != "caller" else 0), made.report.total(Kind.OUTPUT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
