"""What one statement does to the roots of its function, and whether each root can still be moved after it.

The dialects walk expressions; what a load, a store or an address means for a root is the same on both lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.elements import NOT_FLAT, constant, element_bytes
from tvm_memplan.dialects.positions import Positions
from tvm_memplan.dialects.roots import Roots
from tvm_memplan.dialects.textures import TEXEL_CALLS
from tvm_memplan.planning.trace import Elements, Step

# Calls (without the dialect's prefix) that may read and write through a pointer argument, but do not keep it after
# they return. A pointer that goes anywhere else (into memory, an integer, an unknown intrinsic) makes its storage
# one that is left alone.
BORROWING_CALLS = frozenset(
    {
        "call_extern",
        "call_pure_extern",
        "call_llvm_intrin",
        "call_llvm_pure_intrin",
        "tvm_call_packed",
        "tvm_call_cpacked",
        "tvm_stack_make_array",
        "isnullptr",
        "function call",
        # Of shared memory: (pointer, offset) pairs, or pointers that were made with `tvm_access_ptr`. A copy goes on
        # after the call; see `tvm_memplan.dialects.launches`.
        "ptx_cp_async",
        "cp_async_raw",
        "ptx_ldmatrix",
        "ldmatrix",
        "ptx_mma",
        "mma_fill",
        "mma_store",
        "mma_fill_legacy",
        "mma_store_legacy",
        "tvm_load_matrix_sync",
        "tvm_store_matrix_sync",
    }
)

# The widest access that devices have.
_VECTOR_BYTES = 16


@dataclass(frozen=True)
class View:
    """A buffer that storage is accessed through.

    Parameters
    ----------
    pointer : object
        The variable that says which storage: a root or an alias.
    name : str
        Of the buffer.
    dtype : str
        Of an element.
    flat : bool
        Whether it has one dimension, and so has the access.
    shifted : bool
        Whether it says that its first element lies elsewhere than at the pointer.
    index : object
        Where it is accessed, in elements from its first; None when that is no one index, or only some lanes of it.
    lanes : int
        Elements that one access takes at once.
    """

    pointer: Any
    name: str
    dtype: str
    flat: bool
    shifted: bool
    index: Any | None = None
    lanes: int = 1


@dataclass(frozen=True)
class Visits:
    """What a walk through an expression calls.

    `load` and `store` with the `View` that an element is read or written through, `place` with one that only names
    where an address points, and `pointer` with the variable of an address and who receives it: a call's name, or the
    kind of node that holds it.
    """

    load: Callable[[View], None]
    store: Callable[[View], None]
    place: Callable[[View], None]
    pointer: Callable[[Any, str], None]


def reduced(name: str, args: Iterable[Any]) -> Sequence[Any]:
    """The elements that a reduction across threads writes; they stand among its arguments as if they were read.

    LowerThreadAllreduce replaces their buffers by others, and so has to find them by their names.
    """
    if not name.endswith(".tvm_thread_allreduce"):
        return ()
    # (how many, that many values, the condition, that many elements, thread variables)
    args = list(args)
    count = constant(args[0]) or 0
    return args[2 + count : 2 + 2 * count]


class Accesses:
    """The reads and writes of one statement, by name of the root, in order of appearance.

    `barred` says what is particular about this place, if anything: what is touched here can be moved only when all
    accesses to it, everywhere, are of one type and by its name; what belongs to region `inside`, in any case.
    """

    def __init__(
        self, roots: Roots, barred: str = "", positions: Positions | None = None, inside: int | None = None
    ) -> None:
        self.roots = roots
        self.barred = barred
        self.inside = inside
        self.positions = positions
        self.told: list[Elements] = []
        self.untold: set[str] = set()  # roots of which some elements that are touched are not known
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}

    def load(self, view: View) -> None:
        """An element is read through `view`."""
        self._through(view, self.reads, False)

    def store(self, view: View) -> None:
        """An element is written through `view`."""
        self._through(view, self.writes, True)

    def pointer(self, var: Any, receiver: str, keeps: str = "", is_pointer: bool = False) -> None:
        """The address of the storage of `var` is handed to `receiver` (a call's name, or what holds it).

        `keeps` says how the statement keeps its value beyond its end, as a store does, empty when it does not;
        `is_pointer` whether that value is a pointer, which may then be this one.
        """
        storage = self.roots.of(var)
        if storage is None:
            return
        name = receiver.rpartition(".")[2]
        if storage.texture is not None and name in TEXEL_CALLS:
            (self.writes if TEXEL_CALLS[name] else self.reads)[storage.name] = None
            return
        if storage.texture is not None:
            self.roots.leave(var, keeps or f"its handle goes into {receiver}, which may ask how large it is")
        elif name not in BORROWING_CALLS:
            self.roots.leave(var, keeps or f"its address goes into {receiver}")
        elif keeps and is_pointer and name != "isnullptr":
            self.roots.leave(var, keeps)
        # Who is given an address may read and write behind it.
        self.reads[storage.name] = self.writes[storage.name] = None
        self.untold.add(storage.name)
        # Instructions that take an address of shared memory want it as aligned as the widest vector.
        full = storage.full if storage.scope == "global" else _VECTOR_BYTES
        storage.alignment = max(storage.alignment, full)
        if self.barred and storage.region != self.inside:
            self.roots.leave(var, self.barred)

    def place(self, view: View) -> None:
        """An element of `view` is named, read or not: its storage can be moved only if the index can."""
        storage = self.roots.of(view.pointer)
        if storage is None:
            return
        unit = element_bytes(view.dtype)
        storage.types[view.dtype] = None
        if self.barred and storage.region != self.inside:
            storage.barred = self.barred
        if storage.texture is not None:
            self.roots.leave(view.pointer, "it is a texture, and is accessed by index rather than by column and row")
        elif not view.flat:
            self.roots.leave(view.pointer, NOT_FLAT)
        elif unit is None or unit & (unit - 1):
            self.roots.leave(view.pointer, f"it is viewed with elements of type {view.dtype}")
        elif view.shifted:
            self.roots.leave(
                view.pointer, f"view {view.name!r} has an element offset, which some code generators ignore"
            )
        elif not self.roots.movable(view.pointer, unit):
            self.roots.leave(view.pointer, f"pointer {view.pointer.name!r} is viewed with elements of another size")
        else:
            storage.alignment = max(storage.alignment, unit)
            if storage.scope != "global" and view.lanes > 1:
                wide = 1 << (unit * view.lanes - 1).bit_length()
                storage.alignment = max(storage.alignment, min(wide, _VECTOR_BYTES))

    def _through(self, view: View, into: dict[str, None], write: bool) -> None:
        storage = self.roots.of(view.pointer)
        if storage is not None:
            into[storage.name] = None
            self.place(view)
            touched = self._elements(view, storage.name, write)
            if touched is None:
                self.untold.add(storage.name)
            else:
                self.told += touched

    def _elements(self, view: View, name: str, write: bool) -> tuple[Elements, ...] | None:
        alias = self.roots.alias_of(view.pointer)
        if self.positions is None or alias is None or view.index is None or not view.flat or view.shifted:
            return None
        if alias.shift is not None and element_bytes(alias.dtype) != element_bytes(view.dtype):
            return None
        return self.positions.elements(name, write, view.dtype, view.index, alias.shift)

    def steps(self, label: str) -> tuple[Step, ...]:
        """One `Step`, or nothing when no root is touched."""
        if not self.reads and not self.writes:
            return ()
        told = tuple(elements for elements in self.told if elements.buffer not in self.untold)
        return (Step(label, tuple(self.reads), tuple(self.writes), told),)
