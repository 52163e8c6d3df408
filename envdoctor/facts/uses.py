"""How a use of a library is written in ``plan.code_uses``, and which of them a rule's pattern means.

A script states names (``trl.trainer.SFTTrainer``), calls with what they are given (``trl.SFTTrainer(model, packing=True)``; ``**`` where
more may be given than is shown), methods that the file defines (``def transformers.Trainer.compute_loss(self, model)``), what it puts in
the place of an attribute (``?.state_dict = peft.get_peft_model_state_dict``; of the ``forward`` of another package's class by its name),
variables (``env:HF_HOME=/data``) and commands (``$ swift sft``). ``?`` is an object whose class the file does not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from envdoctor.records import dataclass

CODE_USES = "plan.code_uses"
# What lies in a package's experimental part is what rules send one to.
_CAPITAL = frozenset(("FlagEmbedding", "InstructorEmbedding", "TTS"))  # packages that are imported by such a name
_EXPERIMENTAL = ".experimental."
# Other modules have functions of that name that do other things: torch.hub.load, torch.jit.load, torch.export.load.
_OF_THE_PACKAGE_ITSELF = frozenset(("torch.load", "torch.save"))
# A value that is given, and that no constant shows: a name, a function, a call.
SOME = "..."
OF, DOWNLOAD = "of", "huggingface_hub.snapshot_download"
"""What ``from_pretrained`` is given beside its arguments where the folder that it loads was downloaded."""
_MORE = "**"
# What checks ask of a script, beside what rules wait for.
LOADS_WITH_VLLM = ("vllm", "$ vllm serve")
# They put classes of their own in the place of trl's, which take the arguments of any release.
WRAPPERS = ("unsloth",)
# Beside variables: nothing that was read shows what the code uses.
NOTHING_ELSE = "nothing-else"
# What stands beside a wrapper's name where a script imports it under a test or a try: ``unsloth.provided_for``.
PROVIDED_FOR = "provided_for"
# What launchers and images set for a run, and rules ask about by what it is set to.
SWITCHES = (
    "BNB_CUDA_VERSION",
    "DISABLE_MLFLOW_INTEGRATION",
    "DISABLE_VERSION_CHECK",
    "DS_ALLOW_DEPRECATED_FP16",
    "FLASH_ATTENTION_FORCE_BUILD",
    "HF_DATASETS_TRUST_REMOTE_CODE",
    "HF_HUB_ENABLE_HF_TRANSFER",
    "NCCL_IB_DISABLE",
    "NCCL_P2P_DISABLE",
    "PIP_NO_BUILD_ISOLATION",
    "PL_TORCH_DISTRIBUTED_BACKEND",
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "TORCHDYNAMO_DISABLE",
    "TORCHDYNAMO_SUPPRESS_ERRORS",
    "TORCH_COMPILE_DISABLE",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD",
    "USE_TF",
    "USE_TORCH",
    "USE_V1",
    "UV_NO_BUILD_ISOLATION",
    "VLLM_USE_V1",
    "WANDB_DISABLED",
    "WANDB_MODE",
)
# Of these it is asked only whether they are set: their values are nobody's business.
SECRETS = ("WANDB_API_KEY",)
# Programs that launchers call beside the run, and rules ask about.
COMMANDS = ("evaluate-cli", "ray", "tts", "wandb")
# Of these it is asked what they are given by this option as well.
_OPTIONS = {"tts": "--model_name"}
# What they set to some directory, whichever: that it is set is what rules ask.
DIRECTORIES = (
    "HF_DATASETS_CACHE",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "PIP_BUILD_CONSTRAINT",
    "PIP_CONSTRAINT",
    "PYTORCH_PRETRAINED_BERT_CACHE",
    "PYTORCH_TRANSFORMERS_CACHE",
    "TRANSFORMERS_CACHE",
    "UV_BUILD_CONSTRAINT",
    "XDG_CACHE_HOME",
)
# What the allocator is told: of it a launcher states one setting, an image all that stands there.
ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
FIXES_THE_COMMIT = ("transformers.*.from_pretrained(code_revision)", "?.from_pretrained(code_revision)")
# What a script does about what the files of a model leave open.
PADS_WITH_EOS = ("?.pad_token = eos_token", "?.pad_token_id = eos_token_id")
PADS = (
    "?.pad_token = *", "?.pad_token_id = *", "?.add_special_tokens()", "transformers.*.add_special_tokens()",
    "transformers.*.from_pretrained(pad_token)", "?.from_pretrained(pad_token)", "trl.setup_chat_format", "unsloth.*",
)  # fmt: skip
RESIZES = (
    "?.resize_token_embeddings()", "transformers.*.resize_token_embeddings()", "peft.*.resize_token_embeddings()", "trl.setup_chat_format",
    "trl.clone_chat_template", "unsloth.*add_new_tokens",
)  # fmt: skip
STOPS = (
    "?.generate(eos_token_id|stopping_criteria|stop_strings)", "transformers.*.generate(eos_token_id|stopping_criteria|stop_strings)",
    "peft.*.generate(eos_token_id|stopping_criteria|stop_strings)",
    "transformers.GenerationConfig(eos_token_id|stop_strings)", "transformers.*.from_pretrained(eos_token_id)",
    "vllm.SamplingParams(stop_token_ids|stop)", "?.eos_token_id = *",
)  # fmt: skip
SETS_TEMPLATE = (
    "?.chat_template = *", "?.from_pretrained(chat_template)", "transformers.*.from_pretrained(chat_template)",
    "?.apply_chat_template(chat_template)", "transformers.*.apply_chat_template(chat_template)", "trl.setup_chat_format",
    "trl.clone_chat_template", "unsloth.*get_chat_template",
)  # fmt: skip
RENDERS = ("?.apply_chat_template(tokenize=False)", "transformers.*.apply_chat_template(tokenize=False)")
ADDS_NO_BOS = (
    "?.__call__(add_special_tokens=False)", "transformers.*.encode(add_special_tokens=False)",
    "?.encode(add_special_tokens=False)",
    "?.add_bos_token = *", "transformers.*.from_pretrained(add_bos_token)",
)  # fmt: skip
MASKS_PADDING = ("transformers.DataCollatorForLanguageModeling", "trl.DataCollatorForCompletionOnlyLM")
OWN_COLLATOR = ("trl.SFTTrainer(data_collator)",)
WITHOUT_COLLATOR = ("trl.SFTTrainer(!data_collator)",)
DOES_ABOUT_FILES = (
    *PADS_WITH_EOS, *PADS, *RESIZES, *STOPS, *SETS_TEMPLATE, *RENDERS, *ADDS_NO_BOS, *MASKS_PADDING, *OWN_COLLATOR, *WITHOUT_COLLATOR,
)  # fmt: skip


# A script that asks for it may run on a Mac.
ASKS_FOR_MPS = ("torch.backends.mps.is_available", "torch.backends.mps.is_built", "torch.mps.*")


def command_use(words: Sequence[str]) -> str | None:
    """The words of a command that rules ask about, up to its own command or the option that matters; None for any other."""
    program = words[0].rpartition("/")[2] if words else ""
    if program not in COMMANDS:
        return None
    option = _OPTIONS.get(program, "")
    if option in words[1:-1]:
        return " ".join((program, option, words[words.index(option) + 1]))
    return " ".join((program, *(word for word in words[1:2] if word.isalpha() and len(word) < 16)))


@dataclass(frozen=True, slots=True)
class Use:
    """A use, or a pattern of uses, taken apart. ``arguments`` is None for a name that is not called; ``whole``: nothing else is given."""

    kind: str
    name: str
    arguments: Mapping[str, str | None] | None = None
    whole: bool = True
    value: str | None = None


@lru_cache(maxsize=16_384)
def read_use(text: str) -> Use:
    """Take a use or a pattern apart."""
    if text.startswith("env:"):
        name, equals, value = text[4:].partition("=")
        return Use("env", name, value=value if equals else None)
    if text.startswith("$ "):
        return Use("command", text[2:].strip())
    kind, text = ("def", text[4:]) if text.startswith("def ") else ("name", text)
    name, parenthesis, given = text.partition("(")
    if not parenthesis:
        name, equals, value = text.partition(" = ")
        return Use("store" if equals else kind, name, value=value if equals else None)
    rows = [row.strip() for row in given.removesuffix(")").split(",")]
    pairs = [row.partition("=") for row in rows if row and row != _MORE]
    return Use(kind, name, {key: value if equals else None for key, equals, value in pairs}, _MORE not in rows)


def is_variable(use: str) -> bool:
    """Whether a use is a variable of the environment, or a command, which say nothing of what the code loads."""
    return read_use(use).kind in ("env", "command")


@lru_cache(maxsize=65_536)
def is_meant(pattern: str, use: str) -> bool:
    """Whether a rule's pattern means this use.

    ``trl.SFTTrainer`` is that object, whichever module of trl it is taken from, though not from its experimental part; a name of three
    or more parts is that of one module; ``*`` stands for any characters; a name without a package is that of any package.
    """
    if pattern == use:
        return True
    wanted, found = read_use(pattern), read_use(use)
    if wanted.kind != found.kind:
        return False
    if wanted.kind == "env":
        return wanted.name == found.name and (wanted.value is None or _is_text(wanted.value.lower(), (found.value or "").lower()))
    if wanted.kind == "command":
        return f"{found.name} ".startswith(f"{wanted.name} ")
    if wanted.kind == "store":
        target = wanted.name == found.name or (not wanted.name.startswith("?") and _is_name(wanted.name, found.name))
        return target and _is_name(wanted.value or "", found.value or "")
    return _is_name(wanted.name, found.name) and _is_given(wanted, found)


_PATTERN = re.compile(
    r"env:\w+(?:=\S+)?|\$ \S.*|[\w.*?]+\.\w+ = [\w.*]+|"
    rf"(?:def )?(?:\?|[a-z_][\w*]*|{'|'.join(sorted(_CAPITAL))})"
    r"(?:\.[\w*]+)*(?:\([^(),=\s]+(?:=[^(),\s]+)?(?:, [^(),=\s]+(?:=[^(),\s]+)?)*\)|\(\))?"
)


def is_pattern(text: str) -> bool:
    """Whether a text has the form of a pattern, with the package that its name is from."""
    return _PATTERN.fullmatch(text) is not None


def list_meant(patterns: Iterable[str], uses: Iterable[str]) -> tuple[str, ...]:
    """The uses that one of the patterns means."""
    listed = tuple(patterns)
    return tuple(use for use in uses if any(is_meant(pattern, use) for pattern in listed))


def does(patterns: Iterable[str], uses: object) -> bool:
    """Whether a script does what one of the patterns means; nobody does where no script was read."""
    return isinstance(uses, tuple) and bool(list_meant(patterns, map(str, uses)))


def is_used(patterns: Sequence[str], uses: Sequence[str]) -> bool | None:
    """Whether one of the patterns is used; None where variables are all that is known, and something else is asked for."""
    if any(is_meant(pattern, use) for pattern in patterns for use in uses):
        return True
    return None if uses and all(map(is_variable, uses)) and not all(map(is_variable, patterns)) else False


def narrow(use: str, patterns: Sequence[str]) -> str | None:
    """The use with no more of its arguments than the patterns ask about; None where none of them means it."""
    told = [pattern for pattern in patterns if is_meant(pattern, use)]
    found, meant = read_use(use), [read_use(pattern) for pattern in told]
    if found.arguments is None:
        # That something of a package is used says the package's name as well.
        packages = [pattern for pattern in told if pattern.isidentifier()]
        return packages[0] if told and packages == told else use if told else None
    if not told:
        return None
    asked = {key for one in meant for text in one.arguments or () for key in text.strip("!").split("|")}
    # What keeps a pattern from meaning the use has to stay, or it would mean what is left.
    asked |= {key for pattern in patterns for key in _barred(read_use(pattern), found)}
    rows = [key if value is None else f"{key}={value}" for key, value in found.arguments.items() if key in asked]
    rows += [] if found.whole else [_MORE]
    return f"{'def ' if found.kind == 'def' else ''}{found.name}({', '.join(rows)})"


def _barred(wanted: Use, found: Use) -> Iterable[str]:
    """The arguments that a pattern of such a use wants absent."""
    keys = [key[1:] for key in wanted.arguments or () if key.startswith("!")]
    return keys if keys and wanted.kind == found.kind and _is_name(wanted.name, found.name) else ()


def _is_name(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if "*" in pattern:
        return _EXPERIMENTAL not in name and _is_text(pattern, name)
    if pattern.startswith("?") or name.startswith("?"):
        return False
    wanted, found = pattern.split("."), name.split(".")
    if _EXPERIMENTAL in name and _EXPERIMENTAL not in pattern:
        return False
    if len(wanted) == 1 and wanted[0] == found[0]:
        return True  # anything of a package
    if len(found) == 1 and len(wanted) > 2 and found[0].islower():
        return False  # a package that has the name of another's method or module: evaluate and SFTTrainer.evaluate
    if _is_bare(wanted) or _is_bare(found):
        shorter = min(len(wanted), len(found))
        return wanted[-shorter:] == found[-shorter:]
    if pattern in _OF_THE_PACKAGE_ITSELF and found[1:-1] not in ([], ["serialization"]):
        return False
    return len(wanted) == 2 <= len(found) and wanted[0] == found[0] and wanted[-1] == found[-1]


def _is_bare(parts: list[str]) -> bool:
    """Whether a name comes without its package, as rules, facts files and packs wrote it once: ``SFTTrainer``, ``PPOTrainer.step``."""
    return len(parts) == 1 or (parts[0][:1].isupper() and parts[0] not in _CAPITAL)


def _is_given(wanted: Use, found: Use) -> bool:
    if wanted.arguments is None and wanted.name.startswith("?.") and wanted.kind == "name":
        return True  # a method of an object is seen where it is called, and nowhere else
    if wanted.arguments is None or found.arguments is None:
        return wanted.arguments is None and found.arguments is None
    return all(_has(key, value, found) for key, value in wanted.arguments.items())


def _has(key: str, value: str | None, found: Use) -> bool:
    """``!key``: is not given; ``a|b=v``: one of them is, with a value that fits; ``a|b!=v``: with one that does not, as far as is shown."""
    assert found.arguments is not None
    if key.endswith("!") and value is not None:
        told = [found.arguments[one] for one in key[:-1].split("|") if one in found.arguments]
        return any(one is None or not _is_value(value, one) for one in told)
    if key.startswith("!"):
        return key in found.arguments or (found.whole and key[1:] not in found.arguments)
    given = [found.arguments[one] for one in key.split("|") if one in found.arguments]
    return any(value is None or (one is not None and _is_value(value, one)) for one in given)


def _is_value(pattern: str, value: str) -> bool:
    """``*`` is any constant but None."""
    for one in pattern.split("|"):
        for said in value.split("|"):
            if one == said or ("*" in one and said not in ("None", SOME) and _is_text(one, said)):
                return True
            if "." in one and "*" not in one and _is_name(one, said):
                return True
    return False


def _is_text(pattern: str, text: str) -> bool:
    """Whether a text is one of those that a pattern lists with ``|``, where ``*`` stands for any characters."""
    return any(_has_form(parts, text) for parts in _forms(pattern))


def _has_form(parts: Sequence[str], text: str) -> bool:
    # A regular expression costs more to build than all that it would be asked: a script has hundreds of patterns, each of them once.
    if len(parts) == 1:
        return text == parts[0]
    first, *between, last = parts
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in between:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


@lru_cache(maxsize=2_048)
def _forms(pattern: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(one.split("*")) for one in pattern.split("|"))
