"""Runs a built Relay model to be measured; `tvm_memplan.relay.measure` starts it as a process, or calls it.

::

    pass 1    TVM's executor, as users run it        what its allocators hand out (where they can be watched)
    pass 2    the model's entry, called directly     arenas with guards, filled with a pattern before each run
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np

from tvm_memplan.measuring.handover import MODEL, handed_over
from tvm_memplan.measuring.paint import GUARD, Watched, passes
from tvm_memplan.measuring.process import RESULT
from tvm_memplan.measuring.watch import BLOCK, BLOCK_FREED, Event, Watch, alive, most_at_once

_PAGE = 4096


def painted_runs(call: Any, spec: Mapping[str, Any], inputs: Sequence[Sequence[Any]], weights: Any) -> list[Watched]:
    """Run the entry over arenas that are filled with a pattern, and return what was seen of them.

    Parameters
    ----------
    call : callable
        The model's entry: inputs, outputs, and pools in the order of the specification.
    spec : mapping
        ``outputs`` (shape and type of each) and ``pools`` (what each is called, with its size; of the weights
        the size alone).
    inputs : sequence of sequence of array
        The arguments of each input.
    weights : array of bytes
        What the pool of weights holds.
    """
    import tvm

    outputs = [tvm.nd.empty(tuple(shape), dtype) for shape, dtype in spec["outputs"]]
    watched: list[Watched] = []
    memories: list[Any] = []
    pools = []
    for pool in spec["pools"]:
        if pool["pool"] is None:
            pools.append(tvm.nd.array(weights))
            continue
        # The guards are whole pages, so what lies between them begins at one.
        store = np.empty(pool["size"] + 2 * GUARD + _PAGE, np.uint8)
        first = -store.ctypes.data % _PAGE
        memory = store[first : first + pool["size"] + 2 * GUARD]
        memories.append(memory)
        watched.append(Watched(pool["pool"], pool["size"]))
        pools.append(tvm.nd.from_dlpack(memory[GUARD : GUARD + pool["size"]]))
    for number, flip in passes(len(inputs)):
        given = [tvm.nd.array(value) for value in inputs[number]]
        for one, memory in zip(watched, memories):
            one.fill(memory, flip)
        call(*given, *outputs, *pools)
        for one, memory in zip(watched, memories):
            one.look(memory, flip)
    return watched


def watched_run(library: Any, values: Sequence[Any], watch: Watch) -> tuple[list[Event], list[Event]]:
    """Load the model into TVM's executor and run it twice; the events of loading it and of the second run."""
    import tvm

    given = [tvm.nd.array(value) for value in values]
    with watch.on():
        executor = library["default"](tvm.cpu(0))
        loaded = len(watch.events())
        for i, value in enumerate(given):
            executor["set_input"](i, value)
        executor["run"]()
        first = len(watch.events())
        executor["run"]()
    events = watch.events()
    # The second run shows what every run asks for; the first also what TVM keeps for the next.
    return events[:first], events[first:] if len(events) > first else events[loaded:]


def main(folder: Path) -> None:
    """Measure the model in a folder, and leave the result there."""
    import tvm

    spec, inputs, arrays = handed_over(folder)
    library = tvm.runtime.load_module(str(folder / MODEL))
    result: dict[str, Any] = {}
    watch = Watch.here()
    if watch is not None:
        before, run = watched_run(library, inputs[0], watch)
        blocks = [e for e in before if not e.inside or e.kind == BLOCK_FREED]
        result = {
            "blocks": [e.size for e in blocks if e.kind == BLOCK],
            "at_once": most_at_once(blocks, BLOCK, BLOCK_FREED),
            "kept": alive(blocks, BLOCK, BLOCK_FREED),
            "pages": most_at_once([e for e in before if e.inside or e.kind == BLOCK_FREED], BLOCK, BLOCK_FREED),
            "run": [astuple(event) for event in run],
            "lost": watch.lost,
        }
    call = library.get_function(spec["entry"], True)
    result["arenas"] = [asdict(w.arena()) for w in painted_runs(call, spec, inputs, arrays["weights"])]
    (folder / RESULT).write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
