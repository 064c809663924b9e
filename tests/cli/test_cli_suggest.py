import json


def test_what_would_help_is_told_with_its_bytes(run, problem, tmp_path):
    text = run("suggest", problem, "--json", "advice.json").stdout
    assert "toy.csv takes 8 B" in text and "it is at its bound" in text
    assert "-1 B  shrink: c from 5 B to 4 B" in text
    fields = json.loads((tmp_path / "advice.json").read_text())
    assert fields["planned_bytes"] == fields["bound_bytes"] == 8
    assert {one["kind"] for one in fields["smaller_peak"]} == {"shrink"}


def test_bad_input_is_named(run, problem):
    assert "no planner is called 'x'" in run("suggest", problem, "--planner", "x", code=2).stderr
    assert "--target is for models" in run("suggest", problem, "--target", "c", code=2).stderr
