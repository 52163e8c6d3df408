"""The modules that know an error by its very words, one after the other, before anything is looked up by a name alone."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.context_variables import judge_context_variable
from envdoctor.logs.ctypes_symbols import judge_ctypes
from envdoctor.logs.earlier_names import judge_documentation, judge_earlier_name
from envdoctor.logs.functions_within import judge_within
from envdoctor.logs.meta_tensors import judge_meta_under_deepspeed
from envdoctor.logs.no_console import judge_no_console
from envdoctor.logs.statements import Statement
from envdoctor.logs.tracebacks import Failure


def judge_by_words(statement: Statement | None, failure: Failure, facts: Facts, around: str) -> Hit | None:
    """``around`` is what was pasted with the error, where that is short."""
    return (
        judge_no_console(failure, around)
        or judge_meta_under_deepspeed(failure, around)
        or judge_context_variable(failure, facts, around)
        or judge_ctypes(failure, facts)
        or judge_earlier_name(statement, facts)
        or judge_documentation(statement, failure, facts, around)
        or judge_within(statement, failure, facts)
    )
