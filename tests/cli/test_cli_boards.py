import pytest

from tvm_memplan.boards import list_boards


def test_a_board_without_a_name_is_not_all_boards(run):
    assert "no board ''" in run("boards", "", code=2).stderr


def test_the_list_has_every_board_within_100_columns(run):
    lines = run("boards").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(list_boards())
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", list_boards())
def test_a_board_is_shown_with_every_region_and_source(name, capsys):
    from tvm_memplan.boards import load_board
    from tvm_memplan.cli import main

    assert main(["boards", name]) == 0
    text = capsys.readouterr().out
    board = load_board(name)
    for region in board.regions:
        assert region.name in text and f"{region.size_bytes:,}" in text
    assert "sources:" in text and "verified:" in text
    assert max(map(len, text.splitlines())) <= 100


def test_an_unknown_board_is_bad_input_with_the_nearest_name(run):
    assert "did you mean 'rpi_pico'?" in run("boards", "rpi-pico", code=2).stderr


def test_a_board_file_of_ones_own_is_shown_or_refused_with_its_line(run, tmp_path):
    (tmp_path / "mine.toml").write_text('[[regions]]\nname = "ram"\nkind = "sram"\nsize = "20 KiB"\n')
    assert "20,480" in run("boards", "mine.toml").stdout
    (tmp_path / "mine.toml").write_text('[[regions]]\nname = "ram"\nkind = \n')
    assert "mine.toml: is not valid TOML" in run("boards", "mine.toml", code=2).stderr
