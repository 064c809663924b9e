"""Result files, written whole or not at all; and the standard output."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tvm_memplan.errors import BadInput

#: The name of a file that means the standard output.
STDOUT = "-"


def write_file(path: str, content: str | bytes) -> None:
    """Write `content`, text as UTF-8, into a temporary file beside `path`, which then takes its name.

    What is no ordinary file (a pipe, a terminal) cannot be replaced and is written to directly; `STDOUT` is the
    standard output.
    """
    if path == STDOUT:
        _print(content)
        return
    target, data = Path(path), content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            # The file that a link points at is meant, not the link.
            _replace(target.resolve(), data)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error


def _print(content: str | bytes) -> None:
    if isinstance(content, str):
        print(content, end="")
    elif sys.stdout is not None:  # closed by a caller who wants the exit code alone
        sys.stdout.flush()
        sys.stdout.buffer.write(content)


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes it private; a result is as readable as the user's other files.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
