"""Facts of whole training scripts: what they state, on which line, and what they leave open."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Origin
from envdoctor.sources.plans.training_arguments import DEFAULTS
from envdoctor.sources.scripts.recognition import is_script
from envdoctor.sources.scripts.script import collect_script

from .situations import lines, read, told, values, write

QLORA = """
    import torch
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments

    MODEL = "mistralai/Mistral-7B-v0.1"

    def main():
        bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
        model = AutoModelForCausalLM.from_pretrained(
            MODEL,
            quantization_config=bnb,
            torch_dtype=torch.bfloat16,
            attn_implementation="flash_attention_2",
            device_map="auto",
        )
        model.config.use_cache = False
        tokenizer = AutoTokenizer.from_pretrained(MODEL, trust_remote_code=True)
        tokenizer.padding_side = "right"
        model = prepare_model_for_kbit_training(model)
        config = LoraConfig(r=16, lora_dropout=0.1, lora_alpha=2 * 16, target_modules=["q_proj", "v_proj"], modules_to_save=["lm_head"])
        model = get_peft_model(model, config, autocast_adapter_dtype=False)
        arguments = TrainingArguments(
            output_dir="out",
            per_device_train_batch_size=2,
            gradient_accumulation_steps=8,
            bf16=True,
            optim="paged_adamw_8bit",
            eval_strategy="no",
            gradient_checkpointing=True,
            gradient_checkpointing_kwargs={"use_reentrant": False},
        )
        trainer = Trainer(model=model, args=arguments, tokenizer=tokenizer, train_dataset=data())
        trainer.train(resume_from_checkpoint=True)
        model.config.use_cache = True
        print(model.generate(**tokenizer("Hello", return_tensors="pt")))

    if __name__ == "__main__":
        main()
"""


def test_a_whole_qlora_script(tmp_path: Path) -> None:
    path = write(tmp_path, QLORA)
    found = collect_script(path)
    assert values(found)["plan.whole"] is True
    assert {name: (value, lines(found)[name]) for name, value in values(found).items() if name in lines(found)} == {
        "model.id": ("mistralai/Mistral-7B-v0.1", 9),
        "plan.load_dtype_argument": ("torch_dtype", 12),
        "plan.load_dtype": ("bfloat16", 12),
        "plan.load_in_4bit": (False, 9),
        "plan.load_in_8bit": (False, 9),
        "plan.quantization_config": (True, 11),
        "plan.quant": ("4bit", 11),
        "plan.attn": ("flash_attention_2", 13),
        "plan.passes_config": (False, 9),
        "plan.distributed": ("device_map", 14),
        "plan.trust_remote_code": (True, 17),
        "plan.lora_r": (16, 20),
        "plan.lora_alpha": (32.0, 20),
        "plan.lora_dropout": (0.1, 20),
        "plan.lora_targets": (("q_proj", "v_proj"), 20),
        "plan.modules_to_save": (("lm_head",), 20),
        "plan.method": ("lora", 20),
        "plan.autocast_adapter_dtype": (False, 21),
        "plan.kbit_preparation": (True, 19),
        "plan.gradient_checkpointing": (True, 19),
        "plan.input_require_grads": (True, 19),
        "plan.batch_size": (2, 24),
        "plan.gradient_accumulation": (8, 25),
        "plan.bf16": (True, 26),
        "plan.optimizer": ("paged_adamw_8bit", 27),
        "plan.evaluate": (False, 28),
        "plan.gradient_checkpointing_kwargs": (True, 30),
        "plan.use_reentrant": (False, 30),
        "plan.arguments": (
            (
                "bf16",
                "eval_strategy",
                "gradient_accumulation_steps",
                "gradient_checkpointing",
                "gradient_checkpointing_kwargs",
                "optim",
                "output_dir",
                "per_device_train_batch_size",
            ),
            22,
        ),
        "plan.trainer": ("transformers", 32),
        "plan.framework_tokenizer_argument": (True, 32),
        "plan.resume": (True, 33),
        "plan.zero_init": (False, 9),
        "plan.use_cache": (False, 16),
        "plan.padding_side": ("right", 18),
        "plan.generate": (True, 35),
        "plan.script": (True, 1),
        "plan.code_uses": (
            (
                "peft",
                "peft.get_peft_model",
                "peft.prepare_model_for_kbit_training",
                "torch",
                "transformers",
                "transformers.AutoModelForCausalLM",
                "transformers.AutoModelForCausalLM.from_pretrained",
                "transformers.AutoModelForCausalLM.from_pretrained(attn_implementation=flash_attention_2, device_map=auto)",
                "transformers.AutoTokenizer",
                "transformers.AutoTokenizer.from_pretrained",
                "transformers.Trainer",
                "transformers.Trainer.train",
                "transformers.TrainingArguments",
            ),
            1,
        ),
    }
    assert found.skips == ()
    assert {fact.origin.file for fact in found.facts if fact.origin.file} == {str(path)}


def test_what_training_arguments_are_not_given_has_their_default(tmp_path: Path) -> None:
    found = read(tmp_path, "from transformers import TrainingArguments\nTrainingArguments('out', fp16=True)\n")
    stated = {fact.name: fact for fact in found.facts}
    assert stated["plan.fp16"].value is True
    for name, value in DEFAULTS:
        if name != "plan.fp16":
            assert stated[name] == Fact(name, value, Origin("default of TrainingArguments"))


def test_a_configuration_of_trl_has_its_own_defaults(tmp_path: Path) -> None:
    found = read(tmp_path, "from trl import SFTConfig\nSFTConfig('out')\n")
    stated = {fact.name for fact in found.facts}
    assert "plan.fp16" in stated
    assert not stated & {"plan.learning_rate", "plan.gradient_checkpointing", "plan.bf16", "plan.remove_unused_columns"}


def test_both_ways_to_ask_for_four_bits_at_once(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            from transformers import AutoModelForCausalLM, BitsAndBytesConfig
            AutoModelForCausalLM.from_pretrained("a/b", load_in_4bit=True, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
            """,
        )
    )
    assert (found["plan.load_in_4bit"], found["plan.quantization_config"], found["plan.quant"]) == (True, True, "4bit")


@pytest.mark.parametrize(
    ("config", "quant"),
    [
        ("GPTQConfig(bits=4)", "gptq"),
        ("AwqConfig()", "awq"),
        ("BitsAndBytesConfig(load_in_8bit=True)", "8bit"),
        ("Mxfp4Config(dequantize=True)", "mxfp4"),
        ("TorchAoConfig('int4_weight_only')", "torchao"),
    ],
)
def test_the_kind_of_a_quantization_config(tmp_path: Path, config: str, quant: str) -> None:
    kind = config.partition("(")[0]
    found = read(
        tmp_path,
        f"""
        from transformers import AutoModel, {kind}
        AutoModel.from_pretrained("a/b", quantization_config={config})
        """,
    )
    assert values(found)["plan.quant"] == quant


@pytest.mark.parametrize(
    ("behind", "dtype"),
    [
        (".half().cuda()", "float16"),
        (".float()", "float32"),
        (".to('cuda', torch.bfloat16)", "bfloat16"),
        (".cuda().to(dtype=torch.float16)", "float16"),
    ],
)
def test_a_cast_behind_the_load_wins_over_its_dtype(tmp_path: Path, behind: str, dtype: str) -> None:
    text = f"""
        import torch
        from transformers import AutoModel
        model = AutoModel.from_pretrained("a/b", torch_dtype=torch.float32, trust_remote_code=True){behind}
        """
    found = values(read(tmp_path, text))
    assert (found["plan.load_dtype"], found["plan.load_dtype_argument"]) == (dtype, "torch_dtype")


def test_a_cast_as_a_statement_of_its_own(tmp_path: Path) -> None:
    text = """
        from transformers import AutoModel
        model = AutoModel.from_pretrained("a/b")
        model = model.half()
        """
    found = read(tmp_path, text)
    assert (values(found)["plan.load_dtype"], lines(found)["plan.load_dtype"]) == ("float16", 3)


# --- what is not told ------------------------------------------------------------------------------


def test_a_setting_that_is_no_constant_is_said_with_its_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from transformers import AutoModelForCausalLM
        def load(name, dtype):
            return AutoModelForCausalLM.from_pretrained(name, torch_dtype=dtype)
        """,
    )
    found = collect_script(path)
    assert "plan.load_dtype" not in values(found)
    assert "model.id" not in values(found)
    assert values(found)["plan.load_dtype_argument"] == "torch_dtype"
    assert told(found, path) == ["train.py:3: plan.load_dtype is not told: torch_dtype= of no constant value on line 3"]


def test_two_branches_that_contradict_each_other_state_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        import torch
        from transformers import AutoModelForCausalLM
        if torch.cuda.is_available():
            model = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.float16)
        else:
            model = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.float32)
        """,
    )
    found = collect_script(path)
    assert values(found)["model.id"] == "a/b"
    assert "plan.load_dtype" not in values(found)
    assert told(found, path) == ["train.py:4: plan.load_dtype is not told: float16 on line 4, float32 on line 6"]


def test_a_quantization_that_one_branch_alone_asks_for(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from transformers import AutoModelForCausalLM
        if input():
            model = AutoModelForCausalLM.from_pretrained("a/b", load_in_8bit=True)
        else:
            model = AutoModelForCausalLM.from_pretrained("a/b")
        """,
    )
    found = collect_script(path)
    assert not {"plan.quant", "plan.load_in_8bit"} & values(found).keys()
    assert "train.py:3: plan.quant is not told: 8bit on line 3, not asked for on line 5" in told(found, path)


def test_what_is_done_behind_the_training_is_another_run(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            import torch
            from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
            tokenizer.padding_side = "right"
            model = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.bfloat16)
            trainer = Trainer(model, TrainingArguments("out"))
            trainer.train()
            merged = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.float16, load_in_8bit=True)
            tokenizer.padding_side = "left"
            merged.generate()
            """,
        )
    )
    assert (found["plan.load_dtype"], found["plan.load_in_8bit"], found["plan.padding_side"]) == ("bfloat16", False, "right")
    assert found["plan.generate"] is True
    assert "plan.quant" not in found


def test_a_branch_that_never_runs_says_nothing(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            from typing import TYPE_CHECKING
            from transformers import TrainingArguments
            FAST = False
            if TYPE_CHECKING:
                from huggingface_hub import HfFolder
            if FAST:
                TrainingArguments("out", fp16=True)
            else:
                TrainingArguments("out", fp16=False)
            """,
        )
    )
    assert found["plan.fp16"] is False
    assert found["plan.code_uses"] == ("transformers", "transformers.TrainingArguments")


def test_a_library_that_only_defines_functions_states_nothing_of_their_parameters(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        def train(batch_size=4, fp16=True, optim="adamw_torch", lora_r=8):
            return batch_size
        """,
    )
    assert (found.facts, found.skips) == ((), ())


def test_an_adapter_under_a_condition_leaves_the_method_open(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from peft import LoraConfig, get_peft_model
        def build(model, args):
            if args.lora:
                model = get_peft_model(model, LoraConfig(r=8))
            return model
        """,
    )
    found = collect_script(path)
    assert "plan.method" not in values(found)
    assert values(found)["plan.lora_r"] == 8
    assert told(found, path) == ["train.py:4: plan.method is not told: LoraConfig under a condition on line 4"]


def test_arguments_from_an_unknown_mapping_have_no_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "from transformers import TrainingArguments\nTrainingArguments('out', **load())\n")
    found = collect_script(path)
    assert values(found) == {"plan.script": True, "plan.code_uses": ("transformers", "transformers.TrainingArguments")}
    assert told(found, path) == ["train.py:2: the training arguments come from a ** that is not shown: give what fills them as well"]


# --- the method ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "method"),
    [("r=8", "lora"), ("r=8, use_dora=True", "dora"), ("r=8, use_rslora=True", "rslora"), ("r=8, use_dora=False", "lora")],
)
def test_the_kind_of_lora(tmp_path: Path, keywords: str, method: str) -> None:
    assert values(read(tmp_path, f"from peft import LoraConfig\nLoraConfig({keywords})\n"))["plan.method"] == method


def test_a_regular_expression_of_targets_is_no_list(tmp_path: Path) -> None:
    text = "from peft import LoraConfig\nLoraConfig(target_modules={!r})\n"
    assert values(read(tmp_path, text.format("all-linear")))["plan.lora_targets"] == ("all-linear",)
    assert "plan.lora_targets" not in values(read(tmp_path, text.format(r".*\.(q|v)_proj")))


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("from trl import DPOTrainer\nDPOTrainer(model, args=args)", "dpo"),
        ("from peft import PromptEncoderConfig\nPromptEncoderConfig()", "p-tuning"),
        ("from peft import IA3Config\nIA3Config(target_modules=['k_proj'])", "ia3"),
        ("from transformers import *\nm = AutoModel.from_pretrained('a/b')\nTrainer(m).train()", "full"),
        ("from transformers import AutoModel\nm = AutoModel.from_pretrained('a/b')\nm.chat(t, 'hi')", "inference"),
        ("from transformers import *\nm = AutoModel.from_pretrained('a/b')\nm.requires_grad_(False)\nTrainer(m)", None),
        ("from transformers import Trainer\nfrom mine import load\nTrainer(load())", None),
    ],
)
def test_what_is_trained(tmp_path: Path, text: str, method: str | None) -> None:
    assert values(read(tmp_path, text)).get("plan.method") == method


def test_inputs_that_nothing_makes_require_gradients(tmp_path: Path) -> None:
    text = """
        from transformers import AutoModel, Trainer, TrainingArguments
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(AutoModel.from_pretrained("a/b"), LoraConfig(r=8))
        Trainer(model, TrainingArguments("out", gradient_checkpointing=True)).train()
        """
    assert values(read(tmp_path, text))["plan.input_require_grads"] is False
    helped = text.replace("from peft", "from mine import prepare\n        from peft")
    assert "plan.input_require_grads" not in values(read(tmp_path, helped))
    called = text.replace("Trainer(model,", "model.enable_input_require_grads()\n        Trainer(model,")
    assert values(read(tmp_path, called))["plan.input_require_grads"] is True


# --- the environment, a loop of its own --------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "offline"),
    [
        ("os.environ['HF_HUB_OFFLINE'] = '1'", True),
        ("os.environ.setdefault('TRANSFORMERS_OFFLINE', 'true')", True),
        ("os.environ.update({'HF_HUB_OFFLINE': '0'})", False),
        ("os.environ['HF_HUB_OFFLINE'] = value", None),
        ("if x:\n    os.environ['HF_HUB_OFFLINE'] = '1'", None),
    ],
)
def test_offline(tmp_path: Path, line: str, offline: bool | None) -> None:
    assert values(read(tmp_path, f"import os\n{line}\n")).get("plan.offline") is offline


@pytest.mark.parametrize("decorator", ["torch.compile", 'torch.compile(mode="reduce-overhead")'])
def test_a_function_that_torch_compile_decorates_is_compiled(tmp_path: Path, decorator: str) -> None:
    assert (
        values(read(tmp_path, f"import torch\n@{decorator}\ndef step(x):\n    return x + 1\nstep(torch.ones(1))\n"))["plan.compile"] is True
    )


def test_a_loop_of_its_own(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            import torch
            from accelerate import Accelerator
            from torch.utils.data import DataLoader
            accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
            train_loader = DataLoader(rows, batch_size=3, shuffle=True)
            eval_loader = DataLoader(rows, batch_size=9)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, eps=1e-6)
            model = torch.compile(model)
            for batch in train_loader:
                accelerator.backward(model(**batch).loss)
            """,
        )
    )
    assert found == {
        "plan.compile": True,
        "plan.batch_size": 3,
        "plan.fp16": False,
        "plan.bf16": True,
        "plan.gradient_accumulation": 4,
        "plan.optimizer": "adamw_torch",
        "plan.optimizer_eps": 1e-6,
        "plan.learning_rate": 1e-4,
        "plan.loss_upcast": True,
        "plan.trainer": "own",
        "plan.code_uses": ("accelerate", "accelerate.Accelerator.backward", "torch"),
        "plan.script": True,
        # The model is made elsewhere.
        "plan.whole": True,
        "plan.unclear": (
            "plan.attn", "plan.double_quant", "plan.load_dtype", "plan.load_dtype_argument", "plan.load_in_4bit", "plan.load_in_8bit",
            "plan.quant",
        ),
    }  # fmt: skip


@pytest.mark.parametrize(("given", "optimizer"), [("torch.optim.SGD([], lr=1)", "sgd"), ("make()", None), ("None", "adafactor")])
def test_an_optimizer_that_the_trainer_is_given(tmp_path: Path, given: str, optimizer: str | None) -> None:
    asked = ", optim='adafactor'" if given == "None" else ""
    text = f"""
        import torch
        from transformers import Trainer, TrainingArguments
        Trainer(model, TrainingArguments("out"{asked}), optimizers=({given}, None))
        """
    assert values(read(tmp_path, text)).get("plan.optimizer") == optimizer


def test_a_deepspeed_configuration_that_lies_beside(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}', encoding="utf-8")
    found = read(tmp_path, "from transformers import TrainingArguments\nTrainingArguments('out', deepspeed='ds.json')\n")
    stated = values(found)
    assert (stated["plan.deepspeed"], stated["plan.distributed"], stated["plan.offload"]) == (True, "zero3", "parameters")
    path = write(tmp_path, "from transformers import TrainingArguments\nTrainingArguments('out', deepspeed='gone.json')\n")
    assert told(collect_script(path), path) == ["train.py:2: the DeepSpeed configuration gone.json was not found beside it"]


def test_a_stage_written_into_the_script(tmp_path: Path) -> None:
    text = "from transformers import TrainingArguments\nTrainingArguments('o', deepspeed={'zero_optimization': {'stage': 2}})\n"
    assert values(read(tmp_path, text))["plan.distributed"] == "zero2"


def test_unsloth(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            from unsloth import FastLanguageModel
            model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/gemma-2-2b", max_seq_length=2048, load_in_4bit=True)
            model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj"], use_gradient_checkpointing="unsloth")
            """,
        )
    )
    assert found == {
        "model.id": "unsloth/gemma-2-2b",
        "plan.seq_len": 2048,
        "plan.quant": "4bit",
        "plan.lora_r": 16,
        "plan.lora_targets": ("q_proj",),
        "plan.method": "lora",
        "plan.gradient_checkpointing": True,
        "plan.code_uses": ("unsloth",),
        "plan.script": True,
    }


def test_settings_of_the_model_that_the_trainer_loads(tmp_path: Path) -> None:
    found = values(
        read(
            tmp_path,
            """
            import torch
            from trl import GRPOConfig, GRPOTrainer
            loaded = {"torch_dtype": torch.float16, "attn_implementation": "sdpa"}
            args = GRPOConfig("out", use_vllm=True, max_completion_length=512, steps_per_generation=4, model_init_kwargs=loaded)
            GRPOTrainer(model="a/b", args=args, reward_funcs=[]).train()
            """,
        )
    )
    assert (found["model.id"], found["plan.load_dtype"], found["plan.attn"], found["plan.vllm"]) == ("a/b", "float16", "sdpa", True)
    assert (found["plan.method"], found["plan.trainer"]) == ("grpo", "trl")
    assert (found["plan.completion_len"], found["plan.generation_steps"]) == (512, 4)


# --- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("train.py", b"", True),
        ("TRAIN.PY", b"", True),
        ("run.ipynb", b"{}", True),
        ("run", b"#!/usr/bin/env python3\nprint()\n", True),
        ("run", b"#!/bin/sh\n", False),
        ("run", b"", False),
        ("plan.yaml", b"#!/usr/bin/env python\n", False),
    ],
)
def test_what_is_a_script(tmp_path: Path, name: str, data: bytes, expected: bool) -> None:
    (tmp_path / name).write_bytes(data)
    assert is_script(tmp_path / name) is expected


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert not is_script(tmp_path / "gone")
    with pytest.raises(EnvdoctorError, match="found No such file or directory; expected a Python script or a notebook"):
        collect_script(tmp_path / "gone.py")


def test_bytes_that_are_no_utf_8_are_said_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\ny = '\xe9'\n")
    with pytest.raises(EnvdoctorError, match="line 2, column 6: found the byte 0xe9"):
        collect_script(tmp_path / "a.py")


def test_windows_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbfimport os\r\n\r\nos.environ['HF_HUB_OFFLINE'] = '1'\r\n")
    found = collect_script(tmp_path / "a.py")
    assert lines(found) == {"plan.offline": 3, "plan.script": 1, "plan.code_uses": 3}


@pytest.mark.parametrize("text", ["print 'Python 2'\n", "match = (\n", "x = 08\n", "def f(:\n"])
def test_python_of_another_release_is_a_skip(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    found = collect_script(path)
    assert found.facts == ()
    (skip,) = told(found, path)
    assert skip.startswith("train.py:1: no Python 3 that can be parsed: ")


@pytest.mark.parametrize("path", ["/data/models/glm", "./chatglm3-6b", "../a/b", "output/run/checkpoint-3", "models/glm", "C:\\\\glm"])
def test_a_folder_is_no_repository(tmp_path: Path, path: str) -> None:
    found = values(read(tmp_path, f'from transformers import AutoModel\nm = AutoModel.from_pretrained("{path}")\n'))
    assert "model.id" not in found
    assert found["plan.load_dtype_argument"] == "none"


def test_of_a_folder_and_a_repository_neither_is_the_model(tmp_path: Path) -> None:
    script = """
        from transformers import AutoModelForCausalLM
        model = AutoModelForCausalLM.from_pretrained("./mine")
        judge = AutoModelForCausalLM.from_pretrained("org/judge-7b")
    """
    assert "model.id" not in values(read(tmp_path, script))


UNUSED = """
    from transformers import AutoModelForCausalLM, Trainer

    def load_small():
        return AutoModelForCausalLM.from_pretrained("org/small", load_in_8bit=True)

    def load():
        return AutoModelForCausalLM.from_pretrained("org/large")

    if __name__ == "__main__":
        Trainer(model=load()).train()
"""


def test_a_function_that_the_file_never_mentions_again_does_not_run(tmp_path: Path) -> None:
    found = values(read(tmp_path, UNUSED))
    assert (found["model.id"], found["plan.load_in_8bit"]) == ("org/large", False)


@pytest.mark.parametrize("mention", ["# load_small", "WAYS = ['load_small']", "fire.Fire()"])
def test_a_function_that_may_be_called_counts(tmp_path: Path, mention: str) -> None:
    found = values(read(tmp_path, f"{textwrap.dedent(UNUSED)}\n{mention}\n"))
    assert "model.id" not in found


def test_of_a_module_without_an_entry_every_function_counts(tmp_path: Path) -> None:
    found = values(read(tmp_path, "from transformers import AutoModel\ndef load():\n    return AutoModel.from_pretrained('org/a')\n"))
    assert found["model.id"] == "org/a"


def test_a_module_of_definitions_is_no_run_of_inference(tmp_path: Path) -> None:
    module = """
        from transformers import AutoModelForCausalLM

        class Judge:
            def __init__(self):
                self.model = AutoModelForCausalLM.from_pretrained("org/judge")

            def answer(self, text):
                return self.model.generate(text)
    """
    assert "plan.method" not in values(read(tmp_path, module))
    assert values(read(tmp_path, textwrap.dedent(module) + "\nJudge().answer('x')\n"))["plan.method"] == "inference"


def test_a_script_that_only_answers_has_no_trainer(tmp_path: Path) -> None:
    answers = "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('org/a')\nm.generate()\n"
    assert values(read(tmp_path, answers))["plan.trainer"] == "none"
    assert "plan.trainer" not in values(read(tmp_path, f"{answers}import helpers\nhelpers.train(m)\n"))


def test_an_object_of_the_files_own_class_generates_no_text(tmp_path: Path) -> None:
    script = """
        from transformers import AutoModel

        class Embedder:
            def __init__(self):
                self.model = AutoModel.from_pretrained("org/embedder")

            def generate(self, chunks):
                return self.model(chunks)

        if __name__ == "__main__":
            embedder = Embedder()
            embedder.generate(["a"])
    """
    found = values(read(tmp_path, script))
    assert "plan.method" not in found
    assert "plan.generate" not in found


def test_a_folder_called_after_a_family_tells_the_family(tmp_path: Path) -> None:
    found = values(read(tmp_path, 'from transformers import AutoModel\nm = AutoModel.from_pretrained("/data/chatglm2-6b")\n'))
    assert (found["model.family"], found["model.type"], "model.id" in found) == ("chatglm2", "chatglm", False)


def test_the_rows_of_a_validation_loader_are_not_the_trainings(tmp_path: Path) -> None:
    script = """
        import deepspeed
        from torch.utils.data import DataLoader

        val_loader = DataLoader(held_back, batch_size=1, shuffle=False)
        engine, _, train_loader, _ = deepspeed.initialize(model=model, training_data=rows)
        for batch in train_loader:
            engine.backward(engine(batch))
    """
    assert "plan.batch_size" not in values(read(tmp_path, script))
    assert values(read(tmp_path, script.replace("val_loader", "loader")))["plan.batch_size"] == 1


def test_four_bits_of_another_library_are_not_those_of_bitsandbytes(tmp_path: Path) -> None:
    script = "from ipex_llm.transformers import AutoModel\nm = AutoModel.from_pretrained('THUDM/chatglm3-6b', load_in_4bit=True)\n"
    found = values(read(tmp_path, script))
    assert not found.keys() & {"plan.quant", "plan.load_in_4bit"}


@pytest.mark.parametrize("name", ["ref_model", "model_ref", "self.ref_model", "teacher", "teacher_model"])
def test_a_model_beside_the_trained_one_says_nothing_of_the_run(tmp_path: Path, name: str) -> None:
    script = f"""
        import torch
        from transformers import AutoModelForCausalLM

        def make(self):
            model = AutoModelForCausalLM.from_pretrained("org/student", torch_dtype=torch.bfloat16)
            {name} = AutoModelForCausalLM.from_pretrained("org/other", torch_dtype="auto", load_in_8bit=True).eval()
    """
    found = values(read(tmp_path, script))
    assert (found["model.id"], found["plan.load_dtype"], found["plan.load_in_8bit"]) == ("org/student", "bfloat16", False)


def test_fields_of_a_class_of_the_file_are_no_arguments_of_the_library(tmp_path: Path) -> None:
    script = """
        from dataclasses import dataclass, field
        import transformers
        @dataclass
        class Own(transformers.Seq2SeqTrainingArguments):
            group_by_length: bool = field(default=True)
            warmup_ratio: float = 0.03
            lora_r: int = 8
        arguments = Own(output_dir="out", warmup_ratio=0.1, fp16=True)
    """
    assert values(read(tmp_path, script))["plan.arguments"] == ("fp16", "output_dir")


@pytest.mark.parametrize(("package", "stated"), [("transformers", "torch_dtype"), ("mamba_ssm", None), ("sentence_transformers", None)])
def test_the_dtype_keyword_is_that_of_classes_that_hand_it_on(tmp_path: Path, package: str, stated: str | None) -> None:
    script = f"from {package} import SomeModel\nm = SomeModel.from_pretrained('org/m', torch_dtype='float16')\n"
    assert values(read(tmp_path, script)).get("plan.load_dtype_argument") == stated


_CHOOSES = (
    "if version.parse(transformers.__version__) >= version.parse('4.41'):\n    a = A('o', fp16=True, eval_strategy='no')\n"
    "else:\n    a = A('o', fp16=True, evaluation_strategy='no')",
    "p = inspect.signature(A.__init__).parameters\nif 'eval_strategy' in p:\n    a = A('o', fp16=True, eval_strategy='no')\n"
    "else:\n    a = A('o', fp16=True, evaluation_strategy='no')",
    "try:\n    a = A('o', fp16=True, eval_strategy='no')\nexcept TypeError:\n    a = A('o', fp16=True, evaluation_strategy='no')",
    "def make():\n    new = hasattr(A, 'eval_strategy')\n    if new:\n        return A('o', fp16=True, eval_strategy='no')\n"
    "    return A('o', fp16=True, evaluation_strategy='no')\nmake()",
    "def make():\n    try:\n        return A('o', fp16=True, eval_strategy='no')\n    except TypeError:\n        pass\n"
    "    return A('o', fp16=True, evaluation_strategy='no')\nmake()",
    "def is_new():\n    return transformers.__version__ >= '4.41'\nk = {'fp16': True}\nif is_new():\n    k['eval_strategy'] = 'no'\n"
    "else:\n    k['evaluation_strategy'] = 'no'\na = A('o', **k)",
    "a = A('o', fp16=True)\na.evaluation_strategy = 'no'",
)


@pytest.mark.parametrize("body", _CHOOSES)
def test_an_argument_that_a_script_gives_some_releases_alone_is_none_that_fails(tmp_path: Path, body: str) -> None:
    head = "import inspect, transformers\nfrom packaging import version\nfrom transformers import TrainingArguments as A\n"
    assert values(read(tmp_path, head + body + "\n"))["plan.arguments"] == ("fp16",)


def test_an_argument_under_another_test_is_given(tmp_path: Path) -> None:
    script = """
        from transformers import TrainingArguments
        k = {}
        if len(rows) > 3:
            k["evaluation_strategy"] = "steps"
        a = TrainingArguments("o", **k)
    """
    assert values(read(tmp_path, script))["plan.arguments"] == ("evaluation_strategy",)
    script = """
        from transformers import TrainingArguments
        try:
            a = TrainingArguments("o", evaluation_strategy="steps")
        except ValueError as error:
            raise SystemExit(1) from error
    """
    assert values(read(tmp_path, script))["plan.arguments"] == ("evaluation_strategy",)


@pytest.mark.parametrize(
    "body",
    [
        "import torch\nfrom transformers import AutoModel\nAutoModel.from_pretrained('org/m')",
        "import os, json, numpy as np, yaml, cv2\nprint(np.ones(3))",
        "from transformers import AutoModel\nAutoModel.from_pretrained('org/m').eval()",
    ],
)
def test_a_script_that_shows_all_that_it_loads(tmp_path: Path, body: str) -> None:
    assert values(read(tmp_path, body + "\n"))["plan.script"] is True


@pytest.mark.parametrize(
    "body",
    [
        "from utils import train\ntrain()",
        "from .models import make\nmake()",
        "import subprocess\nsubprocess.run(['python', 'train.py'])",
        "import importlib\nimportlib.import_module(name).main()",
        "exec(open('train.py').read())",
        "import torch\nprint(eval('1 + 1'))",
    ],
)
def test_a_script_that_may_load_more_than_it_shows(tmp_path: Path, body: str) -> None:
    assert "plan.script" not in values(read(tmp_path, body + "\n"))


@pytest.mark.parametrize(
    ("loss", "upcast"),
    [
        ("model(**batch).loss", True),
        ("F.cross_entropy(model(batch['ids']).logits.flatten(0, 1), batch['labels'].flatten())", None),
        ("torch.nn.CrossEntropyLoss()(model(batch['ids']).logits.flatten(0, 1), batch['labels'].flatten()) + 0 * self.loss", None),
        ("criterion(model(batch['ids']))", None),
    ],
)
def test_a_loop_that_takes_the_models_own_loss_says_so(tmp_path: Path, loss: str, upcast: bool | None) -> None:
    text = f"import torch\nimport torch.nn.functional as F\nfor batch in loader:\n    loss = {loss}\n    loss.backward()\n"
    assert values(read(tmp_path, text)).get("plan.loss_upcast") == upcast


@pytest.mark.parametrize("package", ["lightning", "pytorch_lightning"])
def test_lightning_runs_a_loop_that_is_not_transformers(tmp_path: Path, package: str) -> None:
    assert values(read(tmp_path, f"import {package} as L\nL.Trainer(max_steps=3).fit(model, loader)\n"))["plan.trainer"] == "own"


@pytest.mark.parametrize(
    ("call", "padded"),
    [
        ('tokenizer(["a", "b c"], padding=True)', True),
        ('tokenizer(texts, padding="longest")', True),
        ('tokenizer("a", padding=True)', None),
        ('tokenizer(["a", "b c"])', None),
        ("tokenizer(given(), padding=True)", None),
    ],
)
def test_texts_that_are_filled_up_to_one_length(tmp_path: Path, call: str, padded: bool | None) -> None:
    text = f"""
        from transformers import AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        texts = ["a", "b"]
        {call}
    """
    told = {fact.name: fact.value for fact in read(tmp_path, text).facts}
    assert told.get("plan.padding") is padded


LOADED = """
    from transformers import AutoModel, Trainer, TrainingArguments
    from peft import LoraConfig, get_peft_model
    from mine import make_data, report
    model = AutoModel.from_pretrained("a/b")
    model = get_peft_model(model, LoraConfig(r=8))
    report("this makes requires_grad wrong")
    args = TrainingArguments("out", gradient_checkpointing=True)
    Trainer(model=model, args=args, **make_data()).train()
    """


@pytest.mark.parametrize(
    ("line", "stated"),
    [
        ("", True),
        ("print(model)", True),
        ("report(model)", False),
        ("model = report()", False),
        ("model.get_input_embeddings().register_forward_hook(report)", False),
        ("getattr(model, 'enable_input_require_grads')()", False),
        ("def prepare(model): pass", False),
    ],
)
def test_a_model_that_no_module_of_the_project_gets_is_what_the_file_makes_of_it(tmp_path: Path, line: str, stated: bool) -> None:
    found = values(read(tmp_path, LOADED.replace("    args =", f"    {line}\n    args =")))
    assert (found.get("plan.input_require_grads") is False) == stated
