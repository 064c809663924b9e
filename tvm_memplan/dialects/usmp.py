"""What TVM's unified static memory planner (USMP) is given, as a problem, and a plan as what it has to answer.

USMP hands its algorithm a list of ``tvm.tir.usmp.BufferInfo`` and the memory pressure::

    name_hint, size_bytes, alignment       a Buffer
    conflicts                              given conflicts; one direction is enough, and a buffer's own name is ignored
    pool_candidates                        candidate pools, in order of preference
    pool: pool_name, size_hint_bytes       a Pool; a hint of -1 means no limit

So any planner of ours can be an algorithm of USMP's::

    tvm.register_func("tir.usmp.algo.memplan", usmp_algorithm("auto"))
    with tvm.transform.PassContext(config={"tir.usmp.enable": True, "tir.usmp.custom_algorithm": "memplan"}):
        ...

Live ranges are not known here, only conflicts, and USMP's conflicts are taken at their word; `tvm_memplan.relay` reads
the whole program instead. This file leaves the objects as they are and imports TVM only to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Buffer, Plan, Pool, Problem


def problem_from_buffer_infos(infos: Sequence[Any]) -> Problem:
    """Return the problem that a list of ``BufferInfo`` poses; its buffers are in the order of the list.

    Raises
    ------
    BadInput
        A buffer has no candidate pools, conflicts with one that is not in the list, or two pools of one name differ.
    """
    # TVM compares its objects by content in places; one object is one buffer.
    index = {info.handle.value: i for i, info in enumerate(infos)}
    pools: dict[str, Pool] = {}
    buffers: list[Buffer] = []
    names: dict[str, int] = {}
    for info in infos:
        name = str(info.name_hint)
        if not info.pool_candidates:
            raise BadInput(f"BufferInfo {name!r} has no candidate pools")
        own = [_pool(candidate) for candidate in info.pool_candidates]
        for pool in own:
            if pools.setdefault(pool.name, pool) != pool:
                raise BadInput(f"BufferInfo {name!r}: pool {pool.name!r} has another size than in an earlier buffer")
        names[name] = names.get(name, 0) + 1
        unique = name if names[name] == 1 else f"{name}#{names[name]}"
        alignment = int(info.alignment) if info.alignment is not None else 1
        buffers.append(Buffer(unique, int(info.size_bytes), (), alignment, pools=tuple(pool.name for pool in own)))
    pairs = set()
    for i, info in enumerate(infos):
        for other in info.conflicts:
            j = index.get(other.handle.value)
            if j is None:
                raise BadInput(
                    f"BufferInfo {buffers[i].name!r} conflicts with {str(other.name_hint)!r}, not in the list"
                )
            if i != j:
                pairs.add((min(i, j), max(i, j)))
    return Problem(tuple(buffers), _in_order(buffers, pools), frozenset(pairs))


def pool_allocations(plan: Plan, infos: Sequence[Any]) -> dict[Any, Any]:
    """Return a ``PoolAllocation`` per ``BufferInfo``, for the plan of the problem made from the same list."""
    from tvm.tir.usmp.utils import PoolAllocation

    answer = {}
    for info, place in zip(infos, plan.placements):
        pool = next(pool for pool in info.pool_candidates if str(pool.pool_name) == place.pool)
        answer[info] = PoolAllocation(pool, place.offset)
    return answer


def usmp_algorithm(planner: str = "auto") -> Callable[[Any, Any], dict[Any, Any]]:
    """Return a planner of ours as a function that USMP can call."""

    def algorithm(infos: Any, pressure: Any) -> dict[Any, Any]:
        from tvm_memplan.planning.planners import plan

        return pool_allocations(plan(problem_from_buffer_infos(list(infos)), planner), list(infos))

    return algorithm


def _pool(candidate: Any) -> Pool:
    hint = int(candidate.size_hint_bytes)
    return Pool(str(candidate.pool_name), None if hint < 0 else hint)


def _in_order(buffers: Sequence[Buffer], pools: dict[str, Pool]) -> tuple[Pool, ...]:
    """Order pools so that each buffer's candidates come in its own order of preference, as far as they agree."""
    before: dict[str, set[str]] = {name: set() for name in pools}
    for buffer in buffers:
        for k, name in enumerate(buffer.pools):
            before[name] |= set(buffer.pools[:k])
    order: list[str] = []
    while len(order) < len(pools):
        left = [name for name in pools if name not in order]
        order.append(next((name for name in left if before[name] <= set(order)), left[0]))
    return tuple(pools[name] for name in order) or (Pool("arena"),)
