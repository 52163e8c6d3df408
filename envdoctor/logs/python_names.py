"""What the standard library of a Python has no more, or not yet: a package was written for an older or a newer one."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import caller_of
from envdoctor.logs.pythons import take_python
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingAttribute, MissingMember, MissingModule, MissingName, RefusedKeyword
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe
from envdoctor.world.standard_library import INSTEAD, KEYWORDS, MEMBERS, MODULES, NAMES

PYTHON = "requirement-refuses-python"


def judge_python(statement: object, failure: Failure, facts: Facts) -> Hit | None:
    """The Pythons that have what was missing, and who asked for it; None where it is not of the standard library."""
    if isinstance(statement, (MissingName, MissingAttribute)):
        name = f"{statement.module}.{statement.name}"
        wanted = NAMES.get(name, "")
    elif isinstance(statement, MissingModule):
        name = statement.name if statement.name in MODULES else statement.name.partition(".")[0]
        wanted = MODULES.get(name, "")
    elif isinstance(statement, MissingMember):
        name = f"{statement.cls}.{statement.name}"
        wanted = MEMBERS.get(name, "")
    elif isinstance(statement, RefusedKeyword):
        name = f"{statement.function}({statement.keyword})"
        wanted = KEYWORDS.get(name, "")
    else:
        return None
    python = facts.value("python")
    if not wanted or (isinstance(python, Exact) and admits(wanted, python)):
        return None
    caller = caller_of(failure, "python")
    who = f"{describe(caller.package, facts)} ({caller.where})" if caller.package else "the code that asks for it"
    gone = wanted.startswith("<")
    instead = INSTEAD.get(name, INSTEAD.get(name.rpartition(".")[0], ""))
    told = f"Python {wanted[1:]} removed {name}" if gone else f"{name} came with Python {wanted[2:]}"
    there = f", and Python {python} is stated" if isinstance(python, Exact) else ""
    which = (
        "is older: a later release of it, or an older Python" if gone else "is for newer ones: a newer Python, or an earlier release of it"
    )
    detail = f"{told}{there}; {who} {which}{f' ({instead})' if gone and instead else ''}"
    packages = (caller.package, "python") if caller.package else ("python",)
    # Of an old setuptools or pip that a build brings along: https://github.com/thuml/TimeXer/issues/8
    to_stay = "python -m pip install --upgrade pip setuptools, and releases with wheels for this Python in place of old pins"
    advice = "; or, to stay here, ".join(filter(None, (take_python(wanted), to_stay if name == "pkgutil.ImpImporter" else "")))
    edge = f"{caller.package or 'code'}:{name}"
    return Hit(PYTHON, True, (("python", f"not {wanted}"),), detail=detail, packages=packages, edge=edge, advice=advice)
