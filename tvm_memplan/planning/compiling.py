"""How long numba has compiled in this process: that time is nobody's time limit.

What is compiled once on a machine is kept on disk. If compiling counted, the first plan on a fresh machine would be
cut short where the second is not, and the two would differ.
"""

from __future__ import annotations

from functools import cache
from time import monotonic
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
