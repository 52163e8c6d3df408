"""Which rules a change of a snapshot touches: those that its changed facts decide, for the stack and plan it was locked with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import parse_value, shown
from envdoctor.facts.vocabulary import UNREAD, term
from envdoctor.records import dataclass
from envdoctor.rules.conditions import evaluate, holds, leaves
from envdoctor.rules.rule import Rule
from envdoctor.snapshot.lock import Stated
from envdoctor.world.releases import release_texts

_MOST = 6


@dataclass(frozen=True, slots=True)
class Touched:
    """One fact of the model that differs, in words; and rules, by what became of them, those that hold now with their titles."""

    name: str
    before: str
    after: str
    holds_now: tuple[str, ...] = ()
    held_before: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        told = [f"{self.name}: {self.before} -> {self.after}"]
        for words, rules in (
            ("holds now", self.holds_now),
            ("holds no longer", self.held_before),
            ("rules that ask for it", self.asked_by),
        ):
            if rules:
                more = f" and {len(rules) - _MOST} more" if len(rules) > _MOST else ""
                told.append(f"{words}: {', '.join(rules[:_MOST])}{more}")
        return told


def facts_of(values: Mapping[str, Stated], prefix: str, source: str) -> list[Fact]:
    """Facts that a lock has kept, as if they were stated now; what is no longer a fact decides nothing."""
    found = []
    for name, raw in values.items():
        if term(prefix + name) is None:  # a lock of another release of envdoctor
            continue
        value = parse_value(prefix + name, list(raw) if isinstance(raw, tuple) else raw)
        if not isinstance(value, NotUnderstood):
            found.append(Fact(prefix + name, value, Origin(source)))
    return found


def find_touched(before: Iterable[Fact], after: Iterable[Fact], situation: Iterable[Fact], rules: Iterable[Rule]) -> tuple[Touched, ...]:
    """The facts of the model that differ, each with the rules that it decides in that situation, or would in another.

    A rule is told with the first fact that it mentions. A fact that only one side could read is told where a rule hangs on it.
    """
    around = list(situation)
    old = Facts().with_facts([*before, *around])
    new = Facts().with_facts([*after, *around])
    of_model = [name for name in sorted(old.keys() | new.keys()) if name.startswith("model.")]
    changed = [name for name in of_model if name in old and name in new and shown(old[name].value) != shown(new[name].value)]
    gone = [name for name in of_model if name not in old or name not in new]
    if not changed and not gone:
        return ()
    told: dict[str, tuple[list[str], list[str], list[str]]] = {name: ([], [], []) for name in [*changed, *gone]}
    was, now = (derive(_as_read(facts)) for facts in (old, new))
    for rule in rules:
        if rule.condition is None or rule.withdrawn is not None:
            continue
        named = [leaf for leaf in leaves(rule.condition) if leaf.fact in told]
        if not named:
            continue
        first = named[0].fact
        outcomes = evaluate(rule.condition, was, release_texts), evaluate(rule.condition, now, release_texts)
        if outcomes[1] is True and outcomes[0] is not True:
            told[first][0].append(f"{rule.id} ({rule.title})")
        elif outcomes[0] is True and outcomes[1] is not True:
            told[first][1].append(rule.id)
        elif any(leaf.fact in told and holds(leaf, was, release_texts) is not holds(leaf, now, release_texts) for leaf in named):
            told[first][2].append(rule.id)
    return tuple(
        Touched(name, _value(old, name), _value(new, name), tuple(new_ones), tuple(old_ones), tuple(others))
        for name, (new_ones, old_ones, others) in told.items()
        if name in changed or new_ones or old_ones
    )


def _as_read(facts: Facts) -> Facts:
    """The facts of a lock, with what nothing that was read shows as not there: a lock was made without a script, or keeps what it said."""
    return facts.with_facts([Fact(name, value, Origin("nothing read")) for name, value in UNREAD.items() if name not in facts])


def _value(facts: Facts, name: str) -> str:
    return shown(facts[name].value) if name in facts else "(unknown)"
