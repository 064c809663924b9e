"""Names in C: letters, digits and underscores, different from each other even in capitals, and no keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = (
    "auto bool break case char const continue default do double else enum extern false float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile "
    "while asm main class new delete private public protected this template operator namespace try catch throw "
    "virtual and or not xor"
)


def identifier(name: str) -> str:
    """Return `name` with everything that C does not allow replaced by an underscore."""
    made = re.sub(r"[^0-9A-Za-z_]", "_", name).strip("_") or "unnamed"
    return f"_{made}" if made[0].isdigit() else f"{made}_" if made in _KEYWORDS.split() else made


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return a name in C for each name; macros are in capitals, so case alone does not tell two apart."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base, count = identifier(name), 1
        found = base
        while found.upper() in taken:
            count += 1
            found = f"{base}_{count}"
        taken.add(found.upper())
        made[name] = found
    return made
