"""Settings of a plan that the stated release of the tool which reads it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.checks import plan_keys as of_plans
from envdoctor.checks.plan_keys import RULE, plan_keys
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import exact
from tests.atlas.wheels import alone, forget, make_atlas

PLACE = Origin("plan.yaml", "plan.yaml")
HEAD = "from dataclasses import dataclass\n\n@dataclass\nclass Arguments:\n"


def _fields(*names: str) -> str:
    return HEAD + "".join(f"    {name}: str = None\n" for name in names)


LLAMAFACTORY = {
    release: {"llamafactory/__init__.py": "", "llamafactory/hparams/__init__.py": "", "llamafactory/hparams/model_args.py": _fields(*names)}
    for release, names in {
        "0.9.0": ("lora_target", "train_mm_proj_only", "split"),
        "0.9.1": ("lora_target", "train_mm_proj_only", "enable_liger_kernel"),
        "0.9.2": ("lora_target", "enable_liger_kernel", "split_special_tokens"),
    }.items()
}
ACCELERATE = {
    release: {
        "accelerate/__init__.py": "", "accelerate/commands/__init__.py": "", "accelerate/commands/config/__init__.py": "",
        "accelerate/commands/config/config_args.py": _fields(*names),
    }
    for release, names in {"0.21.0": ("num_processes",), "0.29.0": ("num_processes", "enable_cpu_affinity")}.items()
}  # fmt: skip
TRANSFORMERS = {"4.52.4": {"transformers/__init__.py": "", "transformers/training_args.py": _fields("learning_rate")}}


@pytest.fixture(autouse=True)
def _atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made = {"llamafactory": LLAMAFACTORY, "accelerate": ACCELERATE, "transformers": TRANSFORMERS}
    assert make_atlas(tmp_path, made) == []
    alone(monkeypatch, tmp_path / "atlas")
    of_plans.fields_of.cache_clear()
    yield
    of_plans.fields_of.cache_clear()
    forget()


def told(packages: dict[str, str], *keys: str, uses: tuple[str, ...] = ()) -> list[tuple[str, str, int | None]]:
    stated = [Fact(f"packages.{name}", exact(text), Origin("stated")) for name, text in packages.items()]
    places = tuple(Origin("plan.yaml", "plan.yaml", line) for line, _ in enumerate(keys, 1))
    facts = [*stated, Fact("plan.keys", keys, PLACE, places), Fact(CODE_USES, uses, PLACE)]
    return [(hit.edge, hit.advice, hit.line) for hit in plan_keys(Facts({}).with_facts(facts)) if hit.rule == RULE]


@pytest.mark.parametrize(
    ("packages", "key", "advice"),
    [
        # https://github.com/hiyouga/LlamaFactory/issues/7412
        ({"llamafactory": "0.9.2"}, "llamafactory:train_mm_proj_only", "take it out of the file"),
        # https://github.com/hiyouga/LlamaFactory/issues/5328
        ({"llamafactory": "0.9.0"}, "llamafactory:enable_liger_kernel", ""),
        ({"llamafactory": "0.9.2", "transformers": "4.52.4"}, "llamafactory:lora_targets", "write lora_target"),
        ({"accelerate": "0.21.0"}, "accelerate:enable_cpu_affinity", ""),
    ],
)
def test_a_setting_that_the_release_lacks_is_told_at_its_line(packages: dict[str, str], key: str, advice: str) -> None:
    assert told(packages, f"{key.partition(':')[0]}:of_another_program", key) == [(key, advice, 2)]


@pytest.mark.parametrize(
    ("packages", "key"),
    [
        ({"llamafactory": "0.9.1"}, "llamafactory:train_mm_proj_only"),
        ({"llamafactory": "0.9.2", "transformers": "4.52.4"}, "llamafactory:learning_rate"),
        ({"llamafactory": "0.9.2"}, "llamafactory:lora_targets"),  # transformers may have it: nobody states it
        ({"transformers": "4.52.4"}, "llamafactory:train_mm_proj_only"),
        ({"accelerate": "0.21.0"}, "accelerate:fp16"),  # of old files, and taken
        ({"accelerate": "0.29.0"}, "accelerate:enable_cpu_affinity"),
    ],
)
def test_what_the_release_takes_or_nobody_knows_is_let_be(packages: dict[str, str], key: str) -> None:
    assert told(packages, key) == []


@pytest.mark.parametrize(("file", "told_of"), [("run.sh", 0), ("plan.yaml", 1)])
def test_the_beginning_of_a_name_is_taken_on_a_command_line_alone(file: str, told_of: int) -> None:
    place = Origin(file, file, 3)
    facts = [Fact("packages.llamafactory", exact("0.9.2"), place), Fact("plan.keys", ("llamafactory:split",), place)]
    assert len(plan_keys(Facts({}).with_facts(facts))) == told_of


def test_who_lets_unknown_settings_through_is_let_be() -> None:
    assert told({"llamafactory": "0.9.2"}, "llamafactory:train_mm_proj_only", uses=("env:ALLOW_EXTRA_ARGS=1",)) == []
