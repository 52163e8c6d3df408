"""A rule's ``[reproduction]``: the same script or probe in a bad and in a good environment, both real.

The harm is shown when it is seen in the bad environment and not in the good one, where the script also ends well.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import flatten, parse_value
from envdoctor.facts.vocabulary import term
from envdoctor.probes.registry import PROBES, run_probe
from envdoctor.probes.runner import plain, run_child
from envdoctor.records import dataclass, field, replace
from envdoctor.rules.conditions import Condition, Known, evaluate
from envdoctor.rules.ledger import subject
from envdoctor.uv.environments import Builder, Environment, NotBuiltError

Side = Literal["bad", "good"]
Told: TypeAlias = "Callable[[str], None]"
SIDES: tuple[Side, ...] = ("bad", "good")
SCRIPT_SECONDS = 600.0
_SCRIPT_BYTES = 16 << 30
_CHILD = Path(__file__).parent.parent / "probes" / "children" / "run_script.py"
_KEYS = ("python", "bad", "good", "extra", "forced", "bare", "gpu", "run", "healthy", "shows", "probe", "facts")
_MOST_SEEN = 300


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is installed on each side, and what is run there: ``script``, which shows ``shows``, or ``probe`` with ``facts``.

    ``gpu`` says that the harm shows on a GPU only; ``forced`` and ``bare`` are as `Builder` takes them. ``healthy`` is the script that
    the good side runs where both have the same pins: the one without the fault.
    """

    python: str
    pins: Mapping[Side, tuple[str, ...]]
    script: str | None = None
    shows: str | None = None
    probe: str | None = None
    facts: Facts = field(default_factory=Facts)
    gpu: bool = False
    healthy: str | None = None
    forced: bool = False
    bare: tuple[str, ...] = ()

    def built(self, build: Builder, pins: Sequence[str]) -> Environment:
        """An environment with these pins, installed as all of this reproduction are."""
        if self.forced or self.bare:
            return build(self.python, pins, forced=self.forced, bare=self.bare)
        return build(self.python, pins)


@dataclass(frozen=True, slots=True)
class Seen:
    """One side: whether the harm was seen, whether the run ended well, and the line that says so."""

    harmed: bool
    well: bool
    line: str


def problems(table: object) -> list[tuple[str, str, str]]:
    """What is wrong with the form of a ``[reproduction]`` table: key, found, expected."""
    if not isinstance(table, Mapping):
        return [("reproduction", repr(table), "a table")]
    return list(_problems(table))


def _problems(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    for key in table:
        if key not in _KEYS:
            yield f"reproduction.{key}", "an unknown key", ", ".join(_KEYS)
    if not re.fullmatch(r"3\.\d+(\.\d+)?", str(table.get("python", ""))):
        yield "reproduction.python", repr(table.get("python")), 'a Python version, such as "3.11"'
    optional = ("extra", "good") if "healthy" in table else ("extra",)
    for key in ("bad", "good", "extra"):
        if key in table or key not in optional:
            yield from _pin_problems(key, table.get(key))
    for key in ("gpu", "forced"):
        if not isinstance(table.get(key, False), bool):
            yield f"reproduction.{key}", repr(table[key]), "true or false"
    yield from _bare_problems(table)
    yield from _subject_problems(table)


def _bare_problems(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    bare = table.get("bare", [])
    pinned = {
        canonicalize_name(re.split(r"[^\w.-]", str(pin), maxsplit=1)[0])
        for key in ("bad", "good", "extra")
        for pin in _list(table.get(key))
    }
    for name in bare if isinstance(bare, list) else [bare]:
        if not isinstance(name, str) or canonicalize_name(name) not in pinned:
            yield "reproduction.bare", repr(name), "names of packages that are pinned"


def _pin_problems(key: str, listed: object) -> Iterator[tuple[str, str, str]]:
    expected = 'a list of pins, such as ["peft==0.11.1", "numpy<2"]'
    if not isinstance(listed, list) or (not listed and key != "extra"):
        yield f"reproduction.{key}", repr(listed), expected
        return
    for item in listed:
        try:
            bounded = bool(Requirement(str(item)).specifier)
        except InvalidRequirement:
            bounded = False
        if not bounded:
            yield f"reproduction.{key}", repr(item), expected


def _subject_problems(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    script, shows, probe = (table.get(key) for key in ("run", "shows", "probe"))
    healthy = table.get("healthy")
    if healthy is not None and (not isinstance(healthy, str) or not healthy.strip() or "good" in table):
        yield "reproduction.healthy", repr(healthy), "the script without the fault, in place of good pins"
    if probe is not None:
        if script is not None or shows is not None or healthy is not None:
            yield "reproduction", "run or shows beside probe", "run and shows, or probe and facts"
        if probe not in PROBES:
            yield "reproduction.probe", repr(probe), " | ".join(sorted(PROBES))
        facts = table.get("facts", {})
        for name, raw in flatten(facts) if isinstance(facts, Mapping) else [("facts", facts)]:
            if term(name) is None or isinstance(parse_value(name, raw), NotUnderstood):
                yield "reproduction.facts", f"{name} = {raw!r}", "a fact of the vocabulary with a value that is understood"
        return
    if not isinstance(script, str) or not script.strip():
        yield "reproduction.run", repr(script), "a script, or probe and facts"
    if not isinstance(shows, str) or len(shows) < 8:
        yield "reproduction.shows", repr(shows), "a fragment of at least 8 characters of what the bad environment prints"
    if "facts" in table:
        yield "reproduction.facts", "facts without a probe", "run and shows, or probe and facts"


def reproduction_of(table: Mapping[str, object]) -> Reproduction:
    """Read a table that has no problems."""
    pins = {side: tuple(str(pin) for pin in [*_list(table.get(side, table["bad"])), *_list(table.get("extra"))]) for side in SIDES}
    stated = table.get("facts", {})
    facts = [
        Fact(name, parse_value(name, raw), Origin("reproduction")) for name, raw in flatten(stated if isinstance(stated, Mapping) else {})
    ]
    script, shows, probe, healthy = (None if table.get(key) is None else str(table[key]) for key in ("run", "shows", "probe", "healthy"))
    bare = tuple(str(name) for name in _list(table.get("bare")))
    return Reproduction(
        str(table["python"]),
        pins,
        script,
        shows,
        probe,
        Facts().with_facts(facts),
        gpu=table.get("gpu") is True,
        healthy=healthy,
        forced=table.get("forced") is True,
        bare=bare,
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def misplaced(condition: Condition | None, reproduction: Reproduction, known: Known) -> Iterator[tuple[str, str, str]]:
    """Pins on the wrong side of the rule: bad ones that it does not accuse, good ones that it still does."""
    if condition is None:
        return
    for side in SIDES:
        versions: dict[str, str] = {}
        for pin in reproduction.pins[side]:
            requirement = Requirement(pin)
            versions[canonicalize_name(requirement.name)] = str(requirement.specifier)
        outcome = evaluate(condition, _stack(reproduction.python, versions), known)
        if side == "bad" and outcome is False:
            yield "reproduction.bad", ", ".join(reproduction.pins[side]), "pins that the rule accuses"
        if side == "good" and outcome is not False and reproduction.healthy is None:
            yield "reproduction.good", ", ".join(reproduction.pins[side]), "pins under which the rule cannot match"


def _stack(python: str, versions: Mapping[str, str]) -> Facts:
    stated = [("python", python), *((f"packages.{name}", text) for name, text in versions.items())]
    return Facts().with_facts(Fact(name, parse_value(name, text), Origin("reproduction")) for name, text in stated)


def reproduce(
    table: Mapping[str, object],
    build: Builder,
    *,
    condition: Condition | None,
    packages: Sequence[str],
    known: Known,
    date: str,
    gpu: str | None = None,
) -> dict[str, object]:
    """Run a ``[reproduction]`` table without problems on both sides and return its ledger entry.

    ``packages`` are those whose versions are recorded besides the pinned ones; ``gpu`` is the name of the GPU at hand.

    Raises:
        NotBuiltError: an environment cannot be made, so that nothing was shown either way.
    """
    reproduction = reproduction_of(table)
    if reproduction.gpu and gpu is None:
        raise NotBuiltError("it needs a GPU, and none is here")
    entry: dict[str, object] = {"subject": subject(table), "date": date, "platform": f"{platform.system()} {platform.machine()}"}
    if reproduction.gpu:
        entry["gpu"] = gpu
    wrong = None
    for side in SIDES:
        built = reproduction.built(build, reproduction.pins[side])
        seen = examine(reproduction, built, reproduction.healthy if side == "good" else None)
        entry[side] = _side(reproduction, side, built, seen, packages)
        entry["python"] = built.python
        wrong = wrong or _contradiction(reproduction, side, built, seen, condition, known)
    entry["result"] = "reproduced" if wrong is None else "not reproduced"
    return entry if wrong is None else entry | {"why": wrong}


def _side(reproduction: Reproduction, side: Side, built: Environment, seen: Seen, packages: Sequence[str]) -> dict[str, object]:
    named = {canonicalize_name(name) for name in packages} | {canonicalize_name(Requirement(pin).name) for pin in reproduction.pins[side]}
    installed = {name: version for name, version in sorted(built.installed.items()) if name in named}
    return {"pins": list(reproduction.pins[side]), "installed": installed, "seen": seen.line}


def _contradiction(
    reproduction: Reproduction, side: Side, built: Environment, seen: Seen, condition: Condition | None, known: Known
) -> str | None:
    """Why this side does not show what the rule says, or None where it does."""
    if side == "bad" and not seen.harmed:
        return f"the bad environment does not show it: {seen.line}"
    if side == "good" and seen.harmed:
        return f"the good environment shows it as well: {seen.line}"
    if side == "good" and not seen.well:
        return f"the good environment fails otherwise: {seen.line}"
    # Only of the packages that were pinned: what else was installed may be anything that resolves.
    pinned = {canonicalize_name(Requirement(pin).name) for pin in reproduction.pins[side]}
    versions = {name: version for name, version in sorted(built.installed.items()) if name in pinned}
    if side == "good" and reproduction.healthy is not None:
        return None
    if condition is not None and (evaluate(condition, _stack(built.python, versions), known) is False) is (side == "bad"):
        return f"the {side} environment is on the other side of the rule: {', '.join(map(' '.join, versions.items()))}"
    return None


def examine(reproduction: Reproduction, built: Environment, script: str | None = None, *, told: Told | None = None) -> Seen:
    """Run the script or the probe of a reproduction in an environment, whichever side it is of; ``script`` in place of its own.

    ``told`` hears what the run does.
    """
    if reproduction.probe is not None:
        return see_probe(reproduction.probe, built, reproduction.facts, told=told)
    return see_script(script or reproduction.script or "", built, reproduction.shows or "", told=told)


def see_probe(probe: str, built: Environment, facts: Facts, *, trust: bool = False, told: Told | None = None) -> Seen:
    """What a probe says of an environment, under facts of a plan."""
    named = ((f"packages.{package}", text) for package, text in built.installed.items())
    packages = [Fact(name, parse_value(name, text), Origin("installed")) for name, text in named]
    verdict = run_probe(probe, built.interpreter, facts.with_facts(packages), environ=_environ(), trust=trust, told=told)
    line = f"{verdict.probe}: {verdict.verdict}: {verdict.reason}"
    return Seen(verdict.verdict == "confirmed", verdict.verdict == "refuted", without_places(line))


def see_script(script: str, built: Environment, shows: str | None, *, told: Told | None = None) -> Seen:
    """What comes of a script in an environment; where nothing is named that it ``shows``, failing is the harm."""
    outcome = run_child(
        built.interpreter,
        _CHILD,
        {"script": script},
        timeout=SCRIPT_SECONDS,
        memory_bytes=_SCRIPT_BYTES,
        environ=_environ(),
        told=told,
    )
    if outcome.measured is None:
        return Seen(False, False, without_places(f"no result: {outcome.failure}"))
    output, status = str(outcome.measured.get("output")), outcome.measured.get("status")
    if shows is not None:
        return _read(output, status, shows)
    seen = _read(output, status, "\0")
    return replace(seen, harmed=not seen.well, line=seen.line.partition(": ")[2] or seen.line)


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def _read(output: str, status: object, shows: str) -> Seen:
    lines = [line for line in output.splitlines() if line.strip()]
    if shows in output:
        # The last one: above an error, a traceback quotes the line of code that raised it.
        return Seen(True, status == 0, without_places(next((line for line in reversed(lines) if shows in line), shows)))
    # Below an error, a library may have written what to try.
    error = next((line for line in reversed(lines) if re.match(r"[\w.]*(?:Error|Exception)\b", line)), lines[-1] if lines else "")
    last = f": {error}" if error and status != 0 else ""
    return Seen(False, status == 0, without_places(f"exit status {status}{last}"))


def without_places(text: str) -> str:
    """One line of at most 300 characters without colours that names no directory of this machine: of a path the last part stays."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    text = re.sub(r"(?<![\w.:/~-])/(?:[^\s/'\"()<>:,]+/)+", "", text)
    return plain(re.sub(r"\b[A-Za-z]:\\(?:[^\s\\'\"()<>:,]+\\)+", "", text), _MOST_SEEN)
