"""What the calls of a script say, gathered: one fact where they agree, and a skip with the lines where they do not."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.facts.fact import Collected, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.values import shown
from envdoctor.facts.vocabulary import MISSED, ONCE, UNCLEAR, WHOLE
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.scripts.kinds import Known, Made, Symbol, Table
from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.source import Source
from envdoctor.sources.stated.stated_value import stated_value

# Why a claim has no value where a call that could ask for something does not.
ABSENT = "not asked for"


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a fact; no value: one that a tree does not show."""

    fact: str
    value: FactValue | None
    line: int
    scope: Scope | None = None
    default: str = ""
    why: str = "no constant"
    quiet: bool = False
    lines: tuple[tuple[str, int], ...] = ()
    """The line of each item of a list, where a call writes them on several."""


@dataclass(slots=True)
class Claims:
    """Collects the claims of one script. ``training`` is the last line of ``trainer.train()`` by scope: what comes after is another run."""

    source: Source
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    defaults: dict[str, Fact] = field(default_factory=dict)
    training: dict[Scope | None, int] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    adopted: dict[str, Fact] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    looked_for: list[str] = field(default_factory=list)

    def say(self, fact: str, known: Known | None, line: int, scope: Scope | None = None, why: str = "no constant") -> None:
        """State a fact from a value as the evaluator knows it; None of Python says nothing."""
        if known is not None and known.value is None:
            return
        value = None if known is None else _fact_value(fact, known.value)
        origin = known.default if known is not None else ""
        at = known.line if known is not None and known.default and known.line else line
        self._add(Claim(fact, value, at if value is not None else line, scope, origin, why))

    def state(self, fact: str, value: FactValue, line: int, scope: Scope | None = None, lines: tuple[tuple[str, int], ...] = ()) -> None:
        self._add(Claim(fact, value, line, scope, lines=lines))

    def unknown(self, fact: str, line: int, scope: Scope | None = None, why: str = "no constant", *, quiet: bool = False) -> None:
        """Say that a call decides a fact and a tree does not show how; ``quiet``: one skip tells it for many facts."""
        self._add(Claim(fact, None, line, scope, why=why, quiet=quiet))

    def default(self, fact: str, value: FactValue, origin: str) -> None:
        """What holds where the script says nothing at all of a fact."""
        self.defaults.setdefault(fact, Fact(fact, value, Origin(origin)))

    def leave_open(self, facts: Iterable[str]) -> None:
        """Say that something else decides these facts, as far as this script does not: the command line, another module."""
        self.elsewhere.update(facts)

    def adopt(self, fact: Fact) -> None:
        """A fact that another file states for this one."""
        self.adopted[fact.name] = fact

    def _add(self, claim: Claim) -> None:
        self.claims.setdefault(claim.fact, []).append(claim)

    def collected(self) -> Collected:
        own = [name for name in self.claims if name not in self.adopted]
        facts = [fact for name in own if (fact := self._settle(self.claims[name])) is not None]
        facts += self.adopted.values()
        facts += [fact for name, fact in self.defaults.items() if name not in self.claims and name not in self.adopted]
        open_ = {name for name in own if name.startswith("plan.") and not self._is_left_out(name)} | self.elsewhere
        unclear = tuple(sorted(open_ - {fact.name for fact in facts}))
        if unclear and WHOLE in self.defaults:
            facts.append(Fact(UNCLEAR, unclear, self.source.origin(1)))
        return Collected(tuple(facts), skips=(*self.source.skips, *self.skips))

    def _is_left_out(self, name: str) -> bool:
        """Whether nothing that could ask for a fact does so before the training ends."""
        return all(claim.why == ABSENT or self._behind_training(claim) for claim in self.claims[name])

    def _settle(self, claims: list[Claim]) -> Fact | None:
        name = claims[0].fact
        claims = [claim for claim in claims if not self._behind_training(claim)]
        if all(claim.why == ABSENT for claim in claims):
            return None
        if name in ONCE:
            claims = [claim for claim in claims if claim.value is True] or claims
        if name == "plan.arguments" and None not in _values(claims):
            together = tuple(sorted({item for claim in claims if isinstance(claim.value, tuple) for item in claim.value}))
            claims = [replace(claim, value=together) for claim in claims]
        if len(_values(claims)) > 1 or any(claim.value is None for claim in claims):
            claims = self._before_training(claims)
        first = min(claims, key=lambda claim: claim.line)
        if len(_values(claims)) == 1 and first.value is not None:
            # A setting that is written down says more than a default that happens to be the same.
            told = min(claims, key=lambda claim: (bool(claim.default), claim.line))
            place = plain(self.source.path, 4096)
            origin = self.source.origin(told.line, f"default of {told.default} in {place}" if told.default else "")
            return Fact(name, first.value, origin, self._places(claims, first.value, told.line))
        if (name not in MISSED and _values(claims) == {None}) or any(claim.quiet for claim in claims):
            return None
        self.skips.append(Skip(self.source.place(first.line), plain(f"{name} is not told: {self._told(claims)}")))
        return None

    def _places(self, claims: list[Claim], value: FactValue, line: int) -> tuple[Origin, ...]:
        """The place of each item of a list, where the calls that give them keep their lines."""
        lines = {item: at for claim in reversed(claims) for item, at in claim.lines}
        return tuple(self.source.origin(lines.get(item, line)) for item in value) if lines and isinstance(value, tuple) else ()

    def _behind_training(self, claim: Claim) -> bool:
        """Whether a claim stands behind the last training of its scope: it is about what is done with the result."""
        return claim.scope in self.training and claim.line > self.training[claim.scope] and not claim.default

    def _before_training(self, claims: list[Claim]) -> list[Claim]:
        """Of claims that none of them stands behind it, those of the training's own scope, where there are any."""
        return [claim for claim in claims if claim.scope in self.training] or claims

    def _told(self, claims: list[Claim]) -> str:
        parts: dict[str, str] = {}
        for claim in sorted(claims, key=lambda claim: claim.line):
            text = claim.why if claim.value is None else shown(claim.value)
            parts.setdefault(text, self.source.short(claim.line))
        return ", ".join(f"{text} on {place}" for text, place in list(parts.items())[:4])


def _values(claims: list[Claim]) -> set[FactValue | None]:
    return {claim.value for claim in claims}


def _fact_value(fact: str, value: object) -> FactValue | None:
    if isinstance(value, (Symbol, Made, Table)):
        return None
    if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
        return None
    stated = stated_value(fact, list(value) if isinstance(value, tuple) else value)
    return None if isinstance(stated, NotUnderstood) else stated
