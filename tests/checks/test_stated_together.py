"""What stated releases require of a package that nobody states, and of the Python."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from envdoctor.checks.stated_together import stated_together
from tests.cli.run import run
from tests.remedies.universe import stated


def said(facts: dict[str, object], *, closed: bool = False) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    return [(hit.rule, hit.packages, dict(hit.pins)) for hit in stated_together(stated(facts, closed=closed))]


def test_two_releases_that_no_release_of_a_third_package_suits() -> None:
    ((rule, packages, pins),) = said({"packages.fastapi": "0.95.1", "packages.gradio": "4.16.0"})
    assert (rule, packages) == ("declared-requirement-unmet", ("fastapi", "gradio", "pydantic"))
    assert set(pins) == {"fastapi", "gradio"}
    assert said({"packages.fastapi": "0.100.0", "packages.gradio": "4.16.0"}) == []


def test_where_the_third_is_stated_it_is_accused_by_itself() -> None:
    found = said({"packages.fastapi": "0.95.1", "packages.gradio": "4.16.0", "packages.pydantic": "1.10.13"})
    assert [packages for _, packages, _ in found] == [("gradio", "fastapi", "pydantic")]


def test_two_that_require_different_releases_of_a_stated_third_are_both_named() -> None:
    facts = stated({"packages.vllm": "0.24.0", "packages.llmcompressor": "0.12.0", "packages.compressed-tensors": "0.17.1"})
    (hit,) = stated_together(facts)
    assert hit.headline == "vllm and llmcompressor require different releases of compressed-tensors"
    assert "requires compressed-tensors==0.17.0, and llmcompressor 0.12.0 requires compressed-tensors==0.17.1" in hit.detail
    assert hit.pins == ()
    assert hit.by_hand.startswith("install vllm and llmcompressor in environments of their own")


def test_a_release_that_does_not_run_on_the_stated_python() -> None:
    ((rule, packages, pins),) = said({"python": "3.9", "packages.transformers": "5.0.0"})
    assert (rule, packages) == ("requirement-refuses-python", ("transformers",))
    assert "5.0.0" not in pins["transformers"]
    assert said({"python": "3.10", "packages.transformers": "5.0.0"}) == []
    assert said({"packages.transformers": "5.0.0"}) == []


def test_transformers_compares_accelerate_at_import_until_too_old_a_one_counts_as_none() -> None:
    ((rule, packages, _),) = said({"packages.transformers": "4.31.0", "packages.accelerate": "0.19.0"})
    assert (rule, packages) == ("transformers-refuses-at-import", ("transformers", "accelerate"))
    assert said({"packages.transformers": "4.31.0", "packages.accelerate": "0.20.3"}) == []
    assert said({"packages.transformers": "4.31.0"}) == []
    assert said({"packages.transformers": "4.36.2", "packages.accelerate": "0.19.0"}) == []
    # It looks at none that is not installed (executed: 4.31.0 alone is imported).
    alone: dict[str, object] = {"packages.transformers": "4.31.0", "packages.numpy": "1.25.1", "packages.tokenizers": "0.13.3"}
    assert [found for found in said(alone, closed=True) if "accelerate" in found[1]] == []


@pytest.mark.parametrize("name", ["-", "freeze.txt", "requirements.txt", "freeze.out"])
def test_a_freeze_is_judged_whatever_its_file_is_called_and_each_fault_of_it_is_told_once(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "transformers==4.55.3\nhuggingface-hub==0.33.5\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = run(capsys, "check", "--facts", name, "--format", "json")
    assert [one["rule"] for one in ran.json["findings"]] == ["transformers-refuses-at-import"]
    assert ran.status == 1


@pytest.mark.parametrize(("torch", "told"), [("2.7.1", 1), ("2.7.1+cu128", 0), ("2.7.1+cpu", 0)])
def test_what_a_build_of_torch_requires_of_cuda_is_not_what_the_index_says_of_its_own(torch: str, told: int) -> None:
    found = said({"packages.torch": torch, "packages.nvidia-cublas-cu12": "12.8.3.14", "os": "linux", "machine": "x86_64"})
    assert len(found) == told


def test_a_bound_that_differs_by_python_is_told_where_it_is_met_under_none() -> None:
    # numpy <1.25 under 3.8 and <2 from 3.9 on, beside thinc, which asks for 2.0 under all.
    ((_, packages, pins),) = said({"packages.transformer-smaller-training-vocab": "0.4.0", "packages.thinc": "8.3.2"})
    assert packages == ("transformer-smaller-training-vocab", "thinc", "numpy")
    assert set(pins) == {"thinc"}
    ((_, packages, pins),) = said({"packages.transformer-smaller-training-vocab": "0.4.0", "packages.numpy": "2.1.0"})
    assert (packages, pins) == (("transformer-smaller-training-vocab", "numpy"), {"numpy": "<2.0.0,>=1.21.0"})
    assert said({"packages.transformer-smaller-training-vocab": "0.4.0", "packages.numpy": "1.26.4"}) == []


def test_a_bound_for_a_python_that_no_stated_release_runs_on_counts_for_nothing() -> None:
    # pandas 2.2.0 asks for numpy 1.22.4 or later under 3.9 and 3.10, for later ones above; it does not run on 3.8.
    assert [packages for _, packages, _ in said({"packages.pandas": "2.2.0", "packages.numpy": "1.21.6"})] == [("pandas", "numpy")]
    assert said({"packages.pandas": "2.2.0", "packages.numpy": "1.22.4"}) == []


def test_a_development_release_requires_what_its_neighbours_both_do() -> None:
    (hit,) = stated_together(stated({"packages.llamafactory": "0.9.3.dev0", "packages.trl": "0.16.1"}))
    assert (hit.rule, hit.packages) == ("declared-requirement-unmet", ("llamafactory", "trl"))
    assert "llamafactory 0.9.3.dev0 lies between 0.9.2 and 0.9.3" in hit.detail
    # 0.9.3 ends transformers at 4.52.4, and 0.9.4 at 4.57.1
    assert said({"packages.llamafactory": "0.9.4.dev0", "packages.transformers": "4.56.1"}) == []
    assert said({"packages.llamafactory": "99.0.dev0", "packages.trl": "0.16.1"}) == []
    assert said({"packages.llamafactory": "0.9.3.dev0", "packages.trl": "0.9.6"}) == []


def test_the_triton_of_a_torch_is_told_where_every_python_with_a_wheel_of_it_agrees() -> None:
    """torch 2.4 asks for triton below Python 3.13, for which it has no wheel; 2.2 below 3.12, for which it has one."""
    linux = {"os": "linux", "machine": "x86_64"}
    ((rule, packages, pins),) = said({**linux, "packages.torch": "2.4.1", "packages.triton": "2.2.0"})
    assert (rule, packages, pins) == ("declared-requirement-unmet", ("torch", "triton"), {"triton": "==3.0.0"})
    (hit,) = stated_together(stated({**linux, "packages.torch": "2.2.2", "packages.triton": "3.0.0"}))
    assert (hit.outcome, hit.missing) == (None, ("python",))
    (hit,) = stated_together(stated({**linux, "python": "3.10", "packages.torch": "2.2.2", "packages.triton": "3.0.0"}))
    assert hit.outcome is True
    assert said({**linux, "python": "3.12", "packages.torch": "2.2.2", "packages.triton": "3.0.0"}) == []
    assert said({**linux, "packages.torch": "2.2.2", "packages.triton": "2.2.0"}) == []


@pytest.mark.parametrize(("wanted", "told"), [(">=1.7.7,<2", True), (">=1.6,<2", False), (">=1.6", False), ("<1.6 || >=1.6.2", False)])
def test_a_stated_range_of_which_no_release_meets_a_requirement(wanted: str, told: bool) -> None:
    found = said({"packages.autogluon-multimodal": "0.5.2", "packages.pytorch-lightning": wanted})
    assert [packages for _, packages, _ in found] == [("autogluon-multimodal", "pytorch-lightning")] * told


@pytest.mark.parametrize(
    ("torch", "torchvision", "pins"),
    [
        ("1.11.0+cu113", "0.11.0+cu113", {"torch": "==1.10.0"}),
        ("2.1.0+cpu", "0.15.0+cpu", {"torch": "==2.0.0"}),
        ("1.10.0+cu111", "0.11.0+cu111", None),
        ("2.0.0+cu118", "0.15.0+cu118", None),
    ],
)
def test_a_labelled_build_requires_no_label_of_the_package_indexs_own(torch: str, torchvision: str, pins: dict[str, str] | None) -> None:
    found = list(stated_together(stated({"packages.torch": torch, "packages.torchvision": torchvision})))
    assert [dict(hit.pins) for hit in found] == ([] if pins is None else [pins])


def test_parts_of_another_cuda_than_torchs_are_one_fault_whoever_names_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pins = "nvidia-cublas-cu12==12.4.2.65\nnvidia-cufft-cu12==11.2.0.44\nnvidia-nccl-cu12==2.20.5\n"
    (tmp_path / "requirements.txt").write_text(pins)
    (tmp_path / "facts.toml").write_text('[packages]\ntorch = "2.4.0"\n"nvidia-cuda-nvrtc-cu12" = "12.4.99"\n')
    text = run(capsys, "check", str(tmp_path / "requirements.txt"), "--facts", str(tmp_path / "facts.toml")).out
    assert "3 parts of CUDA are pinned to other releases than torch requires" in text
    assert "fix: take the nvidia-* packages out of the list" in text


@pytest.mark.parametrize(
    ("declared", "told", "pair"),
    [
        ("pydantic==1.10.13\n", 'gradio = "4.16.0"', ("gradio", "pydantic")),
        ("tokenizers==0.13.3\n", 'transformers = "4.33.1"', None),
        ("gradio==4.16.0\n", 'pydantic = "1.10.13"', ("gradio", "pydantic")),
    ],
)
def test_a_pin_of_a_file_beside_what_is_stated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, declared: str, told: str, pair: tuple[str, str] | None
) -> None:
    (tmp_path / "requirements.txt").write_text(declared)
    (tmp_path / "facts.toml").write_text(f"[packages]\n{told}\n")
    text = run(capsys, "check", str(tmp_path / "requirements.txt"), "--facts", str(tmp_path / "facts.toml")).out
    assert ("requires" in text) == (pair is not None)
