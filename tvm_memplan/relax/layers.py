"""What the layers of a model are called, and which variables they became: overheard while a front end reads it.

TVM's Relax front ends keep the tensors that they have made by their names in the model, and forget the names when they
are done. They are run with a table of ours in that place; nothing of TVM's is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from tvm_memplan.dialects.line import relax_dialect

#: A name, what the front end made of it, and where it was written.
Overheard = list[tuple[str, Any, str]]

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def read_onnx(model: Any, **options: Any) -> Any:
    """As `tvm.relax.frontend.onnx.from_onnx`, with the names of tensors on the variables."""
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

    heard: Overheard = []

    class Listening(ONNXGraphImporter):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._nodes = _Table(heard, lambda name: (str(name), ""))

    return _named(_with(from_onnx, ONNXGraphImporter=Listening)(model, **options), heard)


def read_tflite(model: Any) -> Any:
    """As `tvm.relax.frontend.tflite.from_tflite`, with the names of tensors on the variables."""
    from tvm.relax.frontend.tflite import from_tflite
    from tvm.relax.frontend.tflite.tflite_frontend import ExprTable

    heard: Overheard = []

    class Listening(ExprTable):  # type: ignore[misc]
        def set_expr(self, name: Any, expr: Any, *arguments: Any, **named: Any) -> None:
            super().set_expr(name, expr, *arguments, **named)
            heard.append((str(name), expr, ""))

    return _named(_with(from_tflite, ExprTable=Listening)(model), heard)


def read_exported(program: Any) -> Any:
    """As `tvm.relax.frontend.torch.from_exported_program`, with modules, nodes and lines on the variables."""
    from tvm.relax.frontend.torch import exported_program_translator as translator

    heard: Overheard = []

    class Listening(translator.ExportedProgramImporter):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.env = _Table(heard, _torch_node)

    read = _with(translator.from_exported_program, ExportedProgramImporter=Listening)
    return _named(read(program), heard)


class _Table(dict[Any, Any]):
    """A table in which a front end keeps tensors, that notes what is put into it."""

    def __init__(self, heard: Overheard, told: Callable[[Any], tuple[str, str]]) -> None:
        super().__init__()
        self.heard = heard
        self.told = told

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        name, source = self.told(key)
        self.heard.append((name, value, source))


def _torch_node(node: Any) -> tuple[str, str]:
    """The module and the name of a node, and the line of the user's program that made it."""
    meta = getattr(node, "meta", {})
    modules = [str(entry[0]) for entry in (meta.get("nn_module_stack") or {}).values()]
    path = modules[-1] if modules else ""
    frames = [frame for frame in _FRAME.findall(str(meta.get("stack_trace") or "")) if not _is_torch(frame[0])]
    name = str(getattr(node, "name", node))
    return f"{path}/{name}" if path else name, ":".join(frames[-1]) if frames else ""


def _is_torch(file: str) -> bool:
    """Whether a file is PyTorch's own: the line that matters is the user's."""
    import torch

    return file.startswith(str(Path(torch.__file__).parent))


def _with(function: Any, **names: Any) -> Any:
    """A function that finds other classes under some of the names that it uses."""
    bound = {**function.__globals__, **names}
    made = FunctionType(function.__code__, bound, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _named(module: Any, heard: Sequence[tuple[str, Any, str]]) -> Any:
    dialect = relax_dialect()
    return dialect.with_layers(module, [dialect.Noted(name, value, source) for name, value, source in heard if name])
