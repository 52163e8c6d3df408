"""Pins that contradict each other: what is certain, what is possible, what is let be; and the table that it is judged by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.checks.declared_together import CHECKS, declared_releases, declared_together, requires_python_without_patches
from envdoctor.checks.hit import Hit
from envdoctor.cli import main
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.remedies.cures import cures
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.declared.conda import collect_conda
from envdoctor.sources.declared.requirements import collect_requirements
from envdoctor.world.dependencies import Dependency, as_of, dependencies, releases_as_of, versions
from envdoctor.world.installation import Installation
from envdoctor.world.releases import as_of as listed_until
from envdoctor.world.releases import known_until, release_texts, tracked

NOTHING = '[packages]\nenvdoctor-nothing = "1"\n'
LINUX = {"os": "linux", "machine": "x86_64"}


def declared(packages: dict[str, str], file: str = "requirements.txt", **other: str) -> Facts:
    """Packages as a file declares them, one a line, and what else is stated."""
    lines = [Fact(f"packages.{name}", parse_value(f"packages.{name}", value), Origin(file, file, line))
             for line, (name, value) in enumerate(packages.items(), 1)]  # fmt: skip
    return Facts().with_facts([*lines, *(Fact(name, parse_value(name, value), Origin("--set")) for name, value in other.items())])


def found(packages: dict[str, str], file: str = "requirements.txt", **other: str) -> list[Hit]:
    facts = declared(packages, file, **(LINUX | other))
    return [hit for check in CHECKS for hit in check(facts)]


def details(packages: dict[str, str], **other: str) -> list[tuple[str, bool | None, str]]:
    return [(hit.rule, hit.outcome, hit.detail) for hit in found(packages, **other)]


# What is certain.


def test_a_pin_against_what_another_pin_requires() -> None:
    (hit,) = found({"transformers": "4.40.0", "tokenizers": "0.13.3"})
    assert hit == Hit(
        "requirements-contradict",
        True,
        (("packages.transformers", "requires tokenizers<0.20,>=0.19"), ("packages.tokenizers", "not <0.20,>=0.19")),
        detail="transformers 4.40.0 requires tokenizers<0.20,>=0.19, and tokenizers==0.13.3 is asked for",
        packages=("tokenizers", "transformers"),
        pins=(("tokenizers", "<0.20,>=0.19"), hit.pins[1]),
        file="requirements.txt",
        line=2,
    )
    assert hit.pins[1][0] == "transformers"


def test_the_other_side_may_move_to_a_release_that_admits_the_pin() -> None:
    (hit,) = found({"torchvision": "0.21.0", "torch": "2.7.0"})
    assert hit.pins == (("torch", "==2.6.0"), ("torchvision", "==0.22.0"))  # 0.3.0 asks for torch >=1.1, and 0.4.0 for 1.2.0


@pytest.mark.parametrize("bound", ["<0.19", ">=0.20", "==0.15.*", "~=0.13.0"])
def test_a_bound_against_what_a_pin_requires(bound: str) -> None:
    assert [one[:2] for one in details({"transformers": "4.40.0", "tokenizers": bound})] == [("requirements-contradict", True)]


@pytest.mark.parametrize("bound", ["*", ">=0.13", "<0.20", "==0.19.*", "0.19.1", "~=0.19.0"])
def test_a_bound_that_admits_it_is_let_be(bound: str) -> None:
    assert details({"transformers": "4.40.0", "tokenizers": bound}) == []


def test_two_pins_that_require_different_releases_of_a_third_package_which_nobody_declares() -> None:
    (hit,) = found({"transformers": "4.31.0", "datasets": "1.9.0"})
    assert hit.detail == "transformers 4.31.0 requires huggingface-hub<1.0,>=0.14.1, and datasets 1.9.0 requires huggingface-hub<0.1.0"
    assert hit.packages == ("transformers", "datasets", "huggingface-hub")
    assert [name for name, _ in hit.pins] == ["transformers", "datasets"]


def test_several_pins_against_one_line_are_one_finding() -> None:
    (hit,) = found({"peft": "0.14.0", "accelerate": "1.0.0", "numpy": "1.16.0"})
    assert hit.detail == ("peft 0.14.0 requires numpy>=1.17, accelerate 1.0.0 requires numpy<3.0.0,>=1.17, and numpy==1.16.0 is asked for")


def test_a_requirement_of_a_package_whose_releases_are_not_bundled() -> None:
    assert "opencv-python-headless" not in tracked()
    (hit,) = found({"vllm": "0.21.0", "opencv-python-headless": "4.11.0.86"})
    assert hit.detail == "vllm 0.21.0 requires opencv-python-headless>=4.13.0, and opencv-python-headless==4.11.0.86 is asked for"


# Builds.


@pytest.mark.parametrize("torch", ["2.4.1", "2.4.1+cu118", "2.4.1+rocm6.1", "2.4.1+what.ever"])
def test_the_label_of_a_build_satisfies_a_requirement_that_names_none(torch: str) -> None:
    assert details({"torchvision": "0.19.1", "torch": torch}) == []


@pytest.mark.parametrize(
    ("label", "told"), [("cu118", True), ("cpu", True), ("rocm7.1", True), ("rocm7.1.1.gitb919bd0c", False), ("acme", False)]
)
def test_a_build_of_pytorch_requires_the_torch_of_its_release_and_another_build_any(label: str, told: bool) -> None:
    assert bool(details({"torchvision": f"0.24.0+{label}", "torch": "2.9.1"})) is told


def test_the_triton_of_a_torch_depends_on_the_index_which_nobody_stated() -> None:
    pins = {"torch": "2.5.1", "triton": "3.0.0"}
    (hit,) = found(pins, python="3.11")
    assert (hit.outcome, hit.missing) == (None, ("cuda",))
    with_index = declared(pins, python="3.11", **LINUX).with_facts(
        [Fact("cuda", parse_value("cuda", "12.4"), Origin("requirements.txt", "requirements.txt", 1))]
    )
    assert [hit.outcome for hit in declared_together(with_index)] == [True]


# Markers and Pythons.


def test_a_marker_is_judged_for_the_python_that_is_stated() -> None:
    """torch 2.5.1 requires triton on Linux on x86-64 up to Python 3.12."""
    pins = {"torch": "2.5.1", "triton": "3.0.0"}
    assert [hit.missing for hit in found(pins, python="3.12")] == [("cuda",)]
    assert found(pins, python="3.13") == []
    assert found(pins, python="3.12", os="windows") == []


def test_a_marker_of_another_system_accuses_nobody() -> None:
    """trl 0.11.4 requires numpy<2 on Windows alone."""
    pins = {"trl": "0.11.4", "numpy": "2.0.2"}
    assert found(pins, python="3.11") == []
    assert [hit.outcome for hit in found(pins, python="3.11", os="windows")] == [True]


def test_a_marker_that_holds_under_some_pythons_waits_for_the_python() -> None:
    """vllm 0.9.1 requires numba 0.60 up to Python 3.9 and 0.61.2 above."""
    assert [hit.missing for hit in found({"vllm": "0.9.1", "numba": "0.60.0"})] == [("python",)]
    assert found({"vllm": "0.9.1", "numba": "0.61.2"}) == []
    older = details({"vllm": "0.9.1", "numba": "0.61.2"}, python="3.9")
    assert older == [
        ("requirements-contradict", True, "vllm 0.9.1 requires numba==0.60.0, and numba==0.61.2 is asked for"),
        ("requirement-refuses-python", True, "numba 0.61.2 requires Python >=3.10, and the Python is 3.9"),
    ]


def test_a_release_that_does_not_run_on_the_python() -> None:
    (hit,) = found({"transformers": "4.57.1"}, python="3.8")
    assert (hit.rule, hit.outcome, hit.packages) == ("requirement-refuses-python", True, ("transformers",))
    assert hit.detail == "transformers 4.57.1 requires Python >=3.9.0, and the Python is 3.8"
    assert found({"transformers": "4.57.1"}, python="3.9") == []


@pytest.mark.parametrize(
    ("python", "told"), [(">=3.7,<3.9", True), (">=3.8", False), ("<3.9", True), ("==3.8.*", True), (">=3.6,<3.10", False)]
)
def test_a_project_is_accused_only_where_no_python_of_its_range_will_do(python: str, told: bool) -> None:
    facts = declared({"transformers": "4.57.1"}, "pyproject.toml").with_facts(
        [Fact("python", parse_value("python", python), Origin("pyproject.toml", "pyproject.toml", 3))]
    )
    assert bool(declared_together(facts)) is told


@pytest.mark.parametrize(
    ("python", "told"),
    [
        (">=3.9,<=3.12", True), ("<=3.12,>=3.9", True), (">=3.9,<3.13", False), (">=3.9,<=3.12.99", False), (">=3.9", False),
        ("<=3.12,!=3.11.*", True),
    ],
)  # fmt: skip
def test_an_inclusive_bound_on_a_minor_python(python: str, told: bool) -> None:
    facts = Facts().with_facts([Fact("python", parse_value("python", python), Origin("pyproject.toml", "pyproject.toml", 4))])
    hits = requires_python_without_patches(facts)
    assert [(hit.rule, hit.file, hit.line) for hit in hits] == [("requires-python-without-patches", "pyproject.toml", 4)] * told
    assert all("`<3.13`" in hit.advice for hit in hits)


def test_a_line_that_asks_for_python_is_to_go() -> None:
    (hit,) = declared_releases(declared({"python": ">=3.6"}, "requirements.txt"))
    assert hit.advice.startswith("remove the line")


# Releases that are not there.


def test_a_release_that_was_never_made() -> None:
    assert details({"peft": "0.12.2"}) == [
        ("requirement-unsatisfiable", True, "peft 0.12.2 is not on the package index: the releases next to it are 0.12.0 and 0.13.0")
    ]


@pytest.mark.parametrize("version", ["0.12.2.dev0", "0.12.2rc1"])
def test_a_pre_release_that_was_never_made(version: str) -> None:
    said = f"peft {version} is not on the package index: the releases next to it are 0.12.0 and 0.13.0"
    assert details({"peft": version}) == [("requirement-unsatisfiable", True, said)]


@pytest.mark.parametrize(
    ("package", "version"),
    [
        ("peft", "0.12.0"), ("peft", "99.0"), ("peft", "0.12.2+local"), ("peft", "0.12.2.dev0+gabc"), ("torch", "2.6.0.dev20241112"),
        ("torch", "2.6.0rc1"), ("nobody-has-this", "1.0"),
    ],
)  # fmt: skip
def test_what_may_exist_is_let_be(package: str, version: str) -> None:
    assert details({package: version}) == []


@pytest.mark.parametrize(("version", "sides"), [("0.12.2", "><"), ("0.12.2.dev0", "><"), ("0.0.0.1", ">")])
def test_of_a_release_that_was_never_made_the_next_ones_on_either_side_are_offered(version: str, sides: str) -> None:
    (hit,) = found({"peft": version})
    assert hit.pins == tuple(("peft", f"{side}{version}") for side in sides)
    page = load_rulebook().find(hit.rule)
    assert page is not None
    finding = Finding(page, "matched", "error", packages=hit.packages, pins=hit.pins)
    offered = [dict(cure.pins) for cure in cures(finding, declared({"peft": version}), release_texts) if cure.kind == "pin"]
    known = release_texts("peft")
    below = [text for text in known if Version(text) < Version(version)]
    assert offered == [{"peft": f"=={text}"} for text in (known[len(below)], *below[-1:])]


def test_of_a_release_that_was_not_out_yet_the_newest_of_that_day_is_offered() -> None:
    with known_until("2024-07-15"):
        assert [hit.pins for hit in found({"datasets": "3.0.0"})] == [(("datasets", "<3.0.0"),)]


@pytest.mark.parametrize("value", [">=3.6", "3.10"])
def test_no_release_of_python_is_offered_as_a_package(value: str) -> None:
    assert [hit.pins for hit in found({"python": value})] == [()]


def test_a_range_that_no_release_satisfies_is_not_narrowed() -> None:
    with known_until("2024-07-15"):
        assert [hit.pins for hit in found({"datasets": ">2.20.0"})] == [()]


def test_a_wheel_that_a_line_names_need_be_on_no_index(tmp_path: Path) -> None:
    name = "peft-0.12.2-py3-none-any.whl"
    for line, told in (("peft==0.12.2", True), (f"peft @ https://example.org/{name}", False), (f"https://example.org/{name}", False)):
        path = tmp_path / "requirements.txt"
        path.write_text(line + "\n", encoding="utf-8")
        (variant,) = collect_requirements(path)
        facts = Facts().with_facts(variant.collected.facts)
        assert str(facts.value("packages.peft")) == "0.12.2", line
        assert bool(declared_releases(facts)) is told, line


def test_on_a_past_day_nothing_is_still_to_come() -> None:
    with known_until("2024-07-15"):
        assert details({"datasets": ">2.20.0"}) == [
            ("requirement-unsatisfiable", True, "no release of datasets until 2024-07-15 satisfies >2.20.0: 2.20.0 was the newest")
        ]
        assert [one[0] for one in details({"datasets": "3.0.0"})] == ["requirement-unsatisfiable"]
        assert details({"datasets": ">=2.20.0"}) == []
        assert details({"datasets": ">2.20.0.dev0"}) == []
    assert details({"datasets": ">2.20.0"}) == []


def test_python_is_no_package() -> None:
    assert [one[:2] for one in details({"python": ">=3.6"})] == [("requirement-unsatisfiable", True)]


# What is not given to an installer whole.


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("requirements.txt", True), ("a/b/requirements-dev.in", True), ("pyproject.toml", True), ("setup.cfg", True), ("setup.py", True),
        ("Pipfile", True), ("Dockerfile", False), ("uv.lock", False), ("poetry.lock", False),
        ("train.py", False), ("install.sh", False), ("facts.toml", False), ("pylock.toml", False), ("Pipfile.lock", False),
        ("extras-no-deps.txt", False), ("constraints.txt", False), ("notebook.ipynb", False),
    ],
)  # fmt: skip
def test_only_files_that_are_installed_as_a_whole_are_judged(file: str, told: bool) -> None:
    assert bool(found({"transformers": "4.40.0", "tokenizers": "0.13.3"}, file)) is told


def test_what_conda_leaves_to_pip_is_given_to_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both, mixed = "    - transformers==4.40.0\n    - tokenizers==0.13.3\n", "    - tokenizers==0.13.3\n"
    head = "dependencies:\n  - python=3.10\n  - pip{}\n  - pip:\n"

    def told(text: str) -> bool:
        Path("environment.yml").write_text(text, encoding="utf-8")
        (variant,) = collect_conda(Path("environment.yml"), Installation())
        return bool(declared_together(Facts().with_facts(variant.collected.facts)))

    assert told(head.format("") + both)
    # Of what conda installs its own metadata speaks; before 20.3 pip installed what does not go together.
    assert not told(head.format("\n  - transformers=4.40.0") + mixed)
    assert not told(head.format("=20.2.4") + both)
    assert not told(head.format("<20") + both)
    assert told(head.format("=24.0") + both)
    assert told(head.format(">=19.1") + both)


def test_what_is_installed_or_resolved_is_no_declaration() -> None:
    facts = declared({"transformers": "4.40.0", "tokenizers": "0.13.3"})
    assert declared_together(Facts(facts.by_name, closed=True)) == ()


@pytest.mark.parametrize("file", ["requirements.txt", "pyproject.toml"])
def test_check_tells_it_with_line_and_cure(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["transformers==4.40.0", "tokenizers==0.13.3"]
    text = (
        "\n".join(lines)
        if file.endswith("txt")
        else '[project]\nname = "x"\nversion = "1"\ndependencies = [\n"' + '",\n"'.join(lines) + '",\n]'
    )
    (tmp_path / file).write_text(text + "\n", encoding="utf-8")
    (tmp_path / "nothing.toml").write_text(NOTHING, encoding="utf-8")
    status = main(["check", "--isolated", "--offline", "--facts", str(tmp_path / "nothing.toml"), "--format", "json", str(tmp_path / file)])
    report = json.loads(capsys.readouterr().out)
    (finding,) = [one for one in report["findings"] if one["rule"] == "requirements-contradict"]
    assert status == 1
    assert finding["location"] == {
        "file": str(tmp_path / file),
        "line": text.split("\n").index(next(x for x in text.split("\n") if "tokenizers" in x)) + 1,
    }
    assert {"tokenizers": "==0.19.0"} in [fix["pins"] for fix in finding["fixes"] if fix["kind"] == "pin"]


# The table.


def test_the_table_is_of_the_listed_releases_and_says_when_it_was_made() -> None:
    assert "2026-11-01" <= releases_as_of() <= min(as_of(), listed_until())
    for name in tracked():
        assert set(versions(name)) <= set(release_texts(name))
    for name in ("transformers", "peft", "accelerate", "trl", "datasets", "torchvision", "sentence-transformers"):
        assert versions(name)[-1] == release_texts(name)[-1]
    assert len(versions("transformers")) > 240


def test_a_release_that_is_not_in_the_table_is_not_known_to_require_nothing() -> None:
    assert dependencies("transformers", "99.0") is None
    assert dependencies("nobody-has-this", "1.0") is None
    assert dependencies("numpy", "1.26.4") == ()
    assert Dependency("tokenizers", "<0.20,>=0.19") in (dependencies("transformers", "4.40.0") or ())


def test_every_line_of_the_table_is_a_requirement_without_an_extra() -> None:
    rows = [one for name in tracked() for version in versions(name) for one in dependencies(name, version) or ()]
    assert len(rows) > 5000
    for row in set(rows):
        assert str(Requirement(f"{row.name}{row.specifier}").specifier) == str(SpecifierSet(row.specifier)) != ""
        assert "extra" not in row.marker
        if row.marker:
            Marker(row.marker)


PINNED = ("transformers", "peft", "trl", "torchvision", "torchaudio", "torch", "tokenizers", "datasets", "huggingface-hub", "numpy")
LINUX_MARKERS = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"}


@st.composite
def pinned_sets(draw: st.DrawFn) -> dict[str, str]:
    names = draw(st.lists(st.sampled_from(PINNED), min_size=1, max_size=5, unique=True))
    return {name: draw(st.sampled_from(versions(name))) for name in names}


def admits(row: Dependency, version: str) -> bool:
    """Whether a release, or a build of it, satisfies a requirement: torchvision 0.15.0 names the label of a build of torch."""
    return SpecifierSet(row.specifier.partition("+")[0]).contains(version, prereleases=True)


@given(pins=pinned_sets(), python=st.sampled_from(["3.8.0", "3.10.12", "3.12.1"]))
def test_pins_are_accused_exactly_where_packaging_says_that_one_refuses_another(pins: dict[str, str], python: str) -> None:
    """The oracle: packaging's own specifiers and markers, over what the table says."""
    environment = {**LINUX_MARKERS, "python_version": python.rpartition(".")[0], "python_full_version": python}
    refused = {
        row.name
        for name, version in pins.items()
        for row in dependencies(name, version) or ()
        if row.name in pins and row.name not in (name, "triton")
        and (not row.marker or Marker(row.marker).evaluate(environment))
        and not admits(row, pins[row.name])
    }  # fmt: skip
    hits = [hit for hit in found(pins, python=python) if hit.rule == "requirements-contradict" and "is asked for" in hit.detail]
    assert {hit.packages[0] for hit in hits if hit.outcome} == refused


@given(pins=pinned_sets())
def test_every_release_that_a_hit_proposes_agrees(pins: dict[str, str]) -> None:
    for hit in found(pins, python="3.10"):
        if hit.rule != "requirements-contradict" or "is asked for" not in hit.detail:
            continue
        name = hit.packages[0]
        for package, specifier in hit.pins:
            if package == name or package not in pins:
                continue
            for version in release_texts(package):
                if not any(SpecifierSet(part).contains(version) for part in specifier.split("||")) or version not in versions(package):
                    continue
                rows = [row for row in dependencies(package, version) or () if row.name == name]
                assert all(admits(row, pins[name]) for row in rows)


def test_what_an_override_says_is_meant_against_the_requirements_of_others(tmp_path: Path) -> None:
    from envdoctor.sources.declared.pyproject import collect_pyproject
    from envdoctor.world.installation import Installation

    path = tmp_path / "pyproject.toml"
    head = '[project]\nname = "x"\nversion = "1"\ndependencies = ["transformers==4.55.3", "huggingface-hub<0.34"]\n'
    for more, told in (("", ["requirements-contradict"]), ('[tool.uv]\noverride-dependencies = ["huggingface-hub<0.34"]\n', [])):
        path.write_text(head + more, encoding="utf-8")
        facts = Facts().with_facts(collect_pyproject(path, Installation())[0].collected.facts)
        assert [hit.rule for hit in declared_together(facts)] == told
