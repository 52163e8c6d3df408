"""What is written in place of a name or an argument that a package gave up, for code of one's own: the releases themselves are known.

Each is what a release of the package says itself: ``numpy/_expired_attrs_2_0.py`` of numpy 2.0.2 (and its notes of 1.20,
https://numpy.org/devdocs/release/1.20.0-notes.html, of Python's own types), ``Image.py`` of Pillow 9.5.0, the warnings of Lightning 1.6.5
and 1.9.5, and of torch the threads that stand at the name.
"""

from __future__ import annotations

# Python's own types went by numpy's name; of bool and str there are numpy's as well.
_BUILTINS = "bool complex float int object str"
_SAME = {
    "float_": "float64", "complex_": "complex128", "NaN": "nan", "NAN": "nan", "Inf": "inf", "Infinity": "inf", "infty": "inf",
    "PINF": "inf", "product": "prod", "cumproduct": "cumprod", "sometrue": "any", "alltrue": "all", "in1d": "isin",
    "trapz": "trapezoid", "row_stack": "vstack", "unicode_": "str_", "string_": "bytes_", "mat": "asmatrix",
    "find_common_type": "result_type", "typeDict": "sctypeDict", "round_": "round", "longfloat": "longdouble",
    "clongfloat": "clongdouble", "singlecomplex": "complex64", "cfloat": "complex128",
    "bool8": "bool_",
}  # fmt: skip
_OF_SIX = {"inf": "torch.inf", "string_classes": "str", "int_classes": "int", "nan": "torch.nan"}
_SUCCESSORS = {
    **{f"numpy.{name}": f"{name} in place of np.{name}" for name in _BUILTINS.split()},
    **{f"numpy.{old}": f"np.{new} in place of np.{old}" for old, new in _SAME.items()},
    "numpy.unicode": "str in place of np.unicode",
    "numpy.NINF": "-np.inf in place of np.NINF",
    "numpy.asfarray": "np.asarray(x, dtype=float) in place of np.asfarray(x)",
    "PIL.Image.ANTIALIAS": "Image.LANCZOS in place of Image.ANTIALIAS",
    "PIL.Image.LINEAR": "Image.BILINEAR in place of Image.LINEAR",
    "PIL.Image.CUBIC": "Image.BICUBIC in place of Image.CUBIC",
    # https://github.com/152334H/DL-Art-School/issues/58
    "torch._six": "from torch import inf in place of from torch._six import inf; str in place of its string_classes",
    **{f"torch._six.{old}": f"{new} in place of torch._six.{old}" for old, new in _OF_SIX.items()},
}


# huggingface_hub called it so until 2022, and its libraries followed: the deprecations of transformers 4.57.6, datasets 2.21 and whisperx.
_KEYWORDS = {"use_auth_token": "token"}


# trainer/connectors of pytorch-lightning 1.6.5 and 1.9.5; use_distributed_sampler is in 2.0.9, replace_sampler_ddp is not.
_OF_LIGHTNING = {
    "gpus": 'accelerator="gpu", devices=... in place of gpus=...',
    "tpu_cores": 'accelerator="tpu", devices=... in place of tpu_cores=...',
    "num_processes": 'accelerator="cpu", devices=... in place of num_processes=...',
    "auto_select_gpus": "devices=find_usable_cuda_devices(...) of pytorch_lightning.accelerators in place of auto_select_gpus=...",
    "resume_from_checkpoint": "trainer.fit(..., ckpt_path=...) in place of resume_from_checkpoint=...",
    "checkpoint_callback": "enable_checkpointing=... in place of checkpoint_callback=...",
    "progress_bar_refresh_rate": "callbacks=[TQDMProgressBar(refresh_rate=...)] in place of progress_bar_refresh_rate=...",
    "replace_sampler_ddp": "use_distributed_sampler=... in place of replace_sampler_ddp=...",
    "weights_summary": "enable_model_summary=... in place of weights_summary=...",
}


# The folders of the wheels of langchain 1.5.2, langchain-community 0.4.2, langchain-classic 1.0.8 and langchain-text-splitters 1.1.3: what
# langchain until 0.3 had, and has not from 1.0 on.
_OF_COMMUNITY = frozenset(
    ("vectorstores", "document_loaders", "llms", "utilities", "docstore", "document_transformers", "chat_loaders", "graphs", "storage",
     "adapters")
)  # fmt: skip
_OF_CLASSIC = frozenset(
    ("chains", "memory", "retrievers", "schema", "prompts", "output_parsers", "callbacks", "indexes", "evaluation", "hub", "load", "cache",
     "sql_database", "base_language", "requests", "python", "smith", "runnables", "globals", "input", "env", "formatting", "utils")
)  # fmt: skip


def _of_langchain(symbol: str) -> str:
    part = symbol.partition(".")[2].partition(".")[0]
    if part == "text_splitter":
        return "pip install langchain-text-splitters, and langchain_text_splitters in place of langchain.text_splitter"
    if part in _OF_COMMUNITY:
        return f"pip install langchain-community, and langchain_community.{part} in place of langchain.{part}"
    if part in _OF_CLASSIC:
        return f"pip install langchain-classic, and langchain_classic.{part} in place of langchain.{part}"
    return ""


def successor(symbol: str) -> str:
    """What to write in place of a symbol (``numpy.int``) or an argument in the line that asks for it; empty where nobody says."""
    keyword = symbol.rstrip(")").partition("(")[2]
    if keyword in _KEYWORDS:
        return f"{_KEYWORDS[keyword]}=... in place of {keyword}=..."
    if symbol.endswith(f".Trainer({keyword})") and symbol.startswith(("pytorch_lightning.", "lightning.")) and keyword in _OF_LIGHTNING:
        return _OF_LIGHTNING[keyword]
    if symbol.startswith("langchain.") and symbol.islower():
        return _of_langchain(symbol)
    return _SUCCESSORS.get(symbol, "")
