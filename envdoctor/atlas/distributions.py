"""By which names packages of the index are imported, where they are called otherwise."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envdoctor.atlas.stack import Stack

# Folders into which many packages put theirs: a name belongs to the one whose folder is the second.
_NAMESPACES = frozenset(("google", "megatron", "pyannote"))
_WITHIN = {"protobuf": ("google.protobuf",), "megatron-core": ("megatron.core",), "pyannote-audio": ("pyannote.audio",)}

_OTHERWISE = {
    "PIL": ("pillow", "pillow-simd"),
    "yaml": ("pyyaml",),
    "sklearn": ("scikit-learn",),
    "cv2": ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
    "skimage": ("scikit-image",),
    "dateutil": ("python-dateutil",),
    "pkg_resources": ("setuptools",),
    "_distutils_hack": ("setuptools",),
    "google.protobuf": ("protobuf",),
    "git": ("gitpython",),
    "bs4": ("beautifulsoup4",),
    "dotenv": ("python-dotenv",),
    "jwt": ("pyjwt",),
    "OpenSSL": ("pyopenssl",),
    "attr": ("attrs",),
    "attrs": ("attrs",),
    "zmq": ("pyzmq",),
    "Crypto": ("pycryptodome",),
    "serial": ("pyserial",),
    "usb": ("pyusb",),
    "faiss": ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu12", "faiss-gpu-cu11"),
    "awq": ("autoawq",),
    "auto_gptq": ("auto-gptq",),
    "swift": ("ms-swift",),
    "open_clip": ("open-clip-torch",),
    "pytorch_lightning": ("pytorch-lightning", "lightning"),
    "sentence_transformers": ("sentence-transformers",),
    "flash_attn": ("flash-attn",),
    "huggingface_hub": ("huggingface-hub",),
    "tensorboardX": ("tensorboardx",),
    "lm_eval": ("lm-eval",),
    "magic": ("python-magic",),
    "multipart": ("python-multipart",),
    "python_multipart": ("python-multipart",),
    "docx": ("python-docx",),
    "esm": ("fair-esm",),
    "fitz": ("pymupdf",),
    "ruamel": ("ruamel-yaml",),
    "websocket": ("websocket-client",),
    "flashinfer": ("flashinfer-python",),
    "gguf": ("gguf",),
    "hydra": ("hydra-core",),
    "pl_bolts": ("lightning-bolts",),
    "rouge": ("rouge",),
    "umap": ("umap-learn",),
    "torch_geometric": ("torch-geometric",),
    "win32api": ("pywin32",),
    "xformers": ("xformers",),
    "mamba_ssm": ("mamba-ssm",),
    "causal_conv1d": ("causal-conv1d",),
    "fla": ("flash-linear-attention",),
    "clip": ("clip-anytorch",),
    "whisper": ("openai-whisper",),
    "megatron.core": ("megatron-core",),
    "pyannote.audio": ("pyannote-audio",),
    "pyannote.core": ("pyannote-core",),
    "nemo": ("nemo-toolkit",),
    "llama_index": ("llama-index-core",),
    "haystack": ("haystack-ai",),
    "composer": ("mosaicml",),
    "streaming": ("mosaicml-streaming",),
    "megatron": ("megatron-core",),
    "mii": ("deepspeed-mii",),
    "TTS": ("tts", "coqui-tts"),
    "ignite": ("pytorch-ignite",),
    "fairseq": ("fairseq",),
    "triton": ("triton", "pytorch-triton", "triton-windows"),
    "typing_extensions": ("typing-extensions",),
    "charset_normalizer": ("charset-normalizer",),
    "importlib_metadata": ("importlib-metadata",),
    "ipywidgets": ("ipywidgets",),
    "IPython": ("ipython",),
    "mpl_toolkits": ("matplotlib",),
    "pylab": ("matplotlib",),
    "jose": ("python-jose",),
    "slugify": ("python-slugify",),
    "Levenshtein": ("levenshtein", "python-levenshtein"),
    "markdown": ("markdown",),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "intel-tensorflow", "tensorflow-rocm", "tensorflow-macos"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "cupy": ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
    "hf_xet": ("hf-xet",),
    "hf_transfer": ("hf-transfer",),
    "deprecated": ("deprecated",),
    "absl": ("absl-py",),
    "wcwidth": ("wcwidth",),
    "cpuinfo": ("py-cpuinfo",),
    "hjson": ("hjson",),
    "deprecate": ("pydeprecate",),
    "pynvml": ("nvidia-ml-py", "pynvml", "nvidia-ml-py3"),
}

# Of Python's own library in other releases than the one that runs envdoctor.
_OF_PYTHON = frozenset(("annotationlib", "distutils", "imp", "asynchat", "asyncore", "tomllib", "compression", "concurrent"))

# Modules that are made by something else than a package of their name, or that come with one of several: their absence says nothing.
_UNSURE = frozenset(
    ("google", "nvidia", "_virtualenv", "mpi4py", "torch_xla", "torch_npu", "apex", "transformer_engine", "amp_C", "habana_frameworks")
)


def distributions_of(top: str) -> tuple[str, ...]:
    """The packages of the index that bring a module of this top-level name, the usual one first; nothing where that is not known."""
    if top in _UNSURE or top.startswith("_") or top in sys.stdlib_module_names or top in _OF_PYTHON:
        return ()
    return _OTHERWISE.get(top) or (top.replace("_", "-").lower(),)


# Top-level modules that several packages fill: what one of them lacks may come with another.
_SHARED = {
    "fla": ("fla-core",),
    "llama_index": ("llama-index",),
    "pyannote": ("pyannote-core", "pyannote-database", "pyannote-metrics", "pyannote-pipeline"),
    "optimum": (
        "optimum-amd", "optimum-executorch", "optimum-habana", "optimum-intel", "optimum-neuron", "optimum-nvidia", "optimum-onnx",
        "optimum-quanto",
    ),
}  # fmt: skip


# Parts of shared modules that no other package brings: what went from there is gone.
_OWN_PARTS = frozenset(("optimum.bettertransformer", "optimum.fx", "optimum.gptq", "optimum.utils"))


def may_bring(module: str, stack: Stack) -> bool:
    """Whether another package of a stack may bring a module that is not in the one that usually has its top-level name."""
    top, _, rest = module.replace(":", ".").partition(".")
    others = () if f"{top}.{rest.partition('.')[0]}" in _OWN_PARTS else _SHARED.get(top, ())
    return bool(others) and (not stack.closed or any(one in stack.releases for one in others))


def top_of(name: str) -> str:
    """The top module of a full name; of a namespace that many packages share, the module in it."""
    top, _, rest = name.replace(":", ".", 1).partition(".")
    return f"{top}.{rest.partition('.')[0]}" if top in _NAMESPACES and rest else top


def tops_of(package: str, tops: Sequence[str]) -> Sequence[str]:
    """The top modules that a package brings, as ``top_of`` has them."""
    return _WITHIN.get(package, tops)
