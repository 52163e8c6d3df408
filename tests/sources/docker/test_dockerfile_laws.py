"""Laws of Dockerfiles: what a model of one states is read back, and no text is too hostile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.values import shown
from envdoctor.sources.docker.dockerfile import collect_dockerfile
from envdoctor.world.installation import Installation
from tests.steps import IN_PROPORTION, growth

HERE = Installation({"sys_platform": "linux", "platform_machine": "x86_64"})


def collect(text: str) -> dict[str, tuple[str, int | None]]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "Dockerfile"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        first = collect_dockerfile(path, HERE)[0]
    return {fact.name: (shown(fact.value), fact.origin.line) for fact in first.collected.facts}


@dataclass(frozen=True)
class Step:
    """One way to write the same install."""

    package: str
    version: str
    form: int


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["torch", "peft", "trl", "numpy"]), st.sampled_from(["0.1.0", "1.2", "2.0.1"]), st.integers(0, 9)),
    max_size=8,
)


def written(step: Step) -> tuple[str, int]:
    """The text of an install, and which of its lines (from 0) names the package."""
    pin = f"{step.package}=={step.version}"
    forms = [
        (f"RUN pip install {pin}", 0),
        (f"RUN apt-get update \\\n # c\n && pip3 install -q \\\n    '{pin}'", 3),
        (f"RUN <<EOF\nset -e\npip install {pin}\nEOF", 2),
        (f'RUN ["python3", "-m", "pip", "install", "{pin}"]', 0),
        (f"ARG V_{step.form}={step.version}\nRUN uv pip install --system {step.package}==${{V_{step.form}}}", 1),
        (f'ENV W={step.version}\nRUN (cd /x; pip install "{step.package}==$W")', 1),
        (f"RUN for p in {pin}; do pip install $p; done", 0),
        (f"RUN if [ 1 = 1 ]; then \\\n  sudo pip install {pin}; \\\nelse pip install {step.package}==9; fi", 1),
        (f"RUN bash -c 'pip install {pin}'", 0),
        (f"RUN X={step.version} && true && pip install {step.package}==$X || pip install no", 0),
    ]
    return forms[step.form]


@given(STEPS)
def test_installs_are_read_back_with_their_lines(steps: list[Step]) -> None:
    text, line = "FROM python:3.10\n", 2
    expected: dict[str, tuple[str, int | None]] = {}
    for step in steps:
        body, at = written(step)
        before = expected.get(f"packages.{step.package}")
        if before is None or before[0] != step.version:
            expected[f"packages.{step.package}"] = (step.version, line + at)
        text += body + "\n"
        line += body.count("\n") + 1
    found = {name: told for name, told in collect(text).items() if name.startswith("packages.")}
    assert found == expected


@given(STEPS, st.integers(0, 8))
def test_a_stage_holds_what_its_parent_does(steps: list[Step], cut: int) -> None:
    bodies = [written(step)[0] for step in steps]
    whole = "\n".join(["FROM python:3.10", *bodies])
    split = "\n".join(["FROM python:3.10 AS a", *bodies[:cut], "FROM a", *bodies[cut:]])
    one, two = collect(whole), collect(split)
    assert {name: told for name, (told, _) in one.items()} == {name: told for name, (told, _) in two.items()}


PIECES = [
    "FROM a\n", "FROM python:3.10 AS b\n", "FROM b\n", "ARG A=$A$A\n", "ENV A=${A:-${B}}\n", "RUN ", "pip install ", "torch==2 ", "\\\n",
    "<<E\n", "E\n", "$(", "${", "'", '"', "`", "&& ", "; ", "COPY --from=b / /\n", "COPY . /x\n", "-r /x/r.txt ",
    "SHELL [\"x\"]\n", "WORKDIR $A\n",
    "conda create -n e python=3 ", "ONBUILD RUN pip install x\n", "if ", "then ", "fi ", "{ ", "( ", ") ", "| ", "> f ",
    "\ue000", "é", "\ud800",
    "--mount=type=bind,target=/x ", "-e .[a] ", "uv sync ", "# escape=`\n", "uv venv ", "venv/bin/pip install ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_dockerfile_is_too_odd(text: str) -> None:
    for _, line in collect(text).values():
        assert line is None or 1 <= line <= text.count("\n") + 1


# Texts that grow by what is repeated, and how often it is at first.
LONG: dict[str, tuple[Callable[[int], str], int]] = {
    "one word": (lambda n: "FROM a\nRUN pip install " + "x" * n, 10_000),
    "words": (lambda n: "FROM a\nRUN pip install " + "x==1 " * n, 300),
    "continued lines": (lambda n: "FROM a\nRUN echo " + "\\\n" * n + "x", 1500),
    "heredocs without end": (lambda n: "FROM a\n" + "RUN <<A\n" * n, 1000),
    "a value of itself": (lambda n: "FROM a\nENV A=aaaaaaaaaa\n" + "ENV A=$A$A$A$A\n" * n + "RUN pip install $A", 100),
    "expansions in expansions": (lambda n: "FROM a\nRUN pip install " + "${b:-" * n + "x" + "}" * n, 50),
    "stages": (lambda n: "".join(f"FROM s{k - 1} AS s{k}\nRUN pip install x{k}\n" for k in range(n)), 40),
    "copies": (lambda n: "FROM a\n" + "COPY a /b/\n" * n + "RUN pip install -r /b/r.txt", 150),
    "parentheses": (lambda n: "FROM a\nRUN " + "(" * n + "pip install x" + ")" * n, 800),
    "commands": (lambda n: "FROM a\nRUN " + "pip install x && " * n + "true", 100),
}


@pytest.mark.large
@pytest.mark.parametrize("name", LONG)
def test_a_large_dockerfile_takes_steps_in_proportion(name: str) -> None:
    text, size = LONG[name]

    def reading(repeats: int) -> Callable[[], object]:
        return lambda: collect(text(repeats))

    assert growth(reading, size) < IN_PROPORTION


@pytest.mark.large
@pytest.mark.parametrize(
    "text",
    [
        LONG["expansions in expansions"][0](50_000),
        LONG["parentheses"][0](50_000),
        LONG["one word"][0](2**18),
        "FROM a AS a\nFROM a\nCOPY --from=a / /\nRUN --mount=from=a,target=/ pip install -r /r.txt",
    ],
    ids=lambda text: text[:30],
)
def test_what_is_too_deep_or_too_long_states_nothing(text: str) -> None:
    assert collect(text) == {"os": ("linux", 1)}


@pytest.mark.parametrize("blank", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u3000"])
def test_what_only_unicode_calls_a_blank_is_part_of_a_word(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM python:3.11\nRUN true {blank}x && pip install {blank} torch==2.1.2\n", encoding="utf-8", newline="")
    (found, *_) = collect_dockerfile(path, Installation())
    assert [str(fact.value) for fact in found.collected.facts if fact.name == "packages.torch"] == ["2.1.2"]
