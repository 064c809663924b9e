"""A JSON value that is being read, and what messages call it: ``plan.json: buffers[3].size: must be ...``.

Reading is strict. Whoever reads an object says which fields there may be, so that a misspelt or newer field is noticed
instead of dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tvm_memplan.errors import BadInput


class Field:
    """One value of a JSON document.

    Parameters
    ----------
    value : Any
        As `json.loads` gave it.
    source : str
        The file, for messages.
    path : str
        Where in the document, such as ``buffers[3].size``; empty for the whole.
    """

    def __init__(self, value: Any, source: str, path: str = "") -> None:
        self.value = value
        self.source = source
        self.path = path

    def error(self, what: str) -> BadInput:
        """Return the error that says `what` is wrong here."""
        return BadInput(f"{self.source}: {self.path}: {what}" if self.path else f"{self.source}: {what}")

    def only(self, *known: str) -> Field:
        """Check that this is an object with no other fields than `known`."""
        for key in self._object():
            if key not in known:
                raise self.error(f"unknown field {key!r}; known are {', '.join(known)}")
        return self

    def has(self, key: str) -> bool:
        """Whether this object has a field that is not null."""
        return self._object().get(key) is not None

    def __getitem__(self, key: str) -> Field:
        path = f"{self.path}.{key}" if self.path else key
        if key not in self._object():
            raise self.error(f"field {key!r} is missing")
        return Field(self.value[key], self.source, path)

    def items(self, key: str) -> Iterator[Field]:
        """The items of a list that may be missing or null."""
        return iter(self[key]) if self.has(key) else iter(())

    def __iter__(self) -> Iterator[Field]:
        if not isinstance(self.value, list):
            raise self.error(f"must be a list, got {self._kind()}")
        for k, item in enumerate(self.value):
            yield Field(item, self.source, f"{self.path}[{k}]")

    def several(self, count: int) -> list[Field]:
        """The items of a list of known length."""
        items = list(self)
        if len(items) != count:
            raise self.error(f"must be a list of {count}, got {len(items)}")
        return items

    def text(self) -> str:
        """The value, a string."""
        if not isinstance(self.value, str):
            raise self.error(f"must be a string, got {self._kind()}")
        return self.value

    def integer(self, least: int | None = 0) -> int:
        """The value, an integer; `least` is the smallest that is allowed."""
        # A bool is an int to Python, but nobody's size.
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.error(f"must be an integer, got {self._kind()}")
        if least is not None and self.value < least:
            raise self.error(f"must be at least {least}, got {self.value}")
        return self.value

    def alignment(self) -> int:
        """The value, a power of two."""
        value = self.integer(1)
        if value & (value - 1):
            raise self.error(f"must be a power of two, got {value}")
        return value

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(f"must be an object, got {self._kind()}")
        return self.value

    def _kind(self) -> str:
        text = json.dumps(self.value)
        return text if len(text) <= 40 else f"{text[:37]}..."


def parse(text: str, source: str) -> Field:
    """Return a JSON document; BadInput, with the line, when it is none."""
    try:
        return Field(json.loads(text, parse_constant=_refused, object_pairs_hook=_once), source)
    except json.JSONDecodeError as error:
        raise BadInput(f"{source}:{error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source}: not JSON ({error})") from error


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"field {next(n for n in names if names.count(n) > 1)!r} comes twice in one object")
    return result
