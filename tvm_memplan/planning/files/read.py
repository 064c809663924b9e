"""`read_problem`: a problem from a file of any known kind."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files.fields import Field, parse
from tvm_memplan.planning.files.json import PLAN, PROBLEM, plan_to_json, problem_from
from tvm_memplan.planning.files.minimalloc import plan_to_csv, problem_from_csv
from tvm_memplan.planning.files.pypto import pypto_problem
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.planning.model import Plan, Problem


def read_problem(path: str | Path) -> Problem:
    """Read a problem from a file.

    A file that begins like a JSON object is JSON, ours (a problem, or the problem of a plan) or PyPTO's by its fields;
    anything else is CSV.

    Raises
    ------
    BadInput
        The file cannot be read, is malformed, or is JSON of another kind; the message says where.
    """
    text = read_text(path)
    if not text.lstrip().startswith("{"):
        return problem_from_csv(text, str(path))
    document = parse(text, str(path))
    if _ours(document):
        return problem_from(document)
    if _pypto(document):
        return pypto_problem(document)
    raise document.error(f"neither {PROBLEM!r} nor {PLAN!r} nor a PyPTO problem (schema_version and problem)")


def is_problem_file(path: str | Path) -> bool:
    """Whether a file is meant as a problem: any ``.csv``, and a ``.json`` that names one of our formats or is PyPTO's.

    Models can be JSON, too, and large, so the text is only searched for those names. False for whatever cannot be read:
    then it is for the reader of models to say so.
    """
    suffix = Path(path).suffix.lower()
    if suffix != ".json":
        return suffix == ".csv"
    with suppress(BadInput):
        text = read_text(path)
        ours = any(json.dumps(name) in text for name in (PROBLEM, PLAN))
        return ours or all(f'"{name}"' in text for name in ("schema_version", "problem"))
    return False


def plan_text(plan: Plan, path: str | Path) -> str:
    """Return a plan as text for a file: JSON where its name ends in ``.json``, CSV where it ends in ``.csv``."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return plan_to_json(plan)
    if suffix == ".csv":
        return plan_to_csv(plan)
    raise BadInput(f"{path}: offsets are written as .csv or .json, and the name ends in neither")


def _ours(document: Field) -> bool:
    return document.has("format") and document["format"].value in (PROBLEM, PLAN)


def _pypto(document: Field) -> bool:
    return document.has("schema_version") and document.has("problem")
