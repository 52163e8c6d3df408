"""What the last verification, the last reproduction and the last pair of probed stacks showed of a rule, kept beside it.

``rules/<package>/<id>.ledger.json`` stands beside ``<id>.toml``. A rule's confidence is what this file
shows of the claims, the reproduction and the condition that the rule carries today: an entry about others counts for nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml
from envdoctor.records import dataclass
from envdoctor.rules.boundaries import boundaries_of
from envdoctor.rules.rule import Confidence

LEVELS: tuple[Confidence, ...] = get_args(Confidence)
SUFFIX = ".ledger.json"
_ENTRIES = ("verified", "reproduced", "probed", "cured")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ledger:
    """``verified`` and ``reproduced`` are entries as `verified_entry` and the reproduction make them; None before the first run.

    ``probed`` is what a probe said of a bad and of a good stack, as ``scripts/prove_probes.py`` makes it. ``cured`` is what became of
    each fix of the rule where its reproduction runs: ``envdoctor rules reproduce --cures``.
    """

    verified: Mapping[str, object] | None = None
    reproduced: Mapping[str, object] | None = None
    probed: Mapping[str, object] | None = None
    cured: Mapping[str, object] | None = None

    def text(self) -> str:
        """The file's text: sorted keys and one value a line, so that a change is read as one."""
        entries = {name: getattr(self, name) for name in _ENTRIES}
        return (
            json.dumps({name: entry for name, entry in entries.items() if entry is not None}, indent=1, sort_keys=True, ensure_ascii=False)
            + "\n"
        )


def ledger_path(rule: Path) -> Path:
    """Where the ledger of a rule file is."""
    return rule.with_name(f"{rule.stem}{SUFFIX}")


def read_ledger(rule: Path) -> Ledger:
    """The ledger of a rule file; an empty one where there is none yet.

    Raises:
        EnvdoctorError: a ledger that cannot be read.
    """
    path = ledger_path(rule)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return Ledger()
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    try:
        found = json.loads(data) if len(data) <= _MOST_BYTES else None
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"no JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(found.get(name, {}), dict) for name in _ENTRIES):
        raise _unreadable(path, "something else")
    return Ledger(**{name: found.get(name) for name in _ENTRIES})


def _unreadable(path: Path, found: str) -> EnvdoctorError:
    return EnvdoctorError(
        str(path),
        found=found,
        expected="a ledger",
        next_step="remove it; rules verify --record, rules reproduce --record or scripts/prove_probes.py --record makes it anew",
    )


def write_ledger(rule: Path, ledger: Ledger) -> None:
    """Write the ledger of a rule file.

    Raises:
        EnvdoctorError: it cannot be written.
    """
    path = ledger_path(rule)
    try:
        path.write_text(ledger.text(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise EnvdoctorError(
            str(path), found=error.strerror or str(error), expected="a file to write to", next_step="check the path"
        ) from error


def claims(table: Mapping[str, object]) -> list[str]:
    """The ``[[boundary]]`` claims of a rule, each on one line."""
    return [str(boundary) for boundary in boundaries_of(table)]


def verified_entry(table: Mapping[str, object], problems: list[str], date: str) -> dict[str, object]:
    """What a check of a rule's claims showed; ``date`` is a day (YYYY-MM-DD), ``problems`` are those of any claim."""
    entry: dict[str, object] = {"claims": claims(table), "date": date, "result": "wrong" if problems else "ok"}
    return entry | {"problems": problems} if problems else entry


def subject(reproduction: object) -> str:
    """A digest of a ``[reproduction]`` table: another script, pin or text to look for is another reproduction."""
    return hashlib.sha256(json.dumps(reproduction, sort_keys=True, default=str).encode()).hexdigest()[:16]


def accusation(table: Mapping[str, object]) -> str:
    """A digest of what a rule accuses and of the probe it names: with another condition, a pair of stacks was of another rule."""
    return subject({key: table.get(key) for key in ("affected", "check", "probe")})


def cure_subject(table: Mapping[str, object]) -> str:
    """A digest of what a run of cures is of: the reproduction and the fixes, with the packages that they set, without their notes."""
    fixes = table.get("fix", [])
    listed = [_as_run(one) for one in fixes] if isinstance(fixes, list) else []
    return subject({"reproduction": table.get("reproduction"), "fix": listed})


def fix_subject(table: Mapping[str, object], fix: Mapping[str, Any]) -> str:
    """A digest of what a run of one cure is of: what becomes of it changes with the reproduction, and not with the other cures."""
    return subject({"reproduction": table.get("reproduction"), "fix": _as_run(fix)})


def _as_run(fix: Mapping[str, Any]) -> dict[str, object]:
    packages = fix.get("sets", {}).get("packages")
    return {key: value for key, value in fix.items() if key not in ("note", "sets")} | ({"packages": packages} if packages else {})


def cures_shown(table: Mapping[str, object], ledger: Ledger) -> list[Mapping[str, object]]:
    """What the ledger shows of each fix that the rule has now, in their order; nothing where none of them was run as it is."""
    rows = ledger.cured.get("cures", []) if ledger.cured is not None else []
    fixes = table.get("fix", [])
    if ledger.cured is None or not isinstance(rows, list) or not isinstance(fixes, list):
        return []
    if ledger.cured.get("subject") == cure_subject(table):
        return [row for row in rows if isinstance(row, Mapping)]
    kept = {row["of"]: row for row in rows if isinstance(row, Mapping) and "of" in row}
    shown = [kept.get(fix_subject(table, fix)) for fix in fixes]
    return [row or {"result": "not run", "why": "the rule had another cure here"} for row in shown] if any(shown) else []


def earned(table: Mapping[str, object], ledger: Ledger) -> Confidence:
    """The confidence that the ledger shows for this rule: the most that any entry does."""
    reached: list[Confidence] = ["cited"]
    checked, stated = ledger.verified, claims(table)
    if checked is not None and stated and checked.get("result") == "ok" and checked.get("claims") == stated:
        reached.append("boundary")
    if "reproduction" in table:
        reached += _seen(ledger.reproduced, "reproduced", subject(table["reproduction"]))
    reached += _seen(ledger.probed, "shown", accusation(table))
    return max(reached, key=LEVELS.index)


def _seen(entry: Mapping[str, object] | None, result: str, of: str) -> list[Confidence]:
    """What an entry of real environments shows, if it has this result and is of this subject."""
    if entry is None or entry.get("result") != result or entry.get("subject") != of:
        return []
    return ["reproduced-gpu" if entry.get("gpu") else "reproduced"]


def proven(table: Mapping[str, object], rule: Path) -> object:
    """What a rule may call its confidence: its claim, or less where its ledger shows less.

    A value that is no level is given back as it is, for the reader of the rule to refuse.

    Raises:
        EnvdoctorError: a ledger that cannot be read.
    """
    claim = table.get("confidence")
    # What code computes is shown by each of its findings, and not once by a ledger.
    if claim not in LEVELS or claim == "cited" or (claim == "computed" and "check" in table):
        return claim
    shown = earned(table, read_ledger(rule))
    return min(cast("Confidence", claim), shown, key=LEVELS.index)


def with_confidence(text: str, level: Confidence) -> str:
    """The text of a rule file with another confidence; only that line differs."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        key, equals, rest = line.partition("=")
        if key.strip() == "confidence" and equals:
            old, quote, tail = rest.partition('"')[2].partition('"')
            if quote and old in LEVELS:
                lines[number] = f'{key}={rest[: rest.index(chr(34))]}"{level}"{tail}'
                return "".join(lines)
    raise ValueError('no line confidence = "..."')


def record_confidence(rule: Path, table: Mapping[str, Any], level: Confidence) -> bool:
    """Make the rule file claim what it has earned; whether anything had to change.

    Raises:
        EnvdoctorError: the file cannot be rewritten so that nothing but its confidence changes.
    """
    if table.get("confidence") == level:
        return False
    place, expected = f"{rule}: confidence", 'one line confidence = "..." before the first table'
    try:
        text = with_confidence(rule.read_bytes().decode("utf-8"), level)
    except (OSError, ValueError) as error:
        raise EnvdoctorError(place, found=str(error), expected=expected, next_step=f"write {level} there by hand") from error
    if parse_toml(text.encode(), str(rule)) != {**table, "confidence": level}:
        raise EnvdoctorError(place, found="a line that is something else", expected=expected, next_step=f"write {level} there by hand")
    rule.write_bytes(text.encode("utf-8"))
    return True
