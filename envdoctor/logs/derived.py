"""Findings that no rule wrote down: what an error states, computed into a finding of a family.

A family is listed like a rule (``rules/errors/``) and tells one kind of failure; its ``edge`` tells which. What needs to know what
releases contain is asked in ``answers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.logs.answers import ARGUMENT, answer, answer_member, say
from envdoctor.logs.builds import BUILD, judge_build
from envdoctor.logs.demands import Demand, read_demands, read_wants
from envdoctor.logs.libraries import AbsentLibrary, LibraryFloor, UndefinedSymbol, parse_absent, parse_floor, parse_undefined
from envdoctor.logs.named_models import judge_gpu, judge_model
from envdoctor.logs.places import owner_of
from envdoctor.logs.reading import Reading
from envdoctor.logs.refusals import NO_FILE, REFUSES_PYTHON, judge_refusal
from envdoctor.logs.refused_keys import judge_keys
from envdoctor.logs.refused_runs import CONFIG, HUB, TENSORS, judge_run
from envdoctor.logs.sayings import SAID
from envdoctor.logs.specifiers import admits, usable_pins
from envdoctor.logs.statements import MissingAttribute, MissingMember, MissingModule, MissingName, UndefinedName, parse_statement
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.undefined_names import UNDEFINED, judge_undefined
from envdoctor.records import dataclass, replace
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed, release_texts

NAME, MODULE, NOT_INSTALLED, ATTRIBUTE = (
    "error-name-missing",
    "error-module-missing",
    "error-package-not-installed",
    "error-attribute-missing",
)
DEMAND, FLOOR, SYMBOL = "error-demands-another-release", "error-system-library-too-old", "error-symbol-undefined"
NO_LIBRARY = "error-shared-library-missing"
FAMILIES = (NO_LIBRARY, ARGUMENT, NAME, MODULE, NOT_INSTALLED, ATTRIBUTE, DEMAND, FLOOR, SYMBOL, NO_FILE, HUB, CONFIG, TENSORS,
            UNDEFINED, SAID, BUILD)  # fmt: skip

_LIBRARY_TEXT = re.compile(r"undefined symbol: |\.so[\d.]{0,12}: cannot open shared object|version .{1,4}(?:GLIBC|GLIBCXX|CXXABI)_")
# A sentence of a program, and none of a person who tells of one.
_IN_PASSING = re.compile(r"warn|error|exception|\bplease\b|make sure|\bmust\b|is required|(?:does ?n.t|not) support", re.IGNORECASE)
# What pybind11 says of a call that fits none of its signatures.
_BINDING = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(\): incompatible (?:function|constructor) arguments")
# A shorter name has too many neighbours.
_SHORT = 6
# Import names that projects give to modules of their own: nobody can tell whose they are.
_ANYBODYS = frozenset(
    ("utils", "model", "models", "data", "config", "configs", "src", "lib", "common", "core", "modules", "helpers", "tools", "dataset",
    "test", "tests", "train", "main", "app", "scripts" )
)  # fmt: skip


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
    return tuple(sorted(found.values(), key=lambda one: not one.decisive))


def _derived(reading: Reading, facts: Facts) -> Iterator[Derived]:
    last = reading.decisive
    built = judge_build(reading.lines, facts)
    if built is not None:
        yield Derived(built[0], built[1], built[0].detail[:300])
        return
    ordered = sorted(reading.failures, key=lambda failure: failure is not last)
    for failure in ordered:
        decisive = failure is last or (last is not None and _states_cause(failure, last))
        for hit in _of_failure(failure, facts):
            yield Derived(hit, failure.line, failure.told[:300], decisive)
    for number, line in (*reading.lines, *_broken_symbols(reading)):
        if _LIBRARY_TEXT.search(line):
            library = _library(line, facts)
            if library is not None:
                yield Derived(library, number, line.strip()[:300])
    if last is None and reading.refusal is None:
        for number, line in reading.lines:
            if _IN_PASSING.search(line):
                for demand in read_demands(line):
                    if (wanted := _demand(demand, None, facts)) is not None:
                        yield Derived(wanted, number, line.strip()[:300])
    for number, line in reading.lines:
        if "with CUDA capability" in line and (gpu := judge_gpu(line, facts)) is not None:
            yield Derived(gpu, number, line.strip()[:300])
    if reading.refusal is not None:
        for hit in judge_refusal(reading.refusal, facts):
            yield Derived(hit, reading.refusal.line, hit.detail[:300])


def _broken_symbols(reading: Reading) -> Iterator[tuple[int, str]]:
    """Lines in which a linker's text goes on in the next one."""
    for (number, line), (_, rest) in pairwise(reading.lines):
        if line.rstrip().endswith((": undefined", "undefined symbol:")):
            yield number, f"{line.rstrip()} {rest.strip()}"


def _states_cause(failure: Failure, last: Failure) -> bool:
    """Whether a failure led to the last one: errors that are chained are one story."""
    return (last.chained and abs(last.line - failure.line) < 400) or (bool(failure.message) and failure.message[:80] in last.message)


def _of_failure(failure: Failure, facts: Facts) -> Iterator[Hit]:
    if failure.kind.endswith("Warning"):
        return
    statement = parse_statement(failure)
    if statement is not None:
        answered = answer(statement, failure, facts)
        if answered is not None:
            yield answered
            return
    hit: Hit | None = judge_keys(failure, facts) or judge_model(failure, facts)
    if hit is not None:
        yield hit
        return
    if isinstance(statement, MissingName):
        hit = _name(statement, failure, facts)
    elif isinstance(statement, MissingModule):
        hit = _module(statement, failure, facts)
    elif isinstance(statement, MissingAttribute):
        hit = _attribute(statement, failure, facts)
    elif isinstance(statement, UndefinedName):
        hit = judge_undefined(statement, failure, facts)
    elif isinstance(statement, MissingMember):
        hit = answer_member(statement, failure, facts)
    elif (binding := _BINDING.search(failure.message)) is not None:
        hit = _binding(binding[1], failure)
    if hit is not None:
        yield hit
        return
    if _LIBRARY_TEXT.search(failure.message):
        found = _library(failure.message, facts, failure)
        if found is not None:
            yield found
        return
    demands = read_demands(failure.message)
    hits = [wanted for demand in demands if (wanted := _demand(demand, failure, facts)) is not None]
    if not demands and (hit := _wanted(read_wants(failure.told), failure, facts)) is not None:
        hits = [hit]
    if not hits and (said := judge_run(failure) or say(failure, facts)) is not None:
        hits = [said]
    yield from hits


def _binding(function: str, failure: Failure) -> Hit | None:
    """A compiled function that is called in the way of another release: by its name, which begins as its package's does."""
    owner = next((name for name in sorted(listed(), key=len, reverse=True) if function.startswith(name.replace("-", "_") + "_")), "")
    if not owner or len(owner) < _SHORT:
        return None
    caller, where = caller_of(failure)
    who = f"{caller} calls it ({where})" if caller and caller != owner else "the code that calls it"
    detail = f"{function}() of {owner} takes other arguments than it is given: {who} was written for another release of {owner}"
    return Hit(ARGUMENT, True, (), detail=detail, packages=_named(owner, caller), edge=f"{caller or 'code'}:{function}")


def describe(package: str, facts: Facts) -> str:
    """A package with its version, where it is stated: ``peft 0.14.0``."""
    value = facts.value(f"packages.{package}")
    return f"{package} {value}" if isinstance(value, (Exact, Ranged)) and str(value) else package


def caller_of(failure: Failure) -> tuple[str, str]:
    """The package that asked for something of another one, and where; both empty where user code did, or nobody says who."""
    for frame in reversed(failure.frames):
        if frame.package:
            package = package_of(frame.package)
            where = frame.path.replace("\\", "/").rpartition("-packages/")[2] or frame.path
            return package, f"{where}:{frame.line}" if frame.line else where
        return "", ""
    return "", ""


def is_of_a_package(module: str, failure: Failure, path: str = "") -> bool:
    """Whether a module is of a package that is known, or stands among installed ones, and is not somebody's own."""
    top = module.partition(".")[0]
    if path and path != "unknown location":
        return bool(owner_of(path)[0])
    if package_of(module) in listed():
        return True
    return top not in _ANYBODYS and any(frame.package == top for frame in failure.frames)


def _reasons(*packages: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"packages.{name}", "in the error") for name in packages if name)


def _named(*packages: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in packages if name and name != "transformers-modules"))


def _name(one: MissingName, failure: Failure, facts: Facts) -> Hit | None:
    if not one.module or one.circular or not is_of_a_package(one.module, failure, one.path):
        return None
    provider = package_of(one.module)
    caller, where = caller_of(failure)
    asks = f"{describe(caller, facts)} imports it ({where})" if caller and caller != provider else "it is imported there"
    if caller == provider:
        asks = f"its own file {where} imports it: two releases are mixed in one installation"
    detail = f"{describe(provider, facts)} has no {one.name} in {one.module}; {asks}"
    packages = _named(provider, caller)
    return Hit(NAME, True, _reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.module}.{one.name}")


def _module(one: MissingModule, failure: Failure, facts: Facts) -> Hit | None:
    top = one.name.partition(".")[0]
    if one.shadowed or top in _ANYBODYS:
        return None
    caller, where = caller_of(failure)
    provider = package_of(one.name)
    if "." in one.name:
        if not is_of_a_package(one.name, failure):
            return None
        asks = f"{describe(caller, facts)} imports it ({where})" if caller and caller != provider else "it is imported there"
        detail = f"{describe(provider, facts)} has no module {one.name}; {asks}"
        packages = _named(provider, caller)
        return Hit(MODULE, True, _reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.name}")
    known = provider in listed()
    if not known and (meant := _misspelt(top)):
        detail = f"no package gives a module {top}; {meant} is one, by a name that differs in a letter: mistyped"
        return Hit(NOT_INSTALLED, True, (), detail=detail, packages=(meant,), edge=f"{caller or 'code'}:{one.name}")
    if not known and not caller:
        return None
    asks = f"; {describe(caller, facts)} imports it ({where})" if caller else ""
    stated = facts.value(f"packages.{provider}")
    if isinstance(stated, Exact):
        detail = f"{provider} {stated} is stated, and the Python that failed has no module {one.name}: it runs in another environment{asks}"
        return Hit(
            NOT_INSTALLED, True, _reasons(provider), detail=detail, packages=_named(provider, caller), edge=f"{caller or 'code'}:{one.name}"
        )
    first = release_texts(provider)[:1] if known else ()
    pins = tuple((provider, f">={release}") for release in first)
    detail = f"{provider} is not installed: there is no module {one.name}{asks}"
    return Hit(NOT_INSTALLED, True, (), detail=detail, packages=_named(provider, caller), pins=pins, edge=f"{caller or 'code'}:{one.name}")


def _misspelt(top: str) -> str:
    """The package whose module was meant by a name that no package has: one letter too many, missing or another; not a plural."""
    names = {name.replace("-", "_"): name for name in listed()}
    near = get_close_matches(top.lower(), names, n=2, cutoff=0.88) if len(top) > _SHORT else []
    return names[near[0]] if len(near) == 1 and near[0].rstrip("s") != top.lower().rstrip("s") else ""


def _attribute(one: MissingAttribute, failure: Failure, facts: Facts) -> Hit | None:
    if one.circular or not is_of_a_package(one.module, failure):
        return None
    provider = package_of(one.module)
    caller, where = caller_of(failure)
    asks = f"{describe(caller, facts)} uses it ({where})" if caller and caller != provider else "it is used there"
    detail = f"{describe(provider, facts)} has no {one.module}.{one.name}; {asks}"
    packages = _named(provider, caller)
    return Hit(ATTRIBUTE, True, _reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.module}.{one.name}")


def _demand(demand: Demand, failure: Failure | None, facts: Facts) -> Hit | None:
    """What a message asks for; None where what is stated meets it already."""
    raised = package_of(failure.raised_in) if failure is not None and failure.raised_in else ""
    if demand.package == "python":
        python = facts.value("python")
        if isinstance(python, Exact) and admits(demand.specifier, python):
            return None
        detail = f"{describe(raised, facts) or 'the program'} asks for Python {demand.specifier}"
        return Hit(
            REFUSES_PYTHON,
            True,
            (("python", f"not {demand.specifier}"),),
            detail=detail,
            packages=_named(raised),
            edge=f"python{demand.specifier}",
        )
    if demand.package.startswith("gpu."):
        value = facts.text(demand.package) or ""
        if value and admits(demand.specifier, value):
            return None
        name = facts.text("gpu.name")
        detail = (
            f"needs a GPU of compute capability {demand.specifier.removeprefix('>=')} or later{f', and {name} is stated' if name else ''}"
        )
        return Hit(
            DEMAND, True, ((demand.package, f"not {demand.specifier}"),), detail=detail, packages=_named(raised), edge=f"{raised}:gpu"
        )
    stated = facts.value(f"packages.{demand.package}")
    if isinstance(stated, Exact) and admits(demand.specifier, stated):
        return None
    own = demand.package == raised
    who = f"{describe(raised, facts)} asks" if raised and not own else "the message asks"
    there = f", and {demand.package} {stated} is stated" if isinstance(stated, Exact) else ""
    detail = f"{who} for {demand.package}{demand.specifier}{there}"
    pins = (*_nearest(demand, stated), (demand.package, demand.specifier))
    reasons = ((f"packages.{demand.package}", f"not {demand.specifier}"),)
    packages = _named(demand.package, raised)
    return Hit(
        DEMAND, True, reasons, detail=detail, packages=packages, pins=pins, edge=f"{raised or 'message'}:{demand.package}{demand.specifier}"
    )


def _nearest(demand: Demand, stated: object) -> tuple[tuple[str, str], ...]:
    """The release next to the stated one that meets a demand."""
    known = [text for text in release_texts(demand.package) if admits(demand.specifier, text)]
    if not isinstance(stated, Exact) or not known:
        return ()
    above = [text for text in known if admits(f">{stated.text.partition('+')[0]}", text)]
    return ((demand.package, f"=={above[0] if above else known[-1]}"),)


def _wanted(names: Sequence[str], failure: Failure, facts: Facts) -> Hit | None:
    """Packages that a message asks for without a release; where all of them are stated it may still be another environment that ran."""
    if not names:
        return None
    lacking = [name for name in names if not isinstance(facts.value(f"packages.{name}"), Exact)]
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    who = f"{describe(raised, facts)} asks for" if raised else "the message asks for"
    if lacking:
        detail = f"{who} {' and '.join(names)}: not installed in the environment that ran, or not usable there"
    else:
        detail = f"{who} {' and '.join(names)}, which are stated: it runs in another environment, was not restarted, or sees no GPU"
    packages = _named(*names, raised)
    pins = tuple((name, f">={first}") for name in lacking if name in listed() for first in release_texts(name)[:1])
    return Hit(
        NOT_INSTALLED,
        True if lacking else None,
        (),
        detail=detail,
        packages=packages,
        pins=pins,
        edge=f"{raised or 'message'}:{'+'.join(names)}",
    )


def _library(text: str, facts: Facts, failure: Failure | None = None) -> Hit | None:
    absent = parse_absent(text)
    if absent is not None:
        return _absent(absent, failure, facts)
    floor = parse_floor(text)
    if floor is not None:
        return _floor(floor, facts)
    undefined = parse_undefined(text)
    return None if undefined is None else _symbol(undefined, facts)


def _absent(one: AbsentLibrary, failure: Failure | None, facts: Facts) -> Hit:
    caller, where = ("", "") if failure is None else caller_of(failure)
    brings = one.owner()
    detail = f"{describe(caller, facts) or 'a compiled file'} needs {one.library}{f' ({where})' if where else ''}, and it is not found"
    if brings:
        detail += f": {brings[1]}"
    # The library comes with torch's own wheel for that CUDA.
    packages = _named(caller, brings[0] if brings else "", "torch" if brings else "")
    return Hit(NO_LIBRARY, True, _reasons(*packages), detail=detail, packages=packages, edge=f"{caller or 'code'}:{one.library}")


def _floor(one: LibraryFloor, facts: Facts) -> Hit:
    whose = describe(one.by, facts) if one.by else one.file or "a compiled file"
    place = "the conda environment is older: conda install -c conda-forge libstdcxx-ng" if one.environment else "this system is older"
    detail = f"{whose} needs {one.name}_{one.version} ({one.since()}), and {one.library} of {place}"
    reasons = [(f"packages.{one.by}", f"needs {one.name}_{one.version}")] if one.by else []
    if one.name == "GLIBC" and facts.value("glibc") is not None:
        reasons.append(("glibc", f"<{one.version}"))
    return Hit(
        FLOOR,
        True,
        tuple(reasons),
        detail=detail,
        packages=_named(one.by, "libstdcxx-ng" if one.environment else ""),
        edge=f"{one.by or one.file}:{one.name}_{one.version}",
    )


def _symbol(one: UndefinedSymbol, facts: Facts) -> Hit:
    owner = next(
        (
            name.removeprefix("packages.")
            for name in facts
            if one.owner.startswith("nvidia-") and name.startswith(f"packages.{one.owner}-cu")
        ),
        one.owner,
    )
    if owner.startswith("nvidia-") and not re.search(r"-cu\d\d$", owner):
        owner = f"{owner}-cu12"
    whose = describe(one.by, facts) if one.by else one.file
    shown = one.plain if one.plain == one.symbol else f"{one.plain} ({one.symbol})"
    if owner and owner == one.by:
        detail = f"files of different releases of {owner} are mixed: {one.file} asks for {shown}"
    elif one.library:
        brought = f", which {describe(owner, facts)} brings" if owner and owner not in ("driver", "python") else ""
        detail = f"{whose} was built against another release of {one.library}{brought}: {one.file} asks for {shown}"
    else:
        detail = f"{whose} was built against another release of some library: {one.file} asks for {shown}"
    packages = _named(one.by, owner if owner not in ("driver", "python") else "")
    return Hit(SYMBOL, True, _reasons(*packages), detail=detail, packages=packages, edge=f"{one.by or one.file}:{one.symbol}"[:200])
