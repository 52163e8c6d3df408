"""Rules about an import that fails hold wherever the atlas shows that a script, or what runs a plan, comes to that import.

Which of a library's names lead to a module is more than a rule can list. Its error text says what is missing there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.vocabulary import BROKEN_IMPORTS
from envdoctor.rules.conditions import All, AnyOf, Condition, Not, PackageIs, ValueIs, leaves

_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_MODULE = re.compile(r"[Nn]o module named '([\w.]+)'")


def join_broken_imports(condition: Condition, symptoms: Sequence[str], packages: Sequence[str]) -> Condition:
    """The condition, which holds of its releases as well where something leads to the import that its error text is about."""
    edges = tuple(f"{package}:{name}" for package in packages for name in dict.fromkeys(_names(symptoms)))
    if not edges or not isinstance(condition, All):
        return condition
    rest = tuple(part for part in condition.parts if _asks_of_the_run(part))
    accused = tuple(found for part in rest if (found := _of_packages(part)) is not None)
    kept = tuple(part for part in condition.parts if part not in rest)
    if not rest or not any(isinstance(leaf, PackageIs) for part in (*kept, *accused) for leaf in leaves(part)):
        return condition
    usual = rest[0] if len(rest) == 1 else All(rest)
    broken = ValueIs(BROKEN_IMPORTS, edges)
    return All((*kept, AnyOf((usual, All((*accused, broken)) if accused else broken))))


def without_broken_imports(condition: Condition) -> Condition:
    """The condition as its file says it."""
    if isinstance(condition, All):
        return All(tuple(_as_written(part) for part in condition.parts))
    return condition


def _as_written(part: Condition) -> Condition:
    last = part.parts[-1] if isinstance(part, AnyOf) else part
    return part.parts[0] if isinstance(part, AnyOf) and any(leaf.fact == BROKEN_IMPORTS for leaf in leaves(last)) else part


def _names(symptoms: Sequence[str]) -> Iterator[str]:
    for text in symptoms:
        for name, module in _NAME.findall(text):
            yield f"{module}.{name}"
        yield from _MODULE.findall(text)


def _asks_of_the_run(part: Condition) -> bool:
    """Whether a part asks what a plan or a script does, and not that it does not."""
    return not isinstance(part, Not) and any(leaf.fact.startswith("plan.") for leaf in leaves(part))


def _of_packages(condition: Condition) -> Condition | None:
    """What a part asks of packages alone; None where it asks nothing of them."""
    if isinstance(condition, PackageIs):
        return condition
    if not isinstance(condition, (All, AnyOf)):
        return None
    parts = [_of_packages(part) for part in condition.parts]
    found = tuple(part for part in parts if part is not None)
    if not found or (isinstance(condition, AnyOf) and len(found) < len(parts)):
        return None
    return found[0] if len(found) == 1 else type(condition)(found)
