"""Compiles ``watch.c``, and reads what it noted of TVM's allocators.

`Watch` is for the process that was started with the library before all others; without it, `Watch.here` returns None.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tvm_memplan.errors import BadInput

BLOCK, WORKSPACE, BLOCK_FREED, WORKSPACE_FREED, MARK = range(5)

#: Tells the process where the library is.
VARIABLE = "TVM_MEMPLAN_WATCH"


@dataclass(frozen=True)
class Event:
    """One call of an allocator.

    Parameters
    ----------
    kind : int
        BLOCK, WORKSPACE, BLOCK_FREED, WORKSPACE_FREED or MARK.
    inside : bool
        Whether a block was taken to serve a workspace.
    size : int
        Bytes; of a mark its number.
    address : int
        Of the memory.
    caller : int
        Where it was called, from the start of that library.
    """

    kind: int
    inside: bool
    size: int
    address: int
    caller: int


def compiler() -> str | None:
    """Return the C compiler of this machine, or None."""
    names = (os.environ.get("CC"), "cc", "gcc", "clang")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def why_not() -> str:
    """Say why allocators cannot be watched here; empty where they can."""
    if not sys.platform.startswith("linux"):
        return f"the watch on allocators is for Linux, not {sys.platform}"
    if compiler() is None:
        return "there is no C compiler (cc, gcc or clang) to build the watch on allocators with"
    return ""


def build_watch(folder: Path) -> Path:
    """Compile the library into a folder.

    Raises
    ------
    BadInput
        The compiler fails; the message is its own.
    """
    library = folder / "libmemplan_watch.so"
    source = Path(__file__).parent / "watch.c"
    command = [compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise BadInput(f"{command[0]} cannot compile {source.name}: {(done.stderr.strip().splitlines() or ['?'])[0]}")
    return library


class _Event(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("inside", ctypes.c_int32),
        ("size", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("caller", ctypes.c_uint64),
    )


class Watch:
    """The watch in this process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.memplan_events.restype = ctypes.POINTER(_Event)
        for name in ("memplan_count", "memplan_lost"):
            getattr(library, name).restype = ctypes.c_uint64
        real = _run_time()
        if real is not None:
            names = ("TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace")
            library.memplan_real(*(ctypes.cast(getattr(real, name), ctypes.c_void_p) for name in names))

    @classmethod
    def here(cls) -> Watch | None:
        """Return the watch, where this process was started with it. TVM must have been imported."""
        path = os.environ.get(VARIABLE, "")
        return cls(ctypes.CDLL(path)) if path else None

    @contextmanager
    def on(self) -> Iterator[None]:
        """Note what happens inside."""
        self._library.memplan_watch(1)
        try:
            yield
        finally:
            self._library.memplan_watch(0)

    def mark(self, number: int) -> None:
        """Put a mark among the events."""
        self._library.memplan_mark(ctypes.c_uint64(number))

    @property
    def lost(self) -> int:
        """How many events there was no room for."""
        return int(self._library.memplan_lost())

    def events(self, start: int = 0) -> list[Event]:
        """Return what was noted, from the event with number `start` on."""
        noted = self._library.memplan_events()
        return [
            Event(e.kind, bool(e.inside), e.size, e.address, e.caller)
            for e in (noted[i] for i in range(start, int(self._library.memplan_count())))
        ]


def _run_time() -> ctypes.CDLL | None:
    """The library of TVM's that has the real functions, among those that are loaded."""
    maps = Path("/proc/self/maps").read_text()
    for path in dict.fromkeys(re.findall(r"(/\S*/libtvm[^/\s]*\.so\S*)$", maps, re.MULTILINE)):
        library = ctypes.CDLL(path)
        try:
            # A lookup through a library's own handle finds its own function before any other.
            _ = library.TVMBackendAllocWorkspace
        except AttributeError:
            continue
        return library
    return None


def most_at_once(events: Iterable[Event], taken: int, freed: int) -> int:
    """The most bytes that were alive at once of what was taken by events of one kind and freed by another."""
    return max(_alive(events, taken, freed), default=0)


def alive(events: Iterable[Event], taken: int, freed: int) -> int:
    """The bytes that were alive in the end."""
    *_, last = (0, *_alive(events, taken, freed))
    return last


def _alive(events: Iterable[Event], taken: int, freed: int) -> Iterator[int]:
    sizes: dict[int, int] = {}
    total = 0
    for event in events:
        if event.kind == taken:
            sizes[event.address] = event.size
            total += event.size
        elif event.kind == freed:
            total -= sizes.pop(event.address, 0)
        yield total
