"""Errors that are no line of a traceback: the statement that raises one, and the words of a command line that was refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.atlas.answers import answer, owner_of
from envdoctor.checks.hit import Hit
from envdoctor.logs.refused_keys import CONFIG
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_RAISE = re.compile(
    r"\braise (?P<kind>[A-Z]\w{2,60}(?:Error|Exception))\(\s?[rf]{0,2}(?P<quote>['\"])(?P<message>.{8,400}?)(?P=quote)\s?[,)]"
)
_IMPORT = re.compile(r"(?:>>> )?from (?P<module>[A-Za-z_][\w.]{1,100}) import (?P<name>[A-Za-z_]\w{3,100})")
_USAGE = re.compile(r"^\W{0,3}usage: (?P<program>[A-Za-z][\w-]{1,40})(?:\.exe)?(?: |$)", re.IGNORECASE)
_REFUSED = re.compile(
    r"(?:^|[\s:])error: (?:argument [\w-]{1,60}: )?(?:invalid choice: '?(?P<choice>[\w-]{1,60})'?"
    r"|unrecognized arguments: (?P<rest>\S.{0,200}))"
)


def raised_in_code(lines: Iterable[tuple[int, str]]) -> Iterator[Failure]:
    """The errors that pasted lines of source raise."""
    for number, line in lines:
        if (found := _RAISE.search(line)) is not None:
            yield Failure(found["kind"], found["message"], number)


def imported_in_code(lines: Iterable[tuple[int, str]]) -> Iterator[Failure]:
    """The import of one name that somebody pasted alone, as what does not work: who pastes more of a file shows something else."""
    told = [(number, line.strip()) for number, line in lines if line.strip()]
    found = _IMPORT.fullmatch(told[0][1]) if len(told) == 1 else None
    if found is not None and _is_gone(f"{found['module']}:{found['name']}"):
        yield Failure("", f"cannot import name '{found['name']}' from '{found['module']}'", told[0][0], near=told[0][1])


def _is_gone(symbol: str) -> bool:
    """Whether the newest release that was read lacks what an older one has."""
    bound = owner_of(symbol)
    told = None if bound is None else answer(symbol)
    return bound is not None and told is not None and bool(told.there) and told.gone >> (len(bound.volume.releases) - 1) & 1 == 1


def judge_command(lines: Iterable[tuple[int, str]]) -> tuple[Hit, int, str] | None:
    """A program of a package that does not know a subcommand or an option; which program, its line of usage says."""
    program = ""
    for number, line in lines:
        if (usage := _USAGE.search(line)) is not None:
            program = usage["program"]
        refused = _REFUSED.search(line) if program else None
        package = package_of(program.replace("-", "_")) if program else ""
        if refused is not None and package in listed():
            what = refused["choice"] or (refused["rest"] or "").strip()
            detail = (
                f"the {program} that ran does not know {what}: the command was written for another release of {package}, whose "
                f"`{program} --help` lists what it takes"
            )
            return Hit(CONFIG, True, (), detail=detail, packages=(package,), edge=f"{package}:{what}"[:120]), number, line.strip()[:300]
    return None
