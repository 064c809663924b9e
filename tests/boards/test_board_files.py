import pytest

from tvm_memplan.boards import load_board
from tvm_memplan.errors import BadInput

GOOD = """
title = "Mine"
cpu = "cortex-m4"
[[regions]]
name = "ram"
kind = "sram"
address = 0x20000000
size = "320 KiB"
[[regions]]
name = "rom"
kind = "flash"
size_bytes = 1000
note = "hello"
"""


def board_file(folder, text):
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_board_of_ones_own_is_a_small_file(tmp_path):
    board = load_board(str(board_file(tmp_path, GOOD)))
    assert (board.name, board.title, board.cpu) == ("mine", "Mine", "cortex-m4")
    assert board.region("ram").size_bytes == 320 * 1024
    assert board.region("rom").size_bytes == 1000


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "sram"', 'knd = "sram"', ["region 'ram'", "unknown key 'knd'", "did you mean 'kind'?"]),
        ('kind = "sram"', 'colour = "red"', ["region 'ram'", "unknown key 'colour'", "known keys are name, kind"]),
        ('title = "Mine"', 'tilte = "Mine"', ["unknown key 'tilte'", "did you mean 'title'?"]),
        ('title = "Mine"', "title = 3", ["key 'title' must be a string, got 3"]),
        ('title = "Mine"', "sources = [1]", ["key 'sources' must be a list of strings, got 1 in it"]),
        ('kind = "sram"', "", ["region 'ram'", "key 'kind' is missing", "one of sram, tcm"]),
        ('name = "ram"', "", ["region 1", "key 'name' is missing"]),
        ('kind = "sram"', 'kind = "dram"', ["region 'ram'", "kind 'dram' is not one of sram, tcm"]),
        ('size = "320 KiB"', "", ["region 'ram'", "either size", "or size_bytes"]),
        ('size = "320 KiB"', 'size = "1 KiB"\nsize_bytes = 1024', ["region 'ram'", "only one of them"]),
        ('size = "320 KiB"', 'size = "320K"', ["region 'ram'", "ambiguous", "320KiB (1024) or 320KB (1000)"]),
        ('size = "320 KiB"', "size = true", ["region 'ram'", "key 'size' must be a string or an integer, got True"]),
        ('size = "320 KiB"', "size = 1.5", ["region 'ram'", "key 'size' must be"]),
        ('size = "320 KiB"', "size = -1", ["region 'ram'", "must be positive"]),
        ('note = "hello"', "optional = 1", ["region 'rom'", "key 'optional' must be true or false, got 1"]),
        ('note = "hello"', "alignment = true", ["region 'rom'", "key 'alignment' must be an integer, got True"]),
        ('note = "hello"', "address = 0x20000010", ["region 'rom'", "lies within region 'ram'"]),
        ('name = "rom"', 'name = "ram"', ["region 'ram' is defined twice"]),
        ('kind = "sram"', 'kind = "flash"', ["no region is RAM"]),
        ("[[regions]]", "[regions]", ["not valid TOML", "line"]),
        ('cpu = "cortex-m4"', 'cpu = "cortex', ["not valid TOML", "line 3"]),
    ],
)
def test_a_malformed_board_file_is_refused_with_file_region_and_key(tmp_path, old, new, says):
    assert old in GOOD
    path = board_file(tmp_path, GOOD.replace(old, new))
    with pytest.raises(BadInput) as caught:
        load_board(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for words in says:
        assert words in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"size_bytes = {'9' * 5000}", "cannot be read as TOML"),
        (f"size_bytes = 0x{'f' * 5000}", "beyond the 64-bit address space"),
        ("size_bytes = 0xffff_ffff_ffff_fff8", "beyond the 64-bit address space"),
        (f'size = "{"9" * 5000}"', "a number of 5000 digits"),
        (f'size = "0.{"0" * 5000}1 KiB"', "a number of 5003 digits"),
        # How deep Python's own reader goes is not ours to say.
        (f"size = {'[' * 3000}{']' * 3000}", "cannot be read as TOML|must be a string or an integer"),
    ],
)
def test_numbers_and_lists_beyond_reason_are_refused(tmp_path, line, says):
    path = board_file(tmp_path, GOOD.replace('size = "320 KiB"', line))
    with pytest.raises(BadInput, match=says) as caught:
        load_board(path)
    assert len(str(caught.value)) < 300 + len(str(path))


@pytest.mark.parametrize("text", ["", "regions = []", 'name = "x"'])
def test_a_file_without_regions_is_refused(tmp_path, text):
    with pytest.raises(BadInput, match=r"no \[\[regions\]\]"):
        load_board(board_file(tmp_path, text))


@pytest.mark.parametrize("text", ["regions = 3", 'regions = "ram"', "regions = [1]"])
def test_regions_that_are_no_tables_are_refused(tmp_path, text):
    with pytest.raises(BadInput, match=r"\[\[regions\]\]"):
        load_board(board_file(tmp_path, text))


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.toml: cannot be read: No such file"):
        load_board(tmp_path / "gone.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        load_board(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(BadInput, match="not UTF-8"):
        load_board(tmp_path / "bytes.toml")


def test_a_misspelt_board_gets_the_nearest_name():
    with pytest.raises(BadInput, match="did you mean 'nrf52840dk'"):
        load_board("nrf52480dk")
    with pytest.raises(BadInput, match="tvm-memplan boards"):
        load_board("zzz")
