"""Sources merged: the most specific wins, and a contradiction is told."""

from __future__ import annotations

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact
from envdoctor.sources.situation import merge


def said(source: str, **values: object) -> Collected:
    names = {name.replace("__", "."): value for name, value in values.items()}
    return Collected(tuple(Fact(name, parse_value(name, value), Origin(source, source, 1)) for name, value in names.items()))


def test_the_most_specific_source_wins_whatever_the_order() -> None:
    parts = [
        ("--set", said("--set", packages__peft="0.12.0")),
        ("requirements", said("requirements.txt", packages__peft="==0.10.0")),
        ("installed", said(".venv", packages__peft="0.11.1")),
    ]
    for order in (parts, parts[::-1]):
        merged = merge(order, closed=True)
        assert str(merged.facts.value("packages.peft")) == "0.12.0"
        assert merged.facts["packages.peft"].origin.source == "--set"


@pytest.mark.parametrize(
    ("weak", "strong", "told"),
    [
        ("==0.10.0", "0.11.1", True),
        (">=0.10,<0.11", "0.11.1", True),
        (">=0.10", "0.11.1", False),
        ("==0.11.1", "0.11.1+local", False),
        ("==0.11.1.dev0", "0.11.1", True),
    ],
)
def test_a_contradiction_between_two_sources_is_told(weak: str, strong: str, told: bool) -> None:
    merged = merge(
        [("requirements", said("requirements.txt", packages__peft=weak)), ("installed", said(".venv", packages__peft=strong))], closed=True
    )
    assert [defect.rule for defect in merged.defects] == (["sources-disagree"] if told else [])
    if told:
        assert "requirements.txt" in merged.defects[0].detail
        assert ".venv" in merged.defects[0].detail


@pytest.mark.parametrize(("torch", "kept"), [("2.4.0", False), ("1.13.1", True)])
def test_the_cudnn_of_an_image_is_nothing_of_another_torch(torch: str, kept: bool) -> None:
    image = said("Dockerfile", packages__torch="1.13.1", cuda="11.6", cudnn="==8.*", os="linux")
    merged = merge([("image", image), ("facts file", said("facts.toml", packages__torch=torch))], closed=False)
    assert ("cudnn" in merged.facts, "cuda" in merged.facts, "os" in merged.facts) == (kept, kept, True)


def test_a_default_a_log_and_what_is_set_contradict_nobody() -> None:
    default = Collected((Fact("plan.fp16", False, Origin("default of TrainingArguments")), Fact("model.type", "glm", Origin("x"))))
    assert merge([("plan", default), ("facts file", said("facts.toml", plan__fp16=True))], closed=False).defects == ()
    log = said("train.log", packages__peft="0.10.0")
    assert merge([("log", log), ("facts file", said("facts.toml", packages__peft="0.11.0"))], closed=False).defects == ()
    assert merge([("facts file", log), ("--set", said("--set", packages__peft="0.11.0"))], closed=False).defects == ()


def test_plan_and_facts_file_may_contradict() -> None:
    merged = merge(
        [("plan", said("plan.yaml", plan__batch_size=4)), ("facts file", said("facts.toml", plan__batch_size=2, packages__peft="1"))],
        closed=False,
    )
    assert merged.facts.value("plan.batch_size") == 2
    assert [defect.rule for defect in merged.defects] == ["sources-disagree"]


def test_a_situation_without_a_package_or_a_model_is_refused_with_what_was_skipped() -> None:
    part = ("plan", Collected(said("plan.yaml", plan__fp16=True).facts, skips=(Skip("the installed stack", "no python"),)))
    with pytest.raises(EnvdoctorError, match="no python"):
        merge([part], closed=False)
    assert merge([part], closed=False, may_be_empty=True).facts.value("plan.fp16") is True


def test_what_a_machine_is_said_to_be_is_held_against_what_is_installed() -> None:
    installed = ("installed", said(".venv", packages__peft="0.11.1", python="3.10.12", os="linux"))
    for rank in ("profile", "--target"):
        merged = merge([installed, (rank, said("a target", python="3.11", os="linux"))], closed=True)
        assert str(merged.facts.value("python")) == "3.11"
        assert [defect.detail.partition(";")[0] for defect in merged.defects] == ["python: .venv says 3.10.12, a target says 3.11"]
        finer = merge([installed, (rank, said("a target", python="3.10"))], closed=True)
        assert (str(finer.facts.value("python")), finer.defects) == ("3.10.12", ())
    apart = merge([installed, ("--target", said("a target", python="3.1"))], closed=True)
    assert str(apart.facts.value("python")) == "3.1"


def test_the_command_line_corrects_a_facts_file_and_that_the_project() -> None:
    parts = [
        ("profile", said("envdoctor.toml", driver="525.60", packages__peft="1")),
        ("facts file", said("facts.toml", driver="535.104")),
        ("--target", said("--target", driver="550.54")),
        ("--set", said("--set", driver="560.28")),
    ]
    for last in range(1, 5):
        merged = merge(parts[:last], closed=False)
        assert (str(merged.facts.value("driver")), merged.defects) == (("525.60", "535.104", "550.54", "560.28")[last - 1], ())


def test_what_two_files_show_of_one_run_adds_up() -> None:
    script = Collected((Fact("plan.code_uses", ("Trainer",), Origin("a.py", "a.py", 1)),))
    other = Collected((Fact("plan.code_uses", ("LoraConfig", "Trainer"), Origin("b.py", "b.py", 2)),))
    stated = Collected((Fact("packages.torch", exact("2.5.1"), Origin("x")),))
    found = merge([("script", script), ("script", other), ("facts file", stated)], closed=False)
    assert found.facts.value("plan.code_uses") == ("LoraConfig", "Trainer")
    assert found.defects == ()
    told = Collected((Fact("plan.code_uses", ("SFTTrainer",), Origin("facts.toml")),))
    assert merge([("script", script), ("facts file", told), ("facts file", stated)], closed=False).facts.value("plan.code_uses") == (
        "SFTTrainer",
    )


def test_the_model_that_is_given_may_be_called_otherwise_than_in_the_plan() -> None:
    plan, model = ("plan", said("sft.yaml", model__id="THUDM/chatglm3-6b")), ("model", said("snapshot", model__id="zai-org/chatglm3-6b"))
    merged = merge([plan, model], closed=False)
    assert merged.facts.value("model.id") == "zai-org/chatglm3-6b"
    assert merged.defects == ()
    other = ("script", said("train.py", model__id="org/other"))
    assert [defect.rule for defect in merge([plan, other], closed=False).defects] == ["sources-disagree"]


@pytest.mark.parametrize(("used", "there", "taken", "told"), [(1, 8, 1, []), (8, 8, 8, []), (8, 2, 2, ["sources-disagree"])])
def test_a_run_may_use_some_of_the_gpus_of_the_machine(used: int, there: int, taken: int, told: list[str]) -> None:
    run, model = ("plan", said("train.sh", gpu__count=used)), ("model", said("m", model__type="glm"))
    parts = [run, model, ("hardware", said("host", gpu__count=there))]
    for order in (parts, parts[::-1]):
        merged = merge(order, closed=False)
        assert (merged.facts.value("gpu.count"), [defect.rule for defect in merged.defects]) == (taken, told)


@pytest.mark.parametrize(
    ("name", "one", "other", "told"),
    [
        ("model.id", "THUDM/chatglm3-6b", "zai-org/ChatGLM3-6B", False),
        ("model.id", "THUDM/chatglm3-6b", "THUDM/chatglm2-6b", True),
        ("plan.distributed", "device_map", "none", False),
        ("plan.distributed", "device_map", "ddp", True),
        ("plan.distributed", "none", "zero2", True),
    ],
)
def test_two_words_for_one_thing_are_no_contradiction(name: str, one: str, other: str, told: bool) -> None:
    key = name.replace(".", "__")
    parts = [("script", said("train.py", model__type="x", **{key: one})), ("plan", said("run.yaml", **{key: other}))]
    merged = merge(parts, closed=False)
    assert (merged.facts.value(name), bool(merged.defects)) == (other, told)


@pytest.mark.parametrize(("pinned", "kept"), [("==5.4.0", False), ("==5.23.0", True), (">=5", True)])
@pytest.mark.parametrize(("rank", "closed"), [("installed", False), ("facts file", True)])
def test_the_pins_of_a_file_that_is_about_another_stack_are_not_put_beside_this_one(
    rank: str, closed: bool, pinned: str, kept: bool
) -> None:
    merged = merge(
        [
            ("requirements", said("requirements.txt", packages__transformers=pinned, packages__tokenizers="==0.22.0")),
            ("requirements", said("more.txt", packages__numpy="==2.0.0")),
            ("plan", said("plan.yaml", plan__batch_size=4)),
            (rank, said("stack", packages__transformers="==5.23.0")),
        ],
        closed=closed,
    )
    assert ("packages.tokenizers" in merged.facts) == kept
    assert str(merged.facts.value("packages.transformers")) == "5.23.0"
    assert "packages.numpy" in merged.facts


@pytest.mark.parametrize(
    ("lines", "stated", "kept"),
    [
        # timm alone was moved; what torch 2.2.2 is beside stays.
        ({"timm": "0.9.2", "scipy": "1.10.1", "torchaudio": "2.2.2"}, {"timm": "0.9.7", "torchaudio": "2.2.2"}, {"scipy", "torchaudio"}),
        # What cannot stand beside the torch that is there was moved with it.
        ({"torch": "2.3.0", "torchaudio": "2.3.0", "einops": "0.8.0"}, {"torch": "2.15.0"}, {"einops"}),
        ({"torch": "2.1.0", "torch-npu": "2.1.0.post3", "einops": "0.8.0"}, {"torch": "2.4.0"}, {"einops"}),
        # So was the tokenizers that the stated transformers does not admit.
        ({"transformers": "4.30.0", "tokenizers": "0.13.3", "peft": "0.4.0"}, {"transformers": "4.45.0"}, {"peft"}),
        ({"transformers": "4.30.0", "tokenizers": "<0.14", "peft": "0.4.0"}, {"transformers": "4.45.0"}, {"peft"}),
        # Nothing that is stated is as the file has it.
        ({"torch": "1.13.1", "numpy": "1.21.2", "einops": "0.6.0"}, {"torch": "2.15.0", "numpy": "2.4.0"}, set()),
    ],
)
def test_a_release_that_somebody_states_otherwise_takes_from_the_file_only_what_cannot_stand_beside_it(
    lines: dict[str, str], stated: dict[str, str], kept: set[str]
) -> None:
    def packages(releases: dict[str, str]) -> dict[str, object]:
        return {f"packages__{name}": text if text.startswith("<") else f"=={text}" for name, text in releases.items()}

    parts = [("requirements", said("requirements.txt", **packages(lines))), ("facts file", said("facts.toml", **packages(stated)))]
    merged = merge(parts, closed=False)
    assert {name.removeprefix("packages.") for name in merged.facts.by_name} == kept | stated.keys()


@pytest.mark.parametrize(
    ("read", "stated", "told"),
    [
        ("lora", "ppo", []),
        ("lora", "qlora", []),
        ("qlora", "lora", []),
        ("dora", "qlora", ["sources-disagree"]),
        ("dpo", "qlora", []),
        ("lora", "full", ["sources-disagree"]),
        ("ppo", "grpo", ["sources-disagree"]),
    ],
)
def test_an_objective_and_its_adapters_go_together(read: str, stated: str, told: list[str]) -> None:
    merged = merge(
        [("script", said("train.py", plan__method=read)), ("facts file", said("facts.toml", plan__method=stated))],
        closed=False,
        may_be_empty=True,
    )
    assert merged.facts.value("plan.method") == stated
    assert [defect.rule for defect in merged.defects] == told


def test_uses_stated_by_hand_contradict_no_script() -> None:
    script = Collected((Fact("plan.code_uses", ("torch", "transformers.AdamW"), Origin("train.py", "train.py", 1)),))
    told = Collected((Fact("plan.code_uses", ("transformers.AdamW",), Origin("facts.toml", "facts.toml", 1)),))
    assert merge([("script", script), ("facts file", told)], closed=False, may_be_empty=True).defects == ()


@pytest.mark.parametrize(("configured", "told"), [("true", []), ("false", ["sources-disagree"])])
def test_four_bits_that_a_configuration_asks_for_are_not_four_bits_less(configured: str, told: list[str]) -> None:
    script = [("plan.quantization_config", configured), ("plan.load_in_4bit", "false"), ("packages.torch", "2.5.1")]
    read = Collected(tuple(Fact(name, parse_value(name, text), Origin("train.py")) for name, text in script))
    by_hand = Collected((Fact("plan.load_in_4bit", True, Origin("facts.toml")),))
    assert [defect.rule for defect in merge([("plan", read), ("facts file", by_hand)], closed=False).defects] == told


@pytest.mark.parametrize(
    ("source", "there", "wanted", "told"),
    [
        ("Dockerfile", "3.10", ">=3.11", True),  # https://github.com/google/gemma_pytorch/issues/79
        ("environment.yml", "==3.8.*", ">=3.9", True),
        ("--set", "3.13", ">=3.9,<3.13", True),
        ("Dockerfile", "3.10", ">=3.10.4", False),
        ("environment.yml", ">=3.8", ">=3.9", False),
        ("--set", "3.12.1", ">=3.9", False),
    ],
)
def test_a_project_that_does_not_admit_the_python_is_told_at_its_own_line(source: str, there: str, wanted: str, told: bool) -> None:
    rank = {"Dockerfile": "image", "environment.yml": "requirements", "--set": "--set"}[source]
    merged = merge(
        [(rank, said(source, python=there)), ("requirements", said("pyproject.toml", python=wanted))], closed=False, may_be_empty=True
    )
    assert [(one.rule, one.file) for one in merged.defects] == ([("project-refuses-python", "pyproject.toml")] if told else [])


def test_the_python_of_an_image_is_kept_beside_a_project_that_admits_it() -> None:
    merged = merge(
        [("image", said("Dockerfile", python="3.10")), ("requirements", said("setup.py", python=">=3.8"))], closed=False, may_be_empty=True
    )
    assert str(merged.facts.value("python")) == "3.10"
