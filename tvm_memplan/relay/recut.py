"""Where one operator of a model ends and the next begins: where the tensor between them is narrowest.

TVM's FuseOps ends an operator where a convolution begins. In a quantised network the int8 result is by then padded and
widened to int16, and that is what lies in memory, up to three times as large::

    fn { conv2d, ..., clip, cast(int16) } -- int16 --> fn { conv2d, ... }
    fn { nn.pad, cast(int16) }          -- padded --> fn { conv2d, ... }

Here the widening and the padding move into the operator that reads them::

    fn { conv2d, ..., clip, cast(int8) } -- int8 --> fn { cast(int16), conv2d, ... }

There they would be stored again, in its workspace, if `tvm_memplan.transform.InlineCopies` did not make them part
of what reads them. So each change is tried: the operators are lowered, before and after, and the change is made only
when none of them needs more (arguments, result and workspace, less what the result may overwrite) than it did.

What an operator computes stays the same bits: integers only, and a narrower type only where it holds every value.

Left alone: tensors that the caller gets, that go into tuples or into operators TVM treats in a way of their own;
steps that are not cheap, unless their only reader reads each element once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.relay.operators import Operator, Operators, is_dataflow, tensor_bytes
from tvm_memplan.dialects.relay.tails import Cut, best_cut, reads_once
from tvm_memplan.relay.operator_memory import OperatorMemory


@dataclass(frozen=True)
class Recut:
    """One tensor between operators that became smaller.

    Parameters
    ----------
    operators : str
        The steps that moved, as ``nn.pad, cast``.
    before, after : int
        Bytes of the tensor between the operators.
    """

    operators: str
    before: int
    after: int


def recut(main: Any, memory: OperatorMemory) -> tuple[Any, tuple[Recut, ...]]:
    """Move the ends of the operators of `main`, a typed function as FuseOps leaves it.

    Returns
    -------
    (tvm.relay.Function, tuple of Recut)
        A new function, not typed, and what was moved; `main` itself where that is nothing.
    """
    if not is_dataflow(main):
        return main, ()
    operators = Operators(main)
    moved = []
    for call in list(operators.now):
        cut = _cut_for(operators, call)
        if cut is None:
            continue
        changed = _changed(operators, call, cut)
        if _helps(operators, changed, memory):
            before = tensor_bytes(operators.now[call].body) or 0
            operators.exchange(changed)
            moved.append(Recut(", ".join(step.op.name for step in cut.tail) or "cast", before, cut.size))
    return (operators.written(), tuple(moved)) if moved else (main, ())


def _cut_for(operators: Operators, call: Any) -> Cut | None:
    users = operators.users.get(call, [])
    if call in operators.kept or not users:
        return None
    cut = best_cut(operators.now[call].body)
    if cut is None or cut.is_light:
        return cut
    (user, *others) = (operators.now[user] for user in users)
    params = [p for p, argument in zip(user.params, user.arguments) if argument.same_as(call)]
    return cut if not others and len(params) == 1 and reads_once(user.body, params[0]) else None


def _changed(operators: Operators, call: Any, cut: Cut) -> dict[Any, Operator | None]:
    """The operator that ends at `cut`, None where nothing is left of it, and those that read its result."""
    from tvm import relay

    operator = operators.now[call]
    changed: dict[Any, Operator | None] = {}
    source = call
    if isinstance(cut.head, relay.Var):
        (source,) = (a for p, a in zip(operator.params, operator.arguments) if p.same_as(cut.head))
        changed[call] = None
    else:
        same = cut.dtype == str(cut.head.checked_type.dtype)
        body = cut.head if same else relay.cast(cut.head, cut.dtype)
        changed[call] = operator.with_body(operator.params, body, operator.arguments)
    for user in operators.users[call]:
        reader = operators.now[user]
        params, bound = [], {}
        for param, argument in zip(reader.params, reader.arguments):
            params.append(param)
            if argument.same_as(call):
                params[-1] = relay.var(param.name_hint, shape=cut.head.checked_type.shape, dtype=cut.dtype)
                bound[param] = cut.regrown(params[-1])
        arguments = tuple(source if argument.same_as(call) else argument for argument in reader.arguments)
        changed[user] = reader.with_body(tuple(params), relay.bind(reader.body, bound), arguments)
    return changed


def _helps(operators: Operators, changed: dict[Any, Operator | None], memory: OperatorMemory) -> bool:
    """Whether no operator needs more than before, so that no step of the program does, whatever else is alive there."""
    for call, operator in changed.items():
        if operator is None:
            continue
        after, before = memory.need(operator), memory.need(operators.now[call])
        if after is None or before is None:
            return False
        after -= _in_place(operators, changed, call, operator)
        if after > before - _in_place(operators, {}, call, operators.now[call]):
            return False
    return True


def _in_place(operators: Operators, changed: dict[Any, Operator | None], call: Any, operator: Operator) -> int:
    """Bytes of the result that can lie where an argument lay: one that ends here and is read once, in place."""
    size = tensor_bytes(operator.body)
    for param, argument in zip(operator.params, operator.arguments):
        ends = argument in operators.now and argument not in operators.kept
        ends = ends and all(other is call for other in operators.users_with(changed, argument))
        if ends and tensor_bytes(param) == size and reads_once(operator.body, param):
            return size or 0
    return 0
