"""Where the answer of a command goes: text for people, and with ``--json`` a value for programs.

The form of each value, all of them objects with a ``format`` and a ``version``:

==============  ============================  ================================================================
command         format                        described in
==============  ============================  ================================================================
plan, show      tvm-memplan/memory-report     `tvm_memplan.report.json`, and a schema beside it
check           tvm-memplan/check             `tvm_memplan.cli.check`
diff            tvm-memplan/diff              `tvm_memplan.report.diff.json`
suggest         tvm-memplan/advice            `tvm_memplan.budget.suggest.json`
convert         tvm-memplan/conversion        `tvm_memplan.cli.convert`
export          tvm-memplan/export            `tvm_memplan.cli.export`
measure         tvm-memplan/reality           `tvm_memplan.report.measured.json`
boards          tvm-memplan/boards            `tvm_memplan.boards.json`
==============  ============================  ================================================================
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from tvm_memplan.cli.files import STDOUT, write_file


def say(options: argparse.Namespace, text: str) -> None:
    """Print text that ends in a newline, unless the standard output is for JSON."""
    if options.json != STDOUT:
        print(text, end="")


def write_json(options: argparse.Namespace, fields: Mapping[str, Any]) -> None:
    """Write `fields` where ``--json`` wants them, if it was given."""
    if options.json:
        write_file(options.json, json.dumps(fields, indent=1) + "\n")
