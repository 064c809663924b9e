"""What functions carry beside their bodies, on either line."""

from __future__ import annotations

from typing import Any


def attribute(function: Any, key: str) -> Any | None:
    """The attribute `key` of a function, None when it has none of that name, or none at all."""
    attributes = function.attrs
    return attributes[key] if attributes is not None and key in attributes else None


def target_number(function: Any, key: str, otherwise: Any = None) -> int | None:
    """A number that the target of `function`, or `otherwise` where it carries none, says of itself; None if neither."""
    target = attribute(function, "target")
    target = otherwise if target is None else target
    limit = None if target is None else target.attrs.get(key)
    return None if limit is None else int(limit)
