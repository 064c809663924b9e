"""Where a buffer comes from, in the words of the model: its tensor, its layers, its place in the source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

_JOINED = re.compile(r"[\w.:/-]+(;[\w.:/-]+)+")


@dataclass(frozen=True)
class Origin:
    """What a dialect knows of a buffer besides its bytes.

    Parameters
    ----------
    shape : tuple of int or None
        Of the tensor, in elements.
    dtype : str
        Of its elements; empty where it is not known.
    layer : str
        The layer of the model whose tensor it is; empty for one that the model does not have.
    layers : tuple of str
        All layers that are computed by what writes it, in the model's order.
    source : str
        Where the layer was written, as ``file:line``; empty where it is not known.
    """

    shape: tuple[int, ...] | None = None
    dtype: str = ""
    layer: str = ""
    layers: tuple[str, ...] = ()
    source: str = ""


def short_names(names: Iterable[str]) -> dict[str, str]:
    """What each layer can be called for short, as long as no two are called the same.

    TFLite's converter calls what it fused after all its parts, ``a/Relu;a/BiasAdd;a/Conv2D``: the first is enough.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    names = tuple(dict.fromkeys(names))
    for name in names:
        meant[first_name(name)].add(name)
    return {name: first_name(name) if len(meant[first_name(name)]) == 1 else name for name in names}


def first_name(name: str) -> str:
    """The first of names that were joined by semicolons; any other name as it is."""
    return name.partition(";")[0] if _JOINED.fullmatch(name) else name
