"""Which commands a script runs, with line, directory, environment and certainty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.sources.docker.parse import parse_dockerfile
from envdoctor.sources.docker.run import Call, Shell
from envdoctor.sources.shell.marks import shown
from envdoctor.sources.shell.text import Heredoc, Text
from tests.steps import IN_PROPORTION, growth


def run(script: str, values: dict[str, str] | None = None) -> tuple[list[Call], list[tuple[int, str]]]:
    body = parse_dockerfile(f"RUN <<'--end--'\n{script}\n--end--").instructions[0].heredocs[0].body
    calls: list[Call] = []
    shell = Shell((values or {}).get, "/work", calls.append)
    shell.script(body)
    return calls, shell.problems


def told(script: str, values: dict[str, str] | None = None) -> list[str]:
    calls, problems = run(script, values)
    assert problems == []
    return [("" if call.certain else "? ") + " ".join(shown(argument.text) for argument in call.arguments) for call in calls]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a && b; c || d | e & f", ["a", "b", "c", "e", "f"]),
        ("(cd /x && a); b", ["a", "b"]),
        ("{ a; b; } > log", ["a", "b"]),
        ("set -eux; a # b\n# c", ["a"]),
        ('if [ "$V" = 1 ]; then a; elif [ "$V" = 2 ]; then b; else c; fi', ["b"]),
        ('if [ "$NONE" = 1 ]; then a; else b; fi; c', ["? a", "? b", "c"]),
        ("if command -v uv; then a; fi", ["? a"]),
        ("if python -c 'import torch'; then a; fi", ["python -c import torch", "? a"]),
        ('[ -n "$V" ] && a; [ -z "$V" ] && b; [ -z "$V" ] || c', ["a", "c"]),
        ("test -f x || a", ["? a"]),
        ("[[ $V == 2* && $V != 3 ]] && a", ["a"]),
        ('[ "$V" -ge 2 ] && a', ["a"]),
        ("! false && a", ["a"]),
        ("for p in x 'y z' $L; do pip install $p; done", ["pip install x", "pip install y z", "pip install q", "pip install r"]),
        ("for p in $(ls); do pip install $p; done", ["pip install $p"]),
        ("while read x; do a; done", ["? a"]),
        ("case $V in 1) a;; 2|3) b;; *) c;; esac", ["b"]),
        ("case $NONE in 1) a;; esac", ["? a"]),
        ("f() { a $1; }; f; f", ["a $1", "a $1"]),
        ("X=1; Y=$X.2 a $Y; b $X$Y", ["a $Y", "b 1$Y"]),
        ("export X=cu$V; a $X", ["a cu2"]),
        ("if [ $NONE ]; then X=1; fi; a $X", ["a $X"]),
        ("sudo -E -H -u me env A=1 time pip install x", ["pip install x"]),
        ("timeout -k 5 30 nice -n 3 pip install x", ["pip install x"]),
        ("bash -c 'a && b'; sh -exc \"c\"", ["a", "b", "c"]),
        ("eval a b", ["a b"]),
        ("yes | pip install x 2>&1 | tee log >/dev/null", ["yes", "pip install x", "tee log"]),
        ("cat r | xargs -n 1 pip install", ["cat r", "pip install $what xargs reads"]),
        ("cat <<E > f\npip install no\nE\na", ["cat", "a"]),
        ("bash <<E\na\nE\nb", ["a", "b"]),
        ("exit 0; a", []),
        ("A=(x y); a", ["a"]),
        ("a \\\n  b", ["a b"]),
        ("poetry run pip install x; uv run --with y pip install z", ["pip install x", "pip install z"]),
    ],
)
def test_commands(script: str, expected: list[str]) -> None:
    assert told(script, {"V": "2", "L": "q r"}) == expected


def test_directory_and_environment_are_followed() -> None:
    calls, _ = run(
        "cd app\na\n(cd /; b)\n. venv/bin/activate\nc\nconda activate e\nd\n"
        "conda run -n f --no-capture-output g\nsource activate h && i\ncd $NONE; j"
    )
    assert [(call.program, call.line, call.directory, call.environment) for call in calls] == [
        ("a", 3, "/work/app", None),
        ("b", 4, "/", None),
        ("c", 6, "/work/app", "/work/app/venv"),
        ("d", 8, "/work/app", "e"),
        ("g", 9, "/work/app", "f"),
        ("i", 10, "/work/app", "h"),
        ("j", 11, calls[-1].directory, "h"),
    ]
    assert shown(calls[-1].directory) == "$PWD"


def test_what_a_command_writes_and_is_given() -> None:
    calls, _ = run("cat <<E > r.txt\ntorch==2.1\nE\npip freeze >> /x/all.txt 2> /dev/null")
    assert calls[0].written == ("/work/r.txt",)
    assert calls[0].stdin is not None
    assert calls[0].stdin.body.text == "torch==2.1\n"
    assert calls[1].written == ("/x/all.txt", "/dev/null")


@pytest.mark.parametrize(
    ("script", "before", "why"),
    [
        ("a\nb 'c", ["a"], "a quote ' is never closed"),
        ('a\nb "c', ["a"], 'a quote " is never closed'),
        ("a; if b; then c", ["a"], "'fi' was expected"),
        ("a; b $(c", ["a"], "a ( is never closed"),
        ("a; ) b", ["a"], "')' stands where a command was expected"),
        ("a; for", ["a"], "'do' was expected"),
        ("a; " + "(" * 60 + "b" + ")" * 60, ["a"], "nested too deep"),
        ("a; " + "! " * 60 + "b", ["a"], "nested too deep"),
        ("f() { f; f; }; a", ["a"], None),
    ],
)
def test_what_is_no_shell_hides_nothing_before_it(script: str, before: list[str], why: str | None) -> None:
    calls, problems = run(script)
    assert [call.program for call in calls] == before
    assert [text for _, text in problems] == ([] if why is None else [f"not understood as shell from here: {why}"])


@pytest.mark.parametrize(
    "script",
    [
        "f() { f; f; f; f; f; f; f; f; }; f; a",
        "for a in 1 2 3 4 5 6 7 8 9 10; do for b in 1 2 3 4 5 6 7 8 9 10; do for c in $L $L $L; do x $a; done; done; done",
    ],
    ids=["recursion", "loops"],
)
def test_of_a_script_that_loops_only_its_first_commands_are_followed(script: str) -> None:
    calls, problems = run(script, {"L": "1 " * 500})
    assert len(calls) <= 4000
    assert problems == [(2, "more commands than are followed")]


@pytest.mark.large
@pytest.mark.parametrize(
    ("script", "size"),
    [
        (lambda n: "x " + "y" * n, 10_000),
        (lambda n: "x " + "y " * n, 500),
        (lambda n: "[ " + "a -o " * n + " ]", 500),
        (lambda n: "(" * n, 500),
    ],
    ids=["a word", "words", "a test", "parentheses"],
)
def test_a_long_script_takes_steps_in_proportion(script: Callable[[int], str], size: int) -> None:
    assert growth(lambda repeats: lambda: run(script(repeats)), size) < IN_PROPORTION


@pytest.mark.large
@pytest.mark.parametrize("script", ["(" * 100_000, "x " + "y" * 10**6, "[ " + "a -o " * 5000 + " ]"], ids=["deep", "long", "a test"])
def test_no_script_is_too_deep_or_too_long(script: str) -> None:
    assert len(run(script)[0]) <= 1


PIECES = [
    *"ab ;&|(){}<>\n\\$'\"`=[]#!",
    " if ",
    " then ",
    " fi ",
    " for x in ",
    " do ",
    " done ",
    " case ",
    " in ",
    " esac ",
    "<<E\n",
    "f()",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_script_is_too_odd(script: str) -> None:
    calls: list[Call] = []
    shell = Shell(lambda _: None, "/", calls.append)
    shell.script(Text(script, (0,), (1,)), (Heredoc("E", True, Text("x\n", (0,), (2,))),))
    assert all(call.arguments for call in calls)
