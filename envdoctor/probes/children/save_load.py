"""A LoRA adapter with random matrices is saved, its file read, and loaded again over the same tiny base.

CPython 3.8+, the patient's torch, transformers and peft. The adapter is saved as the Trainer saves it (as safetensors where
that is the release's default), without the Trainer.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import runpy
import struct
from collections.abc import Callable
from typing import Any

SEED = 0
ROWS, TOKENS = 2, 8


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    stage("importing peft")
    peft: Any = importlib.import_module("peft")
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    helpers = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny_model.py"))
    journey = _Journey(torch, transformers, peft, params, stage)
    journey.measured["versions"] = helpers["versions"](torch, transformers, peft)
    try:
        journey.go()
    except helpers["FAILURES"] as error:
        journey.measured["error"] = helpers["failure"](error, journey.during)
    return journey.measured


class _Journey:
    def __init__(self, torch: Any, transformers: Any, peft: Any, params: dict[str, Any], stage: Callable[[str], None]) -> None:
        self.torch = torch
        self.transformers = transformers
        self.peft = peft
        self.params = params
        self.stage = stage
        self.during = ""
        self.ids = torch.randint(1, 100, (ROWS, TOKENS))
        self.measured: dict[str, Any] = {"error": None, "biases_and_head": bool(params["biases_and_head"])}

    def enter(self, name: str) -> None:
        self.during = name
        self.stage(name)

    def go(self) -> None:
        self.enter("building a tiny model")
        base = self._base()
        bare = self._logits(base)
        self.enter("applying the adapter")
        model = self.peft.get_peft_model(base, self._settings())
        generator = self.torch.Generator().manual_seed(SEED)
        trainable = [parameter for _, parameter in sorted(model.named_parameters()) if parameter.requires_grad]
        with self.torch.no_grad():
            for parameter in trainable:
                parameter.normal_(0.0, 0.2, generator=generator)
        trained = self._logits(model)
        self.measured["trainable_elements"] = sum(parameter.numel() for parameter in trainable)
        self.measured["effect"] = self._distance(trained, bare)
        if self.params["state_dict_override"]:
            self._override(model)
        self.enter("saving the adapter")
        directory = os.path.abspath("adapter")
        safe = self._safe() if self.params["safe"] is None else self.params["safe"]
        model.save_pretrained(directory, safe_serialization=safe)
        self.enter("reading the adapter's file")
        self.measured.update(self._file(directory))
        self.enter("loading the adapter")
        loaded = self.peft.PeftModel.from_pretrained(self._base(), directory)
        self.measured["difference"] = self._distance(self._logits(loaded), trained)
        self.enter("merge_and_unload")
        self.measured["merged_difference"] = self._distance(self._logits(loaded.merge_and_unload()), trained)

    def _base(self) -> Any:
        self.torch.manual_seed(SEED)
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 128}
        if self.params["biases_and_head"]:
            config = self.transformers.BertConfig(max_position_embeddings=64, **sizes)
            model = self.transformers.BertForTokenClassification(config)
        else:
            config = self.transformers.LlamaConfig(max_position_embeddings=64, tie_word_embeddings=False, **sizes)
            model = self.transformers.LlamaForCausalLM(config)
        # The head of a task and the like are random: every base gets the same.
        generator = self.torch.Generator().manual_seed(SEED)
        with self.torch.no_grad():
            for _, parameter in sorted(model.named_parameters()):
                parameter.normal_(0.0, 0.1, generator=generator)
        return model

    def _settings(self) -> Any:
        settings: dict[str, Any] = {"r": 4, "lora_alpha": 8, "lora_dropout": 0.0}
        if self.params["biases_and_head"]:
            settings.update({"target_modules": ["query"], "task_type": "TOKEN_CLS", "bias": "all"})
        else:
            settings.update({"target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"})
        if self.params["modules_to_save"]:
            settings["modules_to_save"] = list(self.params["modules_to_save"])
        if self.params["method"] == "dora":
            settings["use_dora"] = True
        if self.params["method"] == "rslora":
            settings["use_rslora"] = True
        return self.peft.LoraConfig(**settings)

    def _override(self, model: Any) -> None:
        """What older training scripts do so that the Trainer saves the adapter only."""
        whole = model.state_dict
        select = self.peft.get_peft_model_state_dict
        model.state_dict = lambda *_, **__: select(model, whole())

    def _safe(self) -> bool:
        """Whether the release's Trainer saves as safetensors; releases that no longer ask always do."""
        arguments: Any = importlib.import_module("transformers.training_args")
        return bool(getattr(arguments.TrainingArguments, "save_safetensors", True))

    def _file(self, directory: str) -> dict[str, Any]:
        path = os.path.join(directory, "adapter_model.safetensors")
        if os.path.exists(path):
            with open(path, "rb") as stream:
                header = json.loads(stream.read(struct.unpack("<Q", stream.read(8))[0]))
            shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__"]
        else:
            path = os.path.join(directory, "adapter_model.bin")
            shapes = [list(tensor.shape) for tensor in self.torch.load(path, map_location="cpu").values()]
        sizes = [math.prod(shape) for shape in shapes]
        return {"file": os.path.basename(path), "saved_tensors": len(sizes), "saved_elements": sum(sizes)}

    def _logits(self, model: Any) -> Any:
        with self.torch.no_grad():
            return model.eval()(input_ids=self.ids, attention_mask=self.torch.ones_like(self.ids)).logits.float()

    def _distance(self, one: Any, other: Any) -> Any:
        """The largest difference, relative to the largest value; as text where it is not finite."""
        number = float((one - other).abs().max() / other.abs().max().clamp_min(1e-12))
        return round(number, 8) if math.isfinite(number) else str(number)
