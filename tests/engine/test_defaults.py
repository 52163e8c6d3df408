"""Defaults of libraries as facts: each on both sides of the release where it turns, and never against a statement."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.engine.defaults import SWAYED, bounds, derive
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value, shown
from envdoctor.facts.versions import exact, version_condition
from envdoctor.facts.vocabulary import TRAINING, term
from envdoctor.world.releases import releases


def stated(**facts: object) -> Facts:
    """Facts by name, ``__`` for a dot: ``packages__torch="2.5.0"``."""
    names = {name.replace("__", "."): value for name, value in facts.items()}
    return Facts({name: Fact(name, parse_value(name, value), Origin("plan.toml", "plan.toml", 3)) for name, value in names.items()})


def derived(facts: Facts, name: str) -> str | None:
    found = derive(facts)
    return shown(found[name].value) if name in found else None


@pytest.mark.parametrize(
    ("transformers", "torch", "optimizer"),
    [
        ("4.31.0", "2.0.1", "adamw_hf"),
        ("4.32.0", "2.0.1", "adamw_torch"),
        ("4.53.3", "2.8.0", "adamw_torch"),
        ("4.54.0", "2.7.1", "adamw_torch"),
        ("4.54.0", "2.8.0", "adamw_torch_fused"),
        ("4.54.0.dev0", "2.7.1", None),  # on neither side of the release
        ("5.0.0", "2.8.0+cu126", "adamw_torch_fused"),
        ("4.54.0", None, None),
        ("4.53.3", None, "adamw_torch"),
        (None, "2.8.0", None),
        (">=4.32,<4.54", "2.8.0", None),
    ],
)
def test_the_optimizer_of_the_trainer(transformers: str | None, torch: str | None, optimizer: str | None) -> None:
    packages = {"packages__transformers": transformers, "packages__torch": torch}
    facts = stated(plan__method="lora", **{name: version for name, version in packages.items() if version})
    assert derived(facts, "plan.optimizer") == optimizer
    assert derived(facts, "plan.optimizer_eps") == (None if transformers in (None, ">=4.32,<4.54") else "1e-08")


def test_a_variable_beside_a_plan_leaves_the_framework_that_runs_it() -> None:
    switched = stated(plan__trainer="llamafactory", plan__code_uses=["env:DISABLE_VERSION_CHECK=1"])
    assert derived(switched, "plan.code_uses") == "env:DISABLE_VERSION_CHECK=1, llamafactory"
    assert derived(switched, "plan.script") == "true"
    script = stated(plan__trainer="llamafactory", plan__code_uses=["env:DISABLE_VERSION_CHECK=1", "trl.SFTTrainer"])
    assert derived(script, "plan.script") is None
    assert derived(stated(plan__code_uses=["env:DISABLE_VERSION_CHECK=1"]), "plan.code_uses") == "env:DISABLE_VERSION_CHECK=1"


def test_inference_has_no_optimizer_and_every_training_has() -> None:
    packages = {"packages__transformers": "4.48.0", "packages__torch": "2.5.0"}
    assert derived(stated(**packages), "plan.optimizer") is None
    assert derived(stated(plan__method="inference", **packages), "plan.optimizer") is None
    for method in TRAINING:
        assert derived(stated(plan__method=method, **packages), "plan.optimizer") == "adamw_torch"


@pytest.mark.parametrize(
    ("model_type", "transformers", "torch", "attn"),
    [
        ("llama", "4.35.2", "2.5.0", "eager"),
        ("llama", "4.36.0", "2.5.0", "sdpa"),
        ("llama", "4.48.0", "2.1.0", "eager"),
        ("llama", "4.48.0", "2.1.1", "sdpa"),
        ("gemma2", "4.44.2", "2.5.0", "sdpa"),
        ("gemma2", "4.46.0", "2.5.0", "eager"),
        ("gemma2", "4.48.0", "2.5.0", "sdpa"),
        ("glm", "4.48.0", "2.5.0+cu118", "sdpa"),
        ("bart", "4.35.2", "2.5.0", "eager"),
        ("chatglm", "4.48.0", "2.5.0", None),
        ("no-such-type", "4.48.0", "2.5.0", None),
        ("llama", "4.48.0", None, None),
        ("llama", None, "2.5.0", None),
    ],
)
def test_the_attention_implementation(model_type: str, transformers: str | None, torch: str | None, attn: str | None) -> None:
    packages = {"packages__transformers": transformers, "packages__torch": torch}
    facts = stated(model__type=model_type, **{name: version for name, version in packages.items() if version})
    assert derived(facts, "plan.attn") == attn
    if attn is not None:
        assert derive(facts)["plan.attn"].origin.source == f"default of transformers {transformers}"


CAST = {"model__type": "chatglm", "model__config_dtype": "float16", "packages__transformers": "4.51.3"}
NATIVE = {
    "model__type": "llama",
    "model__config_dtype": "bfloat16",
    "packages__transformers": "4.57.1",
    "model__remote_code": False,
}


@pytest.mark.parametrize(
    ("facts", "dtype"),
    [
        ({"model__type": "chatglm", "model__config_dtype": "float16", "packages__transformers": "4.48.3"}, "float16"),
        ({"model__type": "chatglm", "model__dtype": "bfloat16", "packages__transformers": "4.40.2"}, "bfloat16"),
        ({"model__type": "chatglm", "model__config_dtype": "float16", "packages__transformers": "4.49.0"}, None),
        ({"model__type": "chatglm", "model__config_dtype": "float16", "packages__transformers": "4.50.0"}, "float32"),
        ({"model__type": "chatglm", "packages__transformers": "4.48.3"}, None),
        # The framework asks for a dtype of its own.
        ({"model__type": "chatglm", "packages__transformers": "4.51.3", "plan__trainer": "llamafactory"}, None),
        ({**CAST, "plan__trainer": "llamafactory"}, "float16"),
        ({**CAST, "plan__trainer": "llamafactory", "plan__bf16": True}, "bfloat16"),
        ({**CAST, "plan__trainer": "llamafactory", "plan__bf16": True, "plan__distributed": "zero3"}, None),
        ({"model__type": "chatglm", "packages__transformers": "4.51.3", "plan__trainer": "axolotl"}, None),
        (
            {
                "model__type": "chatglm",
                "model__config_dtype": "float16",
                "packages__transformers": "4.48.3",
                "plan__load_dtype_argument": "torch_dtype",
            },
            None,
        ),
        ({"model__type": "llama", "model__config_dtype": "bfloat16", "packages__transformers": "4.57.1"}, None),
        (
            {
                "model__type": "llama",
                "model__config_dtype": "bfloat16",
                "packages__transformers": "4.57.1",
                "plan__load_dtype_argument": "none",
            },
            None,
        ),
        (
            {
                "model__type": "llama",
                "model__config_dtype": "bfloat16",
                "packages__transformers": "4.57.1",
                "plan__load_dtype_argument": "none",
                "model__remote_code": False,
            },
            "float32",
        ),
        (
            {
                "model__type": "llama",
                "model__config_dtype": "bfloat16",
                "packages__transformers": "4.57.1",
                "plan__arguments": ["bf16"],
                "model__remote_code": False,
            },
            "float32",
        ),
        (
            {
                "model__type": "llama",
                "model__config_dtype": "bfloat16",
                "packages__transformers": "5.0.0",
                "plan__load_dtype_argument": "none",
            },
            "bfloat16",
        ),
        ({"model__type": "llama", "packages__transformers": "5.0.0", "plan__load_dtype_argument": "none"}, None),
        (NATIVE, None),  # nobody says how it is loaded
        ({**NATIVE, "plan__load_dtype_argument": "torch_dtype", "plan__arguments": ["bf16"]}, None),
        ({**NATIVE, "plan__load_dtype_argument": "none", "packages__transformers": "4.40.2"}, "float32"),
        ({**NATIVE, "plan__load_dtype_argument": "none", "packages__transformers": "5.0.0"}, "bfloat16"),
        ({"model__type": "chatglm", "model__config_dtype": "float16", "packages__transformers": "5.0.0"}, None),
    ],
    ids=str,
)
def test_the_dtype_of_a_model_loaded_without_one(facts: Mapping[str, object], dtype: str | None) -> None:
    assert derived(stated(**facts), "plan.load_dtype") == dtype


def test_code_of_a_snapshot_chooses_for_itself() -> None:
    facts = {"model__type": "llama", "packages__transformers": "4.48.0", "packages__torch": "2.5.0", "plan__load_dtype_argument": "none"}
    assert derived(stated(**facts, model__remote_code=False), "plan.attn") == "sdpa"
    assert derived(stated(**facts, model__remote_code=True), "plan.attn") is None
    assert derived(stated(**facts, model__remote_code=True), "plan.load_dtype") is None
    assert derived(stated(model__type="chatglm", model__remote_code=False, packages__transformers="4.48.3"), "plan.load_dtype") is None


def test_auto_is_the_dtype_that_the_model_is_stored_in() -> None:
    facts = derive(stated(plan__load_dtype="auto", model__config_dtype="float16", model__dtype="bfloat16", packages__transformers="4.48.0"))
    assert facts["plan.load_dtype"] == Fact("plan.load_dtype", "float16", Origin("plan.toml: auto, as the model is stored", "plan.toml", 3))
    assert derived(stated(plan__load_dtype="auto", model__dtype="bfloat16"), "plan.load_dtype") == "bfloat16"
    assert derived(stated(plan__load_dtype="auto"), "plan.load_dtype") == "auto"


@pytest.mark.parametrize(
    ("facts", "quant"),
    [
        ({"plan__method": "qlora"}, "4bit"),
        ({"plan__method": "qlora", "plan__load_in_8bit": True}, "8bit"),
        ({"plan__load_in_4bit": True}, "4bit"),
        ({"plan__load_in_4bit": False}, None),
        ({"model__quant_method": "gptq"}, "gptq"),
        ({"model__quant_method": "bitsandbytes"}, None),
        ({"plan__arguments": ["fp16"]}, None),
        ({"plan__arguments": ["fp16"], "model__type": "llama"}, "none"),
        ({"plan__arguments": ["fp16"], "plan__method": "qlora"}, "4bit"),
        ({"plan__arguments": ["fp16"], "model__type": "llama", "plan__quantization_config": True}, None),
        ({"plan__arguments": ["fp16"], "model__quant_method": "awq"}, "awq"),
        ({"plan__method": "lora"}, None),
        *(({"model__quant_method": name}, name) for name in ("fp8", "hqq", "aqlm", "mxfp4", "torchao")),
        ({"plan__arguments": ["fp16"], "model__type": "llama", "model__quant_method": "bitsandbytes"}, None),
        ({"plan__arguments": ["fp16"], "model__type": "llama", "model__quant_method": "bitsandbytes", "model__path": "/x"}, None),
        ({"plan__arguments": ["fp16"], "model__type": "llama", "model__quant_method": "none"}, "none"),
        (
            {
                "model__type": "llama",
                "plan__quantization_config": False,
                "plan__load_in_4bit": False,
                "plan__load_in_8bit": False,
            },
            "none",
        ),
        ({"model__type": "llama", "plan__quantization_config": False, "plan__load_in_4bit": False}, None),
    ],
    ids=str,
)
def test_the_quantization(facts: Mapping[str, object], quant: str | None) -> None:
    assert derived(stated(**facts), "plan.quant") == quant


@pytest.mark.parametrize(
    ("facts", "stored"),
    [
        ({"model__path": "/models/x", "model__type": "llama"}, "none"),
        ({"model__type": "llama"}, None),
        ({"model__path": "/models/x"}, None),
        ({"model__path": "/models/x", "model__type": "llama", "model__quant_method": "gptq"}, "gptq"),
    ],
    ids=str,
)
def test_a_snapshot_that_was_read_and_tells_no_quantization_has_none(facts: Mapping[str, object], stored: str | None) -> None:
    assert derived(stated(**facts), "model.quant_method") == stored


@pytest.mark.parametrize(
    ("file", "quant", "argument"),
    [
        ("plan.yaml", "none", "none"),
        (None, "none", "none"),
        *((f"run.{ending}", None, None) for ending in ("py", "ipynb", "sh", "bash", "slurm", "sbatch", "zsh", "ksh")),
    ],
)
def test_what_a_program_leaves_out_is_no_default(file: str | None, quant: str | None, argument: str | None) -> None:
    arguments = Fact("plan.arguments", ("fp16",), Origin(file or "--set", file, 1))
    facts = stated(model__type="llama").with_facts([arguments])
    assert (derived(facts, "plan.quant"), derived(facts, "plan.load_dtype_argument")) == (quant, argument)


@pytest.mark.parametrize(
    ("facts", "name", "source"),
    [
        ({"plan__load_in_4bit": True}, "plan.quant", "load_in_4bit"),
        ({"plan__load_in_8bit": True}, "plan.quant", "load_in_8bit"),
        ({"plan__method": "qlora"}, "plan.quant", "QLoRA is LoRA on a 4-bit base"),
        ({"model__quant_method": "gptq"}, "plan.quant", "quantization_config of the snapshot"),
        ({"model__path": "/x", "model__type": "llama"}, "model.quant_method", "no quantization_config in the snapshot"),
        ({"plan__arguments": ["fp16"], "model__type": "llama"}, "plan.quant", "default of from_pretrained"),
        ({"plan__arguments": ["fp16"]}, "plan.load_dtype_argument", "no dtype in the plan"),
        ({"plan__batch_size": 1}, "plan.padding", "1 row in a batch"),
        ({"plan__batch_size": 2}, "plan.padding", "2 rows in a batch"),
        ({"plan__batch_size": 4, "plan__packing": True}, "plan.padding", "rows packed"),
        ({"plan__method": "lora"}, "plan.save", "a run of lora saves what it trained"),
        ({"plan__method": "lora"}, "plan.tokenize", "a run of lora tokenizes text"),
        ({"plan__method": "inference"}, "plan.generate", "inference generates"),
        ({"plan__method": "full", "plan__predict_with_generate": True}, "plan.generate", "predict_with_generate"),
        ({"plan__method": "lora", "packages__peft": "0.12.0"}, "plan.autocast_adapter_dtype", "default of peft 0.12.0"),
        ({"packages__torch": "2.5.0+cu118"}, "cuda", "label of torch 2.5.0+cu118"),
        ({"packages__torch": "2.5.0+cu118"}, "accelerator", "CUDA build of torch 2.5.0+cu118"),
        ({"packages__torch": "2.5.0+cpu"}, "accelerator", "label of torch 2.5.0+cpu"),
        (
            {"packages__torch": "2.8.0", "packages__nvidia-cuda-runtime-cu12": "12.8.90"},
            "cuda",
            "nvidia-cuda-runtime-cu12 12.8.90 beside torch 2.8.0",
        ),
        ({"gpu__compute_capability": "9.0"}, "accelerator", "a compute capability is an NVIDIA GPU's"),
        ({"gpu__name": "A100 80GB"}, "gpu.compute_capability", "known GPU A100 80GB"),
        ({"model__id": "zai-org/chatglm3-6b"}, "model.family", "the model's name"),
        ({"model__id": "zai-org/chatglm3-6b"}, "model.type", "the model's name"),
        ({"model__type": "chatglm"}, "model.remote_code", "no release of transformers knows model_type chatglm"),
        ({"plan__method": "lora", "packages__transformers": "4.31.0"}, "plan.optimizer", "default of transformers 4.31.0"),
        (
            {"plan__method": "lora", "packages__transformers": "4.54.0", "packages__torch": "2.8.0"},
            "plan.optimizer",
            "default of transformers 4.54.0 with torch 2.8.0",
        ),
        (
            {"model__type": "chatglm", "packages__transformers": "4.50.0"},
            "plan.load_dtype",
            "default of transformers 4.50.0 for ChatGLM remote code",
        ),
        (
            {"model__type": "chatglm", "packages__transformers": "4.48.3", "model__dtype": "float16"},
            "plan.load_dtype",
            "default of transformers 4.48.3 for ChatGLM remote code",
        ),
        (
            {"model__type": "llama", "model__remote_code": False, "packages__transformers": "4.57.1", "plan__load_dtype_argument": "none"},
            "plan.load_dtype",
            "default of transformers 4.57.1",
        ),
    ],
    ids=str,
)
def test_a_default_says_where_it_is_from(facts: Mapping[str, object], name: str, source: str) -> None:
    assert derive(stated(**facts))[name].origin == Origin(source)


@pytest.mark.parametrize("method", ["lora", "qlora", "dora", "rslora"])
def test_every_adapter_of_lora_is_made_in_float32_by_peft(method: str) -> None:
    assert derived(stated(plan__method=method, packages__peft="0.12.0"), "plan.autocast_adapter_dtype") == "true"


@pytest.mark.parametrize(
    ("facts", "padding"),
    [
        ({"plan__batch_size": 1}, "false"),
        ({"plan__batch_size": 2}, "true"),
        ({"plan__batch_size": 2, "plan__packing": True}, "false"),
        ({"plan__batch_size": 2, "plan__packing": False}, "true"),
        ({"plan__batch_size": 2, "plan__packing": "in part"}, None),
        ({"plan__batch_size": 1, "plan__eval_batch_size": 8}, "true"),
        ({"plan__batch_size": 1, "plan__eval_batch_size": 8, "plan__evaluate": False}, "false"),
        ({"plan__batch_size": "some"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_more_than_one_row_means_a_padding_mask(facts: Mapping[str, object], padding: str | None) -> None:
    assert derived(stated(**facts), "plan.padding") == padding


@pytest.mark.parametrize(
    ("torch", "cuda", "accelerator"),
    [
        ("2.5.0+cu118", "11.8", "cuda"),
        ("2.5.0+CU121", "12.1", "cuda"),
        ("2.13.0+cpu", None, "cpu"),
        ("2.5.0", None, None),
        ("2.5.0+cu1", None, None),
        ("2.5.0+cu", None, None),
        ("2.5.0+rocm6.2", None, "rocm"),
        ("2.8.0+xpu", None, "xpu"),
        ("2.8.0+own", None, None),
        (">=2.5", None, None),
    ],
)
def test_the_label_of_a_torch_build(torch: str, cuda: str | None, accelerator: str | None) -> None:
    facts = stated(packages__torch=torch)
    assert (derived(facts, "cuda"), derived(facts, "accelerator")) == (cuda, accelerator)


def test_a_torch_without_a_label_computes_on_the_cuda_that_is_stated() -> None:
    assert derived(stated(packages__torch="2.5.0", cuda="12.4"), "accelerator") == "cuda"
    assert derived(stated(packages__torch="2.5.0+rocm6.2", cuda="12.4"), "accelerator") == "rocm"
    assert derived(stated(cuda="12.4"), "accelerator") is None


def test_a_known_gpu_tells_what_it_is_and_implies_cuda() -> None:
    facts = derive(stated(gpu__name="8x NVIDIA A100-SXM4-80GB"))
    told = {name: shown(facts[name].value) for name in facts if name != "gpu.name"}
    assert told.pop("gpu.memory_gib").startswith(("79", "80"))
    assert told == {"gpu.vendor": "nvidia", "accelerator": "cuda", "gpu.compute_capability": "8.0", "gpu.count": "8"}
    assert derived(stated(gpu__compute_capability="9.0"), "accelerator") == "cuda"
    assert derived(stated(gpu__name="Apple M2 Max"), "accelerator") == "mps"


@pytest.mark.parametrize(
    ("identity", "family"),
    [
        ("zai-org/chatglm3-6b", "chatglm3"),
        ("THUDM/ChatGLM3-6B-32k", "chatglm3"),
        ("THUDM/chatglm2-6b-int4", "chatglm2"),
        ("THUDM/chatglm-6b", "chatglm"),
        ("zai-org/glm-4-9b-chat", "glm-4"),
        ("zai-org/glm-4-9b-chat-hf", None),
        ("zai-org/GLM-4-9B-0414", None),
        ("meta-llama/Llama-2-7b-hf", None),
    ],
)
def test_what_the_name_of_a_model_says(identity: str, family: str | None) -> None:
    facts = stated(model__id=identity)
    assert derived(facts, "model.family") == family
    own = {"zai-org/glm-4-9b-chat-hf": "glm", "zai-org/GLM-4-9B-0414": "glm4", "meta-llama/Llama-2-7b-hf": "llama"}
    assert derived(facts, "model.type") == (own.get(identity) if family is None else "chatglm")
    assert derived(facts, "model.remote_code") == ("false" if family is None else "true")
    assert derived(stated(model__id=identity, model__type="llama"), "model.family") is None
    assert derived(stated(model__id=identity, model__type="chatglm"), "model.family") == family


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"plan__method": "inference"}, {"plan.tokenize": "true", "plan.generate": "true", "plan.save": None}),
        (
            {"plan__method": "lora"},
            {"plan.tokenize": "true", "plan.save": "true", "plan.generate": None, "plan.autocast_adapter_dtype": None},
        ),
        ({"plan__method": "lora", "packages__peft": "0.11.1"}, {"plan.autocast_adapter_dtype": None}),
        ({"plan__method": "full", "packages__peft": "0.12.0"}, {"plan.autocast_adapter_dtype": None}),
        ({"plan__method": "lora", "packages__peft": "0.12.0"}, {"plan.autocast_adapter_dtype": "true"}),
        ({"plan__method": "full", "plan__predict_with_generate": True}, {"plan.generate": "true", "plan.autocast_adapter_dtype": None}),
        ({"plan__method": "full", "plan__predict_with_generate": False}, {"plan.generate": "false"}),
        ({"plan__method": "full", "plan__predict_with_generate": "maybe"}, {"plan.generate": None}),
        ({"plan__predict_with_generate": True}, {"plan.tokenize": None, "plan.generate": None}),
    ],
    ids=str,
)
def test_what_a_run_does(facts: Mapping[str, object], told: Mapping[str, str | None]) -> None:
    assert {name: derived(stated(**facts), name) for name in told} == told


SITUATIONS: Mapping[str, tuple[object, ...]] = {
    "packages.torch": ("2.1.0", "2.5.0+cu118", "2.8.0", "2.9.0+cpu", ">=2", False),
    "packages.transformers": ("4.31.0", "4.48.0", "4.50.0", "4.54.0", "5.0.0", "4.40.0.dev0", False),
    "gpu.name": ("A100", "RTX 4090 x2", "Apple M2", "unheard of", "auto"),
    "gpu.compute_capability": ("7.5",),
    "gpu.memory_gib": (10,),
    "gpu.count": (1,),
    "gpu.vendor": ("amd",),
    "accelerator": ("cpu", "npu"),
    "cuda": ("12.4", "new"),
    "model.id": ("zai-org/chatglm3-6b", "zai-org/glm-4-9b-chat"),
    "model.type": ("llama", "chatglm", "glm"),
    "model.family": ("other",),
    "model.remote_code": (True, False, "perhaps"),
    "model.config_dtype": ("float16", "auto"),
    "model.dtype": ("bfloat16",),
    "model.quant_method": ("gptq",),
    "plan.method": ("lora", "qlora", "full", "inference", "adalora"),
    "plan.quant": ("none", "8bit", "x"),
    "plan.load_in_4bit": (True,),
    "plan.load_dtype": ("float32", "auto", "x"),
    "plan.load_dtype_argument": ("none", "dtype"),
    "plan.arguments": (["fp16"],),
    "plan.optimizer": ("sgd",),
    "plan.optimizer_eps": (1e-6,),
    "plan.attn": ("eager", "auto"),
    "plan.batch_size": (1, 4),
    "plan.padding": (True, False),
    "plan.packing": (True,),
    "plan.tokenize": (False,),
    "plan.save": (False,),
    "plan.generate": (False,),
    "plan.predict_with_generate": (True,),
    "plan.autocast_adapter_dtype": (False,),
    "plan.eval_batch_size": (8,),
    "plan.evaluate": (False,),
}
situations = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in SITUATIONS.items()})


def made(situation: Mapping[str, object]) -> Facts:
    return Facts({name: Fact(name, parse_value(name, raw), Origin("stated")) for name, raw in situation.items()})


@given(situations)
def test_a_derived_fact_never_replaces_a_stated_one(situation: Mapping[str, object]) -> None:
    facts = made(situation)
    found = derive(facts)
    assert {name for name in facts if found[name] != facts[name]} <= {name for name in facts if facts.value(name) == "auto"}
    for name in set(found) - set(facts):
        assert term(name) is not None
        assert found[name].origin.source != "stated"


@given(situations)
def test_what_was_derived_derives_nothing_more(situation: Mapping[str, object]) -> None:
    once = derive(made(situation))
    assert derive(once) == once


@pytest.mark.parametrize(
    ("facts", "package"),
    [
        ({"model__type": "chatglm", "model__config_dtype": "float16", "plan__method": "lora", "packages__torch": "2.8.0"}, "transformers"),
        ({"model__type": "glm", "plan__load_dtype_argument": "none", "model__remote_code": False, "plan__method": "full"}, "transformers"),
        (
            {"model__type": "llama", "model__dtype": "bfloat16", "plan__load_dtype_argument": "none", "packages__torch": "2.7.0"},
            "transformers",
        ),
        ({"model__type": "llama", "plan__method": "lora", "packages__transformers": "4.57.1"}, "torch"),
    ],
    ids=str,
)
def test_every_release_at_which_a_default_turns_is_a_bound(facts: Mapping[str, object], package: str) -> None:
    turns: set[str] = set()
    for before, after in pairwise(releases(package)):
        one, other = (derive(stated(**{**facts, f"packages__{package}": release.version})) for release in (before, after))
        turned = {name for name in {*one, *other} - {f"packages.{package}"} if one.value(name) != other.value(name)}
        if turned:
            turns |= turned
            told_apart = [version_condition(bound) for bound in bounds(one)[package]]
            assert any(bound.admits(exact(before.version)) != bound.admits(exact(after.version)) for bound in told_apart), after.version
    assert turns
    assert turns <= SWAYED[package]


def test_a_model_adds_the_releases_at_which_it_became_known() -> None:
    """nezha went with transformers 5, Qwen2's tokenizer came with 4.37."""
    plain, with_type = bounds(stated())["transformers"], bounds(stated(model__type="nezha"))["transformers"]
    assert set(with_type) - set(plain) == {"<4.21.0", "<5.0.0"}
    with_class = bounds(stated(model__type="nezha", model__tokenizer_class="Qwen2Tokenizer"))["transformers"]
    assert set(with_class) - set(with_type) == {"<4.37.0"}
    assert set(bounds(stated(model__type="llama"))["transformers"]) >= {"<4.36"}  # since when it uses sdpa


def test_the_build_of_a_release_decides_what_computes() -> None:
    one, other = (derive(stated(packages__torch=f"2.5.0+{label}")) for label in ("cu118", "cpu"))
    turned = {name for name in {*one, *other} - {"packages.torch"} if one.value(name) != other.value(name)}
    assert turned == {"cuda", "accelerator", "builds"}
    assert turned < SWAYED["torch"]


@given(situations, st.sampled_from(["packages.torch", "packages.transformers"]), st.data())
def test_releases_that_no_bound_tells_apart_have_the_same_defaults(
    situation: Mapping[str, object], package: str, data: st.DataObject
) -> None:
    """What the remedies rely on: between two bounds nothing else is derived, and only the facts listed depend on a release."""
    name = package.removeprefix("packages.")
    known = [release.version for release in releases(name)]
    one, other = data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))
    first, second = (derive(made({**situation, package: version})) for version in (one, other))
    differ = {fact for fact in {*first, *second} - {package} if first.value(fact) != second.value(fact)}
    assert differ <= SWAYED[name]
    told_apart = [version_condition(bound) for bound in bounds(first)[name]]
    if all(bound.admits(exact(one)) == bound.admits(exact(other)) for bound in told_apart):
        assert differ == set()


@pytest.mark.parametrize(("trainer", "argument"), [("transformers", "none"), ("llamafactory", None)])
def test_a_plan_without_a_dtype_leaves_the_keyword_out_unless_its_tool_gives_one(trainer: str, argument: str | None) -> None:
    assert derived(stated(plan__arguments=["learning_rate"], plan__trainer=trainer), "plan.load_dtype_argument") == argument


@pytest.mark.parametrize(("runs", "module"), [("torchtune", "torchtune"), ("ms-swift", "swift"), ("axolotl", "axolotl")])
def test_a_framework_loads_itself(runs: str, module: str) -> None:
    told = derive(stated(plan__trainer=runs))
    assert (told.value("plan.script"), told.value("plan.code_uses")) == (True, (module,))
    assert derive(stated(plan__trainer=runs, plan__code_uses=("deepspeed",))).value("plan.code_uses") == ("deepspeed",)
    assert "plan.script" not in derive(stated(plan__trainer="trl"))


@pytest.mark.parametrize(
    ("told", "trusted"),
    [
        ({"plan__script": True, "plan__quantization_config": False}, False),
        ({"plan__script": True, "plan__quantization_config": False, "plan__trust_remote_code": True}, True),
        # A call that hands on what nobody sees, a script that may load more, a framework.
        ({"plan__script": True}, None),
        ({"plan__quantization_config": False}, None),
        ({"plan__trainer": "axolotl", "plan__quantization_config": False}, None),
    ],
)
def test_a_script_that_asks_for_no_code_of_the_snapshot_runs_none(told: dict[str, object], trusted: bool | None) -> None:
    assert derive(stated(**told)).value("plan.trust_remote_code") is trusted


@pytest.mark.parametrize(("label", "told"), [("cpu", "torch+cpu"), ("rocm6.2", "torch+rocm"), ("nv25.01", "torch+own"), ("cu124", None)])
def test_a_label_tells_another_build(label: str, told: str | None) -> None:
    assert derive(stated(packages__torch=f"2.6.0+{label}")).value("builds") == ((told,) if told else None)


def test_any_label_of_what_the_index_has_for_one_cuda_is_another_build() -> None:
    assert derive(stated(packages__autoawq="0.1.7+cu118")).value("builds") == ("autoawq+own",)
    assert derive(stated(packages__autoawq="0.1.7")).value("builds") is None


@pytest.mark.parametrize(
    ("release", "said", "told"),
    [
        ("2.6.0+cu118", {}, ("torch+cu11",)),
        ("2.6.0", {"cuda": "11.8"}, ("torch+cu11",)),
        ("2.9.0", {"cuda": "13.0"}, ("torch+cu13",)),
        ("2.6.0", {"cuda": "12.4", "os": "linux"}, None),
        ("2.6.0+cu124", {"os": "windows"}, ("torch+windows",)),
        ("2.6.0+cpu", {"os": "windows"}, ("torch+cpu", "torch+windows")),
        ("2.6.0", {"os": "macos"}, ("torch+macos",)),
        ("2.6.0", {}, None),
    ],
)
def test_a_torch_that_loads_no_packages_for_cuda_12(release: str, said: dict[str, object], told: tuple[str, ...] | None) -> None:
    assert derive(stated(packages__torch=release, **said)).value("builds") == told


@pytest.mark.parametrize(
    ("model", "release", "remote"),
    [
        ("deepseek-ai/DeepSeek-V3", "4.50.3", True),
        ("deepseek-ai/DeepSeek-V3", "4.51.0", None),
        ("allenai/Molmo2-8B", "5.0.0", True),
        # its repository has none any more
        ("microsoft/Phi-3-mini-4k-instruct", "4.40.2", None),
        ("Qwen/Qwen2.5-7B-Instruct", "4.30.2", False),
    ],
)
def test_a_release_without_the_class_runs_the_code_of_the_repository(model: str, release: str, remote: bool | None) -> None:
    assert derive(stated(model__id=model, packages__transformers=release)).value("model.remote_code") is remote


@pytest.mark.parametrize(
    ("said", "quant"),
    [
        ({"plan__load_in_4bit": False}, "none"),
        ({"plan__load_in_4bit": False, "plan__load_in_8bit": True}, "8bit"),
        ({"plan__load_in_4bit": False, "plan__quantization_config": True}, None),
        ({"plan__load_in_8bit": False}, None),
        # What a script leaves unclear its user may know.
        ({"plan__load_in_4bit": True, "plan__unclear": ["plan.quant"]}, "4bit"),
        ({"plan__load_in_4bit": False, "plan__unclear": ["plan.quant"]}, None),
    ],
)
def test_a_person_who_says_no_to_4_bit_means_no_8_bit_either(said: dict[str, object], quant: str | None) -> None:
    assert derived(stated(model__type="llama", **said), "plan.quant") == quant


def test_a_script_that_says_no_to_4_bit_may_ask_for_8_bit_in_a_way_that_is_not_read() -> None:
    origin = Origin("train.py", "train.py", 3)
    facts = Facts({"plan.load_in_4bit": Fact("plan.load_in_4bit", False, origin), "model.type": Fact("model.type", "llama", origin)})
    assert derived(facts, "plan.quant") is None


def test_the_name_of_a_model_whose_type_is_stated_says_the_rest() -> None:
    known = stated(model__id="meta-llama/Llama-3.1-8B", model__type="llama")
    assert (derived(known, "model.rope_type"), derived(known, "model.parameters")) == ("llama3", "7520000000")
    # It is another model than its name says.
    assert derived(stated(model__id="meta-llama/Llama-3.1-8B", model__type="qwen2"), "model.parameters") is None
