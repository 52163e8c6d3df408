"""What wrong calls are made with: small true things of the packages of an environment, and values that do not fit."""

# ruff: noqa: BLE001, E501 - whatever making a thing raises, there is one less
from __future__ import annotations

import importlib
import inspect
import random
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

STRINGS = (
    "nosuch",
    "",
    "auto",
    "none",
    "linear",
    "cosine",
    "max_length",
    "pt",
    "np",
    "mean",
    "all",
    "text",
    "label",
    "a",
    "0",
    "float16",
    "cpu",
)


class Things:
    """What calls are made with."""

    def __init__(self, chance: random.Random, folder: str) -> None:
        self.chance, self.folder = chance, folder
        (Path(folder) / "a.json").write_text('{"a": 1}', encoding="utf-8")
        (Path(folder) / "b.json").write_text("nosuch", encoding="utf-8")
        (Path(folder) / "c.csv").write_text("text,label\na,1\nb,2\n", encoding="utf-8")
        self.made: dict[str, Any] = {}
        self.makers: dict[str, Callable[[], Any]] = {
            "model": self._model, "tokenizer": self._tokenizer, "config": lambda: self.get("model").config, "dataset": self._dataset,
            "args": self._args, "peft_config": self._peft_config, "frame": self._frame, "series": lambda: self.get("frame")["a"],
            "array": self._array, "tensor": self._tensor, "table": self._table, "optimizer": self._optimizer, "scheduler": self._scheduler,
            "peft_model": self._peft_model, "iterable": lambda: self.get("dataset").to_iterable_dataset(), "raw": self._raw,
            "accelerator": self._accelerator, "features": lambda: self.get("dataset").features, "image": self._image, "api": self._api,
            "trainer": self._trainer, "dict": self._datasets, "noise": self._noise, "unet": self._unet, "index": lambda: self.get("frame").index,
        }  # fmt: skip
        self.by_package = {
            "transformers": ["model", "tokenizer", "config", "args", "trainer", "config"], "peft": ["peft_model", "peft_config"],
            "datasets": ["dataset", "iterable", "features", "dict"], "diffusers": ["noise", "unet"], "pandas": ["frame", "series", "index"],
            "numpy": ["array"], "torch": ["tensor", "optimizer", "scheduler"], "pyarrow": ["table"], "tokenizers": ["raw"],
            "accelerate": ["accelerator"], "huggingface_hub": ["api"],
        }  # fmt: skip

    def get(self, name: str) -> Any:
        if name not in self.made:
            try:
                self.made[name] = self.makers[name]()
            except BaseException:
                self.made[name] = None
        return self.made[name]

    def _model(self) -> Any:
        t = importlib.import_module("transformers")
        config = t.LlamaConfig(
            hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, vocab_size=32
        )
        return t.LlamaForCausalLM(config)

    def _raw(self) -> Any:
        t = importlib.import_module("tokenizers")
        raw = t.Tokenizer(t.models.WordLevel({"<unk>": 0, "a": 1, "b": 2, "<s>": 3}, unk_token="<unk>"))
        raw.pre_tokenizer = t.pre_tokenizers.Whitespace()
        return raw

    def _tokenizer(self) -> Any:
        return importlib.import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=self._raw(), unk_token="<unk>")

    def _dataset(self) -> Any:
        return importlib.import_module("datasets").Dataset.from_dict({"text": ["a b", "b"], "label": [0, 1]})

    def _datasets(self) -> Any:
        return importlib.import_module("datasets").DatasetDict({"train": self.get("dataset")})

    def _args(self) -> Any:
        return importlib.import_module("transformers").TrainingArguments(self.folder + "/out", report_to=[], use_cpu=True)

    def _trainer(self) -> Any:
        return importlib.import_module("transformers").Trainer(
            model=self.get("model"), args=self.get("args"), train_dataset=self.get("dataset")
        )

    def _peft_config(self) -> Any:
        return importlib.import_module("peft").LoraConfig(target_modules=["q_proj"], r=2)

    def _peft_model(self) -> Any:
        return importlib.import_module("peft").get_peft_model(self._model(), self._peft_config())

    def _frame(self) -> Any:
        return importlib.import_module("pandas").DataFrame({"a": [1, 2, 2], "b": ["x", "y", None], "c": [0.5, 1.5, 2.5]})

    def _array(self) -> Any:
        return importlib.import_module("numpy").arange(6.0).reshape(2, 3)

    def _tensor(self) -> Any:
        return importlib.import_module("torch").arange(6.0).reshape(2, 3)

    def _table(self) -> Any:
        return importlib.import_module("pyarrow").table({"a": [1, 2], "b": ["x", "y"]})

    def _optimizer(self) -> Any:
        torch = importlib.import_module("torch")
        return torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)

    def _scheduler(self) -> Any:
        return importlib.import_module("torch").optim.lr_scheduler.StepLR(self.get("optimizer"), 1)

    def _noise(self) -> Any:
        return importlib.import_module("diffusers").DDPMScheduler()

    def _unet(self) -> Any:
        return importlib.import_module("diffusers").UNet2DModel(
            sample_size=8,
            block_out_channels=(4, 4),
            down_block_types=("DownBlock2D",) * 2,
            up_block_types=("UpBlock2D",) * 2,
            norm_num_groups=2,
        )

    def _accelerator(self) -> Any:
        return importlib.import_module("accelerate").Accelerator(cpu=True)

    def _image(self) -> Any:
        return importlib.import_module("PIL.Image").new("RGB", (4, 4))

    def _api(self) -> Any:
        return importlib.import_module("huggingface_hub").HfApi()

    def wrong(self) -> Any:
        """Anything."""
        chance = self.chance
        pick = chance.randrange(9)
        if pick == 0:
            return chance.choice((-1, 0, 1, 2, 3, 7, 100))
        if pick == 1:
            return chance.choice((-1.0, 0.0, 0.5, 1.5, 1e9))
        if pick == 2:
            return chance.choice(([], [1, 2], ["a"], ["a", "a"], [[1, 2], [3]], ["nosuch"], [None], ("a", 1), (1, 2, 3), [[["a"]]]))
        if pick == 3:
            return chance.choice(({}, {"a": 1}, {"a": [1], "b": [1, 2]}, {"nosuch": "nosuch"}, {"": None}, {1: 2}))
        if pick == 4:
            return chance.choice((None, True, False, object(), int, str))
        if pick == 5:
            return self.get(chance.choice(sorted(self.makers)))
        if pick == 6:
            return self.folder + chance.choice(("/a.json", "/b.json", "/c.csv", "/nosuch", "", "/nosuch.json"))
        return chance.choice(STRINGS)

    def fitting(self, one: inspect.Parameter) -> Any:
        """What may be meant, by name, annotation and default."""
        chance, name = self.chance, one.name
        near = {
            "model": "model", "base_model": "model", "tokenizer": "tokenizer", "processing_class": "tokenizer", "config": "config", "args": "args",
            "train_dataset": "dataset", "eval_dataset": "dataset", "dataset": "dataset", "peft_config": "peft_config", "optimizer": "optimizer",
            "df": "frame", "frame": "frame", "a": "array", "x": "array", "arr": "array", "input": "tensor", "tensor": "tensor", "table": "table",
            "images": "image", "image": "image", "scheduler": "noise", "sample": "tensor", "model_output": "tensor", "other": "frame",
            "adapter_config": "peft_config", "unet": "unet", "array": "array", "preds": "tensor", "target": "tensor", "logits": "tensor",
        }  # fmt: skip
        if name in near and chance.random() < 0.85 and (found := self.get(near[name])) is not None:
            return found
        kind = one.annotation
        if isinstance(kind, str):
            kind = {"int": int, "str": str, "float": float, "bool": bool}.get(kind.partition("|")[0].strip(), inspect.Parameter.empty)
        choices = [c for c in (kind, *typing.get_args(kind)) if c is not type(None)]
        for choice in chance.sample(choices, len(choices)):
            if typing.get_origin(choice) is typing.Literal:
                return chance.choice(typing.get_args(choice))
            if choice is bool:
                return chance.random() < 0.5
            if choice is int:
                return chance.choice((1, 2, 3, 8, -1, 0))
            if choice is float:
                return chance.choice((0.1, 0.5, 1.0, -1.0, 2.0))
            if choice is str or "Path" in str(choice):
                return chance.choice((*STRINGS, self.folder + "/a.json", self.folder + "/nosuch"))
            if inspect.isclass(choice) and issubclass(choice, str) and hasattr(choice, "__members__"):
                return chance.choice(list(choice.__members__.values()))
        default = one.default
        if isinstance(default, bool):
            return not default
        if isinstance(default, (int, float)):
            return chance.choice((default * 2, -default, default + 1, 0))
        return self.wrong()

    def arguments(self, found: list[inspect.Parameter]) -> tuple[list[Any], dict[str, Any]]:
        chance = self.chance
        least = chance.choice((0.05, 0.15, 0.3))
        values, keywords = [], {}
        by_place = True
        for one in found:
            if one.name == "self" or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            needed = one.default is one.empty
            if not needed and chance.random() > least:
                by_place = False
                continue
            value = self.wrong() if chance.random() < 0.2 else self.fitting(one)
            if one.kind is one.POSITIONAL_ONLY or (by_place and needed and one.kind is not one.KEYWORD_ONLY):
                values.append(value)
            else:
                by_place = False
                keywords[one.name] = value
        return values, keywords
