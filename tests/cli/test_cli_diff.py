import json

import pytest


@pytest.fixture
def plans(run, problem, tmp_path):
    """Two plans, the second 2 bytes larger because c is."""
    run("plan", problem, "--json", "old.json")
    problem.write_text(problem.read_text().replace("c,2,4,5", "c,2,4,7"))
    run("plan", problem, "--json", "new.json", "-o", "new_plan.json")


def test_a_difference_is_no_failure_until_there_is_a_limit(run, plans):
    text = run("diff", "old.json", "new.json").stdout
    assert "+25.0%" in text and "grown" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "no size and no figure has changed" in run("diff", "new.json", "new_plan.json").stdout


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (["--max-growth", "25%"], 0),
        (["--max-growth", "24.9%"], 1),
        (["--max-growth", "2B"], 0),
        (["--max-growth", "1B"], 1),
        (["--max-bytes", "10"], 0),
        (["--max-bytes", "arena=10", "--max-bytes", "9"], 1),
        (["--max-bytes", "other=10"], 2),
        (["--max-growth", "much"], 2),
        (["--max-growth", "2K"], 2),
        (["--max-bytes", "=3"], 2),
    ],
)
def test_limits_decide_the_exit_code(run, plans, limits, code):
    made = run("diff", "old.json", "new.json", *limits, code=code)
    assert ("over the limits" in made.stdout) is (code == 1)
    assert bool(made.stderr) is (code == 2)


def test_a_plan_may_always_shrink(run, plans):
    run("diff", "new.json", "old.json", "--max-growth", "0")


def test_markdown_and_json_say_so_too(run, plans, tmp_path):
    made = run("diff", "old.json", "new.json", "--markdown", "--json", "diff.json", "--max-growth", "0", code=1)
    assert made.stdout.startswith("### Memory of `toy.csv`") and "**Over the limits:**" in made.stdout
    fields = json.loads((tmp_path / "diff.json").read_text())
    assert fields["within_limits"] is False and fields["buffers"][0]["growth_bytes"] == 2


def test_a_file_that_is_no_plan_is_bad_input(run, plans, problem):
    assert "toy.csv:1: column 'offset' is missing" in run("diff", "old.json", problem, code=2).stderr
