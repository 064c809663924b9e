"""A Relax function as read: what it allocates, what it does, and what stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.relax.sizes import TensorSize
from tvm_memplan.planning.trace import Alloc, Node
from tvm_memplan.report.memory import LeftAlone
from tvm_memplan.report.origin import Origin

#: Scopes of a `Trace` for what is not in an arena: inputs, outputs and weights; what others allocate at run time. They
#: become pools of those names, see `tvm_memplan.transform.graphs.problem`.
CALLER, RUN_TIME = "caller", "run time"


@dataclass(frozen=True)
class Tensor:
    """An allocation of the function.

    Parameters
    ----------
    name : str
        Unique in the function.
    sites : tuple of Var
        The variables that ``R.builtin.alloc_tensor`` is bound to: one, or one in each branch of an `if`.
    size : TensorSize
        How large it is.
    device : int
        The index of its virtual device.
    scope : str
        Its storage scope.
    """

    name: str
    sites: tuple[Any, ...]
    size: TensorSize
    device: int
    scope: str


@dataclass(frozen=True)
class KernelCall:
    """A call of a function of the module.

    Parameters
    ----------
    step : int
        Which step it is.
    function : str
        What is called.
    arguments : tuple of frozenset of str
        The allocations behind each argument.
    variable : Var
        What the call is bound to.
    plain : bool
        Whether the arguments stand in the call as they are, one for each parameter.
    shaped : frozenset of int
        The arguments of which the function knows each dimension.
    """

    step: int
    function: str
    arguments: tuple[frozenset[str], ...]
    variable: Any
    plain: bool
    shaped: frozenset[int]


@dataclass(frozen=True)
class Argument:
    """A parameter of the function that may be a tensor.

    Parameters
    ----------
    variable : Var
        The parameter.
    tensor : str
        What its allocation is called in the graph; empty where its size is not known.
    weight : bool
        Whether it is a weight, by the function's attribute ``num_input``.
    usual : bool
        Whether it lies in the global memory of the first device.
    size : TensorSize or None
        How large it is; None where that is not known, and for what is empty.
    """

    variable: Any
    tensor: str
    weight: bool
    usual: bool
    size: TensorSize | None

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self.variable.name)


@dataclass(frozen=True)
class Output:
    """An allocation that the function hands back, as a caller could supply it.

    Parameters
    ----------
    tensor : str
        The allocation.
    position, of : int
        Its place among the tensors of the function's value, and how many those are.
    parameter : str
        What the parameter would be called.
    type : TensorType or None
        What the caller would hand over; None where that cannot be.
    reason : str
        Why not.
    """

    tensor: str
    position: int
    of: int
    parameter: str
    type: Any
    reason: str

    @property
    def title(self) -> str:
        """What people call it."""
        return f"output {self.position}" if self.of > 1 else "the output"


@dataclass(frozen=True)
class Graph:
    """A Relax function as read.

    Parameters
    ----------
    function : str
        Its name.
    body : tuple of Node
        Steps and branches. The allocations are not in it, but for those that both branches of an `if` hand over as one:
        they have an `Alloc` (without its size) at the start of the first branch.
    tensors : mapping of str to Tensor
        What it allocates that may be planned.
    outputs : mapping of str to Tensor
        What it allocates and returns.
    elsewhere : tuple of Alloc
        Inputs, weights, and what functions that it calls allocate and hand over.
    returned : frozenset of str
        Everything that may be behind the function's value.
    calls : tuple of KernelCall
        The calls of functions of the module, in order.
    left_alone : tuple of LeftAlone
        What stays at the run time's, and why.
    parameters : frozenset of Var
        The variables of shapes that are known when the function starts.
    bounds : mapping of Var to int
        The upper bounds that it was read with.
    viewed : frozenset of str
        What may have a view that begins elsewhere than at its start.
    arguments : tuple of Argument
        Its parameters.
    results : mapping of str to Output
        What a caller could supply of `outputs`, by allocation.
    kept : mapping of str to str
        Why somebody else may keep an allocation.
    origins : mapping of str to Origin
        What is known of the tensors, by the names of what holds them.
    layers : mapping of str to str
        The layer that a step computes, or a part of, by the step's operator, as far as it is known.
    """

    function: str
    body: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]
    elsewhere: tuple[Alloc, ...]
    returned: frozenset[str]
    calls: tuple[KernelCall, ...]
    left_alone: tuple[LeftAlone, ...]
    parameters: frozenset[Any]
    bounds: Mapping[Any, int]
    viewed: frozenset[str]
    arguments: tuple[Argument, ...] = ()
    results: Mapping[str, Output] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    layers: Mapping[str, str] = field(default_factory=dict)

    def allocation(self, name: str) -> Tensor:
        """What the function allocates under a name, handed back or not."""
        return self.tensors[name] if name in self.tensors else self.outputs[name]
