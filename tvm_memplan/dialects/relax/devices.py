"""What is known at compile time about where a tensor will live."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm

# The devices whose pointers the run time may move: their `SupportsDevicePointerArithmeticsOnHost` says yes.
_WITH_OFFSETS = frozenset({"llvm", "c", "cuda"})


def needs_slots(module: Any, devices: Iterable[int]) -> bool:
    """Whether a tensor at an offset of a storage would be copied on one of `devices` (indices of virtual devices).

    Where nothing says what a device is, it is taken for one that can.
    """
    targets = (target_of(module, device) for device in set(devices))
    return any(target is not None and str(target.kind.name) not in _WITH_OFFSETS for target in targets)


def target_of(module: Any, device: int) -> Any | None:
    """The target of a virtual device; that of the context where the module does not say."""
    known = module.global_infos.get("vdevice") if module.global_infos else None
    if known is not None and 0 <= device < len(known):
        return known[device].target
    return tvm.target.Target.current(allow_none=True)
