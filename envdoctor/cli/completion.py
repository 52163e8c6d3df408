"""``envdoctor completion SHELL``: what a shell is told once, and the answers that it asks for at every press of Tab.

argcomplete writes the scripts of all four shells and is asked for nothing else: shtab has none for fish and PowerShell.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError

_EXTRA = 'pip install "llm-envdoctor[completion]"'


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell.

    Raises:
        EnvdoctorError: argcomplete is not installed.
    """
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        found = "argcomplete is not installed"
        raise EnvdoctorError("completion", found=found, expected="the extra `completion`", next_step=_EXTRA) from None
    emit(options, f"{shellcode(['envdoctor'], True, options.shell).strip()}\n")
    return 0


def answer() -> None:
    """Tell the shell that asks which words can follow, and end the process; return where it cannot be told."""
    try:
        import argcomplete
    except ImportError:
        return
    from envdoctor.cli.parser import whole_parser

    parser, commands = whole_parser()
    for name, dest, words in _COMPLETED:
        for action in commands[name]._actions:
            if action.dest == dest:
                action.completer = _completer(words)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _completer(words: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    return lambda prefix, **_: [word for word in words() if word.startswith(prefix)]


def _rules() -> list[str]:
    from envdoctor.rules.rulebook import load_rulebook

    return [rule.id for rule in load_rulebook().rules]


def _probes() -> Iterable[str]:
    from envdoctor.probes.registry import PROBES

    return PROBES


def _settings() -> list[str]:
    from envdoctor.facts.vocabulary import TERMS

    return [f"{term.name}=" for term in TERMS]


def _rule_words() -> list[str]:
    from envdoctor.cli.rules import ACTIONS
    from envdoctor.rules.rulebook import load_rulebook

    return sorted({*ACTIONS, *(package for rule in load_rulebook().rules for package in rule.packages)})


_COMPLETED: tuple[tuple[str, str, Callable[[], Iterable[str]]], ...] = (
    ("explain", "rule", _rules),
    ("probe", "names", _probes),
    ("rules", "action", _rule_words),
    *((command, "settings", _settings) for command in ("check", "diagnose", "fix", "fit", "facts", "lock", "probe")),
)

__all__ = ["answer", "run"]
