"""Where a function meets its caller: the tensors that it is given, and those that it hands back.

A caller may supply a tensor for an output to be written into, and may give away the bytes of an input. What can be
supplied and what can be given away is read here; whether it is asked for is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tvm import ir, relax, sym, tirx

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.names import free
from tvm_memplan.dialects.relax.graph import Argument, Output, Tensor
from tvm_memplan.dialects.relax.shapes import shape_variables
from tvm_memplan.dialects.relax.sizes import is_empty, measure
from tvm_memplan.dialects.relax.values import Value
from tvm_memplan.dialects.tirx.arithmetic import variables


def inputs_of(function: Any) -> int:
    """How many of a function's parameters are inputs: those behind them, if any, are weights."""
    told = attribute(function, "num_input")
    return len(function.params) if told is None else min(int(told), len(function.params))


def arguments(
    module: Any, function: Any, values: Mapping[Any, Value], bounds: Mapping[Any, int]
) -> tuple[Argument, ...]:
    """The parameters of a function, weights among them.

    Parameters
    ----------
    module : tvm.IRModule
        Where the function is.
    function : relax.Function
        As for `tvm_memplan.dialects.relax.capture`.
    values : mapping of Var to Value
        What each parameter stands for.
    bounds : mapping of Var to int
        The upper bounds that it is read with.
    """
    inputs = inputs_of(function)
    found = []
    for i, param in enumerate(function.params):
        value = values[param]
        name = next(iter(value)) if isinstance(value, frozenset) and value else ""
        size = None
        if name and not is_empty(param.ty.shape):
            size = measure(list(param.ty.shape), param.ty.dtype.dtype, bounds, str(param.name))
        found.append(Argument(param, name, i >= inputs, _is_usual(module, param.ty), size))
    return tuple(found)


def _is_usual(module: Any, kind: Any) -> bool:
    """Whether a tensor lies in the global memory of the first device."""
    device = getattr(kind, "vdevice", None)
    if device is None:
        return True
    known = (module.global_infos or {}).get("vdevice", ())
    return bool(device.memory_scope in ("", "global") and known and known[0].same_as(device))


def results(function: Any, value: Value, allocated: Mapping[str, Tensor], kept: Mapping[str, str]) -> dict[str, Output]:
    """What a caller could supply for each allocation that a function hands back.

    Parameters
    ----------
    function : relax.Function
        As for `tvm_memplan.dialects.relax.capture`.
    value : Value
        What it returns.
    allocated : mapping of str to Tensor
        What it allocates and returns.
    kept : mapping of str to str
        Why somebody else may keep an allocation, too.
    """
    leaves = list(_leaves(value, function.ret_ty))
    taken = {str(param.name) for param in function.params}
    known = set(shape_variables(function).values())
    found: dict[str, Output] = {}
    for name, tensor in allocated.items():
        here = [(i, names, kind) for i, (names, kind) in enumerate(leaves) if name in names]
        reason = kept.get(name, "") or ("" if here else "it is handed back inside of something that is no tensor")
        position, _, kind = here[0] if here else (0, None, None)
        made = None if reason else _destination(tensor, kind)
        if not reason and any(names != {name} for _, names, _ in here):
            reason = "what the function hands over there is not always this one"
        elif not reason and not known.issuperset(variables_of(made)):
            reason = "its shape is not known when the function is called"
        parameter = free("output" if len(leaves) == 1 else f"output_{position}", taken)
        found[name] = Output(name, position, len(leaves), parameter, None if reason else made, reason)
    return found


def _leaves(value: Value, kind: Any) -> Iterator[tuple[frozenset[str], Any]]:
    """The tensors in a value, in order, with their types."""
    if isinstance(kind, ir.TupleType):
        for i, part in enumerate(kind.fields):
            yield from _leaves(value[i] if isinstance(value, tuple) else value, part)
    elif isinstance(kind, relax.TensorType):
        yield value if isinstance(value, frozenset) else frozenset(), kind


def _destination(tensor: Tensor, kind: Any) -> Any:
    """The type of what could be supplied: that of the result, or else of what is written."""
    written = tensor.sites[0].ty
    if isinstance(kind.shape, relax.ShapeExpr) and kind.dtype == written.dtype and same_bytes(kind, written):
        return kind
    return written


def same_bytes(one: Any, other: Any) -> bool:
    """Whether two tensor types have as many bytes as each other, whatever the variables in their shapes are."""
    if not isinstance(one.shape, relax.ShapeExpr) or not isinstance(other.shape, relax.ShapeExpr):
        return False
    return bool(sym.Analyzer().can_prove_equal(_bytes(one), _bytes(other)))


def _bytes(kind: Any) -> Any:
    dtype = kind.dtype.dtype
    size: Any = tirx.IntImm("int64", (int(dtype.bits) * int(dtype.lanes) + 7) // 8)
    for dim in kind.shape.values:
        size = size * dim
    return size


def variables_of(kind: Any) -> tuple[Any, ...]:
    """The variables in the shape of a tensor type."""
    return tuple(v for dim in kind.shape.values for v in variables(dim)) if kind is not None else ()
