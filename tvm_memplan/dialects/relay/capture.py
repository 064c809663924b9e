"""A whole program of the Relay line: the AOT main function and the operators it calls, as one trace.

TVM's AOT executor lowers a model to a main function that allocates the tensors between operators and calls one
PrimFunc per operator, in order::

    main:  sid_1 = allocate      op_a:  pad = allocate, w = allocate_const
           op_a(input, sid_1)           pad[..] = p0[..]
           op_b(sid_1, output)          T[..] = pad[..] * w[..]

The trace is what happens if each call is replaced by the body of the operator, with the arguments in place of the
parameters. An operator that is called twice allocates its workspace at both places, under one name, because there
is one `Allocate` and hence one offset. Weights exist before the first step and after the last.

What is left alone (and named): allocations whose size is not a constant, or whose scope is not global memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tvm_memplan.dialects.positions import Positions
from tvm_memplan.dialects.relay.uses import uses_of
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import Kind
from tvm_memplan.planning.trace import Alloc, Branch, Elements, Loop, Node, Step, Trace
from tvm_memplan.report.memory import LeftAlone

#: The name of the AOT main function in a lowered module.
MAIN = "__tvm_main__"

# Scopes of TIR that are plain byte-addressed memory; the AOT executor puts what lies between operators in
# `global.workspace`.
_PLANNED_SCOPES = ("", "global", "global.workspace")

# Annotations with which TVM marks inputs and outputs that it allocates in the main function.
_OWN_IO = (("input_tensor", Kind.INPUT), ("output_tensor", Kind.OUTPUT))

_CALLS = ("tir.call_extern", "tir.tvm_call_cpacked", "tir.tvm_call_packed")


@dataclass(frozen=True)
class OperatorCall:
    """One call of an operator.

    Parameters
    ----------
    function : str
        The operator.
    buffers : frozenset of str
        Every buffer of the trace that its body can reach.
    writes : frozenset of str
        Those among its arguments that it writes.
    """

    function: str
    buffers: frozenset[str]
    writes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Program:
    """What was read from a lowered module.

    Parameters
    ----------
    trace : Trace
        Everything that happens, in order.
    statements : mapping of str to tvm.tir.Stmt
        The `Allocate` or `AllocateConst` of each buffer that the module allocates itself.
    declared_alignments : mapping of str to int
        The largest alignment in bytes that any view of a buffer declares.
    calls : tuple of OperatorCall
        The operator calls, in order.
    left_alone : tuple of LeftAlone
        Allocations that are not in the trace.
    unwritten : tuple of str
        Outputs that nothing is written to: TVM gives a tensor that is returned twice one place only.
    tensors : mapping of str to (tuple of int, str)
        Shape and element type of the buffers; of what lies inside of an operator, as it is allocated there.
    step_calls : tuple of int or None
        For each step of the trace, the index of the call that it belongs to.
    """

    trace: Trace
    statements: Mapping[str, Any]
    declared_alignments: Mapping[str, int]
    calls: tuple[OperatorCall, ...]
    left_alone: tuple[LeftAlone, ...]
    unwritten: tuple[str, ...] = ()
    tensors: Mapping[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    step_calls: tuple[int | None, ...] = ()


def capture_program(mod: Any, outputs: int | None = None) -> Program:
    """Read a lowered module that holds an AOT main function.

    Parameters
    ----------
    mod : tvm.IRModule
        With ``__tvm_main__`` and the operators it calls, lowered to loops over flat buffers.
    outputs : int or None
        How many outputs the model has, the last arguments of main; None takes those that are written.

    Raises
    ------
    UnsupportedIR
        When there is no AOT main function, or a statement is not known here.
    """
    return _Capture(mod).program(outputs)


def operator_name(function: str) -> str:
    """What people call the operator of a lowered function; TVM puts the name of the module in front."""
    _, _, fused = function.partition("_fused_")
    return f"fused_{fused}" if fused else function.removeprefix("tvmgen_default_")


def _with_producers(body: Iterable[Node]) -> list[Node]:
    """Name the operator that writes it on each tensor between operators, which TVM only numbers."""
    producers: dict[str, str] = {}

    def visit(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Step):
                for name in node.writes:
                    producers.setdefault(name, node.operator)
            elif isinstance(node, Loop):
                visit(node.body)
            elif isinstance(node, Branch):
                visit((*node.then, *node.orelse))

    nodes = list(body)
    visit(nodes)
    return [
        replace(node, operator=producers.get(node.buffer, ""))
        if isinstance(node, Alloc) and not node.operator
        else node
        for node in nodes
    ]


def _steps(nodes: Iterable[Node]) -> Iterator[Step]:
    """The steps in the order in which they are numbered."""
    for node in nodes:
        if isinstance(node, Step):
            yield node
        elif isinstance(node, Loop):
            yield from _steps(node.body)
        elif isinstance(node, Branch):
            yield from _steps((*node.then, *node.orelse))


class _Capture:
    def __init__(self, mod: Any) -> None:
        from tvm import tir

        self.tir = tir
        self.functions = {gv.name_hint: f for gv, f in mod.functions.items() if isinstance(f, tir.PrimFunc)}
        if MAIN not in self.functions:
            raise UnsupportedIR(f"the module has no AOT main function {MAIN!r}; build it with Executor('aot')")
        self.names: dict[Any, str] = {}  # the variable of an allocation -> the name of its buffer
        self.roots: dict[Any, frozenset[str]] = {}  # a pointer variable -> the buffers it may point into
        self.statements: dict[str, Any] = {}
        self.weights: dict[str, Alloc] = {}
        self.own_io: dict[Kind, set[str]] = {Kind.INPUT: set(), Kind.OUTPUT: set()}
        self.declared: dict[str, int] = {}
        self.written: set[str] = set()
        self.escaped: set[str] = set()
        self.left_alone: dict[Any, LeftAlone] = {}
        self.calls: list[OperatorCall] = []
        self.tensors: dict[str, tuple[tuple[int, ...], str]] = {}
        self.sizes: dict[str, int] = {}
        self.called_by: dict[int, int] = {}  # the call that a step belongs to, by the step's identity
        self.function = MAIN
        self.reached: set[str] = set()  # what the body of the current function can reach
        self.starts: set[Any] = set()  # pointer variables that point at the first byte of their one buffer
        self.positions = Positions(lambda expr: str(expr.dtype))

    def program(self, outputs: int | None) -> Program:
        main = self.functions[MAIN]
        supplied: dict[str, int] = {}
        for param in main.params:
            buffer = main.buffer_map.get(param)
            if buffer is not None and not self._allocates(main.body, buffer.data):
                name = self._name(buffer.data, param.name)
                self.roots[buffer.data] = frozenset({name})
                self.starts.add(buffer.data)
                supplied[name] = self._known_size(name, buffer.dtype, buffer.shape)
                self.tensors[name] = tuple(int(extent) for extent in buffer.shape), str(buffer.dtype)
        body = _with_producers(self._body(main.body))
        results = self.written if outputs is None else {*supplied} - {*list(supplied)[: len(supplied) - outputs]}
        # The caller's buffers are his before and after the run, so they are alive throughout.
        io = [Alloc(name, size, kind=Kind.OUTPUT if name in results else Kind.INPUT) for name, size in supplied.items()]
        throughout = {*supplied, *self.weights}
        trace = Trace(
            (*io, *self.weights.values(), *body),
            live_in=frozenset(throughout | self.own_io[Kind.INPUT]),
            live_out=frozenset(throughout | self.own_io[Kind.OUTPUT] | self.escaped),
        )
        made = [node.buffer for node in trace.body if isinstance(node, Alloc) and node.kind is Kind.OUTPUT]
        return Program(
            trace,
            self.statements,
            self.declared,
            tuple(self.calls),
            tuple(self.left_alone.values()),
            tuple(name for name in made if name not in self.written),
            self.tensors,
            tuple(self.called_by.get(id(step)) for step in _steps(trace.body)),
        )

    def _allocates(self, stmt: Any, data: Any) -> bool:
        """Whether TVM has moved this input or output into the pool, by an allocation at the top of main."""
        while isinstance(stmt, self.tir.Allocate) and not stmt.buffer_var.same_as(data):
            stmt = stmt.body
        return isinstance(stmt, self.tir.Allocate)

    # Statements. Those that wrap the rest of the body are walked in a loop, not by recursion: a main function
    # nests one allocation per tensor, and there may be thousands.

    def _body(self, stmt: Any) -> list[Node]:
        tir = self.tir
        nodes: list[Node] = []
        while True:
            if isinstance(stmt, tir.Allocate):
                nodes += self._allocate(stmt)
            elif isinstance(stmt, tir.AllocateConst):
                self._constant(stmt)
            elif isinstance(stmt, tir.LetStmt):
                nodes += self._let(stmt)
            elif isinstance(stmt, tir.AttrStmt):
                nodes += self._step(stmt.value)
            elif isinstance(stmt, tir.AssertStmt):
                nodes += self._step(stmt.condition)
            elif not isinstance(stmt, tir.DeclBuffer):
                return nodes + self._inner(stmt)
            stmt = stmt.body

    def _inner(self, stmt: Any) -> list[Node]:
        tir = self.tir
        if isinstance(stmt, tir.SeqStmt):
            return [node for part in stmt.seq for node in self._body(part)]
        if isinstance(stmt, tir.BufferStore):
            return self._step(*stmt.indices, stmt.value, stored=stmt)
        if isinstance(stmt, tir.Evaluate):
            return self._call(stmt.value) or self._step(stmt.value)
        if isinstance(stmt, tir.For):
            return self._step(stmt.min, stmt.extent) + self._for(stmt)
        if isinstance(stmt, tir.While):
            body = self._step(stmt.condition) + self._body(stmt.body)
            return [Loop(tuple(body))] if body else []
        if isinstance(stmt, tir.IfThenElse):
            then = tuple(self._body(stmt.then_case))
            orelse = tuple(self._body(stmt.else_case)) if stmt.else_case is not None else ()
            return self._step(stmt.condition) + ([Branch(then, orelse)] if then or orelse else [])
        raise UnsupportedIR(
            f"{self.function}: a {type(stmt).__name__} statement is not known here; "
            "the module has to be lowered to loops over flat buffers first"
        )

    def _let(self, stmt: Any) -> list[Node]:
        if stmt.var.dtype != "handle":
            self.positions.bind(stmt.var, stmt.value)
            return self._step(stmt.value)
        self._point(stmt.var, stmt.value)
        # A pointer made from pointers may point into whatever they do: an alias, not a read.
        uses = uses_of(stmt.value)
        self.roots[stmt.var] = self._resolve(*uses.reads, *uses.addresses)
        return []

    def _for(self, stmt: Any) -> list[Node]:
        tir = self.tir
        extent = int(stmt.extent.value) if isinstance(stmt.extent, tir.IntImm) else None
        loop = self.positions.enter(stmt.loop_var, stmt.min, stmt.extent)
        body = self.positions.in_digits(loop, tuple(self._body(stmt.body)))
        self.positions.leave(loop)
        mixed = stmt.kind not in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)
        return [self.positions.looped(loop, body, (extent or 0) > 0, mixed)] if body else []

    def _point(self, pointer: Any, value: Any) -> None:
        """Note whether `pointer` is bound to the first byte of one buffer."""
        from tvm_memplan.dialects.tir.expressions import is_address_of

        if is_address_of(value) and isinstance(value.args[0], self.tir.BufferLoad):
            load = value.args[0]
            first = all(isinstance(i, self.tir.IntImm) and i.value == 0 for i in load.indices)
            value = load.buffer.data if first and self._at_start(load.buffer) else None
        exact = isinstance(value, self.tir.Var) and value in self.starts
        (self.starts.add if exact else self.starts.discard)(pointer)

    def _allocate(self, stmt: Any) -> list[Node]:
        scope = stmt.buffer_var.type_annotation.storage_scope
        size = self._size(stmt.dtype, stmt.extents)
        if size is None or scope not in _PLANNED_SCOPES:
            reason = "its size is not a constant" if size is None else f"scope {scope!r} is not planned here"
            left = LeftAlone(stmt.buffer_var.name, operator_name(self.function), scope, size, reason)
            self.left_alone[stmt.buffer_var] = left
            return []
        kind, hint = (Kind.ACTIVATION if self.function == MAIN else Kind.WORKSPACE), stmt.buffer_var.name
        for annotation, io_kind in _OWN_IO:
            if annotation in stmt.annotations:
                kind, hint = io_kind, str(stmt.annotations[annotation])
        name = self._born(stmt, hint)
        self.sizes[name] = size
        if kind in self.own_io:
            self.own_io[kind].add(name)
        if self.function != MAIN:
            self.tensors[name] = tuple(int(extent) for extent in stmt.extents), str(stmt.dtype)
        # Each execution of an `Allocate` brings storage with no promise about its bytes.
        return [Alloc(name, size, kind=kind, operator=self._operator(), fresh=kind not in self.own_io)]

    def _constant(self, stmt: Any) -> None:
        name = self._born(stmt, stmt.buffer_var.name)
        size = self._known_size(name, stmt.dtype, stmt.extents)
        self.tensors[name] = tuple(int(extent) for extent in stmt.extents), str(stmt.dtype)
        self.weights[name] = Alloc(name, size, kind=Kind.WEIGHTS, operator=self._operator())

    def _born(self, stmt: Any, hint: str) -> str:
        name = self._name(stmt.buffer_var, hint)
        self.statements[name] = stmt
        self.roots[stmt.buffer_var] = frozenset({name})
        self.starts.add(stmt.buffer_var)
        self.reached.add(name)
        return name

    def _call(self, value: Any) -> list[Node]:
        """What a call of one of the module's operators does; empty when the value is no such call."""
        tir = self.tir
        if isinstance(value, tir.Call) and getattr(value.op, "name", "") == "tir.tvm_check_return":
            value = value.args[2]
        if not isinstance(value, tir.Call) or getattr(value.op, "name", "") not in _CALLS:
            return []
        name = value.args[0].value if isinstance(value.args[0], tir.StringImm) else ""
        if name not in self.functions:
            return []
        callee = self.functions[name]
        outer, self.function = (self.function, self.reached, set(self.positions.bound)), name
        self.reached = set()
        given: set[str] = set()
        for param, argument in zip(callee.params, value.args[1:]):
            if param not in callee.buffer_map:
                continue
            uses = uses_of(argument)
            buffer = callee.buffer_map[param]
            self._point(buffer.data, argument)
            self.roots[buffer.data] = self._resolve(*uses.reads, *uses.addresses)
            self.reached |= self.roots[buffer.data]
            given |= self.roots[buffer.data]
            self._note_view(buffer)
            self._note_tensor(buffer)
        nodes = self._body(callee.body)
        steps = list(_steps(nodes))
        self.called_by.update((id(step), len(self.calls)) for step in steps)
        writes = given & {written for step in steps for written in step.writes}
        self.calls.append(OperatorCall(name, frozenset(self.reached), frozenset(writes)))
        self.function, self.reached, self.positions.bound = outer
        return nodes

    def _step(self, *expressions: Any, stored: Any = None) -> list[Node]:
        uses = uses_of(*expressions)
        for view in (*uses.views, *([stored.buffer] if stored is not None else [])):
            self._note_view(view)
        addressed = self._resolve(*uses.addresses)
        reads = self._resolve(*uses.reads) | addressed
        writes = addressed if stored is None else addressed | self._resolve(stored.buffer.data)
        self.written |= writes
        if uses.keeps_addresses or (stored is not None and stored.buffer.dtype == "handle"):
            self.escaped |= addressed
        if not reads and not writes:
            return []
        elements = tuple(self._elements(uses.loads, False, addressed))
        if stored is not None:
            elements += tuple(self._elements((stored,), True, addressed))
        return [Step(operator_name(self.function), tuple(sorted(reads)), tuple(sorted(writes)), elements)]

    def _elements(self, accesses: Iterable[Any], write: bool, addressed: frozenset[str]) -> Iterable[Elements]:
        """Which elements loads or stores of one step touch; of a buffer, either all accesses are told or none."""
        told: dict[str, list[Elements]] = {}
        untold = set(addressed)
        for access in accesses:
            names = self._resolve(access.buffer.data)
            found = None
            if len(names) == 1 and access.buffer.data in self.starts and self._at_start(access.buffer):
                (name,), dtype = names, str(access.buffer.dtype)
                plain = len(access.indices) == 1 and access.predicate is None
                found = self.positions.elements(name, write, dtype, access.indices[0]) if plain else None
            if found is None:
                untold |= names
            else:
                told.setdefault(name, []).extend(found)
        return (one for name, elements in told.items() if name not in untold for one in elements)

    def _at_start(self, view: Any) -> bool:
        return isinstance(view.elem_offset, self.tir.IntImm) and view.elem_offset.value == 0

    def _resolve(self, *variables: Any) -> frozenset[str]:
        return frozenset[str]().union(*(self.roots.get(var, frozenset()) for var in variables))

    def _note_view(self, view: Any) -> None:
        for root in self._resolve(view.data):
            self.declared[root] = max(self.declared.get(root, 1), int(view.data_alignment))

    def _note_tensor(self, buffer: Any) -> None:
        """What main allocates as so many bytes is a tensor to the first operator that is given it."""
        size = self._size(buffer.dtype, buffer.shape)
        for root in self._resolve(buffer.data):
            if root not in self.tensors and size == self.sizes.get(root) and buffer.data in self.starts:
                self.tensors[root] = tuple(int(extent) for extent in buffer.shape), str(buffer.dtype)

    def _operator(self) -> str:
        return "" if self.function == MAIN else operator_name(self.function)

    def _name(self, var: Any, hint: str) -> str:
        if var not in self.names:
            base = hint if self.function == MAIN else f"{operator_name(self.function)}.{hint}"
            taken = set(self.names.values())
            name, count = base, 1
            while name in taken:
                count += 1
                name = f"{base}#{count}"
            self.names[var] = name
        return self.names[var]

    def _known_size(self, name: str, dtype: Any, extents: Any) -> int:
        size = self._size(dtype, extents)
        if size is None:
            raise UnsupportedIR(f"{name!r} has a shape that is not constant: {list(extents)}")
        return size

    def _size(self, dtype: Any, extents: Any) -> int | None:
        """Bytes by the rule TVM allocates with: whole bytes per lane, so a bool or an int4 takes one."""
        import tvm

        element = tvm.DataType(dtype)
        size = (int(element.bits) + 7) // 8 * int(element.lanes)
        for extent in extents:
            if not isinstance(extent, self.tir.IntImm):
                return None
            size *= int(extent.value)
        return size
