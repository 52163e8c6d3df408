"""What is drawn for executed stacks, what their child writes down, and how they are scored."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from envdoctor.world.releases import releases

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
MODULES = ("stack_tables", "stack_draws", "stack_environments", "stack_scores", "executed_stacks")


@pytest.fixture(scope="module")
def stacks() -> Iterator[SimpleNamespace]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in MODULES:
            sys.modules.pop(name, None)


def draw(module: ModuleType, package: str) -> Any:
    return next(base for base in map(module.draw_base, range(2000)) if base.consumer.package == package and base.version)


def failure(kind: str, message: str, **more: object) -> dict[str, Any]:
    return {"outcome": "failed", "exception": kind, "message": message, "frames": []} | more


def test_a_base_is_the_same_each_time_it_is_drawn_and_its_python_may_install_it(stacks: SimpleNamespace) -> None:
    bases = [stacks.stack_draws.draw_base(number) for number in range(40)]
    assert bases == [stacks.stack_draws.draw_base(number) for number in range(40)]
    assert len({base.consumer.package for base in bases}) > 10
    for base in bases:
        known = {one.version: one for one in releases(base.consumer.package)}
        assert base.version is None or known[base.version].date == base.day
        assert (base.torch is not None) == base.consumer.torch
        assert base.torch is None or base.torch.since <= base.day


def test_moves_are_of_installed_packages_other_than_the_consumer_and_to_other_releases(stacks: SimpleNamespace) -> None:
    base = draw(stacks.stack_draws, "datasets")
    installed = {"datasets": base.version, "numpy": "1.24.4", "pyarrow": "14.0.1", "certifi": "2023.7.22"}
    moves = list(stacks.stack_draws.draw_moves(base, installed, ["numpy>=1.17", "pyarrow>=8"], 12))
    assert {move.provider for move in moves} == {"numpy", "pyarrow"}
    assert len(set(moves)) == len(moves) == 12
    for move in moves:
        assert move.before == installed[move.provider]
        assert Version(move.after) != Version(move.before)
    assert {Version(move.after) > Version(move.before) for move in moves} == {True, False}
    fewer = stacks.stack_draws.draw_moves(base, installed, [], 12, {("datasets", "numpy")})
    assert {move.provider for move in fewer} == {"pyarrow"}


def test_every_provider_has_releases_to_be_moved_to(stacks: SimpleNamespace) -> None:
    assert [name for name in stacks.stack_tables.PROVIDERS if not releases(name)] == []


def test_a_third_of_the_stacks_is_for_development(stacks: SimpleNamespace) -> None:
    parts = [stacks.executed_stacks.part_of(f"{number:012x}") for number in range(3000)]
    assert set(parts) == {"development", "judged"}
    assert 900 < parts.count("development") < 1100


def test_every_later_drawing_has_a_seed_and_a_part_of_its_own(stacks: SimpleNamespace) -> None:
    draws = stacks.stack_draws.DRAWS
    assert len({draw.seed for draw in draws.values()}) == len(draws)
    parts = [part for drawing in draws for part in stacks.executed_stacks.parts_of(drawing)]
    assert sorted(parts) == sorted(set(stacks.executed_stacks.PARTS))
    assert {stacks.executed_stacks.part_of("0" * 12, drawing) for drawing in draws if drawing != 1} == {
        "judged-2",
        "judged-3",
        "judged-4",
        "judged-5",
        "judged-6",
        "judged-7",
        "judged-8",
    }


def test_names_of_submodules_are_imported_from_there(stacks: SimpleNamespace) -> None:
    script = stacks.executed_stacks.script_of("accelerate", ["Accelerator", "accelerate.utils:set_seed", "PartialState"])
    assert script == "import accelerate\nfrom accelerate import Accelerator, PartialState\nfrom accelerate.utils import set_seed\n"


def ask(tmp_path: Path, question: dict[str, object]) -> Any:
    answer = tmp_path / "answer.json"
    command = [sys.executable, str(BENCHMARKS / "stack_child.py"), str(answer)]
    subprocess.run(command, input=json.dumps(question), text=True, check=True, cwd=tmp_path)
    return json.loads(answer.read_text("utf-8"))


def test_the_child_tells_the_failure_its_first_cause_and_where_without_places_of_the_machine(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "broken"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "try:\n    from json import gone\nexcept ImportError as error:\n    raise RuntimeError('no') from error\n"
    )
    told = ask(tmp_path, {"script": f"import sys\nsys.path.append({str(package.parent)!r})\nimport broken\n"})
    assert (told["exception"], told["message"]) == ("RuntimeError", "no")
    assert told["cause"]["exception"] == "ImportError"
    assert told["cause"]["message"].startswith("cannot import name 'gone' from 'json'")
    assert told["cause"]["frames"] == ["broken/__init__.py:2 <module>"]
    assert str(tmp_path) not in json.dumps(told)


def test_the_child_sorts_the_names_that_there_are_from_those_that_there_are_not(tmp_path: Path) -> None:
    told = ask(tmp_path, {"package": "pytest", "module": "pytest", "names": ["fixture", "gone", "_pytest.config:Config"]})
    assert told["names"] == ["fixture", "_pytest.config:Config"]
    assert told["lacking"]["gone"].startswith("ImportError: cannot import name 'gone'")
    assert any(line.startswith("pluggy") for line in told["requires"])
    assert all("extra ==" not in line for line in told["requires"])


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (failure("ImportError", "cannot import name 'HybridCache' from 'transformers'"), "name"),
        (failure("AttributeError", "module 'numpy' has no attribute 'float'"), "name"),
        (failure("AttributeError", "`np.string_` was removed in the NumPy 2.0 release. Use `np.bytes_` instead."), "name"),
        (failure("AttributeError", "'NoneType' object has no attribute 'message_types_by_name'"), "other"),
        (failure("ImportError", "Numba needs NumPy 1.22 or greater. Got NumPy 1.21."), "bound"),
        (failure("ModuleNotFoundError", "No module named 'transformers.generation.beam'"), "module"),
        (failure("ModuleNotFoundError", "No module named 'httpcore'"), "package"),
        (failure("PackageNotFoundError", "No package metadata was found for accelerate"), "package"),
        (failure("TypeError", "f() got an unexpected keyword argument 'extra'"), "signature"),
        (failure("ImportError", "huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module"), "bound"),
        (failure("SystemError", "pydantic-core version (2.29.0) is incompatible with the current pydantic version"), "bound"),
        (failure("ValueError", "numpy.dtype size changed, may indicate binary incompatibility."), "binary"),
        (failure("", "Fatal Python error: Segmentation fault", signal=11), "binary"),
        (failure("RuntimeError", "no", cause=failure("ImportError", "cannot import name 'a' from 'b'")), "name"),
        (failure("ValueError", "mutable default for field x"), "other"),
    ],
)
def test_what_broke_is_told_by_the_first_cause(stacks: SimpleNamespace, row: dict[str, Any], cause: str) -> None:
    assert stacks.stack_scores.cause_of(row) == cause


def test_a_stack_is_known_by_an_error_that_names_the_moved_package_and_accused_by_any(
    stacks: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"rule": "a-rule", "severity": "error", "status": "matched", "packages": ["transformers", "huggingface-hub"]}
    findings = [told, told | {"status": "possible", "packages": ["numpy"]}, told | {"severity": "note", "packages": ["pyyaml"]}]
    monkeypatch.setattr(stacks.stack_scores, "_told", lambda *words, listing: {"findings": findings})
    row = {"script": "import transformers\n", "python": "3.10.13", "provider": "huggingface-hub", "freeze": []}
    judge = stacks.stack_scores.judge
    assert judge(row | failure("ImportError", "")).word == "known"
    assert judge(row | {"outcome": "works"}).word == "accused"
    assert [judge(row | failure("ImportError", "") | {"provider": name}).word for name in ("numpy", "pyyaml")] == ["missed", "missed"]
    findings.pop(0)
    assert judge(row | {"outcome": "works"}).word == "left alone"


def test_the_whole_freeze_and_the_script_go_to_check(stacks: SimpleNamespace) -> None:
    row = {"script": "import packaging\n", "python": "3.10.13", "provider": "packaging", "freeze": ["packaging==24.0"], "outcome": "works"}
    report = stacks.stack_scores._told("check", "--facts", "-", "--isolated", "--offline", "--format", "json", listing=["packaging==24.0"])
    assert "packages.packaging" in json.dumps(report["facts"])
    assert stacks.stack_scores.judge(row).word == "left alone"
