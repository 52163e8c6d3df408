"""What releases contain, asked of an error's statement: the one place where the atlas is joined.

Without an atlas there is no answer, and the finding says what the error says.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.statements import Statement
from envdoctor.logs.tracebacks import Failure


def answer(statement: Statement, failure: Failure, facts: Facts) -> Hit | None:
    """The finding of what a statement comes to by the contents of releases; None where they do not tell."""
    return None


def tell_message(failure: Failure, facts: Facts) -> Iterator[str]:
    """Since which release an error of these words can be raised, and under which condition; nothing where the atlas has no such message."""
    return iter(())
