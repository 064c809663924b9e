"""What a terminal shows while a command works, in a terminal of our own."""

import importlib.util
import os
import sys

import pytest

from tests.cli.conftest import PACKAGE

pty = pytest.importorskip("pty", reason="terminals of Unix")

WORK = """
import os, sys, time
from tvm_memplan.cli.progress import progress, stage
{before}
with {name}("drawing [bold]") as tell:
    time.sleep(0.3)
    tell("the sky")
    {inside}
    time.sleep(0.3)
print("done")
"""
without_rich = "sys.modules['rich'] = sys.modules['rich.progress'] = None"
with_rich = pytest.mark.skipif(not importlib.util.find_spec("rich"), reason="needs rich (tvm-memplan[progress])")


def terminal(code, **env):
    """What a terminal gets from a Python program, and its exit code."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update({"PYTHONPATH": PACKAGE, "TERM": "xterm-256color", **env})
        os.execv(sys.executable, [sys.executable, "-c", code])
    parts = []
    while True:
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # how Linux says that the other end has gone
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def work(name="progress", before="", inside="pass"):
    return WORK.format(name=name, before=before, inside=inside)


def last_screen(text):
    """The lines that are left when all was drawn, for the few control sequences that are used."""
    lines, row, column = [""], 0, 0
    i = 0
    while i < len(text):
        sign = text[i]
        if sign == "\x1b":
            end = next(k for k in range(i + 2, len(text)) if text[k].isalpha())
            number, what = text[i + 2 : end].lstrip("?"), text[end]
            if what == "K":
                lines[row] = ""
            elif what == "A":
                row = max(0, row - int(number or 1))
            i = end + 1
            continue
        if sign == "\r":
            column = 0
        elif sign == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
            column += 1
        i += 1
    return [line.rstrip() for line in lines if line.strip()]


@with_rich
def test_a_line_says_what_is_done_and_is_gone_afterwards():
    text, code = terminal(work())
    assert code == 0
    assert "drawing [bold]" in text and "the sky" in text and "0:00:00" in text
    assert last_screen(text) == ["done"]


@with_rich
def test_a_long_name_is_cut_off_and_the_seconds_are_not():
    text, _ = terminal(work().replace("drawing", "drawing " + 30 * "abcd"), COLUMNS="60")
    assert "0:00:00" in text and "…" in text
    assert last_screen(text) == ["done"]


@with_rich
def test_colours_are_for_those_who_want_them():
    assert "\x1b[3" in terminal(work())[0]
    assert "\x1b[3" not in terminal(work(), NO_COLOR="1")[0]


@with_rich
def test_what_tvm_says_meanwhile_comes_after_the_line_and_whole():
    text, _ = terminal(work("stage", inside="os.write(2, b'real trouble\\n')"))
    assert last_screen(text) == ["real trouble", "done"]


def test_without_rich_a_plain_line_stays():
    text, code = terminal(work(before=without_rich))
    assert code == 0 and "\x1b" not in text
    first, last = last_screen(text)
    assert first.startswith("drawing [bold] ... ") and first.endswith(" s") and last == "done"


def test_into_a_pipe_nothing_is_said(run, problem):
    assert run("plan", problem).stderr == "" == run("suggest", problem).stderr


def test_an_error_ends_the_line_and_is_said(tmp_path):
    gone = str(tmp_path / "gone.json")
    text, code = terminal(f"import sys, tvm_memplan.cli as c; sys.exit(c.main(['show', {gone!r}]))")
    assert code == 2 and last_screen(text)[-1].startswith(f"tvm-memplan: {gone}: cannot be read")
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is back
