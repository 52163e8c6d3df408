"""Rules: one known-bad combination a file, with its evidence, its cures and its proof."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.names import canonical
from envdoctor.facts.values import flatten
from envdoctor.facts.versions import version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.records import dataclass, field
from envdoctor.rules.broken_imports import join_broken_imports
from envdoctor.rules.conditions import All, AnyOf, Condition, InvalidConditionError, Not, PackageIs, ValueIs, accused, parse_condition

Severity = Literal["error", "warning", "note"]
Effect = Literal["silent", "crash", "oom", "slow", "blocked"]
Confidence = Literal["cited", "computed", "boundary", "reproduced", "reproduced-gpu"]

EVIDENCE_KINDS = ("issue", "pr", "commit", "release-notes", "docs", "source", "wheel", "execution", "forum")
_KEYS = (
    "id", "title", "severity", "effect", "confidence", "probe", "symptoms", "details", "affected", "error_when", "check", "packages",
    "fix", "evidence", "boundary", "case", "aliases", "withdrawn", "reproduction", "log_only",
)  # fmt: skip
_MOST_PACKAGES = 4
_AT_RUN_TIME = frozenset(("crash", "silent", "oom", "slow"))


@dataclass(frozen=True, slots=True)
class Fix:
    """One cure. ``pins`` are version ranges by package, ``plan`` facts to set; else prose.

    ``sets`` are the facts that a cure of another kind than pins makes true, besides those of ``plan``.
    """

    kind: Literal["pin", "plan", "code", "snapshot", "hardware"]
    note: str
    pins: Mapping[str, str] = field(default_factory=dict)
    plan: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    sets: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    url: str
    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known to go wrong, when, why, on what evidence, and what cures it.

    ``condition`` is None for a rule that code decides: then ``check`` names that code. It is None for a rule that nothing but an error
    text shows, too (``log_only``): facts alone never make such a rule hold, and ``in_log`` says on which stacks the text is its own.
    Where ``error_when`` holds the severity is ``error``, whatever ``severity`` says.
    """

    id: str
    title: str
    severity: Severity
    effect: Effect
    confidence: Confidence
    details: str
    condition: Condition | None
    check: str | None = None
    error_when: Condition | None = None
    packages: tuple[str, ...] = ()
    probe: str | None = None
    symptoms: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    aliases: tuple[str, ...] = ()
    withdrawn: str | None = None
    log_only: bool = False
    in_log: Condition | None = None

    @property
    def affected(self) -> Condition | None:
        """What the rule file says under ``[affected]``, whether facts or an error text make the rule speak."""
        return self.condition or self.in_log


def parse_rule(table: Mapping[str, object], place: str) -> Rule:
    """Read one rule.

    Raises:
        EnvdoctorError: with every error of the rule, each naming its key.
    """
    reader = _Reader(table, place)
    log_only = reader.switch("log_only")
    rule = Rule(
        id=reader.text("id"),
        title=reader.text("title"),
        severity=cast("Severity", reader.choice("severity", get_args(Severity))),
        effect=cast("Effect", reader.choice("effect", get_args(Effect))),
        confidence=cast("Confidence", reader.choice("confidence", get_args(Confidence))),
        details=reader.text("details"),
        condition=None if (affected := reader.condition("affected")) is None or log_only else _told_of_what_is_loaded(affected, table),
        error_when=reader.condition("error_when"),
        check=reader.optional_text("check"),
        probe=reader.optional_text("probe"),
        symptoms=reader.texts("symptoms"),
        fixes=reader.fixes(),
        evidence=reader.evidence(),
        aliases=reader.texts("aliases"),
        withdrawn=reader.optional_text("withdrawn"),
        packages=_packages(reader.texts("packages"), affected),
        log_only=log_only,
        in_log=affected if log_only else None,
    )
    reader.unknown_keys()
    if log_only and ("check" in table or "symptoms" not in table):
        reader.error("log_only", "check" if "check" in table else "no symptoms", "symptoms of an error text, and no code that decides")
    elif not {"affected", "check", "log_only"} & table.keys():
        reader.error("affected", "neither [affected] nor check", "a condition, or the name of the code that decides")
    reader.finish()
    return rule


def outline(table: Mapping[str, Any]) -> Rule:
    """A rule as far as matching needs it, without its cures and evidence, from a table that `parse_rule` has accepted.

    Raises:
        InvalidConditionError, KeyError, TypeError, ValueError: the table is none that it has accepted.
    """
    affected, severe = table.get("affected"), table.get("error_when")
    condition = None if affected is None else parse_condition(affected)
    log_only = table.get("log_only", False)
    return Rule(
        id=table["id"],
        title=table["title"],
        severity=table["severity"],
        effect=table["effect"],
        confidence=table["confidence"],
        details=table["details"],
        condition=None if log_only or condition is None else _told_of_what_is_loaded(condition, table),
        error_when=None if severe is None else parse_condition(severe),
        check=table.get("check"),
        probe=table.get("probe"),
        symptoms=tuple(table.get("symptoms", ())),
        aliases=tuple(table.get("aliases", ())),
        withdrawn=table.get("withdrawn"),
        packages=_packages(table.get("packages", ()), condition),
        log_only=log_only,
        in_log=condition if log_only else None,
    )


def _packages(named: Sequence[str], condition: Condition | None) -> tuple[str, ...]:
    """The packages that a rule is about: those it names, else those that its condition accuses; four at most of these."""
    if named or condition is None:
        return tuple(canonical(name) for name in named)
    return tuple(dict.fromkeys(named_packages(condition)))[:_MOST_PACKAGES]


def named_packages(condition: Condition) -> tuple[str, ...]:
    """The packages that the condition accuses; one that must be absent is not among them."""
    return tuple(leaf.package for leaf in accused(condition) if isinstance(leaf, PackageIs))


def _are_releases(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.!+]+", str(one)) for one in value)


def _told_of_what_is_loaded(condition: Condition, table: Mapping[str, Any]) -> Condition:
    """The condition with what the atlas knows of imports: which of them fail, and what none of them leads to."""
    symptoms = table.get("symptoms", ())
    packages = tuple(map(canonical, table.get("packages", ()))) + named_packages(condition)
    if isinstance(symptoms, (list, tuple)):
        condition = join_broken_imports(condition, [text for text in symptoms if isinstance(text, str)], tuple(dict.fromkeys(packages)))
    return spare_what_is_not_loaded(condition, str(table.get("effect")))


def spare_what_is_not_loaded(condition: Condition, effect: str) -> Condition:
    """The condition, which does not hold of a script that never loads one of the packages whose releases it accuses together.

    What an installation ends in is met without an import.
    """
    return _spared(condition) if effect in _AT_RUN_TIME else condition


def _spared(condition: Condition) -> Condition:
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_spared(part) for part in condition.parts))
    parts = condition.parts if isinstance(condition, All) else (condition,)
    names = tuple(dict.fromkeys(part.package for part in parts if isinstance(part, PackageIs)))
    told = tuple(_spared(part) if isinstance(part, AnyOf) else part for part in parts)
    told += (Not(ValueIs(NOT_LOADED, names)),) if names else ()
    return told[0] if len(told) == 1 else All(told)


class _Reader:
    """Reads the keys of one rule and keeps every error, so that an author sees all of them."""

    def __init__(self, table: Mapping[str, object], place: str) -> None:
        self.table = table
        self.place = place
        self.errors: list[EnvdoctorError] = []

    def error(self, key: str, found: str, expected: str, next_step: str = "see CONTRIBUTING.md, how a rule is written") -> None:
        self.errors.append(EnvdoctorError(f"{self.place}: {key}", found=found, expected=expected, next_step=next_step))

    def finish(self) -> None:
        if self.errors:
            raise SeveralErrors(self.errors)

    def text(self, key: str) -> str:
        value = self.table.get(key)
        if isinstance(value, str) and value.strip():
            return value
        self.error(key, "nothing" if value is None else repr(value), "a text that is not empty")
        return ""

    def optional_text(self, key: str) -> str | None:
        return None if key not in self.table else self.text(key)

    def switch(self, key: str) -> bool:
        value = self.table.get(key, False)
        if isinstance(value, bool):
            return value
        self.error(key, repr(value), "true or false")
        return False

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        value = self.table.get(key)
        if value in allowed:
            return str(value)
        self.error(key, "nothing" if value is None else repr(value), " | ".join(allowed))
        return allowed[0]

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value):
            return tuple(value)
        self.error(key, repr(value), "a list of texts")
        return ()

    def tables(self, key: str) -> list[Mapping[str, object]]:
        value = self.table.get(key, [])
        if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
            return value
        self.error(key, repr(value), f"tables, each headed [[{key}]]")
        return []

    def condition(self, key: str) -> Condition | None:
        table = self.table.get(key)
        if table is None:
            return None
        if not isinstance(table, Mapping) or not table:
            self.error(key, repr(table), "a table of at least one fact")
            return None
        try:
            return parse_condition(table)
        except InvalidConditionError:
            self._condition_errors(key, "", table)
            return None

    def _condition_errors(self, key: str, prefix: str, table: Mapping[str, object]) -> None:
        """Every part of a condition that cannot be read, each by itself."""
        for name, value in table.items():
            place, fact = f"{key}.{name}", f"{prefix}{name}"
            if name in ("any", "all") and isinstance(value, list) and value and all(isinstance(item, Mapping) and item for item in value):
                for item in value:
                    self._condition_errors(place, "", item)
            elif isinstance(value, Mapping) and value and name != "packages":
                self._condition_errors(place, "" if name == "not" else f"{fact}.", value)
            else:
                parts = value if name == "packages" and isinstance(value, list) and value else None
                for part in [value] if parts is None else [[one] for one in parts]:
                    self._condition_error(place, {fact: part})

    def _condition_error(self, key: str, table: Mapping[str, object]) -> None:
        try:
            parse_condition(table)
        except InvalidConditionError as error:
            self.error(key, str(error).removeprefix("found "), "a condition over the vocabulary")

    def fixes(self) -> tuple[Fix, ...]:
        return tuple(fix for table in self.tables("fix") if (fix := self._fix(table)) is not None)

    def _fix(self, table: Mapping[str, object]) -> Fix | None:
        note = str(table.get("note", ""))
        kinds = [kind for kind in ("pin", "plan", "code", "snapshot", "hardware") if kind in table]
        extra = set(table) - {"pin", "plan", "code", "snapshot", "hardware", "note", "sets", "run", "tried"}
        if len(kinds) != 1 or extra:
            self.error("fix", ", ".join(map(str, table)) or "nothing", "one of pin, plan, code, snapshot, hardware, and a note")
            return None
        kind, value = kinds[0], table[kinds[0]]
        if "run" in table and (kind == "pin" or not isinstance(table["run"], str)):
            self.error(
                "fix.run", repr(table["run"]), "the script of [reproduction] with this cure in it; of pins the script stays as it is"
            )
            return None
        if "tried" in table and (kind == "pin" or not _are_releases(table["tried"])):
            self.error("fix.tried", repr(table["tried"]), "releases, such as ['peft==0.17.1'], of a cure in words; pins name theirs")
            return None
        sets = self._sets(kind, table.get("sets", {}))
        if kind == "pin":
            pins = self._pins(value)
            return None if pins is None else Fix("pin", note, pins=pins)
        if kind == "plan":
            if not isinstance(value, Mapping) or not value:
                self.error("fix.plan", repr(value), "a table of plan facts to set")
                return None
            return Fix("plan", note, plan={f"plan.{name}": setting for name, setting in value.items()}, sets=sets)
        if not isinstance(value, str) or not value.strip():
            self.error(f"fix.{kind}", repr(value), "a text that says what to do")
            return None
        return Fix(cast("Literal['code']", kind), note, text=value, sets=sets)

    def _sets(self, kind: str, value: object) -> dict[str, object]:
        """The facts that a cure makes true, by their full names."""
        if not isinstance(value, Mapping) or (value and kind == "pin"):
            self.error("fix.sets", repr(value), "a table of facts that the cure makes true; pins say it themselves")
            return {}
        return dict(flatten(value))

    def _pins(self, value: object) -> dict[str, str] | None:
        pins: dict[str, str] = {}
        for item in value if isinstance(value, list) else [value]:
            name, _, spec = str(item).strip().partition(" ")
            spec = "".join(spec.split())
            try:
                version_condition(spec)
            except ValueError:
                spec = ""
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or not spec:
                self.error("fix.pin", repr(item), "a name, a space and a version range, such as 'peft >=0.12'")
                return None
            pins[canonical(name)] = spec
        return pins

    def evidence(self) -> tuple[Evidence, ...]:
        found = []
        for table in self.tables("evidence"):
            url, kind, says = (str(table.get(key, "")) for key in ("url", "kind", "says"))
            if not url.startswith("https://") or "..." in url:
                self.error("evidence.url", repr(url), "a public https:// address that was read")
            if kind not in EVIDENCE_KINDS:
                self.error("evidence.kind", repr(kind), " | ".join(EVIDENCE_KINDS))
            if not says.strip():
                self.error("evidence.says", "nothing", "what the source says, in your own words")
            found.append(Evidence(url, kind, says))
        if not found:
            self.error("evidence", "nothing", "at least one [[evidence]] with url, kind and says")
        return tuple(found)

    def unknown_keys(self) -> None:
        for key in self.table:
            if key not in _KEYS:
                from difflib import get_close_matches

                close = get_close_matches(key, _KEYS, n=1)
                self.error(str(key), "an unknown key", f"perhaps {close[0]!r}" if close else ", ".join(_KEYS))
