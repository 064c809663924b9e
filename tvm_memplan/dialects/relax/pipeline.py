"""TVM's own Relax pipelines, with another pass in the place of StaticPlanBlockMemory.

The lists of passes are not written down here: they are the installed TVM's, and change with it. The functions that make
them ask for each pass by name, so they are run with names that know one more answer; nothing of TVM's is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import tvm
from tvm import relax

from tvm_memplan.errors import BadInput

_PLACE = "StaticPlanBlockMemory"
_MAKERS = ("tvm.relax.pipeline", "tvm.relax.backend")


def standard_pipeline(target: Any, fused: bool, instead: Callable[[], Any]) -> Any:
    """The pipeline that `relax.build` uses for `target`, with another pass in its place.

    Parameters
    ----------
    target : tvm.target.Target
        What is built for.
    fused : bool
        Whether to take the pipeline of the target's backend, which fuses operators, also where `relax.build` does
        not.
    instead : callable
        Makes the pass.

    Raises
    ------
    BadInput
        TVM has no such pipeline for the target.
    """
    if "gpu" in target.keys or fused:
        try:
            return _Maker(relax.get_default_pipeline, instead)(target)
        except ValueError as error:
            raise BadInput(f"target {target}: {error}") from error
    return _Maker(relax.pipeline.default_build_pipeline, instead)()


class _Lens:
    """A module of TVM's as it looks with one pass replaced."""

    def __init__(self, module: ModuleType, instead: Callable[[], Any]) -> None:
        self.__dict__.update(_module=module, _instead=instead)

    def __getattr__(self, name: str) -> Any:
        return self._instead if name == _PLACE else _seen(getattr(self._module, name), self._instead)


class _Maker:
    """A function that makes passes; it is bound to other names when it is called, since functions may name each other.

    Only functions of TVM's pipelines are: what they are made of is not changed.
    """

    def __init__(self, function: FunctionType, instead: Callable[[], Any]) -> None:
        self.function, self.instead = function, instead

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        old = self.function
        names = {name: _seen(value, self.instead) for name, value in old.__globals__.items()}
        bound = FunctionType(old.__code__, names, old.__name__, old.__defaults__, old.__closure__)
        return bound(*arguments, **named)


def _seen(value: Any, instead: Callable[[], Any]) -> Any:
    if isinstance(value, ModuleType) and (value is tvm or value.__name__.startswith("tvm.relax")):
        return _Lens(value, instead)
    if isinstance(value, FunctionType) and value.__module__.startswith(_MAKERS):
        return _Maker(value, instead)
    return value
