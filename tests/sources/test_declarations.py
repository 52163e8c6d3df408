"""What is declared: markers evaluated, statements joined as an installer would, impossible ones told with their lines."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.facts.fact import Collected, Fact, Origin
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

LINUX = Installation().on("linux", "x86_64").with_python("3.11")
PACKAGES = ("peft", "accelerate", "bitsandbytes")
FILE = "requirements.txt"


def declared(rows: Sequence[tuple[str, bool]], installation: Installation = LINUX) -> Collected:
    declarations = Declarations(installation)
    for number, (text, constraint) in enumerate(rows, start=1):
        declarations.require(text, "constraints.txt" if constraint else FILE, number, constraint=constraint)
    return declarations.collected()


def admitted(value: object, known: Sequence[str]) -> list[str]:
    if isinstance(value, Exact):
        return [one for one in known if Version(one) == Version(value.text)]
    assert isinstance(value, Ranged)
    return [one for one in known if SpecifierSet(value.text).contains(one, prereleases=True)]


@st.composite
def specifiers(draw: st.DrawFn, package: str) -> str:
    release = draw(st.sampled_from(release_texts(package)))
    form = draw(st.sampled_from(["", ">={}", ">{}", "<={}", "<{}", "!={}", "=={}", "~={}", ">={},!={}"]))
    assume("~=" not in form or release.count(".") > 0)
    return form.format(release, release)


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, list[tuple[str, bool]]]:
    package = draw(st.sampled_from(PACKAGES))
    rows = [(package + draw(specifiers(package)), draw(st.booleans())) for _ in range(draw(st.integers(1, 4)))]
    return package, rows


@given(statements())
def test_joined_statements_admit_what_all_of_them_admit(drawn: tuple[str, list[tuple[str, bool]]]) -> None:
    package, rows = drawn
    found = declared(rows)
    required = [text for text, constraint in rows if not constraint]
    if not required:
        assert (found.facts, found.defects) == ((), ())
        return
    (fact,) = found.facts
    together = ",".join(filter(None, (text.removeprefix(package) for text, _ in rows)))
    releases = release_texts(package)
    expected = [one for one in releases if SpecifierSet(together).contains(one, prereleases=True)]
    defects = [defect.rule for defect in found.defects]
    if defects:
        assert defects == ["requirement-unsatisfiable"]
        assert expected == []
    else:
        assert admitted(fact.value, releases) == expected
        # What no known release satisfies, one to come may: never one that was passed over.
        assert expected or SpecifierSet(together).contains("9999", prereleases=True) or _beyond(together, releases)


def _beyond(together: str, releases: Sequence[str]) -> bool:
    newest = Version(releases[-1])
    later = [Version(f"{newest.major}.{newest.minor}.{patch}") for patch in range(newest.micro + 1, newest.micro + 4)]
    later += [Version(f"{newest.major}.{newest.minor + 1}"), Version(f"{newest.major + 1}.0"), Version(f"{newest.public}.0.0.0.0.1")]
    return any(SpecifierSet(together).contains(one, prereleases=True) for one in later)


@given(statements(), st.randoms(use_true_random=False))
def test_the_order_of_statements_does_not_matter_for_what_is_admitted(drawn: tuple[str, list[tuple[str, bool]]], random: Random) -> None:
    package, rows = drawn
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = declared(rows), declared(shuffled)
    assert [defect.rule for defect in one.defects] == [defect.rule for defect in other.defects]
    if not one.defects:
        releases = release_texts(package)
        assert [admitted(fact.value, releases) for fact in one.facts] == [admitted(fact.value, releases) for fact in other.facts]
    assert sorted(one.wanted) == sorted(other.wanted)


@given(st.sampled_from(PACKAGES), st.data())
def test_two_statements_are_impossible_exactly_if_no_release_satisfies_both(package: str, data: st.DataObject) -> None:
    releases = [Version(one) for one in release_texts(package)]
    first, second = data.draw(st.sampled_from(releases)), data.draw(st.sampled_from(releases))
    pairs = (("==", "=="), ("<", ">="), ("<=", ">"), ("==", "!="))
    for one, other in ((f"{before}{first}", f"{after}{second}") for before, after in pairs):
        both = SpecifierSet(f"{one},{other}")
        possible = any(both.contains(release, prereleases=True) for release in releases)
        found = declared([(f"{package}{one}", False), (f"{package}{other}", False)])
        assert bool(found.defects) is not possible, (one, other)
        for defect in found.defects:
            assert (defect.rule, defect.file, defect.packages) == ("requirement-unsatisfiable", FILE, (package,))
            assert defect.line in (1, 2)


@given(
    text=st.sampled_from(
        [
            "sys_platform == 'win32'",
            "sys_platform != 'win32'",
            "python_version < '3.10'",
            "python_version >= '3.10'",
            "extra == 'train'",
            "extra != 'train'",
            "platform_machine == 'x86_64' and os_name == 'posix'",
            "python_full_version < '3.11.1'",
        ]
    ),
    system=st.sampled_from(["linux", "windows", "macos"]),
    python=st.sampled_from(["3.9", "3.10.4", "3.11", "3.12.1"]),
    extra=st.sampled_from(["", "train", "dev"]),
)
def test_what_a_marker_excludes_is_not_there(text: str, system: str, python: str, extra: str) -> None:
    installation = Installation().on(system, "x86_64").with_python(python)
    holds = Marker(text).evaluate(installation.environment(extra))
    declarations = Declarations(installation)
    required = declarations.require(f"peft==0.11.1 ; {text}", FILE, 3, extra=extra)
    stated = declarations.state("torch", "==2.5.0", "uv.lock", 7, marker=text, extra=extra)
    assert (required is not None, stated) == (holds, holds)
    names = {fact.name: (shown(fact.value), fact.origin.line) for fact in declarations.collected().facts}
    assert names == ({"packages.peft": ("0.11.1", 3), "packages.torch": ("2.5.0", 7)} if holds else {})


def test_what_is_impossible_is_told_at_the_line_that_made_it_so() -> None:
    found = declared([("peft>=0.10", False), ("PEFT<0.5", False), ("peft!=0.4.0", False)])
    (defect,) = found.defects
    assert (defect.line, defect.detail) == (2, "no release can satisfy peft <0.5, with >=0.10 on line 1")
    between = declared([("peft<0.5", True), ("peft>=0.10", False)])
    assert between.defects[0].detail == "no release can satisfy peft >=0.10, with <0.5 in constraints.txt, line 1"
    (alone,) = declared([("peft>0.10,<0.5", False)]).defects
    assert alone.detail == "no release can satisfy peft <0.5,>0.10"


def test_what_is_no_requirement_is_told_and_hides_no_other() -> None:
    declarations = Declarations(LINUX)
    lines = ["peft=0.11", "torch ==", "==2.0", "peft; python_version", "peft==0.11.1", "\x1b[31m", "=" * 5000, "é==1"]
    for line, text in enumerate(lines, start=1):
        declarations.require(text, FILE, line)
    assert declarations.state("torch", "2.5", FILE, 9) is False
    assert declarations.state("torch", "==2.5", FILE, 10, marker="python_version") is False
    found = declarations.collected()
    assert [fact.name for fact in found.facts if fact.name == "packages.peft"] == ["packages.peft"]
    assert [defect.line for defect in found.defects if defect.rule == "requirement-malformed"] == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert all("\x1b" not in defect.detail and len(defect.detail) < 1000 for defect in found.defects)


def test_a_variant_adds_to_what_is_always_there_and_leaves_it_as_it_was() -> None:
    base = Declarations(LINUX)
    base.require("torch>=2", FILE, 1)
    base.require("numpy<2", FILE, 2, constraint=True)
    variant = base.copy()
    variant.require("torch<2.6", FILE, 3)
    variant.require("numpy", FILE, 4)
    variant.skip("a", "b")
    variant.defect("requirement-malformed", "c", FILE, 5)
    variant.elsewhere("Peft", "git+https://example.org/peft")
    variant.say(Fact("python", "3.11", Origin(FILE)))
    assert [fact.name for fact in base.collected().facts] == ["packages.torch"]
    assert (base.collected().defects, base.collected().skips, base.collected().wanted) == ((), (), ("torch>=2",))
    found = variant.collected()
    assert {fact.name: shown(fact.value) for fact in found.facts if fact.name != "python"} == {
        "packages.torch": "<2.6,>=2", "packages.numpy": "<2",
    }  # fmt: skip
    assert found.wanted == ("torch>=2", "torch<2.6", "numpy", "peft @ git+https://example.org/peft")
    assert found.constraints == ("numpy<2",)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("transformers[torch,sentencepiece]>=4.40,<5", "transformers[sentencepiece,torch]<5,>=4.40"),
        ("Flash_Attn==2.5.8 ; sys_platform == 'linux'", "flash-attn==2.5.8"),
        ("peft @ https://example.org/peft.zip", "peft @ https://example.org/peft.zip"),
        ("git+https://example.org/x.git@main#egg=Peft", "peft @ git+https://example.org/x.git@main#egg=Peft"),
    ],
)
def test_what_an_installer_would_be_given(text: str, wanted: str) -> None:
    assert declared([(text, False)]).wanted == (wanted,)


@pytest.mark.parametrize(
    "text", ["./here", "../there", "C:\\x\\y", "https://example.org/x.whl", "file:///x", "git+ssh://git@example.org/x"]
)
def test_a_path_or_url_alone_is_said(text: str) -> None:
    found = declared([(text, False)])
    assert (found.facts, found.wanted, found.defects) == ((), (), ())
    assert [skip.what for skip in found.skips] == [f"{FILE}:1"]


def test_of_facts_that_are_no_packages_the_first_stays() -> None:
    declarations = Declarations(LINUX)
    for version in ("3.11", "3.12"):
        declarations.say(Fact("python", version, Origin(FILE)))
    assert [fact.value for fact in declarations.collected().facts] == ["3.11"]
