"""Problems and plans as JSON: everything that `tvm_memplan.planning.model` knows, and back.

A problem::

    {"format": "tvm-memplan/problem", "version": 1,
     "pools": [{"name": "sram", "capacity_bytes": 65536 or null, "alignment_bytes": 16, "granularity_bytes": 1,
                "scopes": ["global"]}],
     "buffers": [{"name": "a", "size_bytes": 640, "live_ranges_steps": [[0, 3], [5, 6]], "alignment_bytes": 1,
                  "scope": "global", "kind": "activation", "pools": ["sram"],
                  "pinned": {"pool": "sram", "offset_bytes": 0} or null, "operator": "conv"}],
     "conflicts": [["a", "b"]] or null,
     "separate": [["a", "c"]],
     "in_place": [["output", "input"]],
     "views": [{"name": "v", "root": "a", "offset_bytes": 64, "size_bytes": 64}],
     "penalties": [{"buffers": ["a", "d"], "cost": 3}]}

Live ranges are half-open, in steps. Fields of a pool or buffer other than its name and size may be left out and then
have the defaults of `Pool` and `Buffer`; lists of pairs may be left out and are then empty. ``conflicts`` that are null
or left out follow from the live ranges; a list, even an empty one, is the whole truth.

A plan::

    {"format": "tvm-memplan/plan", "version": 1, "planner": "auto",
     "problem": {...as above, without format and version...},
     "placements": [{"name": "a", "pool": "sram", "offset_bytes": 128}, ...],
     "views": [{"name": "v", "pool": "sram", "offset_bytes": 192}]}

with one placement for every buffer, in any order. Where the views lie follows from their roots and is given for
whoever reads the file without this package. A plan that is read is judged before it is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput, BadPlan, BadProblem
from tvm_memplan.planning.check import check_plan
from tvm_memplan.planning.files.fields import Field, parse
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem, View

PROBLEM = "tvm-memplan/problem"
PLAN = "tvm-memplan/plan"
VERSION = 1

_PROBLEM_FIELDS = ("pools", "buffers", "conflicts", "separate", "in_place", "views", "penalties")


def problem_to_json(problem: Problem) -> str:
    """Return a problem as JSON text that ends in a newline."""
    return _text({"format": PROBLEM, "version": VERSION, **_problem_fields(problem)})


def plan_to_json(plan: Plan) -> str:
    """Return a plan, with its problem, as JSON text that ends in a newline."""
    named = zip(plan.problem.buffers, plan.placements)
    views = zip(plan.problem.views, plan.view_placements)
    return _text(
        {
            "format": PLAN,
            "version": VERSION,
            "planner": plan.planner,
            "problem": _problem_fields(plan.problem),
            "placements": [{"name": buffer.name, **_place_fields(place)} for buffer, place in named],
            "views": [{"name": view.name, **_place_fields(place)} for view, place in views],
        }
    )


def problem_from_json(text: str, source: str = "<text>") -> Problem:
    """Read what `problem_to_json` wrote; `source` is what messages call it."""
    return problem_from(parse(text, source))


def problem_from(document: Field) -> Problem:
    """Read a problem, or the problem of a plan, from a parsed document."""
    if document.has("format") and document["format"].value == PLAN:
        return plan_from(document).problem
    _check_head(document, PROBLEM)
    document.only("format", "version", *_PROBLEM_FIELDS)
    return _problem(document)


def read_plan(path: str | Path) -> Plan:
    """Read and judge a plan in a JSON file; BadInput says what is malformed, BadPlan which rule is broken."""
    return plan_from(parse(read_text(path), str(path)))


def plan_from_json(text: str, source: str = "<text>") -> Plan:
    """Read and judge what `plan_to_json` wrote; `source` is what messages call it."""
    return plan_from(parse(text, source))


def plan_from(document: Field) -> Plan:
    """Read and judge a plan from a parsed document."""
    _check_head(document, PLAN)
    document.only("format", "version", "planner", "problem", "placements", "views")
    problem = _problem(document["problem"].only(*_PROBLEM_FIELDS))
    pools = {pool.name for pool in problem.pools}
    places = _placements(document, "placements", [buffer.name for buffer in problem.buffers], pools)
    plan = Plan(problem, tuple(places), document["planner"].text())
    if document.has("views"):
        views = _placements(document, "views", [view.name for view in problem.views], pools)
        for view, said, is_ in zip(problem.views, views, plan.view_placements):
            if said != is_:
                raise document["views"].error(f"{view.name!r} lies at byte {is_.offset} of pool {is_.pool!r}")
    try:
        check_plan(plan)
    except BadPlan as error:
        raise BadPlan(f"{document.source}: {error}") from error
    return plan


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, indent=1) + "\n"


def _problem_fields(problem: Problem) -> dict[str, Any]:
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
                "pinned": buffer.pinned and _place_fields(buffer.pinned),
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


def _place_fields(place: Placement) -> dict[str, Any]:
    return {"pool": place.pool, "offset_bytes": place.offset}


def _check_head(document: Field, wanted: str) -> None:
    if not document.has("format") or document["format"].value != wanted:
        raise document.error(f"field 'format' must be {wanted!r}")
    if document["version"].value != VERSION:
        raise document["version"].error(f"must be {VERSION}, got {document['version'].value!r}")


def _problem(document: Field) -> Problem:
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
            live_ranges(field.items("live_ranges_steps")),
            field["alignment_bytes"].alignment() if field.has("alignment_bytes") else 1,
            field["scope"].text() if field.has("scope") else "global",
            Kind(kind),
            tuple(item.text() for item in field.items("pools")),
            _place(field["pinned"].only("pool", "offset_bytes")) if field.has("pinned") else None,
            field["operator"].text() if field.has("operator") else "",
        )
    except BadProblem as error:
        raise field.error(str(error)) from error


def live_ranges(fields: Iterable[Field]) -> tuple[LiveRange, ...]:
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


def _place(field: Field) -> Placement:
    return Placement(field["pool"].text(), field["offset_bytes"].integer())


def _placements(document: Field, key: str, names: list[str], pools: set[str]) -> list[Placement]:
    """Return one placement per name, in the order of the names."""
    known = set(names)
    found: dict[str, Placement] = {}
    for field in document[key]:
        name = field.only("name", "pool", "offset_bytes")["name"]
        if name.text() not in known or name.value in found:
            raise name.error(f"{name.value!r} {'is placed twice' if name.value in found else 'is not in the problem'}")
        if field["pool"].text() not in pools:
            raise field["pool"].error(f"there is no pool {field['pool'].value!r}")
        found[name.value] = _place(field)
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise BadInput(f"{document.source}: {key}: {missing!r} has no place")
    return [found[name] for name in names]
