"""The package that an import name belongs to, where the two differ."""

from __future__ import annotations

from envdoctor.facts.names import canonical
from envdoctor.world.releases import release_texts

# Packages below a name that several share: without one of them the name alone is there.
PORTIONS = frozenset(("google.protobuf", "ruamel.yaml"))
# Read from top_level.txt and RECORD of released wheels; the compiled modules of a package lie beside it at the top.
_PACKAGES = {
    "KTransformersOps": "ktransformers",
    "PIL": "pillow",
    "amp_C": "apex",
    "apex_C": "apex",
    "attr": "attrs",
    "auto_gptq": "auto-gptq",
    "awq": "autoawq",
    "awq_ext": "autoawq-kernels",
    "awq_inference_engine": "autoawq",
    "bs4": "beautifulsoup4",
    "causal_conv1d_cuda": "causal-conv1d",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "esm": "fair-esm",
    "fitz": "pymupdf",
    "faiss": "faiss-cpu",
    "fastchat": "fschat",
    "exllama_kernels": "auto-gptq",
    "exllamav2_kernels": "auto-gptq",
    "flash_attn": "flash-attn",
    "flash_attn_2_cuda": "flash-attn",
    "flash_attn_3": "flash-attn-3",
    "flash_attn_cuda": "flash-attn",
    "flashinfer": "flashinfer-python",
    "fused_layer_norm_cuda": "apex",
    "fused_weight_gradient_mlp_cuda": "apex",
    "git": "gitpython",
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "hydra": "hydra-core",
    "llama_cpp": "llama-cpp-python",
    "llmtuner": "llamafactory",
    "megatron": "megatron-core",
    "mamba_ssm": "mamba-ssm",
    "mpl_toolkits": "matplotlib",
    "open_clip": "open-clip-torch",
    "pkg_resources": "setuptools",
    "pytorch_lightning": "pytorch-lightning",
    "ruamel": "ruamel-yaml",
    "selective_scan_cuda": "mamba-ssm",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "swift": "ms-swift",
    "tensorflow_datasets": "tensorflow-datasets",
    "torch_npu": "torch-npu",
    "torch_xla": "torch-xla",
    "transformer_engine": "transformer-engine",
    "transformer_engine_extensions": "transformer-engine",
    "transformer_engine_torch": "transformer-engine",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}


# Packages that scripts import and of which no table of releases is kept.
_OTHERS = frozenset(
    ("IPython", "click", "colorama", "dotenv", "einops", "faiss", "fire", "gdown", "google", "jieba", "joblib", "json5",
     "jsonlines", "lightning", "loguru", "matplotlib", "networkx", "nltk", "nvidia", "orjson", "peft", "plotly", "psutil",
     "pydantic", "pynvml", "pytest", "pytz", "regex", "requests", "rich", "rouge", "rouge_chinese", "rouge_score", "ruamel",
     "sacrebleu", "scipy", "seaborn", "six", "soundfile", "spacy", "tabulate", "tiktoken", "tqdm", "typer", "typing_extensions",
     "ujson", "yaml")
)  # fmt: skip


def is_known(top: str) -> bool:
    """Whether a module's name is that of a package of the field, and not of a file of the project."""
    return top in _OTHERS or top in _PACKAGES or bool(release_texts(package_of(top)))


def package_of(import_name: str) -> str:
    """The normalised name of the package that gives a module; that of its first part where nothing else is known."""
    top = import_name.partition(".")[0]
    return _PACKAGES.get(import_name) or _PACKAGES.get(top) or canonical(top)
