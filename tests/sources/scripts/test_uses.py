"""``plan.code_uses``: scripts that show what a rule waits for, and scripts that come near and do not show it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envdoctor.facts.fact import Collected
from envdoctor.facts.old_spellings import OLD, now_meant
from envdoctor.facts.uses import is_meant, list_meant, narrow
from envdoctor.rules.calls import list_awaited
from envdoctor.sources.scripts.script import collect_script

from .situations import notebook, read, write

SHOWS: dict[str, str] = {
    "datasets.Audio": "from datasets import Audio",
    "datasets.List": "import datasets\ndatasets.List(datasets.Value('string'))",
    "datasets.Sequence": "import datasets as d\nd.Sequence",
    "datasets.load_metric": "import datasets\nmetric = datasets.load_metric('rouge')",
    "evaluate.load": "import evaluate\nevaluate.load('rouge')",
    "torch.optim.AdamW": "import torch\ntorch.optim.AdamW([])",
    "transformers.AdamW": "from transformers.optimization import AdamW",
    "transformers.deepspeed.*": "from transformers.deepspeed import HfDeepSpeedConfig",
    "transformers.integrations.deepspeed.*": "from transformers.integrations.deepspeed import HfDeepSpeedConfig",
    "transformers.*.LlamaAttention.forward = *": (
        "from transformers.models.llama.modeling_llama import LlamaAttention\nimport mine\nLlamaAttention.forward = mine.forward"
    ),
    "transformers.*.GemmaAttention.forward = *": (
        "import transformers\ndef own(self): ...\ntransformers.models.gemma.modeling_gemma.GemmaAttention.forward = own"
    ),
    "trl.DPOConfig(beta)": "from trl import DPOConfig\nDPOConfig('out', beta=0.1)",
    "trl.DPOTrainer(args=trl.DPOConfig)": "from trl import *\nDPOTrainer(args=DPOConfig('out'))",
    "trl.DPOTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)": (
        "from transformers import TrainingArguments\nfrom trl import DPOTrainer\na = TrainingArguments('o')\nDPOTrainer(args=a)"
    ),
    "trl.SFTTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)": (
        "from transformers import HfArgumentParser, TrainingArguments\nfrom trl import SFTTrainer\n"
        "p = HfArgumentParser((Model, TrainingArguments))\nm, t = p.parse_args_into_dataclasses()\nSFTTrainer(args=t)"
    ),
    "transformers.*Tokenizer*.from_pretrained(of=huggingface_hub.snapshot_download)": (
        "from huggingface_hub import snapshot_download\nfrom transformers import AutoTokenizer\n"
        "path = snapshot_download('a/b', local_files_only=True)\nAutoTokenizer.from_pretrained(path)"
    ),
    "?.add_faiss_index": "from datasets import load_dataset\nds = load_dataset('a/b')\nds.add_faiss_index(column='e')",
    "?.data = torch.float32": (
        "import torch\nfrom peft import get_peft_model\nm = get_peft_model(a, b)\nfor name, part in m.named_modules():\n"
        "    if 'lora_' in name:\n        part.to(torch.float32)"
    ),
    "?.__call__(images=nested)": (
        "from transformers import AutoProcessor\np = AutoProcessor.from_pretrained('a/b')\n"
        "p(text=texts, images=[[one['image']] for one in rows], return_tensors='pt')"
    ),
    "?.chat_template = *": "from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('a/b')\nt.chat_template = own",
    "?.do_sample = *": "from transformers import AutoModel\nm = AutoModel.from_pretrained('a/b')\nm.generation_config.do_sample = True",
    "trl.KTOTrainer(processing_class)": "import trl\ntrl.KTOTrainer(processing_class=t)",
    "trl.PPOTrainer(config, !policy, !reward_model, !value_model, !policy_model, !args)": (
        "from trl import PPOTrainer\nPPOTrainer(config=c, model=m)"
    ),
    "trl.SFTTrainer(packing)": "from trl import SFTTrainer\nk = dict(packing=True)\nSFTTrainer(model=m, **k)",
    "trl.SFTTrainer(dataset_kwargs)": "from trl import SFTTrainer\nclass Own(SFTTrainer):\n    pass\nOwn(dataset_kwargs={})",
    "huggingface_hub.hf_hub_download(proxies)": (
        "from huggingface_hub import HfApi\napi = HfApi()\napi.hf_hub_download('a/b', 'c', proxies={})"
    ),
    "huggingface_hub.*(force_filename)": "from huggingface_hub import cached_download\ncached_download(u, force_filename='x')",
    "huggingface_hub.*(local_dir)": "import huggingface_hub\nhuggingface_hub.snapshot_download('a/b', local_dir='x')",
    "huggingface_hub.*(local_dir_use_symlinks)": (
        "from huggingface_hub import snapshot_download\nsnapshot_download('a/b', local_dir_use_symlinks=False)"
    ),
    "huggingface_hub.*(resume_download)": "from huggingface_hub import snapshot_download\nsnapshot_download('a/b', resume_download=True)",
    "transformers.*.from_pretrained(use_flash_attention_2)": (
        "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', use_flash_attention_2=True)"
    ),
    "env:PYTORCH_ALLOC_CONF=*expandable_segments:true*": "import os\nos.environ['PYTORCH_ALLOC_CONF'] = 'expandable_segments:True'",
    "env:PYTORCH_CUDA_ALLOC_CONF=*expandable_segments:true*": (
        "import os\nos.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb:64,expandable_segments:True')"
    ),
    "?.map()": "from datasets import load_dataset\nload_dataset('x').map(f)",
    "?.set_format(0|type=numpy|torch|pt|pytorch|np|tensorflow|tf|jax)": "import datasets\nd.set_format('torch')",
    "?.with_format(0|type=numpy|torch|pt|pytorch|np|tensorflow|tf|jax)": "import datasets\nd = d.with_format(type='numpy')",
    "env:HF_HOME": "import os\nos.environ['HF_HOME'] = '/data'",
    "env:HF_HUB_ENABLE_HF_TRANSFER=1|on|yes|true": "import os\nos.environ['HF_HUB_ENABLE_HF_TRANSFER'] = '1'",
    "?.state_dict = peft.get_peft_model_state_dict": (
        "from peft import get_peft_model_state_dict\n"
        "old = model.state_dict\n"
        "model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))"
    ),
    "transformers.*TrainingArguments(load_best_model_at_end=True)": "import trl\ntrl.SFTConfig('out', load_best_model_at_end=True)",
    "peft.LoraConfig(alpha_pattern=same-keys)": "import peft\npeft.LoraConfig(rank_pattern={'q': 8}, alpha_pattern={'q': 16})",
    "transformers.TrainingArguments(bf16=True)": (
        "import sentence_transformers as st\nst.SentenceTransformerTrainingArguments(output_dir='o', bf16=True)"
    ),
    "peft.get_peft_model.generate(0)": "from peft import get_peft_model\nm = get_peft_model(base, c).to('cuda')\nm.generate(ids)",
    "peft.PeftModel.generate(0)": "from peft import PeftModel\nm = PeftModel.from_pretrained(base, 'a')\nm.eval()\nm.generate(ids)",
    "evaluate.load(0|path!=./*|*.py)": "import evaluate\nevaluate.load('rouge')",
    "peft.LoraConfig(bias=all)": "from peft import LoraConfig\nLoraConfig(r=8, bias='all')",
    "trl.PPOTrainer.step": "from trl import PPOTrainer\nt = PPOTrainer(c, m)\nt.step(q, r, s)",
    "def transformers.*Trainer.compute_loss(!num_items_in_batch)": (
        "from transformers import Trainer\nclass Own(Trainer):\n    def compute_loss(self, model, inputs, return_outputs=False): ..."
    ),
    "?.get_batch_logps(average_log_prob)": "from trl import DPOTrainer\nself.get_batch_logps(a, b, average_log_prob=True)",
    "datasets.load_dataset(0|path=*.py)": "from datasets import load_dataset\nload_dataset('data/own.py')",
    "safetensors.torch.save_file(!metadata, !2)": "from safetensors.torch import save_file\nsave_file(tensors, 'model.safetensors')",
    "?.save_pretrained()": "model.save_pretrained('out')",
}


_LOADS = "from {0} import {1}\n{1}.{2}"
for _method, _given, _meant in (
    ("from_pretrained", "('a/b', attn_implementation='sdpa')", "attn_implementation"),
    ("from_config", "(config, attn_implementation='sdpa')", "attn_implementation"),
    ("from_pretrained", "('a/b', device_map={'': 0})", "device_map=*"),
    ("from_pretrained", "('a/b', use_fast=False)", "use_fast=False"),
):
    SHOWS[f"transformers.*.{_method}({_meant})"] = _LOADS.format("transformers", "AutoModel", _method) + _given
    SHOWS[f"trl.*.{_method}({_meant})"] = _LOADS.format("trl", "AutoModelForCausalLMWithValueHead", _method) + _given
    SHOWS[f"peft.AutoPeft*.{_method}({_meant})"] = _LOADS.format("peft", "AutoPeftModelForCausalLM", _method) + _given
    SHOWS[f"?.{_method}({_meant})"] = f"def load(kind):\n    return kind.{_method}{_given}"
for _format in ("set_format", "with_format"):
    SHOWS[f"datasets.*.{_format}(0|type=numpy|torch|pt|pytorch|np|tensorflow|tf|jax)"] = (
        f"from datasets import Dataset\nd = Dataset(table)\nd.{_format}('torch', columns=['a'])"
    )
for _keyword in ("compute_metrics", "preprocess_logits_for_metrics"):
    SHOWS[f"transformers.Trainer({_keyword}=...|*)"] = f"from transformers import Trainer\ndef f(x): ...\nTrainer(m, {_keyword}=f)"
SHOWS |= {
    "def trl.*Trainer.compute_loss(!num_items_in_batch)": (
        "import trl\nclass Own(trl.SFTTrainer):\n    def compute_loss(self, model, inputs): ..."
    ),
    "unsloth": "from unsloth import FastLanguageModel",
}


# Patterns that say by themselves which script shows them: a rule with another form of pattern asks for nothing here.
_PLAIN = re.compile(r"[\w.]+(\(\w+\))?")


def _shown(pattern: str) -> str:
    """The script that shows a pattern: the one above, or what its own words say."""
    if pattern in SHOWS:
        return SHOWS[pattern]
    name, parenthesis, given = pattern.partition("(")
    package, _, last = name.rpartition(".")
    if not package:
        return f"import {last}"
    return f"from {package} import {last}\n" + (f"{last}({given.rstrip(')')}=x)" if parenthesis else "")


def uses(found: Collected) -> tuple[str, ...]:
    return next((fact.value for fact in found.facts if fact.name == "plan.code_uses" and isinstance(fact.value, tuple)), ())


@pytest.mark.parametrize("pattern", sorted({*filter(_PLAIN.fullmatch, list_awaited()), *SHOWS}))
def test_a_script_that_shows_it(tmp_path: Path, pattern: str) -> None:
    shown = uses(read(tmp_path, _shown(pattern) + "\n"))
    assert list_meant([pattern], shown)
    # What is kept of a use says as much as the whole of it.
    kept = [told for use in shown if (told := narrow(use, [pattern])) is not None]
    assert list_meant([pattern], kept)


def test_a_wrapper_that_may_be_absent_wraps_where_it_is_there(tmp_path: Path) -> None:
    text = "try:\n    from unsloth import FastModel\n    from trl import SFTTrainer\nexcept ImportError:\n    SFTTrainer = None\n"
    assert [use for use in uses(read(tmp_path, text)) if "." not in use] == ["unsloth"]


NEAR = (
    ("huggingface_hub.HfFolder", "try:\n    from huggingface_hub import HfFolder\nexcept ImportError:\n    HfFolder = None\nHfFolder"),
    ("huggingface_hub.HfFolder", "from mine import HfFolder"),
    ("huggingface_hub.HfFolder", "from .compat import HfFolder"),
    ("huggingface_hub.HfFolder", "# from huggingface_hub import HfFolder"),
    ("transformers.deepspeed.*", "import transformers\nif transformers.__version__ < '4.33':\n    import transformers.deepspeed"),
    ("transformers.AdamW", "import transformers, torch\nOLD = transformers.__version__ < '4'\nif OLD:\n    transformers.AdamW"),
    ("transformers.AdamW", "from torch.optim import AdamW"),
    ("torch.optim.AdamW", "from transformers import AdamW"),
    ("trl.PPOTrainer", "from trl.experimental.ppo import PPOTrainer"),
    (
        "trl.PPOTrainer(config, !policy, !reward_model, !value_model, !policy_model, !args)",
        "from trl import PPOTrainer\nPPOTrainer(config=c, policy=p, reward_model=r)",
    ),
    ("trl.PPOTrainer.step", "from trl import PPOTrainer\noptimizer.step()"),
    ("trl.SFTTrainer(packing)", "from trl import SFTTrainer, SFTConfig\nSFTTrainer(args=SFTConfig('o', packing=True))"),
    ("trl.SFTTrainer(packing)", "from trl import SFTTrainer\nclass T(SFTTrainer):\n    def __init__(self, packing): ...\nT(packing=True)"),
    (
        "trl.SFTTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)",
        "from trl import SFTTrainer, SFTConfig\nSFTTrainer(args=SFTConfig('o'))",
    ),
    (
        "trl.DPOTrainer(args=transformers.TrainingArguments|transformers.Seq2SeqTrainingArguments)",
        "from trl import DPOTrainer\ndef f(args):\n    DPOTrainer(args=args)",
    ),
    ("peft.get_peft_model.generate(0)", "from peft import get_peft_model\nm = get_peft_model(b, c).merge_and_unload()\nm.generate(ids)"),
    (
        "peft.PeftModel.generate(0)",
        "from peft import PeftModel\nm = PeftModel.from_pretrained(b, 'a')\nb.generate(ids)\nm.base_model.generate(i)",
    ),
    ("evaluate.load(0|path!=./*|*.py)", "import evaluate\nevaluate.load('./rouge')\nevaluate.load(path='a/b.py')"),
    ("peft.LoraConfig(bias=all)", "from peft import LoraConfig\nLoraConfig(bias='none')"),
    (
        "def transformers.*Trainer.compute_loss(!num_items_in_batch)",
        "from transformers import Trainer\nclass T(Trainer):\n    def compute_loss(self, m, i, **kw): ...",
    ),
    ("def transformers.*Trainer.compute_loss(!num_items_in_batch)", "class T:\n    def compute_loss(self, m, i): ..."),
    (
        "def transformers.*Trainer.compute_loss(!num_items_in_batch)",
        "from lightning import Trainer\nclass T(Trainer):\n    def compute_loss(self, m, i): ...",
    ),
    ("?.state_dict = peft.get_peft_model_state_dict", "from peft import get_peft_model_state_dict\ns = get_peft_model_state_dict(model)"),
    ("datasets.load_dataset(0|path=*.py)", "from datasets import load_dataset\nload_dataset('json', data_files='a.json')"),
    ("safetensors.torch.save_file(!metadata, !2)", "from safetensors.torch import save_file\nsave_file(t, 'x', metadata={'format': 'pt'})"),
    ("safetensors.torch.save_file(!metadata, !2)", "from safetensors.numpy import save_file\nsave_file(t, 'x')"),
    ("?.set_format(0|type=numpy|torch|pt|pytorch|np|tensorflow|tf|jax)", "import datasets\nd.set_format('pandas')"),
    ("transformers.*.from_pretrained(use_fast=False)", "AutoTokenizer.from_pretrained('a/b', use_fast=True)"),
    ("huggingface_hub.*(resume_download)", "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', resume_download=True)"),
    ("env:HF_HUB_ENABLE_HF_TRANSFER=1|on|yes|true", "import os\nos.environ['HF_HUB_ENABLE_HF_TRANSFER'] = '0'"),
    ("env:HF_HUB_ENABLE_HF_TRANSFER=1|on|yes|true", "settings['HF_HUB_ENABLE_HF_TRANSFER'] = '1'"),
    (
        "transformers.*.from_pretrained(device_map=*)",
        "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', device_map=None)",
    ),
    (
        "transformers.*.from_pretrained(device_map=*)",
        "import os\nfrom transformers import AutoModel\nAutoModel.from_pretrained('a', device_map=None if f() else 'auto')",
    ),
    ("transformers.Trainer(compute_metrics=...|*)", "from transformers import Trainer\nTrainer(model, compute_metrics=None)"),
    (
        "transformers.Trainer(compute_metrics=...|*)",
        "from transformers import Trainer\nTrainer(model, compute_metrics=m if args.do_eval else None)",
    ),
    (
        "env:PYTORCH_CUDA_ALLOC_CONF=*expandable_segments:true*",
        "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:128'",
    ),
    ("datasets.Audio", "from IPython.display import Audio"),
    ("transformers.*.from_pretrained(attn_implementation)", "from mamba_ssm import M\nM.from_pretrained('a/b', attn_implementation='x')"),
    ("?.from_pretrained(attn_implementation)", "from mamba_ssm import M\nM.from_pretrained('a/b', attn_implementation='x')"),
    ("transformers.modeling_utils.prune_linear_layer", "from transformers.pytorch_utils import prune_linear_layer"),
    ("transformers.deepspeed.*", "from transformers.integrations.deepspeed import HfDeepSpeedConfig"),
)


@pytest.mark.parametrize(("pattern", "text"), NEAR)
def test_a_script_that_does_not(tmp_path: Path, pattern: str, text: str) -> None:
    assert not list_meant([pattern], uses(read(tmp_path, text + "\n")))


def test_a_command_in_a_notebook(tmp_path: Path) -> None:
    path = write(tmp_path, notebook("!CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo"), "run.ipynb")
    assert uses(collect_script(path)) == ("$ swift rlhf",)


def test_each_use_has_its_line(tmp_path: Path) -> None:
    found = read(tmp_path, "import trl\n\n\ntrl.SFTTrainer(\n    packing=True)\ntrl.SFTTrainer(packing=True)\n")
    (fact,) = [fact for fact in found.facts if fact.name == "plan.code_uses"]
    assert isinstance(fact.value, tuple)
    told = {use: place.line for use, place in zip(fact.value, fact.places, strict=True)}
    assert told == {"trl": 1, "trl.SFTTrainer": 4, "trl.SFTTrainer(packing=True)": 4}


def test_secrets_of_the_environment_are_not_repeated(tmp_path: Path) -> None:
    shown = uses(read(tmp_path, "import os\nos.environ['HF_TOKEN'] = 'hf_abc'\nos.environ['HF_HOME'] = '/data'\n"))
    assert shown == ("env:HF_HOME=/data", "env:HF_TOKEN")


@pytest.mark.parametrize(("old", "new"), sorted(OLD.items()))
def test_an_old_spelling_is_known_by_what_stands_in_its_place(old: str, new: tuple[str, tuple[str, ...]]) -> None:
    use, patterns = new
    assert any(is_meant(pattern, use) for pattern in patterns)
    assert now_meant(old) == patterns


def test_an_argument_that_must_be_absent_is_kept_for_who_asks() -> None:
    asked = ["peft.LoraConfig(r)", "peft.LoraConfig(r, !lora_dropout)"]
    kept = narrow("peft.LoraConfig(r=8, lora_dropout=0.1)", asked)
    assert kept is not None
    assert is_meant(asked[0], kept)
    assert not is_meant(asked[1], kept)
    assert narrow("peft.LoraConfig(r=8, bias=all)", asked) == "peft.LoraConfig(r=8)"


@pytest.mark.parametrize(
    "body",
    [
        "if 'max_length' in inspect.signature(SFTConfig).parameters:\n    SFTConfig('o', packing=True)",
        "k = {}\nif transformers.__version__ < '5':\n    k['packing'] = True\nSFTConfig('o', **k)",
        "def make():\n    if OLD:\n        return SFTConfig('o')\n    return SFTConfig('o', packing=True)\nmake()",
    ],
)
def test_a_call_that_some_releases_alone_are_given_is_no_use(tmp_path: Path, body: str) -> None:
    head = "import inspect, transformers\nfrom trl import SFTConfig\nOLD = transformers.__version__ < '5'\n"
    assert not list_meant(["trl.SFTConfig(packing)"], uses(read(tmp_path, head + body + "\n")))


def test_what_a_script_makes_of_a_tokenizer_and_its_call(tmp_path: Path) -> None:
    text = """
        from transformers import AutoTokenizer, AutoModelForCausalLM
        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        model.config.output_router_logits = True
        tokenizer("a", add_special_tokens=False)
    """
    (found,) = [fact.value for fact in read(tmp_path, text).facts if fact.name == "plan.code_uses"]
    assert isinstance(found, tuple)
    told = {"?.pad_token = eos_token", "?.output_router_logits = ?", "?.__call__(0=a, add_special_tokens=False)"}
    assert told <= set(found)


def test_what_a_function_gives_back_takes_the_place_of_a_method(tmp_path: Path) -> None:
    text = "import peft\ndef own(self, *_, **__):\n    return peft.get_peft_model_state_dict(self)\nmodel.state_dict = own.__get__(model)\n"
    assert "?.state_dict = peft.get_peft_model_state_dict" in uses(read(tmp_path, text))
