"""What the process that runs a model gets, in a folder: the model, how it is to be called, and the inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: The model's file, which whoever built it writes.
MODEL = "model.so"

_CALL, _ARRAYS = "call.json", "arrays.npz"


def hand_over(folder: Path, call: Mapping[str, Any], inputs: Sequence[Sequence[Any]], **arrays: Any) -> None:
    """Leave in `folder` how the model is to be called.

    Parameters
    ----------
    folder : Path
        Where.
    call : mapping
        What the other side has to know, as JSON has it.
    inputs : sequence of sequence of array
        The arguments of each input, as many for each.
    **arrays : array
        Whatever else is too large for JSON.
    """
    (folder / _CALL).write_text(json.dumps({**call, "inputs": len(inputs), "arguments": len(inputs[0])}))
    values = {_name(i, k): value for i, row in enumerate(inputs) for k, value in enumerate(row)}
    np.savez(folder / _ARRAYS, **values, **arrays)


def handed_over(folder: Path) -> tuple[dict[str, Any], list[list[Any]], Mapping[str, Any]]:
    """Return what `hand_over` left: how to call the model, the arguments of each input, and the other arrays."""
    call = json.loads((folder / _CALL).read_text())
    arrays = np.load(folder / _ARRAYS)
    inputs = [[arrays[_name(i, k)] for k in range(call["arguments"])] for i in range(call["inputs"])]
    return call, inputs, arrays


def _name(number: int, argument: int) -> str:
    return f"input_{number}_{argument}"
