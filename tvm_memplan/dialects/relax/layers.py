"""Names of layers on the variables of a Relax function, and off them again.

A variable is what comes through TVM's pipeline unchanged: whoever binds a call_tir, or the kernel call that it becomes,
binds the same variable. So what a layer is called in the model becomes the name of the variable that stands for its
tensor, and all variables of a layer have its name as the source of their span::

    %lv  = dequantize(x)      ->   %"dequantize"    span: model/conv
    %lv1 = conv2d(%lv, w)     ->   %"model/conv"    span: model/conv
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import ir, relax
from tvm.relax.expr import _update_type

from tvm_memplan.dialects.relax.bindings import BindingRewriter
from tvm_memplan.report.origin import Origin


@dataclass(frozen=True)
class Noted:
    """A layer that a front end made.

    Parameters
    ----------
    name : str
        What the model calls its tensor.
    made : relax.Expr
        The variable that stands for it, or the value that this is bound to.
    source : str
        Where it was written, as ``file:line``, or empty.
    """

    name: str
    made: Any
    source: str = ""


def with_layers(module: Any, noted: Sequence[Noted]) -> Any:
    """The module with the names of the layers on its variables.

    Parameters
    ----------
    module : tvm.IRModule
        As a front end made it.
    noted : sequence of Noted
        Its layers, in the order in which they were made. What a layer reads and no other layer is belongs to it: a
        front end may bind the inputs of a layer between the parts of it.
    """
    first: dict[Any, Noted] = {}
    for layer in noted:
        if isinstance(layer.made, (ir.Var, ir.Call)) and _BETWEEN not in layer.name:
            first.setdefault(layer.made, layer)
    functions = {
        var: _Namer(first).function(f) if isinstance(f, relax.Function) else f for var, f in module.functions.items()
    }
    return ir.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def with_sources(module: Any) -> Any:
    """The module with the places where its variables were written, as a text of Relax has them, on the variables.

    The passes of a build keep the spans of variables and lose those of calls.
    """
    noted = []
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            for block in function.body.blocks if isinstance(function.body, relax.SeqExpr) else ():
                for binding in block.bindings:
                    span, known = binding.value.span, binding.var.span
                    if span is not None and int(span.line) > 0 and not _is_layer(known):
                        source = f"{span.source_name.name}:{int(span.line)}"
                        noted.append(Noted(str(binding.var.name), binding.var, source))
    return with_layers(module, noted) if noted else module


def origin_of(var: Any) -> Origin:
    """What a variable of a function, as it is planned, says of what it is bound to."""
    name, span = str(var.name), var.span
    if not _is_layer(span):
        # What a pass or a front end counted up is nobody's name.
        return Origin() if _COUNTED.fullmatch(name) else Origin(layer=name, layers=(name,))
    layer, _, file = str(span.source_name.name).partition(_BETWEEN)
    source = f"{file}:{int(span.line)}" if file else ""
    if _COUNTED.fullmatch(layer):
        return Origin(source=source)
    return Origin(layer=name if name == layer else "", layers=(layer,), source=source)


def _is_layer(span: Any) -> bool:
    """Whether a variable's span is one that `with_layers` made."""
    return span is not None and (int(span.line) <= 0 or _BETWEEN in str(span.source_name.name))


#: What passes and front ends call variables that have no name.
_COUNTED = re.compile(r"(lv|gv|alloc|_|var|tensor)_?\d*")

#: Between a layer's name and a file's, where one span has to hold both.
_BETWEEN = "\x1f"


class _Namer(BindingRewriter):
    """Names variables, block by block; those of a layer are known once its own is reached."""

    def __init__(self, layers: Mapping[Any, Noted]) -> None:
        super().__init__()
        self.layers = layers
        self.new: dict[Any, Any] = {}
        self.next: dict[Any, Noted] = {}
        self.own: set[Any] = set()  # the variables of the layers' own tensors

    def function(self, function: Any) -> Any:
        """The function with its variables named."""
        self._look_ahead(function.body)
        body = self.sequence(function.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span)

    def sequence(self, seq: Any) -> Any:
        """`seq` with its bindings, and what it hands over, in the new variables."""
        made = super().sequence(seq)
        out = relax.SeqExpr(made.blocks, self._renamed(made.body), made.span)
        _update_type(out, seq.ty)
        return out

    def _binding(self, binding: Any) -> list[Any]:
        (made,) = super()._binding(binding)
        if not isinstance(made.value, relax.If):
            return [made]
        old = made.value
        value = relax.If(self._renamed(old.cond), old.true_branch, old.false_branch, old.span)
        _update_type(value, old.ty)
        return [relax.VarBinding(made.var, value, made.span)]

    def replaced(self, binding: Any) -> list[Any]:
        """The binding with its variable named, and named variables in its value."""
        value = self._renamed(binding.value)
        var = self._named(binding.var, value)
        if isinstance(binding, relax.MatchCast):
            return [relax.MatchCast(var, value, binding.ty, binding.span)]
        return [relax.VarBinding(var, value, binding.span)]

    def _look_ahead(self, seq: Any) -> None:
        waiting: dict[Any, Any] = {}  # what is nobody's yet, with its value
        for block in seq.blocks:
            for binding in block.bindings:
                layer = self.layers.get(binding.var) or self.layers.get(binding.value)
                if layer is None:
                    waiting[binding.var] = binding.value
                    continue
                self.next[binding.var] = layer
                self.own.add(binding.var)
                read = _variables(binding.value)
                while read:
                    var = read.pop()
                    if var in waiting:
                        self.next[var] = layer
                        read += _variables(waiting.pop(var))

    def _named(self, var: Any, value: Any) -> Any:
        layer = self.next.get(var)
        if layer is None:
            return var
        file, _, line = layer.source.rpartition(":")
        if file and line.isdigit():
            span = ir.Span(ir.SourceName(f"{layer.name}{_BETWEEN}{file}"), int(line), int(line), 1, 1)
        else:
            span = ir.Span(ir.SourceName(layer.name), 0, 0, 0, 0)
        name = layer.name if var in self.own else _operation(value, str(var.name))
        self.new[var] = type(var)(name, var.ty, span)
        return self.new[var]

    def _renamed(self, expr: Any) -> Any:
        if not self.new:
            return expr
        return tvm_ffi.structural_map(expr, (ir.Var, lambda var: self.new.get(var, var)))


def _variables(expr: Any) -> list[Any]:
    """The variables in an expression."""
    found: list[Any] = []
    tvm_ffi.structural_walk(expr, (ir.Var, found.append))
    return found


def _operation(value: Any, name: str) -> str:
    op = getattr(value, "op", None)
    return str(op.name).rpartition(".")[2] if isinstance(op, ir.Op) else name
