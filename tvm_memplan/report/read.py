"""`read_report` and `read_plan_file`: a report, or a plan, from a file of any kind that holds one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files.fields import parse
from tvm_memplan.planning.files.json import PLAN, PROBLEM, plan_from, plan_from_json
from tvm_memplan.planning.files.minimalloc import problem_from_csv
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.planning.files.xla import plan_from_xla
from tvm_memplan.planning.files.xla_text import ASSIGNMENT
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Placement, Plan
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.json import FORMAT, from_json
from tvm_memplan.report.memory import MemoryReport

#: What ``tvm-memplan check --json`` and ``export --json`` write: a verdict and a report.
CHECK, EXPORT = "tvm-memplan/check", "tvm-memplan/export"


def read_report(path: str | Path) -> MemoryReport:
    """Read a report from a file.

    The file is JSON (a report, what ``check --json`` or ``export --json`` wrote, or a plan of ours), a minimalloc CSV
    with offsets, or XLA's ``*-buffer-assignment.txt`` beside its ``*-live-range.txt``. A plan is judged before its
    figures are given.

    Raises
    ------
    BadInput
        The file cannot be read, is malformed, or holds neither a report nor a plan.
    BadPlan
        The judge refuses the plan in the file.
    """
    text, name = read_text(path), Path(path).name
    if not text.lstrip().startswith("{"):
        plan, steps = _plan_of_text(text, path)
        return memory_report(plan, steps, model=name)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON: {error}") from error
    form = fields.get("format")
    if form == PLAN:
        return memory_report(plan_from_json(text, str(path)), model=name)
    if form in (CHECK, EXPORT):
        if "report" not in fields:
            raise BadInput(f"{path}: field 'report' is missing")
        text = json.dumps(fields["report"])
    elif form == PROBLEM:
        raise BadInput(f"{path}: a problem that is not planned yet; `tvm-memplan plan {path} -o plan.json` plans it")
    elif form != FORMAT:
        raise BadInput(f"{path}: field 'format' must be {FORMAT!r}, {CHECK!r}, {EXPORT!r} or {PLAN!r}, got {form!r}")
    try:
        return from_json(text)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def read_plan_file(path: str | Path) -> Plan:
    """Read and judge a plan from a file of any kind that holds one; errors as for `read_report`.

    A report is no plan: it does not say what constrains the buffers, nor in which order the problem has them.
    """
    text = read_text(path)
    if not text.lstrip().startswith("{"):
        return _plan_of_text(text, path)[0]
    document = parse(text, str(path))
    if document.has("format") and document["format"].value in (FORMAT, CHECK, EXPORT):
        raise document.error(
            "a report does not say in which order a runtime counts its buffers; give the plan, which `tvm-memplan plan "
            "PROBLEM -o plan.json` writes, and `export` into its folder"
        )
    return plan_from(document)


def _plan_of_text(text: str, path: str | Path) -> tuple[Plan, Sequence[str]]:
    if not text.startswith(ASSIGNMENT):
        return _csv_plan(text, str(path)), ()
    ends = "-buffer-assignment.txt", "-live-range.txt"
    if not str(path).endswith(ends[0]):
        raise BadInput(
            f"{path}: the name of an XLA buffer assignment must end in {ends[0]}, to find {ends[1]} beside it"
        )
    beside = f"{str(path).removesuffix(ends[0])}{ends[1]}"
    return plan_from_xla(text, read_text(beside), (str(path), beside))


def _csv_plan(text: str, source: str) -> Plan:
    problem = problem_from_csv(text, source, pin_offsets=True)
    plan = Plan(problem, tuple(buffer.pinned or Placement("arena", 0) for buffer in problem.buffers), "a file")
    try:
        check_plan(plan)
    except BadPlan as error:
        raise BadPlan(f"{source}: {error}") from error
    return plan
