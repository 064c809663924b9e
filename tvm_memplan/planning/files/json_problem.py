"""The fields of a problem in our JSON, written and read; `tvm_memplan.planning.files.json` shows the form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tvm_memplan.errors import BadProblem
from tvm_memplan.planning.files.fields import Field
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Pool, Problem, View

PROBLEM_FIELDS = ("pools", "buffers", "conflicts", "separate", "in_place", "views", "penalties")


def problem_fields(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain dicts, lists, strings and integers."""
    names = [buffer.name for buffer in problem.buffers]

    def pairs(of: Iterable[tuple[int, int]]) -> list[list[str]]:
        return [[names[i], names[j]] for i, j in sorted(of)]

    return {
        "pools": [
            {
                "name": pool.name,
                "capacity_bytes": pool.capacity,
                "alignment_bytes": pool.alignment,
                "granularity_bytes": pool.granularity,
                "scopes": list(pool.scopes),
            }
            for pool in problem.pools
        ],
        "buffers": [
            {
                "name": buffer.name,
                "size_bytes": buffer.size,
                "live_ranges_steps": [[live.start, live.stop] for live in buffer.live_ranges],
                "alignment_bytes": buffer.alignment,
                "scope": buffer.scope,
                "kind": buffer.kind.value,
                "pools": list(buffer.pools),
                "pinned": buffer.pinned and place_fields(buffer.pinned),
                "operator": buffer.operator,
            }
            for buffer in problem.buffers
        ],
        "conflicts": None if problem.conflicts is None else pairs(problem.conflicts),
        "separate": pairs(problem.separate),
        "in_place": pairs(problem.in_place),
        "views": [
            {"name": view.name, "root": names[view.root], "offset_bytes": view.offset, "size_bytes": view.size}
            for view in problem.views
        ],
        "penalties": [{"buffers": [names[i], names[j]], "cost": cost} for i, j, cost in sorted(problem.penalties)],
    }


def place_fields(place: Placement) -> dict[str, Any]:
    """Return a placement as a plain dict."""
    return {"pool": place.pool, "offset_bytes": place.offset}


def problem_of(document: Field) -> Problem:
    """Read a problem; BadInput says which field is wrong."""
    buffers = tuple(_buffer(field) for field in document["buffers"])
    index: dict[str, int] = {}
    for field, buffer in zip(document["buffers"], buffers):
        if buffer.name in index:
            raise field["name"].error(f"{buffer.name!r} is already buffers[{index[buffer.name]}]")
        index[buffer.name] = len(index)

    def at(field: Field) -> int:
        if field.text() not in index:
            raise field.error(f"there is no buffer {field.value!r}")
        return index[field.text()]

    def pairs(key: str) -> frozenset[tuple[int, int]]:
        found = [(field, [at(item) for item in field.several(2)]) for field in document.items(key)]
        for field, (i, j) in found:
            if i == j:
                raise field.error("must be two different buffers")
        return frozenset((i, j) for _, (i, j) in found)

    def ordered(key: str) -> frozenset[tuple[int, int]]:
        return frozenset((min(pair), max(pair)) for pair in pairs(key))

    def penalty(field: Field) -> tuple[int, int, int]:
        i, j = sorted(at(item) for item in field.only("buffers", "cost")["buffers"].several(2))
        if i == j:
            raise field["buffers"].error("must be two different buffers")
        return i, j, field["cost"].integer(1)

    try:
        return Problem(
            buffers,
            tuple(_pool(field) for field in document["pools"]),
            ordered("conflicts") if document.has("conflicts") else None,
            ordered("separate"),
            pairs("in_place"),
            tuple(_view(field, at) for field in document.items("views")),
            frozenset(penalty(field) for field in document.items("penalties")),
        )
    except BadProblem as error:
        raise document.error(str(error)) from error


def _pool(field: Field) -> Pool:
    field.only("name", "capacity_bytes", "alignment_bytes", "granularity_bytes", "scopes")
    return Pool(
        field["name"].text(),
        field["capacity_bytes"].integer() if field.has("capacity_bytes") else None,
        field["alignment_bytes"].alignment() if field.has("alignment_bytes") else 1,
        tuple(item.text() for item in field["scopes"]) if field.has("scopes") else ("global",),
        field["granularity_bytes"].alignment() if field.has("granularity_bytes") else 1,
    )


def _buffer(field: Field) -> Buffer:
    field.only(
        "name",
        "size_bytes",
        "live_ranges_steps",
        "alignment_bytes",
        "scope",
        "kind",
        "pools",
        "pinned",
        "operator",
    )
    kind = field["kind"].text() if field.has("kind") else Kind.ACTIVATION.value
    if kind not in {known.value for known in Kind}:
        raise field["kind"].error(f"must be one of {', '.join(known.value for known in Kind)}, got {kind!r}")
    try:
        return Buffer(
            field["name"].text(),
            field["size_bytes"].integer(),
            _live_ranges(field.items("live_ranges_steps")),
            field["alignment_bytes"].alignment() if field.has("alignment_bytes") else 1,
            field["scope"].text() if field.has("scope") else "global",
            Kind(kind),
            tuple(item.text() for item in field.items("pools")),
            place_of(field["pinned"].only("pool", "offset_bytes")) if field.has("pinned") else None,
            field["operator"].text() if field.has("operator") else "",
        )
    except BadProblem as error:
        raise field.error(str(error)) from error


def _live_ranges(fields: Iterable[Field]) -> tuple[LiveRange, ...]:
    """Read ``[start, stop]`` pairs."""
    found = []
    for field in fields:
        start, stop = field.several(2)
        if stop.integer(None) <= start.integer(None):
            raise field.error(f"the live range [{start.value}, {stop.value}) is empty")
        found.append(LiveRange(start.value, stop.value))
    return tuple(found)


def _view(field: Field, at: Callable[[Field], int]) -> View:
    field.only("name", "root", "offset_bytes", "size_bytes")
    size, offset = field["size_bytes"].integer(), field["offset_bytes"].integer()
    return View(field["name"].text(), at(field["root"]), offset, size)


def place_of(field: Field) -> Placement:
    """Read a placement."""
    return Placement(field["pool"].text(), field["offset_bytes"].integer())
