"""What a dialect hands over: traces with the IR objects that their names stand for.

A function is cut into *regions*. A region is planned on its own and has an arena of its own: the function body is
one, and so is the body of every parallel loop, because each of its workers needs a private copy of what is
allocated inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.textures import TextureShape
from tvm_memplan.planning.trace import Trace
from tvm_memplan.report.memory import LeftAlone


@dataclass(frozen=True)
class Region:
    """A part of a function that has its own arena per scope.

    Parameters
    ----------
    name : str
        Unique in its function: ``"body"``, or the variable of the parallel loop.
    trace : Trace
        What the region does to the buffers that it allocates.
    anchor : object
        Where the arena goes: None for the whole body, else the loop's variable (an IR object).
    variables : mapping of str to object
        For each buffer name of the trace, the IR variable that is its storage; textures apart.
    textures : mapping of str to TextureShape
        Those of the trace that are textures, which have slots instead of an offset in the arena.
    texture_variables : mapping of str to object
        The IR variable of each of them.
    """

    name: str
    trace: Trace
    anchor: Any
    variables: Mapping[str, Any]
    textures: Mapping[str, TextureShape] = field(default_factory=dict)
    texture_variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Captured:
    """A function as read from the IR.

    Parameters
    ----------
    function : str
        Its name.
    regions : tuple of Region
        Those that allocate something that can be planned; the body first.
    left_alone : tuple of LeftAlone
        Every allocation that cannot, and why.
    aliases : mapping
        Pointer variables that stand for planned storage, as the dialect's rewriter needs them.
    """

    function: str
    regions: tuple[Region, ...]
    left_alone: tuple[LeftAlone, ...]
    aliases: Mapping[Any, Any]
