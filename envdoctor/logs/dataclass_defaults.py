"""A default that the dataclasses of Python 3.11 refuse: of which package its class is, and the Python that this package was written for.

https://github.com/s3prl/s3prl/issues/522, https://github.com/nlp-uoregon/trankit/issues/76
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

RUN = "error-of-the-run"
_PAGE = "dataclass-default-refused-since-python-3-11"
_SAYS = re.compile(
    r"mutable default <class ['\"](?P<top>[A-Za-z_]\w{1,60})\.[\w.]{1,200}['\"]> "
    r"for field (?P<field>\w{1,80}) is not allowed: use default_factory"
)
# Their values are defaults of others' classes.
_OF_ARRAYS = frozenset(("jax", "jaxlib", "numpy", "pandas", "torch"))
_OF_PYTHON = re.compile(
    r"mutable default <class ['\"](?P<kind>list|dict|set)['\"]> for field (?P<field>\w{1,80}) is not allowed: use default_factory"
)
_OLDER = re.compile(r"3\.(?:\d|10)(?:\.|$)")


def judge_dataclass_default(failure: Failure, facts: Facts) -> Hit | None:
    """The same in another Python than 3.11 and later is a fault of the code; of a class without a module nobody knows whose it is."""
    plain = _OF_PYTHON.search(failure.message)
    if plain is not None:
        return Hit(
            RUN,
            True,
            detail="every Python refuses a list, a dict or a set as the default of a dataclass's field",
            edge=f"dataclass:{plain['kind']}",
            headline=f"A dataclass has a {plain['kind']} as the default of its field {plain['field']}",
            over=(_PAGE,),
            advice=f"field(default_factory={plain['kind']}), or a lambda that makes what stands there, for {plain['field']}",
        )
    told = _SAYS.search(failure.message)
    python = facts.value("python")
    if told is None or told["top"] == "__main__" or (isinstance(python, Exact) and _OLDER.match(python.text)):
        return None
    package = package_of(told["top"])
    if package in _OF_ARRAYS and package not in map(package_of, failure.packages):
        return _of_an_array(told["field"])
    known = package in listed() or isinstance(facts.value(f"packages.{package}"), Exact)
    name = describe(package, facts) if known else told["top"]
    newer = f"; or a later release, where one knows 3.11: pip install -U {package}" if known else "; or a later state of it"
    return Hit(
        RUN,
        True,
        detail="up to 3.10 they refused list, dict and set alone; since 3.11 they refuse whatever has no hash",
        packages=(package,) if known else (),
        edge=f"{package}:dataclass",
        headline=f"{name} was written for an older Python: dataclasses of Python 3.11 refuse one of its defaults",
        over=(_PAGE,),
        advice=f"uv venv --python 3.10, and install {told['top'] if not known else package} there{newer}",
    )


def _of_an_array(field: str) -> Hit:
    """The class of the value is numpy's or torch's, and that of the field is anybody's."""
    return Hit(
        RUN,
        True,
        detail="since 3.11 dataclasses refuse whatever has no hash; the class that has the field is the project's, or a package's that the "
        "frames above name, and not the one of the value",
        edge="code:mutable-default:array",
        headline=f"A dataclass gives its field {field} an array as the default, which Python 3.11 refuses",
        over=(_PAGE,),
        advice=f"{field} = field(default_factory=lambda: ...) in that class; of a package's a later release, or Python 3.10",
    )
