"""Textures between and inside operators of networks on Adreno: TVM's graph planner and pools beside ours.

Prints one row per network and storage scope, in bytes: all tensors without sharing, TVM 0.19's GraphPlanMemory, ours,
and the bound; inputs and parameters are not counted. Then one row per operator with several textures inside, where TVM
shares nothing: the texels' bytes without sharing, ours, and the bound.

    python scripts/bench_textures.py [NETWORK ...]

Networks come from `tvm.relay.testing`, with random parameters; nothing is run, so no device is needed.
"""

import os
import sys

os.environ.setdefault("TOPHUB_LOCATION", "NONE")

#: Name, module of `tvm.relay.testing`, and how it is asked for.
NETWORKS = {
    "resnet18": ("resnet", {"num_layers": 18}),
    "resnet50": ("resnet", {"num_layers": 50}),
    "mobilenet": ("mobilenet", {}),
    "squeezenet": ("squeezenet", {"version": "1.1"}),
    "inception_v3": ("inception_v3", {}),
    "densenet": ("densenet", {}),
}
#: These build within a few minutes.
DEFAULT = ("resnet18", "resnet50", "mobilenet", "squeezenet")


def main(arguments):
    try:
        import tvm
        from tvm import relay

        from tvm_memplan.errors import MissingDependency
        from tvm_memplan.relay import plan_graph
    except ImportError as error:
        print(f"bench_textures: {error}; this needs: pip install 'tvm-memplan[relay]'", file=sys.stderr)
        return 2
    except MissingDependency as error:
        print(f"bench_textures: {error}", file=sys.stderr)
        return 2
    unknown = [name for name in arguments if name not in NETWORKS]
    if unknown:
        print(f"bench_textures: no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}", file=sys.stderr)
        return 2
    print("| network | scope | tensors | naive | TVM | ours | bound |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in arguments or DEFAULT:
        planned = plan_graph(graph_of(tvm, relay, name))
        for before, after in zip(planned.before, planned.report.pools):
            count = sum(row.pool == after.pool for row in planned.report.allocations)
            figures = " | ".join(f"{n:,}" for n in (after.naive, before.planned, after.planned, after.bound))
            print(f"| {name} | {after.pool} | {count} | {figures} |", flush=True)
    print()
    print("| operator | textures | naive (and TVM) | ours | bound |")
    print("|---|---|---|---|---|", flush=True)
    for name, module in operators(tvm):
        figures = textures_of(module)
        print(f"| {name} | " + " | ".join(f"{n:,}" for n in figures) + " |", flush=True)
    return 0


def target_of(tvm):
    return tvm.target.Target("opencl -device=adreno", host="llvm")


def graph_of(tvm, relay, name):
    """The graph executor's JSON of a network."""
    import importlib

    module, options = NETWORKS[name]
    workload = importlib.import_module(f"tvm.relay.testing.{module}").get_workload
    mod, params = workload(batch_size=1, **options)
    target = target_of(tvm)
    with target, tvm.transform.PassContext(opt_level=3):
        return relay.build(mod, target=target, params=params).get_graph_json()


def operators(tvm):
    """Names and lowered modules of operators with several textures inside."""
    from tvm import te, topi

    for channels, size in ((32, 28), (64, 56)):
        data = te.placeholder((1, channels, size, size), name="data")
        weight = te.placeholder((channels, channels, 3, 3), name="weight")
        with target_of(tvm):
            out = topi.adreno.conv2d_nchw_winograd(data, weight, 1, 1, 1, "float32")
            schedule = topi.adreno.schedule_conv2d_nchw_winograd([out])
        yield f"winograd {channels} x {size} x {size}", lowered(tvm, schedule, [data, weight, out])
    for length in (3, 8):
        data = last = te.placeholder((1, 8, 28, 28, 4), name="data")
        stages = []
        for k in range(length + 1):
            last = topi.tanh(last) if k % 2 else topi.add(last, float(k + 1))
            stages.append(last)
        schedule = te.create_schedule(last.op)
        for stage in stages:
            if stage is not last:
                schedule[stage].set_scope("global.texture")
            axes = schedule[stage].op.axis
            block, thread = schedule[stage].split(schedule[stage].fuse(*axes[:-1]), factor=64)
            schedule[stage].bind(block, te.thread_axis("blockIdx.x"))
            schedule[stage].bind(thread, te.thread_axis("threadIdx.x"))
            schedule[stage].vectorize(axes[-1])
        yield f"chain of {length} textures", lowered(tvm, schedule, [data, last])


def lowered(tvm, schedule, arguments):
    """The module that the passes see."""
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def look(function, module, context):
        seen.append(function)
        return function

    with target_of(tvm), tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, look)]}):
        tvm.lower(schedule, arguments)
    return tvm.IRModule({"main": seen[0]})


def textures_of(module):
    """How many textures there are, and their naive, planned and bound bytes."""
    from tvm_memplan.analysis import analyze_memory

    report = analyze_memory(module)["main"]
    pools = [pool for pool in report.pools if "texture" in pool.pool]
    count = sum("texture" in row.scope for row in report.allocations)
    return count, *(sum(getattr(pool, kind) for pool in pools) for kind in ("naive", "planned", "bound"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
