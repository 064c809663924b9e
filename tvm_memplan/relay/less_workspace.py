"""Both means against workspace, put into a build: `recut` after FuseOps, `InlineCopies` when operators are lowered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.relay.operator_memory import OperatorMemory
from tvm_memplan.relay.recut import Recut, recut
from tvm_memplan.relay.targets import Configuration


def lowering_passes() -> list[tuple[int, Any]]:
    """What goes into ``tir.add_lower_pass``."""
    from tvm_memplan.transform import InlineCopies

    return [(0, InlineCopies())]


def recut_instrument(config: Configuration, moved: list[Recut]) -> Any:
    """An instrument that changes the main function in place as soon as its operators are fused.

    TVM has no place for a pass of others there. What was moved is added to `moved`.
    """
    import tvm

    return tvm.instrument.pass_instrument(_Recutting)(config, moved)


def what_was_done(moved: Sequence[Recut], mod: Any) -> tuple[str, ...]:
    """Notes for the reader of a plan of the lowered module `mod`, which has `moved` in it."""
    from tvm_memplan.transform.inline_copies import INLINED_ATTRIBUTE

    notes = []
    if moved:
        before, after = sum(cut.before for cut in moved), sum(cut.after for cut in moved)
        notes.append(
            f"{len(moved)} tensors between operators take {after:,} bytes together, where TVM ends the operators it "
            f"was {before:,}: paddings and casts belong to the operators that read them"
        )
    records = [
        record
        for function in mod.functions.values()
        for record in json.loads(str(attribute(function, INLINED_ATTRIBUTE) or "[]"))
    ]
    if records:
        size = sum(record["size"] for record in records)
        again = sum(max(record["computed"] - record["stored"], 0) for record in records)
        notes.append(
            f"{len(records)} copies of {size:,} bytes together are read through and not stored; "
            f"{again:,} elements are computed again for it (a comparison, a sum or a cast each)"
        )
    return tuple(notes)


class _Recutting:
    def __init__(self, config: Configuration, moved: list[Recut]) -> None:
        self.config = config
        self.moved = moved

    def run_after_pass(self, mod: Any, info: Any) -> None:
        from tvm import relay

        if info.name != "FuseOps" or "main" not in {var.name_hint for var in mod.functions}:
            return
        memory = OperatorMemory(self.config.target, self.config.alignment)
        main, moved = recut(mod["main"], memory)
        if moved:
            self.moved.extend(moved)
            mod.update_func(mod.get_global_var("main"), main)
            typed = relay.transform.InferType()(mod)
            mod.update_func(mod.get_global_var("main"), typed["main"])
