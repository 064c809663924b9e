import subprocess
import sys

SPEAK = "os.write(2, b\"'m3' is not a recognized processor for this target (ignoring processor)\\nreal trouble\\n\")"


def stderr_of(code):
    code = f"import os\nfrom tvm_memplan.cli.quiet import quiet\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


def test_routine_remarks_are_dropped_and_all_else_is_shown():
    assert stderr_of(f"with quiet():\n    {SPEAK}\nos.write(2, b'after')") == "real trouble\nafter"


def test_what_was_said_before_an_error_is_shown_with_it():
    said = stderr_of(f"with quiet():\n    {SPEAK}\n    raise SystemExit('stopped')")
    assert said == "real trouble\nstopped\n"
