"""``[tool.envdoctor]`` of pyproject.toml, or envdoctor.toml: read, checked, with the line of every entry."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.files.paths import is_file
from envdoctor.files.toml import MOST_BYTES, parse_toml, read_toml
from envdoctor.records import dataclass, field

FailOn: TypeAlias = Literal["error", "warning", "note", "never"]
OWN_FILE = "envdoctor.toml"


@dataclass(frozen=True, slots=True)
class Ignore:
    """One rule that is not to count: why, until when (the last day on which it holds), and in which files (all, where none is named)."""

    rule: str
    reason: str
    until: datetime.date | None = None
    paths: tuple[str, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """Settings of their own for some files."""

    paths: tuple[str, ...]
    fail_on: FailOn | None = None
    ignore: tuple[Ignore, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project says of its checks; ``place`` is the file, empty where there is none. Paths are relative to its directory."""

    place: str = ""
    fail_on: FailOn | None = None
    strict: bool | None = None
    offline: bool | None = None
    baseline: str | None = None
    target: str | None = None
    rules: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    overrides: tuple[Override, ...] = ()
    targets: Mapping[str, Collected] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        return Path(self.place).parent


def find_settings(start: Path) -> Settings:
    """The settings that hold in a directory: of the nearest directory above that has any; ``envdoctor.toml`` goes first.

    Raises:
        EnvdoctorError: a settings file that cannot be used. A pyproject.toml without ``[tool.envdoctor]`` has no settings, and
            one that is no TOML is refused only where it has the table: others are no affair of ours.
    """
    for directory in (start, *start.parents):
        own = _from_here(directory / OWN_FILE)
        if is_file(own):
            return read_settings(own)
        manifest = _from_here(directory / "pyproject.toml")
        if is_file(manifest) and _mentions(manifest):
            tool = read_toml(manifest).get("tool")
            if isinstance(tool, dict) and "envdoctor" in tool:
                return _parsed(tool["envdoctor"], str(manifest), "tool.envdoctor.")
    return Settings()


def _from_here(path: Path) -> Path:
    """The path as one would type it here."""
    try:
        return Path(os.path.relpath(path))
    except (OSError, ValueError):  # another drive, or this directory is gone
        return path


def _mentions(manifest: Path) -> bool:
    try:
        with manifest.open("rb") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return False
    # Broken or not: a table that is not written out in a header (tool = { envdoctor = {} }) is only found in a sound file.
    return re.search(rb"""(?m)^[ \t]*\[+[ \t]*(?:tool|"tool"|'tool')[ \t]*\.[ \t]*["']?envdoctor\b""", text) is not None or (
        b"envdoctor" in text and _has_bare_tool(text) and _is_sound(text)
    )


def _has_bare_tool(text: bytes) -> bool:
    """Whether ``tool`` may be a table that has keys of its own; to read all of a long file only to find that it has none takes its time."""
    key = rb"""^(?:\xef\xbb\xbf)?[ \t]*(?:\[[ \t]*(?:tool|"tool"|'tool')[ \t]*\]|(?:tool|"tool"|'tool')[ \t]*[.=])"""
    # A name may be spelled with escapes.
    return b"\\u" in text.lower() or re.search(key, text, re.MULTILINE) is not None


def _is_sound(text: bytes) -> bool:
    try:
        parse_toml(text, "")
    except EnvdoctorError:
        return False
    return True


def read_settings(path: Path) -> Settings:
    """The settings of one file: a pyproject.toml, or a file of nothing else.

    Raises:
        EnvdoctorError: unreadable, no TOML, an unknown key, a value of another kind (all of them are told).
    """
    table = read_toml(path)
    if path.name == "pyproject.toml":
        tool = table.get("tool")
        found = tool.get("envdoctor") if isinstance(tool, dict) else None
        if found is None:
            raise EnvdoctorError(str(path), found="no [tool.envdoctor]", expected="the settings of envdoctor", next_step="add the table")
        return _parsed(found, str(path), "tool.envdoctor.")
    return _parsed(table, str(path), "")


@dataclass(slots=True)
class _Checker:
    """Collects what is wrong, so that all of it is told at once."""

    place: str
    prefix: str
    lines: Mapping[tuple[str | int, ...], int]
    errors: list[EnvdoctorError] = field(default_factory=list)

    def line(self, *path: str | int) -> int | None:
        above = tuple(self.prefix.split(".")[:-1]) if self.prefix else ()
        return self.lines.get((*above, *path))

    def wrong(self, path: Sequence[str | int], found: str, expected: str, next_step: str = "correct the setting") -> None:
        line = self.line(*path)
        name = self.prefix + ".".join(map(str, path))
        where = f"{self.place}{f', line {line}' if line else ''}: {name.rstrip('.')}"
        self.errors.append(EnvdoctorError(where, found=found, expected=expected, next_step=next_step))

    def known(self, table: Mapping[str, Any], keys: Sequence[str], *above: str | int) -> None:
        for key in table:
            if key not in keys:
                from difflib import get_close_matches

                close = get_close_matches(key.replace("_", "-"), keys, n=1)
                self.wrong((*above, key), f"the key {key!r}", f"one of {', '.join(keys)}", f"perhaps {close[0]}" if close else "remove it")

    def take(self, table: Mapping[str, Any], key: str, kind: str, check: Callable[[Any], bool], *above: str | int) -> Any:
        """The value of a key where it is of its kind; None where it is not there."""
        raw = table.get(key)
        if raw is None or check(raw):
            return raw
        self.wrong((*above, key), _told(raw), kind)
        return None


def _told(raw: object) -> str:
    text = repr(raw)
    return text if len(text) < 60 else f"{text[:57]}..."


def _is_texts(raw: object) -> bool:
    return isinstance(raw, list) and all(isinstance(one, str) and one for one in raw)


def _is_tables(raw: object) -> bool:
    return isinstance(raw, dict) and all(isinstance(table, dict) for table in raw.values())


_TOP = ("fail-on", "strict", "offline", "baseline", "target", "rules", "ignore", "overrides", "targets")
_LEVELS: tuple[FailOn, ...] = get_args(FailOn)


def _parsed(raw: object, place: str, prefix: str) -> Settings:
    from envdoctor.files.toml_spans import toml_lines

    lines = toml_lines(Path(place).read_text(encoding="utf-8-sig"))
    checker = _Checker(place, prefix, lines)
    if not isinstance(raw, dict):
        raise EnvdoctorError(f"{place}: {prefix.rstrip('.')}", found=_told(raw), expected="a table", next_step="write [tool.envdoctor]")
    checker.known(raw, _TOP)
    settings = Settings(
        place=place,
        fail_on=cast("FailOn | None", checker.take(raw, "fail-on", f"one of {', '.join(_LEVELS)}", lambda level: level in _LEVELS)),
        strict=checker.take(raw, "strict", "true or false", lambda value: isinstance(value, bool)),
        offline=checker.take(raw, "offline", "true or false", lambda value: isinstance(value, bool)),
        baseline=checker.take(raw, "baseline", "the path of a file", lambda value: isinstance(value, str) and bool(value)),
        target=checker.take(raw, "target", "a profile, or the name of one", lambda value: isinstance(value, str) and bool(value)),
        rules=tuple(checker.take(raw, "rules", "a list of directories", _is_texts) or ()),
        ignore=_ignores(checker, raw, ("ignore",)),
        overrides=_overrides(checker, raw),
        targets=_targets(checker, raw),
    )
    if checker.errors:
        raise SeveralErrors(checker.errors)
    return settings


def _targets(checker: _Checker, raw: Mapping[str, Any]) -> dict[str, Collected]:
    """The facts of every profile; each key is read by itself, so that each fault has its line."""
    from envdoctor.sources.stated.target_profile import target_facts

    found = {}
    for name, table in (checker.take(raw, "targets", "tables of target profiles", _is_tables) or {}).items():
        facts: list[Fact] = []
        skips: list[Skip] = []
        if not table:
            checker.wrong(("targets", name), "nothing", "what the machine is", 'for example platform = "linux-x86_64"')
        for key, value in table.items():
            line = checker.line("targets", name, key)
            place = f"{checker.place}{f', line {line}' if line else ''}: {checker.prefix}targets.{name}"
            try:
                told = target_facts({key: value}, place, Origin(f"{checker.place}: targets.{name}", checker.place, line))
            except EnvdoctorError as error:
                checker.errors.append(error)
                continue
            facts += told.facts
            skips += told.skips
        found[name] = Collected(tuple(facts), skips=tuple(skips))
    return found


def _tables(checker: _Checker, raw: Mapping[str, Any], path: tuple[str | int, ...]) -> list[dict[str, Any]]:
    found = raw.get(str(path[-1]), [])
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    checker.wrong(path, _told(found), 'a list of tables, such as { rule = "...", reason = "..." }')
    return []


def _ignores(checker: _Checker, raw: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[Ignore, ...]:
    entries = []
    for number, table in enumerate(_tables(checker, raw, path)):
        here = (*path, number)
        checker.known(table, ("rule", "reason", "until", "paths"), *here)
        rule = checker.take(table, "rule", "the id of a rule", lambda value: isinstance(value, str) and bool(value), *here)
        reason = checker.take(table, "reason", "why it is ignored", lambda value: isinstance(value, str) and bool(value.strip()), *here)
        paths = checker.take(table, "paths", "a list of paths", _is_texts, *here)
        for name, value in (("rule", rule), ("reason", reason)):
            if value is None and name not in table:
                checker.wrong(here, f"no {name}", "rule and reason", f"add {name}: an exception without one is not understood a year later")
        if rule is not None and reason is not None:
            entries.append(Ignore(rule, reason.strip(), _day(checker, table, here), tuple(paths or ()), checker.line(*here)))
    return tuple(entries)


def _day(checker: _Checker, table: Mapping[str, Any], here: tuple[str | int, ...]) -> datetime.date | None:
    raw = table.get("until")
    if isinstance(raw, datetime.datetime):
        return raw.date()
    if raw is None or isinstance(raw, datetime.date):
        return raw
    # Some Pythons know more forms of a day than others: these ten characters are all that is understood.
    written = re.fullmatch(r"\d{4}-\d{2}-\d{2}", raw, re.ASCII) if isinstance(raw, str) else None
    try:
        return datetime.date.fromisoformat(written[0] if written else "")
    except ValueError:
        checker.wrong((*here, "until"), _told(raw), "a day, such as 2027-01-31")
        return None


def _overrides(checker: _Checker, raw: Mapping[str, Any]) -> tuple[Override, ...]:
    entries = []
    for number, table in enumerate(_tables(checker, raw, ("overrides",))):
        here: tuple[str | int, ...] = ("overrides", number)
        checker.known(table, ("paths", "fail-on", "ignore"), *here)
        paths = checker.take(table, "paths", "a list of paths", _is_texts, *here)
        if not paths:
            checker.wrong(here, "no paths", "the paths that it is about", "add paths")
            continue
        level = checker.take(table, "fail-on", f"one of {', '.join(_LEVELS)}", lambda value: value in _LEVELS, *here)
        entries.append(Override(tuple(paths), level, _ignores(checker, table, (*here, "ignore")), checker.line(*here)))
    return tuple(entries)
