"""``envdoctor rules refresh``: the tables of releases and of what they require, made anew from the package index."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.report.plain import printable
from envdoctor.world.tables import DamagedError, users

if TYPE_CHECKING:
    from envdoctor.refresh.index import Get
    from envdoctor.refresh.refreshing import Outcome, Tell

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_PLACE = "rules refresh"
_MOST_TOLD = 4


def run(options: argparse.Namespace, get: Get | None = None) -> int:
    """Ask the index for the named packages, or for all that are listed; 1 where one of them could not be asked for.

    Raises:
        EnvdoctorError: no network is to be used, a name is none, the tables cannot be read or written, or no package could be asked for.
    """
    if options.offline:
        raise EnvdoctorError(_PLACE, found="--offline", expected="a network: the package index is asked", next_step="leave --offline out")
    for name in options.paths:
        if not _NAME.fullmatch(name):
            raise EnvdoctorError(_PLACE, found=repr(name), expected="the name of a package", next_step="rules refresh transformers peft")
    from envdoctor.refresh.http import Connections
    from envdoctor.refresh.index import environment_index
    from envdoctor.refresh.refreshing import all_names, present, refresh, write

    elsewhere = None if options.output is None else Path(options.output)
    directory = users() if elsewhere is None else elsewhere
    try:
        before = present(elsewhere)
    except (OSError, DamagedError) as error:
        raise EnvdoctorError(
            str(directory), found=f"a table that cannot be read: {error}", expected="tables as they were written",
            next_step="remove them, and they are made from the bundled ones",
        ) from error  # fmt: skip
    names = sorted(set(map(canonical, options.paths))) or all_names(before)
    today = datetime.now(timezone.utc).date().isoformat()
    with _progress() as tell, closing(Connections()) as connections:
        after, outcomes = refresh(before, names, today, environment_index(), get or connections.get, tell=tell)
    failed = [one for one in outcomes if one.failed]
    if len(failed) == len(outcomes):
        raise EnvdoctorError(
            _PLACE, found=failed[0].failed.partition(": ")[2] or failed[0].failed, expected="a package index that answers",
            next_step="name it: PIP_INDEX_URL or UV_DEFAULT_INDEX",
        )  # fmt: skip
    try:
        write(after, directory, stamped=elsewhere is None)
    except OSError as error:
        raise EnvdoctorError(
            str(directory),
            found=error.strerror or str(error),
            expected="a directory to write to",
            next_step="name another one: --output DIR",
        ) from error
    render = _json if options.format == "json" else _text
    emit(argparse.Namespace(output=None), render(after.as_of or "", directory, outcomes))
    return 1 if failed else 0


def _text(day: str, directory: Path, outcomes: Sequence[Outcome]) -> str:
    lines = []
    for one in outcomes:
        if one.failed:
            lines.append(f"{one.name}: {one.failed}")
        elif one.added or one.gone:
            changes = [f"{len(one.added)} new ({_few(one.added)})"] * bool(one.added) + [f"gone: {_few(one.gone)}"] * bool(one.gone)
            lines.append(f"{one.name}: {', '.join(changes)}")
    new, read = sum(len(one.added) for one in outcomes), sum(one.read for one in outcomes)
    lines.append(f"{len(outcomes)} packages asked for, {new} new releases, the metadata of {read} read")
    unread = sum(one.unread for one in outcomes)
    lines += [f"{unread} wheels whose metadata could not be read: what they require is not known"] if unread else []
    lines.append(f"complete until {day}; written to {directory}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _few(versions: Sequence[str]) -> str:
    """The newest few."""
    shown = list(versions[-_MOST_TOLD:])
    return ", ".join([*(["..."] if len(versions) > _MOST_TOLD else []), *shown])


def _json(day: str, directory: Path, outcomes: Sequence[Outcome]) -> str:
    packages = {
        one.name: {"added": list(one.added), "gone": list(one.gone), "read": one.read, "unread": one.unread, "failed": one.failed or None}
        for one in outcomes
    }
    return json.dumps({"schema_version": 1, "as_of": day, "directory": str(directory), "packages": packages}, indent=1) + "\n"


@contextmanager
def _progress() -> Iterator[Tell | None]:
    """What to tell of things as they are done; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("asking the index"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("asking", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
