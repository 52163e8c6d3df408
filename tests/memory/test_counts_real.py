"""The real modules of transformers and adapters of peft, counted anew on the meta device: no weights, a few minutes.

Every ninth of the recorded models is counted; all of them with ``ENVDOCTOR_COUNT_ALL=1``, which takes minutes.
``ENVDOCTOR_PROBE_CACHE`` may name a directory in which the environment is kept between runs. To count with other releases, or further
models: ``python -m tests.memory.test_counts_real INTERPRETER`` with an interpreter that has them writes ``counted.json`` anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.memory.counted import TABLE, Counted, counted, releases
from tests.probes.test_lora_step_real import build

pytestmark = pytest.mark.probe

_CHILD = r"""
import collections, json, re, sys
import peft, torch, transformers
from transformers.modeling_utils import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.pytorch_utils import Conv1D

def build(config):
    made = CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, config["architectures"][0])(made)
    model.tie_weights()
    return model

def shape(module):
    sizes = (module.nx, module.nf) if isinstance(module, Conv1D) else (module.in_features, module.out_features)
    return (*sizes, module.bias is not None)

def count(config):
    model = build(config)
    head, layers, linears = model.get_output_embeddings(), {}, 0
    for name, module in model.named_modules():
        if isinstance(module, (torch.nn.Linear, Conv1D)) and module is not head:
            linears += 1
            key = (name.rsplit(".", 1)[-1], *shape(module))
            layer = re.match(r"(.*?\b(?:layers?|h|blocks?|block)\.\d+)\.", name)
            if layer:
                layers.setdefault(layer[1], collections.Counter())[key] += 1
    kinds = collections.Counter(tuple(sorted(counter.items())) for counter in layers.values())
    counted = {"total": sum(parameter.numel() for parameter in model.parameters())}
    if "text_config" in config or "vision_config" in config:
        return counted
    counted["layers"] = sorted([times, [[*key, number] for key, number in kind]] for kind, times in kinds.items())
    if linears < 2000:
        for name, targets in (("all-linear", "all-linear"), ("default", None)):
            counted[name] = adapter(build(config), targets)
    return counted

def adapter(model, targets):
    task = "SEQ_CLS" if "Classification" in type(model).__name__ else "CAUSAL_LM" if model.can_generate() else None
    try:
        with torch.device("meta"):
            tuned = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=targets, task_type=task), autocast_adapter_dtype=False)
    except (TypeError, ValueError):
        return None
    return sum(parameter.numel() for name, parameter in tuned.named_parameters() if ".lora_" in name)

counts = {}
for name, config in json.load(sys.stdin).items():
    counts[name] = count(config)
json.dump({"transformers": transformers.__version__, "peft": peft.__version__, "counts": counts}, sys.stdout)
"""


@pytest.fixture(scope="module")
def recounted(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    transformers, peft = releases()
    return count(build(("torch==2.13.0", f"transformers=={transformers}", f"peft=={peft}"), directory), SAMPLE)


def count(interpreter: Path, models: Sequence[Counted]) -> dict[str, object]:
    configs = json.dumps({model.name: model.config for model in models})
    done = subprocess.run([str(interpreter), "-c", _CHILD], input=configs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


SAMPLE = counted() if os.environ.get("ENVDOCTOR_COUNT_ALL") else counted()[::9]


@pytest.mark.parametrize("model", SAMPLE, ids=lambda model: model.name)
def test_the_record_is_what_real_modules_count(recounted: Mapping[str, object], model: Counted) -> None:
    counts = recounted["counts"]
    assert isinstance(counts, dict)
    recorded = {"total": model.total, **({} if model.layers is None else {"layers": model.layers}), **model.adapters}
    assert counts[model.name] == recorded


if __name__ == "__main__":
    made = count(Path(sys.argv[1]), counted())
    counts = made["counts"]
    assert isinstance(counts, dict)
    rows = [f"{json.dumps(one.name)}: {json.dumps({'config': one.config, **counts[one.name]}, separators=(',', ':'))}" for one in counted()]
    models = "{\n" + ",\n".join(rows) + "\n}"
    TABLE.write_text(f'{{"transformers":"{made["transformers"]}","peft":"{made["peft"]}","models":{models}}}\n')
