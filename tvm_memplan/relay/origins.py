"""What the buffers of a lowered program are in the words of the model: from the calls and the layers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm_memplan.dialects.relay.capture import Program
from tvm_memplan.dialects.relay.layers import CallLayers, Layer
from tvm_memplan.planning.model import Kind
from tvm_memplan.planning.trace import Alloc
from tvm_memplan.report.origin import Origin


def program_origins(program: Program, layers: Sequence[CallLayers]) -> dict[str, Origin]:
    """What is known of each buffer, by name; `layers` has an item per call of the program, or none.

    A tensor between operators is what the first operator that writes it computes. What an operator allocates for itself
    belongs to all layers that any call of it computes. An input or output keeps the name that the model gives it.
    """
    origins = {name: Origin(shape, dtype) for name, (shape, dtype) in program.tensors.items()}
    kinds = {node.buffer: node.kind for node in program.trace.body if isinstance(node, Alloc)}
    written: set[str] = set()
    inside: dict[str, dict[Layer, None]] = {}
    for call, found in zip(program.calls, layers):
        for name in call.writes - written:
            told = origins.get(name, Origin())
            own = found.result if len(call.writes) == 1 and kinds.get(name) is not Kind.INPUT else None
            origins[name] = replace(told, layer=own.name if own else "", layers=_names(found.inside))
        written |= call.writes
        for name in call.buffers:
            if kinds.get(name, Kind.WORKSPACE) is Kind.WORKSPACE or kinds.get(name) is Kind.WEIGHTS:
                inside.setdefault(name, {}).update(dict.fromkeys(found.inside))
    for name, known in inside.items():
        if known and name not in written:
            in_order = sorted(known, key=lambda layer: layer.index)
            told = origins.get(name, Origin())
            origins[name] = replace(told, layers=_names(in_order))
    return origins


def program_step_layers(program: Program, layers: Sequence[CallLayers]) -> tuple[str, ...]:
    """The layer that each step belongs to, empty where none is known; none at all where there are no layers."""
    names = [(found.result or (found.inside or (None,))[-1]) for found in layers]
    told = [layer.name if layer else "" for layer in names]
    if not any(told):
        return ()
    return tuple(told[call] if call is not None else "" for call in program.step_calls)


def _names(layers: Sequence[Layer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(layer.name for layer in layers))
