"""``envdoctor rules verify``: check the claims of rules on the released wheels."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from envdoctor.cli.rules import Progress, rule_paths
from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import read_toml
from envdoctor.files.user_cache import cache_directory
from envdoctor.records import dataclass, replace
from envdoctor.rules.boundaries import Boundary, UnreadableClaimError, boundaries_of, holds_in
from envdoctor.rules.ledger import earned, read_ledger, record_confidence, verified_entry, write_ledger
from envdoctor.rules.wheels import NoWheelError, Wheels
from envdoctor.world.releases import releases

Result = Literal["ok", "wrong", "not checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One claim and what became of it; ``why`` is empty where it is ok."""

    rule: str
    boundary: Boundary
    result: Result
    why: str = ""


def run(options: argparse.Namespace) -> int:
    """Print every claim with what was seen; exit status 1 when one no longer holds."""
    if options.offline:
        raise EnvdoctorError(
            "rules verify", found="--offline", expected="a network: released wheels are downloaded", next_step="leave --offline out"
        )
    wheels = Wheels(Path(options.wheels) if options.wheels else cache_directory() / "wheels", large=options.large)
    progress = Progress(options)
    checked: list[Checked] = []
    for path in rule_paths(options):
        table = read_toml(path)
        found = [check(path.stem, boundary, wheels) for boundary in boundaries_of(table)]
        for one in found:
            progress.say(f"{one.result:<11} {one.rule}: {one.boundary}", *([f"            {one.why}"] if one.why else []))
        if options.record and (said := record(path, table, found)):
            progress.say(said)
        checked += found
    counts = {result: sum(one.result == result for one in checked) for result in ("ok", "wrong", "not checked")}
    progress.say(f"{len(checked)} claims: {', '.join(f'{count} {result}' for result, count in counts.items())}")
    progress.finish(lambda: _json(checked))
    return int(counts["wrong"] > 0)


def check(rule: str, boundary: Boundary, wheels: Wheels) -> Checked:
    """Look at both sides of a claim's bound."""
    known = [release.version for release in releases(boundary.package) if release.wheel]
    if not known:
        return Checked(rule, boundary, "not checked", f"the releases of {boundary.package} are not bundled")
    try:
        problem = next(_problems(boundary, known, wheels), None)
    except UnreadableClaimError as error:
        return Checked(rule, boundary, "wrong", str(error))
    except NoWheelError as error:
        return Checked(rule, boundary, "not checked", str(error))
    return Checked(rule, boundary, "ok") if problem is None else Checked(rule, boundary, "wrong", problem)


def _problems(boundary: Boundary, known: list[str], wheels: Wheels) -> Iterator[str]:
    other = boundary.neighbour(known)
    if not holds_in(boundary, wheels.wheel(boundary.package, boundary.release())):
        yield f"not true of {boundary.release()}"
    if other is not None and holds_in(boundary, wheels.wheel(boundary.package, other)):
        yield f"true of {other} as well"


def record(path: Path, table: dict[str, Any], found: list[Checked]) -> str:
    """Write what was seen into the rule's ledger, and the confidence it has earned into the rule; says what was changed there.

    A run that could not check every claim leaves the earlier entry as it was.
    """
    ledger = read_ledger(path)
    if found and not any(one.result == "not checked" for one in found):
        today = datetime.now(timezone.utc).date().isoformat()
        problems = [f"{one.boundary}: {one.why}" for one in found if one.result == "wrong"]
        ledger = replace(ledger, verified=verified_entry(table, problems, today))
        write_ledger(path, ledger)
    level = earned(table, ledger)
    return f"{path.stem}: confidence is now {level}" if record_confidence(path, table, level) else ""


def _json(checked: list[Checked]) -> str:
    rows = [{"rule": one.rule, "claim": str(one.boundary), "result": one.result, "why": one.why} for one in checked]
    return json.dumps({"schema_version": 1, "claims": rows}, indent=1) + "\n"
