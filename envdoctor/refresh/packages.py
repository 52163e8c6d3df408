"""The packages whose releases are listed."""

from __future__ import annotations

# What envdoctor is about: where one of these is, somebody trains.
CORE = (
    "accelerate", "auto-gptq", "autoawq", "bitsandbytes", "datasets", "deepspeed", "flash-attn", "fsspec", "huggingface-hub", "numpy",
    "packaging", "peft", "pyarrow", "safetensors", "sentence-transformers", "tokenizers", "torch", "torchaudio", "torchvision",
    "transformers", "triton", "trl", "vllm", "xformers",
)  # fmt: skip

# What projects that train pin beside them, and what those pull in: an installer has to please all of them together.
FURTHER = (
    # PyTorch's own, and what trains with it
    "torchao", "torchcodec", "torchdata", "torchmetrics", "torchtext", "torchtune", "lightning", "lightning-utilities", "litgpt",
    "pytorch-lightning", "axolotl", "llamafactory", "ms-swift", "optimum", "unsloth", "unsloth-zoo", "liger-kernel", "kernels",
    "cut-cross-entropy", "fairscale", "fairseq", "diffusers", "timm", "open-clip-torch", "evaluate", "lm-eval", "llm-blender", "ray",
    "modelscope", "swanlab", "wandb", "tensorboard", "tyro", "hydra-core", "omegaconf", "antlr4-python3-runtime", "higher",
    # quantization, kernels, CUDA
    "causal-conv1d", "compressed-tensors", "gguf", "gptqmodel", "hqq", "mamba-ssm", "optimum-quanto", "flashinfer-python",
    "cupy-cuda12x", "ninja", "nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
    # other frameworks and runtimes
    "flax", "jax", "jaxlib", "keras", "mkl", "onnx", "onnxruntime", "onnxruntime-gpu", "tensorflow", "tf-keras",
    # serving and structured output
    "fschat", "gradio", "gradio-client", "llguidance", "lm-format-enforcer", "lmdeploy", "mistral-common", "openai-harmony",
    "outlines", "outlines-core", "sglang", "streamlit", "xgrammar",
    # models' own needs: tokenizing, text, images, sound
    "albumentations", "av", "bert-score", "cpm-kernels", "decord", "einops", "einops-exts", "ftfy", "icetk", "jieba", "kaldiio",
    "latex2mathml", "librosa", "mdtex2html", "nltk", "opencv-python", "opencv-python-headless", "pillow", "qwen-vl-utils", "regex",
    "rouge-chinese", "rouge-score", "sacrebleu", "sentencepiece", "soundfile", "spacy", "tiktoken", "transformers-stream-generator",
    # what is built upon all these, and pins them: read by the atlas, or often beside them
    "adapters", "argilla", "auto-round", "bertopic", "chromadb", "controlnet-aux", "coqui-tts", "ctranslate2", "deepspeed-mii",
    "distilabel", "easyocr", "fastai", "faster-whisper", "flair", "funasr", "instructor", "k-diffusion", "kornia", "langchain-huggingface",
    "langchain-openai", "lerobot", "lighteval", "llmcompressor", "mergekit", "mlflow", "nemo-toolkit", "openai-whisper", "openrlhf",
    "optimum-habana", "optimum-intel", "pyannote-audio", "qwen-tts", "setfit", "simpletransformers", "span-marker", "speechbrain",
    "tensorboardx", "tensordict", "thinc", "torchrl", "verl", "whisperx",
    # numbers and data
    "dill", "faiss-cpu", "faiss-gpu", "joblib", "llvmlite", "matplotlib", "multiprocess", "networkx", "numba", "pandas", "scikit-learn",
    "scipy", "sympy", "xxhash", "gcsfs", "s3fs", "hf-transfer", "hf-xet",
    # the web and the rest that two of them disagree about
    "aiohttp", "aiosignal", "anthropic", "anyio", "attrs", "certifi", "charset-normalizer", "click", "cloudpickle", "fastapi", "filelock",
    "frozenlist", "google-api-core", "grpcio", "grpcio-status", "httpcore", "httpx", "idna", "importlib-metadata", "jinja2", "langchain",
    "langchain-community", "langchain-core", "loguru", "markupsafe", "multidict", "openai", "protobuf", "psutil", "pydantic",
    "pydantic-core", "pyyaml", "requests", "rich", "setuptools", "shortuuid", "sse-starlette", "starlette", "tqdm", "typeguard", "typer",
    "typing-extensions", "urllib3", "uvicorn", "wheel", "yarl",
)  # fmt: skip

# The packages whose extras are listed too: those that training files ask for by extra. Others have extras by the hundred, one a build.
WITH_EXTRAS = frozenset(
    (
        *CORE, "aiohttp", "axolotl", "diffusers", "fastapi", "fschat", "gradio", "hqq", "httpx", "litgpt", "llamafactory", "lm-eval",
        "mistral-common", "ms-swift", "openai", "optimum", "optimum-quanto", "pydantic", "qwen-vl-utils", "requests", "tensorflow", "timm",
        "torchmetrics", "urllib3", "uvicorn", "wandb",
    )
)  # fmt: skip
