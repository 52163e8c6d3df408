"""The command that a message itself gives: what it installs from a repository, with an extra or from an index, no pin of ours replaces."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace

_COMMAND = re.compile(r"(?P<tick>[`'\"]?)(?P<command>(?:uv )?pip3? install (?P<what>[^\n`]{3,300}))")
_BARE = re.compile(r"\bgit\+(?:https?|ssh)://[^\s'\"`,;)]{6,200}")
# Of the plain name of a package the release that fits is the better answer.
_ELSEWHERE = re.compile(r"git\+|@ |https?://|--(?:index-url|extra-index-url|find-links|no-build-isolation|pre)\b|\[[\w,-]+\]|-f ")
_TRIMMED = re.compile(r"git\+(?:https?|ssh)?:?/{0,2}\W*$")


def quoted(message: str) -> str:
    """The command of a message that installs more than the newest release of a name; empty where none does, ``...`` behind one cut off."""
    found = _COMMAND.search(message)
    if found is None or not _ELSEWHERE.search(found["what"]):
        bare = _BARE.search(message)
        return f"pip install {bare[0].rstrip('.')}" if bare is not None else ""
    command = found["command"]
    tick = found["tick"]
    if tick and tick != "`" and (end := command.find(tick)) > 0 and command.count('"') != 1:
        command = command[:end]
    command = re.split(r"(?:\. |, | (?:or|and|to|for|in order|if|first|then)\b)", command)[0].strip().rstrip(".;,)")
    if _TRIMMED.search(command):
        return f"{command}..."
    return command if command.count('"') % 2 == 0 and command.count("'") % 2 == 0 else command.rstrip("'\"")


_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`'])")
_TO_DO = re.compile(
    r"(?i)\b(?:please|you (?:should|must|need|have to|can)|try|set|use|install|reinstall|make sure|ensure|check|pass|specify|instead of"
    r"|upgrade|downgrade|add|provide|consider|remove)\b"
)
# What helps its makers, and nobody who stands before it.
_OF_MAKERS = re.compile(r"(?i)open an issue|file (?:a|an) (?:bug|issue)|report (?:this|it|a bug)|bug report|contact|feature request")


def told_to_do(message: str) -> str:
    """The sentences of a message that say what to do; empty where none does."""
    found = [one for one in _SENTENCES.split(message) if _TO_DO.search(one) and not _OF_MAKERS.search(one)]
    return " ".join(found)[:300].strip()


def with_command(hit: Hit, failure: Failure) -> Hit:
    """A finding with the command that its message gives, before all pins."""
    command = quoted(failure.message)
    if not command:
        return hit
    cut = command.endswith("...")
    advice = f"{command}: {'the command of the message, whose whole address stands in the log' if cut else 'the command of the message'}"
    # What is to come from a repository is not what the index has under that name.
    return replace(hit, pins=() if "git+" in command or "://" in command else hit.pins, advice=advice)
