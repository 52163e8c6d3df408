"""A diagnosis from error text: which rules the text shows, and whether their conditions hold here.

The text is evidence of its own. That the run met the fault says that the plan and the model were such as to meet it, so
conditions over facts of the plan, the model and the hardware that nobody stated count as met; conditions over packages do not,
nor, where the text is such as any program may print, conditions over the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envdoctor.engine.diagnosis import Because, Diagnosis, Finding, Location, Status, finding_of
from envdoctor.engine.likelihood import breadth
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT
from envdoctor.logs.affected import tell_affected
from envdoctor.logs.asked import ARGUMENT
from envdoctor.logs.attribution import EVERYBODYS, MESSAGE_LINES, is_guess, is_near, names_package, packages_required, packages_there
from envdoctor.logs.builds import is_untold
from envdoctor.logs.demanded import DEMAND, NOT_INSTALLED
from envdoctor.logs.derived import Derived
from envdoctor.logs.installer_rules import BUILD, NO_FILE, OF_INSTALLERS
from envdoctor.logs.last_resort import NO_MEMORY, judge_at_last, named_in
from envdoctor.logs.loss_curve import EVENTS
from envdoctor.logs.nightlies import join_with_nightly
from envdoctor.logs.other_causes import is_of_a_namesake, is_told_of_files, means_another
from envdoctor.logs.out_of_memory import PREFIX
from envdoctor.logs.reading import Reading
from envdoctor.logs.run_errors import ASSERTED
from envdoctor.logs.said_in_words import with_words_of_log
from envdoctor.logs.sayings import SAID, author_of
from envdoctor.logs.signatures import Shown
from envdoctor.logs.survived import was_survived
from envdoctor.logs.undefined_names import UNDEFINED
from envdoctor.records import dataclass, replace
from envdoctor.rules.conditions import All, AnyOf, Condition, Known, Not, PackageIs, accused, holds, missing
from envdoctor.rules.rule import Rule

# A page whose words are those of any full GPU, and which only a plan decides.
_OF_ANY_MEMORY = "plan-exceeds-gpu-memory"
_MOST_FINDINGS = 4
# What an installer and a build end with.
_OF_PIP = frozenset(
    ("CalledProcessError", "SubprocessError", "MetadataGenerationFailed", "DistutilsError", "BuildError", "ResolutionImpossible")
)
# A fragment shorter than this is shared by too many errors to decide on its own.
_SPECIFIC = 24
# Fragments of about the same length tell as much.
_SAME_LENGTH = 24
# After an assertion on the GPU every later call there fails, whatever it was about to do.
_ASSERTED = "device-side-assert"
_OF_THE_DEVICE = re.compile(r"CUBLAS_STATUS_|CUDNN_STATUS_|CUDA error")
_NAME = re.compile(r"_|[a-z][A-Z]|[A-Za-z][./:][A-Za-z]|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}")
_EXCEPTION = re.compile(r"[A-Z][A-Za-z]*(?:Error|Exception|Warning)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule whose symptom the text shows: whether it holds, how long the fragment is and whether it may decide on its own,
    how many of the rule's versions are stated, and whether the text is what an out-of-memory error comes to. ``ended`` says that the run
    ended with the text, ``known`` that one of the rule's packages is in the frames, the versions or the environment, ``named`` that the
    line itself tells of it, ``guess`` that its words are all that speaks for it."""

    outcome: bool | None
    finding: Finding
    length: int
    specific: bool
    stands: int
    of_memory: bool = False
    ended: bool = False
    known: bool = True
    named: bool = False
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The findings that the text shows, and the rules whose text it is but whose versions are others.

    ``explained`` says that one of them explains it, and does not only say who raised it.
    """

    findings: tuple[Finding, ...]
    elsewhere: tuple[str, ...]
    explained: bool = True


def explain(
    diagnosis: Diagnosis,
    reading: Reading,
    derived: Sequence[Derived],
    rules: Iterable[Rule],
    stated: Facts,
    facts: Facts,
    known: Known,
    log: str,
) -> Explanation:
    """Join what the text shows with what the facts decide: text and versions that both fit come first.

    ``facts`` are the ``stated`` ones with what follows from them. What the run ended with comes before a line in passing, and what is
    ``derived`` from an error is told where no rule knows more of it.
    """
    already = {finding.rule.id: finding for finding in diagnosis.findings}
    pages = {rule.id: rule for rule in rules}
    there = packages_there(reading, stated)
    with_required = there | packages_required(stated)
    # Whose name is missing because its import was skipped is not there, or as good as that.
    absent = [one.hit.packages[0] for one in derived if one.hit.rule == UNDEFINED and one.hit.outcome and one.hit.packages]
    # A card that is stated by its name refutes as its capability would.
    of_card = [facts[name] for name in facts if name.startswith("gpu.") and name not in stated]
    gone = [Fact(f"packages.{name}", ABSENT, Origin(log)) for name in absent if f"packages.{name}" not in stated]
    lacking = stated.with_facts([*gone, *of_card])
    computed = {one.hit.rule for one in derived} | {name for one in derived for name in one.hit.over}
    of_installer = not OF_INSTALLERS.isdisjoint(computed) or BUILD in computed
    # A text that has a page of its own, which names no cause, has several: there one of them has to be stated.
    general = {seen.symptom for name, seen in reading.shown.items() if pages[name].log_only and pages[name].affected is None}
    shadowed = frozenset(one.hit.edge.removeprefix("shadowed:") for one in derived if one.hit.edge.startswith("shadowed:"))
    candidates: list[Candidate] = []
    elsewhere = []
    for name, seen in reading.shown.items():
        rule = pages[name]
        if name in computed or means_another(rule, seen, reading, stated) or is_of_a_namesake(seen, shadowed):
            continue
        if _ASSERTED in reading.shown and name != _ASSERTED and _OF_THE_DEVICE.search(seen.symptom):
            continue
        if name == _ASSERTED and any(one.hit.edge.endswith(ASSERTED) for one in derived):
            continue  # which value it was stands in the assertion
        outcome = _outcome(rule, already.get(name), seen, lacking, known, shared=seen.symptom in general)
        outcome = True if outcome is None and is_told_of_files(rule, seen, reading) else outcome
        if outcome is False:
            elsewhere.append(name)
            continue
        finding = _finding(rule, already.get(name), seen, facts, known, log)
        if reading.history and seen.symptom in EVENTS:
            finding = replace(finding, detail=reading.history)
        at_home = not rule.packages or not with_required.isdisjoint(rule.packages) or names_package(seen, rule.packages)
        # What an installer said was read whole; a page that knows its first words knows no more of it.
        guess = is_guess(rule, seen, reading, there, derived, decided=outcome is True)
        guess = guess or (of_installer and outcome is None and rule.effect == "blocked")
        # Numbers that are none have many causes; what only may be one of them explains no loss.
        guess = guess or (outcome is None and seen.symptom in EVENTS)
        guess = guess or (rule.effect == "slow" and _is_before_the_end(seen.line, reading))
        stands = _stands(rule, stated, known)
        candidates.append(
            _candidate(rule, seen, finding, outcome, stands=stands, ended=_is_of_the_end(seen.line, reading), known=at_home, guess=guess)
        )
    # A symptom counts only where its package is; where the text is all that there is, nobody can tell.
    candidates = _to_the_point([one for one in candidates if one.known or not there], stated, known)
    candidates.sort(key=lambda one: _order(one, stated, known))
    findings = [replace(one.finding, status=_status(one, candidates)) for one in candidates[:_MOST_FINDINGS]]
    guesses = {one.finding.rule.id for one in candidates if one.guess}
    joined = join_with_nightly([one.hit for one in derived], facts)
    kept = [(one, hit) for one in derived if (hit := joined.get(one.hit, one.hit)) is not None]
    told = [replace(one, hit=with_words_of_log(hit, reading.lines)) for one, hit in kept]
    told = [one for one in told if not _is_of_a_namesake(one, findings, there)]
    findings = _with_derived(findings, [(one, _derived_finding(one, pages[one.hit.rule], facts, log)) for one in told], reading)
    findings = _without_hearsay(findings, diagnosis, derived)
    explained = any(one.rule.id not in guesses and (one.rule.id != _OF_ANY_MEMORY or one.status == "matched") for one in findings)
    if not explained:
        # Who raised it is known; whose fault the words would be elsewhere, is not.
        findings = [*_at_last(diagnosis, reading, pages, facts, log), *findings]
        explained = any(one.rule.id == NO_MEMORY for one in findings)
    # What stops a run did not stop this one.
    findings = [replace(one, status="possible") if one.rule.effect != "silent" and was_survived(one, reading) else one for one in findings]
    return Explanation(tuple(findings[:_MOST_FINDINGS]), tuple(sorted(elsewhere)), explained)


def _candidate(
    rule: Rule, seen: Shown, finding: Finding, outcome: bool | None, *, stands: int, ended: bool, known: bool, guess: bool
) -> Candidate:
    specific = len(seen.symptom) >= _SPECIFIC and (names_something(seen.symptom) or not _about_a_model(rule))
    return Candidate(
        outcome,
        finding,
        len(seen.symptom),
        specific,
        stands,
        seen.symptom.lower().startswith(PREFIX),
        ended=ended,
        known=known,
        named=named_in(seen.text) in rule.packages,
        guess=guess,
    )


def _at_last(diagnosis: Diagnosis, reading: Reading, pages: dict[str, Rule], facts: Facts, log: str) -> list[Finding]:
    """Where the text shows nothing that is known: who raised it, after what rules know of these releases of that package."""
    told = [_derived_finding(Derived(hit, line, text), pages[hit.rule], facts, log) for hit, line, text in judge_at_last(reading, facts)]
    raised = {name for finding in told for name in finding.packages}
    # What is only noted of the stack explains no failure.
    matched = [finding for finding in diagnosis.findings if finding.status == "matched" and finding.severity != "note"]
    near = [finding for finding in matched if not raised.isdisjoint(finding.packages) or (not told and finding.severity == "error")]
    if any(one.kind and not one.warns and one.kind not in _OF_PIP for one in reading.failures):
        near = [finding for finding in near if finding.rule.effect != "blocked"]  # what ran was installed
    # What is wrong with the stack, and of which the text shows nothing, may have nothing to do with it.
    beside = [replace(finding, status="possible") for finding in matched if finding not in near]
    return [*near, *told, *beside]


def _with_derived(findings: list[Finding], derived: Sequence[tuple[Derived, Finding]], reading: Reading) -> list[Finding]:
    """Rules and what is derived, in one order: a rule that matches the same packages says it already, and with more to go by."""
    matched = [one for one in findings if one.status == "matched"]
    told = [
        (one, finding)
        for one, finding in derived
        if not any(other.rule.id in one.hit.unless for other in matched)
        and not any(set(finding.packages) & set(other.packages) or not other.packages for other in matched if _is_about(other, one))
    ]
    ended = [finding for one, finding in told if one.decisive]
    passing = [finding for one, finding in told if not one.decisive]
    at_end = [one for one in matched if one.location is not None and _is_of_the_end(one.location.line or 0, reading)]
    beside = [one for one in matched if one not in at_end]
    possible = [one for one in findings if one.status != "matched"]
    # Who says a text is told after what rules know of it.
    said = [finding for finding in (*ended, *passing) if finding.rule.id == SAID]
    if findings:
        said = [replace(one, status="possible") for one in said]
    ended, passing = [one for one in ended if one not in said and one.rule.id != SAID], [one for one in passing if one.rule.id != SAID]
    # That a package is not there is told before what rules know of packages that ask for it.
    absent = [finding for finding in ended if finding.rule.id == NOT_INSTALLED and finding.status == "matched"]
    # Whose build failed is told before what is true of every build.
    # So does what pip asks of itself.
    absent += [finding for finding in ended if finding.rule.id == DEMAND and finding.packages == ("pip",) and finding.status == "matched"]
    about = {name for one in at_end for name in one.packages}
    # Where only its end was pasted, what is known of that end tells more.
    untold = [finding for one, finding in told if at_end and is_untold(one.hit)]
    absent += [finding for finding in ended if finding.rule.id == BUILD and about.isdisjoint(finding.packages) and finding not in untold]
    return [*absent, *at_end, *(one for one in ended if one not in absent), *beside, *passing, *possible, *said]


def _is_of_a_namesake(one: Derived, findings: Sequence[Finding], there: frozenset[str]) -> bool:
    """Whether an argument is computed of a class whose package is nowhere, while a page of packages that are there knows the text."""
    if one.hit.rule != ARGUMENT or not one.hit.packages or one.hit.packages[0] in there:
        return False
    return any(other.status == "matched" and _is_about(other, one) and not there.isdisjoint(other.packages) for other in findings)


def _without_hearsay(findings: list[Finding], diagnosis: Diagnosis, derived: Sequence[Derived]) -> list[Finding]:
    """Of an installer's text: what rules know of these releases comes before what the text alone says, and pages that only know its words
    are left out where it was read."""
    if not any(one.hit.rule in OF_INSTALLERS for one in derived):
        return findings
    read = [one for one in findings if one.status == "matched" or one.packages]
    of_files = {name for one in derived if one.hit.rule == NO_FILE for name in one.hit.packages}
    known = [one for one in diagnosis.findings if one.status == "matched" and one.rule.effect == "blocked" and of_files & set(one.packages)]
    return [*known, *(one for one in read if not (known and one.rule.id == NO_FILE))]


def _is_about(finding: Finding, derived: Derived) -> bool:
    """Whether a rule's text stands where the derived finding's does."""
    line = None if finding.location is None else finding.location.line
    return line is not None and is_near(line, derived)


def _is_of_the_end(line: int, reading: Reading) -> bool:
    """Whether a line is of the error that ended the run; where nobody can tell which that was, every line may be."""
    last = reading.decisive
    if last is None:
        return True
    frames = 2 * len(last.frames) + 2
    return last.line - frames <= line <= last.line + MESSAGE_LINES


def _is_before_the_end(line: int, reading: Reading) -> bool:
    """Whether a line stands before the error that ended the run: what only makes a run slow did not end it."""
    last = reading.decisive
    return last is not None and line < last.line - 2 * len(last.frames) - 1


def _derived_finding(one: Derived, rule: Rule, facts: Facts, log: str) -> Finding:
    found = finding_of(one.hit, rule, facts)
    text = Because("log", one.text, "is the error", f"{log}:{one.line}")
    return replace(found, because=(text, *found.because), location=Location(log, one.line))


def _to_the_point(candidates: list[Candidate], stated: Facts, known: Known) -> list[Candidate]:
    """Without rules about a model of which nothing is stated, by words that any program may print, where other rules know the text.

    Where a message's numbers tell what it is, neither is there a place for a rule that only a look at the files decides.
    """
    by_numbers = any(one.of_memory and one.finding.rule.affected is None for one in candidates)

    def is_beside(one: Candidate) -> bool:
        condition = one.finding.rule.affected
        if one.outcome is True or one.of_memory:
            return False
        if condition is None:
            return by_numbers and not one.finding.rule.packages
        of_model = [leaf for leaf in accused(condition) if leaf.fact.startswith("model.")]
        return not one.specific and bool(of_model) and all(holds(leaf, stated, known) is None for leaf in of_model)

    return [one for one in candidates if not is_beside(one)] or candidates


def _order(one: Candidate, stated: Facts, known: Known) -> tuple[object, ...]:
    """Versions that fit come first, then the longer text, the narrower range, and what takes the fewest assumptions."""
    finding, condition = one.finding, one.finding.rule.affected
    width = 0 if condition is None else breadth(condition, stated, known)
    text = (not one.ended, not one.named, -(one.length // _SAME_LENGTH), -one.stands, width, len(finding.missing), -one.length)
    return one.guess, one.outcome is not True, *text, finding.rank(), finding.rule.id


def _outcome(rule: Rule, finding: Finding | None, seen: Shown, stated: Facts, known: Known, *, shared: bool) -> bool | None:
    if rule.affected is None:
        # Such a text is all that there is to know, or a check has found the same.
        found = finding is not None and finding.status == "matched"
        return True if found or rule.log_only or _by_numbers(rule, seen) else None
    # Words that any program may print say nothing of the model: a name of the library at fault does, and so does a model that is stated.
    about = any(leaf.fact.startswith("model.") and holds(leaf, stated, known) for leaf in accused(rule.affected))
    asked = ("packages.",) if about or names_something(seen.symptom) else ("packages.", "model.")
    if shared:
        asked = (*asked, "cuda", "os")
    # That an installer found nothing says nothing of the Python either.
    return met(rule.affected, stated, known, asked=(*asked, "python") if rule.effect == "blocked" else asked)


def _by_numbers(rule: Rule, seen: Shown) -> bool:
    """Whether the rule is what a message's numbers come to, which is no likeness of words."""
    return rule.affected is None and seen.symptom.lower().startswith(PREFIX)


def names_something(symptom: str) -> bool:
    """Whether a fragment has a word that is a name in some code: with an underscore, an inner capital, a dot, a slash or a digit in it."""
    words = [word.strip("'\"`():,;") for word in symptom.split()]
    return any(_NAME.search(word) and not _EXCEPTION.fullmatch(word) for word in words)


def met(condition: Condition, facts: Facts, known: Known, *, wanted: bool = True, asked: tuple[str, ...] = ("packages.",)) -> bool | None:
    """Whether the condition holds for a run that met the fault: what is unknown besides the facts ``asked`` counts as ``wanted``."""
    if isinstance(condition, (All, AnyOf)):
        outcomes = [met(part, facts, known, wanted=wanted, asked=asked) for part in condition.parts]
        decisive = not isinstance(condition, All)
        if decisive in outcomes:
            return decisive
        return None if None in outcomes else not decisive
    if isinstance(condition, Not):
        held = met(condition.part, facts, known, wanted=not wanted, asked=asked)
        return None if held is None else not held
    held = holds(condition, facts, known)
    return wanted if held is None and not condition.fact.startswith(asked) else held


def _finding(rule: Rule, already: Finding | None, seen: Shown, facts: Facts, known: Known, log: str) -> Finding:
    text = Because("log", seen.text, f"shows {seen.symptom!r}", f"{log}:{seen.line}")
    # A page about every package is here about the one whose code the line tells of.
    told = "" if rule.packages else named_in(seen.text) or author_of(seen.text)
    if already is not None:
        packages = already.packages or ((told,) if told else ())
        detail = already.detail or tell_affected(rule, facts)
        return replace(
            already, because=(text, *already.because), location=Location(log, seen.line), hidden=False, packages=packages, detail=detail
        )
    lacking = () if rule.affected is None else missing(rule.affected, facts, known)
    packages = (told,) if told else rule.packages
    return Finding(
        rule, "matched", rule.severity, because=(text,), missing=lacking, location=Location(log, seen.line), packages=packages,
        detail=tell_affected(rule, facts),
    )  # fmt: skip


def _status(one: Candidate, candidates: Sequence[Candidate]) -> Status:
    """Matched when versions and text fit, or when the text fits one rule best and nothing contradicts it.

    Of rules that the text fits alike, that one is best of whose packages the most are stated in its range.
    """
    if one.guess:
        return "possible"
    if one.outcome is True:
        return "matched"
    if one.finding.rule.affected is None and not one.finding.rule.packages:
        # What only a look at the files decides, text by itself does not.
        return "possible"
    sound = [other for other in candidates if not other.guess]
    rivals = [other for other in sound if other.outcome is True or (other.length >= one.length and other.stands >= one.stands)]
    if one is sound[0] and one.specific and _agree(rivals):
        return "matched"
    return "matched" if len(rivals) == 1 and one.specific else "possible"


def _agree(rivals: Sequence[Candidate]) -> bool:
    """Whether the rules that a text fits alike accuse the same releases of one package that not everybody has, whoever calls it."""
    blamed = [_accuses(one.finding.rule.affected) for one in rivals if one.finding.rule.affected is not None]
    return 1 < len(blamed) == len(rivals) and bool(set.intersection(*blamed))


def _accuses(condition: Condition) -> set[tuple[str, str]]:
    leaves = [leaf for leaf in accused(condition) if isinstance(leaf, PackageIs)]
    return {(leaf.package, leaf.version.text) for leaf in leaves if leaf.version.text and leaf.package not in EVERYBODYS}


def _about_a_model(rule: Rule) -> bool:
    return rule.affected is not None and any(leaf.fact.startswith("model.") for leaf in accused(rule.affected))


def _stands(rule: Rule, stated: Facts, known: Known) -> int:
    """How many of the versions that a rule accuses are stated."""
    found = () if rule.affected is None else accused(rule.affected)
    return sum(isinstance(leaf, PackageIs) and bool(holds(leaf, stated, known)) for leaf in found)
