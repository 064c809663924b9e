"""Names for what is added to a function or a module."""

from __future__ import annotations


def free(name: str, taken: set[str]) -> str:
    """Take `name`, with as many underscores behind it as it needs to be nobody's; `taken` has it from then on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
