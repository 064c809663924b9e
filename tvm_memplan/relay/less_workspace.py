"""Both means against workspace, put into a build: `recut` after FuseOps, `InlineCopies` when operators are lowered."""

from __future__ import annotations

from typing import Any

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
