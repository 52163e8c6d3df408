"""The lint of lists that leave somebody out."""

from __future__ import annotations

from envdoctor.rules.left_out import left_out

IMPORTERS = ["torch", "transformers", "peft", "accelerate", "trl", "vllm"]


def _said(affected: dict[str, object], rule: str = "some-rule") -> list[str]:
    return [f"{key}: {found}" for key, found, _ in left_out({"id": rule, "affected": affected})]


def _of_a_script(calls: list[str]) -> dict[str, object]:
    return {"any": [{"plan": {"script": False}}, {"calls": calls}]}


def test_a_list_of_who_imports_what_the_rule_loads_is_closed() -> None:
    nested = {"packages": ["torch >=2.2"], "loads": ["torch"], "all": [_of_a_script(IMPORTERS)]}
    assert _said(nested) == ["affected: calls: a list of 6 that import torch"]


def test_a_list_of_uses_says_more_than_who_loads() -> None:
    assert _said({"loads": ["torch"], "all": [_of_a_script(["numpy.a*", "torch.from_numpy", "diffusers"])]}) == []
    assert _said({"loads": ["trl"], "all": [_of_a_script(IMPORTERS)]}) == []
    assert _said({"loads": ["accelerate"], "all": [_of_a_script(IMPORTERS)]}) == []


def test_full_training_is_also_that_by_preferences() -> None:
    assert _said({"plan": {"method": ["full", "freeze", "pretrain"]}}) == ["affected: plan.method: full and pretrain alone"]
    assert _said({"plan": {"method": ["full", "pretrain", "dpo", "kto", "orpo"]}}) == []
    assert _said({"not": {"plan": {"method": ["full", "pretrain"]}}}) == []
    assert _said({"plan": {"method": ["lora", "full"]}}) == []
    assert list(left_out({"id": "log-only"})) == []


def test_a_variable_that_no_launcher_hands_on_is_asked_of_nobody() -> None:
    assert _said({"not": {"calls": ["env:SOME_SWITCH=1"]}}) == ["affected: calls: env:SOME_SWITCH"]
    assert _said({"calls": ["env:HF_HOME"], "any": [{"calls": ["env:USE_TF=0"]}]}) == []
