"""A parser whose messages say what was probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An `argparse.ArgumentParser` that knows what it was given when it has to complain.

    Options are not to be cut short: a script that says ``--res`` would break on the day of a second option so named.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **options})
        self._given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and remember what."""
        self._given = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse everything; what is unknown is for the parser of the command to complain about, which has options."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what is like it and would be right."""
        super().error("; ".join([message, *self._meant(message)]))

    def _meant(self, message: str) -> Iterator[str]:
        found = _CHOICE.search(message)
        if found:
            # Some Pythons quote the choices and some do not.
            yield from _close(found[1], re.findall(r"[^\s',]+", found[2]))
        for text in self._given:
            option = text.partition("=")[0]
            if option.startswith("--") and option not in self._option_string_actions:
                yield from _close(option, list(self._option_string_actions))


def _close(text: str, known: Sequence[str]) -> Iterator[str]:
    for name in get_close_matches(text, known, n=1):
        yield f"{text!r}: did you mean {name!r}?"
