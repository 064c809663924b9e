"""The page as a file; what it does in a browser is tested in tests/browser."""

import json
import re

from hypothesis import example, given

from tests.browser.reports import evil
from tests.report.any_report import REPORTS
from tvm_memplan.report.page import report_page
from tvm_memplan.report.page.data import page_data

DATA = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)


@given(REPORTS)
@example(evil())
def test_no_name_ends_the_element_it_stands_in(report):
    page = report_page(report)
    assert len(re.findall("<script", page)) == len(re.findall("</script", page)) == 2
    (data,) = DATA.findall(page)
    assert json.loads(data) == json.loads(json.dumps(page_data(report)))


def test_the_page_names_no_other_file(report):
    page = report_page(report)
    assert not re.findall(r'(?:src|href|url|@import)\s*[=(]\s*["\']?[^"\'#]', page)
    assert "http" not in page.replace("http-equiv", "")


def test_every_part_of_the_report_reaches_the_script(report):
    data = page_data(report)
    assert [pool["name"] for pool in data["pools"]] == ["sram", "flash"]
    assert data["pools"][0]["peak"]["holders"] == [1, 0]
    assert [row[0] for row in data["buffers"]] == ["b0", "b1", "w"]
    assert [data["operators"][i] for i in data["steps"]] == list(report.steps)
    assert data["pools"][0]["moments"] == [0, 1, 2, 3]
    assert data["pools"][0]["held"] == [16000, 40000, 24000, 0]
