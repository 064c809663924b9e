"""Compiling by numba, and how long it has taken in this process: that time is nobody's time limit.

What is compiled once on a machine is kept on disk. If compiling counted, the first plan on a fresh machine would be
cut short where the second is not, and the two would differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import monotonic
from types import FunctionType
from typing import Any

_seconds = 0.0


def clock() -> float:
    """Return the seconds of `time.monotonic`, less what was spent on compiling so far."""
    return monotonic() - _seconds


@cache
def watch() -> None:
    """Start to count; to be called before anything is compiled. Imports numba."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        """Adds up compilations; those that happen inside another are part of it."""

        depth = 0
        began = 0.0

        def on_start(self, _event: Any) -> None:
            if self.depth == 0:
                self.began = monotonic()
            self.depth += 1

        def on_end(self, _event: Any) -> None:
            global _seconds
            self.depth -= 1
            if self.depth == 0:
                _seconds += monotonic() - self.began

    event.register("numba:compile", Watch())


def compiled_together(names: dict[str, Any], *functions: Callable[..., Any]) -> Callable[..., Any]:
    """Compile functions of one module, those that are called before their callers, and return the last.

    numba keeps what it compiled next to the module and looks at the module's time stamp to tell whether it is still
    right, so all of them must be in one file.
    """
    parts: dict[str, Any] = {}
    for function in functions:
        # Names are resolved when a function is compiled: give each the compiled ones that it calls.
        own = FunctionType(function.__code__, {**names, **parts}, function.__name__)
        own.__module__, own.__qualname__ = function.__module__, function.__qualname__
        parts[function.__name__] = compiled(own)
    return parts[functions[-1].__name__]  # type: ignore[no-any-return]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function; what it calls is compiled already, and lies in the same file."""
    import numba

    watch()

    # Other threads go on meanwhile: the one that shows progress, for one.
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep the compiled code
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
