"""What users type after ``lock`` and ``verify``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

_MODEL = "a model directory, or a hub id or snapshot in the local hub cache"


def add_lock(commands: Any, *, situation: Callable[[Any], None], output: Callable[[Any], None]) -> None:
    """``envdoctor lock``; the functions add the groups of options that commands share."""
    command = commands.add_parser(
        "lock",
        help="record what a model is in envdoctor.lock, for verify and for git",
        description="Write MODEL/envdoctor.lock: the digest of every file, the tensors, and the stack and plan that it was locked with.",
    )
    _model(command)
    command.add_argument("targets", metavar="TARGET", nargs="*", help="requirements file or training plan that the model is used with")
    _lock_file(command, "write the lock there; needed for a snapshot in a hub cache, where nothing is ever written")
    situation(command)
    output(command)


def add_verify(commands: Any, *, verdict: Callable[[Any], None], output: Callable[[Any], None], extra_rules: Callable[[Any], None]) -> None:
    """``envdoctor verify``; the functions add the groups of options that commands share."""
    command = commands.add_parser(
        "verify",
        help="which files of a model changed since it was locked, and what that means",
        description="Compare a model with its lock. Without a lock: with what its download recorded, such as the names of the blobs "
        "of a hub cache, which are digests.",
    )
    _model(command)
    _lock_file(command, "the lock to compare with (default: MODEL/envdoctor.lock)")
    command.add_argument(
        "--against", metavar="hub|DIR", help="compare with the hub's own metadata (asks the network), or with another directory, instead"
    )
    command.add_argument("--repo", metavar="ID", help="the repository for --against hub, where neither lock nor cache says it")
    command.add_argument(
        "--diff", action="store_true", help="unified diffs of changed code and configuration, where the old text is at hand"
    )
    command.add_argument("--offline", action="store_true", help="never use the network")
    extra_rules(command)
    verdict(command)
    output(command)


def _model(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help=_MODEL)


def _lock_file(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--lock", metavar="FILE", help=text)
    command.add_argument("--revision", metavar="REVISION", help="of a hub id: a commit, branch or tag (default: main)")
    command.add_argument("--full", action="store_true", help="hash every file, even if nothing seems to have changed")
