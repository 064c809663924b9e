"""Make a Jupyter notebook of every tutorial: ``scripts/make_notebooks.py [OUT]`` writes OUT/*.ipynb.

OUT is the folder ``notebooks`` by default.

A tutorial is Python as sphinx-gallery reads it: a docstring with a title, then blocks of comments that begin with
``# %%`` (text) and code between them. Text becomes a Markdown cell, code a code cell, nothing is run.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TUTORIALS = Path(__file__).resolve().parent.parent / "tutorials"
TITLE = re.compile(r"^(.+)\n([=-])\2+$", re.MULTILINE)
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:(?:   .*)?\n)*(?:   .*))", re.MULTILINE)


def cells(source: str) -> Iterator[tuple[str, str]]:
    """Yield the cells of a tutorial: "markdown" or "code", and the text."""
    head, rest = re.fullmatch(r'"""\n(.*?)\n"""\n(.*)', source, re.DOTALL).groups()
    yield "markdown", markdown(head)
    for part in re.split(r"^# %%\n", rest, flags=re.MULTILINE):
        lines = part.splitlines()
        end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        text = "\n".join(line[2:] for line in lines[:end])
        code = "\n".join(lines[end:]).strip("\n")
        if text:
            yield "markdown", markdown(text)
        if code:
            yield "code", code


def markdown(text: str) -> str:
    """Return reStructuredText, as far as the tutorials use it, as Markdown."""
    text = TITLE.sub(lambda found: f"{'#' if found[2] == '=' else '##'} {found[1]}", text)
    text = BLOCK.sub(lambda found: f"```{found[1]}\n{re.sub('^   ', '', found[2], flags=re.MULTILINE)}\n```", text)
    return text.replace("``", "`")


def notebook(source: str) -> str:
    """Return a tutorial as the JSON text of a notebook, format 4.5."""
    made = []
    for number, (kind, text) in enumerate(cells(source)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    fields = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "notebooks")
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(TUTORIALS.glob("[0-9]*.py")):
        target = out / f"{path.stem}.ipynb"
        target.write_text(notebook(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
