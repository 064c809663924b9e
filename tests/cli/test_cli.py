import argparse
import os
import signal
import subprocess
import sys

import pytest

import tvm_memplan
from tvm_memplan.cli import _parser


def test_the_version_is_that_of_the_package(run):
    assert run("--version").stdout.strip() == f"tvm-memplan {tvm_memplan.__version__}"


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["plan", "--help"], ["boards", "--help"]])
def test_help_says_how_to_use_it(run, arguments):
    assert "usage: tvm-memplan" in run(*arguments).stdout


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["check"], ["check", "m.tflite"], ["plan"], ["plan", "a.csv", "--capacity", "5K"]]
)
def test_wrong_usage_is_bad_input(run, arguments):
    made = run(*arguments, code=2)
    assert "usage: tvm-memplan" in made.stderr and not made.stdout


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek"], "'check'"),
        (["check", "m.tflite", "--bord", "x"], "'--board'"),
        (["plan", "a.csv", "--jsn", "x"], "'--json'"),
        (["plan", "a.csv", "--time-limt=3"], "'--time-limit'"),
        (["convert", "a.csv", "--to", "chrome_trace", "-o", "x"], "'chrome-trace'"),
        (["plan", "a.csv", "--planner", "exactly"], "'exact'"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_probably_meant(run, arguments, meant):
    assert f"did you mean {meant}?" in run(*arguments, code=2).stderr


def test_an_option_is_not_to_be_cut_short(run, problem):
    assert "unrecognized arguments: --cap" in run("plan", problem, "--cap", "8", code=2).stderr


def test_every_command_says_its_exit_codes_and_has_json():
    for name, command in commands().items():
        assert "exit codes: 0" in command.format_help(), name
        assert {"--json", "--traceback"} <= set(command._option_string_actions), name


def test_options_of_one_name_mean_one_thing():
    """The same words in every help, but for what ``--json`` and ``-o`` write."""
    said = {}
    for name, command in commands().items():
        for action in command._actions:
            for option in action.option_strings:
                if option not in ("--json", "-o", "--output", "--target", "--all", "-h", "--help"):
                    said.setdefault(option, {}).setdefault((action.help, action.metavar, action.nargs), []).append(name)
    assert {option: meant for option, meant in said.items() if len(meant) > 1} == {}


def commands():
    parser = _parser()
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def test_the_command_line_loads_nothing_heavy_until_it_is_needed():
    heavy = "{'numba', 'tvm', 'onnx', 'tflite', 'scipy'}"
    code = f"import sys, tvm_memplan.cli as c; c.main(['boards']); sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_size_option_that_is_no_size_says_what_would_be(run):
    assert "24KiB (1024) or 24KB (1000)" in run("check", "m", "--board", "b", "--reserve", "24K", code=2).stderr
    assert "not a power of two" in run("plan", "a.csv", "--align", "3", code=2).stderr
    assert "more than nothing" in run("plan", "a.csv", "--capacity", "0", code=2).stderr


def test_an_internal_error_is_told_from_bad_input_and_shows_its_place_on_request(tmp_path):
    code = (
        "import sys, tvm_memplan.cli as c, tvm_memplan.cli.boards as b\n"
        "def broken(): raise ZeroDivisionError('oh')\n"
        "b.list_boards = broken\n"
        "sys.exit(c.main(sys.argv[1:]))"
    )
    plain = subprocess.run([sys.executable, "-c", code, "boards"], capture_output=True, text=True)
    assert plain.returncode == 3
    assert "internal error: ZeroDivisionError: oh" in plain.stderr and "--traceback" in plain.stderr
    assert "Traceback" not in plain.stderr
    full = subprocess.run([sys.executable, "-c", code, "boards", "--traceback"], capture_output=True, text=True)
    assert full.returncode == 3 and "Traceback" in full.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of Unix")
def test_a_reader_that_has_gone_is_no_error():
    read, write = os.pipe()
    os.close(read)
    made = subprocess.run(
        [sys.executable, "-m", "tvm_memplan", "boards"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert made.returncode == 141
    assert made.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_no_fault_of_ours():
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            [sys.executable, "-m", "tvm_memplan", "boards"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert made.returncode == 2
    assert made.stderr.startswith("tvm-memplan: the output cannot be written") and "Exception" not in made.stderr


@pytest.mark.skipif(os.name != "posix", reason="file descriptors of Unix")
def test_without_an_output_only_the_exit_code_is_given():
    made = subprocess.run(
        [sys.executable, "-m", "tvm_memplan", "boards"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.close(1),
    )
    assert (made.returncode, made.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of Unix")
def test_an_interrupt_ends_it_with_130():
    code = (
        "import os, signal, sys, tvm_memplan.cli as c, tvm_memplan.cli.boards as b\n"
        f"b.list_boards = lambda: os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        "sys.exit(c.main(['boards']))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert made.returncode == 130
    assert made.stderr.strip() == "tvm-memplan: interrupted"
