"""Files that were cut short, swapped about or tampered with: a clear error or a value, never a crash."""

import json
import random
import re

import pytest

from tests.browser.reports import everything
from tests.planning.test_xla_files import ASSIGNMENT, LIVES
from tvm_memplan.errors import MemPlanError
from tvm_memplan.planning.files import plan_from_tflm, plan_to_csv, plan_to_json, plan_to_tflm, read_problem
from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem, View
from tvm_memplan.planning.planners import plan
from tvm_memplan.report.json import to_fields, to_json
from tvm_memplan.report.read import read_plan_file, read_report

BUFFERS = tuple(Buffer(f"b{i}", 9 + i, (LiveRange(i, i + 3),), operator=f"op{i}") for i in range(6))
PLAN = plan(Problem(BUFFERS, (Pool("arena", alignment=4),), in_place=frozenset({(1, 0)}), views=(View("v", 0, 0, 1),)))
TEXTS = {
    "report.json": to_json(everything()),
    "check.json": json.dumps({"format": "tvm-memplan/check", "version": 1, "report": to_fields(everything())}),
    "plan.json": plan_to_json(PLAN),
    "plan.csv": plan_to_csv(PLAN),
    "m-buffer-assignment.txt": ASSIGNMENT,
}
NUMBERS = ("-1", "1e9", "9" * 30, "0", "1.5", "null", "true", '"x"', "[]", "{}", "NaN")
STRINGS = ("null", "1", '"a"', '""', "[]", "{}", '"\\ud800"')


def garbled(text, chance):
    """A text with one thing wrong with it."""
    first, last = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    how = chance.randrange(6)
    if how == 0:
        return text[:first]
    if how == 1:
        return text[:first] + text[last:]
    if how == 2:
        return text[:last] + text[first:last] + text[last:]
    if how == 3:
        return text[:first] + chance.choice('\0",-9[]{}\u0661\xff\n\r\t') + text[first + 1 :]
    pattern, others = (r"-?\d+|$", NUMBERS) if how == 4 else (r'"[^"]*"|$', STRINGS)
    spot = chance.choice(list(re.finditer(pattern, text)))
    return text[: spot.start()] + chance.choice(others) + text[spot.end() :]


@pytest.mark.parametrize("name", TEXTS)
def test_a_garbled_file_is_bad_input_or_something_else_that_is_right(name, tmp_path):
    chance = random.Random(name)
    path = tmp_path / name
    refused = 0
    for _ in range(60):
        text = TEXTS[name]
        for _ in range(chance.choice((1, 1, 3))):
            text = garbled(text, chance)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        (tmp_path / "m-live-range.txt").write_text(LIVES if chance.random() < 0.5 else garbled(LIVES, chance))
        for read in (read_report, read_plan_file, read_problem):
            try:
                read(path)
            except MemPlanError as error:
                refused += 1
                assert 10 < len(str(error)) < 3000
    assert refused > 60


def test_a_garbled_offline_plan_is_refused_or_is_judged():
    chance = random.Random(0)
    problem = Problem(BUFFERS)
    good = plan_to_tflm(plan(problem))
    refused = 0
    for _ in range(300):
        data = bytearray(good[: chance.randrange(len(good) + 1)] if chance.random() < 0.3 else good)
        for _ in range(chance.randrange(4) if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            plan_from_tflm(bytes(data), problem)
        except MemPlanError:
            refused += 1
    assert refused > 150
