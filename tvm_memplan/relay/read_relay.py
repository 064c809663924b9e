"""Relay modules from text or JSON.

Both are parsed by native code, in which a damaged file can end the process. Each file is therefore read in a
process of its own first, and again here only if that one survived.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput
from tvm_memplan.model_files import require_saved_module
from tvm_memplan.relay.trial import run_trial

_TRIAL = """
import sys
import json
from pathlib import Path
from tvm_memplan.errors import BadInput
from tvm_memplan.relay import read_relay
try:
    getattr(read_relay, sys.argv[1])(Path(sys.argv[2]), Path(sys.argv[2]).read_text())
except BadInput as error:
    sys.stdout.write(str(error))
    sys.exit(3)
"""
_REFUSED = 3


def read_relay_text(path: Path, data: bytes, _shapes: dict[str, tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Read a module printed by Relay; arguments and errors as for `read_model`."""
    return _read("parse_text", path, data), {}


def read_relay_json(path: Path, data: bytes, _shapes: dict[str, tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Read a module saved by `tvm.ir.save_json`; arguments and errors as for `read_model`."""
    require_saved_module(path, data, ("root", "nodes"))
    return _read("parse_json", path, data), {}


def parse_text(path: Path, text: str) -> Any:
    """Parse Relay text in this process."""
    import tvm
    from tvm import relay

    try:
        return relay.transform.InferType()(relay.parse(text, str(path)))
    except (tvm.error.TVMError, ValueError) as error:
        raise BadInput(f"{path}: not a Relay module: {_message(error)}") from error


def parse_json(path: Path, text: str) -> Any:
    """Parse a saved module in this process."""
    import tvm
    from tvm import relay

    try:
        mod = tvm.ir.load_json(text)
    except (tvm.error.TVMError, ValueError) as error:
        raise BadInput(f"{path}: not a module saved by tvm.ir.save_json: {_message(error)}") from error
    if isinstance(mod, relay.Function):
        mod = tvm.IRModule.from_expr(mod)
    if not isinstance(mod, tvm.IRModule):
        raise BadInput(f"{path}: it holds a {type(mod).__name__}, not a module")
    if not any(isinstance(function, relay.Function) for function in mod.functions.values()):
        raise BadInput(f"{path}: it holds a module without Relay functions")
    return mod


def _read(parser: str, path: Path, data: bytes) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: it is not text (byte {error.start})") from error
    trial = run_trial(_TRIAL, parser, str(path))
    if trial.returncode == _REFUSED:
        raise BadInput(trial.stdout)
    if trial.returncode:
        raise BadInput(f"{path}: TVM's parser crashed on it (exit status {trial.returncode})")
    return globals()[parser](path, text)


def _message(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the parser refuses it, with a message that is not text"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("error:", "Check failed"))]
    return (told or lines or [type(error).__name__])[-1 if not told else 0]
