"""What a message asks for, as findings: another release, another Python or GPU, or a package that is not there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.card_sentences import NO_BFLOAT16
from envdoctor.logs.checked_imports import CHECKED, tell_checked
from envdoctor.logs.demands import Demand
from envdoctor.logs.installer_rules import REFUSES_PYTHON
from envdoctor.logs.last_resort import named_in
from envdoctor.logs.newest import newest_for
from envdoctor.logs.pythons import take_python
from envdoctor.logs.quoted_commands import quoted, with_command
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named
from envdoctor.records import replace
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed, release_texts

# "Found version 0.4.2, but only versions above 0.5.0 are supported"
_FOUND = re.compile(
    r"\b[Ff]ound (?:version )?v?(?P<found>\d[\w.]{2,30}),? but (?:only versions? )?(?:above|from|at least|requires?|needs?|>=?) ?"
    r"v?(?P<wanted>\d{1,5}(?:\.\d{1,5}){1,3})"
)
# "Your currently installed version of Keras is Keras 3, but this is not yet supported in Transformers."
_BESIDE = re.compile(r"installed version of (?P<name>[A-Za-z][\w-]{1,30}) is ")
# pkg_resources tells whose requirement it is behind it: "..., Requirement.parse('numpy<1.22,>=1.18'), {'numba'})"
_ASKED_BY = re.compile(r"Requirement\.parse\([^)]{1,200}\), \{['\"](?P<name>[\w.-]{1,80})['\"]\}")
# LangChain catches any ImportError of a package, and says that there is none: https://github.com/langchain-ai/langchain
_HIDES = re.compile(r"Could not import (?P<name>[a-z]\w{1,40}) python package\. Please install it with")
NOT_INSTALLED, DEMAND = "error-package-not-installed", "error-demands-another-release"


def judge_demand(demand: Demand, failure: Failure | None, facts: Facts) -> Hit | None:
    """What a message asks for; None where what is stated meets it already."""
    raised = package_of(failure.raised_in) if failure is not None and failure.raised_in else ""
    if failure is not None and (asked := _ASKED_BY.search(failure.message)) is not None:
        raised = canonical(asked["name"])
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
            packages=named(raised),
            edge=f"python{demand.specifier}",
            advice=take_python(demand.specifier),
        )
    if demand.package.startswith("gpu."):
        value = facts.text(demand.package) or ""
        if value and admits(demand.specifier, value):
            return None
        name = facts.text("gpu.name")
        asks = raised or (named_in(failure.message) if failure is not None else "")
        detail = (
            f"needs a GPU of compute capability {demand.specifier.removeprefix('>=')} or later{f', and {name} is stated' if name else ''}"
        )
        advice = NO_BFLOAT16 if demand.instead == "float16" else ""
        reasons = ((demand.package, f"not {demand.specifier}"),)
        return Hit(DEMAND, True, reasons, detail=detail, packages=named(asks), edge=f"{asks}:gpu", advice=advice)
    stated = facts.value(f"packages.{demand.package}")
    if isinstance(stated, Exact) and admits(demand.specifier, stated):
        return None
    own = demand.package == raised
    who = f"{describe(raised, facts)} asks" if raised and not own else "the message asks"
    there = f", and {demand.package} {stated} is stated" if isinstance(stated, Exact) else ""
    detail = f"{who} for {demand.package}{demand.specifier}{there}"
    pins = (*_nearest(demand, stated), *_least(demand), (demand.package, demand.specifier))
    reasons = ((f"packages.{demand.package}", f"not {demand.specifier}"),)
    packages = named(demand.package, raised)
    edge = f"{raised or 'message'}:{demand.package}{demand.specifier}"
    advice = f"write {demand.instead} in its place" if demand.instead else ""
    return Hit(DEMAND, True, reasons, detail=detail, packages=packages, pins=pins, edge=edge, advice=advice)


def demand_of_found(message: str, facts: Facts) -> tuple[Demand, ...]:
    """What a message wants of a package that it does not name, and whose release it tells: the one stated package of that release."""
    told = _FOUND.search(message)
    if told is None:
        return ()
    there = [
        name.removeprefix("packages.")
        for name in facts
        if name.startswith("packages.") and isinstance(value := facts.value(name), Exact) and value.text == told["found"]
    ]
    return (Demand(there[0], f">={told['wanted']}", told[0]),) if len(there) == 1 else ()


def judge_met(demand: Demand, facts: Facts) -> Hit | None:
    """A demand that the stated release meets, and that was refused all the same."""
    stated = facts.value(f"packages.{demand.package}")
    if not isinstance(stated, Exact):
        return None
    detail = (
        f"the message asks for {demand.package}{demand.specifier}, and {demand.package} {stated} is stated, which is that: another "
        "environment ran, the program (the notebook's kernel) began before it was installed, or the package is there and fails to import"
    )
    return Hit(DEMAND, None, (), detail=detail, packages=(demand.package,), edge=f"met:{demand.package}{demand.specifier}")


def join_demands(hits: list[Hit]) -> list[Hit]:
    """What one message asks of several packages, as one finding."""
    of_packages = [one for one in hits if one.rule == DEMAND and one.pins]
    if len(of_packages) < 2:
        return hits
    first = of_packages[0]
    one = replace(
        first,
        because=tuple(reason for hit in of_packages for reason in hit.because),
        detail="; ".join(hit.detail for hit in of_packages),
        packages=named(*(name for hit in of_packages for name in hit.packages)),
        pins=tuple(pin for hit in of_packages for pin in hit.pins),
    )
    return [one, *(hit for hit in hits if hit not in of_packages)]


def judge_wanted(names: Sequence[str], failure: Failure, facts: Facts) -> Hit | None:
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
        if _HIDES.search(failure.message):
            detail += "; or it is there and its import fails, which these words hide"
    hidden = not lacking and _HIDES.search(failure.message)
    advice = ""
    if hidden:
        advice = (
            f"python -c 'import {hidden['name']}' with the Python that runs prints why it fails; where it lacks a name of another package: "
            f"pip install -U {' '.join(names)}, with what it imports (for sentence-transformers also huggingface_hub), and a restart"
        )
    checked = CHECKED.search(failure.message)
    if checked is not None:
        detail, advice = tell_checked(names, checked["first"] or "", who, facts)
    if len(lacking) > 1 and checked is None:
        # One of them alone leaves the same message.
        together = " ".join(lacking)
        advice = f"python -m pip install -U {together}, all of them, with the Python that runs; a new environment where it still says so"
    told = _BESIDE.search(failure.message)
    beside = name if told is not None and (name := package_of(told["name"].lower())) in listed() else ""
    packages = named(*names, beside, raised)
    pins = tuple(pin for name in lacking if name in listed() and len(lacking) == 1 and checked is None for pin in newest_for(name, facts))
    if lacking and "git+" in quoted(failure.message):
        detail = (
            f"{who} {' and '.join(names)} from a repository: what the index has under that name is not it, and may be what is installed"
        )
    hit = Hit(
        NOT_INSTALLED,
        True if lacking else None,
        (),
        detail=detail,
        packages=packages,
        pins=pins,
        edge=f"{raised or 'message'}:{'+'.join(names)}",
        advice=advice,
        headline="A package that the model's code imports is not there, or lacks a module itself" if checked is not None else "",
    )
    return with_command(hit, failure) if lacking and checked is None else hit


def _nearest(demand: Demand, stated: object) -> tuple[tuple[str, str], ...]:
    """The release next to the stated one that meets a demand."""
    known = [text for text in release_texts(demand.package) if admits(demand.specifier, text)]
    if not isinstance(stated, Exact) or not known:
        return ()
    above = [text for text in known if admits(f">{stated.text.partition('+')[0]}", text)]
    return ((demand.package, f"=={above[0] if above else known[-1]}"),)


def _least(demand: Demand) -> tuple[tuple[str, str], ...]:
    """The release that a demand itself names, where its releases are not listed; the last pip that is not strict."""
    if demand.package == "pip" and demand.specifier == "<24.1":
        return (("pip", "==24.0"),)
    named = re.match(r">=(\d+(?:\.\d+)*)(?:,|$)", demand.specifier)
    return ((demand.package, f"=={named[1]}"),) if named and demand.package not in listed() else ()
