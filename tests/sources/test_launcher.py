"""Facts of shell launchers: what their commands tell the runs."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, FactValue, NotUnderstood
from envdoctor.facts.uses import does
from envdoctor.facts.vocabulary import term
from envdoctor.sources.launches.launcher import collect_launcher, is_launcher, read_launcher
from envdoctor.sources.launches.script import read_script
from envdoctor.sources.scripts.kept import collect_script
from tests.examples import examples


def collect(folder: Path, text: str) -> Collected:
    path = folder / "train.sh"
    path.write_text(textwrap.dedent(text))
    return collect_launcher(path, read=collect_script)


def stated(found: Collected) -> dict[str, FactValue]:
    return {
        fact.name.removeprefix("plan."): fact.value
        for fact in found.facts
        if not fact.origin.source.startswith("default of") and not fact.name.startswith("packages.") and fact.name != "plan.arguments"
    }


def lines(found: Collected) -> dict[str, int | None]:
    return {fact.name.removeprefix("plan."): fact.origin.line for fact in found.facts}


def skips(found: Collected) -> list[tuple[str, str]]:
    return [(skip.what.rpartition("/")[2], skip.why) for skip in found.skips]


LAUNCHER = """
    #!/bin/bash
    # torchrun --nproc_per_node 9 main.py --fp16 False
    LR=2e-2; BATCH=${BATCH:-4}
    export HF_HUB_OFFLINE=1
    pip install "transformers==4.44.2" peft==0.12.0 -q
    ARGS=(--per_device_train_batch_size "$BATCH"
          --fp16 True)
    CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 main.py \\
        --do_train \\
        --pre_seq_len 128 --max_source_length 64 \\
        "${ARGS[@]}" \\
        --learning_rate $LR --deepspeed ds.json \\
        --no_remove_unused_columns \\
        --gradient_accumulation_steps $((8 / 2)) \\
        --output_dir "out/$1" > log.txt 2>&1 | tee log
"""


def test_a_launcher(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 2}}')
    found = collect(tmp_path, LAUNCHER)
    assert stated(found) == {
        "batch_size": 4,
        "fp16": True,
        "learning_rate": 0.02,
        "deepspeed": True,
        "deepspeed_optimizer": False,
        "deepspeed_fused_adam": False,
        "distributed": "zero2",
        "offload": "none",
        "max_grad_norm": 0.0,
        "remove_unused_columns": False,
        "gradient_accumulation": 4,
        "method": "prefix-tuning",
        "gpu.count": 2,
        "offline": True,
    }
    at = lines(found)
    names = ("batch_size", "fp16", "learning_rate", "remove_unused_columns", "gradient_accumulation", "offline", "gpu.count")
    assert [at[name] for name in names] == [7, 8, 13, 14, 15, 5, 9]
    defaults = {fact.origin.source for fact in found.facts if fact.origin.source.startswith("default of")}
    assert defaults == {"default of TrainingArguments"}
    assert skips(found) == []


def test_what_a_launcher_installs(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(textwrap.dedent(LAUNCHER) + "python3 -m pip install -r r.txt\nuv pip install torch==2.5.1\n")
    installs = read_launcher(tmp_path / "train.sh").installs
    assert [[argument.text for argument in (*install.request.wanted, *install.request.files)] for install in installs] == [
        ["transformers==4.44.2", "peft==0.12.0"],
        ["r.txt"],
        ["torch==2.5.1"],
    ]
    assert [install.line for install in installs] == [6, 17, 18]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --fp16 --bf16 False", {"fp16": True, "bf16": False, "method": None}),
        ("python train.py --fp16=True --optim=sgd", {"fp16": True, "optimizer": "sgd"}),
        ("BF=--bf16\npython train.py $BF --use_lora True --q_lora True", {"bf16": True, "method": "qlora"}),
        ("A='--fp16 True --optim sgd'\npython train.py $A", {"fp16": True, "optimizer": "sgd"}),
        ("A='--fp16 True'\npython train.py \"$A\"", {"fp16": None}),
        ("python train.py --fp16 '$X'", {"fp16": NotUnderstood("$X")}),
        ("python train.py --optim $1 --fp16", {"optimizer": NotUnderstood("$1"), "fp16": True}),
        ("python train.py --optim ${1:-sgd}", {"optimizer": "sgd"}),
        ("O=sgd\nif [ $1 ]; then O=adafactor; fi\npython t.py --optim $O", {"optimizer": NotUnderstood("$O")}),
        ("O=sgd\nwhile [ $1 ]; do case $1 in -o) O=$2;; esac; done\npython t.py --optim $O", {"optimizer": "sgd"}),
        ("for b in 1 2; do python t.py --per_device_train_batch_size $b; done", {"batch_size": NotUnderstood("$b")}),
        ("N=4\npython t.py --gradient_accumulation_steps $(expr 32 / $N / 2)", {"gradient_accumulation": 4}),
        ("bash -c 'python t.py --fp16 True'", {"fp16": True}),
        ("C='python t.py --fp16 True'\neval $C", {"fp16": True}),
        ("C=\"python t.py --optim sgd --output_dir $1 --fp16 True\"\neval $C", {"fp16": True, "optimizer": "sgd"}),
        ("A=(--optim sgd --output_dir $1)\npython t.py \"${A[@]}\"", {"optimizer": "sgd"}),
        ("A=()\npython t.py \"${A[@]}\" --optim sgd", {"optimizer": "sgd"}),
        ("O=sgd\nO[0]=adafactor\npython t.py --optim $O", {"optimizer": NotUnderstood("$O")}),
        ("bash <<EOF\npython t.py --fp16 True\nEOF", {"fp16": True}),
        ("(O=sgd; python t.py --optim $O)", {"optimizer": "sgd"}),
        ("O=sgd\n[ $1 ] && O=adafactor\npython t.py --optim $O", {"optimizer": NotUnderstood("$O")}),
        ("for ((i = 0; i < 3; i++)); do python t.py --fp16 True; done", {"fp16": True}),
        ("O=adamw_torch_fused\npython t.py --optim ${O%_*}", {"optimizer": "adamw_torch"}),
        ("srun --gres=gpu:1 -p x python t.py --fp16 True", {"fp16": True}),
        ("env HF_HUB_OFFLINE=1 python t.py --fp16 True", {"offline": True}),
        ("export HF_HUB_OFFLINE=0\npython t.py --fp16 True", {"offline": None}),
        (
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\npython t.py --fp16 True",
            {"code_uses": ("env:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",)},
        ),
        (
            "PYTORCH_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True python t.py --fp16 True",
            {"code_uses": ("env:PYTORCH_ALLOC_CONF=expandable_segments:True",)},
        ),
        ("export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\npython t.py --fp16 True", {"code_uses": None}),
        ("export DISABLE_VERSION_CHECK=1\npython t.py --fp16 True", {"code_uses": ("env:DISABLE_VERSION_CHECK=1",)}),
        ("DISABLE_VERSION_CHECK=true python t.py --fp16 True", {"code_uses": ("env:DISABLE_VERSION_CHECK=true",)}),
        ("DISABLE_VERSION_CHECK=$1 python t.py --fp16 True", {"code_uses": None}),
        ("WANDB_DISABLED=true python t.py --fp16 True", {"code_uses": ("env:WANDB_DISABLED=true",)}),
        ("export HF_HOME=$1/hf\npython t.py --fp16 True", {"code_uses": ("env:HF_HOME=...",)}),
        ("export HF_HOME=\npython t.py --fp16 True", {"code_uses": None}),
        ("torchrun --nproc_per_node 2 trainer.py", {"gpu.count": 2, "distributed": "ddp"}),
        ("torchrun --nproc_per_node 2 fsdp.py", {"gpu.count": 2, "distributed": "fsdp"}),
        ("torchrun --nproc_per_node 2 loop.py", {"gpu.count": 2, "distributed": None}),
        ("vllm serve Qwen/Qwen3-8B --port 1", {"code_uses": ("vllm",), "method": "inference", "model.id": "Qwen/Qwen3-8B"}),
        ("python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B", {"code_uses": ("vllm",), "model.id": "Qwen/Qwen3-8B"}),
        ("vllm bench", {"code_uses": ("vllm",)}),
        ("trl dpo --use_peft --model_name_or_path a", {"method": "lora", "objective": "dpo"}),
        ("trl sft --use_peft --model_name_or_path a", {"method": "lora", "objective": None}),
        ("swift rlhf --rlhf_type kto --tuner_type lora --model a", {"method": "lora", "objective": "kto"}),
        ("swift rlhf --tuner_type lora --model a", {"method": "lora", "objective": "dpo"}),
        ("swift rlhf --tuner_type full --model a", {"method": "dpo"}),
        ("swift dpo --sft_type lora --model_type a", {"method": "lora", "objective": "dpo"}),
        ("export CUDA_VISIBLE_DEVICES=3\npython t.py --fp16 True", {"gpu.count": 1, "distributed": "none"}),
        ("CUDA_VISIBLE_DEVICES= python t.py --fp16 True", {"accelerator": "cpu", "gpu.count": None}),
        ("python -m torch.distributed.launch --nproc_per_node 8 t.py --per_device_train_batch_size 1",
         {"gpu.count": 8, "distributed": "ddp"}),
        # A script of its own may shard the model, and a DeepSpeed configuration that is not there decides how ranks share.
        ("torchrun --nproc_per_node 8 t.py --enable_fsdp --use_peft --peft_method lora", {"distributed": None, "method": "lora"}),
        ("torchrun --nproc_per_node 8 t.py --output_dir x --bf16 --deepspeed not-there.json", {"deepspeed": True, "distributed": None}),
        ("torchrun --nproc_per_node 8 t.py --output_dir x --bf16 --deepspeed $DS/z.json", {"deepspeed": True, "distributed": None}),
        # What scripts with their own loop leave out has no default of TrainingArguments.
        ("deepspeed main.py --per_device_train_batch_size 1 --num_warmup_steps 0 --zero_stage 2 --deepspeed",
         {"batch_size": 1, "deepspeed": None, "bf16": None, "save": None, "arguments": None}),
        ("python infer.py --use_lora True --lora_weights x", {"method": None}),
        ("python web_demo.py --lora_rank 8", {"method": None}),
        ("python t.py --use_peft --use_adalora --lora_alpha 32", {"method": None}),
        ("python t.py --use_peft --peft_method prefix", {"method": None}),
        ("python t.py --model_name_or_path THUDM/chatglm3-6b --fp16 True", {"model.id": "THUDM/chatglm3-6b"}),
        ("python t.py --model_name_or_path ../models/chatglm3-6b --fp16 True", {"model.id": None}),
        ("python src/train_bash.py --stage sft --model_name_or_path a/b --flash_attn", {"attn": "flash_attention_2", "model.id": "a/b"}),
        ("torchrun --nnodes 2 --nproc-per-node 8 t.py --fp16 True --output_dir x", {"gpu.count": 16, "distributed": "ddp"}),
        ("torchrun --nnodes $N --nproc_per_node 8 t.py --fp16 True", {"gpu.count": None, "distributed": None}),
        ("deepspeed --num_gpus=3 t.py --fp16 True", {"gpu.count": 3, "distributed": None}),
        ("deepspeed --include localhost:0,1 --master_port 1 t.py --fp16 True", {"gpu.count": 2}),
        ("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=a100:4  # four\nsrun python t.py --fp16 True", {"gpu.count": 8}),
        ("accelerate launch --multi_gpu --num_processes 4 --mixed_precision bf16 t.py --optim sgd",
         {"gpu.count": 4, "distributed": "ddp", "bf16": True, "optimizer": "sgd"}),
        ("accelerate launch --use_deepspeed --zero_stage 3 --offload_optimizer_device cpu t.py",
         {"deepspeed": True, "distributed": "zero3", "offload": "optimizer"}),
        ("swift sft --model x --tuner_type lora --dataset a \\\n  b --quant_method bnb --quant_bits 4 --deepspeed zero2",
         {"method": "lora", "quant": "4bit", "distributed": "zero2", "trainer": "ms-swift"}),
        ("NPROC_PER_NODE=4 swift sft --tuner_type full", {"gpu.count": 4, "distributed": "ddp", "method": "full"}),
        ("megatron sft --tuner_type full --micro_batch_size 2", {"distributed": "megatron", "batch_size": 2}),
        ("torchrun --nproc_per_node 2 llm_sft.py --sft_type lora --batch_size 3", {"batch_size": 3, "trainer": "ms-swift"}),
        ("llamafactory-cli train --stage sft --finetuning_type full --fp16 true", {"method": "full", "trainer": "llamafactory"}),
        ("llamafactory-cli webui", {"trainer": "llamafactory", "method": None}),
        ("lmf export merge.yaml", {"trainer": "llamafactory", "method": None}),
        ("API_PORT=8000 llamafactory-cli api --model_name_or_path a/b", {"trainer": "llamafactory", "method": "inference"}),
        ("llamafactory-cli version", {"trainer": None}),
        ("python src/train_bash.py --stage sft --finetuning_type lora --lora_rank 4", {"lora_r": 4, "trainer": "llamafactory"}),
        ("trl sft --use_peft --lora_r 16 --load_in_4bit --bf16", {"method": "lora", "quant": "4bit", "trainer": "trl", "bf16": True}),
        ("tune run --nproc_per_node 2 lora_finetune_distributed --config llama3/8B_lora",
         {"gpu.count": 2, "distributed": "fsdp", "trainer": "torchtune"}),
        ("python t.py --gradient_checkpointing_kwargs '{\"use_reentrant\": false}' --bf16 True", {"use_reentrant": False}),
        ("python t.py --do_predict --fp16 True --output_dir x", {"method": "inference"}),
        ("python t.py --lora_r 8 --fp16 True", {"method": "lora", "lora_r": 8}),
        ("python t.py --lora_r 8 --use_lora False --fp16 True", {"method": None}),
        ("python t.py --deepspeed --deepspeed_config ds.json", {"deepspeed": True, "distributed": "zero1"}),
        ("cat <<EOF > x\npython t.py --fp16 True\nEOF\npython t.py --bf16 True", {"fp16": None, "bf16": True}),
    ],
)  # fmt: skip
def test_one_command(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 1}}')
    trainer = "from transformers import Trainer, TrainingArguments\nTrainer('m', TrainingArguments('out'%s)).train()\n"
    (tmp_path / "trainer.py").write_text(trainer % "")
    (tmp_path / "fsdp.py").write_text(trainer % ", fsdp='full_shard'")
    (tmp_path / "loop.py").write_text("import torch\ntorch.randn(2, requires_grad=True).sum().backward()\n")
    found = stated(collect(tmp_path, text + "\n"))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trl grpo --model_name_or_path a --max_prompt_length 9", ("max_prompt_length",)),
        ("trl sft --config sft.yaml --bf16", ("bf16", "max_seq_length", "output_dir")),
        ("trl sft --config absent.yaml --bf16", ("bf16",)),
    ],
)
def test_what_a_command_of_trl_is_given(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    (tmp_path / "sft.yaml").write_text("model_name_or_path: a\nmax_seq_length: 9\noutput_dir: o\n")
    assert {fact.name: fact.value for fact in collect(tmp_path, text + "\n").facts}["plan.arguments"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "trl grpo --model_name_or_path a --use_vllm --vllm_mode colocate",
        "trl grpo --config recipe.yaml",
        "accelerate launch grpo.py --config recipe.yaml",
        "python grpo.py --vllm_mode colocate --use_vllm true",
    ],
)
def test_the_configuration_of_trl_that_a_command_makes(tmp_path: Path, text: str) -> None:
    parser = "from trl import GRPOConfig, ModelConfig, ScriptArguments, TrlParser\nTrlParser((ScriptArguments, GRPOConfig, ModelConfig))\n"
    (tmp_path / "grpo.py").write_text(parser)
    (tmp_path / "recipe.yaml").write_text("model_name_or_path: a\noutput_dir: o\nnum_generations: 4\nuse_vllm: true\nvllm_mode: colocate\n")
    uses = stated(collect(tmp_path, text + "\n"))["code_uses"]
    assert isinstance(uses, tuple)
    assert does(("trl.GRPOConfig(use_vllm=True)",), uses)
    assert does(("trl.GRPOConfig(vllm_mode=colocate)",), uses)


@pytest.mark.parametrize(
    "text",
    ["swift deploy --model x", "python setup.py", "echo python t.py --fp16 True", "bash train.sh --fp16 True", "", "# python t.py --fp16"],
)
def test_what_starts_no_known_run(tmp_path: Path, text: str) -> None:
    found = collect(tmp_path, text)
    assert (found.facts, skips(found)) == ((), [("train.sh", "no command in it starts a training run that is known")])


def test_defaults_come_with_telling_flags_only(tmp_path: Path) -> None:
    few = collect(tmp_path, "python t.py --learning_rate 1e-4\n")
    assert [fact.name for fact in few.facts] == ["plan.learning_rate"]
    more = collect(tmp_path, "python t.py --learning_rate 1e-4 --fp16 True --output_dir x\n")
    assert {fact.name: fact.value for fact in more.facts}["plan.batch_size"] == 8
    added = collect(tmp_path, 'python t.py --fp16 True --output_dir x "$@"\n')
    assert "plan.batch_size" not in {fact.name for fact in added.facts}
    assert skips(added) == [("train.sh:1", "$@ adds arguments when the run starts: what is left out here is unknown")]


def test_commands_that_contradict_each_other_give_no_fact(tmp_path: Path) -> None:
    found = collect(tmp_path, "python t.py --fp16 True --optim sgd\n\npython t.py --fp16 False --optim sgd --tf32 True\n")
    assert stated(found) == {"optimizer": "sgd", "tf32": True}
    assert skips(found) == [("train.sh:3", "the commands on lines 1 and 3 differ in fp16: give the one that is meant with --set")]


def test_plans_that_a_command_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "cfg.yml").write_text("base_model: x\nadapter: lora\nmicro_batch_size: 2\n")
    (tmp_path / "acc.yaml").write_text("num_machines: 1\ndistributed_type: FSDP\nnum_processes: 4\nmixed_precision: bf16\n")
    (tmp_path / "lf.yaml").write_text("stage: sft\nfinetuning_type: lora\ntemplate: x\nfp16: true\n")
    own = 'D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n'
    axolotl = collect(tmp_path, f"{own}accelerate launch -m axolotl.cli.train $D/cfg.yml\n")
    assert (stated(axolotl)["trainer"], stated(axolotl)["batch_size"]) == ("axolotl", 2)
    by_itself = stated(collect(tmp_path, "axolotl train cfg.yml\n"))
    assert {**by_itself, "code_uses": ("$ accelerate launch",)} == stated(axolotl)
    assert stated(collect(tmp_path, "llamafactory-cli train lf.yaml\n"))["fp16"] is True
    both = collect(tmp_path, "accelerate launch --config_file acc.yaml run_sft.py lf.yaml --fp16 False\n")
    assert {name: stated(both)[name] for name in ("distributed", "gpu.count", "bf16", "fp16")} == {
        "distributed": "fsdp", "gpu.count": 4, "bf16": True, "fp16": False,
    }  # fmt: skip
    origin = {fact.name: fact.origin for fact in both.facts}
    assert str(origin["plan.distributed"].file).endswith("acc.yaml")
    assert str(origin["plan.fp16"].file).endswith("train.sh")


def test_a_plan_that_is_not_there_is_a_skip(tmp_path: Path) -> None:
    assert skips(collect(tmp_path, "axolotl train no.yml\n")) == [("train.sh:1", "no.yml: the plan of axolotl is not beside the script")]


@pytest.mark.parametrize(
    "command",
    [
        "llamafactory-cli train no.yaml",
        "axolotl train no.yml --x 1",
        "accelerate launch --config_file no.yaml train.py --bf16 True",
        "llamafactory-cli webui",
    ],
)
def test_settings_that_are_elsewhere_have_no_defaults(tmp_path: Path, command: str) -> None:
    found = {fact.name: fact.value for fact in collect(tmp_path, command + "\n").facts}
    assert found["plan.whole"] is False
    later = collect(tmp_path, "axolotl train $1/no.yml\n")
    assert skips(later) == [("train.sh:1", "$1/no.yml: the plan of axolotl is named when the run starts")]


def test_here_documents_and_open_quotes_are_said(tmp_path: Path) -> None:
    found = collect(tmp_path, "python - <<'PY'\nprint()\nPY\npython t.py --fp16 True\necho 'oops\n")
    assert stated(found) == {"fp16": True}
    unread = "not understood as shell from here: a quote ' is never closed"
    assert skips(found) == [("train.sh:2", "a here-document is not read"), ("train.sh:5", unread)]


def test_which_files_are_launchers(tmp_path: Path) -> None:
    for name, content in (("a.sh", ""), ("b.slurm", ""), ("job", "#!/usr/bin/env bash\n"), ("run", "#!/bin/sh -e\n")):
        (tmp_path / name).write_text(content)
        assert is_launcher(tmp_path / name), name
    for name, content in (("a.py", "#!/bin/bash\n"), ("b", "#!/usr/bin/env python\n"), ("c", "text"), ("d", "")):
        (tmp_path / name).write_text(content)
        assert not is_launcher(tmp_path / name), name
    assert not is_launcher(tmp_path / "absent")


def test_files_that_are_no_script(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"echo\n\0")
    with pytest.raises(EnvdoctorError, match="a NUL byte") as caught:
        collect_launcher(tmp_path / "a.sh")
    assert caught.value.place.endswith("a.sh, line 2")
    with pytest.raises(EnvdoctorError, match="No such file"):
        collect_launcher(tmp_path / "absent.sh")
    with (tmp_path / "large.sh").open("wb") as stream:
        stream.truncate(2**18 + 1)
    with pytest.raises(EnvdoctorError, match="more than the 262144 that are read"):
        collect_launcher(tmp_path / "large.sh")


def test_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"python t.py \\\r\n  --fp16 True \\\r\n  --optim sgd\r\n")
    found = collect_launcher(tmp_path / "a.sh")
    assert (stated(found), lines(found)["optimizer"]) == ({"fp16": True, "optimizer": "sgd"}, 3)


words = st.text(st.characters(codec="ascii", exclude_characters="\0\r"), min_size=1, max_size=12)


@settings(max_examples=examples(200))
@given(st.lists(words, max_size=6))
def test_words_are_those_of_the_shell(values: list[str]) -> None:
    """shlex.join writes what a shell reads back as the same words."""
    script = read_script(f"python t.py {shlex.join(values)}\n")
    [launch] = script.launches
    assert [piece.text for piece in launch.arguments] == values
    assert all(piece.known for piece in launch.arguments)


@settings(max_examples=examples(150))
@given(st.dictionaries(st.sampled_from(["fp16", "optim", "learning_rate", "tf32", "lora_r", "seed"]), st.integers(1, 3), min_size=1))
def test_every_flag_has_the_line_that_it_stands_on(gaps: dict[str, int]) -> None:
    text, expected, line = "python t.py", {}, 1
    for name, gap in gaps.items():
        text += " \\\n" * gap + f" --{name} 1"
        line += gap
        expected[name] = line
    [launch] = read_script(text).launches
    assert {piece.text[2:]: piece.line for piece in launch.arguments if piece.text.startswith("--")} == expected


FRAGMENTS = (
    "python t.py", " --fp16 ", "$A", "A=(", ")", "\n", "<<E", "E\n", "if ", "fi;", "${A:-", "}", "$((", "))", "'", '"', "A=1\n", "\\\n",
    "torchrun ", "--nproc_per_node ", "2 ", "accelerate launch ", "eval ", "swift sft ", "--deepspeed ", "pip install ", "case x in ",
)  # fmt: skip


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab=$(){}[]<>|&;'\"\\`# \n-1+*!@:", max_size=60) | st.lists(st.sampled_from(FRAGMENTS)).map("".join))
def test_any_text_is_read_or_skipped(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.sh"
    path.write_text(text)
    found = read_launcher(path)
    assert found.collected.facts or found.collected.skips or found.installs
    for fact in found.collected.facts:
        assert term(fact.name) is not None
        assert str(fact.value).isprintable()
        assert fact.origin.line is not None or fact.origin.source.startswith("default of") or fact.name == "plan.arguments"


def test_what_it_installs_is_stated_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("set -e\npip install -q 'peft>=0.7,<0.8' transformers==4.36.2 \\\n  -r requirements.txt\npython train.py --fp16 True\n")
    found = collect_launcher(path)
    assert [(fact.name, str(fact.value), fact.origin.line) for fact in found.facts if fact.name.startswith("packages.")] == [
        ("packages.peft", "<0.8,>=0.7", 2),
        ("packages.transformers", "4.36.2", 2),
    ]
    assert [skip.what for skip in found.skips if "requirements.txt" in skip.why] == [f"{path}:3"]


def test_what_is_installed_under_a_condition_is_not_stated(tmp_path: Path) -> None:
    script = "pip install peft==0.11.0\nif [ $CUDA = 13 ]; then\n  pip install torch==2.9.0\nelse\n  pip install torch==2.4.0\nfi\n"
    (tmp_path / "run.sh").write_text(script)
    found = collect_launcher(tmp_path / "run.sh")
    assert [fact.name for fact in found.facts] == ["packages.peft"]
    assert [skip.why for skip in found.skips] == [
        "pip install torch==2.9.0: under a condition, in a loop or in a function",
        "pip install torch==2.4.0: under a condition, in a loop or in a function",
    ]


@pytest.mark.parametrize(
    ("line", "stated", "skipped"),
    [
        ("sudo -H pip install peft==0.12.0", ["packages.peft"], []),
        ("pip install --index-url $URL peft==0.12.0", ["packages.peft"], []),
        ("(cd x; pip install peft==0.12.0)", ["packages.peft"], []),
        ("setup() { pip install peft==0.12.0; }", [], ["pip install peft==0.12.0: under a condition, in a loop or in a function"]),
        ("pip show peft || pip install peft", [], ["pip install peft: under a condition, in a loop or in a function"]),
        ("pip install peft==$V", [], ["pip install peft==$V: it names a variable"]),
        ("pip install -e .", [], ["pip install -e .: give that project as a target of its own"]),
        ("pip install peft>=0.10", ["packages.peft"], ["pip install ...>=0.10: without quotes the shell takes > for a redirection"]),
        ("pip install peft==0.12.0 > log.txt 2>&1", ["packages.peft"], []),
    ],
)
def test_one_install(tmp_path: Path, line: str, stated: list[str], skipped: list[str]) -> None:
    found = collect(tmp_path, f"{line}\n")
    assert [fact.name for fact in found.facts] == stated
    assert [skip.why for skip in found.skips] == skipped


@pytest.mark.parametrize(
    ("main", "own"),
    [
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr')\n", True),
        ("from transformers import HfArgumentParser, TrainingArguments\np = HfArgumentParser(TrainingArguments)\n", False),
        ("from project.train import main\nmain()\n", False),
    ],
)
@pytest.mark.parametrize("start", ["python -m main", "python main.py", "torchrun --nproc_per_node=2 -m main"])
def test_flags_of_a_parser_of_its_own_are_no_training_arguments(tmp_path: Path, start: str, main: str, own: bool) -> None:
    (tmp_path / "main.py").write_text(main)
    flags = "--output_dir o --warmup_ratio 0.1 --logging_dir x --per_device_train_batch_size 2 --learning_rate 1e-4"
    found = {fact.name for fact in collect(tmp_path, f"{start} {flags}\n").facts}
    assert ("plan.arguments" not in found) is own


TRAINS = """
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--base", default="Qwen/Qwen2-7B")
parser.add_argument("--rank", type=int, default=8)
options = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(options.base, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
model = get_peft_model(model, LoraConfig(r=options.rank))
Trainer(model=model, args=TrainingArguments("out", bf16=True), train_dataset=None).train()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python t.py", {"quant": "8bit", "method": "lora", "bf16": True, "model.id": "Qwen/Qwen2-7B", "lora_r": 8}),
        ("accelerate launch t.py --rank 16", {"quant": "8bit", "model.id": "Qwen/Qwen2-7B", "lora_r": 16}),
        ("accelerate launch --use_fsdp --fsdp_version 2 t.py", {"quant": "8bit", "distributed": "fsdp", "fsdp_version": 2}),
        ("accelerate launch t.py --base Qwen/Qwen2.5-7B", {"quant": "8bit", "model.id": "Qwen/Qwen2.5-7B", "lora_r": 8}),
        ("python t.py --base $BASE --rank many", {"quant": "8bit", "model.id": None, "lora_r": None}),
        ("python t.py --rank 16 $@", {"quant": "8bit", "model.id": None, "lora_r": None}),
        ("python t.py options.yaml", {"quant": "8bit", "model.id": None, "lora_r": None}),
        ("accelerate launch t.py\npython merge.py --fp16 True", {"quant": None, "method": "lora", "trainer": "transformers"}),
        ("python data.py\naccelerate launch t.py", {"quant": "8bit", "model.id": "Qwen/Qwen2-7B"}),
    ],
)  # fmt: skip
def test_what_the_script_shows_that_a_command_starts(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    (tmp_path / "t.py").write_text(TRAINS)
    (tmp_path / "data.py").write_text("import datasets\ndatasets.load_dataset('a').save_to_disk('b')\n")
    found = {fact.name.removeprefix("plan."): fact.value for fact in collect(tmp_path, text + "\n").facts}
    assert {name: found.get(name) for name in expected} == expected


GIVEN = """
import argparse
from dataclasses import dataclass, field
from typing import Optional
from transformers import HfArgumentParser, TrainingArguments, Trainer
@dataclass
class Settings:
    steps: Optional[int] = field(default=1)
    half: bool = field(default=False)
    names: str = "a"
p = HfArgumentParser(Settings)
settings, = p.parse_args_into_dataclasses()
q = argparse.ArgumentParser()
q.add_argument("--no-brain", dest="brain", action="store_false")
q.add_argument("--batch", default=1, type=int)
q.add_argument("--ids", nargs="+")
args, _ = q.parse_known_args()
Trainer(None, TrainingArguments(
    "o", gradient_accumulation_steps=settings.steps, fp16=settings.half, per_device_train_batch_size=args.batch, optim=settings.names))
"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"gradient_accumulation": 1, "fp16": False, "batch_size": 1, "optimizer": "a"}),
        ("--steps 4 --half --batch 2", {"gradient_accumulation": 4, "fp16": True, "batch_size": 2, "optimizer": "a"}),
        ("--steps=4 --half False --names b", {"gradient_accumulation": 4, "fp16": False, "batch_size": 1, "optimizer": "b"}),
        ("--steps four --half perhaps --batch 2 3", {"gradient_accumulation": None, "fp16": None, "batch_size": None, "optimizer": "a"}),
    ],
)
def test_flags_that_fill_the_settings_of_a_script(tmp_path: Path, flags: str, expected: dict[str, FactValue | None]) -> None:
    (tmp_path / "t.py").write_text(GIVEN)
    found = {fact.name.removeprefix("plan."): fact.value for fact in collect(tmp_path, f"python t.py {flags}\n").facts}
    assert {name: found.get(name) for name in expected} == expected


def test_what_a_script_uses_that_a_command_starts_though_it_trains_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(
        "import argparse, datasets\np = argparse.ArgumentParser()\np.add_argument('--data')\ndatasets.load_dataset(p.parse_args().data)\n"
        "args = p.parse_args()\ndatasets.load_dataset(args.data)\n"
    )
    found = {fact.name: fact.value for fact in collect(tmp_path, "python t.py --data own.py\n").facts}
    assert "datasets.load_dataset(0=own.py)" in found["plan.code_uses"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("config", "version", "unclear"),
    [("two.json", 2, False), ("one.json", 1, False), ("""'{"version": 2}'""", 2, False), ("absent.json", None, True)],
)
def test_the_configuration_of_fsdp_that_a_command_names(tmp_path: Path, config: str, version: int | None, unclear: bool) -> None:
    (tmp_path / "two.json").write_text('{"fsdp_version": 2}')
    (tmp_path / "one.json").write_text('{"version": 1}')
    found = stated(collect(tmp_path, f"torchrun t.py --fsdp full_shard --fsdp_config {config} --bf16 True --output_dir o\n"))
    assert (found.get("fsdp_version"), "unclear" in found) == (version, unclear)


PLAN = "stage: sft\nmodel_name_or_path: Qwen/Qwen2-7B\ntemplate: qwen\ndataset: a\nfinetuning_type: lora\noutput_dir: o\n"
OF_AXOLOTL = "base_model: Qwen/Qwen2-7B\nadapter: lora\nmicro_batch_size: 2\ntrl:\n  beta: 0.1\n"
OF_TUNE = (
    "model: {_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 8}\noptimizer: {_component_: torch.optim.AdamW, lr: 1e-4}\n"
    "batch_size: 2\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llamafactory-cli train p.yaml enable_liger_kernel=true", {"liger": True, "method": "lora"}),
        ("llamafactory-cli train p.yaml quantization_bit=4 lora_target=[q,v]", {"quant": "4bit", "lora_targets": ("q", "v")}),
        ("llamafactory-cli train p.yaml finetuning_type=full deepspeed=ds.json", {"method": "full", "distributed": "zero1"}),
        ("llamafactory-cli train p.yaml quantization_bit=$BITS", {"quant": NotUnderstood("$BITSbit")}),
        ("llamafactory-cli train p.yaml", {"liger": None, "method": "lora"}),
        ("torchrun --nproc_per_node 2 src/train.py p.yaml enable_liger_kernel=true", {"liger": True, "trainer": "llamafactory"}),
        ("axolotl train x.yaml --adapter qlora --load-in-4bit --trl.use-vllm", {"method": "qlora", "quant": "4bit", "vllm": True}),
        ("accelerate launch -m axolotl.cli.train x.yaml --micro_batch_size=8 --no-load-in-4bit", {"batch_size": 8, "method": "lora"}),
        ("tune run lora_finetune_single_device --config t.yaml batch_size=4 model.lora_rank=16", {"batch_size": 4, "lora_r": 16}),
    ],
)  # fmt: skip
def test_what_a_command_gives_in_the_place_of_its_plans(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 1}}')
    for name, plan in (("p.yaml", PLAN), ("x.yaml", OF_AXOLOTL), ("t.yaml", OF_TUNE)):
        (tmp_path / name).write_text(plan)
    found = collect(tmp_path, text + "\n")
    told = stated(found)
    assert {name: told.get(name) for name in expected} == expected
    assert skips(found) == [] or "BITS" in text


def test_the_place_of_what_a_command_gives(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PLAN)
    found = collect(tmp_path, "\nllamafactory-cli train p.yaml \\\n  quantization_bit=4\n")
    places = {fact.name: (Path(fact.origin.file or "").name, fact.origin.line) for fact in found.facts}
    assert (places["plan.quant"], places["plan.method"]) == (("train.sh", 3), ("p.yaml", 5))


@pytest.mark.parametrize(("made", "told"), [("HfArgumentParser(TrainingArguments)", ("overwrite_output_dir",)), ("ArgumentParser()", None)])
def test_a_flag_alone_of_a_script_whose_arguments_the_command_fills(tmp_path: Path, made: str, told: tuple[str, ...] | None) -> None:
    text = f"from transformers import HfArgumentParser, Trainer, TrainingArguments\nfrom argparse import ArgumentParser\nparser = {made}\n"
    ends = "options = parser.parse_args()\nTrainer(model=m, args=TrainingArguments(**vars(options))).train()\n"
    (tmp_path / "t.py").write_text(text + ends)
    found = {fact.name: fact.value for fact in collect(tmp_path, "torchrun t.py --overwrite_output_dir\n").facts}
    assert found.get("plan.arguments") == told


def test_conda_install_in_a_launcher_states_packages(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        conda create -n run python=3.9 -y
        conda activate run
        conda install -y pytorch==1.10.1 torchvision==0.11.2 cudatoolkit=11.3 mkl=2025.0 -c pytorch -c conda-forge
        pip install torchvision==0.12.0
        """,
    )
    assert {fact.name: str(fact.value) for fact in found.facts if fact.name != "present"} == {
        "python": "==3.9.*", "packages.torch": "1.10.1", "packages.mkl": "==2025.0.*", "cuda": "11.3", "packages.torchvision": "0.12.0",
    }  # fmt: skip
    assert next(fact.value for fact in found.facts if fact.name == "present") == ("mkl", "pytorch::torch", "torch")


def test_of_several_conda_environments_nothing_is_taken(tmp_path: Path) -> None:
    found = collect(tmp_path, "conda install -n one -y pytorch=1.10.1\nconda install -n two -y pytorch=2.1\n")
    assert not found.facts
    assert [why for _, why in skips(found)] == ["conda fills several environments here: which of them the run takes is not read"] * 2
