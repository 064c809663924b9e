"""Text from files; what cannot be read is a `BadInput` that names the file, and the line where there is one."""

from __future__ import annotations

from pathlib import Path

from tvm_memplan.errors import BadInput


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{line}: not UTF-8 text ({error.reason} at byte {error.start})") from error
