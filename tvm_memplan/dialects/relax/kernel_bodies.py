"""What kernels do to their arguments, statement by statement, so that a call can be replaced by the kernel's body.

::

    add(x, y, out)       becomes        loop i (8):  step add: reads x[i], y[i], writes out[i]

A kernel is lowered up to the place of StorageRewrite, its parameters are made allocations of its own, and the reader of
TIR reads it; where a parameter has an open dimension, `tvm_memplan.dialects.relax.walks` does. A parameter that is
used in a way which that does not follow is *whole*: touched from the kernel's first step to its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.elements import constants
from tvm_memplan.dialects.relax.lowered import flattened, for_cpu, kernels_of
from tvm_memplan.dialects.relax.walks import walked
from tvm_memplan.dialects.tirx import capture
from tvm_memplan.dialects.tirx.expressions import pointee
from tvm_memplan.planning.trace import Branch, Loop, Node, Step, restricted


@dataclass(frozen=True)
class KernelBody:
    """The body of a kernel.

    Parameters
    ----------
    nodes : tuple of Node
        What it does; names are those in `parameters`.
    parameters : mapping of int to str
        The parameters that are followed, by position.
    """

    nodes: tuple[Node, ...]
    parameters: Mapping[int, str]

    def called(
        self,
        label: str,
        prefix: str,
        arguments: Mapping[str, tuple[str, ...]],
        whole: Iterable[str],
        exact: Iterable[str],
    ) -> tuple[Node, ...]:
        """The body as a call does it.

        Parameters
        ----------
        label : str
            What its steps are called.
        prefix : str
            Makes the names of its loops different from those of other calls.
        arguments : mapping of str to tuple of str
            For each name in `parameters`, the allocations that may be behind the argument.
        whole : sequence of str
            Allocations that are touched all the time.
        exact : iterable of str
            Allocations of which it is known where the argument begins: at their start.
        """
        writer = _Call(label, prefix, arguments, frozenset(exact))
        around = (Step(label, tuple(whole), tuple(whole)),) if whole else ()
        return (*around, *writer.nodes(self.nodes), *around)


def kernel_bodies(module: Any) -> dict[str, KernelBody]:
    """The bodies of the kernels in a module that can be followed, by name, for the target of the context.

    Only for CPUs: what runs in a device launch is promised not to overlap, whatever a kernel says.
    """
    if not for_cpu(module):
        return {}
    kernels = kernels_of(module)
    return {name: body for name, f in flattened(kernels).items() if (body := _body(f, name)) is not None}


def _body(function: Any, name: str) -> KernelBody | None:
    views: dict[Any, Any] = {}
    for stmt in function.body.seq if isinstance(function.body, tirx.SeqStmt) else ():
        if isinstance(stmt, tirx.DeclBuffer):
            views.setdefault(pointee(stmt.data), stmt)
    uses: dict[Any, int] = {}

    def use(var: Any) -> None:
        uses[var] = uses.get(var, 0) + 1

    tvm_ffi.structural_walk(function.body, (ir.Var, use))
    made: dict[int, Any] = {}  # the buffer that stands for a parameter
    gone: set[Any] = set()
    for i, param in enumerate(function.params):
        if not is_buffer_var(param):
            continue
        if param in views and uses.get(param, 0) == 1:
            made[i] = views[param].buffer
            gone.add(views[param].buffer)
        elif param not in views and len(param.ty.shape) == 1:
            made[i] = param
    nothing = tirx.Evaluate(tirx.const(0, "int32"))
    rest = tvm_ffi.structural_map(
        function.body, (tirx.DeclBuffer, lambda stmt: nothing if stmt.buffer in gone else stmt)
    )
    if any(None in constants(buffer.ty.shape) for buffer in made.values()):
        return _walked(rest, made)
    inside = list(rest.seq) if isinstance(rest, tirx.SeqStmt) else [rest]
    probe = function.with_body(
        tirx.SeqStmt([*(tirx.AllocBuffer(buffer) for buffer in made.values()), *inside, nothing])
    )
    region = next((r for r in capture(probe, name).regions if r.anchor is None), None)
    if region is None:
        return None
    names = {var: buffer for buffer, var in region.variables.items()}
    parameters = {i: names[buffer] for i, buffer in made.items() if buffer in names}
    return KernelBody(restricted(region.trace.body, set(parameters.values())), parameters) if parameters else None


def _walked(body: Any, made: Mapping[int, Any]) -> KernelBody | None:
    nodes, plain = walked(body, {buffer: f"{i}" for i, buffer in made.items()})
    parameters = {i: f"{i}" for i in made if f"{i}" in plain}
    return KernelBody(restricted(nodes, plain), parameters) if parameters else None


@dataclass
class _Call:
    label: str
    prefix: str
    arguments: Mapping[str, tuple[str, ...]]
    exact: frozenset[str]

    def nodes(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Step):
                made.append(self.step(node))
            elif isinstance(node, Loop):
                made.append(replace(node, body=self.nodes(node.body), name=self.prefix + node.name))
            elif isinstance(node, Branch):
                made.append(Branch(self.nodes(node.then), self.nodes(node.orelse)))
        return tuple(made)

    def step(self, step: Step) -> Step:
        elements = tuple(
            replace(e, buffer=name, terms=tuple(sorted((self.prefix + loop, factor) for loop, factor in e.terms)))
            for e in step.elements
            for name in self.arguments[e.buffer]
            if name in self.exact and len(self.arguments[e.buffer]) == 1
        )
        reads, writes = (
            tuple(dict.fromkeys(name for param in names for name in self.arguments[param]))
            for names in (step.reads, step.writes)
        )
        return Step(self.label, reads, writes, elements)
