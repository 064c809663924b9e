"""What is exported, as frozen values: tensors, weights, arenas, and the operators' C.

::

    caller's arrays --+                       +-- weights (const, or a copy in RAM)
                      v                       v
    run(input, ..., output) -> entry(input, ..., output, weights, arena, arena, ...)
                                                          ^
                                   one array per pool, in the section of its region
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.boards import Region
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import Kind, Plan
from tvm_memplan.report.memory import MemoryReport

#: What an element is called in C, by TVM's name for it.
C_TYPES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}


def c_type(dtype: str, owner: str) -> str:
    """Return the C type of an element; `UnsupportedIR` names the owner of one that C lacks."""
    if dtype not in C_TYPES:
        raise UnsupportedIR(f"{owner} has elements of type {dtype!r}, which C lacks; there are {', '.join(C_TYPES)}")
    return C_TYPES[dtype]


@dataclass(frozen=True)
class Tensor:
    """An input or output of the model.

    Parameters
    ----------
    name : str
        As the model has it.
    identifier : str
        What it is called in C.
    kind : Kind
        Input or output.
    dtype : str
        TVM's name of the element type.
    shape : tuple of int
        In elements.
    pool : str
        The arena that holds it; empty when the caller supplies it.
    offset : int
        Bytes from the start of that arena.
    """

    name: str
    identifier: str
    kind: Kind
    dtype: str
    shape: tuple[int, ...]
    pool: str = ""
    offset: int = 0

    @property
    def c_type(self) -> str:
        """The C type of an element."""
        return c_type(self.dtype, f"{self.kind.value} {self.name!r}")

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes."""
        bits = re.search(r"\d+", self.dtype)
        return self.elements * (int(bits.group()) // 8 if bits else 1)


@dataclass(frozen=True)
class Weight:
    """A constant: its name in the plan and in C, the bytes from the start of the weights, its values (an array)."""

    name: str
    identifier: str
    offset: int
    values: Any = field(compare=False)


@dataclass(frozen=True)
class Arena:
    """The array that serves one pool.

    Parameters
    ----------
    pool : str
        The pool of the plan.
    identifier : str
        Its part of the name in C.
    size, alignment : int
        Bytes.
    """

    pool: str
    identifier: str
    size: int
    alignment: int


@dataclass(frozen=True)
class Device:
    """Where the example runs, so that a linker can put every arena where the plan has it.

    Parameters
    ----------
    name, cpu : str
        The board and its core.
    regions : tuple of Region
        What the linker may use; arenas and weights lie in the regions that their pools are called after.
    data : str
        The region of the program's own variables and its stack.
    rom : str
        The region of code and constants; empty when the board lists none.
    stack : int
        Bytes that the example keeps for the stack.
    """

    name: str
    cpu: str
    regions: tuple[Region, ...]
    data: str
    rom: str
    stack: int = 4096


@dataclass(frozen=True)
class CModel:
    """A model that is ready to be written.

    Parameters
    ----------
    name : str
        A C identifier: the prefix of everything in the generated C.
    title : str
        What people call the model.
    tensors : tuple of Tensor
        Inputs, then outputs, in the model's order.
    arenas : tuple of Arena
        One per pool that is used for anything but weights, in the order of the plan's pools.
    weights : tuple of Weight
        By offset.
    weights_alignment : int
        Bytes, of the whole block.
    weights_pool : str
        The pool of the plan that holds them.
    weights_in_ram : bool
        Whether they are copied there before the first run; else they are constants.
    entry : str
        The function of `operators` that runs the model.
    arguments : tuple of str
        What it takes: identifiers of tensors, pools of arenas, or ``""`` for the weights.
    operators : str
        C source of the operators and the entry.
    plan : Plan
        Where every buffer lies.
    report : MemoryReport
        Its figures.
    """

    name: str
    title: str
    tensors: tuple[Tensor, ...]
    arenas: tuple[Arena, ...]
    weights: tuple[Weight, ...]
    weights_alignment: int
    weights_pool: str
    weights_in_ram: bool
    entry: str
    arguments: tuple[str, ...]
    operators: str
    plan: Plan
    report: MemoryReport

    @property
    def supplied(self) -> tuple[Tensor, ...]:
        """The inputs and outputs that the caller supplies."""
        return tuple(tensor for tensor in self.tensors if not tensor.pool)

    @property
    def weights_size(self) -> int:
        """Bytes of all weights with the gaps between them."""
        return max((weight.offset + weight.values.nbytes for weight in self.weights), default=0)

    def arena(self, pool: str) -> Arena:
        """Return the arena that serves `pool`."""
        return next(arena for arena in self.arenas if arena.pool == pool)
