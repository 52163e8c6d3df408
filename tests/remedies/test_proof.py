"""Pins as a resolver sees them: what it takes, what it refuses, what moves, and what it could not be asked."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from subprocess import CompletedProcess

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.remedies.proof import WholeSet, prove, proven
from envdoctor.remedies.remedy import Move, Remedy
from envdoctor.uv.asking import Call
from envdoctor.world.installation import Installation
from tests.remedies.universe import stated

LINUX = Installation().on("linux", "x86_64")
WHERE = "Python 3.10, linux x86_64"
CU118 = "https://download.pytorch.org/whl/cu118"
SILENT = f"error: Failed to fetch: {CU118}/torch/\n  cause: error sending request for url\n  cause: dns error\n"
NO_NETWORK = "error: Failed to fetch: https://pypi.org/simple/peft/\n  cause: dns error\n"


def conflict(why: str) -> str:
    return f"warning: Python 3.10 is not available\nerror: No solution found when resolving dependencies\n  cause: {why}\n"


def remedy(*clears: str, removes: tuple[str, ...] = (), **pins: str) -> Remedy:
    return Remedy({name.replace("_", "-"): f"=={pin}" for name, pin in pins.items()}, clears or ("a-rule",), (), removes=removes)


def whole(*lines: str, closed: bool = False, python: str = "3.10", **more: object) -> WholeSet:
    """A set as a requirements file or, ``closed``, an environment has it."""
    parts = (line.partition("==") for line in lines)
    facts = {"python": python, **{f"packages.{name.partition('[')[0]}": version for name, equals, version in parts if equals}}
    return WholeSet(stated(facts, closed=closed), LINUX.with_python(python), () if closed else lines, **more)  # type: ignore[arg-type]


class Uv:
    """Answers a call by the first of its texts that stands in what it is asked, errors as errors; remembers what it was asked."""

    def __init__(self, answers: Mapping[str, str], *, warning: str = "") -> None:
        self.answers, self.warning = answers, warning
        self.asked: list[Call] = []

    def __call__(self, call: Call) -> CompletedProcess[str]:
        self.asked.append(call)
        told = next((out for text, out in self.answers.items() if text in call.text), "")
        failed = told.startswith(("error:", "warning:")) or not told
        return subprocess.CompletedProcess(call.words, int(failed), "" if failed else told, told if failed else self.warning)

    @property
    def texts(self) -> list[str]:
        return [call.text for call in self.asked]


def test_the_whole_set_is_taken_and_nothing_moves() -> None:
    uv = Uv({"==0.11.1": "numpy==1.26.4\npeft==0.11.1\ntorch==2.4.1\n", "==0.12.0": "numpy==1.26.4\npeft==0.12.0\ntorch==2.4.1\n"})
    found = prove([remedy(peft="0.12.0")], whole("torch==2.4.1", "peft[dev]==0.11.1", constraints=("numpy<2", "peft<0.12")), run=uv)
    assert found == Remedy({"peft": "==0.12.0"}, ("a-rule",), (), "resolver", proof=f"uv takes the whole set for {WHERE}")
    words = (
        *("pip", "compile", "-", "--no-header", "--no-build", "--color", "never", "--python-version", "3.10"),
        *("--python-platform", "x86_64-manylinux_2_28"),
    )
    assert uv.asked == [
        Call(words, "torch==2.4.1\npeft[dev]==0.11.1\n", ("numpy<2", "peft<0.12")),
        # A constraint of a package that is pinned anew is rewritten with it.
        Call(words, "torch==2.4.1\npeft[dev]==0.12.0\n", ("numpy<2",), (), ("numpy==1.26.4", "peft==0.11.1", "torch==2.4.1")),
    ]


def test_what_comes_goes_and_moves_is_a_diff_of_two_resolutions() -> None:
    uv = Uv({"peft==0.11.1": "old==1\npeft==0.11.1\nhub==0.20.3\n", "peft==0.12.0": "hub==0.23.0\nnew==2.0\npeft==0.12.0\n"})
    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", "hub"), run=uv)
    assert found.moves == (Move("hub", "0.20.3", "0.23.0"), Move("new", "", "2.0"), Move("old", "1", ""))


def test_the_day_is_asked_for_and_said() -> None:
    uv = Uv({"peft": "peft==0.12.0\n"})
    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", day="2024-08-01"), run=uv)
    assert all(call.words[-2:] == ("--exclude-newer", "2024-08-01") for call in uv.asked)
    assert found.proof == f"uv takes the whole set for {WHERE}, as of 2024-08-01"


def test_of_two_candidates_the_refused_one_is_told_in_uvs_words() -> None:
    uv = Uv({"x==1": "x==1\n", "x==3": conflict("Because y==1 depends on x<3, \x1b[31mno\x1b[0m."), "x==2": "x==2\ny==1\n"})
    first, second, third = proven([remedy(x="3"), remedy(x="2"), remedy(x="4")], whole("x==1", "y==1"), run=uv)
    assert (first.pins, first.verified) == ({"x": "==2"}, "resolver")
    assert (second.pins, second.verified, second.proof) == ({"x": "==4"}, "none", "")
    assert (third.pins, third.verified, third.conflict) == ({"x": "==3"}, "none", "Because y==1 depends on x<3, no.")


def test_a_candidate_under_which_nothing_else_moves_comes_before_one_that_moves_others() -> None:
    answers = {"x==1": "x==1\ny==1\n", "x==2\ny==1": conflict("y==1 needs x<2"), "x==3\ny==1": "x==3\ny==1\n", "x==2\ny\n": "x==2\ny==2\n"}
    found = prove([remedy(x="2"), remedy(x="3")], whole("x==1", "y==1"), run=Uv(answers))
    assert (found.pins, found.moves) == ({"x": "==3"}, ())
    alone = prove([remedy(x="2")], whole("x==1", "y==1"), run=Uv(answers))
    assert (alone.pins, alone.moves, alone.verified) == ({"x": "==2"}, (Move("y", "1", "2"),), "resolver")


def test_pins_of_constraints_are_preferences_too() -> None:
    uv = Uv({"x==1": "x==1\ny==1\n", "x==2": conflict("no")})
    prove([remedy(x="2")], whole("x==1", "y", constraints=("y==1", "z<3", "y[a]==1")), run=uv)
    assert [call.constraints for call in uv.asked] == [("y==1", "z<3", "y[a]==1"), ("y==1", "z<3", "y[a]==1"), ("z<3",)]


def test_where_all_are_refused_no_pin_is_proposed() -> None:
    uv = Uv({"x==1": "x==1\n", "x==2": conflict("Because of two."), "x==3": conflict("Because of three.")})
    found = proven([remedy("b", x="2"), remedy("b", "a", x="3")], whole("x==1"), run=uv)
    assert found[0] == Remedy({}, (), ("a", "b"), conflict="Because of two.", proof=f"uv refuses each of the 2 sets of pins for {WHERE}")
    assert [(one.pins, one.conflict) for one in found[1:]] == [({"x": "==2"}, "Because of two."), ({"x": "==3"}, "Because of three.")]


def test_what_moves_along_is_judged() -> None:
    uv = Uv({"x==1": "x==1\ny==1\n", "x==2": "x==2\ny==5\n", "x==3": "x==3\ny==1\n"})
    seen: list[Mapping[str, str]] = []

    def accepts(pins: Mapping[str, str]) -> str:
        seen.append(pins)
        return "y 5 is bad" if pins.get("y") == "==5" else ""

    found, refused = proven([remedy(x="2"), remedy(x="3")], whole("x==1", "y"), run=uv, accepts=accepts)
    assert (found.pins, refused.conflict) == ({"x": "==3"}, "y 5 is bad")
    assert seen == [{"x": "==2", "y": "==5"}, {"x": "==3"}]


def test_a_withdrawn_release_is_refused_though_uv_takes_it() -> None:
    for uv in (Uv({"": "huggingface-hub==0.26.4\n"}), Uv({"": "own==1\n"}, warning='warning: `own==1` is yanked (reason: "bad")\n')):
        pin = remedy(huggingface_hub="0.26.4") if not uv.warning else remedy(own="1")
        found = prove([pin], whole("six==1.17.0"), run=uv)
        assert (found.pins, found.conflict) == ({}, f"{'own 1' if uv.warning else 'huggingface-hub 0.26.4'} was withdrawn (yanked)")


def test_a_package_that_goes_must_stay_away() -> None:
    uv = Uv({"y==1": "x==1\ny==1\n", "z": "x==1\n    # via z\nz==1\n"})
    found = prove([remedy(removes=("x",))], whole("x==1", "z==1"), run=uv)
    assert (found.removes, found.conflict, uv.texts[-1]) == ((), "x comes back: z requires it", "z\n")
    kept = prove([remedy(removes=("x",))], whole("x==1", "y==1"), run=Uv({"x==1": "x==1\ny==1\n", "y==1": "y==1\n"}))
    assert (kept.removes, kept.verified, kept.moves) == (("x",), "resolver", ())


def test_an_environment_is_asked_for_as_it_is() -> None:
    uv = Uv({"": "x==2\ny==1\nz==3\n"})
    found = prove([remedy(x="2")], whole("x==1", "y==1", closed=True), run=uv)
    assert uv.asked[0].text == "x==2\ny==1\n"
    assert uv.asked[0].preferences == ("x==1", "y==1")
    assert (found.verified, found.moves) == ("resolver", (Move("z", "", "3"),))


@pytest.mark.parametrize("name", ["-r /etc/passwd", "--index-url https://example.org", "x\n-r y", "é", "#x", "git+https://example.org/x"])
def test_a_name_that_is_none_is_no_option_of_uv(name: str) -> None:
    uv = Uv({"": "x==2\n"})
    facts = stated({"packages.x": "1", f"packages.{name}": "1", f"packages.{name} ": "<2"}, closed=True)
    prove([remedy(x="2")], WholeSet(facts, LINUX), run=uv)
    assert (uv.asked[0].text, uv.asked[0].preferences) == ("x==2\n", ("x==1",))


def test_an_environment_that_contradicts_itself_is_not_the_fault_of_the_pins() -> None:
    answers = {"x==2\ny==1": conflict("y==1 needs z>2"), "x==2\ny\n": "w==3\nx==2\ny==2\nz==1\n", "x\ny\n": "w==1\nx==1\ny==2\nz==1\n"}
    found = prove([remedy(x="2")], whole("x==1", "y==1", "z==1", "w==1", closed=True), run=Uv(answers))
    assert found.moves == (Move("w", "1", "3"),)
    assert found.proof == f"uv takes the whole set for {WHERE}; what is there contradicts itself already, whatever the pins"


def test_a_release_of_an_environment_that_no_index_has_is_left_out() -> None:
    uv = Uv({"y==1": conflict("Because there is no version of y==1 and you require y==1, no."), "x==2": "x==2\n"})
    found = prove([remedy(x="2")], whole("x==1", "y==1", closed=True), run=uv)
    assert found.proof == f"uv takes the others for {WHERE}; left out: y (that release is not on the package index that was asked)"
    assert uv.asked[-1].left_out == ("y",)
    # Of a pin, and of a declared release, it is a conflict.
    for refused in (whole("x==1", "y==1"), whole("x==1", closed=True)):
        none = Uv({"": conflict("Because there is no version of x==2 and you require x==2, no.")})
        assert prove([remedy(x="2")], refused, run=none).conflict == "Because there is no version of x==2 and you require x==2, no."


def test_an_environment_full_of_strangers_is_asked_about_the_tracked_packages() -> None:
    strangers = [f"own-{number}==1" for number in range(20)]

    def uv(call: Call) -> CompletedProcess[str]:
        names = [line.partition("==")[0] for line in call.text.splitlines() if line.startswith("own-")]
        said = conflict(f"Because {names[0]} was not found in the package registry and you require {names[0]}==1, no.") if names else ""
        return CompletedProcess([], int(bool(said)), "" if said else "peft==0.12.0\n", said)

    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", *strangers, closed=True), run=uv)
    assert (found.verified, found.proof) == (
        "resolver",
        f"uv takes the tracked packages for {WHERE}; "
        "the other packages were left out: too many of them are on no package index that was asked",
    )


def test_a_pin_that_uv_cannot_judge_is_judged_by_metadata() -> None:
    uv = Uv({"": "peft==0.11.1\n"})
    found = prove([remedy(deepspeed="0.14.4")], whole("peft==0.11.1", "deepspeed==0.14.0"), run=uv)
    assert found.verified == "metadata"
    assert found.proof.endswith("left out: deepspeed (no wheel that could be used here, and building one would run its code)")
    found = prove([remedy(axolotl="0.16.1")], whole("peft==0.11.1", "axolotl==0.16.0"), run=uv)
    assert found.verified == "none"
    assert "axolotl 0.16.1 requires is not in the bundled metadata" in found.proof
    assert found.proof.endswith("left out: axolotl (no wheel that could be used here, and building one would run its code)")


def test_what_comes_from_a_url_is_left_out_and_said() -> None:
    uv = Uv({"": "peft==0.12.0\n"})
    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", "transformers @ git+https://example.org/x"), run=uv)
    assert found.proof == f"uv takes the others for {WHERE}; left out: transformers (it is taken from a URL, and nothing is downloaded)"


def test_a_build_is_asked_of_its_index() -> None:
    uv = Uv({"": "torch==2.4.1+cu118\nnvidia-cudnn-cu11==9.1.0.70\n"})
    found = prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", "flash-attn==2.6.3+local"), run=uv)
    assert uv.texts[-1] == f"--extra-index-url {CU118}\ntorch==2.4.1+cu118\n"
    assert uv.asked[-1].words[-2:] == ("--index-strategy", "unsafe-best-match")
    assert (found.pins, found.verified, found.index) == ({"torch": "==2.4.1+cu118"}, "resolver", CU118)


def test_an_index_that_does_not_answer_is_said_and_the_release_is_asked_for() -> None:
    uv = Uv({CU118: SILENT, "torch==2.4.0": "nvidia-x==1\ntorch==2.4.0\n", "torch==2.4.1": "nvidia-x==2\ntorch==2.4.1\ntriton==3\n"})
    found = prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118"), run=uv)
    assert found == Remedy(
        {"torch": "==2.4.1+cu118"},
        ("a-rule",),
        (),
        "resolver",
        proof=f"uv takes the whole set for {WHERE}; the cu118 build of torch 2.4.1 was not asked for: {CU118} did not answer",
        index=CU118,
    )
    assert uv.texts == [f"--extra-index-url {CU118}\ntorch==2.4.0+cu118\n", "torch==2.4.0\n", "torch==2.4.1\n"]  # asked once


def test_a_build_that_the_projects_own_index_lacks_while_pytorchs_is_silent() -> None:
    own = "--find-links https://example.org/all.html"
    lacking = conflict("Because there is no version of torch==2.4.1+cu118 and you require torch==2.4.1+cu118, no.")
    uv = Uv({CU118: SILENT, "torch==2.4.0": "torch==2.4.0\n", "+cu118": lacking, "torch==2.4.1": "torch==2.4.1\n"})
    found = prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", indexes=(own,)), run=uv)
    assert (found.verified, uv.texts[-1]) == ("resolver", f"{own}\ntorch==2.4.1\n")
    assert found.proof.endswith(f"the cu118 build of torch 2.4.1 was not asked for: {CU118} did not answer")


def test_an_index_that_tells_no_days_is_not_asked_for_builds_of_a_day() -> None:
    lacking = conflict("Because there is no version of torch==2.4.1+cu118 and you require torch==2.4.1+cu118, no.")
    answers = {
        "torch==2.4.0+cu118": lacking,
        "torch==2.4.1+cu118": lacking,
        "torch==2.4.0": "torch==2.4.0\n",
        "torch==2.4.1": "torch==2.4.1\n",
    }
    found = prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", day="2025-01-01"), run=Uv(answers))
    assert (found.verified, found.proof) == (
        "resolver",
        f"uv takes the whole set for {WHERE}, as of 2025-01-01; "
        f"the cu118 build of torch 2.4.1 was not asked for: {CU118} does not tell the days of its builds",
    )
    assert prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118"), run=Uv(answers)).pins == {}


def test_a_python_whose_first_patch_release_is_too_old_is_said() -> None:
    said = conflict("Because the requested Python version (>=3.10) does not satisfy Python>=3.10.1 and x==2 depends on it, no.")

    def uv(call: Call) -> CompletedProcess[str]:
        fine = "3.10.99" in call.words
        return CompletedProcess([], int(not fine), "x==2\n" if fine else "", "" if fine else said)

    assert prove([remedy(x="2")], whole("x==1"), run=uv).proof == f"uv takes the whole set for {WHERE}; not for its first patch releases"


def test_a_build_that_nobody_knows_is_not_proven_by_its_release() -> None:
    uv = Uv({"whl/cu118": SILENT, "torch": "torch==2.9.0\n"})
    found = prove([remedy(torch="2.9.0+cu118")], whole("torch==2.4.0+cu118"), run=uv)
    assert (found.verified, found.proof.rpartition("; ")[2]) == ("none", "whether there is such a build is not known")


def test_a_build_that_is_given_up_is_said() -> None:
    uv = Uv({"": "torch==2.9.0\n"})
    found = prove([remedy(torch="2.9.0")], whole("torch==2.4.0+cu118"), run=uv)
    assert found.proof.endswith("torch 2.9.0 has no cu118 build: the default one is taken")


def test_the_projects_own_index_is_asked_for_builds() -> None:
    own = "--extra-index-url https://user:secret@example.org/simple"
    uv = Uv({CU118: SILENT, "example.org": "torch==2.4.1+cu118\n"})
    found = prove([remedy(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", indexes=(own,)), run=uv)
    assert uv.texts[-1] == f"{own}\ntorch==2.4.1+cu118\n"
    assert (found.verified, found.proof) == ("resolver", f"uv takes the whole set for {WHERE}")
    silent = Uv({"example.org": "error: Failed to fetch: https://****@example.org/simple/peft/", "peft": "peft==0.12.0\n"})
    said = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", indexes=(own,)), run=silent).proof
    assert said == f"uv takes the whole set for {WHERE}; https://***@example.org/simple did not answer"


AGREES = "what peft and the stated packages require of each other agrees (bundled metadata of "


def refusing(call: Call) -> CompletedProcess[str]:
    raise EnvdoctorError("--resolve", found="no answer from uv within 300 s", expected="a resolution", next_step="wait")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (Uv({"": NO_NETWORK}), "; uv could not be asked: Failed to fetch: https://pypi.org/simple/peft/ dns error"),
        (refusing, "; uv could not be asked: no answer from uv within 300 s"),
    ],
)
def test_without_an_index_the_bundled_metadata_speaks(run: Callable[[Call], CompletedProcess[str]], said: str) -> None:
    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", "accelerate==0.27.2"), run=run)
    assert (found.verified, found.proof.startswith(AGREES), found.proof.partition(")")[2]) == ("metadata", True, said)


def test_without_uv_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1"))
    assert (found.verified, found.proof.partition("); ")[2]) == (
        "metadata",
        'uv was not asked: it is not installed (pip install "llm-envdoctor[pins]")',
    )


def test_offline_nobody_is_asked() -> None:
    uv = Uv({})
    good, unknown = remedy(peft="0.12.0"), remedy(own="2")
    bad, gone, build = remedy(peft="0.17.1"), remedy(huggingface_hub="0.26.4"), remedy(torch="2.4.1+cu118")
    stack = whole("peft==0.11.1", "accelerate==0.20.3", "torch==2.4.0+cu118")
    found = proven([bad, unknown, good, gone, build], stack, offline=True, run=uv)
    assert [(dict(one.pins), one.verified, one.conflict, one.index) for one in found] == [
        ({"own": "==2"}, "none", "", ""),
        ({"torch": "==2.4.1+cu118"}, "metadata", "", CU118),
        ({"peft": "==0.17.1"}, "none", "peft 0.17.1 requires accelerate>=0.21.0, and accelerate==0.20.3 is asked for", ""),
        ({"peft": "==0.12.0"}, "none", "peft 0.12.0 requires accelerate>=0.21.0, and accelerate==0.20.3 is asked for", ""),
        ({"huggingface-hub": "==0.26.4"}, "none", "huggingface-hub 0.26.4 was withdrawn (yanked)", ""),
    ]
    assert all(one.proof.endswith("uv was not asked: --offline") for one in found)
    assert uv.asked == []


def test_what_all_metadata_speaks_against_is_unfixable() -> None:
    found = prove([remedy("r", peft="0.17.1")], whole("peft==0.11.1", "accelerate==0.20.3"), offline=True)
    assert (found.pins, found.unfixable, found.conflict) == (
        {},
        ("r",),
        "peft 0.17.1 requires accelerate>=0.21.0, and accelerate==0.20.3 is asked for",
    )


def test_remedies_without_pins_are_left_alone() -> None:
    nothing = Remedy({}, (), ("a-rule",))
    assert proven([nothing], whole("peft==0.11.1"), run=Uv({})) == (nothing,)


def test_what_the_search_had_to_say_stands_behind_the_proof() -> None:
    noted = replace(remedy(peft="0.12.0"), proof="the search was cut short")
    uv = Uv({"peft": "peft==0.12.0\n"})
    assert prove([noted], whole("peft==0.11.1"), run=uv).proof == f"uv takes the whole set for {WHERE}; the search was cut short"
    assert prove([noted], whole("peft==0.11.1"), offline=True).proof.endswith("uv was not asked: --offline; the search was cut short")


def test_what_a_constraint_holds_stays_where_it_can_though_nothing_resolves_without_the_pins() -> None:
    uv = Uv({"peft==0.12.0": "hub==0.23.0\npeft==0.12.0\n"})

    def run(call: Call) -> CompletedProcess[str]:
        return subprocess.CompletedProcess(call.words, 1, "", conflict("hub is held")) if call.constraints else uv(call)

    found = prove([remedy(peft="0.12.0")], whole("peft==0.11.1", constraints=("hub==0.20.3",)), run=run)
    assert (found.verified, found.moves) == ("resolver", (Move("hub", "0.20.3", "0.23.0"),))
    assert uv.asked[-1].preferences == ("hub==0.20.3", "peft==0.11.1")
