"""What it takes to run, not only to plan: arenas, inputs and outputs, static data and stack, held against the linker.

::

    arenas                        known from the plan     = what the linker's map says, to the byte
    inputs, outputs outside them  known from the plan       (the program supplies them)
    copy of the weights           known from the plan     = the map
    static data                   .data and .bss of the model's objects and of library code it pulls in, from the map
    stack                         deepest path of calls below the run function
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tvm_memplan.errors import BadInput, BadPlan, OverBudget
from tvm_memplan.export.model import CModel
from tvm_memplan.export.source import arena_section, weights_copy_section
from tvm_memplan.export.stack import Stack, compiled_calls, deepest, disassembled_calls, joined

# An input section in a map: its name, perhaps alone in its line, then address, size and object.
_INPUT = re.compile(r"^ (\.\S+|COMMON)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class MemoryUse:
    """What a model needs to run, in bytes of RAM.

    Parameters
    ----------
    arenas : mapping of str to int
        By the name of the pool.
    supplied : int
        Inputs and outputs that the caller supplies.
    weights_copy : int
        The copy of the weights in RAM, 0 when there is none.
    static : int
        Variables of the model's own code and of the library code in the program.
    program : int
        Variables of the rest of the program: the example's, the start-up's, and inputs and outputs among them.
    stack : Stack
        What the run function needs.
    """

    arenas: Mapping[str, int]
    supplied: int
    weights_copy: int
    static: int
    program: int
    stack: Stack

    @property
    def enough(self) -> int:
        """All of it together, without the rest of the program."""
        return sum(self.arenas.values()) + self.supplied + self.weights_copy + self.static + self.stack.bytes


def make(folder: Path, *variables: str) -> None:
    """Build an exported folder.

    Raises
    ------
    OverBudget
        The linker found a region too small; the message is the linker's.
    BadInput
        There is no make or no compiler, or it fails for another reason.
    """
    try:
        done = subprocess.run(
            ["make", "-s", "-C", str(folder), *variables], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise BadInput(f"{folder}: make cannot be run: {error.strerror or error}") from error
    if done.returncode:
        over = [line.partition("ld: ")[2] or line for line in done.stderr.splitlines() if "overflowed" in line]
        if over:
            raise OverBudget(f"{folder}: the linker says: {'; '.join(over)}")
        raise BadInput(f"{folder}: make failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


def memory_use(model: CModel, folder: Path, objdump: str = "arm-none-eabi-objdump") -> MemoryUse:
    """Return what a built folder needs.

    Parameters
    ----------
    model : CModel
        What was exported into it.
    folder : Path
        Where `make` has run.
    objdump : str
        The disassembler, for the library's share of the stack.

    Raises
    ------
    BadInput
        The folder is not built.
    BadPlan
        The linker's map disagrees with the plan.
    """
    build = folder / "build"
    try:
        text = (build / "example.map").read_text(errors="replace")
        graphs = [path.read_text(errors="replace") for path in sorted(build.glob("*.ci"))]
    except OSError as error:
        raise BadInput(f"{folder}: not built; run make first ({error.strerror or error})") from error
    sizes = section_sizes(text)
    arenas = {}
    for arena in model.arenas:
        arenas[arena.pool] = arena.size
        _compare(arena_section(model, arena), arena.size, sizes)
    copy = model.weights_size if model.weights_in_ram else 0
    if copy:
        # A struct ends at a multiple of its alignment.
        copy += -copy % model.weights_alignment
        _compare(weights_copy_section(model), copy, sizes)
    planned = {arena_section(model, arena) for arena in model.arenas} | {weights_copy_section(model)}
    ours = library = program = 0
    for (section, owner), size in sizes.items():
        if section in planned or not section.startswith((".data", ".bss", "COMMON")):
            continue
        if f"lib{model.name}.a" in owner:
            ours += size
        elif ".a(" in owner:
            library += size
        else:
            program += size
    supplied = sum(tensor.size for tensor in model.supplied)
    calls = compiled_calls(graphs)
    program_file = build / "example.elf"
    if program_file.exists():
        calls = joined(calls, disassembled_calls(_disassembly(objdump, program_file)))
    return MemoryUse(arenas, supplied, copy, ours + library, program, deepest(calls, f"{model.name}_run"))


def section_sizes(text: str) -> dict[tuple[str, str], int]:
    """Return the bytes of the input sections in a linker's map, by section and object; discarded ones are left out."""
    _, _, used = text.partition("Linker script and memory map")
    sizes: dict[tuple[str, str], int] = {}
    for section, _, size, owner in _INPUT.findall(re.sub(r"^( \.\S+)\n\s+", r"\1 ", used, flags=re.MULTILINE)):
        key = section, owner.strip()
        sizes[key] = sizes.get(key, 0) + int(size, 16)
    return sizes


def _compare(section: str, planned: int, sizes: Mapping[tuple[str, str], int]) -> None:
    linked = sum(size for (name, _), size in sizes.items() if name == section)
    if linked != planned:
        raise BadPlan(f"section {section!r} has {linked} bytes in the linker's map, where the plan has {planned}")


def _disassembly(objdump: str, program: Path) -> str:
    command = [objdump, "-t", "-d", "--no-show-raw-insn", str(program)]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInput(f"{program}: {objdump} cannot read it: {error}") from error
