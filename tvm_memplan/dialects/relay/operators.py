"""The operators of a model after FuseOps, as a graph in which one can be exchanged for another.

::

    %1 = fn(p) { cast(nn.pad(p)) } (%x)          Operator(params=(p,), body=cast(nn.pad(p)), arguments=(%x,))
    %2 = fn(p) { clip(nn.conv2d(p, w)) } (%1)    Operator(params=(p,), body=clip(...),       arguments=(%1,))

An argument is an expression of the module as it was read; `written` puts the present operators in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.dialects.elements import element_bytes


@dataclass(frozen=True)
class Operator:
    """A fused operator and what it is called with.

    Parameters
    ----------
    params : tuple of tvm.relay.Var
        Its parameters.
    body : tvm.relay.Expr
        What it computes of them; typed.
    arguments : tuple of tvm.relay.Expr
        What it is called with.
    """

    params: tuple[Any, ...]
    body: Any
    arguments: tuple[Any, ...]

    def function(self) -> Any:
        """As a primitive function."""
        from tvm import relay

        made = relay.Function(list(self.params), self.body, self.body.checked_type)
        return made.with_attr("Primitive", 1)

    def with_body(self, params: tuple[Any, ...], body: Any, arguments: tuple[Any, ...]) -> Operator:
        """Another operator in its place, with the types worked out."""
        import tvm
        from tvm import relay

        module = tvm.IRModule.from_expr(relay.Function(list(params), body))
        main = relay.transform.InferType()(module)["main"]
        return replace(self, params=tuple(main.params), body=main.body, arguments=arguments)


class Operators:
    """The operators that may be exchanged, by the calls that stand for them, in order.

    `users` has for each of them the calls that take its result; one whose result goes elsewhere too, to the caller
    of the model or into a tuple, is in `kept`.
    """

    def __init__(self, main: Any) -> None:
        from tvm import relay

        self.main = main
        self.now: dict[Any, Operator] = {}
        self.users: dict[Any, list[Any]] = {}
        self.kept: set[Any] = {main.body}
        for node in in_order(main.body):
            simple = isinstance(node, relay.Call) and _is_simple(node.op) and _is_tensor(node)
            if simple:
                self.now[node] = Operator(tuple(node.op.params), node.op.body, tuple(node.args))
            for part in parts_of(node):
                if simple:
                    self.users.setdefault(part, [])
                    if node not in self.users[part]:
                        self.users[part].append(node)
                else:
                    self.kept.add(part)

    def users_with(self, changed: Mapping[Any, Operator | None], argument: Any) -> list[Any]:
        """The calls that take `argument` once some operators are exchanged."""
        users = [user for user in self.users.get(argument, []) if user not in changed]
        return users + [call for call, operator in changed.items() if operator and argument in operator.arguments]

    def exchange(self, changed: Mapping[Any, Operator | None]) -> None:
        """Put other operators in the place of some; None for one that nobody calls any more."""
        for call, operator in changed.items():
            for argument in self.now[call].arguments:
                self.users[argument] = [user for user in self.users.get(argument, []) if user is not call]
            if operator is None:
                del self.now[call]
                continue
            self.now[call] = operator
            for argument in operator.arguments:
                if call not in self.users.setdefault(argument, []):
                    self.users[argument].append(call)

    def written(self) -> Any:
        """The main function with the operators as they are now."""
        from tvm import relay

        made: dict[Any, Any] = {}
        for node in in_order(self.main.body, self.now):
            if node in self.now:
                operator = self.now[node]
                made[node] = relay.Call(
                    operator.function(), [made[a] for a in operator.arguments], None, None, node.span
                )
            elif isinstance(node, relay.Call):
                made[node] = relay.expr.CallWithFields(node, None, [made[a] for a in node.args], None, None, None, None)
            elif isinstance(node, relay.Tuple):
                made[node] = relay.expr.TupleWithFields(node, [made[field] for field in node.fields], None, None)
            elif isinstance(node, relay.TupleGetItem):
                made[node] = relay.expr.TupleGetItemWithFields(node, made[node.tuple_value], None, None, None)
            else:
                made[node] = node
        # All else of main stays, the device that its result is on included.
        return relay.function.FunctionWithFields(self.main, body=made[self.main.body])


def is_dataflow(main: Any) -> bool:
    """Whether a function is a graph of calls and tuples, without branches, bindings or closures."""
    from tvm import relay

    known = (relay.Call, relay.Tuple, relay.TupleGetItem, relay.Var, relay.Constant)
    return all(isinstance(node, known) for node in in_order(main.body))


def tensor_bytes(expr: Any) -> int | None:
    """Bytes of a typed tensor expression, None where its shape is not constant or its elements are not whole bytes."""
    from tvm import tir

    kind = expr.checked_type
    size = element_bytes(str(kind.dtype))
    for extent in kind.shape:
        if size is None or not isinstance(extent, tir.IntImm):
            return None
        size *= int(extent.value)
    return size


def without_weights(function: Any) -> Any:
    """`function` with zeros for its constant tensors, so that operators that differ in them alone are alike."""
    import numpy as np
    from tvm import relay

    bound = {}

    def visit(node: Any) -> None:
        if isinstance(node, relay.Constant) and node.data.shape:
            bound[node] = relay.const(np.zeros(node.data.shape, node.data.dtype))

    relay.analysis.post_order_visit(function, visit)

    mutator = relay.ExprMutator()
    mutator.visit_constant = lambda const: bound.get(const, const)
    return mutator.visit(function)


def in_order(body: Any, operators: Mapping[Any, Operator] | None = None) -> list[Any]:
    """Every expression below `body`, arguments first; those of `operators` as these are now."""
    done: dict[Any, None] = {}
    waiting = [(body, False)]
    while waiting:
        node, ready = waiting.pop()
        if node in done:
            continue
        if ready:
            done[node] = None
            continue
        waiting.append((node, True))
        parts = operators[node].arguments if operators and node in operators else parts_of(node)
        waiting.extend((part, False) for part in reversed(parts) if part not in done)
    return list(done)


def parts_of(node: Any) -> tuple[Any, ...]:
    """The expressions that an expression is made of, as far as it is a part of a graph of calls and tuples."""
    from tvm import relay

    if isinstance(node, relay.Call):
        return tuple(node.args)
    if isinstance(node, relay.Tuple):
        return tuple(node.fields)
    if isinstance(node, relay.TupleGetItem):
        return (node.tuple_value,)
    return ()


def _is_simple(function: Any) -> bool:
    """Whether it is a primitive function that says nothing else of itself, such as that it only reshapes."""
    from tvm import relay

    return (
        isinstance(function, relay.Function)
        and function.attrs is not None
        and list(function.attrs.keys()) == ["Primitive"]
    )


def _is_tensor(node: Any) -> bool:
    import tvm

    return all(isinstance(part.checked_type, tvm.ir.TensorType) for part in (node, *node.args))
