"""What a dialect hands over: traces with the IR objects that their names stand for.

A function is cut into *regions*. A region is planned on its own and has an arena of its own: the function body is
one, and so is the body of every parallel loop, because each of its workers needs a private copy of what is
allocated inside. The shared memory of a device launch is a region, too, one per scope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.planning.trace import Trace
from tvm_memplan.report.memory import LeftAlone


@dataclass(frozen=True)
class Region:
    """A part of a function that has its own arena per scope.

    Parameters
    ----------
    name : str
        Unique in its function: ``"body"``, the variable of the parallel loop, or ``"launch.shared"``.
    trace : Trace
        What the region does to the buffers that it allocates.
    anchor : object
        Where the arena goes: None for the whole body, else the loop's variable or the launch (an IR object).
    variables : mapping of str to object
        For each buffer name of the trace, the IR variable that is its storage.
    scope : str
        The memory that its arena lies in.
    """

    name: str
    trace: Trace
    anchor: Any
    variables: Mapping[str, Any]
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
    """

    function: str
    regions: tuple[Region, ...]
    left_alone: tuple[LeftAlone, ...]
    aliases: Mapping[Any, Any]
