"""Kernel scratch out of kernels: what a kernel would allocate for itself becomes an argument.

::

    def conv(x, w, out):                           def conv(x, w, out, pad):
        pad = alloc_buffer((588,), "float32")          for ...: pad[..] = x[..]
        for ...: pad[..] = x[..]                       for ...: out[..] += pad[..] * w[..]
        for ...: out[..] += pad[..] * w[..]
    conv(x, w, alloc)                              pad = R.builtin.alloc_tensor(R.shape([588]), ...)
                                                   conv(x, w, alloc, pad)

So whoever plans the tensors between kernels plans the scratch with them, and one arena is all the memory there is.
A kernel is lowered for that as far as TVM's pipeline does before StorageRewrite, when allocations have their final
sizes; the rest of the pipeline follows in the build.

What is lifted: allocations that would otherwise come from the run time's workspace, in the body of a kernel or in its
serial loops: those of a constant size of 1024 bytes or more (smaller ones live on the stack, or in registers), and
those whose size follows from the shapes of the arguments, where every caller knows these. Left alone: what belongs to
a parallel loop or a device launch, and kernels with functions of several devices in their module.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, relax, sym, tirx
from tvm.relax.expr import _update_type
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.elements import constants, element_bytes
from tvm_memplan.dialects.relax.bindings import BindingRewriter
from tvm_memplan.dialects.relax.lowered import SMALLEST, flattened, for_cpu, kernels_of
from tvm_memplan.dialects.tirx.arithmetic import variables


@dataclass(frozen=True)
class _Lifted:
    """A kernel with its scratch as further parameters, what each of those is, and how many there were before."""

    function: Any
    scratch: tuple[Any, ...]
    before: int


def lift_workspace(module: Any) -> Any:
    """A module in which kernels are handed their scratch; the given one is not changed.

    The target is that of the context; for others than CPUs the module is returned as it is.
    """
    if not for_cpu(module):
        return module
    kernels = kernels_of(module)
    called = _only_called(module, set(kernels))
    flat = flattened({name: kernels[name] for name in sorted(called)}, vectorized=False)
    lifted = {name: made for name, f in flat.items() if (made := _lifted(f, called[name])) is not None}
    if not lifted:
        return module
    return _with_lifted(module, lifted)


def _only_called(module: Any, names: set[str]) -> dict[str, list[Any]]:
    """The calls of those functions that Relax functions call and that nobody refers to in any other way."""
    called: dict[str, list[Any]] = {}
    other: set[str] = set()

    def call(node: Any) -> None:
        if isinstance(node.op, ir.GlobalVar):
            called.setdefault(str(node.op.name_hint), []).append(node)
        for argument in node.args:
            if isinstance(argument, ir.GlobalVar):
                other.add(str(argument.name_hint))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            tvm_ffi.structural_walk(function.body, (ir.Call, call))
        elif isinstance(function, tirx.PrimFunc):
            tvm_ffi.structural_walk(function.body, (ir.GlobalVar, lambda var: other.add(str(var.name_hint))))
    return {name: calls for name, calls in called.items() if name in names and name not in other}


def _lifted(function: Any, calls: Sequence[Any]) -> _Lifted | None:
    finder = _Finder(frozenset.intersection(*(frozenset(_meaning(function.params, call.args)) for call in calls)))
    finder.look(function.body)
    if not finder.found:
        return None
    taken = set(finder.found)
    nothing = tirx.Evaluate(tirx.const(0, "int32"))

    def allocation(stmt: Any) -> Any:
        return nothing if stmt.buffer in taken else stmt

    body = tvm_ffi.structural_map(function.body, (tirx.AllocBuffer, allocation))
    body = tirx.transform.RemoveNoOp()(tvm.IRModule({"kernel": function.with_body(body)}))["kernel"].body
    made = tirx.PrimFunc([*function.params, *finder.found], body, function.ret_type, function.attrs, function.span)
    return _Lifted(made, tuple(finder.found), len(function.params))


def _meaning(params: Sequence[Any], arguments: Sequence[Any]) -> dict[Any, Any]:
    """What the variables in the shapes of a kernel's parameters are for its caller, as far as the caller knows."""
    found: dict[Any, Any] = {}
    for param, argument in zip(params, arguments):
        kind = argument.ty
        shape = kind.shape if isinstance(kind, relax.TensorType) and is_buffer_var(param) else None
        if isinstance(shape, relax.ShapeExpr) and len(shape) == len(param.ty.shape):
            for dim, value in zip(param.ty.shape, shape):
                if isinstance(dim, ir.Var):
                    found.setdefault(dim, value)
    return found


class _Finder:
    """Finds the allocations that can be lifted: one each, and none inside what runs many times at once.

    `known` are the variables of sizes that all callers know.
    """

    def __init__(self, known: Container[Any]) -> None:
        self.known = known
        self.found: dict[Any, None] = {}
        self.seen: set[Any] = set()

    def look(self, stmt: Any) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self.look(part)
        elif isinstance(stmt, tirx.For):
            if stmt.kind in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED):
                self.look(stmt.body)
        elif isinstance(stmt, tirx.AttrStmt):
            # Launches, virtual threads, and whatever else may multiply what is in them.
            return
        elif isinstance(stmt, tirx.AllocBuffer):
            if stmt.buffer in self.seen:
                self.found.pop(stmt.buffer, None)
            elif self.fits(stmt):
                self.found[stmt.buffer] = None
            self.seen.add(stmt.buffer)

    def fits(self, stmt: Any) -> bool:
        """Whether an allocation can be lifted, and is worth it."""
        kind = stmt.buffer.ty
        dtype = str(kind.dtype.dtype)
        plain = (kind.storage_scope or "global") == "global" and not kind.strides and len(kind.shape) == 1
        size = element_bytes(dtype)
        if not plain or size is None or "x" in dtype or dtype.startswith(("bfloat", "float8")):
            return False
        (extent,) = constants(kind.shape)
        if extent is None:
            # Shapes of Relax are counted in int64.
            whole = str(kind.shape[0].ty.dtype) == "int64"
            return whole and all(var in self.known for var in variables(kind.shape[0]))
        return extent * size >= SMALLEST


def _with_lifted(module: Any, lifted: Mapping[str, _Lifted]) -> Any:
    named = {}
    for name, made in lifted.items():
        named[name] = ir.GlobalVar(name)
        _update_type(named[name], made.function.ty)
    writer = _Writer(lifted, named)
    functions: dict[Any, Any] = {}
    for var, function in module.functions.items():
        name = str(var.name_hint)
        if name in lifted:
            functions[named[name]] = lifted[name].function
        elif isinstance(function, relax.Function):
            functions[var] = writer.function(function)
        else:
            functions[var] = function
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


class _Writer(BindingRewriter):
    """Gives calls of lifted kernels their scratch."""

    def __init__(self, lifted: Mapping[str, _Lifted], variables: Mapping[str, Any]) -> None:
        super().__init__()
        self.lifted = lifted
        self.variables = variables

    def function(self, f: Any) -> Any:
        return relax.Function(f.params, self.sequence(f.body), f.ret_ty, f.is_pure, f.attrs, f.span)

    def replaced(self, binding: Any) -> list[Any]:
        value = binding.value
        name = str(value.op.name_hint) if isinstance(value, ir.Call) and isinstance(value.op, ir.GlobalVar) else ""
        if name not in self.lifted:
            return [binding]
        made = self.lifted[name]
        meaning = _meaning(made.function.params[: made.before], value.args)
        before = [self.allocation(name, buffer, meaning) for buffer in made.scratch]
        arguments = [*value.args, *(b.var for b in before)]
        call = self.builder.normalize(ir.Call(self.variables[name], arguments, value.attrs, value.ty_args, value.span))
        return [*before, relax.VarBinding(binding.var, call, binding.span)]

    def allocation(self, kernel: str, buffer: Any, meaning: Mapping[Any, Any]) -> Any:
        dtype = str(buffer.ty.dtype.dtype)
        # Callers may know more than the kernel: what is a constant there has to look like one.
        analyzer = sym.Analyzer()
        extents = [
            analyzer.simplify(tvm_ffi.structural_map(extent, (ir.Var, lambda var: meaning.get(var, var))))
            for extent in buffer.ty.shape
        ]
        shape = relax.ShapeExpr([int(e) if isinstance(e, tirx.IntImm) else e for e in extents])
        call = relax.op.builtin.alloc_tensor(shape, dtype, 0, "global")
        call = self.builder.normalize(call)
        return relax.VarBinding(ir.Var(f"{kernel}_{buffer.name}", call.ty), call)
