"""What a run is asked to do, said once: every command makes one of these, and nothing changes it on its way to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.watch import Watch
from envdoctor.policy.settings import Settings
from envdoctor.records import dataclass, field

if TYPE_CHECKING:
    from envdoctor.facts.fact import Collected


@dataclass(frozen=True, slots=True)
class Request:
    """A situation to examine, and how.

    ``targets`` are paths and hub ids as they were typed. ``python`` names the environment to examine, ``root`` an unpacked image.
    ``facts`` is the path of a facts file, or ``-`` for what ``read_stdin`` gives. ``settings`` are single facts, ``NAME=VALUE``.
    ``against`` are releases, or files that state some, which stand in place of those of the situation: would they break it?
    ``machine`` is what is known of the machine that the run is meant for, and ``machine_from`` who says so.
    ``prove``: the cured environment is built, and what shows the faults is run in it.
    ``as_of`` is a day, YYYY-MM-DD, after which nothing is known. ``policy`` is what the project's settings say.
    """

    targets: tuple[str, ...] = ()
    python: str | None = None
    root: str | None = None
    facts: str | None = None
    read_stdin: Callable[[], bytes] = bytes
    settings: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    machine: Collected | None = None
    machine_from: str = ""
    as_of: str | None = None
    resolve: bool = False
    each: bool = False
    full: bool = False
    offline: bool = False
    trust_remote_code: bool = False
    rule_directories: tuple[Path, ...] = ()
    probe: str = "off"
    prove: bool = False
    fail_on: str = "error"
    strict: bool = False
    allow_empty: bool = False
    show_all: bool = False
    baseline: Path | None = None
    write_baseline: Path | None = None
    policy: Settings = field(default_factory=Settings)
    watch: Watch = field(default_factory=Watch)
