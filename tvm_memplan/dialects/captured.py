"""What a dialect hands over: traces with the IR objects that their names stand for.

A function is cut into *regions*. A region is planned on its own and has an arena of its own: the function body is
one, and so is the body of every parallel loop, because each of its workers needs a private copy of what is
allocated inside. The shared memory of a device launch is a region, too, one per scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.extents import Unit
from tvm_memplan.dialects.textures import TextureShape
from tvm_memplan.planning.trace import Trace
from tvm_memplan.report.memory import LeftAlone


@dataclass(frozen=True)
class Region:
    """A part of a function that has its own arena, for sizes in bytes or in one symbolic unit.

    Parameters
    ----------
    name : str
        Unique in its function: ``"body"``, the variable of the parallel loop, or ``"launch.shared"``; behind it the
        type of all accesses to it, where there may be one only, and a unit in brackets.
    trace : Trace
        What the region does to the buffers that it allocates.
    anchor : object
        Where the arena goes: None for the whole body, else the loop's variable or the launch (an IR object).
    variables : mapping of str to object
        For each buffer name of the trace, the IR variable that is its storage; textures apart.
    elements : mapping of str to int
        For each of them, the bytes of an element.
    unit : Unit or None
        What every size of the trace has to be multiplied with, None for plain bytes.
    alignment : int
        Bytes; what every place in the arena of a symbolic unit has to be a multiple of. (Plain buffers say it each.)
    textures : mapping of str to TextureShape
        Those of the trace that are textures, which have slots instead of an offset in the arena.
    texture_variables : mapping of str to object
        The IR variable of each of them.
    scope : str
        The memory that its arena lies in.
    """

    name: str
    trace: Trace
    anchor: Any
    variables: Mapping[str, Any]
    elements: Mapping[str, int]
    unit: Unit | None = None
    alignment: int = 1
    textures: Mapping[str, TextureShape] = field(default_factory=dict)
    texture_variables: Mapping[str, Any] = field(default_factory=dict)
    scope: str = "global"


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
    upper_bounds : mapping of object to int
        Parameters that must not be above a bound for the plan to hold; the rewriter has the function check that.
    """

    function: str
    regions: tuple[Region, ...]
    left_alone: tuple[LeftAlone, ...]
    aliases: Mapping[Any, Any]
    upper_bounds: Mapping[Any, int] = field(default_factory=dict)

    def checks(self) -> Iterator[tuple[Any, int, str]]:
        """Each parameter that must be from 0 to a bound, the bound, and what to say when it is not."""
        for variable, most in self.upper_bounds.items():
            text = f"{variable.name} is above {most}, the upper bound that its memory was planned with, or negative"
            yield variable, most, f"{self.function}: {text}"
