"""How much stack a function needs, along the deepest path of calls.

Frames and calls of what GCC compiled come from its own files (``-fcallgraph-info=su``), those of the libraries from a
disassembly of the program, where a function's frame is all that it pushes or takes off the stack pointer::

    model_run 16  ->  entry 72  ->  fused_softmax 96  ->  expf 16  ->  __ieee754_expf 24        224 bytes

A frame that grows while the program runs, a call through a pointer, and a function of which nothing is known make the
figure a lower one; they are named. Interrupts come on top: at least 32 bytes each, 104 with floating-point registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tvm_memplan.errors import BadInput

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_BYTES = re.compile(r"(\d+) bytes \(([^)]*)\)")
_SYMBOL = re.compile(r"^([0-9a-f]+) .{7} \.text\S*\s+[0-9a-f]+ (?:\.hidden )?(\S+)$")
_LABEL = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*)$")
_PUSH = re.compile(r"^(push|stmdb|vpush|vstmdb)")
_CALL = re.compile(r"^(bl|b|b\.n|b\.w|blx)$")


@dataclass(frozen=True)
class Calls:
    """A call graph with frames.

    Parameters
    ----------
    frames : mapping of str to int
        Bytes of stack that a function takes itself.
    edges : mapping of str to set of str
        What it calls.
    growing : frozenset of str
        Functions whose frames have no constant size, or that call through pointers.
    """

    frames: dict[str, int] = field(default_factory=dict)
    edges: dict[str, set[str]] = field(default_factory=dict)
    growing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stack:
    """What a function needs: bytes, the path that needs them, and what makes the figure a lower one."""

    bytes: int
    path: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def compiled_calls(graphs: Iterable[str]) -> Calls:
    """Read the texts of GCC's ``.ci`` files."""
    frames: dict[str, int] = {}
    edges: dict[str, set[str]] = {}
    growing: set[str] = set()
    for text in graphs:
        for title, label in _NODE.findall(text):
            found = _BYTES.search(label)
            if found:
                frames[title] = int(found.group(1))
                if "dynamic" in found.group(2) and "bounded" not in found.group(2):
                    growing.add(title)
        for source, target in _EDGE.findall(text):
            edges.setdefault(source, set()).add(target)
    return Calls(frames, edges, frozenset(growing))


def disassembled_calls(text: str) -> Calls:
    """Read what ``objdump -t -d --no-show-raw-insn`` prints of a program for Arm's Thumb.

    A function may have several names (``__addsf3`` and ``__aeabi_fadd``), of which the disassembly shows one.
    """
    frames: dict[str, int] = {}
    edges: dict[str, set[str]] = {}
    growing: set[str] = set()
    names: dict[int, list[str]] = {}
    name = ""
    for line in text.splitlines():
        symbol = _SYMBOL.match(line)
        if symbol:
            names.setdefault(int(symbol.group(1), 16), []).append(symbol.group(2))
            continue
        label = _LABEL.match(line)
        if label:
            name = label.group(2)
            frames.setdefault(name, 0)
            for other in names.get(int(label.group(1), 16), ()):
                if other != name and not other.startswith("$"):
                    frames.setdefault(other, 0)
                    edges.setdefault(other, set()).add(name)
            continue
        found = _INSTRUCTION.match(line)
        if not name or not found:
            continue
        operation, operands = found.group(1), found.group(2).split("@")[0].split(";")[0].strip()
        frames[name] += _pushed(operation, operands)
        target = re.search(r"<([^>+]+)>", operands)
        if _CALL.match(operation) and target and target.group(1) != name:
            edges.setdefault(name, set()).add(target.group(1))
        elif operation == "blx" and not target:
            growing.add(name)
    return Calls(frames, edges, frozenset(growing))


def joined(first: Calls, second: Calls) -> Calls:
    """Return both; where they know the same function the first is believed."""
    known = set(first.frames)
    edges = {**{name: calls for name, calls in second.edges.items() if name not in known}, **first.edges}
    growing = first.growing | {name for name in second.growing if name not in known}
    return Calls({**second.frames, **first.frames}, edges, growing)


def deepest(calls: Calls, entry: str) -> Stack:
    """Return what `entry` and all it calls need.

    Raises
    ------
    BadInput
        `entry` is not known, or a function calls itself by some way.
    """
    if entry not in calls.frames:
        raise BadInput(f"function {entry!r} is not in the call graph")
    done: dict[str, Stack] = {}

    def visit(name: str, above: tuple[str, ...]) -> Stack:
        if name in above:
            raise BadInput(f"function {name!r} calls itself ({' -> '.join((*above, name))}): its stack has no bound")
        if name not in done:
            below = [visit(callee, (*above, name)) for callee in sorted(calls.edges.get(name, ()))]
            most = max(below, key=lambda stack: stack.bytes, default=Stack(0, ()))
            unknown = {other for stack in below for other in stack.unknown}
            if name not in calls.frames or name in calls.growing:
                unknown.add(name)
            done[name] = Stack(calls.frames.get(name, 0) + most.bytes, (name, *most.path), tuple(sorted(unknown)))
        return done[name]

    return visit(entry, ())


def _pushed(operation: str, operands: str) -> int:
    """Return the bytes by which an instruction moves the stack pointer down."""
    if _PUSH.match(operation) and (operation.endswith("push") or operands.startswith("sp!")):
        wide = 8 if re.search(r"\bd\d", operands) else 4
        return wide * _registers(operands[operands.index("{") + 1 : operands.index("}")])
    if operation.startswith("sub") and re.match(r"sp, (sp, )?#\d+", operands):
        return int(operands.rpartition("#")[2])
    stored = re.search(r"\[sp, #-(\d+)\]!", operands)
    return int(stored.group(1)) if stored else 0


def _registers(text: str) -> int:
    count = 0
    for item in text.split(","):
        first, _, last = item.strip().partition("-")
        digits = re.findall(r"\d+", first) + re.findall(r"\d+", last)
        count += int(digits[1]) - int(digits[0]) + 1 if last and len(digits) == 2 else 1
    return count
