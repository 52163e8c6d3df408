"""A call that is refused by a function which another one made: ``patch_SiglipEncoderLayer.<locals>.forward()``.

Such a function stands in the place of somebody else's, so that its name and arguments say nothing of the package that it was taken from;
the one that made it has a name of its own, which tells whose it is (unsloth-zoo's temporary_patches, axolotl's monkeypatch, fschat).
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.asked import ARGUMENT
from envdoctor.logs.everyday_names import is_everyday
from envdoctor.logs.owners_anywhere import functions_anywhere
from envdoctor.logs.statements import MissingArguments, RefusedKeyword, Statement, TooManyArguments
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe

_WITHIN = re.compile(r"(?:^|[\s.])(?P<outer>\w+)\.<locals>\.(?P<inner>\w+)\(\)")
# What puts a function of its own in the place of another's says so by its name.
_PATCHES = re.compile(r"(?:monkey_?)?(?:patch|replace|hijack|override)(?:ed)?_\w+|\w+_(?:patch|hijack)")
# What is around another function hands on what it is given.
_AROUND = frozenset(("wrapper", "wrapped", "wrapped_fn", "wrapped_func", "inner", "inner_wrapper", "decorator", "decorated"))
# A shorter name is anybody's.
_TELLING = 10


def judge_within(statement: Statement | None, failure: Failure, facts: Facts) -> Hit | None:
    """The package whose function made the one that was called; where no package has it, what its name says; else None."""
    told = _WITHIN.search(failure.message)
    if told is None or not isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments)):
        return None
    outer, inner = told["outer"], told["inner"]
    if len(outer) < _TELLING or "_" not in outer or is_everyday(outer) or inner in _AROUND:
        return None
    owners = functions_anywhere(outer)
    what = f"does not take {statement.keyword}" if isinstance(statement, RefusedKeyword) else "is called with other arguments than it takes"
    if len(owners) == 1:
        ((package, symbols),) = owners.items()
        return _of_package(package, symbols[0].partition(":")[0], (outer, inner, what), facts)
    if owners or _PATCHES.fullmatch(outer) is None:
        return None
    return Hit(
        ARGUMENT,
        None,
        detail=f"{outer}() made {inner}() and put it in the place of another's function: its arguments are those that the other had on the "
        "day when it was written",
        edge=f"code:{outer}.{inner}"[:200],
        headline=f"A function that {outer}() put in the place of another's {what}",
        advice=f"grep -rn 'def {outer}' in the project and in site-packages shows whose it is: that and the package that it "
        "changes from one "
        "day, or without the patch",
    )


def _of_package(package: str, module: str, names: tuple[str, str, str], facts: Facts) -> Hit:
    outer, inner, what = names
    patches = _PATCHES.fullmatch(outer) is not None
    return Hit(
        ARGUMENT,
        None,
        detail=f"{inner}() is made by {outer}() of {describe(package, facts)} ({module}){', to stand in the place of another' * patches}, "
        f"and it {what}: who calls it{', or what it stands for,' * patches} is of another day than this {package}",
        packages=(package,),
        edge=f"{package}:{module}.{outer}.{inner}"[:200],
        headline=f"A function that {package} {'put in the place of another one' if patches else 'made'} {what}",
        advice=f"{package} and what {'it changes' if patches else 'calls it'} from one day: pip install -U {package} where the other is "
        f"newer; else the release of the other that this {package} names",
    )
