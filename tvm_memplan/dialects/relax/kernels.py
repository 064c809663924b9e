"""What a kernel (a PrimFunc) does to its parameters: read from its body, not from what it promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import tvm_ffi
from tvm import ir, s_tir, tirx


@dataclass(frozen=True)
class Touched:
    """The parameters that a kernel reads and writes, by position."""

    reads: frozenset[int]
    writes: frozenset[int]


@lru_cache(maxsize=4096)
def accesses(function: Any) -> Touched:
    """The parameters that `function` reads and writes.

    A parameter that is reached in any other way than by loads and stores (through a view, or a pointer that is handed
    to a call) counts as read and written.
    """
    seen = _Seen({param: i for i, param in enumerate(function.params)})
    callbacks = [
        (ir.TensorLoad, lambda load: seen.note(seen.reads, load.source)),
        (tirx.BufferStore, lambda store: seen.note(seen.writes, store.buffer)),
        (ir.Call, seen.call),
        (tirx.DeclBuffer, lambda view: seen.inside(view.data)),
        (tirx.Bind, lambda bind: seen.bind(bind.value)),
        (s_tir.SBlock, seen.block),
    ]
    tvm_ffi.structural_walk(function.body, callbacks)
    return Touched(frozenset(seen.reads | seen.both), frozenset(seen.writes | seen.both))


@dataclass
class _Seen:
    positions: dict[Any, int]
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    both: set[int] = field(default_factory=set)

    def note(self, where: set[int], var: Any) -> None:
        if var in self.positions:
            where.add(self.positions[var])

    def inside(self, expr: Any) -> None:
        """Everything in `expr` may be read and written."""
        tvm_ffi.structural_walk(expr, (ir.Var, lambda var: self.note(self.both, var)))

    def call(self, call: Any) -> None:
        address = isinstance(call.op, ir.Op) and call.op.name == "tirx.address_of"
        for argument in call.args:
            if isinstance(argument, ir.Var):
                self.note(self.both, argument)
            elif address and isinstance(argument, ir.TensorLoad):
                self.note(self.both, argument.source)

    def block(self, block: Any) -> None:
        for region in block.match_buffers:
            self.inside(region.source)

    def bind(self, value: Any) -> None:
        if isinstance(value, ir.Var):
            self.note(self.both, value)
