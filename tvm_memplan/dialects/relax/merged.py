"""Kernels that get a tensor once which is several of their arguments.

::

    def add(x, y, out):                            def add_over(x, y):
        out_1 = decl_buffer((64,), data=out)           out_1 = decl_buffer((64,), data=x)
        for i: out_1[i] = x_1[i] + y_1[i]              for i: out_1[i] = x_1[i] + y_1[i]
    add(a, b, c)     where c lies on a             add_over(a, b)

A kernel promises that its parameters do not overlap, and code generators make use of it. Where an output is written in
place, it and the input are one parameter, so the promise stays true. (Taking it back is no way out: 0.27's LLVM code
generator writes all functions of a module by what the last one promises, and all would be slower.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.relax.workspace import flattened
from tvm_memplan.dialects.tirx.arithmetic import variables

#: Positions of arguments that are one and the same, for each such tensor.
Groups = tuple[tuple[int, ...], ...]


def merged_kernels(module: Any, wanted: Iterable[tuple[str, Groups]]) -> dict[tuple[str, Groups], Any] | None:
    """Make the kernels, for the target of the context; None where one of them cannot be made.

    Parameters
    ----------
    module : tvm.IRModule
        Where the kernels are.
    wanted : iterable of (str, tuple of tuple of int)
        A kernel, and which of its arguments are one. The first of a group is the parameter that stays.
    """
    wanted = tuple(dict.fromkeys(wanted))
    flat = flattened({name: module[name] for name, _ in wanted})
    made = {(name, groups): _merged(flat[name], groups) for name, groups in wanted}
    return None if None in made.values() else made


def kept(groups: Groups, count: int) -> tuple[int, ...]:
    """The positions of the arguments that are still handed over, of so many."""
    gone = {position for group in groups for position in group[1:]}
    return tuple(i for i in range(count) if i not in gone)


def _merged(function: Any, groups: Groups) -> Any | None:
    params = list(function.params)
    into = {params[i]: params[group[0]] for group in groups for i in group[1:]}
    if not all(is_buffer_var(param) for pair in into.items() for param in pair):
        return None
    seen: dict[Any, int] = {}

    def replaced(stmt: Any) -> Any:
        owner = _owner(stmt.data)
        if owner not in into:
            return stmt
        seen[owner] = seen.get(owner, 0) + 1
        data = ir.Call(stmt.data.op, [into[owner]], stmt.data.attrs, stmt.data.ty_args, stmt.data.span)
        return tirx.DeclBuffer(stmt.buffer, data=data)

    body = tvm_ffi.structural_map(function.body, (tirx.DeclBuffer, replaced))
    uses: dict[Any, int] = {}

    def use(var: Any) -> None:
        uses[var] = uses.get(var, 0) + 1

    tvm_ffi.structural_walk(body, (ir.Var, use))
    left = [params[i] for i in kept(groups, len(params))]
    known = {v for param in left for v in (param, *_shape(param))}
    lost = {v for param in into for v in _shape(param)} - known
    if any(param in uses for param in into) or any(var in uses for var in lost):
        return None
    made = tirx.PrimFunc(left, body, function.ret_type, function.attrs, function.span)
    return made.without_attr("global_symbol") if attribute(made, "global_symbol") is not None else made


def _shape(param: Any) -> Mapping[Any, None]:
    return dict.fromkeys(v for extent in param.ty.shape for v in variables(extent)) if is_buffer_var(param) else {}


def _owner(data: Any) -> Any:
    plain = isinstance(data, ir.Call) and isinstance(data.op, ir.Op) and data.op.name == "tirx.buffer_data"
    return data.args[0] if plain else None
