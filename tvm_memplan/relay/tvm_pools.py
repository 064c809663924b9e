"""TVM's own descriptions of memory, taken as they are: ``WorkspacePoolInfo``, ``ConstantPoolInfo``, and lists of them.

::

    pool_name                       the name of a Pool
    size_hint_bytes, -1 for none    its capacity

What else TVM lets one say of a pool (clock, bandwidths, latencies) it does not use itself, nor do we.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Pool


def as_pools(given: Any, what: str = "pools") -> tuple[Pool, ...]:
    """Return pools of ours.

    Parameters
    ----------
    given : sequence, WorkspaceMemoryPools or ConstantMemoryPools
        Pools of ours or ``PoolInfo`` objects of TVM, in order of preference.
    what : str
        The option, for the message.

    Raises
    ------
    BadInput
        Something in it is neither, or a size hint is zero.
    """
    members: Sequence[Any] = given.pools if hasattr(given, "pools") else given
    return tuple(_pool(member, what) for member in members)


def _pool(member: Any, what: str) -> Pool:
    if isinstance(member, Pool):
        return member
    if not hasattr(member, "pool_name") or not hasattr(member, "size_hint_bytes"):
        raise BadInput(f"{what}: {member!r} is neither a Pool nor a PoolInfo of TVM")
    size = int(member.size_hint_bytes)
    if size == 0 or size < -1:
        raise BadInput(
            f"{what}: pool {str(member.pool_name)!r} has a size hint of {size} bytes; -1 stands for no limit"
        )
    return Pool(str(member.pool_name), None if size < 0 else size)
