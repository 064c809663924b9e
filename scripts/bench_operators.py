"""Workspace and run time of the operators of resnet-18 and mobilenet: TVM's StorageRewrite beside our passes.

Prints one row per operator: the bytes of all allocations of global memory in the lowered function as they come,
after StorageRewrite, and after ours (marked where ours takes more); our processor time over StorageRewrite's (the
median of many pairs of runs, one right after the other), and whether the two have the same machine code, instruction
by instruction; then the sums and the largest, and a table of the models. All for llvm on this machine; of operators
that allocate the same and have the same parameters one is taken.

    TVM_NUM_THREADS=1 python scripts/bench_operators.py [--operators N] [--rounds 21] [--memory-only] [--model NAME]
        [--also PYTHON]

PYTHON is the interpreter of an environment with the other line of TVM, for all four models in one run.

On TVM 0.19 the models are resnet-18 and mobilenet of `relay.testing`, lowered with Relay's schedules for x86; on
apache-tvm 0.27 networks of the shapes of resnet-18 and mobilenet_v2, made here, with the plain loops of
`LegalizeOps` and `FuseTIR`. N limits the run to so many operators of each model, those that allocate most. Exit code 1
when ours takes more memory than StorageRewrite somewhere, 2 when there is no TVM.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
sys.path.append(str(Path(__file__).resolve().parent.parent))

SUMMARY = """
| TVM, network | operators | as lowered, sum | StorageRewrite | ours | largest, StorageRewrite | ours | time | code |
|---|---|---|---|---|---|---|---|---|"""

ELEMENT_BITS = {"bool": 8, "handle": 64}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, help="so many of each model, those that allocate most")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each build")
    parser.add_argument("--memory-only", action="store_true", help="do not build and run")
    parser.add_argument("--model", action="append", help="only this model")
    parser.add_argument("--also", metavar="PYTHON", help="the interpreter of an environment with the other TVM")
    options = parser.parse_args()
    try:
        from tvm_memplan.dialects.line import RELAY, installed_line
        from tvm_memplan.errors import MemPlanError
    except ImportError as error:
        print(f"bench_operators: {error}", file=sys.stderr)
        return 2
    if installed_line() is None:
        print("bench_operators: there is no TVM here", file=sys.stderr)
        return 2
    line = Relay() if installed_line() == RELAY else Relax()
    rows = []
    for model in options.model or line.models:
        try:
            rows.append(bench(line, model, options))
        except MemPlanError as error:
            print(f"bench_operators: {error}", file=sys.stderr)
            return 2
    print(SUMMARY)
    for row, _ in rows:
        print(row, flush=True)
    code = 1 if any(worse for _, worse in rows) else 0
    if options.also:
        others = [f"--rounds={options.rounds}", *(["--memory-only"] if options.memory_only else [])]
        others += [f"--operators={options.operators}"] if options.operators else []
        code = max(code, subprocess.run([options.also, __file__, *others]).returncode)
    return code


def bench(line, model, options):
    """The table of one model; returns its line for the table of models, and how many take more memory with ours."""
    from tvm_memplan.transform import PlanMemory, RewriteStorage

    ours = [PlanMemory(), RewriteStorage()]
    found = {}
    for name, function in line.operators(model).items():
        found.setdefault(line.signature(function), (name, function))
    rows = []
    for name, function in found.values():
        sizes = [line.workspace(function, passes) for passes in ([], None, ours)]
        if sizes[0]:
            rows.append((name, function, sizes))
    rows.sort(key=lambda row: -row[2][0])
    rows = rows[: options.operators]
    print(f"\n{model}: {len(rows)} operators that allocate\n")
    print("| operator | as lowered | StorageRewrite | ours | time | code |\n|---|---|---|---|---|---|", flush=True)
    ratios, same = [], 0
    for name, function, sizes in rows:
        mark, told = " (!)" if sizes[2] > sizes[1] else "", "- | -"
        if not options.memory_only:
            builds = [line.build(function, None), line.build(function, ours)]
            ratios.append(compared(line, function, [build["entry"] for build in builds], options.rounds))
            theirs, mine = (instructions(line.assembly(build)) for build in builds)
            same += theirs == mine
            told = f"{ratios[-1]:.3f} | {'same' if theirs == mine else 'other'}"
        print(f"| {name} | {sizes[0]:,} | {sizes[1]:,} | {sizes[2]:,}{mark} | {told} |", flush=True)
    for what, combine in (("sum", sum), ("largest", max)):
        figures = " | ".join(f"{combine(row[2][k] for row in rows):,}" for k in range(3))
        print(f"| {what} | {figures} | {f'median {statistics.median(ratios):.3f}' if ratios else '-'} | |")
    sums = " | ".join(f"{sum(sizes[k] for _, _, sizes in rows):,}" for k in range(3))
    most = " | ".join(f"{max(sizes[k] for _, _, sizes in rows):,}" for k in (1, 2))
    times = f"{statistics.median(ratios):.3f} | {same} of {len(rows)}" if ratios else "- | -"
    worse = sum(sizes[2] > sizes[1] for _, _, sizes in rows)
    return f"| {line.version}, {model} | {len(rows)} | {sums} | {most} | {times} |", worse


def instructions(assembly):
    """The machine code without the names in it."""
    return re.findall(r"^\t(?!\.)[^#\n]*", assembly, re.MULTILINE)


def compared(line, function, builds, rounds):
    """Our time over StorageRewrite's: the median over pairs of runs, one right after the other, in turns first.

    It is processor time, which other programs on the machine disturb least, and what disturbs one run of a pair is
    likely to disturb the other.
    """
    arguments = line.arguments(function)
    ratios = []
    for build in builds:
        build(*arguments)
    for turn in range(rounds):
        times = [0.0, 0.0]
        for which in (0, 1) if turn % 2 else (1, 0):
            # Short operators are repeated until the clock is fine enough.
            count, start = 0, time.process_time()
            while time.process_time() - start < 0.001:
                builds[which](*arguments)
                count += 1
            times[which] = (time.process_time() - start) / count
        ratios.append(times[1] / times[0])
    return statistics.median(ratios)


def size_of(dtype, extents):
    """Bytes of an allocation."""
    kind, _, lanes = str(dtype).partition("x")
    bits = ELEMENT_BITS.get(kind) or int("".join(c for c in kind.rpartition("float")[2] if c.isdigit()) or 8)
    count = int(lanes or 1) * ((bits + 7) // 8)
    for extent in extents:
        count *= int(extent)
    return count


class Relay:
    """TVM 0.19."""

    version = "0.19"
    models = ("resnet-18", "mobilenet")

    def operators(self, model):
        """The lowered functions of a model as our passes meet them, by name."""
        import tvm
        from tvm import relay
        from tvm.relay import testing

        mod, params = (
            testing.resnet.get_workload(num_layers=18) if model == "resnet-18" else testing.mobilenet.get_workload()
        )
        seen = {}

        @tvm.tir.transform.prim_func_pass(opt_level=0)
        def look(function, _module, _context):
            seen.setdefault(str(function.attrs["global_symbol"]), function)
            return function

        with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": [(1, look)]}):
            relay.build(mod, target="llvm", params=params)
        return {n.removeprefix("tvmgen_default_fused_"): f for n, f in seen.items() if "fused" in n}

    def signature(self, function):
        """What tells operators apart: parameters and allocations."""
        import tvm

        found = [(str(b.dtype), tuple(map(int, b.shape))) for b in function.buffer_map.values()]

        def visit(node):
            if isinstance(node, tvm.tir.Allocate):
                found.append((str(node.dtype), tuple(map(int, node.extents))))

        tvm.tir.stmt_functor.post_order_visit(function.body, visit)
        return tuple(found)

    def workspace(self, function, passes):
        """Bytes of all allocations after lowering with `passes` instead of StorageRewrite, None for itself."""
        import tvm

        total = 0

        def visit(node):
            nonlocal total
            if isinstance(node, tvm.tir.Allocate):
                total += size_of(node.dtype, node.extents)

        with self.context(passes):
            after = tvm.lower(self.entry(function))["entry"]
        tvm.tir.stmt_functor.post_order_visit(after.body, visit)
        return total

    def build(self, function, passes):
        """The function, built with `passes` in the place of StorageRewrite, None for itself."""
        import tvm

        with self.context(passes):
            return tvm.build(self.entry(function), target="llvm")

    def assembly(self, build):
        """The machine code of a build, as text."""
        return build.get_source("s")

    def entry(self, function):
        """A module with the function."""
        import tvm

        # It has been flattened: the old way of doing so is not asked for a second time.
        entry = function.with_attr("global_symbol", "entry").without_attr("from_legacy_te_schedule")
        return tvm.IRModule({"entry": entry})

    def context(self, passes):
        """Where `passes` run instead of StorageRewrite."""
        import tvm

        config = {
            "tir.add_lower_pass": [(1, made) for made in passes or ()],
            "tir.disable_storage_rewrite": passes is not None,
        }
        return tvm.transform.PassContext(opt_level=3, config=config)

    def arguments(self, function):
        """Random arguments of the shapes that the function takes."""
        import numpy as np
        import tvm

        random = np.random.default_rng(1)
        buffers = [function.buffer_map[param] for param in function.params]
        return [tvm.nd.array(random.normal(size=[int(n) for n in b.shape]).astype(b.dtype)) for b in buffers]


class Relax:
    """apache-tvm 0.27."""

    version = "0.27"
    models = ("resnet-18", "mobilenet_v2")

    def operators(self, model):
        """The lowered functions of a model as our passes meet them, by name."""
        import tvm
        from tvm import relax, tirx
        from tvm.relax.frontend import nn

        from tvm_memplan.dialects.tirx import register_standard_pipeline

        network = resnet_18() if model == "resnet-18" else mobilenet_v2()
        shape = nn.spec.Tensor((1, 3, 224, 224), "float32")
        module, _ = network.export_tvm({"forward": {"x": shape}})
        passes = [
            relax.transform.LegalizeOps(),
            relax.transform.AnnotateTIROpPattern(),
            relax.transform.FuseOps(),
            relax.transform.FuseTIR(),
        ]
        module = tvm.transform.Sequential(passes)(module)
        seen = {}
        for variable, function in module.functions.items():
            if isinstance(function, tirx.PrimFunc):
                seen[variable.name_hint] = lowered(function, register_standard_pipeline)
        return seen

    def signature(self, function):
        """What tells operators apart: parameters and allocations."""
        import tvm_ffi
        from tvm import tirx

        found = [(str(p.dtype), tuple(map(str, p.shape))) for p in function.params]
        tvm_ffi.structural_walk(
            function.body,
            (tirx.AllocBuffer, lambda s: found.append((str(s.buffer.dtype), tuple(map(str, s.buffer.shape))))),
        )
        return tuple(found)

    def workspace(self, function, passes):
        """Bytes of all allocations after `passes` in the place of StorageRewrite, None for itself."""
        import tvm
        import tvm_ffi
        from tvm import tirx

        passes = [tirx.transform.StorageRewrite()] if passes is None else passes
        after = tvm.transform.Sequential(passes)(tvm.IRModule({"entry": function}))["entry"]
        sizes = []
        tvm_ffi.structural_walk(
            after.body, (tirx.AllocBuffer, lambda s: sizes.append(size_of(s.buffer.dtype, s.buffer.shape)))
        )
        return sum(sizes)

    def build(self, function, passes):
        """The function, built with `passes` in the place of StorageRewrite, None for itself."""
        import tvm
        from tvm import tirx

        from tvm_memplan.dialects.tirx import register_standard_pipeline

        register_standard_pipeline("bench_operators", passes or [tirx.transform.StorageRewrite()])
        entry = function.without_attr("target").with_attr("global_symbol", "entry")
        return tvm.compile(tvm.IRModule({"entry": entry}), target="llvm", tir_pipeline="bench_operators")

    def assembly(self, build):
        """The machine code of a build, as text."""
        return build.mod.inspect_source("s")

    def arguments(self, function):
        """Random arguments of the shapes that the function takes."""
        import numpy as np
        import tvm

        random = np.random.default_rng(1)
        shapes = [([int(n) for n in p.shape], str(p.dtype)) for p in function.params]
        return [tvm.runtime.tensor(random.normal(size=shape).astype(dtype)) for shape, dtype in shapes]


def lowered(function, register):
    """`function` as it is where StorageRewrite stands."""
    import tvm
    from tvm import tirx

    seen = []

    @tirx.transform.prim_func_pass(opt_level=0)
    def look(function, _module, _context):
        seen.append(function)
        return function

    register("bench_operators.look", [look])
    pipeline, *_ = tirx.get_tir_pipeline("bench_operators.look")
    target = tvm.target.Target("llvm", host="llvm")
    module = tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")})
    pipeline(tirx.transform.BindTarget(target)(module))
    return seen[0].without_attr("target")


def resnet_18():
    """The layers of resnet-18 with the normalisation folded into the convolutions."""
    from tvm.relax.frontend import nn

    class Block(nn.Module):
        def __init__(self, inside, outside, stride):
            self.first = nn.Conv2D(inside, outside, 3, stride, 1, bias=True)
            self.second = nn.Conv2D(outside, outside, 3, 1, 1, bias=True)
            self.across = nn.Conv2D(inside, outside, 1, stride, bias=True) if stride > 1 else None

        def forward(self, x):
            y = self.second(nn.op.relu(self.first(x)))
            return nn.op.relu(nn.op.add(y, x if self.across is None else self.across(x)))

    class Network(nn.Module):
        def __init__(self):
            self.stem = nn.Conv2D(3, 64, 7, 4, 3, bias=True)  # with the stride of the pooling behind it
            widths = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
            blocks = [(Block(i, o, s), Block(o, o, 1)) for i, o, s in widths]
            self.blocks = nn.ModuleList([block for pair in blocks for block in pair])
            self.head = nn.Linear(512 * 7 * 7, 1000)

        def forward(self, x):
            x = nn.op.relu(self.stem(x))
            for block in self.blocks:
                x = block(x)
            return nn.op.softmax(self.head(nn.op.reshape(x, (1, 512 * 7 * 7))), axis=-1)

    return Network()


def mobilenet_v2():
    """The layers of mobilenet_v2 with the normalisation folded into the convolutions."""
    from tvm.relax.frontend import nn

    def relu6(x):
        return nn.op.minimum(nn.op.relu(x), nn.Tensor.from_scalar(6.0, "float32"))

    class Block(nn.Module):
        def __init__(self, inside, outside, stride, expansion):
            wide = inside * expansion
            self.expand = nn.Conv2D(inside, wide, 1, bias=True) if expansion > 1 else None
            self.depth = nn.Conv2D(wide, wide, 3, stride, 1, groups=wide, bias=True)
            self.project = nn.Conv2D(wide, outside, 1, bias=True)
            self.adds = stride == 1 and inside == outside

        def forward(self, x):
            y = x if self.expand is None else relu6(self.expand(x))
            y = self.project(relu6(self.depth(y)))
            return nn.op.add(y, x) if self.adds else y

    class Network(nn.Module):
        def __init__(self):
            self.stem = nn.Conv2D(3, 32, 3, 2, 1, bias=True)
            stages = (
                (1, 16, 1, 1),
                (6, 24, 2, 2),
                (6, 32, 3, 2),
                (6, 64, 4, 2),
                (6, 96, 3, 1),
                (6, 160, 3, 2),
                (6, 320, 1, 1),
            )
            blocks, inside = [], 32
            for expansion, outside, count, stride in stages:
                for k in range(count):
                    blocks.append(Block(inside, outside, stride if k == 0 else 1, expansion))
                    inside = outside
            self.blocks = nn.ModuleList(blocks)
            self.last = nn.Conv2D(320, 1280, 1, bias=True)
            self.head = nn.Linear(1280 * 7 * 7, 1000)

        def forward(self, x):
            x = relu6(self.stem(x))
            for block in self.blocks:
                x = block(x)
            x = relu6(self.last(x))
            return nn.op.softmax(self.head(nn.op.reshape(x, (1, 1280 * 7 * 7))), axis=-1)

    return Network()


if __name__ == "__main__":
    sys.exit(main())
