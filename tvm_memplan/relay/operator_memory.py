"""What one operator needs, found by lowering it alone, as the build will lower it."""

from __future__ import annotations

from typing import Any

from tvm_memplan.dialects.relay.operators import Operator, tensor_bytes, without_weights
from tvm_memplan.transform.function_plan import plan_function


class OperatorMemory:
    """Bytes that operators need on a target, each kind lowered once.

    Parameters
    ----------
    target : str
        A TVM target. The `PassContext` around has the passes.
    alignment : int
        Of every buffer in the workspace, bytes.
    """

    def __init__(self, target: str, alignment: int) -> None:
        import tvm
        from tvm.relay.backend import te_compiler

        self.target = tvm.target.Target(target)
        self.alignment = alignment
        self.compiler = te_compiler.get()
        self.compiler.clear()  # what it keeps was lowered with other passes
        self.known: dict[int, list[tuple[Any, int | None]]] = {}

    def need(self, operator: Operator) -> int | None:
        """Arguments, result and workspace, all alive while the operator runs; None where that is not known."""
        arguments = {argument: tensor_bytes(p) for p, argument in zip(operator.params, operator.arguments)}
        sizes = [*arguments.values(), tensor_bytes(operator.body)]
        workspace = self.workspace(operator.function())
        if workspace is None or None in sizes:
            return None
        return workspace + sum(size for size in sizes if size is not None)

    def workspace(self, function: Any) -> int | None:
        """The workspace of a primitive function, None when TVM cannot lower it."""
        import tvm

        function = without_weights(function)
        alike = self.known.setdefault(tvm.ir.structural_hash(function), [])
        for other, found in alike:
            if tvm.ir.structural_equal(other, function):
                return found
        alike.append((function, self._lowered(function)))
        return alike[-1][1]

    def _lowered(self, function: Any) -> int | None:
        import tvm

        typed = tvm.relay.transform.InferType()(tvm.IRModule.from_expr(function))["main"]
        try:
            module = self.compiler.lower(typed, self.target).funcs
            plans = [
                plan_function(lowered, str(name.name_hint), "first_fit_by_start", self.alignment)
                for name, lowered in module.functions.items()
                if isinstance(lowered, tvm.tir.PrimFunc)
            ]
        except Exception:
            # A schedule may fail in any way on an operator that it was not written for.
            return None
        if any(plan.captured.left_alone for plan in plans):
            return None
        return sum(region.size for plan in plans for region in plan.regions)
