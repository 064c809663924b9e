"""Problems shaped like networks: operators with workspace, branches that are joined, values that skip ahead."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.trace import Alloc, Node, Step, Trace


def network(seed: int, operators: int = 100) -> Problem:
    random = Random(seed)
    body: list[Node] = []
    for k in range(operators):
        skips = [max(0, k - 1 - int(random.expovariate(0.5))) for _ in range(random.choice((0, 0, 1, 2)))]
        body.append(Alloc(f"value{k}", random.randint(1, 1000) * 64, 16, kind=Kind.ACTIVATION))
        reads = tuple(f"value{j}" for j in sorted({*skips, max(0, k - 1)}) if j < k)
        for w in range(random.choice((0, 0, 1, 2))):
            name = f"work{k}.{w}"
            body += [Alloc(name, random.randint(1, 1500) * 64, 16), Step(f"op{k}", reads, (name,))]
            reads = (name,)
        body.append(Step(f"op{k}", reads, (f"value{k}",)))
    return Problem(live_ranges(Trace(tuple(body), live_out=frozenset({f"value{operators - 1}"}))).buffers)


@pytest.mark.parametrize("seed", range(4))
def test_auto_reaches_the_bound(seed):
    problem = network(seed)
    assert plan(problem).size() == bound(problem).bytes


@pytest.mark.parametrize("seed", range(2))
def test_auto_reaches_the_bound_when_only_conflicts_are_known(seed):
    known = network(seed, 60)
    buffers, count = known.buffers, len(known.buffers)
    pairs = {(i, j) for i in range(count) for j in range(i + 1, count) if buffers[i].alive_with(buffers[j])}
    problem = Problem(tuple(replace(b, live_ranges=()) for b in buffers), conflicts=frozenset(pairs))
    assert bound(problem).kind == "clique"
    assert plan(problem).size() == bound(problem).bytes == bound(known).bytes
