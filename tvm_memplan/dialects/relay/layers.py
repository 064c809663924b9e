"""Which tensor of a lowered Relay model is which layer of the model that a front end read.

TVM's front ends note the name of each layer as the span of the calls that they make of it, and the first passes of a
build lose them. So the layers are followed from pass to pass, by what is computed and never by position or size:

- an expression is known by what it computes of which inputs and constants (`Values`): the same operators with the same
  attributes on the same operands are the same value, before a pass and after it, in one operator or in several;
- a pass that rewrites calls is run a second time, on a function that returns all layers. What it makes of each is what
  that layer is from now on, and it is found again in the build where the same value is computed;
- passes that fold constants are followed by walking through both graphs side by side.

Where a value is not found again, its name is lost: a tensor without a name is better than one with another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.relay.operators import in_order, is_dataflow, parts_of
from tvm_memplan.dialects.relay.values import PLAIN, Values, side_by_side

#: Operators whose result is their input in another shape: bytes that the layer before has a name for. A probe that
#: returned them would keep simplifications from their readers.
_VIEWS = frozenset({"reshape", "squeeze", "expand_dims", "nn.batch_flatten"})


@dataclass(frozen=True)
class Layer:
    """A layer: its name in the model, and its place in the model's order."""

    name: str
    index: int


@dataclass(frozen=True)
class CallLayers:
    """What a call of an operator computes.

    Parameters
    ----------
    function : str
        The lowered operator.
    result : Layer or None
        The layer whose tensor its result is.
    inside : tuple of Layer
        All layers that it computes, or a part of, in the model's order; the result's is among them.
    """

    function: str
    result: Layer | None
    inside: tuple[Layer, ...]


class LayerTracker:
    """Follows the layers of one model through a build; an instrument calls `before` and `after` for each pass."""

    def __init__(self) -> None:
        self.values = Values()
        self.layers: dict[int, list[Layer]] = {}
        self.by_let: dict[str, tuple[Layer | None, tuple[Layer, ...]]] = {}
        self.calls: tuple[CallLayers, ...] = ()
        self.started = False
        self.ended = False
        self.busy = ""
        self.main: Any = None
        self.ids: dict[Any, int] = {}

    def before(self, name: str, mod: Any) -> None:
        """A pass called `name` is about to run on `mod`."""
        main = _main(mod)
        if main is None or self.ended or self.busy:
            return
        if name == "LowerTE":
            if self.layers:
                self._fused(main)
        elif name in _FOLLOWED or name in _probes():
            self.started = True
            self.ended = not self.layers or not is_dataflow(main)
            # Numbered now: some passes write into the attributes of what they are given.
            self.busy, self.main, self.ids = name, main, self.values.of(main)
            self._find_again()
        elif not self.started and is_dataflow(main) and _named_apart(main):
            # Weights become constants on the way, and the pass after that loses the spans.
            self._read(main)

    def after(self, name: str, mod: Any) -> None:
        """The pass called `name` has run."""
        if name == self.busy:
            self.busy = ""
            after = _main(mod)
            new = self.values.of(after)
            there = self.layers.keys() & set(self.ids.values())
            if not there <= set(new.values()):
                if name in _FOLLOWED:
                    self._follow(after, new)
                else:
                    self._probe(_probes()[name])
            self.main, self.ids = None, {}
        elif self.by_let and not self.ended and name in ("LowerTE", "RemoveStandaloneReshapes"):
            main = _main(mod)
            self.calls = () if main is None else tuple(self._lowered(main))

    def _read(self, main: Any) -> None:
        """The layers of the model as it was given, by the spans of its calls."""
        from tvm import relay

        users: dict[Any, list[Any]] = {}
        calls = []
        for node in in_order(main.body):
            if isinstance(node, (relay.Call, relay.TupleGetItem)):
                calls.append(node)
            for part in parts_of(node):
                users.setdefault(part, []).append(node)
        if not any(_told(call) for call in calls):
            return
        self.layers.clear()
        ids = self.values.of(main)
        for index, call in enumerate(calls):
            told = _told(call)
            # A layer's own tensor is the one that no call of the same layer reads.
            if told is not None and all(_told(user) != told for user in users.get(call, [])):
                self._add(ids[call], Layer(told, index))

    def _add(self, value: int, layer: Layer) -> None:
        known = self.layers.setdefault(value, [])
        if layer not in known:
            known.append(layer)

    def _find_again(self) -> None:
        """A layer that is not there as it was may be there in another type or layout."""
        first: dict[int, int] = {}
        for value in self.ids.values():
            first.setdefault(self.values.plain[value], value)
        there = set(self.ids.values())
        known: dict[Layer, list[int]] = {}
        for value, layers in self.layers.items():
            for layer in layers:
                known.setdefault(layer, []).append(value)
        for layer, values in known.items():
            if there.isdisjoint(values):
                again = [first[self.values.plain[value]] for value in values if self.values.plain[value] in first]
                if again:
                    self._add(again[-1], layer)

    def _probe(self, make: Callable[[], Any]) -> None:
        """Run a pass on a function that returns every layer of what it ran on."""
        import tvm
        from tvm import relay

        main = self.main
        nodes: dict[int, Any] = {}
        for node, value in self.ids.items():
            named = value in self.layers and isinstance(node, (relay.Call, relay.TupleGetItem))
            if named and getattr(getattr(node, "op", None), "name", "") not in _VIEWS:
                nodes[value] = node
        if not nodes:
            return
        around = tvm.transform.PassContext.current()
        try:
            with tvm.transform.PassContext(
                opt_level=around.opt_level,
                required_pass=list(around.required_pass),
                disabled_pass=list(around.disabled_pass),
                config=dict(around.config.items()),
            ):
                module = tvm.IRModule.from_expr(relay.Function(main.params, relay.Tuple(list(nodes.values()))))
                module = make()(relay.transform.InferType()(module))
        except Exception:
            # TVM's passes may fail in any way on a program that nobody wrote; names are not worth a build.
            return
        made = self.values.of(module["main"])
        for value, out in zip(nodes, module["main"].body.fields):
            for kept in (out, _without_layout(out)):
                for layer in self.layers[value]:
                    self._add(made[kept], layer)

    def _follow(self, after: Any, new: Mapping[Any, int]) -> None:
        """Walk through both graphs at once."""
        for one, other in side_by_side(self.main.body, after.body):
            for layer in self.layers.get(self.ids[one], ()):
                self._add(new[other], layer)

    # -- what became of them ---------------------------------------------------------------------------------------

    def _fused(self, main: Any) -> None:
        """The layers of each binding of `main`, in A-normal form, its operators fused."""
        from tvm import relay

        made = _Bodies(self.values)
        node = main.body
        found = []
        while isinstance(node, relay.Let):
            body = made.bind(node.var, node.value)
            if body is not None:
                found.append((str(node.var.name_hint), *body))
            node = node.body
        owners = self._owners(made.parts)
        for name, result, inside, outside in found:
            own = self._of(result, made.parts)
            layers = {layer for value in inside - outside for layer in self.layers.get(value, ())}
            layers |= {layer for value in inside - outside for layer in owners.get(value, ())}
            layers |= {own} if own else set()
            self.by_let[name] = own, tuple(sorted(layers, key=lambda layer: layer.index))

    def _of(self, value: int, parts: Mapping[int, tuple[str, tuple[int, ...]]]) -> Layer | None:
        """The layer that a value is; one that is only written down in another way counts."""
        while value not in self.layers:
            op, operands = parts.get(value, ("", ()))
            if op in PLAIN:
                (value,) = operands
                continue
            # What a layer is narrowed to at the end is as good: its own type is not stored here.
            same = [v for v in self.values.plain_twins(value) if v in self.layers]
            if not same:
                return None
            value = same[0]
        return max(self.layers[value], key=lambda layer: layer.index)

    def _owners(self, parts: Mapping[int, tuple[str, tuple[int, ...]]]) -> dict[int, list[Layer]]:
        """For values that are no layer's: the layers on the way to which they are computed."""
        owners: dict[int, list[Layer]] = {}
        for value in parts:
            named = self._of(value, parts)
            if named is None:
                continue
            waiting = list(parts[value][1])
            while waiting:
                below = waiting.pop()
                if below in parts and self._of(below, parts) is None and named not in owners.get(below, ()):
                    owners.setdefault(below, []).append(named)
                    waiting.extend(parts[below][1])
        return owners

    def _lowered(self, main: Any) -> Iterator[CallLayers]:
        """The calls of lowered operators, in order."""
        from tvm import relay

        node = main.body
        seen = set()  # the call that a removed reshape stands for is bound twice, and made once
        while isinstance(node, relay.Let):
            call = _undressed(node.value)
            lowered = isinstance(call, relay.Call) and getattr(call.op, "name", "") == "call_lowered"
            if lowered and call not in seen:
                seen.add(call)
                result, inside = self.by_let.get(str(node.var.name_hint), (None, ()))
                yield CallLayers(str(call.args[0].name_hint), result, inside)
            node = node.body


@dataclass
class _Bodies:
    """Goes through the bindings of a main function in A-normal form, and into the operators that it calls."""

    values: Values
    bound: dict[Any, int] = field(default_factory=dict)
    functions: dict[Any, Any] = field(default_factory=dict)
    parts: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    def bind(self, var: Any, value: Any) -> tuple[int, set[int], set[int]] | None:
        """Take in one binding; of a call of an operator: its result, all that it computes, and what it is given."""
        from tvm import relay

        value = _undressed(value)
        if isinstance(value, relay.Function):
            self.functions[var] = value
            return None
        callee = self.functions.get(value.op, value.op) if isinstance(value, relay.Call) else None
        if not isinstance(callee, relay.Function):
            self.bound[var] = self._number(value, self.bound)
            return None
        given = [self._atom(argument) for argument in value.args]
        known = dict(zip(callee.params, given))
        inside: set[int] = set()
        for node in in_order(callee.body):
            if node not in known:
                known[node] = self._number(node, known)
            inside.add(known[node])
        self.bound[var] = known[callee.body]
        return known[callee.body], inside, set(given)

    def _atom(self, expr: Any) -> int:
        expr = _undressed(expr)
        return self.bound[expr] if expr in self.bound else self._number(expr, self.bound)

    def _number(self, node: Any, known: Mapping[Any, int]) -> int:
        from tvm import relay

        below = tuple(known[part] if part in known else self._number(part, known) for part in parts_of(node))
        number = self.values.number(node, below)
        op = str(getattr(node.op, "name", "")) if isinstance(node, relay.Call) else type(node).__name__
        if below:
            self.parts.setdefault(number, (op, below))
        return number


#: Passes that are followed by walking through both graphs.
_FOLLOWED = frozenset({"FoldConstant", "FoldScaleAxis"})


def _probes() -> dict[str, Callable[[], Any]]:
    """Passes that are run again, by the names under which TVM reports them."""
    from tvm import relay

    qnn = relay.qnn.transform
    own: dict[str, Callable[[], Any]] = {
        "qnn.Legalize": lambda: _one_after_the_other(qnn.Legalize(), qnn.CanonicalizeOps()),
        "Legalize": relay.transform.Legalize,
        "SimplifyInference": relay.transform.SimplifyInference,
        "SimplifyExpr": relay.transform.SimplifyExpr,
        "CanonicalizeCast": relay.transform.CanonicalizeCast,
        "CanonicalizeOps": relay.transform.CanonicalizeOps,
        "AlterOpLayout": relay.transform.AlterOpLayout,
        "FastMath": relay.transform.FastMath,
    }
    for name in ("FlattenAtrousConv", "SimplifyExprPostAlterOp"):
        maker = getattr(relay.transform.transform._ffi_api, name, None)
        if maker is not None:
            own[name] = maker
    return own


def _one_after_the_other(*passes: Any) -> Any:
    import tvm

    return tvm.transform.Sequential(list(passes))


def _main(mod: Any) -> Any:
    from tvm import relay

    main = {str(var.name_hint): f for var, f in mod.functions.items()}.get("main")
    return main if isinstance(main, relay.Function) else None


def _named_apart(main: Any) -> bool:
    """Whether no two parameters are called the same: by their names they are known again."""
    names = [str(param.name_hint) for param in main.params]
    return len(set(names)) == len(names)


def _told(node: Any) -> str | None:
    """The layer that the span of a call names.

    Spans with lines are left out: they are those of Relay's parser, which is one line off for most expressions.
    """
    import tvm

    span = getattr(node, "span", None)
    if isinstance(span, tvm.ir.SequentialSpan):
        span = span.spans[-1] if span.spans else None
    if not isinstance(span, tvm.ir.Span):
        return None
    return str(span.source_name.name) or None if int(span.line) <= 0 else None


def _undressed(expr: Any) -> Any:
    """An expression without the annotation of its device."""
    from tvm import relay

    while isinstance(expr, relay.Call) and getattr(expr.op, "name", "") == "on_device":
        expr = expr.args[0]
    return expr


def _without_layout(expr: Any) -> Any:
    from tvm import relay

    while isinstance(expr, relay.Call) and getattr(expr.op, "name", "") == "layout_transform":
        expr = expr.args[0]
    return expr
