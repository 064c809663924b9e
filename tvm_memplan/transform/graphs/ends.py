"""What becomes of a function's outputs, and which of its inputs it may overwrite.

::

    outputs="own"      allocated by the function, each for itself: the caller may keep it for as long as it likes
    outputs="arena"    planned with what is between kernels: whoever holds an output holds the arena
    outputs="caller"   further parameters of the function, which kernels write straight into; it hands them back, too

A *donated* input is one that its caller gives away. Its bytes become a pool of exactly that size with the input at its
start, so whatever is born after the input's last use may lie in it, and an output may be written in place over it, by
the same proofs as between kernels. Nothing lies at an offset in it where the size depends on a dimension: then only
what always has as many bytes takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Placement, Pool

Outputs = Literal["own", "arena", "caller"]

#: What the pool of a donated input is called, before the input's name.
GIVEN = "donated "


@dataclass(frozen=True)
class Ends:
    """What a function does with its outputs and donated inputs.

    Parameters
    ----------
    outputs : str
        ``own``, ``arena`` or ``caller``.
    donated : tuple of str
        Parameters whose bytes it may overwrite.
    """

    outputs: Outputs = "own"
    donated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.outputs not in get_args(Outputs):
            raise BadInput(f"outputs are {', '.join(get_args(Outputs))}, and not {self.outputs!r}")


OWN = Ends()


@dataclass(frozen=True)
class Given:
    """A donated input.

    Parameters
    ----------
    name : str
        The parameter.
    variable : Var
        The parameter, as the dialect has it.
    tensor : str
        Its allocation.
    pool : Pool
        Its bytes.
    guests : frozenset of str
        The allocations that may lie in it.
    """

    name: str
    variable: Any
    tensor: str
    pool: Pool
    guests: frozenset[str]

    @property
    def place(self) -> Placement:
        """Where the input itself lies."""
        return Placement(self.pool.name, 0)


def moved_outputs(graph: Any, ends: Ends) -> frozenset[str]:
    """The outputs of a known size that lie in the arena."""
    if ends.outputs != "arena":
        return frozenset()
    return frozenset(n for n, t in graph.outputs.items() if t.size.bytes is not None and n not in graph.kept)


def supplied_outputs(graph: Any, ends: Ends) -> dict[str, Any]:
    """The outputs that the caller supplies a tensor for, by allocation, in the order of the function's value."""
    if ends.outputs != "caller":
        return {}
    found = sorted((out for out in graph.results.values() if out.type is not None), key=lambda out: out.position)
    return {out.tensor: out for out in found}


def given_inputs(graph: Any, ends: Ends, alignment: int) -> dict[str, Given]:
    """The donated inputs, by allocation.

    Parameters
    ----------
    graph : Graph
        The function as read.
    ends : Ends
        What was asked for.
    alignment : int
        Bytes; that of the caller's tensors.

    Raises
    ------
    BadInput
        There is no such input, or its bytes are not to be given away: it is a weight, handed back, kept by somebody
        else, on another device, or of unknown size.
    """
    supplied = supplied_outputs(graph, ends)
    found: dict[str, Given] = {}
    for name in dict.fromkeys(ends.donated):
        argument = _argument(graph, name)
        size = argument.size
        pool = Pool(GIVEN + name, size.bytes, alignment)
        guests = frozenset(
            guest
            for guest in (*graph.tensors, *graph.outputs)
            if guest not in supplied and guest not in graph.kept and _fits(graph, guest, argument, size)
        )
        found[argument.tensor] = Given(name, argument.variable, argument.tensor, pool, guests)
    return found


def _argument(graph: Any, name: str) -> Any:
    here = [argument for argument in graph.arguments if argument.name == name]
    what = f"parameter {name!r} of function {graph.function!r}"
    if not here:
        there = ", ".join(repr(argument.name) for argument in graph.arguments if not argument.weight)
        raise BadInput(f"function {graph.function!r} takes no {name!r}; its inputs are {there or 'none'}")
    if len(here) > 1:
        raise BadInput(f"{what} cannot be donated: two parameters have that name")
    (argument,) = here
    reason = _why_not(graph, argument)
    if reason:
        raise BadInput(f"{what} cannot be donated: {reason}")
    return argument


def _why_not(graph: Any, argument: Any) -> str:
    if argument.weight:
        return "it is a weight, and weights are never overwritten"
    if argument.size is None:
        return "it is no tensor, or has no upper bound for its size (see bounds)"
    if argument.tensor in graph.returned:
        return "the function hands it back, or may do so"
    if not argument.usual:
        return "it does not lie in the global memory of the first device"
    return str(graph.kept.get(argument.tensor, ""))


def is_usual(device: int, scope: str) -> bool:
    """Whether that is the global memory of the first device."""
    return device <= 0 and scope == "global"


def _fits(graph: Any, guest: str, argument: Any, size: Any) -> bool:
    tensor = graph.allocation(guest)
    if not is_usual(tensor.device, tensor.scope) or tensor.size.bytes is None or tensor.size.bytes > size.bytes:
        return False
    if not size.at_bound:
        return True
    return bool(
        tensor.size.bytes == size.bytes
        and all(relax_dialect().same_bytes(argument.variable.ty, site.ty) for site in tensor.sites)
    )
