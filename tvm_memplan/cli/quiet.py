"""Keeps TVM's routine remarks off the terminal; everything else that it says is shown."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

#: Said once per operator, about nothing that a user could change: TVM asks LLVM for the host's view of a foreign
#: core, has hand-written kernels for other layouts, and would like to be tuned.
ROUTINE = (
    b"is not a recognized processor for this target",
    b"is not a recognized feature for this target",
    b"is not optimized for arm cpu",
    b"One or more operators have not been tuned",
)


@contextmanager
def quiet() -> Iterator[int]:
    """Hold back what is written to the standard error stream, and show it afterwards without the routine.

    Yields the descriptor of the stream, for whoever has something to say meanwhile.

    TVM's C++ writes to the file descriptor, so that is what is redirected: into a file, since a pipe
    could fill up while Python waits for TVM.
    """
    sys.stderr.flush()
    real = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield real
        finally:
            sys.stderr.flush()
            os.dup2(real, 2)
            os.close(real)
            held.seek(0)
            for line in held:
                if not any(words in line for words in ROUTINE):
                    os.write(2, line)
