"""YAML beyond one plain mapping, and files of tools that are not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import NotUnderstood
from envdoctor.sources.plans.plan import collect_plan
from tests.sources.plans.reading import collect, lines, skips, stated


def test_the_first_document_that_is_a_plan_is_read(tmp_path: Path) -> None:
    found = collect(tmp_path, "note: 1\n---\nfp16: true\noutput_dir: x\n---\nfp16: false\noutput_dir: y\n")
    assert (stated(found)["plan.fp16"], lines(found)["plan.fp16"]) == (True, 3)
    place = str(tmp_path / "plan.yaml")
    why = "one more document of the file: the first plan in a file is the one that is read"
    assert [(skip.what, skip.why) for skip in found.skips] == [(f"{place}:1", why), (f"{place}:6", why)]


def test_a_tag_of_another_program_makes_one_value_unknown(tmp_path: Path) -> None:
    found = collect(tmp_path, "output_dir: x\noptim: !ENV ${OPTIM}\nfp16: true\nargs: !!python/object/apply:os.system [echo]\n")
    assert stated(found)["plan.fp16"] is True
    assert stated(found)["plan.optimizer"] == NotUnderstood("!ENV ${OPTIM}")
    assert skips(found) == [
        "set when the run starts, so unknown here: optim (line 2)",
        "the tag !ENV is for another program: its value is unknown",
        "the tag !!python/object/apply:os.system is for another program: its value is unknown",
    ]


def test_values_that_are_filled_in_later_are_unknown_and_have_no_default(tmp_path: Path) -> None:
    found = collect(tmp_path, "output_dir: x\noptim: sgd\nper_device_train_batch_size: ${BATCH}\nlearning_rate: {{ rate }}\nseed: 1\n")
    assert stated(found)["plan.batch_size"] == NotUnderstood("${BATCH}")
    assert stated(found)["plan.learning_rate"] == NotUnderstood("!!map {{ rate }}")
    assert stated(found)["plan.optimizer"] == "sgd"
    assert skips(found) == ["set when the run starts, so unknown here: per_device_train_batch_size (line 3), learning_rate (line 4)"]


def test_a_template_that_is_no_yaml_yet_is_skipped_with_its_line(tmp_path: Path) -> None:
    found = collect(tmp_path, "output_dir: x\n{% if big %}\nfp16: true\n{% endif %}\n")
    assert (found.facts, skips(found)) == ((), ["line 2: a template: no YAML before it is filled in"])


def test_merge_keys_bring_in_values_and_their_lines(tmp_path: Path) -> None:
    found = collect(tmp_path, "base: &base\n  fp16: true\n  optim: sgd\noutput_dir: x\n<<: *base\noptim: adafactor\n")
    assert (stated(found)["plan.fp16"], stated(found)["plan.optimizer"]) == (True, "adafactor")
    assert (lines(found)["plan.fp16"], lines(found)["plan.optimizer"]) == (2, 6)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("seed: !!int x", "x is no int: the value is unknown"),
        ("seed: !!bool perhaps", "perhaps is no bool: the value is unknown"),
        ("? {a: 1}\n: 2", "a key that is no word: its setting is unknown"),
        ("date: 2024-13-45", None),
    ],
)
def test_one_odd_value_does_not_hide_the_rest(tmp_path: Path, setting: str, why: str | None) -> None:
    found = collect(tmp_path, f"output_dir: x\nfp16: true\n{setting}\n")
    assert stated(found)["plan.fp16"] is True
    assert [(skip.what, skip.why) for skip in found.skips] == ([] if why is None else [(f"{tmp_path / 'plan.yaml'}:3", why)])


def test_a_list_of_lists_is_not_written_out(tmp_path: Path) -> None:
    laughs = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))
    text = f"k0: &a0 [lol]\n{laughs}\nfinetuning_type: lora\nlora_target: *a39\nfsdp: *a39\ndeepspeed: *a39\n"
    assert isinstance(stated(collect(tmp_path, text))["plan.lora_targets"], NotUnderstood)
    loop = collect(tmp_path, "output_dir: &a [*a]\noptim: *a\nbf16: &b {x: *b}\n")
    assert isinstance(stated(loop)["plan.optimizer"], NotUnderstood)


def test_merges_that_multiply_end(tmp_path: Path) -> None:
    doubling = "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
    assert skips(collect(tmp_path, f"a0: &a0 {{x: 1}}\n{doubling}")) == ["settings of no known training tool"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cluster_name: x\nmax_workers: 2\n", "a cluster or job of Ray"),
        ("apiVersion: ray.io/v1\nkind: RayJob\n", "a cluster or job of Ray"),
        ("defaults:\n  - model: lm\ncwd: ???\n", "a configuration of Hydra"),
        ("checkpoint_dir: x\nout_dir: y\nprecision: bf16-true\n", "a configuration of litgpt"),
        ("model:\n  name: hf_causal_lm\ntrain_loader: {}\n", "a configuration of llm-foundry"),
        ("llm_backbone: x\narchitecture: {}\n", "a configuration of H2O LLM Studio"),
        ("alg_name: LoRA\nmodel_name: x\n", "a configuration of EasyEdit"),
        ("training:\n  max_seq_length: 8\nlora:\n  lora_r: 1\n", "a configuration of Unsloth Studio"),
        ("merge_method: ties\nbase_model: x\ndtype: float16\n", "a configuration of mergekit"),
        ("task: x\ndataset_path: y\ndoc_to_text: z\n", "a task of lm-evaluation-harness"),
        ("apiVersion: v1\nkind: Pod\n", "a Kubernetes object"),
        ("on: push\njobs: {}\n", "a CI workflow"),
        ("services: {}\nvolumes: {}\n", "a Compose file"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, text: str, name: str) -> None:
    found = collect(tmp_path, text)
    assert (found.facts, skips(found)) == ((), [f"{name}: not a plan that is read"])


def test_a_model_configuration_is_told_apart_from_a_plan(tmp_path: Path) -> None:
    found = collect(tmp_path, '{"architectures": ["X"], "model_type": "x"}', "config.json")
    assert skips(found) == ["the configuration of a model, not of a run (give the model's directory): not a plan that is read"]


def test_deepspeed_as_json_text_and_as_something_else(tmp_path: Path) -> None:
    text = 'output_dir: x\nfp16: true\ndeepspeed: \'{"zero_optimization": {"stage": 2}}\'\n'
    assert stated(collect(tmp_path, text))["plan.distributed"] == "zero2"
    assert skips(collect(tmp_path, "output_dir: x\nfp16: true\ndeepspeed: '{'\n"))[0].startswith("the DeepSpeed configuration is no JSON")
    assert skips(collect(tmp_path, "output_dir: x\nfp16: true\ndeepspeed: ${DS}\n")) == [
        "the path of the DeepSpeed configuration is set when the run starts"
    ]


def test_many_documents(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("fp16: true\noutput_dir: x\n---\n" + "a: 1\n---\n" * 500)
    assert len(collect_plan(tmp_path / "plan.yaml").skips) == 100
