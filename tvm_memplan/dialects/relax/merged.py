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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.relax.workspace import flattened
from tvm_memplan.dialects.tirx.arithmetic import variables

#: Positions of arguments that are one and the same, for each such tensor.
Groups = tuple[tuple[int, ...], ...]


def merged_kernels(
    module: Any, wanted: Iterable[tuple[str, Groups]]
) -> dict[tuple[str, Groups], tuple[Any, tuple[int, ...]]] | None:
    """Make the kernels, and say which arguments each is still given; None where one of them cannot be made.

    They are made for the target of the context.

    Parameters
    ----------
    module : tvm.IRModule
        Where the kernels are.
    wanted : iterable of (str, tuple of tuple of int)
        A kernel, and which of its arguments are one. The first of a group is the parameter that stays, if the others'
        sizes follow from its own: where ``f32[n * 4]`` and ``f32[n, 4]`` are one, only the latter says what ``n`` is.
    """
    wanted = tuple(dict.fromkeys(wanted))
    flat = flattened({name: module[name] for name, _ in wanted})
    made = {(name, groups): _merged(flat[name], groups) for name, groups in wanted}
    complete = {pair: found for pair, found in made.items() if found is not None}
    return complete if len(complete) == len(made) else None


def _merged(function: Any, groups: Groups) -> tuple[Any, tuple[int, ...]] | None:
    params = list(function.params)
    stays = {_leader(params, group, groups): group for group in groups}
    into = {params[i]: params[first] for first, group in stays.items() for i in group if i != first}
    if not all(is_buffer_var(param) for pair in into.items() for param in pair):
        return None
    kept = tuple(i for i, param in enumerate(params) if param not in into)
    left = [params[i] for i in kept]
    if not _said(left).issuperset(v for param in params for v in _shape(param)):
        return None

    def replaced(stmt: Any) -> Any:
        owner = _owner(stmt.data)
        if owner not in into:
            return stmt
        data = ir.Call(stmt.data.op, [into[owner]], stmt.data.attrs, stmt.data.ty_args, stmt.data.span)
        return tirx.DeclBuffer(stmt.buffer, data=data)

    body = tvm_ffi.structural_map(function.body, (tirx.DeclBuffer, replaced))
    uses: dict[Any, int] = {}

    def use(var: Any) -> None:
        uses[var] = uses.get(var, 0) + 1

    tvm_ffi.structural_walk(body, (ir.Var, use))
    if any(param in uses for param in into):
        return None
    made = tirx.PrimFunc(left, body, function.ret_type, function.attrs, function.span)
    made = made.without_attr("global_symbol") if attribute(made, "global_symbol") is not None else made
    return made, kept


def _leader(params: Sequence[Any], group: Sequence[int], groups: Groups) -> int:
    """The argument of a group that says most about sizes: all that there is to say, if one does."""
    alone = [param for i, param in enumerate(params) if not any(i in other for other in groups)]
    asked = {v for i in group for v in _shape(params[i])}
    return next((i for i in group if _said([*alone, params[i]]) >= asked), group[0])


def _said(params: Iterable[Any]) -> set[Any]:
    """The variables that a call of a kernel with these parameters gives a value."""
    told = (extent for param in params for extent in (param, *(param.ty.shape if is_buffer_var(param) else ())))
    return {extent for extent in told if isinstance(extent, ir.Var)}


def _shape(param: Any) -> Mapping[Any, None]:
    return dict.fromkeys(v for extent in param.ty.shape for v in variables(extent)) if is_buffer_var(param) else {}


def _owner(data: Any) -> Any:
    plain = isinstance(data, ir.Call) and isinstance(data.op, ir.Op) and data.op.name == "tirx.buffer_data"
    return data.args[0] if plain else None
