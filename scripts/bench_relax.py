"""Memory and time of whole models on apache-tvm 0.27: TVM's StaticPlanBlockMemory beside ours.

Prints one row per model and pipeline (TVM's default, and its CPU pipeline, which fuses operators), all in bytes:

- *naive*, *TVM*, *ours*, *bound*: tensors between kernels, without inputs, outputs and weights; the bound is that of
  tensors which may not share in place, nor with anything that is alive at one call;
- *scratch*: the most that a kernel allocates for itself, which is in nobody's plan on TVM; *and more* where some of it
  has no constant size, which stays in the kernel and is counted nowhere;
- *TVM, all* and *ours, all*: with the scratch. Ours has it in the arena;
- *time*: inference, ours divided by TVM's, the median of runs that take turns.

Sizes that depend on a dimension are those at its largest value here, 128; where it has no declared bound there is
no bound to compare with. Every output is compared bit by bit.

    python scripts/bench_relax.py [--no-time] [MODEL ...]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: Seconds of inference to measure per row, and the least number of turns.
SECONDS, TURNS = 20.0, 5


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--no-time", action="store_true", help="do not build and run, only plan")
    parser.add_argument("--compare", choices=["default", "fused"], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        from tests.relax.networks import FULL
        from tvm_memplan.relax import pipeline
    except ImportError as error:
        print(f"bench_relax: {error}; this needs: pip install 'tvm-memplan[relax]'", file=sys.stderr)
        return 2
    unknown = [name for name in options.models if name not in FULL]
    if unknown:
        print(f"bench_relax: no such model: {', '.join(unknown)}; there are {', '.join(FULL)}", file=sys.stderr)
        return 2
    if options.compare:
        print(compared(FULL[options.models[0]](), options.compare == "fused", pipeline))
        return 0
    head = ("model", "pipeline", "naive", "TVM", "ours", "bound", "scratch", "TVM, all", "ours, all", "saved", "time")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)
    worse = 0
    for name in options.models or FULL:
        network = FULL[name]()
        for fused in (False, True):
            row, fine = measure(name, network, fused, pipeline, not options.no_time)
            worse += not fine
            print(f"| {name} | {'fused' if fused else 'default'} | " + " | ".join(row) + " |", flush=True)
    if worse:
        print(f"bench_relax: {worse} rows are larger than TVM's or above the bound, or differ", file=sys.stderr)
    return 1 if worse else 0


def measure(name, network, fused, pipeline, timed):
    """One row, and whether ours is as small as it should be."""
    import tvm
    from tvm import relax

    from tvm_memplan.dialects.relax import kernel_scratch

    target = tvm.target.Target("llvm")
    theirs = relax.get_default_pipeline(target) if fused else relax.get_pipeline("default")
    sizes = network.sizes[-1]

    def plain():
        return pipeline(target, fused=fused, lift=False, in_place=False)

    before, after_theirs = around(network, theirs, target)
    _, after_plain = around(network, plain(), target)
    _, after_ours = around(network, pipeline(target, fused=fused, lift=False), target)
    _, after_all = around(network, pipeline(target, fused=fused), target)
    with target:
        kernels = kernel_scratch(before)
    scratch = max((known.bytes for known in kernels.values()), default=0)
    naive, tvm_bytes, plain_bytes, ours, everything = (
        planned_bytes(module, network.function, sizes)
        for module in (before, after_theirs, after_plain, after_ours, after_all)
    )
    bound = bound_bytes(network, fused)
    together = tvm_bytes + scratch
    symbolic = bound is None
    row = [
        "-" if size is None else f"{size:,}" for size in (naive, tvm_bytes, ours, bound, scratch, together, everything)
    ]
    if any(known.unknown for known in kernels.values()):
        row[4] += " and more"
    row.append(f"{1 - everything / together:.1%}")
    told = in_a_process_of_its_own(name, fused) if timed else "-"
    same = told != "differs"
    row.append(told)
    return row, same and ours <= min(tvm_bytes, plain_bytes) and (symbolic or ours <= bound)


def around(network, passes, target):
    """The module before and after memory is planned."""
    import tvm

    seen = {}

    @tvm.instrument.pass_instrument
    class Look:
        def run_before_pass(self, module, info):
            if info.name in ("StaticPlanBlockMemory", "tvm_memplan.PlanBlockMemory"):
                seen["before"] = module

        def run_after_pass(self, module, info):
            if info.name in ("StaticPlanBlockMemory", "tvm_memplan.PlanBlockMemory"):
                seen["after"] = module

    with target, tvm.transform.PassContext(instruments=[Look()]):
        passes(network.module)
    return seen["before"], seen["after"]


def planned_bytes(module, function, sizes):
    """Bytes of all storages and all tensors that are no storage's, in a function, without what it returns."""
    from tvm_memplan.dialects.relax import capture

    graph = capture(module, module[function], function, {name: size for name, size in sizes.items()})
    total = sum(storage_bytes(module[function], sizes))
    waiting = [tensor.size.bytes for tensor in graph.tensors.values()]
    return total + sum(waiting)


def storage_bytes(function, sizes):
    """The bytes of each storage of a function, at given values of its dimensions."""
    import tvm_ffi
    from tvm import ir, sym, tirx

    found = []

    def call(node):
        if isinstance(node.op, ir.Op) and node.op.name == "relax.memory.alloc_storage":
            size = node.args[0].values[0]
            known = tvm_ffi.structural_map(size, (ir.Var, lambda v: tirx.IntImm("int64", sizes[v.name])))
            found.append(int(sym.Analyzer().simplify(known)))

    tvm_ffi.structural_walk(function.body, (ir.Call, call))
    return found


def bound_bytes(network, fused):
    """The bound of what lies between kernels; None where sizes are not bounded."""
    from tvm_memplan.relax import plan

    made = plan(network.module, fused=fused, lift=False, in_place=False).reports[network.function]
    if any(note.startswith("unbounded") for note in made.notes):
        return None
    return sum(
        pool.bound for pool in made.pools if pool.pool not in ("caller", "weights", "run time", "kernel scratch")
    )


def in_a_process_of_its_own(name, fused):
    """What `compared` says; TVM's plan of a function with an `if` in it can end the process."""
    command = [sys.executable, __file__, name, "--compare", "fused" if fused else "default"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    return made.stdout.strip().splitlines()[-1] if made.returncode == 0 else "TVM's crashes"


def compared(network, fused, pipeline):
    """How long ours takes, relative to TVM's; or that the two do not return the same bits on 3 inputs."""
    import tvm
    from tvm import relax

    target = tvm.target.Target("llvm")
    theirs = relax.get_default_pipeline(target) if fused else relax.get_pipeline("default")
    machines = [
        relax.VirtualMachine(relax.build(network.module, target, relax_pipeline=passes), tvm.cpu())
        for passes in (theirs, pipeline(target, fused=fused))
    ]
    for seed in (1, 2, 3):
        values = [tvm.runtime.tensor(v) for v in network.arguments(seed, network.sizes[seed % len(network.sizes)])]
        one, other = (arrays(machine[network.function](*values)) for machine in machines)
        if [a.tobytes() for a in one] != [a.tobytes() for a in other]:
            return "differs"
    values = [tvm.runtime.tensor(v) for v in network.arguments(1, network.sizes[-1])]
    ratios, start = [], time.perf_counter()
    while len(ratios) < TURNS or time.perf_counter() - start < SECONDS:
        seconds = [0.0, 0.0]
        # Who goes first takes turns, too.
        for i in (0, 1) if len(ratios) % 2 else (1, 0):
            begin = time.perf_counter()
            machines[i][network.function](*values)
            seconds[i] = time.perf_counter() - begin
        ratios.append(seconds[1] / seconds[0])
    return f"{median(ratios):.2f}"


def arrays(result):
    """What a function returned, as a list of arrays."""
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in arrays(part)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
