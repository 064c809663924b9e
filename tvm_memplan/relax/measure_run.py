"""Runs a built Relax model to be measured; `tvm_memplan.relax.measure` starts it as a process, or calls it.

::

    pass 1    the virtual machine as users have it       what its allocator hands out (where that can be watched)
    pass 2    storages allocated one by one              what is alive at once; and what kernels ask for
    pass 3    each storage with guards behind it, filled with a pattern when it is made, and looked at after the run

The virtual machine gets its storages from a function that it finds by name, so one of ours stands before TVM's while
a model is measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np

from tvm_memplan.measuring.handover import MODEL, handed_over
from tvm_memplan.measuring.paint import GUARD, Watched, passes
from tvm_memplan.measuring.process import RESULT
from tvm_memplan.measuring.watch import BLOCK, BLOCK_FREED, MARK, Watch, alive, most_at_once

#: What stands for the pool of a storage that a function returns.
RETURNED = "returned"

_STORAGE = "vm.builtin.alloc_storage"


@contextmanager
def instead(made: Callable[..., Any]) -> Iterator[None]:
    """Let `made(original, machine, shape, device, dtype, scope)` make the storages of machines that are made inside."""
    import tvm

    original = tvm.get_global_func(_STORAGE)
    tvm.register_global_func(_STORAGE, lambda *arguments: made(original, *arguments), override=True)
    try:
        yield
    finally:
        tvm.register_global_func(_STORAGE, original, override=True)


def painted_runs(executable: Any, function: str, inputs: Sequence[Sequence[Any]]) -> list[list[Watched]]:
    """Run a function over storages that are filled with a pattern.

    Returns
    -------
    list of list of Watched
        The storages of each input, in the order in which the function allocates them; for pool they have `RETURNED`
        when the function returns what lies there, and else nothing.
    """
    import tvm
    from tvm import relax

    view = tvm.get_global_func("vm.builtin.alloc_tensor")
    found: list[list[Watched]] = [[] for _ in inputs]
    for number, flip in passes(len(inputs)):
        memories: list[Any] = []
        storages: list[Any] = []
        watched = found[number]

        def painted(original: Any, machine: Any, shape: Any, *rest: Any) -> Any:
            (size,) = (int(extent) for extent in shape)
            storage = original(machine, tvm.runtime.ShapeTuple([size + GUARD]), *rest)
            whole = view(storage, 0, tvm.runtime.ShapeTuple([size + GUARD]), tvm.DataType("uint8"))
            memory: Any = np.from_dlpack(whole)
            if len(memories) == len(watched):  # noqa: B023 - it is called before the loop goes on
                watched.append(Watched("", size, 0))  # noqa: B023
            one = watched[len(memories)]  # noqa: B023
            one.fill(memory, flip)  # noqa: B023
            memories.append(memory)  # noqa: B023
            storages.append(whole)  # noqa: B023
            return storage

        with instead(painted):
            machine = relax.VirtualMachine(executable, tvm.cpu())
            given = [_in(value) for value in inputs[number]]
            kept = machine[function](*given)
        returned = [int(tensor.data_ptr()) for tensor in _tensors(kept)]
        for one, memory in zip(watched, memories):
            one.look(memory, flip)
            start = memory.ctypes.data
            if any(start <= address < start + memory.size for address in returned):
                one.pool = RETURNED
        del kept
    return found


def _tensors(value: Any) -> list[Any]:
    """Every tensor in what a function returned."""
    if hasattr(value, "numpy"):
        return [value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return []
    return [tensor for part in value for tensor in _tensors(part)]


def _in(value: Any) -> Any:
    import tvm

    return tvm.runtime.tensor(np.asarray(value, order="C")) if isinstance(value, np.ndarray) else value


def _counted(path: str, function: str, values: Sequence[Any], watch: Watch, kind: str) -> dict[str, Any]:
    """Load, run twice, and return the events of loading and of the second run, and the storages of that."""
    import tvm
    from tvm import relax

    asked: list[int] = []

    def noted(original: Any, machine: Any, shape: Any, *rest: Any) -> Any:
        (size,) = (int(extent) for extent in shape)
        asked.append(size)
        watch.mark(size)
        return original(machine, shape, *rest)

    given = [_in(value) for value in values]
    begin = len(watch.events())
    with watch.on():
        library = tvm.runtime.load_module(path)
        with instead(noted):
            machine = relax.VirtualMachine(library, tvm.cpu(), memory_cfg=kind)
        loaded = len(watch.events())
        result = machine[function](*given)
        # What the caller supplied for a result is among its arguments.
        supplied = {int(tensor.data_ptr()) for tensor in given}
        sizes = [int(t.numpy().nbytes) for t in _tensors(result) if int(t.data_ptr()) not in supplied]
        del result
        first = len(watch.events())
        asked.clear()
        result = machine[function](*given)
        del result
    events = watch.events()
    blocks = [e for e in events[loaded:] if not e.inside]
    return {
        "constants": alive(events[begin:loaded], BLOCK, BLOCK_FREED),
        "at_once": most_at_once(blocks, BLOCK, BLOCK_FREED),
        "storages_at_once": most_at_once([e for e in blocks if e.kind != MARK], BLOCK, BLOCK_FREED),
        "storages": list(asked),
        "returned": sizes,
        "pages": most_at_once([e for e in events[begin:] if e.inside or e.kind == BLOCK_FREED], BLOCK, BLOCK_FREED),
        "run": [astuple(event) for event in events[first:]],
        "lost": watch.lost,
    }


def main(folder: Path) -> None:
    """Measure the model in a folder, and leave the result there."""
    # Where PyTorch is installed, TVM imports it, which takes longer than all that is done here.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
    import tvm

    spec, inputs, _ = handed_over(folder)
    path = str(folder / MODEL)
    result: dict[str, Any] = {}
    watch = Watch.here()
    if watch is not None:
        for kind in ("pooled", "naive"):
            result[kind] = _counted(path, spec["function"], inputs[0], watch, kind)
    seen = painted_runs(tvm.runtime.load_module(path), spec["function"], inputs)
    result["storages"] = [[asdict(one.arena()) for one in storages] for storages in seen]
    (folder / RESULT).write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
