"""Whole scripts, against a real shell."""

from __future__ import annotations

import shutil
import subprocess
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.sources.docker.run import Call, Shell
from envdoctor.sources.shell.parser import parse_shell
from envdoctor.sources.shell.text import whole_text
from tests.examples import examples

BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="bash is the oracle")

WORDS = st.sampled_from(
    ["a", "'b c'", '"$V"', "$V", "x${V}y", '"a $L b"', "$L", "${N:-d}", "${V%.*}", "''", "\\$V", "$((2 + 3 * 2))", "$'t\\'u'", "a\\ b"]
)
SHOWN = st.lists(WORDS, min_size=1, max_size=3).map(lambda words: f"show {' '.join(words)}")
SIMPLE = SHOWN | st.sampled_from(["V=3.1", 'L="p q"', "export V=4", "N=", "true", "V=9 true", "show <<E\n$V show no\nE"])
TESTS = st.sampled_from(["true", "false", "[ $V = 1.2 ]", '[[ "$V" == 3* ]]', '[ -z "$L" ]', "! false"])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("\n".join),
        st.tuples(TESTS, inner).map(lambda told: f"if {told[0]}; then\n{told[1]}\nelse\n  show else\nfi"),
        st.tuples(TESTS, SHOWN).map(lambda told: f"{told[0]} && {told[1]}"),
        st.tuples(TESTS, SHOWN).map(lambda told: f"{told[0]} || {told[1]}"),
        st.tuples(WORDS, inner).map(lambda told: f"for W in {told[0]} z; do show $W; {told[1]}\ndone"),
        inner.map(lambda body: f"(\n{body}\n)"),
        inner.map(lambda body: f"{{\n{body}\n}}"),
        st.tuples(WORDS, inner).map(lambda told: f"case {told[0]} in\n  a | 1*) show one ;;\n  *) {told[1]}\n  ;;\nesac"),
        inner.map(lambda body: f"f() {{\n{body}\n}}\nf"),
    )


@needs_bash
@settings(max_examples=examples(100), deadline=None)
@given(st.recursive(SIMPLE, compound, max_leaves=8))
def test_the_commands_are_those_that_bash_runs(script: str) -> None:
    values = {"V": "1.2", "L": "p  q"}
    show = 'show() { printf "%s\\037" show "$@"; echo; }\n'
    done = subprocess.run([BASH, "--norc", "-c", show + script], env=values, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    calls: list[Call] = []
    shell = Shell(values.get, "/", calls.append)
    shell.script(whole_text(script))
    assert shell.problems == []
    ours = [[argument.text for argument in call.arguments] for call in calls if call.program == "show"]
    assert ours == [line.split("\037")[:-1] for line in done.stdout.splitlines()]


ACCEPTED = [
    "for ((i = 0; i < 3; i++)); do a; done", "for x; do a; done", "select x in a b; do break; done", "((i++)) && a", "a=(1 2\n 3); b",
    "a=(x # ) no end\n y)", "if ((n > 2)); then a; fi", "while read -r x; do a; done < <(b)", "a <<< \"$x\"", "cat <<'E' | b\n'\nE",
    "a 2>&1 >/dev/null | b", "a |& b", "case x in (a) b ;; c | d) ;& *) ;; esac", "function f { a; }", "f-g() ( a )", "until a; do b; done",
    "[[ $a =~ ^(x|y)$ ]] && b", "a $'it\\'s'", "x=$(a \"$(b ')')\")", "a \\\n  b", "{ a; } 2>/dev/null", "! a | b", "a & b", "x+=y z+=(w)",
    "a=(1 # it's one\n2)", "echo ${#a} ${a[@]:1} ${!a} ${a/x/\"}\"}", "a <<-E\n\tb\n\tE\nc", "time a", "coproc a", "a; # b ' c",
    "a \"$(b # it's\n)\"",
]  # fmt: skip


@needs_bash
@pytest.mark.parametrize("script", ACCEPTED)
def test_what_bash_accepts_is_understood(script: str) -> None:
    assert subprocess.run([BASH, "-n", "-c", script], capture_output=True, check=False).returncode == 0
    assert parse_shell(whole_text(script)).problem is None


@needs_bash
@pytest.mark.parametrize("script", ["if a; then b", "a; fi", "a ) b", "for x in a; b; done", "a 'b", "case x in a) b", "{ a"])
def test_what_bash_refuses_is_a_problem(script: str) -> None:
    assert subprocess.run([BASH, "-n", "-c", script], capture_output=True, check=False).returncode != 0
    assert parse_shell(whole_text(script)).problem is not None


def test_a_single_quote_means_nothing_to_a_default_in_double_quotes() -> None:
    """As POSIX and dash have it; bash refuses it."""
    assert parse_shell(whole_text('a "${x:-don\'t}" b')).problem is None


def test_a_heredoc_and_its_lines() -> None:
    text = textwrap.dedent(
        """\
        cat <<A <<'B'
        one $x
        A
        two
        B
        end"""
    )
    first, second = (redirect.heredoc for redirect in parse_shell(whole_text(text, 7)).body.items[0][1].redirects)  # type: ignore[union-attr]
    assert first is not None
    assert second is not None
    assert (first.expand, first.body.text, first.body.lines) == (True, "one $x\n", (8,))
    assert (second.expand, second.body.text, second.body.lines) == (False, "two\n", (10,))
