"""The model of a plan at its true size, without a single weight: built under fake tensors as transformers and peft would.

A child reads this file by its path, since its directory is no place to import from. CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any


class RefusedError(Exception):
    """Why this plan is not measured here; no fault."""


def release(version: str) -> tuple[int, int]:
    """The first two numbers of a version."""
    numbers = [int("".join(c for c in part if c.isdigit()) or 0) for part in version.split(".")[:2]]
    return numbers[0], numbers[1] if len(numbers) > 1 else 0


class Plan:
    """The class of a model, its config, and how it is asked for; found before anything of torch is replaced."""

    def __init__(self, torch: Any, params: dict[str, Any]) -> None:
        configuration: Any = importlib.import_module("transformers.models.auto.configuration_auto")
        modeling: Any = importlib.import_module("transformers.models.auto.modeling_auto")
        transformers: Any = importlib.import_module("transformers")
        utils: Any = importlib.import_module("transformers.modeling_utils")
        if params["adapter"] is not None:
            importlib.import_module("peft")
        self.release = release(transformers.__version__)
        self.attention = params["attention"]
        # The Trainer of transformers 5 fills no cache in training (TrainingArguments.use_cache); a plain loop takes the config's word.
        self.uncached = self.release >= (5, 0) and not params.get("outputs_kept")
        # Where nothing is asked for, transformers takes SDPA if the model has it.
        self.options: dict[str, Any] = {"attn_implementation": self.attention} if self.attention in ("eager", "sdpa") else {}
        self.options["dtype" if self.release >= (4, 56) else "torch_dtype"] = getattr(torch, params["dtype"])
        # Values do not matter, and one operation for each parameter costs seconds.
        utils.PreTrainedModel._initialize_weights = lambda self, module, *_: None
        table = {name: value for name, value in params["config"].items() if name not in ("quantization_config", "attn_implementation")}
        if params["remote"]:
            self.config = transformers.AutoConfig.from_pretrained(params["path"], trust_remote_code=True)
            self.make = transformers.AutoModelForCausalLM.from_config
            self.options["trust_remote_code"] = True
        else:
            kind = table.get("model_type")
            if kind not in configuration.CONFIG_MAPPING:
                raise RefusedError(f"transformers {transformers.__version__} has no model of the type {kind}")
            self.config = configuration.CONFIG_MAPPING[kind].from_dict({**table, "torch_dtype": params["dtype"]})
            self.make = _class(transformers, modeling, table, self.config, bool(params.get("text_alone")))._from_config
        # In training these want to know which tokens are of a picture.
        self.tells_pictures = table.get("model_type") in ("gemma3", "paligemma")
        self.classifies = "ForSequenceClassification" in _named(table)

    def build(self) -> Any:
        """The base model in its dtype; in fake mode it has no values."""
        # What is asked for is written into the configuration, refused or not.
        config = copy.deepcopy(self.config)
        try:
            model = self.make(config, **self.options)
        except ValueError:
            if self.attention != "sdpa":
                raise
            # A class that has none is eager.
            model = self.make(self.config, **{name: value for name, value in self.options.items() if name != "attn_implementation"})
        model.train()
        if self.uncached:
            model.config.use_cache = False
        # Before 4.48 each model has classes of its own for FlashAttention-2, which import the package: SDPA stays in its place. It
        # differs where there are fewer key heads than query heads, which FlashAttention-2 takes as they are.
        if self.attention == "flash_attention_2" and self.release >= (4, 48):
            for module in model.modules():
                if hasattr(module, "config"):
                    module.config._attn_implementation = "flash_attention_2"
        return model


def _class(transformers: Any, modeling: Any, table: dict[str, Any], config: Any, text_alone: bool) -> Any:
    """``text_alone``: a model that sees may be given text and no picture, so that its tower is weights only."""
    named = _named(table)
    if named.endswith("ForSequenceClassification"):
        mapping = modeling.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    elif named.endswith("ForMaskedLM"):
        mapping = modeling.MODEL_FOR_MASKED_LM_MAPPING
    else:
        mapping = modeling.MODEL_FOR_CAUSAL_LM_MAPPING
    if text_alone and type(config) not in mapping:
        mapping = getattr(modeling, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING", mapping)
    if type(config) not in mapping:
        raise RefusedError(f"transformers {transformers.__version__} has no language model alone for the type {config.model_type}")
    return mapping[type(config)]


def _named(table: dict[str, Any]) -> str:
    return next((name for name in table.get("architectures") or () if isinstance(name, str)), "")


def install_flash(torch: Any, attend: Any, model: Any) -> None:
    """Make transformers' FlashAttention-2 function the stand-in for the kernel of that package; ``model.played`` says that it was asked."""
    try:
        functions: Any = importlib.import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS
    except AttributeError:
        return

    def forward(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *_: Any, **__: Any) -> tuple[Any, None]:
        if attention_mask is not None:
            raise RefusedError("FlashAttention-2 is given a mask, and cuts the batch by values that fake tensors do not have")
        model.played = True
        if query.dtype == torch.float32:
            query, key, value = (tensor.to(torch.bfloat16) for tensor in (query, key, value))
        return attend(query, key, value, enable_gqa=True).transpose(1, 2), None

    functions["flash_attention_2"] = forward


def one_sequence_a_row() -> None:
    """Without a mask of padding transformers looks whether the positions are those of packed rows, and would not know of fake ones. A
    collator gives it a mask of ones, and no row is packed here."""
    try:
        masks: Any = importlib.import_module("transformers.masking_utils")
    except ImportError:
        return
    masks.find_packed_sequence_indices = lambda *_, **__: None


def simple_conversions(torch: Any) -> None:
    """Let a module take converted parameters by assignment: torch swaps those of fake tensors, and cannot."""

    def apply(self: Any, convert: Any, recurse: bool = True) -> Any:
        if recurse:
            for child in self.children():
                child._apply(convert)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                with torch.no_grad():
                    made = convert(parameter)
                if made is not parameter:
                    self._parameters[name] = torch.nn.Parameter(made, parameter.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = convert(buffer)
        return self

    torch.nn.Module._apply = apply


# Whose input IA3 multiplies, and not what comes out (TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING of peft).
_LAST_PRODUCTS = ("down_proj", "fc2", "fc_out", "lin2", "dense_4h_to_h", "mlp.c_proj", "output.dense", "wo")


def adapt(model: Any, adapter: dict[str, Any], classifies: bool) -> Any:
    """The model with low-rank adapters, as peft puts them in."""
    peft: Any = importlib.import_module("peft")
    targets = adapter["targets"]
    common: dict[str, Any] = {
        "target_modules": "all-linear" if list(targets) == ["all-linear"] else list(targets),
        "modules_to_save": list(adapter["modules_to_save"]) or None,
        "task_type": "SEQ_CLS" if classifies else "CAUSAL_LM",
    }
    if adapter.get("vectors"):
        config = peft.IA3Config(feedforward_modules=[name for name in targets if name.endswith(_LAST_PRODUCTS)], **common)
    else:
        options: dict[str, Any] = {"use_dora": True} if adapter["dora"] else {}
        chance = adapter.get("dropout", 0.0)
        config = peft.LoraConfig(r=adapter["rank"], lora_alpha=adapter["rank"], lora_dropout=chance, **common, **options)
    try:
        adapted = peft.get_peft_model(model, config)
    except ValueError as error:
        raise RefusedError(f"peft {peft.__version__}: {error}") from error
    if adapter["modules_to_save"]:
        _renew(importlib.import_module("torch"), adapted)
    if not adapter["float32"]:
        for name, parameter in adapted.named_parameters():
            if "lora_" in name or "ia3_" in name:
                parameter.data = parameter.data.to(next(model.parameters()).dtype)
    return adapted


def _renew(torch: Any, adapted: Any) -> None:
    """Parameters of their own in the modules that peft copied: of a fake tensor's deep copy, a view has another storage than the tensor."""
    for name, module in adapted.named_modules():
        if ".modules_to_save." in name:
            for own, parameter in list(module.named_parameters(recurse=False)):
                fresh = torch.empty_like(parameter)
                setattr(module, own, torch.nn.Parameter(fresh, requires_grad=parameter.requires_grad))
