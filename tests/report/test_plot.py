import re
from dataclasses import replace

import pytest

from tvm_memplan.errors import BadInput
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.plot import report_picture


def test_a_picture_of_no_known_kind_or_of_nothing_is_refused(report):
    with pytest.raises(BadInput, match=r"out\.bmp: pictures are written as \.png"):
        report_picture(report, "out.bmp")
    with pytest.raises(BadInput, match="no pool"):
        report_picture(MemoryReport("", "", "", (), (), ()), "out.svg")


def test_the_svg_has_figures_kinds_and_names(report):
    pytest.importorskip("matplotlib")
    text = report_picture(report, "out.svg").decode()
    for words in ("kws, planned with auto", "pool sram", "planned 48,000 B (46.9 KiB)", "bound 40,000", "b1"):
        assert words in text
    assert "pool flash" not in text


def test_names_are_text_and_not_formulas(report):
    pytest.importorskip("matplotlib")
    evil = replace(report, model="$\\frac$ <b>&")
    text = report_picture(evil, "out.svg").decode()
    assert "$\\frac$ &lt;b&gt;&amp;" in text


def test_the_same_report_gives_the_same_file(report):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "a.png"):
        assert report_picture(report, name) == report_picture(report, name)
    assert report_picture(report, "a.png").startswith(b"\x89PNG")
    assert not re.search(rb"20\d\d-\d\d-\d\d", report_picture(report, "a.svg"))
