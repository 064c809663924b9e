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
from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files.fields import Field, parse
from tvm_memplan.planning.files.json_problem import PROBLEM_FIELDS, place_fields, place_of, problem_fields, problem_of
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Placement, Plan, Problem

PROBLEM = "tvm-memplan/problem"
PLAN = "tvm-memplan/plan"
VERSION = 1


def problem_to_json(problem: Problem) -> str:
    """Return a problem as JSON text that ends in a newline."""
    return _text({"format": PROBLEM, "version": VERSION, **problem_fields(problem)})


def plan_to_json(plan: Plan) -> str:
    """Return a plan, with its problem, as JSON text that ends in a newline."""
    named = zip(plan.problem.buffers, plan.placements)
    views = zip(plan.problem.views, plan.view_placements)
    return _text(
        {
            "format": PLAN,
            "version": VERSION,
            "planner": plan.planner,
            "problem": problem_fields(plan.problem),
            "placements": [{"name": buffer.name, **place_fields(place)} for buffer, place in named],
            "views": [{"name": view.name, **place_fields(place)} for view, place in views],
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
    document.only("format", "version", *PROBLEM_FIELDS)
    return problem_of(document)


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
    problem = problem_of(document["problem"].only(*PROBLEM_FIELDS))
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


def _check_head(document: Field, wanted: str) -> None:
    if not document.has("format") or document["format"].value != wanted:
        raise document.error(f"field 'format' must be {wanted!r}")
    if document["version"].value != VERSION:
        raise document["version"].error(f"must be {VERSION}, got {document['version'].value!r}")


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
        found[name.value] = place_of(field)
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise BadInput(f"{document.source}: {key}: {missing!r} has no place")
    return [found[name] for name in names]
