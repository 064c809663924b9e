"""Puts data, style and scripts into one file.

Names come from models, so the data are escaped twice over: in the file no ``<``, ``>`` or ``&`` of theirs is left that
could end the element they stand in, and the script shows them as text only. Should something slip through all the
same, the page's own policy runs no script but the one whose hash it names, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files

from tvm_memplan import __version__
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.page.data import page_data

#: In this order, as later ones use what earlier ones define.
SCRIPTS = ("sizes.js", "report.js", "plot.js", "panels.js", "main.js")


def report_page(report: MemoryReport) -> str:
    """Return a self-contained HTML page that shows a report: memory map, pressure curve, every buffer."""
    style, script = _asset("page.css"), "".join(_asset(name) for name in SCRIPTS)
    slots = {
        "POLICY": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'",
        "TITLE": html.escape(report.model or "memory plan"),
        "VERSION": html.escape(__version__),
        "STYLE": style,
        "DATA": _inside_script(json.dumps(page_data(report), separators=(",", ":"))),
        "SCRIPT": script,
    }
    # One pass over the template: what is put in is never searched for slots.
    first, *parts = _asset("page.html").split("{{")
    return first + "".join(slots[name] + rest for name, rest in (part.split("}}", 1) for part in parts))


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inside_script(text: str) -> str:
    """Return JSON that means the same and cannot end or open an element."""
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
