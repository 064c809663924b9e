import pytest


@pytest.fixture
def planned(run, problem):
    run("plan", problem, "--json", "report.json", "-o", "plan.json")


def test_a_page_is_written(run, planned, tmp_path):
    run("show", "report.json", "-o", "page.html")
    assert "toy.csv" in (tmp_path / "page.html").read_text()
    run("show", "plan.json", "-o", "other.html")
    assert '"planned":8' in (tmp_path / "other.html").read_text()


def test_a_picture_of_no_known_kind_is_refused(run, planned):
    assert "out.bmp" in run("show", "report.json", "-o", "out.bmp", code=2).stderr


def test_what_cannot_be_read_is_named(run, tmp_path):
    assert "none.json: cannot be read" in run("show", "none.json", code=2).stderr
    (tmp_path / "deep.json").write_text("{" + '"a":' + "[" * 100_000)
    assert "deep.json: not valid JSON" in run("show", "deep.json", code=2).stderr


def test_without_a_file_a_map_is_printed(run, planned):
    text = run("show", "plan.json").stdout
    assert "8 B planned, bound 8 B" in text and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_pictures_go_through_matplotlib(run, planned, tmp_path):
    pytest.importorskip("matplotlib")
    run("show", "report.json", "-o", "map.svg")
    assert "<svg" in (tmp_path / "map.svg").read_text()
    run("show", "report.json", "-o", "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
