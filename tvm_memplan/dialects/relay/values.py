"""What Relay expressions compute, as numbers: equal if they compute the same of the same inputs and constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from tvm_memplan.dialects.relay.operators import in_order, parts_of

#: Operators that change how a value is written down and not what it is.
PLAIN = frozenset({"cast", "layout_transform"})


class Values:
    """Numbers for what expressions compute: equal if and only if they compute the same of the same."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.plains: dict[Any, int] = {}  # likewise, as if there were no casts and layouts
        self.plain: dict[int, int] = {}  # from the one number to the other
        self.twins: dict[int, list[int]] = {}
        self.others = 0
        # Constants by where they lie; they are kept, so that nothing else comes to lie there.
        self.contents: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    def of(self, function: Any) -> dict[Any, int]:
        """The number of every expression in the body of a function."""
        found: dict[Any, int] = {}
        for node in in_order(function.body):
            found[node] = self.number(node, [found[part] for part in parts_of(node)])
        return found

    def number(self, node: Any, operands: Iterable[int]) -> int:
        """The number of one expression whose operands have these."""
        import tvm
        from tvm import relay

        below = tuple(operands)
        if isinstance(node, relay.Call):
            op = str(getattr(node.op, "name", "")) or repr(node.op)
            attrs = 0 if node.attrs is None else int(tvm.ir.structural_hash(node.attrs))
            return self._intern(("call", op, attrs), below, op in PLAIN)
        if isinstance(node, relay.Constant):
            return self._intern(("constant", *self._content(node.data)))
        if isinstance(node, relay.Var):
            return self._intern(("var", str(node.name_hint)))
        if isinstance(node, relay.TupleGetItem):
            return self._intern(("item", int(node.index)), below)
        if isinstance(node, relay.Tuple):
            return self._intern(("tuple",), below)
        self.others += 1  # nothing else is known to be the same twice
        return self._intern(("other", self.others))

    def plain_twins(self, value: int) -> list[int]:
        """All values that are the same but for casts and layouts, on the way to it, too."""
        return self.twins[self.plain[value]]

    def _intern(self, what: tuple[Any, ...], operands: tuple[int, ...] = (), plain: bool = False) -> int:
        number = self.numbers.setdefault((*what, operands), len(self.numbers))
        if number not in self.plain:
            below = tuple(self.plain[operand] for operand in operands)
            self.plain[number] = below[0] if plain else self.plains.setdefault((*what, below), len(self.plains))
            self.twins.setdefault(self.plain[number], []).append(number)
        return number

    def _content(self, data: Any) -> tuple[Any, ...]:
        where = int(data.handle.contents.data or 0), int(data.handle.contents.byte_offset), data.shape, str(data.dtype)
        if where not in self.contents:
            told = hashlib.blake2b(data.numpy().tobytes(), digest_size=16).digest()
            self.contents[where] = data, (*where[2:], told)
        return self.contents[where][1]


def side_by_side(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of expressions of two graphs that differ in constants only, and in factors that went into those."""
    from tvm import relay

    constant = _Constant()
    seen = set()
    waiting = [(one, other)]
    while waiting:
        pair = waiting.pop()
        a, b = pair
        if pair in seen or constant(a) or constant(b):
            continue
        seen.add(pair)
        alike = type(a) is type(b) and len(parts_of(a)) == len(parts_of(b))
        if alike and isinstance(a, relay.Call):
            alike = a.op == b.op and _attributes(a) == _attributes(b)
        elif alike and isinstance(a, relay.TupleGetItem):
            alike = int(a.index) == int(b.index)
        elif alike and isinstance(a, relay.Var):
            alike = str(a.name_hint) == str(b.name_hint)
        if alike:
            yield pair
            waiting.extend(zip(parts_of(a), parts_of(b)))
            continue
        # A factor that is gone from one of them: what it was multiplied with took it in.
        scaled = [_factor(a, constant), _factor(b, constant)]
        if scaled[0] is not None:
            yield pair
            waiting.append((scaled[0], b))
        elif scaled[1] is not None:
            yield pair
            waiting.append((a, scaled[1]))


def _attributes(call: Any) -> int:
    import tvm

    return 0 if call.attrs is None else int(tvm.ir.structural_hash(call.attrs))


def _factor(node: Any, constant: _Constant) -> Any:
    """What is multiplied with a constant here."""
    from tvm import relay

    if not isinstance(node, relay.Call) or getattr(node.op, "name", "") != "multiply":
        return None
    varying = [part for part in node.args if not constant(part)]
    return varying[0] if len(varying) == 1 else None


class _Constant:
    """Whether an expression depends on no input."""

    def __init__(self) -> None:
        self.known: dict[Any, bool] = {}

    def __call__(self, expr: Any) -> bool:
        from tvm import relay

        if expr not in self.known:
            for node in in_order(expr):
                if node not in self.known:
                    parts = parts_of(node)
                    if parts or not isinstance(node, relay.Call):
                        below = all(self.known[part] for part in parts)
                        self.known[node] = not isinstance(node, relay.Var) and below
                    else:
                        self.known[node] = True
        return self.known[expr]
