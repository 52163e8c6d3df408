"""``plan.code_uses``: every spelling of the rules, shown by a script, and scripts that come near and do not show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.files.toml import read_toml
from envdoctor.sources.scripts.uses import NAMES, NOT_SHOWN, SPELLINGS

from .situations import notebook, read, values, write

RULES = Path(__file__).parents[3] / "rules"

SHOWS: dict[str, str] = {
    **{spelling: f"from {package} import {last}" for spelling, (package, last) in NAMES.items() if spelling == last},
    "datasets.Audio": "from datasets import Audio",
    "datasets.List": "import datasets\ndatasets.List(datasets.Value('string'))",
    "datasets.Sequence": "import datasets as d\nd.Sequence",
    "datasets.load_metric": "import datasets\nmetric = datasets.load_metric('rouge')",
    "evaluate.load": "import evaluate\nevaluate.load('rouge')",
    "torch.optim.AdamW": "import torch\ntorch.optim.AdamW([])",
    "transformers.AdamW": "from transformers.optimization import AdamW",
    "transformers.deepspeed": "from transformers.deepspeed import HfDeepSpeedConfig",
    "transformers.integrations.deepspeed": "from transformers.integrations.deepspeed import HfDeepSpeedConfig",
    "DPOConfig(beta)": "from trl import DPOConfig\nDPOConfig('out', beta=0.1)",
    "DPOTrainer(DPOConfig)": "from trl import *\nDPOTrainer(args=DPOConfig('out'))",
    "DPOTrainer(TrainingArguments)": (
        "from transformers import TrainingArguments\nfrom trl import DPOTrainer\na = TrainingArguments('o')\nDPOTrainer(args=a)"
    ),
    "SFTTrainer(TrainingArguments)": (
        "from transformers import HfArgumentParser, TrainingArguments\nfrom trl import SFTTrainer\n"
        "p = HfArgumentParser((Model, TrainingArguments))\nm, t = p.parse_args_into_dataclasses()\nSFTTrainer(args=t)"
    ),
    "KTOTrainer(processing_class)": "import trl\ntrl.KTOTrainer(processing_class=t)",
    "PPOTrainer(config)": "from trl import PPOTrainer\nPPOTrainer(config=c, model=m)",
    "SFTTrainer(packing)": "from trl import SFTTrainer\nk = dict(packing=True)\nSFTTrainer(model=m, **k)",
    "SFTTrainer(dataset_kwargs)": "from trl import SFTTrainer\nclass Own(SFTTrainer):\n    pass\nOwn(dataset_kwargs={})",
    "hf_hub_download(proxies)": "from huggingface_hub import HfApi\napi = HfApi()\napi.hf_hub_download('a/b', 'c', proxies={})",
    "force_filename": "from huggingface_hub import cached_download\ncached_download(u, force_filename='x')",
    "local_dir": "import huggingface_hub\nhuggingface_hub.snapshot_download('a/b', local_dir='x')",
    "local_dir_use_symlinks": "from huggingface_hub import snapshot_download\nsnapshot_download('a/b', local_dir_use_symlinks=False)",
    "resume_download": "from huggingface_hub import snapshot_download\nsnapshot_download('a/b', resume_download=True)",
    "attn_implementation": "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', attn_implementation='sdpa')",
    "use_flash_attention_2": "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', use_flash_attention_2=True)",
    "device_map": "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', device_map='auto')",
    "PYTORCH_ALLOC_CONF(expandable_segments)": "import os\nos.environ['PYTORCH_ALLOC_CONF'] = 'expandable_segments:True'",
    "PYTORCH_CUDA_ALLOC_CONF(expandable_segments)": (
        "import os\nos.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb:64,expandable_segments:True')"
    ),
    "use_fast=False": "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('a/b', use_fast=False)",
    "map": "from datasets import load_dataset\nload_dataset('x').map(f)",
    "set_format": "import datasets\nd.set_format('torch')",
    "with_format": "import datasets\nd = d.with_format(type='numpy')",
    "HF_HOME": "import os\nos.environ['HF_HOME'] = '/data'",
    "HF_HUB_ENABLE_HF_TRANSFER": "import os\nos.environ['HF_HUB_ENABLE_HF_TRANSFER'] = '1'",
    "swift rlhf": "from swift.llm import rlhf_main\nrlhf_main()",
    "swift sft": "from swift.llm import sft_main\nsft_main()",
    "model.state_dict = get_peft_model_state_dict": (
        "from peft import get_peft_model_state_dict\n"
        "old = model.state_dict\n"
        "model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))"
    ),
    "LoraConfig(bias=all)": "from peft import LoraConfig\nLoraConfig(r=8, bias='all')",
    "PPOTrainer.step": "from trl import PPOTrainer\nt = PPOTrainer(c, m)\nt.step(q, r, s)",
    "Trainer.compute_loss": (
        "from transformers import Trainer\nclass Own(Trainer):\n    def compute_loss(self, model, inputs, return_outputs=False): ..."
    ),
    "get_batch_logps(average_log_prob)": "from trl import DPOTrainer\nself.get_batch_logps(a, b, average_log_prob=True)",
    "load_dataset(script)": "from datasets import load_dataset\nload_dataset('data/own.py')",
    "safetensors.torch.save_file": "from safetensors.torch import save_file\nsave_file(tensors, 'model.safetensors')",
    "save_pretrained": "model.save_pretrained('out')",
}
for _spelling in SPELLINGS - SHOWS.keys():
    _callee, _, _keyword = _spelling.partition("(")
    SHOWS[_spelling] = f"from {NAMES[_callee][0]} import {_callee}\n{_callee}({_keyword.rstrip(')')}=x)"


@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
def test_a_script_that_shows_it(tmp_path: Path, spelling: str) -> None:
    uses = values(read(tmp_path, SHOWS[spelling] + "\n")).get("plan.code_uses")
    assert isinstance(uses, tuple)
    assert spelling in uses


NEAR = (
    ("HfFolder", "try:\n    from huggingface_hub import HfFolder\nexcept ImportError:\n    HfFolder = None\nHfFolder"),
    ("HfFolder", "from mine import HfFolder"),
    ("HfFolder", "from .compat import HfFolder"),
    ("HfFolder", "# from huggingface_hub import HfFolder"),
    ("transformers.deepspeed", "import transformers\nif transformers.__version__ < '4.33':\n    import transformers.deepspeed"),
    ("transformers.AdamW", "import transformers, torch\nOLD = transformers.__version__ < '4'\nif OLD:\n    transformers.AdamW"),
    ("transformers.AdamW", "from torch.optim import AdamW"),
    ("torch.optim.AdamW", "from transformers import AdamW"),
    ("PPOTrainer", "from trl.experimental.ppo import PPOTrainer"),
    ("PPOTrainer(config)", "from trl import PPOTrainer\nPPOTrainer(config=c, policy=p, reward_model=r)"),
    ("PPOTrainer.step", "from trl import PPOTrainer\noptimizer.step()"),
    ("SFTTrainer(packing)", "from trl import SFTTrainer, SFTConfig\nSFTTrainer(args=SFTConfig('o', packing=True))"),
    ("SFTTrainer(packing)", "from trl import SFTTrainer\nclass T(SFTTrainer):\n    def __init__(self, packing): ...\nT(packing=True)"),
    ("SFTTrainer(TrainingArguments)", "from trl import SFTTrainer, SFTConfig\nSFTTrainer(args=SFTConfig('o'))"),
    ("DPOTrainer(TrainingArguments)", "from trl import DPOTrainer\ndef f(args):\n    DPOTrainer(args=args)"),
    ("LoraConfig(bias=all)", "from peft import LoraConfig\nLoraConfig(bias='none')"),
    ("Trainer.compute_loss", "from transformers import Trainer\nclass T(Trainer):\n    def compute_loss(self, m, i, **kw): ..."),
    ("Trainer.compute_loss", "class T:\n    def compute_loss(self, m, i): ..."),
    ("Trainer.compute_loss", "from lightning import Trainer\nclass T(Trainer):\n    def compute_loss(self, m, i): ..."),
    ("model.state_dict = get_peft_model_state_dict", "from peft import get_peft_model_state_dict\ns = get_peft_model_state_dict(model)"),
    ("load_dataset(script)", "from datasets import load_dataset\nload_dataset('json', data_files='a.json')"),
    ("safetensors.torch.save_file", "from safetensors.torch import save_file\nsave_file(t, 'x', metadata={'format': 'pt'})"),
    ("safetensors.torch.save_file", "from safetensors.numpy import save_file\nsave_file(t, 'x')"),
    ("set_format", "import datasets\nd.set_format('pandas')"),
    ("set_format", "d.set_format('torch')"),
    ("use_fast=False", "AutoTokenizer.from_pretrained('a/b', use_fast=True)"),
    ("resume_download", "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', resume_download=True)"),
    ("HF_HUB_ENABLE_HF_TRANSFER", "import os\nos.environ['HF_HUB_ENABLE_HF_TRANSFER'] = '0'"),
    ("HF_HUB_ENABLE_HF_TRANSFER", "settings['HF_HUB_ENABLE_HF_TRANSFER'] = '1'"),
    ("device_map", "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', device_map=None)"),
    ("device_map", "import os\nfrom transformers import AutoModel\nAutoModel.from_pretrained('a', device_map=None if f() else 'auto')"),
    ("Trainer(compute_metrics)", "from transformers import Trainer\nTrainer(model, compute_metrics=None)"),
    ("Trainer(compute_metrics)", "from transformers import Trainer\nTrainer(model, compute_metrics=m if args.do_eval else None)"),
    ("PYTORCH_CUDA_ALLOC_CONF(expandable_segments)", "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:128'"),
    ("datasets.Audio", "from IPython.display import Audio"),
)


@pytest.mark.parametrize(("spelling", "text"), NEAR)
def test_a_script_that_does_not(tmp_path: Path, spelling: str, text: str) -> None:
    assert spelling in SPELLINGS
    uses = values(read(tmp_path, text + "\n")).get("plan.code_uses", ())
    assert isinstance(uses, tuple)
    assert spelling not in uses


def test_a_command_in_a_notebook(tmp_path: Path) -> None:
    from envdoctor.sources.scripts.script import collect_script

    path = write(tmp_path, notebook("!CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo"), "run.ipynb")
    assert values(collect_script(path))["plan.code_uses"] == ("swift rlhf",)


def _stated(table: object) -> Iterator[str]:
    """Every value that a rule, or a case of it, gives plan.code_uses."""
    if isinstance(table, dict):
        for key, value in table.items():
            if key == "code_uses":
                yield from value if isinstance(value, list) else [value]
            elif key != "model":
                yield from _stated(value)
    elif isinstance(table, list):
        for item in table:
            yield from _stated(item)


def test_every_spelling_of_the_rules_is_produced_or_argued() -> None:
    spelled = {spelling for path in RULES.rglob("*.toml") for spelling in _stated(read_toml(path))}
    assert len(spelled) > 100
    assert spelled - SPELLINGS - NOT_SHOWN.keys() == set()
    assert not SPELLINGS & NOT_SHOWN.keys()
    assert NOT_SHOWN.keys() <= spelled
