"""How a lowered function becomes traces: what both lines have in common, statement by statement.

Every allocation becomes an `Alloc` in the loop or branch that holds it, every store, call and condition becomes a
`Step` that reads and writes roots. A root is left alone, with a reason, as soon as something happens to it that is
not understood; the rest of the function is planned all the same.

The two lines share the names and fields of most statements. A dialect derives its reader from `Reader`, adds a
method ``_NodeName`` for each kind of statement of its own, and says how expressions are walked and buffers seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tvm_memplan.dialects.accesses import Accesses, View
from tvm_memplan.dialects.arenas import APART
from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.elements import Allocation, constant, element_bytes, natural_alignment
from tvm_memplan.dialects.extents import Extents, Unit
from tvm_memplan.dialects.launches import LAUNCH, SHARED, Launch, leave_together
from tvm_memplan.dialects.positions import Entered, Positions
from tvm_memplan.dialects.roots import Roots, Storage
from tvm_memplan.dialects.textures import TextureAllocation, shape_of
from tvm_memplan.planning.trace import Alloc, Branch, Loop, Node, Trace, restricted
from tvm_memplan.report.memory import LeftAlone

# Attributes on a storage variable that a planned buffer satisfies by itself.
_DROPPED = frozenset({"storage_alignment"})
# The same for shared memory: hints for ThreadSync, which has run, and does without them when it runs again.
_DROPPED_SHARED = frozenset({"double_buffer_scope", "double_buffer_write"})

# The values of ForKind, which both lines share.
_SERIAL, _PARALLEL, _VECTORIZED, _UNROLLED, _THREAD_BINDING = 0, 1, 2, 3, 4


def is_dropped(key: str, scope: str) -> bool:
    """Whether a rewriter may drop the attribute `key` of a planned buffer in `scope`."""
    return key in _DROPPED or (scope in SHARED and key in _DROPPED_SHARED)


class NotUnderstood(Exception):
    """The IR holds a node that this dialect does not know; the function is left as it was."""


@dataclass(frozen=True)
class Placed:
    """Stands in a list of nodes for an `Alloc` that is made when the body has been read."""

    var: Any


class Reader:
    """One pass over one function; the names of roots are unique in the function."""

    #: What the start of an arena is sure to be aligned to, in bytes; None where an arena gets what it asks for.
    base_alignment: int | None = None
    #: What a texture may have in each dimension, None where the target does not say.
    texture_limits: tuple[int | None, ...] = ()

    def __init__(self, function: str, alignment: int, extents: Extents, scopes: Sequence[str] = ("global",)) -> None:
        self.function = function
        self.alignment = alignment
        self.extents = extents
        self.scopes = scopes
        self.launch: Launch | None = None  # the one that is being read
        self.launches: dict[int, Launch] = {}  # by region
        self.roots = Roots()
        self.positions = Positions(self.type_of)
        self.attributes: dict[Any, list[tuple[str, Any]]] = {}  # seen on a variable before its allocation
        self.outside: list[str] = []  # why an allocation here cannot be planned, innermost last
        self.jumps = 0  # breaks and continues seen so far
        self.region = [0]
        self.regions: list[tuple[str, Any, tuple[Node, ...]]] = [("body", None, ())]

    # -- what a dialect provides -----------------------------------------------------------------------------------

    def statement(self, stmt: Any) -> tuple[Node, ...]:
        """The nodes of one statement, its body included."""
        raise NotImplementedError

    def expression(self, accesses: Accesses, expr: Any, keeps: str = "") -> None:
        """Add what `expr` touches; `keeps` as for `Accesses.pointer`, when the statement keeps the value."""
        raise NotImplementedError

    def view(self, buffer: Any, indices: Any) -> View:
        """`buffer`, accessed at `indices`."""
        raise NotImplementedError

    def storage_of(self, node: Any) -> Any | None:
        """The storage variable that the node of an attribute is, None when it is something else."""
        raise NotImplementedError

    def type_of(self, expr: Any) -> str:
        """The type of an expression, as text."""
        raise NotImplementedError

    def barred(self) -> str:
        """Why what is touched here may be accessed with one type only, empty where it may with several."""
        return ""

    def call_of(self, expr: Any) -> tuple[str, tuple[Any, ...]]:
        """The name and the arguments of a call."""
        raise NotImplementedError

    def parts(self, expr: Any) -> Iterable[Any]:
        """The direct sub-expressions of `expr`."""
        raise NotImplementedError

    # -- results ---------------------------------------------------------------------------------------------------

    def captured(self, body: Any) -> Captured:
        """Read `body` and cut it into regions, without the storages that are left alone.

        Raises
        ------
        NotUnderstood
            When it cannot be read at all.
        """
        try:
            self.regions[0] = ("body", None, self.statement(body))
        except RecursionError:
            raise NotUnderstood("an expression or statement is nested too deeply") from None
        self.roots.settle()
        regions: list[Region] = []
        for index, (name, anchor, body) in enumerate(self.regions):
            if index in self.launches:
                regions += self._shared(index, name, anchor, body)
                continue
            present = [s for s in self.roots.storages.values() if s.region == index]
            kinds = dict.fromkeys(_of_one_type(s) for s in present if _of_one_type(s))
            for kind, unit in product(("", *kinds), (None, *self.extents.units)):
                mine = [s for s in present if self._belongs(s, index, unit) and _of_one_type(s) == kind]
                if mine:
                    title = (f"{name}.{kind}" if kind else name) + ("" if unit is None else f"[{unit.text}]")
                    trace = Trace(restricted(body, {s.name for s in mine}))
                    flat = {s.name: s.var for s in mine if s.texture is None}
                    shapes = {s.name: s.texture for s in mine if s.texture is not None}
                    handles = {s.name: s.var for s in mine if s.texture is not None}
                    elements = {s.name: s.element for s in mine if s.texture is None}
                    regions.append(Region(title, trace, anchor, flat, elements, unit, self.alignment, shapes, handles))
        left = (s for s in self.roots.storages.values() if s.reason)
        alone = tuple(LeftAlone(s.name, self.function, s.scope, s.size, s.reason) for s in left)
        return Captured(self.function, tuple(regions), alone, dict(self.roots.aliases), self._upper_bounds())

    def _upper_bounds(self) -> dict[Any, int]:
        """The declared upper bounds that what is planned rests on, by parameter."""
        resting = [storage.bounds for storage in self.roots.storages.values() if not storage.reason]
        return {parameter: self.extents.declared[parameter] for bounds in resting for parameter in bounds}

    @staticmethod
    def _belongs(storage: Storage, region: int, unit: Unit | None) -> bool:
        return storage.region == region and storage.unit is unit and not storage.reason

    def _shared(self, index: int, name: str, anchor: Any, body: tuple[Node, ...]) -> Iterable[Region]:
        """The regions of a launch."""
        launch = self.launches[index]
        storages = [storage for storage in self.roots.storages.values() if storage.region == index]
        leave_together(storages)
        for scope, unit in product(SHARED, (None, *self.extents.units)):
            members = [s for s in storages if s.scope == scope and self._belongs(s, index, unit)]
            mine, elements = {s.name: s.var for s in members}, {s.name: s.element for s in members}
            if mine:
                copied = frozenset(name for name in launch.copied if name in mine)
                trace = Trace(restricted(launch.trace_body(body), mine), live_out=copied)
                title = f"{name}.{scope}" + ("" if unit is None else f"[{unit.text}]")
                yield Region(title, trace, anchor, mine, elements, unit, scope=scope)

    # -- statements ------------------------------------------------------------------------------------------------

    def whole(self, stmt: Any) -> tuple[Node, ...]:
        """The nodes of one statement, by the method of its kind."""
        read = getattr(self, f"_{type(stmt).__name__}", None)
        if read is None:
            raise NotUnderstood(f"statement {type(stmt).__name__} is not lowered far enough: run after FlattenBuffer")
        result: tuple[Node, ...] = read(stmt) if self.launch is None else self.launch.statement(stmt, read)
        return result

    def placed(self, nodes: Iterable[Node | Placed]) -> tuple[Node, ...]:
        """`nodes` with their allocations made.

        To be called when the whole body has been read: views and attributes in it may ask for more alignment.
        """
        return tuple(self._alloc(node) if isinstance(node, Placed) else node for node in nodes)

    def _alloc(self, placed: Placed) -> Alloc:
        storage = self.roots.storages[placed.var]
        size = storage.size or 0  # a size that is not known is a reason to leave it alone, which drops the node
        return Alloc(storage.name, size, storage.alignment, storage.scope, fresh=True)

    def allocated(self, var: Any, what: Allocation, reason: str = "", alignment: int = 1) -> Placed:
        """Note that `what` is allocated here for `var`; `reason` says why it has to stay as it is."""
        reason = what.why_not_planned() or reason or self._why_not_here(what.scope)
        if var in self.roots.storages:
            self.roots.leave(var, "the same variable is allocated at two places")
        else:
            name = _unique(what.name, {storage.name for storage in self.roots.storages.values()})
            region = self.region[-1]
            if what.scope in SHARED and self.launch is not None:
                region = self.launch.region
            size, wanted = what.size(), 1 if what.scope in SHARED else self.alignment
            element = element_bytes(what.dtype) or 1
            least = max(element, alignment)
            # Of a symbolic size it is the unit that is rounded up.
            natural = least if what.unit is not None else max(natural_alignment(size or 0, wanted), least)
            full = max(wanted, least)
            self.roots.storages[var] = Storage(
                name, var, what.scope, size, natural, reason, region, full, what.unit, what.bounds, element
            )
        for key, value in self.attributes.pop(var, ()):
            self._attribute(var, key, value)
        return Placed(var)

    def _why_not_here(self, scope: str) -> str:
        outside = self.outside
        if scope.partition(".texture")[0] not in self.scopes:
            return _LATER.format(scope) if scope in SHARED else f"scope {scope!r} was not asked for"
        if scope in SHARED:
            if self.launch is None:
                return f"it is {scope} memory outside a device launch"
            outside = outside[self.launch.depth :]
        return outside[-1] if outside else ""

    def jump(self) -> None:
        """A break or continue stands here: what stands behind it may be skipped."""
        self.jumps += 1
        self.extents.unsure += 1

    def accesses(self) -> Accesses:
        """The accesses of one statement, empty yet."""
        inside = None if self.launch is None else self.launch.region
        return Accesses(self.roots, self.barred(), self.positions, inside)

    def texture(self, var: Any, what: TextureAllocation) -> Placed:
        """Note that the texture `what` is allocated here for `var`."""
        reason = "it is a texture that is allocated inside a parallel loop" if self.region[-1] else ""
        placed, storage = self.allocated(var, what, reason), self.roots.storages[var]
        storage.texture = shape_of(what)
        storage.alignment = 1  # nobody counts its bytes
        return placed

    def use(self, label: str, *expressions: Any, keeps: str = "") -> tuple[Node, ...]:
        """A step that evaluates `expressions`."""
        accesses = self.accesses()
        for expression in expressions:
            self.expression(accesses, expression, keeps)
        return accesses.steps(label)

    def _BufferStore(self, stmt: Any) -> tuple[Node, ...]:
        accesses = self.accesses()
        self.expression(accesses, stmt.value, "it is stored in memory")
        for index in stmt.indices:
            self.expression(accesses, index)
        target = self.view(stmt.buffer, stmt.indices)
        if getattr(stmt, "predicate", None) is not None:
            self.expression(accesses, stmt.predicate)
            target = replace(target, index=None)
        accesses.store(target)
        return accesses.steps(f"{stmt.buffer.name} = ...")

    def _IfThenElse(self, stmt: Any) -> tuple[Node, ...]:
        self.extents.unsure += 1
        then = self.statement(stmt.then_case)
        orelse = self.statement(stmt.else_case) if stmt.else_case is not None else ()
        self.extents.unsure -= 1
        if self.launch is not None:
            then, orelse = (self.launch.settled(body, stmt.condition) for body in (then, orelse))
        return (*self.use("if", stmt.condition), Branch(then, orelse))

    def _While(self, stmt: Any) -> tuple[Node, ...]:
        jumps = self.jumps
        self.extents.unsure += 1
        head = self.use("while", stmt.condition)
        body = head + self.statement(stmt.body)
        self.extents.unsure -= 1
        if self.launch is None:
            return (Loop(body),)
        # The condition is looked at once more when the loop ends, by each thread at its own time.
        return (Loop(self.launch.settled(body, stmt.condition, certain=self.jumps == jumps)), *head)

    def _For(self, stmt: Any) -> tuple[Node, ...]:
        step = getattr(stmt, "step", None)
        head = self.use(f"for {stmt.loop_var.name}", stmt.min, stmt.extent, *(() if step is None else (step,)))
        extent, jumps = constant(stmt.extent), self.jumps
        loop = self.positions.enter(stmt.loop_var, stmt.min, stmt.extent, step)
        self.extents.ranges.append((stmt.loop_var, stmt.min, stmt.extent))
        runs = extent is not None and extent > 0
        self.extents.unsure += not runs
        if self.launch is not None:
            self.launch.bound(stmt.loop_var, stmt.min, stmt.extent)
        if stmt.kind == _PARALLEL and not self.outside:
            body = self._parallel(stmt, loop)
        else:
            reason = {
                _VECTORIZED: "it is allocated inside a vectorised loop",
                _THREAD_BINDING: LAUNCH,
                _PARALLEL: "it is allocated inside a parallel loop of a device launch",
            }.get(int(stmt.kind))
            body = self.inside(reason, stmt.body)
        self.positions.leave(loop)
        self.extents.ranges.pop()
        self.extents.unsure -= not runs
        if self.launch is not None:
            body = self.launch.settled(body, stmt.min, stmt.extent, certain=self.jumps == jumps)
        # A jump may skip what the body writes, however often it runs.
        once, mixed = runs and self.jumps == jumps, stmt.kind not in (_SERIAL, _UNROLLED)
        return (*head, self.positions.looped(loop, self.positions.in_digits(loop, body), once, mixed))

    def _parallel(self, stmt: Any, loop: Entered) -> tuple[Node, ...]:
        if any(anchor is not None and anchor.same_as(stmt.loop_var) for _, anchor, _ in self.regions):
            return self.inside("two parallel loops share the variable of its loop", stmt.body)
        index = len(self.regions)
        self.regions.append((_unique(stmt.loop_var.name, {name for name, _, _ in self.regions}), stmt.loop_var, ()))
        self.region.append(index)
        body = self.positions.in_digits(loop, self.statement(stmt.body))
        self.region.pop()
        name, anchor, _ = self.regions[index]
        self.regions[index] = (name, anchor, body)
        return body

    def inside(self, reason: str | None, body: Any) -> tuple[Node, ...]:
        """The nodes of `body`; what it allocates is left alone for `reason`, if there is one."""
        if reason is None:
            return self.statement(body)
        self.outside.append(reason)
        nodes = self.statement(body)
        self.outside.pop()
        return nodes

    def _AttrStmt(self, stmt: Any) -> tuple[Node, ...]:
        key, owner = str(stmt.attr_key), self.storage_of(stmt.node)
        if owner is not None:
            if self.roots.of(owner) is None:
                self.attributes.setdefault(owner, []).append((key, stmt.value))
            else:
                self._attribute(owner, key, stmt.value)
        if key.startswith("async_"):
            raise NotUnderstood(f"attribute {key}: asynchronous copies are not followed yet")
        reason = _OUTSIDE.get(key)
        head = self.use(key, stmt.value)
        if key == "thread_extent" and self.launch is not None:
            self.launch.extent(stmt.node, stmt.value)
            return head + self.statement(stmt.body)
        seen = any(anchor is not None and stmt.same_as(anchor) for _, anchor, _ in self.regions)
        if key == "thread_extent" and not self.outside and not seen:
            return (*head, Loop(self._launched(stmt)))
        body = self.inside(reason, stmt.body)
        # In a scope that nobody may look into, everything from outside that is used there is alive throughout.
        return (*head, Loop(body)) if reason or key == APART else head + body

    def _launched(self, stmt: Any) -> tuple[Node, ...]:
        """The body of a launch, which is a region for its shared memory."""
        index = len(self.regions)
        self.outside.append(LAUNCH)
        launch = self.launch = self.launches[index] = Launch(index, len(self.outside), self.call_of, self.parts)
        self.regions.append((_unique("launch", {name for name, _, _ in self.regions}), stmt, ()))
        launch.extent(stmt.node, stmt.value)
        body = self.statement(stmt.body)
        self.launch = None
        self.outside.pop()
        name, anchor, _ = self.regions[index]
        self.regions[index] = (name, anchor, body)
        return body

    def _attribute(self, var: Any, key: str, value: Any) -> None:
        storage, aligned = self.roots.of(var), constant(value)
        if storage is not None and storage.scope in SHARED and key in _DROPPED_SHARED:
            return
        flat = storage is not None and storage.texture is None
        if storage is None or not flat or key != "storage_alignment" or aligned is None:
            self.roots.leave(var, f"it carries the attribute {key}")
        elif self.base_alignment is not None and aligned > self.base_alignment:
            self.roots.leave(var, f"it asks for an alignment of {aligned} bytes, which no arena is sure to have")
        else:
            storage.alignment = max(storage.alignment, aligned)


def _of_one_type(storage: Storage) -> str:
    """The only type with which `storage` may be accessed, empty where there may be several."""
    return next(iter(storage.types)) if storage.barred else ""


# Attributes whose body runs once per thread: what is allocated in there exists many times.
_OUTSIDE = {
    "thread_extent": LAUNCH,
    "device_scope": LAUNCH,
    "virtual_thread": "it is allocated inside a virtual thread",
    "pragma_parallel_launch_point": "it is allocated inside a parallel launch point",
}

_LATER = "{0} memory is planned where barriers are explicit, after ThreadSync: PlanMemory(scopes=(..., {0!r}))"


def _unique(name: str, taken: set[str]) -> str:
    """`name`, or the first of ``name#2``, ``name#3``, ... that is not taken."""
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}#{count}"
    return unique
