"""Which scripts, plans and launchers reach a fault: those that the draws of rules found accused or missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

UNSLOTH = 'accelerator = "cpu"\n[packages]\nunsloth = "2025.9.6"\ntransformers = "4.55.4"\n'
LOADS = '    from unsloth import FastLanguageModel\n    model, words = FastLanguageModel.from_pretrained("Qwen/Qwen2-0.5B")\n'
LLAMA_FACTORY = "model_name_or_path: Qwen/Qwen2-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: x\ntemplate: qwen\n"


def told(capsys: pytest.CaptureFixture[str], folder: Path, file: str, text: str, stack: str) -> dict[str, str]:
    """The rules that ``check`` tells of a file on a stack, each with its status."""
    (folder / file).write_text(text)
    (folder / "stack.toml").write_text(stack)
    done = run(capsys, "check", str(folder / file), "--facts", str(folder / "stack.toml"), "-f", "json", every_rule=True)
    return {one["rule"]: one["status"] for one in json.loads(done.out)["findings"]}


@pytest.mark.parametrize(
    ("file", "text", "reached"),
    [
        ("train.py", f"if True:\n{LOADS}", True),
        ("train.py", f"import torch\nif torch.cuda.is_available():\n{LOADS}", False),
        ("train.py", f"try:\n{LOADS}except (ImportError, NotImplementedError):\n    pass\n", False),
        ("plan.yaml", f"{LLAMA_FACTORY}use_unsloth: true\n", True),
        ("plan.yaml", LLAMA_FACTORY, False),
        ("run.sh", "swift sft --model Qwen/Qwen2-0.5B --dataset x --train_type lora --tuner_backend unsloth\n", True),
        ("run.sh", "swift sft --model Qwen/Qwen2-0.5B --dataset x --train_type lora --tuner_backend peft\n", False),
    ],
)
def test_unsloth_without_a_gpu(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, text: str, reached: bool) -> None:
    assert ("unsloth-without-a-gpu" in told(capsys, tmp_path, file, text, UNSLOTH)) is reached


def test_a_variable_that_a_launcher_sets_leaves_no_more_open_than_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stack = '[packages]\ntransformers = "4.47.0"\ntrl = "0.13.0"\ntorch = "2.5.1"\n'
    launch = "python train.py --model_name_or_path Qwen/Qwen2-0.5B --learning_rate 1e-4 --output_dir o\n"
    without = told(capsys, tmp_path, "run.sh", launch, stack)
    assert told(capsys, tmp_path, "run.sh", f"export HF_HOME=/data\n{launch}", stack) == without


OFFLOADED = '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}%s}'


@pytest.mark.parametrize(
    ("clipping", "reached"),
    [(', "gradient_clipping": "auto"', True), (', "gradient_clipping": 1.0', True), ("", False), (', "gradient_clipping": 0', False)],
)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("plan.yaml", f"{LLAMA_FACTORY}max_grad_norm: 1.0\ndeepspeed: ds.json\n"),
        ("plan.yaml", f"deepspeed: ds.json\n{LLAMA_FACTORY}max_grad_norm: 1.0\n"),
        ("run.sh", "deepspeed train.py --deepspeed ds.json --max_grad_norm 1.0 --output_dir o --model_name_or_path Qwen/Qwen2-0.5B\n"),
        (
            "train.py",
            'from transformers import Trainer, TrainingArguments\nTrainer(None, TrainingArguments("o", deepspeed="ds.json")).train()\n',
        ),
    ],
)
def test_deepspeed_clips_where_its_configuration_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, text: str, clipping: str, reached: bool
) -> None:
    (tmp_path / "ds.json").write_text(OFFLOADED % clipping)
    found = told(capsys, tmp_path, file, text, '[packages]\ndeepspeed = "0.14.2"\n')
    assert (found.get("deepspeed-0-14-1-zero-3-offload-devices") == "matched") is reached


ZERO_3 = '{"zero_optimization": {"stage": 3}}'
LOADING = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-0.5B")\nmodel.resize_token_embeddings(152000)\n'
ARGUMENTS = 'arguments = TrainingArguments("o", deepspeed="ds.json")\n'


@pytest.mark.parametrize(("text", "reached"), [(ARGUMENTS + LOADING, True), (LOADING + ARGUMENTS, False)])
def test_what_is_loaded_before_the_arguments_is_whole_under_zero_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, reached: bool
) -> None:
    (tmp_path / "ds.json").write_text(ZERO_3)
    script = f"from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n{text}Trainer(model, arguments).train()\n"
    found = told(capsys, tmp_path, "train.py", script, '[packages]\ntransformers = "4.43.1"\n')
    assert (found.get("transformers-4-43-resize-embeddings-zero-3") == "matched") is reached


CHATGLM = """[packages]
transformers = "4.44.0"
[model]
type = "chatglm"
uses_cache_format_hook = true
cache_hook_gated = false
cache_hook_call = "format-value"
"""


@pytest.mark.parametrize(
    ("plan", "offered"), [('[plan]\nmethod = "inference"\n', False), ('[plan]\nmethod = "lora"\ngenerate = true\n', True)]
)
def test_who_only_chats_is_not_told_to_leave_generation_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str, offered: bool
) -> None:
    (tmp_path / "stack.toml").write_text(CHATGLM + plan)
    out = run(capsys, "check", "--facts", str(tmp_path / "stack.toml"), "-v", every_rule=True).out
    assert "standardize_cache_format" in out
    assert ("plan.generate = false" in out) is offered


def notebook(*cells: str) -> str:
    rows: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell} for cell in cells
    ]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


FACTORY = '[packages]\nllamafactory = "0.9.4"\naccelerate = "1.12.0"\ndeepspeed = "0.17.2"\n'
RANGE = "llamafactory-0-9-4-accelerate-range"


@pytest.mark.parametrize(
    ("file", "text", "reached"),
    [
        ("run.sh", "llamafactory-cli webui\n", True),
        ("run.sh", "llamafactory-cli export --model_name_or_path a/b --adapter_name_or_path o --export_dir m\n", True),
        ("run.sh", "lmf chat --model_name_or_path a/b --template qwen\n", True),
        ("run.sh", "llamafactory-cli version\n", False),
        ("plan.yaml", "model_name_or_path: a/b\nadapter_name_or_path: o\ntemplate: qwen\nexport_dir: m\n", True),
        ("run.ipynb", notebook("!llamafactory-cli train plan.json"), True),
        ("run.ipynb", notebook("%%bash\ncd LLaMA-Factory\nllamafactory-cli train plan.json\n"), True),
        ("run.ipynb", notebook("!DISABLE_VERSION_CHECK=1 llamafactory-cli train plan.json"), False),
        ("run.ipynb", notebook("print('llamafactory-cli train plan.json')"), False),
    ],
)
def test_what_passes_the_check_of_releases_of_llama_factory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, text: str, reached: bool
) -> None:
    assert (told(capsys, tmp_path, file, text, FACTORY).get(RANGE) == "matched") is reached


@pytest.mark.parametrize(
    ("file", "text", "reached"),
    [
        ("run.sh", "wandb login $KEY\npython train.py --learning_rate 1e-4 --output_dir o\n", True),
        ("run.sh", "export WANDB_API_KEY=x\nwandb login\npython train.py --learning_rate 1e-4 --output_dir o\n", False),
        ("run.sh", "python train.py --learning_rate 1e-4 --output_dir o\n", False),
        ("run.ipynb", notebook("!wandb login"), True),
        ("train.py", "import wandb\nwandb.init()\n", True),
        ("train.py", "import wandb\nwandb.init(mode='offline')\n", False),
        ("train.py", "from trl import PPOConfig\nPPOConfig(log_with='wandb')\n", True),
    ],
)
def test_who_gives_wandb_a_key(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, text: str, reached: bool) -> None:
    found = told(capsys, tmp_path, file, text, '[packages]\nwandb = "0.22.2"\n')
    assert (found.get("wandb-before-0-22-3-long-api-key") == "matched") is reached


CARDS = 'driver = "535.54"\n[gpu]\nname = "NVIDIA GeForce RTX 4090"\ncount = 2\n[packages]\naccelerate = "1.3.0"\ntransformers = "4.48.0"\n'


@pytest.mark.parametrize(
    ("launch", "reached"),
    [
        ("torchrun --nproc_per_node 2 train.py", True),
        ("python train.py", True),
        ("accelerate launch --num_processes 2 train.py", False),
        ("NCCL_P2P_DISABLE=1 torchrun --nproc_per_node 2 train.py", True),
        ("NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1 torchrun --nproc_per_node 2 train.py", False),
    ],
)
def test_cards_that_accelerate_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path, launch: str, reached: bool) -> None:
    script = tmp_path / "train.py"
    script.write_text('from transformers import Trainer, TrainingArguments\nTrainer(None, TrainingArguments("o")).train()\n')
    (tmp_path / "stack.toml").write_text(CARDS)
    (tmp_path / "run.sh").write_text(f"{launch}\n")
    done = run(
        capsys, "check", str(tmp_path / "run.sh"), str(script), "--facts", str(tmp_path / "stack.toml"), "-f", "json", every_rule=True
    )
    found = {one["rule"]: one["status"] for one in done.json["findings"]}
    assert (found.get("accelerate-rtx-4000-p2p") == "matched") is reached


HALF = """[packages]
peft = "0.11.1"
[plan]
method = "lora"
load_dtype = "float16"
quant = "none"
optimizer = "adamw_torch"
optimizer_eps = 1e-8
"""


@pytest.mark.parametrize(("fp16", "rule"), [("true", "peft-fp16-adapter-unscale"), ("false", "peft-fp16-adapter-nan")])
@pytest.mark.parametrize(
    ("more", "reached"),
    [
        ("", True),
        ('trainer = "transformers"\n', True),
        ('trainer = "llamafactory"\n', False),
        ('trainer = "ms-swift"\n', False),
        ("deepspeed = true\n", False),
        ('distributed = "zero2"\n', False),
    ],
)
def test_float16_adapters_are_cast_by_deepspeed_and_by_two_frameworks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fp16: str, rule: str, more: str, reached: bool
) -> None:
    """A plan that names no trainer and no DeepSpeed is accused as before, and not left open."""
    (tmp_path / "stack.toml").write_text(f"{HALF}fp16 = {fp16}\n{more}")
    done = run(capsys, "check", "--facts", str(tmp_path / "stack.toml"), "-f", "json", every_rule=True)
    assert [one["status"] for one in done.json["findings"] if one["rule"] == rule] == (["matched"] if reached else [])


BY_ACCELERATE = "distributed_type: DEEPSPEED\ncompute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  zero_stage: 3\n"


@pytest.mark.parametrize(
    ("plan", "launch", "reached"),
    [
        ("deepspeed: ds.json\n", "llamafactory-cli train plan.yaml\n", True),
        ("deepspeed: null\n", "llamafactory-cli train plan.yaml\n", False),
        ("", "accelerate launch --config_file acc.yaml src/train.py plan.yaml\n", False),
    ],
)
def test_llama_factory_checks_the_deepspeed_of_its_plan_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str, launch: str, reached: bool
) -> None:
    (tmp_path / "plan.yaml").write_text(LLAMA_FACTORY + plan)
    (tmp_path / "acc.yaml").write_text(BY_ACCELERATE)
    found = told(capsys, tmp_path, "run.sh", launch, '[packages]\nllamafactory = "0.9.3"\ndeepspeed = "0.17.2"\n')
    assert (found.get("llamafactory-0-9-3-deepspeed-range") == "matched") is reached


@pytest.mark.parametrize(
    ("release", "launch", "reached"),
    [
        ("0.9.3", "python -m llamafactory.cli export plan.yaml\n", True),
        ("0.9.3", "llamafactory-cli version\n", True),
        ("0.9.3", "DISABLE_VERSION_CHECK=1 llamafactory-cli version\n", False),
        ("0.9.4", "python -m llamafactory.cli export plan.yaml\n", True),
        ("0.9.4", "llamafactory-cli version\n", False),
    ],
)
def test_commands_of_llama_factory_that_check_its_companions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, release: str, launch: str, reached: bool
) -> None:
    found = told(capsys, tmp_path, "run.sh", launch, f'[packages]\nllamafactory = "{release}"\naccelerate = "1.14.0"\n')
    assert (found.get(f"llamafactory-{release.replace('.', '-')}-accelerate-range") == "matched") is reached


@pytest.mark.parametrize(
    ("release", "arguments", "rule"),
    [
        ("0.9.3", "TrainingArguments", "trl-0-9-3-training-arguments"),
        ("0.9.6", "Seq2SeqTrainingArguments", "trl-before-0-15-derived-training-arguments"),
        ("0.9.6", "TrainingArguments", None),
        ("0.15.0", "Seq2SeqTrainingArguments", None),
    ],
)
def test_which_arguments_the_sft_trainer_converts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, release: str, arguments: str, rule: str | None
) -> None:
    script = f'from transformers import {arguments}\nfrom trl import SFTTrainer\nSFTTrainer("m", args={arguments}("o"))\n'
    found = told(capsys, tmp_path, "train.py", script, f'[packages]\ntrl = "{release}"\n')
    assert [one for one in found if one.endswith("training-arguments")] == ([rule] if rule else [])


def test_the_command_of_evaluate_imports_repository(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stack = '[packages]\nhuggingface-hub = "1.1.0"\nevaluate = "0.4.6"\n'
    found = told(capsys, tmp_path, "run.sh", 'evaluate-cli create "My Metric"\n', stack)
    assert found.get("huggingface-hub-repository-removed") == "matched"


SHARED = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: %s\nnum_processes: 2\n"
TRAINS = 'from transformers import Trainer, TrainingArguments\nTrainer("m", TrainingArguments("o"%s)).train()\n'


@pytest.mark.parametrize(
    ("arguments", "policy", "reached"),
    [
        ("", "TRANSFORMER_BASED_WRAP", True),
        ("", "TRANSFORMER_BASED_WRAP\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer", False),
        ("", "SIZE_BASED_WRAP", False),
        ("", "NO_WRAP", False),
        (', fsdp="full_shard auto_wrap"', None, True),
        (', fsdp="full_shard"', None, False),
        (', fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}', None, False),
    ],
)
def test_which_layers_fsdp_wraps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, policy: str | None, reached: bool
) -> None:
    (tmp_path / "train.py").write_text(TRAINS % arguments)
    (tmp_path / "acc.yaml").write_text(SHARED % policy if policy else "")
    launch = f"accelerate launch {'--config_file acc.yaml ' if policy else ''}train.py\n"
    stack = '[packages]\naccelerate = "0.34.0"\ntransformers = "4.44.2"\n'
    found = told(capsys, tmp_path, "run.sh" if policy else "train.py", launch if policy else TRAINS % arguments, stack)
    assert (found.get("accelerate-0-34-0-fsdp-wraps-by-letters") == "matched") is reached


def test_a_launcher_says_what_trains_in_the_script_beside_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS % "")
    (tmp_path / "acc.yaml").write_text(SHARED % "NO_WRAP")
    found = told(capsys, tmp_path, "run.sh", "accelerate launch --config_file acc.yaml train.py\n", '[packages]\ntransformers = "4.47.0"\n')
    assert found.get("trainer-4-47-0-fsdp-optimizer-before-wrapping") == "matched"


@pytest.mark.parametrize(("text", "reached"), [(ARGUMENTS + LOADING, False), (LOADING + ARGUMENTS, True)])
def test_a_model_that_is_loaded_before_zero_3_is_configured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, reached: bool
) -> None:
    (tmp_path / "ds.json").write_text(ZERO_3)
    head = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
    script = f"{head}{text}Trainer(model, arguments).train()\n"
    found = told(capsys, tmp_path, "train.py", script, '[packages]\ntransformers = "4.44.0"\n')
    assert (found.get("trainer-4-44-0-zero-3-init-check") == "matched") is reached


WITHOUT_SENTENCEPIECE = "".join(
    f"{line}\n"
    for line in (
        "filelock==3.13.1", "huggingface-hub==0.23.0", "numpy==1.26.4", "packaging==24.0", "PyYAML==6.0.1", "regex==2023.12.25",
        "requests==2.31.0", "safetensors==0.4.2", "tokenizers==0.19.1", "torch==2.1.0", "tqdm==4.66.2", "transformers==4.40.0",
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ('from transformers import T5Tokenizer\nT5Tokenizer.from_pretrained("t5-small")\n', True),
        (
            'from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained("baichuan-inc/Baichuan-7B", trust_remote_code=True)\n',
            True,
        ),
        ('from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")\n', False),
    ],
)
def test_tokenizers_that_need_sentencepiece(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, reached: bool) -> None:
    (tmp_path / "s.py").write_text(text)
    (tmp_path / "freeze.txt").write_text(WITHOUT_SENTENCEPIECE)
    done = run(capsys, "check", str(tmp_path / "s.py"), "--facts", str(tmp_path / "freeze.txt"), "-f", "json", every_rule=True)
    assert ("sentencepiece-missing" in {one["rule"] for one in json.loads(done.out)["findings"]}) is reached


@pytest.mark.parametrize(
    ("model", "loaded", "release", "rule"),
    [
        ("bert-base-uncased", "AutoModelForSequenceClassification", "4.46.3", "transformers-grad-accumulation-no-loss-kwargs"),
        ("t5-small", "AutoModelForSeq2SeqLM", "4.47.1", "transformers-grad-accumulation-no-loss-kwargs"),
        ("meta-llama/Llama-3.1-8B", "AutoModelForSequenceClassification", "4.47.0", "transformers-grad-accumulation-no-loss-kwargs"),
        ("meta-llama/Llama-3.1-8B", "AutoModelForCausalLM", "4.47.0", "transformers-grad-accumulation-native-loss"),
        ("meta-llama/Llama-3.1-8B", "AutoModelForCausalLM", "4.46.3", None),
    ],
)
def test_which_models_take_the_count_of_labels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model: str, loaded: str, release: str, rule: str | None
) -> None:
    script = (
        f'from transformers import {loaded}, Trainer, TrainingArguments\nmodel = {loaded}.from_pretrained("{model}")\n'
        'Trainer(model, TrainingArguments("o", gradient_accumulation_steps=4)).train()\n'
    )
    found = told(capsys, tmp_path, "train.py", script, f'[packages]\ntransformers = "{release}"\n')
    assert [one for one in found if one.startswith("transformers-grad-accumulation-n")] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("stack", "text", "rule", "reached"),
    [
        ('fairseq = "0.12.2"\ntorch = "2.6.0"\n', "import torch\n", "fairseq-torch-2-6-weights-only", False),
        (
            'fairseq = "0.12.2"\ntorch = "2.6.0"\n',
            'import fairseq\nfairseq.checkpoint_utils.load_model_ensemble_and_task(["x"])\n',
            "fairseq-torch-2-6-weights-only",
            True,
        ),
        (
            'instructorembedding = "1.0.1"\nsentence-transformers = "2.7.0"\n',
            'from sentence_transformers import SentenceTransformer\nSentenceTransformer("x")\n',
            "instructor-embedding-sentence-transformers-2-3",
            False,
        ),
        (
            'instructorembedding = "1.0.1"\nsentence-transformers = "2.7.0"\n',
            'from InstructorEmbedding import INSTRUCTOR\nINSTRUCTOR("x")\n',
            "instructor-embedding-sentence-transformers-2-3",
            True,
        ),
        (
            'flagembedding = "1.4.0"\ntransformers = "5.0.0"\n',
            'from FlagEmbedding import FlagModel\nFlagModel("x").encode(["a"])\n',
            "flagembedding-reranker-transformers-5",
            False,
        ),
        (
            'flagembedding = "1.4.0"\ntransformers = "5.0.0"\n',
            'from FlagEmbedding import FlagReranker\nFlagReranker("x")\n',
            "flagembedding-reranker-transformers-5",
            True,
        ),
        (
            'sentence-transformers = "5.2.0"\ntransformers = "5.2.0"\n',
            'from sentence_transformers import SentenceTransformer\nSentenceTransformer("x").fit([])\n',
            "sentence-transformers-before-5-2-3-transformers-5-2",
            True,
        ),
    ],
)
def test_what_a_script_asks_of_a_package_that_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, stack: str, text: str, rule: str, reached: bool
) -> None:
    assert (told(capsys, tmp_path, "s.py", text, f"[packages]\n{stack}").get(rule) == "matched") is reached


@pytest.mark.parametrize(
    ("file", "text", "reached"),
    [
        ("run.py", 'from vllm import LLM\nLLM("Qwen/Qwen2-0.5B")\n', True),
        ("run.py", 'import lm_eval\nlm_eval.simple_evaluate(model="vllm", tasks=["gsm8k"])\n', True),
        ("run.sh", "vllm serve Qwen/Qwen2-0.5B\n", True),
        ("run.py", 'from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained("gpt2")\n', False),
    ],
)
def test_vllm_on_windows(capsys: pytest.CaptureFixture[str], tmp_path: Path, file: str, text: str, reached: bool) -> None:
    stack = 'os = "windows"\n[packages]\nvllm = "0.8.5"\ntransformers = "4.51.3"\nlm-eval = "0.4.8"\n'
    assert ("vllm-on-windows" in told(capsys, tmp_path, file, text, stack)) is reached


FILTERS = "from datasets import load_dataset\nrows = load_dataset('json', data_files='a.jsonl', split='train')\n"


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        (f"{FILTERS}rows = rows.filter(lambda row: row['a'])\n", True),
        (f"{FILTERS}rows = rows.filter(lambda rows: rows['a'], batched=True)\n", False),
        (f"{FILTERS}rows = rows.map(lambda row: row)\n", False),
        ("import pandas\npandas.read_csv('a.csv')\n", False),
    ],
)
def test_who_filters_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, reached: bool) -> None:
    stack = '[packages]\ndatasets = "3.3.0"\npandas = "2.2.3"\n'
    assert ("datasets-3-3-0-filter-row-by-row" in told(capsys, tmp_path, "run.py", text, stack)) is reached


UNPREPARED = """import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.float16)
%smodel = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))
Trainer(model, TrainingArguments("out", optim="adamw_torch")).train()
"""


@pytest.mark.parametrize(("prepared", "reached"), [("", True), ("model = prepare_model_for_kbit_training(model)\n", False)])
def test_an_import_that_nothing_uses_casts_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, prepared: str, reached: bool
) -> None:
    stack = '[packages]\npeft = "0.11.1"\ntransformers = "4.40.2"\ntorch = "2.3.1"\n'
    assert ("peft-fp16-adapter-nan" in told(capsys, tmp_path, "run.py", UNPREPARED % prepared, stack)) is reached


STAGE_3 = "self.fp32_partitioned_groups_flat[sub_group_id].grad.mul_(1. / combined_scale)"
PORT = "The server socket has failed to listen on any local network address."


@pytest.mark.parametrize(
    ("rule", "package", "frame", "last", "reached"),
    [
        ("deepspeed-0-14-1-zero-3-offload-devices", "deepspeed/runtime/zero/stage3.py", STAGE_3, "RuntimeError: found two devices", True),
        ("deepspeed-0-14-1-zero-3-offload-devices", "deepspeed/runtime/zero/stage3.py", STAGE_3,
         "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", False),
        ("port-of-the-launch-in-use", "torch/distributed/rendezvous.py", "return TCPStore(",
         f"torch.distributed.DistNetworkError: {PORT} bind to [::]:29500 (errno: 98 - Address already in use).", True),
        ("port-of-the-launch-in-use", "torch/distributed/rendezvous.py", "return TCPStore(",
         f"torch.distributed.DistNetworkError: {PORT} bind to 10.0.0.9:29500 (errno: 99 - Cannot assign requested address).", False),
        ("snapshot-pad-id-out-of-range", "transformers/modeling_utils.py", "model = cls(config)",
         "AssertionError: Padding_idx must be within num_embeddings", True),
        ("snapshot-adapter-type-unknown", "peft/config.py", "PEFT_TYPE_TO_CONFIG_MAPPING[kind]", "KeyError: 'BONE'", True),
        ("snapshot-adapter-type-unknown", "peft/config.py", "PEFT_TYPE_TO_CONFIG_MAPPING[kind]", "KeyError: 'MINE'", False),
        ("flash-attn-before-2-8-blackwell", "bitsandbytes/functional.py", "lib.cquantize()",
         "RuntimeError: CUDA error: no kernel image is available for execution on the device", False),
    ],
)  # fmt: skip
def test_what_a_traceback_ends_in_says_whose_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str, package: str, frame: str, last: str, reached: bool
) -> None:
    (tmp_path / "stack.toml").write_text('[packages]\nflash-attn = "2.7.4.post1"\n')
    text = f'Traceback (most recent call last):\n  File "/venv/lib/python3.11/site-packages/{package}", line 9, in f\n    {frame}\n{last}\n'
    (tmp_path / "log").write_text(text)
    done = run(capsys, "diagnose", str(tmp_path / "log"), "--facts", str(tmp_path / "stack.toml"), "-f", "json", every_rule=True)
    assert (rule in {one["rule"] for one in json.loads(done.out)["findings"]}) is reached


@pytest.mark.parametrize(
    ("folder", "reached"),
    [("/home/u/venv/lib/python3.11", False), ("C:\\Users\\u\\venv\\Lib", True), ("/Users/u/venv/lib/python3.11", False)],
)
def test_a_log_says_its_system_by_the_paths_of_its_frames(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str, reached: bool
) -> None:
    frame = f'  File "{folder}/site-packages/vllm/_custom_ops.py", line 14, in <module>\n    import vllm._C\n'
    (tmp_path / "log").write_text(f"Traceback (most recent call last):\n{frame}ModuleNotFoundError: No module named 'vllm._C'\n")
    done = run(capsys, "diagnose", str(tmp_path / "log"), "-f", "json", every_rule=True)
    assert ("vllm-on-windows" in {one["rule"] for one in json.loads(done.out)["findings"]}) is reached
