"""The end of an operator that could as well be the beginning of the next one.

::

    conv2d -> clip -> cast(int8) -> cast(int16) |  conv2d ...
                                 ^ the tensor is narrowest here, so this is where the operator should end

A *tail* is a chain of steps, each of one tensor and constants, at the end of an operator. Its steps are either
`light` (a few integer instructions for an element, and paddings) or not (fixed-point products). All work on integers
but paddings, which compute nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.relay.operators import tensor_bytes
from tvm_memplan.dialects.relay.ranges import is_integer, narrowest

_LIGHT = frozenset({"cast", "clip", "add", "subtract", "nn.pad"})
_OTHER = frozenset({"fixed_point_multiply", "fixed_point_multiply_per_axis", "multiply", "right_shift"})
# Operators whose result has each element of an argument in it once, at the same place.
_ELEMENTWISE = (_LIGHT | _OTHER | {"maximum", "minimum", "nn.relu"}) - {"nn.pad"}


@dataclass(frozen=True)
class Cut:
    """Where an operator can end instead.

    Parameters
    ----------
    head : tvm.relay.Expr
        What remains of its body; a parameter where nothing does.
    dtype : str
        The type that holds every value of `head`.
    tail : tuple of tvm.relay.Call
        The steps that follow, first to last.
    size : int
        Bytes between the operators then.
    """

    head: Any
    dtype: str
    tail: tuple[Any, ...]
    size: int

    @property
    def is_light(self) -> bool:
        """Whether the tail may be computed more than once."""
        return all(step.op.name in _LIGHT for step in self.tail)

    def regrown(self, start: Any) -> Any:
        """The tail on top of `start`, which has the values of `head` in `dtype`."""
        from tvm import relay

        wanted, steps = str(self.head.checked_type.dtype), self.tail
        if steps and steps[0].op.name == "cast":
            # A cast keeps the low bits, and those are the same before and after it was widened.
            wanted, steps = str(steps[0].checked_type.dtype), steps[1:]
        value = start if wanted == self.dtype else relay.cast(start, wanted)
        for step in steps:
            arguments = [value if not isinstance(a, relay.Constant) else a for a in step.args]
            value = relay.Call(step.op, arguments, step.attrs)
        return value


def best_cut(body: Any) -> Cut | None:
    """Where an operator should end so that fewest bytes go to the next; None when nowhere is better than its end."""
    size = tensor_bytes(body)
    if size is None:
        return None
    best: Cut | None = None
    for head, tail in _heads(body):
        cut = _cut(head, tail)
        if cut is not None and cut.size < (best.size if best else size):
            best = cut
    while best is not None and _is_cast(best.head):
        # The same bytes one cast earlier: what is cast back and forth need not be.
        earlier = _cut(best.head.args[0], (best.head, *best.tail))
        if earlier is None or earlier.size > best.size:
            break
        best = earlier
    return best


def reads_once(body: Any, param: Any) -> bool:
    """Whether a body uses each element of `param` once, at its place: by element-wise steps up to its result."""
    from tvm import relay

    users: dict[Any, list[Any]] = {}

    def visit(node: Any) -> None:
        for part in getattr(node, "args", ()):
            users.setdefault(part, []).append(node)

    relay.analysis.post_order_visit(body, visit)
    node, shape = param, [int(extent) for extent in body.checked_type.shape]
    while not node.same_as(body):
        if len(users.get(node, ())) != 1 or [int(extent) for extent in node.checked_type.shape] != shape:
            return False
        (node,) = users[node]
        if getattr(node.op, "name", "") not in _ELEMENTWISE:
            return False
    return True


def _cut(head: Any, tail: Sequence[Any]) -> Cut | None:
    from tvm import relay

    dtype = str(head.checked_type.dtype)
    size = tensor_bytes(head)
    if size is None or isinstance(head, relay.Var) or not is_integer(dtype):
        # What comes in from outside stays as it is: to narrow it would take an operator of its own.
        return Cut(head, dtype, tuple(tail), size) if size is not None else None
    narrow = narrowest(head)
    return Cut(head, narrow, tuple(tail), size * int(narrow.lstrip("uint")) // int(dtype.lstrip("uint")))


def _heads(body: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Each place where the chain at the end of `body` can be cut, with the steps after it, the end itself first."""
    head: Any = body
    tail: tuple[Any, ...] = ()
    found = [(head, tail)]
    while (inner := _chained(head)) is not None:
        head, tail = inner, (head, *tail)
        found.append((head, tail))
    return found


def _chained(step: Any) -> Any | None:
    """The one tensor that a step of a tail works on, None where `step` is none."""
    from tvm import relay

    if not isinstance(step, relay.Call) or getattr(step.op, "name", "") not in _LIGHT | _OTHER:
        return None
    tensors = [argument for argument in step.args if not isinstance(argument, relay.Constant)]
    if len(tensors) != 1:
        return None
    (inner,) = tensors
    if step.op.name == "nn.pad":
        return inner if str(step.attrs.pad_mode) == "constant" and inner.same_as(step.args[0]) else None
    if not all(is_integer(str(part.checked_type.dtype)) for part in (step, inner)):
        return None
    same = [int(e) for e in inner.checked_type.shape] == [int(e) for e in step.checked_type.shape]
    return inner if same else None


def _is_cast(expr: Any) -> bool:
    from tvm import relay

    return isinstance(expr, relay.Call) and getattr(expr.op, "name", "") == "cast"
