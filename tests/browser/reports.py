"""Reports to look at: one that has everything, one of an evil model, one of many buffers."""

import random

from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem, View
from tvm_memplan.report import LeftAlone, memory_report
from tvm_memplan.report.origin import Origin

EVIL = "</script><img src=x onerror=alert(1)>&quot;'\"<!--\u2028"


def everything():
    """Two pools, all kinds, an in-place pair, an alias, two live ranges, a tensor and a capacity."""
    rows = [
        ("image", 4096, [(0, 2)], Kind.INPUT, "", 0),
        ("conv.out", 8192, [(1, 4)], Kind.ACTIVATION, "conv", 4096),
        ("conv.pad", 2048, [(1, 2), (5, 6)], Kind.WORKSPACE, "conv", 12288),
        ("sum", 8192, [(3, 6)], Kind.ACTIVATION, "add", 4096),
        ("scores", 1024, [(5, 7)], Kind.OUTPUT, "softmax", 0),
    ]
    buffers = [
        Buffer(name, size, tuple(LiveRange(*s) for s in spans), kind=kind, pools=("sram",), operator=operator)
        for name, size, spans, kind, operator, _ in rows
    ]
    weights = Buffer("kernel", 30000, (LiveRange(0, 7),), kind=Kind.WEIGHTS, pools=("flash",), operator="conv")
    pools = (Pool("sram", 20000, 16), Pool("flash", 1 << 20))
    problem = Problem((*buffers, weights), pools, in_place=frozenset({(3, 1)}), views=(View("flat", 1, 0, 4096),))
    places = (*(Placement("sram", row[5]) for row in rows), Placement("flash", 0))
    return memory_report(
        Plan(problem, places, "by hand"),
        ("load", "conv", "relu", "add", "flatten", "softmax", "store"),
        model="a small net",
        target="c",
        left_alone=(LeftAlone("odd", "main", "shared", None, "unknown scope"),),
        origins={"conv.out": Origin((1, 8, 16, 16), "float32")},
    )


def layers(count=5):
    """A chain of layers whose names a compiler forgot, and the workspace of the fourth."""
    names = [f"model/conv_{i}/Relu;model/conv_{i}/bias" for i in range(count)]
    rows = [Buffer(f"sid_{i}", 1024, (LiveRange(i, i + 2),), operator=f"fused_conv_{i}") for i in range(count)]
    rows.append(Buffer("fused_conv_3.pad", 512, (LiveRange(3, 4),), kind=Kind.WORKSPACE, operator="fused_conv_3"))
    origins = {f"sid_{i}": Origin((1, 8, 8, 16), "int8", name, (name,), f"net.py:{i}") for i, name in enumerate(names)}
    origins["fused_conv_3.pad"] = Origin((512,), "int8", "", (names[3],), "net.py:3")
    places = (*(Placement("arena", 1024 * (i % 2)) for i in range(count)), Placement("arena", 2048))
    steps = [f"fused_conv_{i}" for i in range(count)] + ["end"]
    plan = Plan(Problem(tuple(rows)), places, "by hand")
    return memory_report(plan, steps, "layers", origins=origins, step_layers=(*names, ""))


def evil():
    """Names that would be markup, wherever a name can stand."""
    buffers = (Buffer(EVIL, 64, (LiveRange(0, 2),), operator=EVIL), Buffer("b", 64, (LiveRange(1, 3),)))
    problem = Problem(buffers, (Pool(EVIL),), views=(View(EVIL + "view", 0, 0, 4),))
    plan = Plan(problem, (Placement(EVIL, 0), Placement(EVIL, 64)), EVIL)
    left = LeftAlone(EVIL, EVIL, EVIL, 1, EVIL)
    return memory_report(
        plan, (EVIL,) * 3, EVIL, EVIL, (left,), (EVIL,), {EVIL: Origin((1,), EVIL, EVIL, (EVIL,), EVIL)}, (EVIL,) * 3
    )


def many(count=5000):
    """Buffers stacked without a thought, which is quick: what is tested is the page."""
    chance = random.Random(0)
    ends, buffers, places = [0] * 64, [], []
    for i in range(count):
        start = i // 2
        lane = next((k for k, end in enumerate(ends) if end <= start), 0)
        start = max(start, ends[lane])
        ends[lane] = start + chance.randint(1, 30)
        kind = chance.choice([Kind.ACTIVATION, Kind.ACTIVATION, Kind.WORKSPACE])
        buffers.append(
            Buffer(f"layer{i // 5}.{i}", chance.randint(1, 16) * 4096, (LiveRange(start, ends[lane]),), kind=kind)
        )
        places.append(Placement("arena", lane * 65536))
    return memory_report(Plan(Problem(tuple(buffers)), tuple(places), "lanes"), model="many")


def long_names():
    """Names and operators as fused models have them, which differ at the end only, one on the bytes of another."""
    layer = "model/mobilenet/block_{}/depthwise/FusedBatchNormV3;model/mobilenet/conv_pw_{}_relu/Relu6"
    operator = "fused_" + "nn_conv2d_add_fixed_point_multiply_per_axis_clip_cast_" * 3
    buffers = tuple(
        Buffer(layer.format(i % 2, i), 4096, (LiveRange(3 * i, 3 * i + 5),), operator=f"{operator}{i}")
        for i in range(8)
    )
    places = tuple(Placement("arena", 4096 * (i // 2 % 2)) for i in range(8))
    pairs = frozenset((i + 1, i) for i in range(0, 8, 2))
    steps = tuple(f"{operator}{i // 3}" for i in range(26))
    return memory_report(Plan(Problem(buffers, in_place=pairs), places, "by hand"), steps, model=layer.format(1, 2))
