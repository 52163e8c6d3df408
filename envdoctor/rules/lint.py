"""What is wrong with a rule file: its form, and whether its cases prove every condition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Origin
from envdoctor.facts.values import flatten, parse_value
from envdoctor.facts.versions import exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED, suggestion, term
from envdoctor.files.toml import read_toml
from envdoctor.records import dataclass
from envdoctor.rules.boundaries import CLAIMS, is_boundary
from envdoctor.rules.broken_imports import without_broken_imports
from envdoctor.rules.conditions import All, AnyOf, Condition, Known, Not, evaluate
from envdoctor.rules.ledger import proven, read_ledger
from envdoctor.rules.left_out import left_out
from envdoctor.rules.reproduction import misplaced, problems, reproduction_of
from envdoctor.rules.rule import Fix, Rule, parse_rule

_EXPECT: Mapping[str, bool | None] = {"match": True, "no-match": False, "unknown": None}
_LONGEST_TITLE = 110


@dataclass(frozen=True, slots=True)
class Case:
    """A situation and what the rule must say of it."""

    expect: str
    facts: Facts


def lint_file(
    path: Path, known: Known, *, probes: frozenset[str], checks: frozenset[str], table: Mapping[str, object] | None = None
) -> list[EnvdoctorError]:
    """Everything that is wrong with one rule file; an empty list when nothing is.

    ``probes`` and ``checks`` are the names that a rule may refer to; ``table`` is the file where it was read already.
    """
    try:
        table = read_toml(path) if table is None else table
        rule = parse_rule(table, str(path))
    except EnvdoctorError as error:
        return list(getattr(error, "errors", (error,)))
    errors = list(_form(rule, path, probes, checks))
    errors += [_wrong(path, key, found, expected) for key, found, expected in left_out(table)]
    if rule.affected is not None:
        cases, wrong = _cases(table, path)
        errors += wrong or list(_proof(without_broken_imports(rule.affected), cases, path, known))
    errors += [*_boundaries(table, path), *_reproduction(table, rule, path, known)]
    return errors + list(_pins(rule, path, known, [facts for _, facts in match_cases(table, path)]))


def lint_confidence(path: Path, table: Mapping[str, object] | None = None) -> list[EnvdoctorError]:
    """What a rule without other errors claims to be and its ledger does not show."""
    try:
        table = read_toml(path) if table is None else table
        shown = proven(table, path)
    except EnvdoctorError as error:
        return [error]
    if table.get("confidence") == shown:
        return []
    expected = f"{shown}: its ledger shows no more of the claims and the reproduction that it has now"
    return [_wrong(path, "confidence", repr(table.get("confidence")), expected, _recording(table, path))]


def _recording(table: Mapping[str, object], path: Path) -> str:
    """The command that records what the rule claims to be."""
    if table.get("confidence") == "boundary":
        return f"envdoctor rules verify --record {path.stem}"
    if "reproduction" not in table and (probed := read_ledger(path).probed) is not None:
        return f"python scripts/prove_probes.py --record {probed.get('probe')}"
    return f"envdoctor rules reproduce --record {path.stem}"


def _wrong(
    path: Path, key: str, found: str, expected: str, next_step: str = "see CONTRIBUTING.md, how a rule is written"
) -> EnvdoctorError:
    return EnvdoctorError(f"{path}: {key}", found=found, expected=expected, next_step=next_step)


def _form(rule: Rule, path: Path, probes: frozenset[str], checks: frozenset[str]) -> Iterator[EnvdoctorError]:
    if rule.id != path.stem:
        yield _wrong(path, "id", repr(rule.id), f"the file's stem, {path.stem!r}")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id):
        yield _wrong(path, "id", repr(rule.id), "lower-case words joined by dashes")
    if len(rule.title) > _LONGEST_TITLE or rule.title.rstrip().endswith("."):
        yield _wrong(path, "title", repr(rule.title), f"one line of at most {_LONGEST_TITLE} characters without a full stop")
    if rule.probe is not None and rule.probe not in probes:
        yield _wrong(path, "probe", repr(rule.probe), " | ".join(sorted(probes)))
    if rule.check is not None and rule.check not in checks:
        yield _wrong(path, "check", repr(rule.check), " | ".join(sorted(checks)))
    if not rule.fixes:
        yield _wrong(path, "fix", "nothing", "at least one [[fix]]")
    for fix in rule.fixes:
        for name, setting in fix.plan.items():
            if term(name) is None:
                yield _wrong(path, "fix.plan", repr(name), _fact_expected(name))
            elif isinstance(parse_value(name, setting), NotUnderstood):
                yield _wrong(path, "fix.plan", f"{name} = {setting!r}", "a value that is understood")
    for symptom in rule.symptoms:
        if len(symptom) < 8:
            yield _wrong(path, "symptoms", repr(symptom), "a fragment of at least 8 characters, long enough to be told apart")


def _fact_expected(name: str) -> str:
    close = suggestion(name)
    return f"a fact of the vocabulary{f', perhaps {close!r}' if close else ''}"


def match_cases(table: Mapping[str, object], path: Path) -> list[tuple[int, Facts]]:
    """The situations of which a rule file says that the rule holds, with their numbers among its cases."""
    return [(number, case.facts) for number, case in enumerate(_cases(table, path)[0], start=1) if case.expect == "match"]


def _cases(table: Mapping[str, object], path: Path) -> tuple[list[Case], list[EnvdoctorError]]:
    listed = table.get("case", [])
    if not isinstance(listed, list):
        return [], [_wrong(path, "case", repr(listed), "tables, each headed [[case]]")]
    cases, errors = [], []
    for number, item in enumerate(listed, start=1):
        key = f"case {number}"
        expect = item.get("expect") if isinstance(item, Mapping) else None
        stated = item.get("facts") if isinstance(item, Mapping) else None
        if not isinstance(expect, str) or expect not in _EXPECT or not isinstance(stated, Mapping):
            errors.append(_wrong(path, key, repr(item), "expect = match | no-match | unknown, and facts = { ... }"))
            continue
        facts = []
        for name, raw in flatten(stated):
            if term(name) is None:
                errors.append(_wrong(path, key, repr(name), _fact_expected(name)))
                continue
            value = parse_value(name, raw)
            if isinstance(value, NotUnderstood):
                errors.append(_wrong(path, key, f"{name} = {raw!r}", "a value that is understood"))
            facts.append(Fact(name, value, Origin(key)))
        cases.append(Case(expect, Facts().with_facts(facts)))
    return cases, errors


def _proof(condition: Condition, cases: list[Case], path: Path, known: Known) -> Iterator[EnvdoctorError]:
    wrong = False
    for number, case in enumerate(cases, start=1):
        outcome = evaluate(condition, case.facts, known)
        if outcome is not _EXPECT[case.expect]:
            wrong = True
            said = next(word for word, value in _EXPECT.items() if value is outcome)
            yield _wrong(path, f"case {number}", said, case.expect, "mend the condition or the case")
    for word in _EXPECT:
        if not any(case.expect == word for case in cases):
            wrong = True
            yield _wrong(path, "case", f"no case that expects {word}", "at least one match, one no-match per condition, one unknown")
    if wrong:
        return
    for dropped, name in _dropped(condition):
        # A rule of one comparison says something of every situation without it: its no-match case is the proof.
        # What a script does not load every rule asks in the same way.
        if dropped is None or name.startswith(f"not {NOT_LOADED} "):
            continue
        if all(evaluate(dropped, case.facts, known) is _EXPECT[case.expect] for case in cases):
            yield _wrong(
                path, f"affected: {name}", "all cases pass without this condition", "a case that only it decides (mostly a no-match)"
            )


def _dropped(condition: Condition) -> Iterator[tuple[Condition | None, str]]:
    """The condition with each of its comparisons left out in turn."""
    if isinstance(condition, (All, AnyOf)):
        make = type(condition)
        for index, part in enumerate(condition.parts):
            rest = condition.parts[:index] + condition.parts[index + 1 :]
            for smaller, name in _dropped(part):
                kept = rest if smaller is None else (*condition.parts[:index], smaller, *condition.parts[index + 1 :])
                yield (make(kept) if kept else None), name
    elif isinstance(condition, Not):
        for smaller, name in _dropped(condition.part):
            yield (None if smaller is None else Not(smaller)), f"not {name}"
    else:
        yield None, f"{condition.fact} {condition.text()}"


def _boundaries(table: Mapping[str, object], path: Path) -> Iterator[EnvdoctorError]:
    listed = table.get("boundary", [])
    for item in listed if isinstance(listed, list) else [listed]:
        if not is_boundary(item):
            yield _wrong(path, "boundary", repr(item), f"package, first or last (a release), and one claim: {', '.join(CLAIMS)}")


def _reproduction(table: Mapping[str, object], rule: Rule, path: Path, known: Known) -> Iterator[EnvdoctorError]:
    if "reproduction" not in table:
        return
    listed = table["reproduction"]
    wrong = problems(listed)
    if isinstance(listed, Mapping) and not wrong:
        wrong = list(misplaced(rule.affected, reproduction_of(listed), known))
    for key, found, expected in wrong:
        yield _wrong(path, key, found, expected)


def _pins(rule: Rule, path: Path, known: Known, cases: Sequence[Facts]) -> Iterator[EnvdoctorError]:
    for fix in rule.fixes:
        for package, spec in fix.pins.items():
            releases = known(package)
            if releases and not any(version_condition(spec).relation(exact(text)) for text in releases):
                yield _wrong(path, "fix.pin", f"{package} {spec}", "a range that a released version lies in")
    yield from _useless(rule, path, known, cases)


def _useless(rule: Rule, path: Path, known: Known, cases: Sequence[Facts]) -> Iterator[EnvdoctorError]:
    """A pin must be able to break the condition: some release in it lies outside the affected range, or ends one of the match cases."""
    if rule.affected is None:
        return
    for fix in rule.fixes:
        if fix.kind == "pin" and not _can_clear(rule.affected, fix, known, cases):
            shown = ", ".join(f"{name} {spec}" for name, spec in fix.pins.items())
            yield _wrong(path, "fix.pin", shown, "a range with a release under which the rule no longer matches")


def _can_clear(condition: Condition, fix: Fix, known: Known, cases: Sequence[Facts]) -> bool:
    """Whether releases of all the fix's packages together leave the rule without a match; True where releases are not known.

    Of a rule about any of several packages a pin ends the case in which it is that one.
    """
    choices = []
    for package, spec in fix.pins.items():
        releases = known(package)
        if not releases:
            return True
        facts = (
            Fact(f"packages.{package}", exact(text), Origin("fix")) for text in releases if version_condition(spec).admits(exact(text))
        )
        choices.append(_different(condition, facts, known))
    return any(evaluate(condition, base.with_facts(chosen), known) is False for base in (Facts(), *cases) for chosen in product(*choices))


def _different(condition: Condition, facts: Iterable[Fact], known: Known) -> list[Fact]:
    """Of facts of one name one of each kind that some comparison tells apart."""
    leaves = list(_leaves(condition))
    found = {tuple(evaluate(leaf, Facts().with_facts([fact]), known) for leaf in leaves): fact for fact in facts}
    return list(found.values())


def _leaves(condition: Condition) -> Iterator[Condition]:
    """The comparisons that a condition is made of."""
    if isinstance(condition, (All, AnyOf)):
        for part in condition.parts:
            yield from _leaves(part)
    elif isinstance(condition, Not):
        yield from _leaves(condition.part)
    else:
        yield condition
