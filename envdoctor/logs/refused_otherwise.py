"""What an installer refuses for another reason than its words say: releases only tried, a variable, a package for other machines."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.installer_rules import NO_FILE
from envdoctor.logs.installers import Unavailable

# What gives the same module on machines for which a package has no file: the wheels of decord 0.6.0 and eva-decord 0.6.1 on the index.
OTHERWISE = {
    "decord": "on a Mac with Apple silicon pip install eva-decord, which gives the same module (decord's own wheels are for Intel's and "
    "AMD's processors); on other machines build it from its repository",
}


def judge_tried(one: Unavailable, facts: Facts) -> Hit:
    """Releases of one package that pip refused one after the other: what it could not have is something that all of them require."""
    tried = " and ".join(one.offered[:4])
    here = f"Python {python}" if (python := facts.value("python")) is not None else "this Python"
    detail = (
        f"pip tried {one.name} {tried} one after the other and refused each: something that they require, which the lines below name "
        f"('depends on'), has no file for {here} and this platform, or clashes with what else is asked for"
    )
    advice = (
        f"a Python for which all that {one.name} requires has wheels; pip download --no-deps "
        f"{one.name}=={one.offered[-1]}, and the METADATA "
        "in it, tell what that is"
    )
    headline = f"No release of {one.name} can be installed: what it requires has no release that fits"
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name, "python"), edge=one.name, headline=headline, advice=advice)


def judge_not_filled_in(one: Unavailable) -> Hit:
    """``torch==2.1.2+${DEVICE}``: a variable that nobody replaced."""
    public = one.specifier.rstrip("+")
    detail = (
        f"{one.name}{one.specifier} ends where a variable stands: pip fills in ${{NAME}} in a requirements file, and "
        f"leaves it as it is where "
        "no environment variable of that name is set"
    )
    advice = (
        f"set the variable (export DEVICE=cpu, or cu118), or write the build in its place: {one.name}{public}+cpu, or {one.name}{public}"
    )
    headline = f"The requirement of {one.name} has a variable in it that was not filled in"
    pins = ((one.name, public),)
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name,), pins=pins, edge=one.name, headline=headline, advice=advice)
