"""Findings that no rule wrote down: what an error states, computed into a finding of a family.

A family is listed like a rule (``rules/errors/``) and tells one kind of failure; its ``edge`` tells which. What needs to know what
releases contain is asked in ``answers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.adapter_fields import judge_adapter_field
from envdoctor.logs.adapter_kinds import judge_adapter_kind
from envdoctor.logs.answers import answer, answer_member, say, with_author
from envdoctor.logs.asked import ARGUMENT
from envdoctor.logs.auto_class import judge_auto_class
from envdoctor.logs.builds import judge_build
from envdoctor.logs.by_words import judge_by_words
from envdoctor.logs.callers import not_asking
from envdoctor.logs.circular_imports import NAME, judge_circular, judge_shadowed
from envdoctor.logs.conda_exports import judge_conda_export
from envdoctor.logs.crashes import judge_crash
from envdoctor.logs.data_columns import judge_column
from envdoctor.logs.demanded import DEMAND, NOT_INSTALLED, demand_of_found, join_demands, judge_demand, judge_met, judge_wanted
from envdoctor.logs.demands import read_demands, read_wants
from envdoctor.logs.excluding_demands import judge_excluding
from envdoctor.logs.fp8_kernels import judge_fp8
from envdoctor.logs.generated_modules import judge_generated
from envdoctor.logs.given_up import judge_given_up
from envdoctor.logs.hollow_packages import judge_unbuilt
from envdoctor.logs.hosts import judge_guest
from envdoctor.logs.installer_rules import BUILD, NO_FILE, REFUSES_PYTHON
from envdoctor.logs.known_breaks import judge_break
from envdoctor.logs.last_resort import NO_MEMORY, NO_NUMBER, RAISED
from envdoctor.logs.lines_around import judge_around
from envdoctor.logs.linking import BINDING, FLOOR, LIBRARY_TEXT, NO_LIBRARY, SYMBOL, broken_symbols, judge_binding, judge_library
from envdoctor.logs.listed_reasons import TRIED, judge_listed
from envdoctor.logs.loading_keywords import judge_loading
from envdoctor.logs.missing_modules import MODULE, is_of_a_package, judge_module
from envdoctor.logs.named_models import judge_gpu, judge_model
from envdoctor.logs.not_found import of_no_release
from envdoctor.logs.numpy_abi import NUMPY_ABI, judge_numpy
from envdoctor.logs.own_code import (
    OWN,
    judge_beside_itself,
    judge_moved,
    judge_own_call,
    judge_own_module,
    judge_own_name,
    judge_own_option,
    judge_stated_name,
)
from envdoctor.logs.own_values import judge_value
from envdoctor.logs.pickled import judge_pickled
from envdoctor.logs.python_names import judge_python
from envdoctor.logs.reading import Reading
from envdoctor.logs.refused_keys import judge_keys
from envdoctor.logs.refused_lines import judge_refused
from envdoctor.logs.refused_runs import CONFIG, HUB, TENSORS, judge_run
from envdoctor.logs.run_errors import COPIED, OF_INPUT, RUN, judge_beside, judge_known, judge_wrapped
from envdoctor.logs.sayings import SAID
from envdoctor.logs.shadowed_standard import judge_shadowed_standard
from envdoctor.logs.specifiers import usable_pins
from envdoctor.logs.stated_values import judge_positions, judge_stated
from envdoctor.logs.statements import (
    MissingArguments,
    MissingAttribute,
    MissingMember,
    MissingModule,
    MissingName,
    RefusedKeyword,
    Statement,
    TooManyArguments,
    UndefinedName,
    parse_statement,
)
from envdoctor.logs.system_python import judge_system_python
from envdoctor.logs.targets_given import judge_targets
from envdoctor.logs.text_wanted import judge_text_wanted
from envdoctor.logs.tools import judge_tools
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.two_toolkits import judge_toolkits
from envdoctor.logs.undefined_names import UNDEFINED, judge_undefined
from envdoctor.logs.unix_names import judge_unix
from envdoctor.logs.upgrades_asked import judge_upgrade, with_follower
from envdoctor.logs.weights_only import judge_weights_only
from envdoctor.logs.windows_libraries import judge_not_loaded, judge_torch_library
from envdoctor.logs.wording import caller_of, describe, named, reasons
from envdoctor.logs.written_by_unsloth import judge_written
from envdoctor.records import dataclass, replace
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

ATTRIBUTE = "error-attribute-missing"
FAMILIES = (NO_LIBRARY, ARGUMENT, NAME, MODULE, NOT_INSTALLED, ATTRIBUTE, DEMAND, FLOOR, SYMBOL, NO_FILE, HUB, CONFIG, TENSORS,
            UNDEFINED, SAID, BUILD, RAISED, NO_NUMBER, NO_MEMORY, RUN, OF_INPUT, NUMPY_ABI, OWN)  # fmt: skip

# A sentence of a program, and none of a person who tells of one.
_IN_PASSING = re.compile(
    r"warn|error|exception|\bplease\b|make sure|\bmust\b|is required|(?:does ?n.t|not) support|\bor less\b|less than the min", re.I
)
# The output of a compiler or a command stands so near to the error of who called it.
_NEAR_THE_END = 60
_OF_CONDA = frozenset(("ResolvePackageNotFound", "PackagesNotFoundError", "UnsatisfiableError", "LibMambaUnsatisfiableError"))
# Somebody who pastes a few lines pastes those that tell.
_PASTED = 16


@dataclass(frozen=True, slots=True)
class Derived:
    """A finding of a family: ``hit`` as checks give it, the ``line`` of the log, its ``text``, and whether the run ended with it."""

    hit: Hit
    line: int
    text: str
    decisive: bool = True


def derive_findings(reading: Reading, facts: Facts) -> tuple[Derived, ...]:
    """What the errors of a log come to in this situation, the decisive one first; nothing that a stated version refutes."""
    found: dict[tuple[str, str], Derived] = {}
    for one in _derived(reading, facts):
        sound = replace(one, hit=replace(one.hit, pins=usable_pins(one.hit.pins)))
        found.setdefault((sound.hit.rule, sound.hit.edge), sound)
    if reading.refusal is None and (both := judge_excluding(reading.failures)) is not None:
        hit, failure = both
        package = hit.packages[0]
        found = {key: one for key, one in found.items() if one.hit.rule != DEMAND or package not in one.hit.packages}
        found[hit.rule, hit.edge] = Derived(hit, failure.line, failure.told[:300])
    # In a copy of the model what fails says less than that it is a copy.
    if all(one.hit.rule == SAID or not one.decisive for one in found.values()):
        found |= {(hit.rule, hit.edge): Derived(hit, number, text) for hit, number, text in judge_around(reading)}
    rules = {one.hit.rule for one in found.values()}
    alone = [one for one in found.values() if rules.isdisjoint(one.hit.unless)]
    told = [replace(one, decisive=True) if one.hit.edge.endswith(COPIED) else one for one in alone]
    return tuple(sorted(told, key=lambda one: (not one.decisive, not one.hit.edge.endswith(COPIED))))


def _derived(reading: Reading, facts: Facts) -> Iterator[Derived]:
    last, exported = reading.decisive, judge_conda_export(reading.lines, facts)
    built = judge_build(reading.lines, facts)
    if (toolkits := judge_toolkits(reading.lines, None if built is None else built[0]) or judge_fp8(reading)) is not None:
        yield Derived(toolkits[0], toolkits[1], toolkits[2][:300])
        return
    if built is not None:
        shown = next((line.strip() for number, line in reading.lines if number == built[1]), "")
        yield Derived(built[0], built[1], shown[:300])
        return
    ordered = sorted(reading.failures, key=lambda failure: failure is not last)
    around = "\n".join(line.strip() for _, line in reading.lines) if reading.count <= _PASTED else ""
    for failure in ordered:
        decisive = failure is last or (last is not None and _states_cause(failure, last))
        for hit in _of_failure(failure, facts, around):
            if hit.rule == SAID and failure.wraps and failure is not last:
                continue  # it only tells of the one that was told before
            if (reading.refusal is None and exported is None) or not _is_of_the_installer(hit, failure):
                yield Derived(hit, failure.line, failure.told[:300], decisive)
    for absent, number, text in judge_listed(reading.lines):
        yield Derived(absent, number, text)
    for number, line in (*reading.lines, *broken_symbols(reading.lines)):
        if LIBRARY_TEXT.search(line) and not TRIED.search(line):
            library = judge_library(line, facts)
            # What an error says of it was told with who asks for it.
            stem = library.edge.partition(":")[2].removeprefix("lib").partition(".so")[0] if library is not None else ""
            if library is not None and not any(stem in failure.message for failure in ordered):
                yield Derived(library, number, line.strip()[:300])
    if last is None or reading.refusal is not None:
        for number, line in reading.lines:
            if _IN_PASSING.search(line):
                for demand in read_demands(line):
                    # Among the lines of an installer only what it asks of itself is no requirement that it tells of.
                    if (reading.refusal is not None and demand.package != "pip") or (last is not None and demand.package != "pip"):
                        continue
                    if (wanted := judge_demand(demand, None, facts)) is not None:
                        yield Derived(with_follower(wanted, Failure("", line, number), facts), number, line.strip()[:300])
    if last is None and reading.refusal is None and reading.count <= _PASTED and not reading.ended_well:
        # What a program logs instead of raising it.
        whole = Failure("", around, reading.lines[0][0]) if reading.lines else None
        if whole is not None and (broken := judge_break(whole, facts, around)) is not None:
            yield Derived(broken, whole.line, around[:300])
            return
        for number, line in reading.lines:
            one = Failure("", line.strip(), number)
            said = judge_not_loaded(one, facts) or judge_positions(one) or judge_known(one, facts) or judge_stated(one) or say(one, facts)
            if said is not None:
                yield Derived(said, number, line.strip()[:300])
    for number, line in reading.lines:
        if "with CUDA capability" in line and (gpu := judge_gpu(line, facts)) is not None:
            yield Derived(gpu, number, line.strip()[:300])
        if "WinError" in line and (library := judge_torch_library(line, facts)) is not None:
            yield Derived(library, number, line.strip()[:300])
        if (reading.count <= _PASTED if last is None else abs(number - last.line) < _NEAR_THE_END) and (beside := judge_beside(line)):
            yield Derived(beside, number, line.strip()[:300])
    if (crash := judge_crash(reading.lines)) is not None:
        yield Derived(*crash)
    yield from (Derived(*one) for one in judge_pickled(reading))
    yield from (Derived(*one) for one in judge_system_python(reading.lines))
    yield from (Derived(*one) for one in judge_tools(reading, facts))
    for hit, number, text in judge_numpy(reading, facts):
        yield Derived(hit, number, text)
    if exported is not None:
        yield Derived(exported[0], exported[1], exported[2].strip()[:300])
    elif reading.refusal is not None:
        for hit, number in judge_refused(reading, facts):
            yield Derived(hit, number, hit.detail[:300])


def _is_of_the_installer(hit: Hit, failure: Failure) -> bool:
    """Whether a demand is what an installer was told, or tells of: its own text was read whole."""
    asks = hit.rule == DEMAND or (hit.rule == REFUSES_PYTHON and hit.edge.startswith("python"))
    if failure.kind in _OF_CONDA and hit.rule == RUN:
        return True
    return asks and "pip" not in hit.packages and (failure.wraps or not failure.packages)


def _states_cause(failure: Failure, last: Failure) -> bool:
    """Whether a failure led to the last one: errors that are chained are one story."""
    return (last.chained and abs(last.line - failure.line) < 400) or (bool(failure.message) and failure.message[:80] in last.message)


def _first_of_all(statement: Statement | None, failure: Failure, facts: Facts, around: str) -> Hit | None:
    """What is known of the very words, whoever else they might be about."""
    hit = (judge_shadowed(statement) or judge_unbuilt(statement, failure)) if isinstance(statement, MissingName) else None
    hit = hit or judge_written(statement, failure, facts) or judge_adapter_field(statement, facts) or judge_break(failure, facts, around)
    hit = hit or judge_wrapped(failure, facts) or judge_guest(statement, failure) or judge_by_words(statement, failure, facts, around)
    if hit is None and statement is not None:
        loading = judge_loading(statement, failure, facts) if isinstance(statement, RefusedKeyword) else None
        hit = (
            judge_shadowed_standard(statement)
            or loading
            or judge_python(statement, failure, facts)
            or judge_unix(statement, failure, facts)
        )
        hit = hit or judge_given_up(statement, failure, facts) or answer(statement, failure, facts)
    return (
        hit
        or judge_not_loaded(failure, facts)
        or judge_column(failure)
        or judge_keys(failure, facts)
        or judge_adapter_kind(failure, facts)
        or judge_auto_class(failure)
        or judge_model(failure, facts)
        or judge_targets(failure)
    )


def _of_statement(statement: Statement | None, failure: Failure, facts: Facts) -> Hit | None:
    """What the name, the module, the attribute or the call comes to that an error is about."""
    if (hit := judge_generated(statement, facts)) is not None:
        return hit
    if isinstance(statement, MissingName):
        hit = judge_stated_name(statement, facts) or _name(statement, failure, facts) or judge_own_name(statement, failure)
    elif isinstance(statement, MissingModule):
        hit = judge_beside_itself(statement, failure) or judge_module(statement, failure, facts) or judge_moved(statement, failure, facts)
        hit = hit or judge_own_module(statement, failure)
    elif isinstance(statement, MissingAttribute):
        hit = _attribute(statement, failure, facts)
    elif isinstance(statement, UndefinedName):
        hit = judge_undefined(statement, failure, facts) or judge_own_call(statement, failure)
    elif isinstance(statement, MissingMember):
        hit = judge_text_wanted(statement, failure) or answer_member(statement, failure, facts) or judge_own_option(statement, failure)
    elif (binding := BINDING.search(failure.message)) is not None:
        hit = judge_binding(binding[1], failure)
    return hit or judge_value(statement, failure) or judge_own_call(statement, failure)


def _of_failure(failure: Failure, facts: Facts, around: str = "") -> Iterator[Hit]:
    if failure.warns:
        return
    statement = parse_statement(failure)
    hit = _first_of_all(statement, failure, facts, around) or _of_statement(statement, failure, facts)
    if hit is not None:
        yield hit
        return
    if LIBRARY_TEXT.search(failure.message) and not TRIED.search(failure.message):
        found = judge_library(failure.message, facts, failure)
        if found is not None:
            yield found
        return
    if (loaded := judge_weights_only(failure, facts)) is not None:
        yield loaded
        return
    longer = judge_positions(failure)
    said = judge_run(failure) if longer is None else None
    if said is None and (known := longer or judge_known(failure, facts)) is not None:
        yield with_author(known, failure, facts)
        return
    # The command of a process that failed is what was asked of it.
    demands = () if failure.wraps else read_demands(failure.message) or demand_of_found(failure.message, facts)
    hits = join_demands([wanted for demand in demands if (wanted := judge_demand(demand, failure, facts)) is not None])
    hits = [with_follower(one, failure, facts) for one in hits]
    if not demands and (hit := judge_wanted(read_wants(failure.told), failure, facts) or judge_upgrade(failure, facts)) is not None:
        hits = [hit]
    said = said or (judge_stated(failure) if not hits else None)
    # Python's own sentences stand in packages that speak as Python does.
    own_words = isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments, MissingMember))
    if not hits and (said := said or (None if own_words else say(failure, facts))) is not None:
        hits = [said]
    if not hits and not failure.wraps:
        hits = [met for demand in demands[:1] if (met := judge_met(demand, facts)) is not None]
    for hit in hits:
        yield hit if hit.rule == SAID else with_author(hit, failure, facts)


def _name(one: MissingName, failure: Failure, facts: Facts) -> Hit | None:
    if one.module and one.circular:
        return judge_circular(one.module, one.path, failure, known=is_of_a_package(one.module, failure))
    if not one.module or not is_of_a_package(one.module, failure, one.path):
        return None
    provider = package_of(one.module)
    caller, where = caller_of(failure)
    asks = f"{describe(caller, facts)} imports it ({where})" if caller and caller != provider else "it is imported there"
    advice = headline = ""
    if caller == provider:
        asks = f"its own file {where} imports it: an upgrade, or an image that had another release, left files behind"
        headline = f"The files of {provider} are of two releases"
        advice = (
            f"pip uninstall -y {provider} until pip knows of none (of each distribution that brings it), look that no folder "
            f"{one.module.partition('.')[0]} is left in site-packages, and install one release anew"
        )
    known = "" if provider in listed() else f"; no releases of {provider} are kept here: whether it came later or went is not known"
    if caller != provider and (nowhere := of_no_release(one.module, one.name, provider)) is not None:
        known, advice = nowhere
    detail = f"{describe(provider, facts)} has no {one.name} in {one.module}; {asks}{known}"
    packages, edge = named(provider, caller), f"{caller or 'code'}:{one.module}.{one.name}"
    told, pins = not_asking(f"{one.module}:{one.name}", caller, where, provider, facts)
    detail, because = detail + told, reasons(*packages)
    return Hit(NAME, True, because, detail=detail, packages=packages, pins=pins, edge=edge, headline=headline, advice=advice)


def _attribute(one: MissingAttribute, failure: Failure, facts: Facts) -> Hit | None:
    if not is_of_a_package(one.module, failure):
        return None
    if one.circular:
        return judge_circular(one.module, "", failure)
    provider = package_of(one.module)
    caller, where = caller_of(failure)
    asks = f"{describe(caller, facts)} uses it ({where})" if caller and caller != provider else "it is used there"
    detail = f"{describe(provider, facts)} has no {one.module}.{one.name}; {asks}"
    packages = named(provider, caller)
    return Hit(ATTRIBUTE, True, reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.module}.{one.name}")
