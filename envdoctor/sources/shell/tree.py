"""What a shell script is made of: commands, and what decides which of them run."""

from __future__ import annotations

from envdoctor.records import dataclass
from envdoctor.sources.shell.text import Heredoc


@dataclass(frozen=True, slots=True)
class Word:
    raw: str
    line: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """``target`` is a file, or the text of ``<<<``; ``heredoc`` the text of ``<<``."""

    operator: str
    target: Word | None = None
    heredoc: Heredoc | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words and redirections of one command."""

    line: int
    assignments: tuple[tuple[str, bool, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands, each with what stands before it: ``;`` ``&&`` ``||`` ``|`` ``&``."""

    items: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...] | None
    body: Sequence


@dataclass(frozen=True, slots=True)
class While:
    condition: Sequence
    body: Sequence


@dataclass(frozen=True, slots=True)
class Case:
    word: Word
    clauses: tuple[tuple[tuple[Word, ...], Sequence], ...]


@dataclass(frozen=True, slots=True)
class Group:
    body: Sequence
    subshell: bool


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node


Node = Simple | Sequence | Not | If | For | While | Case | Group | Function
