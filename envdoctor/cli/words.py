"""How the command line speaks: help that is the same everywhere, and errors as of every other bad input."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from envdoctor.errors import EnvdoctorError


class Help(argparse.HelpFormatter):
    """The same on every terminal and under every Python, since a page is made from it; examples stay in their lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80, max_help_position=28)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """``-p, --python PATH``: up to Python 3.12 the value stands behind each spelling."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:\n") else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Errors as every other bad input: place, found, expected, next step."""

    def __init__(self, **settings: Any) -> None:
        # argparse asks a formatter of its own for the width of the terminal at every argument.
        super().__init__(**{"formatter_class": Help, **settings})

    def format_help(self) -> str:
        from envdoctor.cli.examples import OVERVIEW, examples

        name = self.prog.partition(" ")[2]
        self.epilog = examples(name) if name else OVERVIEW
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        from envdoctor.facts.suggest import suggest

        wrong = re.search(r"argument ([^:]+): invalid choice: '([^']*)'", message)
        choices = next((list(one.choices) for one in self._actions if wrong and one.choices and _named_in(one, wrong[1])), [])
        if wrong is None or not choices:
            raise self._refused(message)
        place = "command" if wrong[1] == "COMMAND" else wrong[1]
        raise self._refused(f"{place} {wrong[2]!r}", f"one of {', '.join(map(str, choices))}", suggest(wrong[2], map(str, choices)))

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """Refuse words that no option of the command is called.

        Raises:
            EnvdoctorError: always.
        """
        from envdoctor.facts.suggest import suggest

        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        near = next((found for word in words if word.startswith("-") and (found := suggest(word.partition("=")[0], flags))), "")
        raise self._refused(f"unrecognized arguments: {' '.join(words)}", near=near)

    def _refused(self, found: str, expected: str = "", near: str = "") -> EnvdoctorError:
        next_step = f"{near} {self.prog} --help" if near else f"{self.prog} --help"
        return EnvdoctorError(
            "the command line", found=found, expected=expected or f"the options that {self.prog} --help lists", next_step=next_step
        )


def _named_in(action: argparse.Action, name: str) -> bool:
    """Whether argparse calls an action so in its errors."""
    return name in ("/".join(action.option_strings), action.metavar, action.dest)


__all__ = ["Parser"]
