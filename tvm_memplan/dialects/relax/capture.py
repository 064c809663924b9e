"""Read a Relax function, after CallTIRRewrite, into a trace.

A function at this stage allocates with ``R.builtin.alloc_tensor`` and calls kernels that write into their arguments::

    alloc = R.builtin.alloc_tensor(R.shape([4, 8]), R.dtype("float32"), 0, R.str("global"))
    add(x, alloc)                                          a step: reads x, writes alloc
    y = alloc                                              another name for it
    z = R.reshape(y, R.shape([32]))                        a view of it

Every call is a step. What its result may be a view of:

- a reshape, a view, a match_cast: its argument;
- the result of a packed function or of another Relax function: any of the arguments, or memory of its own;
- the value of an `if`: the value of either branch. Where each branch hands over an allocation of its own, the two
  become one.

TVM takes packed functions not to keep their arguments, and so do we. What goes into a closure, or into an operator that
is not known here, may be kept, so it is left to the run time. So is what the function returns: the caller may keep it.

Allocations of a branch are noted at the function's start, since their storage has to dominate all uses. Their live
ranges are those of their uses: the branches of an `if` are different steps, so what is used in one only shares bytes
with what is used in the other only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tvm import ir, relax, tirx

from tvm_memplan.dialects.relax.calls import Call, understood
from tvm_memplan.dialects.relax.ends import arguments, inputs_of, results
from tvm_memplan.dialects.relax.graph import CALLER, RUN_TIME, Graph, KernelCall, Tensor
from tvm_memplan.dialects.relax.layer_names import LayerNames
from tvm_memplan.dialects.relax.shapes import shape_variables, upper_bounds
from tvm_memplan.dialects.relax.sizes import TensorSize, is_empty, measure
from tvm_memplan.dialects.relax.values import NOTHING, Value, item, leaves, leaves_of, mapped, merged
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import Kind
from tvm_memplan.planning.trace import Alloc, Branch, Node, Step
from tvm_memplan.report.memory import LeftAlone


def capture(
    module: Any, function: Any, name: str, bounds: Mapping[str, int] | None = None, recursive: bool = False
) -> Graph:
    """Read one Relax function.

    Parameters
    ----------
    module : tvm.IRModule
        Where the functions are that it calls.
    function : relax.Function
        After CallTIRRewrite; not changed.
    name : str
        What it is called.
    bounds : mapping of str to int or None
        Upper bounds of variables in the shapes of its parameters, besides those of its attribute
        ``tir_var_upper_bound``.
    recursive : bool
        Whether it calls itself: then all that it allocates is left alone, since every call in progress needs its own.

    Raises
    ------
    UnsupportedIR
        It allocates in a dataflow block, or a tensor with a dimension of 0 or less; or it is not lowered so far.
    """
    reader = _Reader(module, name, upper_bounds(function, name, bounds or {}))
    if recursive:
        reader.all_left = "the function calls itself, so how many there are at once is not known"
    return reader.graph(function)


@dataclass
class _Reader:
    module: Any
    function: str
    bounds: Mapping[Any, int]
    values: dict[Any, Value] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    elsewhere: dict[str, Alloc] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # why a tensor stays at the run time's
    unknown: list[LeftAlone] = field(default_factory=list)  # what is of no known size and not ours
    calls: list[KernelCall] = field(default_factory=list)
    constants: dict[Any, str] = field(default_factory=dict)
    steps: int = 0
    taken: set[str] = field(default_factory=set)
    one: dict[str, str] = field(default_factory=dict)  # the results of two branches that became one
    counts: dict[str, int] = field(default_factory=dict)
    called: dict[str, int] = field(default_factory=dict)  # how often, so that steps have names of their own
    kept: dict[str, str] = field(default_factory=dict)  # why somebody else may keep an allocation
    all_left: str = ""
    viewed: set[str] = field(default_factory=set)  # what has a view that may begin elsewhere
    names: LayerNames = field(default_factory=LayerNames)

    def graph(self, function: Any) -> Graph:
        self._parameters(function)
        given = arguments(self.module, function, self.values, self.bounds)
        nodes, value = self._sequence(function.body)
        value = mapped(value, self._root)
        returned = leaves(value)
        tensors, outputs, left = {}, {}, list(self.unknown)
        for tensor in self.tensors.values():
            if tensor.name in returned:
                outputs[tensor.name] = tensor
                if tensor.size.bytes is None:
                    left.append(self._left(tensor, f"it is returned, and {_unbounded(tensor.size)}"))
            elif self.all_left or tensor.name in self.reasons:
                left.append(self._left(tensor, self.reasons.get(tensor.name, self.all_left)))
            else:
                tensors[tensor.name] = tensor
        return Graph(
            self.function,
            tuple(self._resolved(nodes)),
            tensors,
            outputs,
            tuple(self.elsewhere.values()),
            returned,
            tuple(replace(c, arguments=tuple(leaves(mapped(a, self._root)) for a in c.arguments)) for c in self.calls),
            tuple(left),
            frozenset(shape_variables(function).values()),
            self.bounds,
            frozenset(map(self._root, self.viewed)),
            given,
            results(function, value, outputs, self.kept),
            self.kept,
            self.names.origins,
            self.names.layers,
        )

    # -- parameters and names --------------------------------------------------------------------------------------

    def _parameters(self, function: Any) -> None:
        inputs = inputs_of(function)
        for i, param in enumerate(function.params):
            kind = Kind.INPUT if i < inputs else Kind.WEIGHTS
            self.values[param] = self._outside(param.name, param.ty, kind, CALLER)

    def _outside(self, name: str, kind: Any, what: Kind, scope: str) -> Value:
        """The value of a type whose tensors somebody else allocates."""
        if isinstance(kind, ir.TupleType):
            return tuple(self._outside(f"{name}.{i}", part, what, scope) for i, part in enumerate(kind.fields))
        if not isinstance(kind, relax.TensorType):
            return NOTHING
        name = self._unique(name)
        shape = kind.shape
        if isinstance(shape, relax.ShapeExpr) and kind.dtype is not None:
            # An input without elements is nobody's fault here.
            size = None if is_empty(shape) else measure(shape, kind.dtype.dtype, self.bounds, name)
            if size is None or size.bytes is not None:
                total = 0 if size is None else size.coefficient
                self.elsewhere[name] = Alloc(name, total, 1, scope, what)
                self.names.exists(name, shape, kind.dtype.dtype, what is Kind.WEIGHTS)
                return frozenset({name})
            reason = f"{what.value}: {_unbounded(size)}"
        else:
            reason = f"{what.value}: its shape or element type is known at run time only"
        self.unknown.append(LeftAlone(name, self.function, "global", None, reason))
        return NOTHING

    def _unique(self, name: str) -> str:
        if name not in self.taken:
            self.taken.add(name)
            return name
        count = self.counts.get(name, 1) + 1
        while f"{name}#{count}" in self.taken:
            count += 1
        self.counts[name] = count
        self.taken.add(f"{name}#{count}")
        return f"{name}#{count}"

    def _root(self, name: str) -> str:
        while name in self.one:
            name = self.one[name]
        return name

    def _resolved(self, nodes: Iterable[Node]) -> Iterable[Node]:
        """The nodes with what became one under one name."""
        for node in nodes:
            if isinstance(node, Step):
                reads, writes = (tuple(sorted({self._root(n) for n in names})) for names in (node.reads, node.writes))
                yield Step(node.operator, reads, writes)
            elif isinstance(node, Alloc):
                yield Alloc(self._root(node.buffer), 0)
            elif isinstance(node, Branch):
                yield Branch(tuple(self._resolved(node.then)), tuple(self._resolved(node.orelse)))

    def _left(self, tensor: Tensor, reason: str) -> LeftAlone:
        return LeftAlone(tensor.name, self.function, tensor.scope, tensor.size.bytes, reason)

    def _keep(self, names: Iterable[str], reason: str) -> None:
        """Leave tensors at the run time's: somebody may keep them."""
        for name in map(self._root, names):
            self.kept.setdefault(name, reason)
            if name in self.tensors:
                self.reasons.setdefault(name, reason)

    # -- bindings --------------------------------------------------------------------------------------------------

    def _sequence(self, expr: Any) -> tuple[list[Node], Value]:
        if not isinstance(expr, relax.SeqExpr):
            return [], self._value(expr)
        nodes: list[Node] = []
        for block in expr.blocks:
            for binding in block.bindings:
                if isinstance(block, relax.DataflowBlock) and _allocates(binding):
                    raise UnsupportedIR(
                        f"function {self.function!r} allocates {binding.var.name!r} in a dataflow block: run "
                        "relax.transform.ToNonDataflow() before CallTIRRewrite()"
                    )
                nodes.extend(self._binding(binding))
        return nodes, self._value(expr.body)

    def _binding(self, binding: Any) -> list[Node]:
        var, value = binding.var, binding.value
        if isinstance(value, relax.If):
            return self._if(var, value)
        if isinstance(value, relax.SeqExpr):
            nodes, self.values[var] = self._sequence(value)
            return nodes
        if isinstance(value, relax.Function):
            raise UnsupportedIR(
                f"function {self.function!r} has a function {var.name!r} in it: run relax.transform.LambdaLift() first"
            )
        if isinstance(value, ir.Call):
            return self._call(var, value)
        self.values[var] = self._value(value)
        self.names.bound(var, self.values[var])
        return []

    def _value(self, expr: Any) -> Value:
        """What an expression that does nothing stands for."""
        if isinstance(expr, ir.Var):
            return self.values.get(expr, NOTHING)
        if isinstance(expr, ir.Tuple):
            return tuple(self._value(part) for part in expr.fields)
        if isinstance(expr, ir.TupleGetItem):
            return item(self._value(expr.tuple_value), int(expr.index))
        if isinstance(expr, ir.Constant):
            if not isinstance(expr.ty, relax.TensorType):
                return NOTHING
            if expr not in self.constants:
                value = self._outside("constant", expr.ty, Kind.WEIGHTS, CALLER)
                self.constants[expr] = next(iter(leaves(value)), "")
            return frozenset({self.constants[expr]} - {""})
        return NOTHING

    def _if(self, var: Any, value: Any) -> list[Node]:
        before_both = self._step("if", self._value(value.cond))
        before = set(self.tensors)
        then, one = self._sequence(value.true_branch)
        then.append(self._step("then", one))
        middle = set(self.tensors)
        orelse, other = self._sequence(value.false_branch)
        orelse.append(self._step("else", other))
        # What is one from here on is written anew in either branch: until it is written in `else`, it holds nothing
        # there, whatever `then` wrote. A place of its own in `then` says so.
        united = self._unite(one, other, middle - before, self.tensors.keys() - middle)
        self.values[var] = merged(one, other)
        return [before_both, Branch((*(Alloc(name, 0) for name in united), *then), tuple(orelse))]

    def _unite(self, one: Value, other: Value, then: set[str], orelse: set[str]) -> list[str]:
        """Make one of two allocations that the branches of an `if` hand over in the same place; returns their names."""
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return [name for left, right in zip(one, other) for name in self._unite(left, right, then, orelse)]
        if isinstance(one, tuple) or isinstance(other, tuple) or not len(one) == len(other) == 1:
            return []
        (a,), (b,) = map(self._root, one), map(self._root, other)
        if a not in then or b not in orelse:
            return []
        first, second = self.tensors[a], self.tensors[b]
        if (first.device, first.scope) != (second.device, second.scope) or {a, b} & self.reasons.keys():
            return []
        if (first.size.factors or second.size.factors) and not first.size.multiple_of(second.size):
            return []
        larger = max(first.size, second.size, key=lambda size: size.coefficient)
        used = tuple(dict.fromkeys((*first.size.at_bound, *second.size.at_bound)))
        self.tensors[a] = replace(first, sites=first.sites + second.sites, size=replace(larger, at_bound=used))
        del self.tensors[b]
        self.one[b] = a
        # Each is one with one other: two that are handed over at once are two.
        then.remove(a)
        orelse.remove(b)
        return [a]

    # -- calls -----------------------------------------------------------------------------------------------------

    def _step(self, operator: str, reads: Value, writes: Value = NOTHING) -> Step:
        """A step, which is counted."""
        read, written = leaves(reads), leaves(writes)
        self.steps += 1
        return Step(operator, tuple(sorted(read)), tuple(sorted(written)))

    def _call(self, var: Any, expr: Any) -> list[Node]:
        call = understood(expr, self.module)
        arguments = tuple(self._value(argument) for argument in call.arguments)
        if call.kind == "alloc":
            self.values[var] = self._allocate(var, expr)
            return []
        if call.kind == "view":
            if call.operator == "memory.view":
                self.viewed |= leaves_of(arguments)
            self.values[var] = arguments[0] if arguments else NOTHING
            return []
        if call.kind == "free":
            self.values[var] = NOTHING
            return []
        if call.kind == "call_tir":
            raise UnsupportedIR(
                f"function {self.function!r} has {call.operator} in it: run relax.transform.CallTIRRewrite() first"
            )
        if call.kind == "unknown":
            self._keep(leaves_of(arguments), f"{call.operator} may keep it")
        if call.function:
            behind = tuple(leaves(a) for a in arguments)
            plain = isinstance(expr.op, ir.GlobalVar)
            shaped = frozenset(
                i for i, a in enumerate(call.arguments) if isinstance(getattr(a.ty, "shape", None), relax.ShapeExpr)
            )
            self.calls.append(KernelCall(self.steps, call.function, behind, var, plain, shaped))
        count = self.called[call.operator] = self.called.get(call.operator, 0) + 1
        label = call.operator if count == 1 else f"{call.operator}#{count}"
        step = self._step(label, self._read(call, arguments), self._written(call, arguments))
        self.names.called(label, leaves_of(arguments))
        made = NOTHING
        if call.returns:
            made = self._outside(var.name, expr.ty, Kind.ACTIVATION, RUN_TIME)
            self.viewed |= leaves_of(arguments)
            step = replace(step, writes=(*step.writes, *sorted(leaves(made))))
        self.values[var] = self._with_arguments(made, leaves_of(arguments)) if call.returns else NOTHING
        return [step]

    def _read(self, call: Call, arguments: tuple[Value, ...]) -> Value:
        return arguments if call.writes is None else tuple(a for i, a in enumerate(arguments) if i in call.reads)

    def _written(self, call: Call, arguments: tuple[Value, ...]) -> Value:
        return arguments if call.writes is None else tuple(a for i, a in enumerate(arguments) if i in call.writes)

    def _with_arguments(self, made: Value, arguments: frozenset[str]) -> Value:
        """What a function hands over: memory of its own, or any of its arguments."""
        if isinstance(made, tuple):
            return tuple(self._with_arguments(part, arguments) for part in made)
        return made | arguments

    def _allocate(self, var: Any, expr: Any) -> Value:
        shape, dtype, device, scope = expr.args
        name = self._unique(var.name)
        described = f"tensor {name!r} of function {self.function!r}"
        if not isinstance(shape, relax.ShapeExpr):
            kind = shape.ty
            if not isinstance(kind, relax.ShapeType) or kind.values is None:
                raise UnsupportedIR(f"{described}: its shape is not known")
            shape = kind.values
        size = measure(list(shape), dtype.value, self.bounds, described)
        self.names.allocated(name, list(shape), dtype.value)
        index = int(device) if isinstance(device, tirx.IntImm) else -1
        self.tensors[name] = Tensor(name, (var,), size, index, str(scope.value))
        return frozenset({name})


def _unbounded(size: TensorSize) -> str:
    return f"unbounded in {', '.join(sorted(str(v.name) for v in size.free))}"


def _allocates(binding: Any) -> bool:
    value = binding.value
    return isinstance(value, ir.Call) and isinstance(value.op, ir.Op) and value.op.name == "relax.builtin.alloc_tensor"
