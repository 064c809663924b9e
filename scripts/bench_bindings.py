"""How long planning takes on a module of very many bindings, beside TVM's own plan and the rest of the build.

The module is a chain: a product of two of the last few tensors, then two element-wise operators, and so on.
Times are processor seconds, medians; *share* is that of planning in the build that it is part of.

    python scripts/bench_bindings.py [--bindings N] [--turns K]
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BINDINGS, TURNS = 4000, 3


def chain(bindings, side=32):
    """A module with so many bindings in one function."""
    import tvm
    from tvm import relax

    builder = relax.BlockBuilder()
    x = tvm.ir.Var("x", relax.TensorType([side, side], "float32"))
    ops = (relax.op.nn.relu, relax.op.tanh, relax.op.sqrt, relax.op.negative)
    with builder.function("main", [x]):
        with builder.dataflow():
            recent = [x]
            for i in range(bindings - 1):
                one = recent[-1]
                value = ops[i % 4](one) if i % 3 else relax.op.matmul(one, recent[-1 - i % len(recent)])
                recent = [*recent[-7:], builder.emit(value)]
            result = builder.emit_output(recent[-1])
        builder.emit_func_output(result)
    return builder.get()


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bindings", type=int, default=BINDINGS, help="how many")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each build is made")
    options = parser.parse_args(arguments)
    try:
        import tvm
        from tvm import relax

        from tvm_memplan.relax import pipeline
    except ImportError as error:
        print(f"bench_bindings: {error}; this needs: pip install 'tvm-memplan[relax]'", file=sys.stderr)
        return 2
    target = tvm.target.Target("llvm")
    lines = {
        ("default", "TVM"): relax.get_pipeline("default"),
        ("default", "ours"): pipeline(target),
        ("fused", "TVM"): relax.get_default_pipeline(target),
        ("fused", "ours"): pipeline(target, fused=True),
    }
    module = chain(options.bindings)
    print(f"{options.bindings:,} bindings")
    print("| pipeline | plan of | planning | build | share | arena |\n|---|---|---|---|---|---|", flush=True)
    for (name, whose), passes in lines.items():
        rows = [built(module, target, passes) for _ in range(options.turns)]
        planning, build = (median(row[i] for row in rows) for i in (0, 1))
        print(
            f"| {name} | {whose} | {planning:.2f} s | {build:.2f} s | {planning / build:.1%} | {rows[0][2]:,} |",
            flush=True,
        )
    return 0


def built(module, target, passes):
    """Processor seconds of the planning pass and of the whole build, and bytes of storages."""
    import tvm
    from tvm import relax

    from scripts.bench_relax import PASSES, storage_bytes

    begun, took, sizes = [], [], []

    @tvm.instrument.pass_instrument
    class Clock:
        def run_before_pass(self, _module, info):
            if info.name in PASSES:
                begun.append(time.process_time())

        def run_after_pass(self, after, info):
            if info.name in PASSES:
                took.append(time.process_time() - begun.pop())
                sizes.append(sum(storage_bytes(after["main"], {})))

    start = time.process_time()
    with tvm.transform.PassContext(instruments=[Clock()]):
        relax.build(module, target, relax_pipeline=passes)
    return sum(took), time.process_time() - start, sum(sizes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
