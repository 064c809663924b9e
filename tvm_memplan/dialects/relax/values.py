"""What a Relax variable may stand for: the allocations whose bytes may be behind it.

A tensor is the set of the allocations that it may be a view of: one for what was just allocated, several behind the
value of an `if` or the result of a function that may hand back one of its arguments, none for what is no memory of
ours (shapes, numbers). A tuple is a Python tuple of such values, so that taking an item of it loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Union

Value = Union[frozenset[str], tuple["Value", ...]]

NOTHING: Value = frozenset()


def leaves(value: Value) -> frozenset[str]:
    """Every allocation that is behind any part of `value`."""
    if isinstance(value, frozenset):
        return value
    return frozenset().union(*(leaves(part) for part in value))


def leaves_of(values: Iterable[Value]) -> frozenset[str]:
    """Every allocation that is behind any of `values`."""
    return leaves(tuple(values))


def merged(one: Value, other: Value) -> Value:
    """Either of two values, as after an `if`."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(merged(a, b) for a, b in zip(one, other))
    return leaves(one) | leaves(other)


def item(value: Value, index: int) -> Value:
    """One item of a tuple; of a value whose parts are not known apart, all of it."""
    return value[index] if isinstance(value, tuple) and index < len(value) else value


def mapped(value: Value, change: Callable[[str], str]) -> Value:
    """The value with other names for its allocations."""
    if isinstance(value, tuple):
        return tuple(mapped(part, change) for part in value)
    return frozenset(change(name) for name in value)
