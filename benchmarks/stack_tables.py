"""What executed stacks are drawn from: consumers with their main names, providers, Pythons and releases of torch.

The names are those that a project's own documentation begins with; which of them a release has is found by trying. ``module:name`` is a
name of a submodule, a bare one of the package's own module.
"""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Consumer:
    """A package whose import is tried.

    ``names`` are its main names, ``weight`` is how often it is drawn against the others. ``beside`` are requirements that its use needs
    and its metadata leaves to extras. ``torch`` says that it is tried in an environment with torch. ``builds`` allows source distributions.
    """

    package: str
    module: str
    names: tuple[str, ...]
    weight: int = 2
    beside: tuple[str, ...] = ()
    torch: bool = False
    builds: bool = False


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """A release of torch that environments are built with from its day (YYYY-MM-DD) to the next one's, their Python, and what fits it."""

    since: str
    version: str
    python: str
    fitting: tuple[str, ...] = ()


def _consumer(
    package: str,
    names: str,
    weight: int = 2,
    *,
    module: str | None = None,
    beside: str = "",
    torch: bool = False,
    builds: bool = False,
) -> Consumer:
    named = module or package.replace("-", "_")
    return Consumer(package, named, tuple(names.split()), weight, tuple(beside.split()), torch, builds)


# A release of torch takes 2 to 6 GB, so that the environments of many months share one. The last is a build for CPUs, newer than
# the consumers that it is used for in the beginning: those that do not import with it are excluded as all others are.
TORCH = (
    TorchBuild("2022-08-05", "1.12.1", "3.9"),
    TorchBuild("2023-05-08", "2.0.1", "3.11"),
    TorchBuild("2024-10-29", "2.13.0", "3.11", ("torchvision==0.28.0",)),
)

# What a stack without torch of a year may run on.
PYTHONS = {
    "2022": ("3.8", "3.9", "3.10"),
    "2023": ("3.8", "3.9", "3.10", "3.11"),
    "2024": ("3.9", "3.10", "3.11", "3.12"),
    "2025": ("3.10", "3.11", "3.12", "3.13"),
    "2026": ("3.10", "3.11", "3.12", "3.13"),
}

CONSUMERS = (
    _consumer("transformers", "AutoConfig AutoTokenizer PreTrainedTokenizerFast GenerationConfig AutoProcessor pipeline", 16),
    _consumer(
        "transformers",
        "Trainer TrainingArguments AutoModelForCausalLM AutoTokenizer DataCollatorForLanguageModeling BitsAndBytesConfig",
        3,
        beside="accelerate",
        torch=True,
    ),
    _consumer(
        "peft", "LoraConfig get_peft_model PeftModel TaskType prepare_model_for_kbit_training AutoPeftModelForCausalLM", 4, torch=True
    ),
    _consumer(
        "trl",
        "SFTTrainer SFTConfig DPOTrainer PPOTrainer RewardTrainer GRPOTrainer AutoModelForCausalLMWithValueHead ModelConfig",
        4,
        beside="peft",
        torch=True,
    ),
    _consumer(
        "accelerate",
        "Accelerator init_empty_weights load_checkpoint_and_dispatch infer_auto_device_map accelerate.utils:set_seed",
        3,
        torch=True,
    ),
    _consumer("datasets", "load_dataset Dataset DatasetDict Features Value load_from_disk concatenate_datasets IterableDataset", 10),
    _consumer("evaluate", "load combine evaluator Metric EvaluationModule", 8),
    _consumer(
        "diffusers",
        "DiffusionPipeline StableDiffusionPipeline UNet2DConditionModel AutoencoderKL DDPMScheduler ControlNetModel",
        3,
        beside="transformers accelerate",
        torch=True,
    ),
    _consumer(
        "sentence-transformers", "SentenceTransformer CrossEncoder InputExample losses util SentenceTransformerTrainer", 3, torch=True
    ),
    _consumer("setfit", "SetFitModel SetFitTrainer Trainer TrainingArguments", 2, torch=True),
    _consumer(
        "optimum", "optimum.exporters.tasks:TasksManager optimum.pipelines:pipeline optimum.utils:NormalizedConfigManager", 1, torch=True
    ),
    _consumer("optimum-quanto", "quantize freeze qint8 QuantizedModelForCausalLM", 1, module="optimum.quanto", torch=True),
    _consumer("adapters", "AutoAdapterModel AdapterTrainer LoRAConfig init", 1, torch=True),
    _consumer("timm", "create_model list_models timm.data:create_transform timm.data:resolve_data_config", 1, torch=True),
    _consumer("open-clip-torch", "create_model_and_transforms get_tokenizer list_pretrained", 1, module="open_clip", torch=True),
    _consumer("lightning", "Trainer LightningModule LightningDataModule Fabric lightning.pytorch.callbacks:ModelCheckpoint", 2, torch=True),
    _consumer(
        "pytorch-lightning",
        "Trainer LightningModule LightningDataModule seed_everything pytorch_lightning.loggers:TensorBoardLogger",
        2,
        torch=True,
    ),
    _consumer(
        "torchmetrics",
        "Accuracy MetricCollection Metric torchmetrics.text:BLEUScore torchmetrics.regression:PearsonCorrCoef",
        1,
        torch=True,
    ),
    _consumer("bitsandbytes", "bitsandbytes.nn:Linear4bit bitsandbytes.nn:Linear8bitLt bitsandbytes.optim:AdamW8bit", 1, torch=True),
    _consumer("autoawq", "AutoAWQForCausalLM", 1, module="awq", torch=True),
    _consumer("auto-gptq", "AutoGPTQForCausalLM BaseQuantizeConfig", 1, module="auto_gptq", torch=True),
    _consumer("torchao", "quantize_ torchao.quantization:Int8WeightOnlyConfig torchao.optim:AdamW8bit", 1, torch=True),
    _consumer(
        "liger-kernel",
        "liger_kernel.transformers:AutoLigerKernelForCausalLM liger_kernel.transformers:apply_liger_kernel_to_llama",
        1,
        beside="transformers",
        torch=True,
    ),
    _consumer("bert-score", "score BERTScorer", 1, torch=True),
    _consumer(
        "llamafactory",
        "llamafactory.train.tuner:run_exp llamafactory.chat:ChatModel llamafactory.hparams:get_train_args",
        1,
        torch=True,
        builds=True,
    ),
    _consumer(
        "ms-swift", "swift.llm:sft_main swift.llm:get_model_tokenizer swift.llm:infer_main", 1, module="swift", torch=True, builds=True
    ),
    _consumer("lm-eval", "lm_eval:evaluator lm_eval.api.model:LM lm_eval.tasks:TaskManager", 1, torch=True, builds=True),
    _consumer("huggingface-hub", "HfApi hf_hub_download snapshot_download login InferenceClient HfFileSystem ModelCard create_repo", 4),
    _consumer("gradio", "Interface Blocks ChatInterface Textbox Button Image mount_gradio_app", 7, builds=True),
    _consumer("gradio-client", "Client file handle_file", 6),
    _consumer("wandb", "init log Table Image login Api Artifact", 5),
    _consumer("mlflow", "start_run log_metric log_param MlflowClient set_experiment mlflow.pyfunc:load_model", 3),
    _consumer(
        "tensorboard",
        "tensorboard.program:TensorBoard tensorboard.compat.proto.summary_pb2:Summary"
        " tensorboard.backend.event_processing.event_accumulator:EventAccumulator",
        4,
    ),
    _consumer(
        "scikit-learn",
        "sklearn.linear_model:LogisticRegression sklearn.model_selection:train_test_split sklearn.ensemble:RandomForestClassifier"
        " sklearn.metrics:f1_score sklearn.preprocessing:StandardScaler",
        3,
        module="sklearn",
    ),
    _consumer("pandas", "DataFrame Series read_csv read_parquet concat", 3),
    _consumer("scipy", "scipy.stats:spearmanr scipy.optimize:minimize scipy.sparse:csr_matrix scipy.signal:convolve", 2),
    _consumer("fastapi", "FastAPI Depends HTTPException File fastapi.responses:JSONResponse fastapi.middleware.cors:CORSMiddleware", 5),
    _consumer(
        "starlette",
        "starlette.applications:Starlette starlette.routing:Route starlette.testclient:TestClient",
        2,
        beside="httpx",
    ),
    _consumer("openai", "OpenAI AsyncOpenAI ChatCompletion openai.types.chat:ChatCompletionMessage", 6),
    _consumer("anthropic", "Anthropic AsyncAnthropic anthropic.types:Message", 2),
    _consumer(
        "langchain-core", "langchain_core.prompts:ChatPromptTemplate langchain_core.messages:HumanMessage langchain_core.tools:tool", 4
    ),
    _consumer("langchain", "langchain.chains:LLMChain langchain.prompts:PromptTemplate langchain.agents:create_agent", 2),
    _consumer("streamlit", "write title dataframe file_uploader cache_data", 3),
    _consumer("spacy", "load blank spacy.tokens:Doc spacy.language:Language", 2),
    _consumer("librosa", "load stft librosa.feature:melspectrogram", 2),
    _consumer("numba", "njit jit prange vectorize", 2),
    _consumer("jax", "jit grad vmap jax.numpy:array", 3, beside="jaxlib"),
    _consumer("flax", "flax.linen:Module flax.linen:Dense flax.training.train_state:TrainState", 2, beside="jaxlib"),
    _consumer("onnx", "load save onnx.helper:make_model onnx.checker:check_model", 2),
    _consumer("onnxruntime", "InferenceSession SessionOptions", 1),
    _consumer("albumentations", "Compose Resize HorizontalFlip Normalize", 2),
    _consumer("ray", "init remote get put", 1),
    _consumer("modelscope", "snapshot_download modelscope.hub.api:HubApi", 1),
    _consumer("hydra-core", "main compose initialize", 1, module="hydra", builds=True),
    _consumer("omegaconf", "OmegaConf DictConfig ListConfig", 1, builds=True),
    _consumer("nltk", "word_tokenize nltk.translate.bleu_score:sentence_bleu", 1),
    _consumer("sacrebleu", "corpus_bleu sacrebleu.metrics:BLEU", 1),
    _consumer("tiktoken", "get_encoding encoding_for_model Encoding", 1),
    _consumer("swanlab", "init log Image", 1, builds=True),
    _consumer("faiss-cpu", "IndexFlatL2 IndexFlatIP read_index", 1, module="faiss"),
    _consumer("matplotlib", "matplotlib.pyplot:plot matplotlib.pyplot:figure", 1),
    _consumer("s3fs", "S3FileSystem S3File", 2),
    _consumer("gcsfs", "GCSFileSystem", 1),
    _consumer("safetensors", "safe_open safetensors.numpy:load_file", 1, beside="numpy"),
    _consumer("pyarrow", "pyarrow.parquet:read_table pyarrow:Table pyarrow.dataset:dataset pyarrow.compute:sum", 1, beside="numpy pandas"),
    _consumer("outlines", "outlines.models:transformers outlines.generate:json", 1),
    _consumer("sse-starlette", "EventSourceResponse", 1),
    _consumer("gguf", "GGUFReader GGUFWriter", 1),
    _consumer("networkx", "Graph DiGraph shortest_path", 1, beside="numpy scipy"),
)

# How often a package that is installed beside the consumer is the one that is moved.
_MOVED = {
    12: (
        "huggingface-hub tokenizers transformers accelerate numpy pandas pyarrow datasets fsspec diffusers peft safetensors protobuf",
        "httpx starlette pillow scipy scikit-learn torchmetrics gradio-client evaluate fastapi timm langchain-core jaxlib trl",
        "sentence-transformers",
    ),
    4: (
        "pydantic setuptools dill multiprocess lightning-utilities anyio aiohttp jinja2 typer pytorch-lightning openai numba llvmlite",
        "joblib matplotlib onnx rich gradio kernels bitsandbytes optimum modelscope typing-extensions httpcore pydantic-core torchvision",
        "torchao lightning",
    ),
    1: (
        "requests packaging filelock click urllib3 sentencepiece",
        "tqdm pyyaml regex psutil xxhash attrs networkx sympy markupsafe importlib-metadata tiktoken grpcio nltk einops cloudpickle",
        "omegaconf yarl multidict tyro uvicorn charset-normalizer ftfy librosa sacrebleu hf-xet wandb",
    ),
}

# How often a package that is installed beside the consumer is the one that is moved.
PROVIDERS = {name: weight for weight, lines in _MOVED.items() for line in lines for name in line.split()}
