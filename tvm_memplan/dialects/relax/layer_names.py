"""Which layer each tensor of a Relax function is, found while its bindings are read in order.

After CallTIRRewrite the variable of a layer is bound right behind the kernel call that computes it::

    alloc = R.builtin.alloc_tensor(...)
    pad = R.builtin.alloc_tensor(...)
    conv2d(x, w, alloc, pad)
    conv = alloc                            alloc is layer "conv", and so belongs the step, with its scratch `pad`
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tvm_memplan.dialects.elements import constants
from tvm_memplan.dialects.relax.layers import origin_of
from tvm_memplan.dialects.relax.values import Value, leaves
from tvm_memplan.report.origin import Origin


@dataclass
class LayerNames:
    """What is known so far: `origins` by the names of tensors, and `layers` by the operators of steps."""

    origins: dict[str, Origin] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)
    fresh: list[str] = field(default_factory=list)  # allocated since the last call
    label: str = ""  # the last call
    own: frozenset[str] = frozenset()  # what was allocated for it
    used: frozenset[str] = frozenset()  # the weights that it reads

    def exists(self, name: str, shape: Any, dtype: Any, weight: bool) -> None:
        """An input or a weight."""
        self.origins[name] = Origin(_fixed(shape), str(dtype))
        self.weights |= {name} if weight else set()

    def allocated(self, name: str, shape: Any, dtype: Any) -> None:
        """A tensor that the function allocates."""
        self.origins[name] = Origin(_fixed(shape), str(dtype))
        self.fresh.append(name)

    def called(self, label: str, arguments: frozenset[str]) -> None:
        """A call that is a step of its own."""
        self.label, self.own, self.used = label, arguments & set(self.fresh), arguments & self.weights
        self.fresh = [name for name in self.fresh if name not in arguments]

    def bound(self, var: Any, value: Value) -> None:
        """A variable that is another name for tensors that are there."""
        told = origin_of(var)
        names = leaves(value)
        if not told.layers and not told.source:
            return
        known = {name for name in names if name in self.origins and name not in self.weights}
        if isinstance(value, frozenset) and len(known) == 1:
            (name,) = known
            # An input is called as the function calls it; a tensor by the first variable that has a name for it.
            here = name in self.own
            if here or (self.origins[name].layers and not self.origins[name].layer):
                self._belong([name], told)
                if told.layer and not self.origins[name].layer:
                    self.origins[name] = replace(self.origins[name], layer=told.layer, layers=told.layers)
        if not known & self.own:
            return
        self._belong(self.own, told)
        self._belong(self.used, told)
        if told.layers:
            self.layers.setdefault(self.label, told.layers[-1])

    def _belong(self, names: Iterable[str], told: Origin) -> None:
        for name in names:
            if not self.origins[name].layers and not self.origins[name].source:
                self.origins[name] = replace(self.origins[name], layers=told.layers, source=told.source)


def _fixed(shape: Any) -> tuple[int, ...] | None:
    """The extents of a shape, None where one is no constant."""
    extents = constants(list(getattr(shape, "values", shape)))
    return None if None in extents else tuple(extent for extent in extents if extent is not None)
