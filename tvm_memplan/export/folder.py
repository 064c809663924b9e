"""The exported folder: which files, from which template, and how they reach the disk.

::

    NAME.h  NAME.c                  sizes, offsets and the run function; arenas
    NAME_weights.h  NAME_weights.c  constants
    NAME_operators.c                what TVM generated; tvm_declarations.h is all it needs
    main.c  Makefile  README.md     an example, and how to build it
    measure.c                       the plan against reality: a program that prints what a run really uses
    startup.c  example.ld           the rest of a program for a Cortex-M
    memory.ld  arenas.ld            linker fragments: regions, and what goes where
    plan.json  report.json          the plan, and its figures

Files of a board (the last three rows but one) are there when one is named and its file has addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tvm_memplan.errors import BadInput
from tvm_memplan.export import linker
from tvm_memplan.export.cpu import compiler_prefix, cpu_flags, is_cortex_m
from tvm_memplan.export.example import example
from tvm_memplan.export.header import header
from tvm_memplan.export.measure import emulator, measure_words
from tvm_memplan.export.model import CModel, Device
from tvm_memplan.export.readme import readme
from tvm_memplan.export.source import source, weights_section
from tvm_memplan.export.weights import weights_header, weights_values
from tvm_memplan.planning.files import plan_to_json
from tvm_memplan.report.json import to_json

_TEMPLATES = Path(__file__).parent / "templates"


def files_of(model: CModel, device: Device | None = None) -> dict[str, str]:
    """Return the text of every file by its name."""
    name = model.name
    on_board = device is not None and linker.has_addresses(device) and is_cortex_m(device.cpu)
    sources = [f"{name}.c", f"{name}_operators.c", *([f"{name}_weights.c"] if model.weights else [])]
    words = {
        "NAME": name,
        "SOURCES": " ".join(sources),
        "UPPER": name.upper(),
        "CROSS": compiler_prefix(device.cpu) if device else "",
        "CPU_FLAGS": cpu_flags(device.cpu) if device else "",
        "PROGRAM": "example.elf" if on_board else "example",
        "STACK_BYTES": str(device.stack if device else 0),
        "SECTION": weights_section(model),
        "ALIGNMENT": str(model.weights_alignment),
        "STRUCT": weights_header(model),
        "VALUES": "\n".join(weights_values(model)) + ";",
        "RUN_ON": emulator(device.name) if device and on_board else "",
    }
    files = {
        f"{name}.h": header(model),
        f"{name}.c": source(model),
        f"{name}_weights.h": _filled("weights.h", words),
        f"{name}_weights.c": _filled("weights.c", words),
        f"{name}_operators.c": model.operators,
        "tvm_declarations.h": _filled("tvm_declarations.h", words),
        "main.c": example(model),
        "measure.c": _filled("measure.c", {"NAME": name, **measure_words(model, on_board)}),
        "Makefile": _filled("board.mk" if on_board else "host.mk", words),
        "README.md": readme(model, device, on_board),
        "plan.json": plan_to_json(model.plan),
        "report.json": to_json(model.report),
    }
    if not model.weights:
        del files[f"{name}_weights.c"]
    if device is not None and linker.has_addresses(device):
        files["memory.ld"] = linker.memory(device)
        files["arenas.ld"] = linker.arenas(model, device)
    if on_board:
        files["startup.c"] = _filled("startup.c", words)
        files["example.ld"] = _filled("example.ld", words)
    return files


def write_folder(files: Mapping[str, str], folder: str | Path) -> Path:
    """Write files into a folder, which is made where it is missing; other files in it stay.

    Raises
    ------
    BadInput
        The folder cannot be made or written to.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text
