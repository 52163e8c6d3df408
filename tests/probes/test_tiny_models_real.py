"""``same-architecture``, ``checkpointing`` and ``save-load`` in one real environment, on the snapshots of fixtures/ and their own code.

``ENVDOCTOR_PROBE_CACHE`` may name a directory in which the environment is kept between runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import checkpointing, same_architecture, save_load
from envdoctor.probes.probe import Probe
from envdoctor.probes.runner import run_child
from tests.probes.test_lora_step_real import STACK, build

pytestmark = pytest.mark.probe

FIXTURES = Path(__file__).parents[2] / "fixtures"
BEFORE, AFTER, NATIVE = "chatglm3-6b", "chatglm3-6b-2024-02", "llama-2-7b-hf"


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return build((*STACK, "peft==0.12.0"), directory)


def facts(**stated: FactValue) -> Facts:
    names = {"plan." + name: value for name, value in stated.items() if name != "model"}
    if "model" in stated:
        names["model.path"] = str(FIXTURES / str(stated["model"]))
        names["model.remote_code"] = str(stated["model"]) != NATIVE
    return Facts().with_facts(Fact(name, value, Origin("test")) for name, value in names.items())


def examine(patient: Path, probe: Probe, params: object) -> tuple[str, str]:
    assert isinstance(params, dict), params
    outcome = run_child(patient, probe.script, params, timeout=probe.timeout, memory_bytes=probe.memory_bytes)
    assert outcome.measured is not None, outcome.failure
    return probe.judge(outcome.measured, params)


def test_native_code_goes_through(patient: Path) -> None:
    ruling, reason = examine(patient, same_architecture.PROBE, same_architecture.parameters(facts(model=NATIVE)))
    assert (ruling, reason) == (
        "refuted",
        "a tiny LlamaForCausalLM (transformers' code) goes through forward, backward, optimizer step, save_pretrained,"
        " from_pretrained and 4 generated tokens",
    )


def test_code_of_the_snapshot_fails_where_it_generates(patient: Path) -> None:
    ruling, reason = examine(patient, same_architecture.PROBE, same_architecture.parameters(facts(model=BEFORE), trust=True))
    assert ruling == "confirmed"
    assert reason.startswith(
        "generate failed: TypeError: GenerationMixin._extract_past_from_model_output() got an unexpected keyword argument"
        " 'standardize_cache_format' (at modeling_chatglm.py:"
    )


def test_checkpointing_that_is_not_switched_on_and_what_cures_it(patient: Path) -> None:
    params = checkpointing.parameters(facts(model=AFTER), trust=True)
    ruling, reason = examine(patient, checkpointing.PROBE, params)
    assert ruling == "confirmed"
    assert "gradient checkpointing is not on: " in reason
    assert reason.endswith("is_gradient_checkpointing is False")
    assert isinstance(params, dict)
    cures = {variation.words: variation.params for variation in checkpointing.variations(params)}
    library = cures["PreTrainedModel.gradient_checkpointing_enable(model), past the class's own"]
    assert examine(patient, checkpointing.PROBE, dict(library))[0] == "refuted"


def test_checkpointing_of_the_code_before(patient: Path) -> None:
    ruling, reason = examine(patient, checkpointing.PROBE, checkpointing.parameters(facts(model=BEFORE), trust=True))
    assert ruling == "refuted"
    assert reason.endswith("is_gradient_checkpointing is True; the gradients are the same")


@pytest.mark.parametrize(
    ("stated", "ruling", "part"),
    [
        ({"input_require_grads": False}, "confirmed", "element 0 of tensors does not require grad and does not have a grad_fn"),
        (
            {"input_require_grads": False, "use_reentrant": False, "gradient_checkpointing_kwargs": True},
            "refuted",
            "the gradients are the same",
        ),
    ],
)
def test_lora_under_checkpointing(patient: Path, stated: dict[str, FactValue], ruling: str, part: str) -> None:
    found = examine(patient, checkpointing.PROBE, checkpointing.parameters(facts(model=NATIVE, method="lora", **stated)))
    assert found[0] == ruling, found
    assert part in found[1]


@pytest.mark.parametrize(
    ("uses", "ruling", "reason"),
    [
        ((), "refuted", "saved, loaded and merged the adapter gives the same logits; adapter_model.safetensors has 8 tensors"),
        (
            ("?.state_dict = peft.get_peft_model_state_dict",),
            "confirmed",
            "the adapter was saved empty: adapter_model.safetensors has 0 tensors",
        ),
    ],
)
def test_a_saved_adapter(patient: Path, uses: tuple[str, ...], ruling: str, reason: str) -> None:
    found = examine(patient, save_load.PROBE, save_load.parameters(facts(method="lora", code_uses=uses)))
    assert found[0] == ruling, found
    assert found[1].startswith(reason)


def test_a_snapshot_without_a_config_is_not_testable(patient: Path, tmp_path: Path) -> None:
    stated = Facts().with_facts([Fact("model.path", str(tmp_path), Origin("test"))])
    ruling, reason = examine(patient, same_architecture.PROBE, same_architecture.parameters(stated))
    assert ruling == "inconclusive"
    assert reason.startswith("reading the config could not read or write a file: ")
