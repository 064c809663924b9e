"""What a Relax call does to its arguments, by what is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tvm import ir, relax, tirx

from tvm_memplan.dialects.relax.kernels import accesses

#: Operators whose result is a view of their first argument.
_VIEWS = frozenset({"relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"})
_PACKED_VIEWS = frozenset({"vm.builtin.reshape"})
#: Operators that touch no memory: what they make is no tensor, or comes from memory that is planned already.
_FREE = frozenset(
    {
        "relax.memory.alloc_storage",
        "relax.memory.kill_storage",
        "relax.memory.kill_tensor",
        "relax.vm.alloc_storage",
        "relax.vm.kill_object",
        "relax.null_value",
    }
)
#: Operators that look at their arguments and keep nothing.
_READERS = frozenset(
    {
        "relax.shape_of",
        "relax.size",
        "relax.tensor_to_shape",
        "relax.shape_to_tensor",
        "relax.assert_op",
        "relax.print",
        "relax.to_vdevice",
        "relax.hint_on_device",
    }
)
_LOWERED_LATER = frozenset({"relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed"})
_PACKED = frozenset({"relax.call_pure_packed", "relax.call_inplace_packed"})


@dataclass(frozen=True)
class Call:
    """A call, taken apart.

    Parameters
    ----------
    kind : str
        ``alloc``, ``view`` (of the first argument), ``free`` (touches nothing), ``call`` (touches its arguments and
        keeps none), ``call_tir`` (not lowered yet) or ``unknown`` (may keep what it is given).
    operator : str
        What people call it.
    arguments : tuple of Expr
        What it is given.
    function : str
        The function of the module that is called, if any.
    returns : bool
        Whether the result may be memory: of its own, or an argument.
    reads, writes : frozenset of int or None
        Positions of arguments; None for all of them.
    """

    kind: Literal["alloc", "view", "free", "call", "call_tir", "unknown"]
    operator: str
    arguments: tuple[Any, ...]
    function: str = ""
    returns: bool = False
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] | None = None


def understood(expr: Any, module: Any) -> Call:
    """Take a call apart; `module` has the functions."""
    op, arguments = expr.op, tuple(expr.args)
    if isinstance(op, ir.Op):
        return _operator(expr, str(op.name), arguments, module)
    if isinstance(op, ir.GlobalVar):
        return _of_module(op, arguments, module)
    if isinstance(op, relax.ExternFunc):
        return _packed(str(op.global_symbol), arguments)
    return Call("unknown", "a closure", arguments, returns=True)


def _operator(expr: Any, name: str, arguments: tuple[Any, ...], module: Any) -> Call:
    short = name.removeprefix("relax.")
    if name == "relax.builtin.alloc_tensor":
        return Call("alloc", short, arguments)
    if name in _VIEWS:
        return Call("view", short, arguments)
    if name == "relax.memory.alloc_tensor":
        return Call("free", short, ())
    if name in _FREE:
        return Call("free", short, arguments)
    if name in _LOWERED_LATER:
        return Call("call_tir", f"R.{short}", arguments)
    if name in _READERS:
        return Call("call", short, arguments, returns=True, reads=frozenset(range(len(arguments))), writes=frozenset())
    if name == "relax.vm.call_tir_dyn":
        return _of_module(arguments[0], tuple(arguments[1].fields), module)
    if name in _PACKED and isinstance(arguments[0], relax.ExternFunc):
        return _packed(str(arguments[0].global_symbol), arguments[1:])
    return Call("unknown", short, arguments, returns=True)


def _packed(name: str, arguments: tuple[Any, ...]) -> Call:
    return Call("view" if name in _PACKED_VIEWS else "call", name, arguments, returns=True)


def _of_module(callee: Any, arguments: tuple[Any, ...], module: Any) -> Call:
    name = str(callee.name_hint)
    function = module.functions.get(callee)
    if isinstance(function, tirx.PrimFunc):
        touched = accesses(function)
        if len(function.params) < len(arguments):
            return Call("call", name, arguments, name)
        return Call("call", name, arguments, name, reads=touched.reads, writes=touched.writes)
    return Call("call", name, arguments, name if isinstance(function, relax.Function) else "", returns=True)
