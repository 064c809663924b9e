"""Write a plan into a Relax function: storages at its start, tensors at byte offsets in them.

::

    storage = R.memory.alloc_storage(R.shape([131072]), 0, R.str("global"), R.dtype("uint8"))
    ...
    at = R.memory.alloc_tensor(storage, 65536, R.shape([128, 128]), R.dtype("float32"), 0)
    alloc = R.memory.ensure_zero_offset(at)            (left off where the offset is 0)

`ensure_zero_offset` moves the offset into the data pointer, which kernels ask for; on a device whose pointers can be
computed with, and with offsets that are multiples of 64, it copies nothing. Elsewhere a plan has to give each tensor
offset 0 in a storage of its slot.

The storages stand first in the function, so they dominate every use, in whatever branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import ir, relax, tirx
from tvm.relax.expr import _update_type

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.relax.bindings import BindingRewriter
from tvm_memplan.dialects.relax.ends import inputs_of
from tvm_memplan.dialects.relax.merged import Extent


@dataclass(frozen=True)
class Storage:
    """One allocation at run time.

    Parameters
    ----------
    name : str
        Of its variable.
    size : int or PrimExpr
        Bytes.
    device : int
        The index of its virtual device.
    scope : str
        Its storage scope.
    """

    name: str
    size: Any
    device: int
    scope: str


@dataclass(frozen=True)
class Spot:
    """Where a tensor lies: the position of its storage in the list of storages, and the offset in it in bytes."""

    storage: int
    offset: Any


@dataclass(frozen=True)
class Given:
    """Where a tensor lies that is in one of the caller's: the parameter, and the offset in it in bytes."""

    variable: Any
    offset: int


@dataclass(frozen=True)
class Instead:
    """A call in the place of another.

    Parameters
    ----------
    name : str
        What is called.
    function : PrimFunc
        The same.
    arguments : tuple of int, Extent or (Whole, Spot or Given)
        What it is given: an argument of the other call, by position; an extent of one; or all that is between two
        bytes, and where that lies.
    """

    name: str
    function: Any
    arguments: tuple[Any, ...]


def destination(name: str, kind: Any) -> Any:
    """A parameter for a tensor of the caller's."""
    return ir.Var(name, kind)


def rewrite(
    function: Any,
    storages: Sequence[Storage],
    spots: Mapping[Any, Spot | Given],
    first: Sequence[Any] = (),
    added: Sequence[Any] = (),
    calls: Mapping[Any, Instead] | None = None,
) -> Any:
    """Return the function with its tensors in storages.

    Parameters
    ----------
    function : relax.Function
        Not changed.
    storages : sequence of Storage
        What to allocate.
    spots : mapping of Var to Spot or Given
        For each variable that is bound to ``R.builtin.alloc_tensor`` and was planned, its place.
    first : sequence of Call
        What to call before everything else.
    added : sequence of Var
        Further parameters. They stand behind the inputs, and before the weights where there are such, so that the
        function's attribute ``num_input`` still tells them apart.
    calls : mapping of Var to Instead
        For some variables that calls are bound to, what is called instead.
    """
    writer = _Writer(spots, calls or {})
    head = [writer.bound(f"check{i or ''}", call) for i, call in enumerate(first)]
    for storage in storages:
        size = relax.ShapeExpr([storage.size])
        made = relax.op.memory.alloc_storage(size, storage.device, storage.scope, "uint8")
        head.append(writer.bound(storage.name, made))
    writer.storages = [binding.var for binding in head[len(first) :]]
    body = writer.sequence(function.body)
    blocks = [relax.BindingBlock(head), *body.blocks] if head else list(body.blocks)
    whole = relax.SeqExpr(blocks, body.body)
    _update_type(whole, function.body.ty)
    params, inputs = list(function.params), inputs_of(function)
    params[inputs:inputs] = added
    made = relax.Function(params, whole, function.ret_ty, function.is_pure, function.attrs, function.span)
    told = attribute(function, "num_input")
    return made.with_attr("num_input", inputs + len(added)) if added and told is not None else made


class _Writer(BindingRewriter):
    def __init__(self, spots: Mapping[Any, Spot | Given], calls: Mapping[Any, Instead]) -> None:
        super().__init__()
        self.spots = spots
        self.calls = calls
        self.storages: list[Any] = []

    def bound(self, name: str, value: Any) -> Any:
        """A new variable for `value`."""
        value = self.builder.normalize(value)
        return relax.VarBinding(ir.Var(name, value.ty), value)

    def replaced(self, binding: Any) -> list[Any]:
        if binding.var in self.calls:
            return self._called(binding, self.calls[binding.var])
        if binding.var not in self.spots:
            return [binding]
        return self._placed(binding, self.spots[binding.var])

    def _called(self, binding: Any, instead: Instead) -> list[Any]:
        before: list[Any] = []
        arguments: list[Any] = []
        for argument in instead.arguments:
            if isinstance(argument, int):
                arguments.append(binding.value.args[argument])
            elif isinstance(argument, Extent):
                arguments.append(binding.value.args[argument.position].ty.shape[argument.dimension])
            else:
                whole, spot = argument
                wanted = relax.op.builtin.alloc_tensor(relax.ShapeExpr([whole.elements]), whole.dtype, 0, "global")
                made = self._placed(self.bound(f"{binding.var.name}_whole", wanted), spot)
                before += made
                arguments.append(made[-1].var)
        call = self.builder.normalize(call_of(instead.name, instead.function, arguments))
        return [*before, relax.VarBinding(binding.var, call, binding.span)]

    def _placed(self, binding: Any, spot: Spot | Given) -> list[Any]:
        shape, dtype, device, _ = binding.value.args
        if isinstance(spot, Given):
            return self._given(binding, spot, shape, dtype)
        tensor = relax.op.memory.alloc_tensor(self.storages[spot.storage], spot.offset, shape, dtype, device)
        if isinstance(spot.offset, int) and spot.offset == 0:
            return [relax.VarBinding(binding.var, self.builder.normalize(tensor), binding.span)]
        return self._moved(binding, tensor)

    def _moved(self, binding: Any, tensor: Any) -> list[Any]:
        at = self.bound(f"{binding.var.name}_at", tensor)
        moved = self.builder.normalize(relax.op.memory.ensure_zero_offset(at.var))
        return [at, relax.VarBinding(binding.var, moved, binding.span)]

    def _given(self, binding: Any, spot: Given, shape: Any, dtype: Any) -> list[Any]:
        if spot.offset == 0 and tvm_ffi.structural_equal(spot.variable.ty, binding.var.ty):
            return [relax.VarBinding(binding.var, spot.variable, binding.span)]
        view = relax.op.memory.view(spot.variable, shape, dtype, tirx.IntImm("int64", spot.offset))
        if spot.offset:
            return self._moved(binding, view)
        return [relax.VarBinding(binding.var, self.builder.normalize(view), binding.span)]


def check_function(names: Mapping[Any, int], function: str, promise: bool) -> Any:
    """A PrimFunc that takes the values of variables and refuses those beyond their bounds.

    Parameters
    ----------
    names : mapping of Var to int
        The largest value of each variable that the plan counted on.
    function : str
        The Relax function, for the message.
    promise : bool
        Whether it promises what kernels do, that arguments are apart. All have to or none, see `without_promises`.
    """
    params = [tirx.Var(str(var.name), "int64") for var in names]
    checks: list[Any] = []
    for param, (var, most) in zip(params, names.items()):
        message = (
            f"function {function}: {var.name} is larger than its upper bound {most}, for which its memory was planned"
        )
        # 0.27's own names for these parameters say another order than the one that it takes them in.
        within = param <= tirx.IntImm("int64", most)
        checks.append(tirx.AssertStmt(within, ir.StringImm("ValueError"), [ir.StringImm(message)]))
    body = tirx.SeqStmt(checks) if len(checks) > 1 else checks[0]
    made = tirx.PrimFunc(params, body).with_attr("tirx.is_host_func", True)
    return made.with_attr("tirx.noalias", True) if promise else made


def call_of(name: str, function: Any, arguments: Sequence[Any]) -> Any:
    """A call of a function that will be in the module under `name`."""
    callee = ir.GlobalVar(name)
    _update_type(callee, function.ty)
    return ir.Call(callee, list(arguments))
