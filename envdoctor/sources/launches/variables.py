"""What the words of a script come to, as far as the script itself says."""

from __future__ import annotations

import re

from envdoctor.records import dataclass, field, replace
from envdoctor.sources.shell.expansion import Items, Scope, arguments_of, assigned_of
from envdoctor.sources.shell.lexer import CutError, Lexer
from envdoctor.sources.shell.marks import is_known, shown, unknown
from envdoctor.sources.shell.text import Argument, whole_text
from envdoctor.sources.shell.tree import Word

_LONGEST = 65_536
_MOST_ITEMS = 1000
# All that one script's words may come to: variables can double with every line.
_BUDGET = 4 * 2**20
# The folder that the script lies in, as scripts find it: dirname "$0", with or without cd ... && pwd.
_OWN_FOLDER = re.compile(
    r"""\s*(?:cd\s+(?:--\s+)?["']?\$\()?\s*dirname\s+(?:--\s+)?["']?\$\{?(?:0|BASH_SOURCE(?:\[0\])?(?::-\$0)?)\}?["']?\s*"""
    r"""(?:\)["']?(?:\s*>\s*/dev/null\s*(?:2>&1)?)?\s*(?:&&|;)\s*pwd(?:\s+-P)?)?\s*"""
)
_CALLERS = re.compile(r"\$(?:[1-9]|\{[1-9]\}|OPTARG|\{OPTARG\})")


@dataclass(frozen=True, slots=True)
class Piece:
    """A word as the command gets it. ``known`` is false where the text can only be known when the script runs."""

    text: str
    line: int
    known: bool = True


@dataclass(slots=True)
class Variables:
    """The variables that a script has set so far: the items of arrays, and single ones of all others."""

    values: dict[str, Items] = field(default_factory=dict)
    _spent: int = 0

    def copy(self) -> Variables:
        """Those that a subshell begins with."""
        return replace(self, values=dict(self.values))

    def assign(self, name: str, word: Word, *, adds: bool, certain: bool) -> None:
        """Carry out ``NAME=value``, ``NAME+=value``, ``NAME=(a b)``.

        A second value that may or may not be given leaves the variable unknown.
        """
        value, before = self._assigned(word), self.values.get(name)
        if adds and before is not None:
            value = (*before, *value) if _is_array(word) else (Argument(_text(before) + _text(value), word.line),)
        if not certain and before is not None and [item.text for item in before] != [item.text for item in value]:
            # An option of the script's own: without it the author's value holds.
            value = before if _are_known(before) and _is_callers(value) else (Argument(unknown(name), word.line),)
        short = len(value) <= _MOST_ITEMS and sum(len(item.text) for item in value) < _LONGEST
        self.values[name] = value if short else (Argument(unknown(name), word.line),)

    def forget(self, name: str) -> None:
        self.values[name] = (Argument(unknown(name), 0),)

    def expand(self, word: Word) -> list[Argument]:
        """The words that one becomes: an unquoted variable is split at blanks, an array gives its items."""
        return arguments_of(word.raw, word.line, self._scope())

    def held(self, name: str, line: int) -> Piece:
        """The text of a variable."""
        value = self.values.get(name)
        return Piece(f"${name}", line, known=False) if value is None else piece_of(Argument(_text(value), line))

    def given(self, word: Word) -> Piece:
        """The value of an assignment for one command only."""
        return piece_of(Argument(_text(self._assigned(word)), word.line))

    def _assigned(self, word: Word) -> Items:
        if not _is_array(word):
            return (Argument(assigned_of(word.raw, self._scope()), word.line),)
        try:
            tokens = Lexer(whole_text(word.raw[1:-1], word.line), []).tokens()
        except CutError as cut:
            tokens = cut.tokens
        scope = self._scope()
        return tuple(item for token in tokens if token.kind == "word" for item in arguments_of(token.text, token.line, scope))

    def _scope(self) -> Scope:
        return Scope(self._variable, _own_folder, called=True)

    def _variable(self, name: str) -> Items | None:
        value = self.values.get(name)
        if value is None:
            return None
        self._spent += sum(len(item.text) for item in value)
        if self._spent > _BUDGET:
            return (Argument(unknown("..."), 0),)
        # What is not known under its own name is better told by the name that stands here; of several words each is told by itself.
        single = len(value) == 1 and not is_known(value[0].text) and " " not in value[0].text
        return (Argument(unknown(name), 0),) if single else value


def piece_of(argument: Argument) -> Piece:
    return Piece(shown(argument.text), argument.line, is_known(argument.text))


def _own_folder(command: str) -> str | None:
    return "." if _OWN_FOLDER.fullmatch(command) else None


def _is_array(word: Word) -> bool:
    return word.raw.startswith("(")


def _text(items: Items) -> str:
    return " ".join(item.text for item in items)


def _are_known(items: Items) -> bool:
    return all(is_known(item.text) for item in items)


def _is_callers(items: Items) -> bool:
    return not _are_known(items) and _CALLERS.fullmatch(shown(_text(items))) is not None
