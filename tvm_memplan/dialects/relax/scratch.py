"""What kernels allocate for themselves while they run, which no plan of tensors between kernels shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import tirx

from tvm_memplan.dialects.elements import constants, element_bytes
from tvm_memplan.dialects.relax.lowered import SMALLEST, flattened, kernels_of


@dataclass(frozen=True)
class KernelScratch:
    """The scratch of one kernel: bytes of what has a constant size, and the names of what has not."""

    bytes: int
    unknown: tuple[str, ...] = ()


def kernel_scratch(module: Any) -> dict[str, KernelScratch]:
    """The scratch of each kernel that has any, by name, as TVM's own lowering for the target of the context leaves it.

    Counted is what comes from the run time's workspace. What lives on the stack, and memory inside device launches, is
    not.
    """
    kernels = kernels_of(module)
    found = {name: _scratch(f) for name, f in flattened(kernels, [tirx.transform.StorageRewrite()]).items()}
    return {name: scratch for name, scratch in found.items() if scratch.bytes or scratch.unknown}


def _scratch(function: Any) -> KernelScratch:
    sizes: list[int] = []
    unknown: list[str] = []

    def allocation(stmt: Any) -> None:
        kind = stmt.buffer.ty
        if (kind.storage_scope or "global") != "global":
            return
        size = element_bytes(str(kind.dtype.dtype)) or 1
        for extent in constants(kind.shape):
            if extent is None:
                unknown.append(str(stmt.buffer.name))
                return
            size *= extent
        if size >= SMALLEST:
            sizes.append(size)

    tvm_ffi.structural_walk(function.body, (tirx.AllocBuffer, allocation))
    return KernelScratch(sum(sizes), tuple(unknown))
