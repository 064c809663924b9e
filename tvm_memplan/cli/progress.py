"""Progress for people: on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal what is going on and how long it took; into a file or pipe, say nothing."""
    shown = sys.stderr.isatty()
    start = time.monotonic()
    if shown:
        print(f"{what} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(f"\r{what} ... {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
