"""Rewriting the bindings of Relax functions, one by one, in all blocks and branches."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax.expr import _update_type


class BindingRewriter:
    """Goes through every binding of a function; a subclass says in `replaced` what stands in its place."""

    def __init__(self) -> None:
        self.builder = relax.BlockBuilder()

    def replaced(self, binding: Any) -> list[Any]:
        """The bindings in the place of one that is no `if`; just itself where nothing changes."""
        raise NotImplementedError

    def sequence(self, seq: Any) -> Any:
        """`seq` with its bindings replaced."""
        blocks = []
        for block in seq.blocks:
            kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
            blocks.append(kind([made for b in block.bindings for made in self._binding(b)], block.span))
        made = relax.SeqExpr(blocks, seq.body, seq.span)
        _update_type(made, seq.ty)
        return made

    def _binding(self, binding: Any) -> list[Any]:
        value = binding.value
        if not isinstance(value, relax.If):
            return self.replaced(binding)
        made = relax.If(value.cond, self.sequence(value.true_branch), self.sequence(value.false_branch), value.span)
        _update_type(made, value.ty)
        return [relax.VarBinding(binding.var, made, binding.span)]
