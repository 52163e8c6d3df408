"""Messages of servers of models, each a setting or a file of who starts or asks them: vLLM, SGLang, Ray, Ollama and llama.cpp, text
generation inference, and the interface of OpenAI that they share.

The wordings are those of https://github.com/vllm-project/vllm (vllm/config, model_executor, entrypoints), https://github.com/sgl-project/sglang
(managers, model_runner) and of threads: https://github.com/vllm-project/vllm/issues/18681 (tokens of a batch), /issues/30021 (the cause
stands above), https://github.com/QwenLM/Qwen3-Omni/issues/122 (a prompt that is too long).
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

ENGINES = (
    StatedMessage(
        r"Model architectures? \[['\"](?P<name>\w{3,80})['\"][^\]]{0,200}\] (?:are|is) not supported",
        "This vLLM does not know the model's architecture {name}",
        "the model came later than the release, or the class is another program's or the project's own",
        "the vllm that the model's page names, or a later one; the message lists what this one has",
        package="vllm",
    ),
    StatedMessage(
        r"Model architectures? \[['\"](?P<name>\w{3,80})['\"][^\]]{0,200}\] failed to be inspected",
        "vLLM has code for {name} and could not import it",
        "what it imports is missing, of another release, or built for another CUDA (transformers, flash-attn, a connector such as nixl)",
        "the traceback above this line names it; the transformers that this vllm asks for",
        package="vllm",
    ),
    StatedMessage(
        r"quantization method (?P<method>\w{2,40}) is not supported for the current GPU\. Minimum capability: (?P<want>\d{2,3})\. Current "
        r"capability: (?P<got>\d{2,3})",
        "vLLM's kernels of {method} ask for a GPU of compute capability {want}, and this one has {got} (75 is 7.5)",
        "",
        "a checkpoint in another quantization (gptq and bitsandbytes ask for less than awq and fp8), in float16, or a newer GPU",
        package="vllm",
    ),
    StatedMessage(
        r"torch\.(?P<dtype>\w{4,10}) is not supported for quantization method (?P<method>\w{2,40})\. Supported dtypes: "
        r"\[(?P<want>[^\]]{3,80})\]",
        "The quantization {method} computes in {want} alone, and {dtype} was asked for",
        "auto takes the dtype that stands in config.json",
        "dtype='float16' (--dtype half), or another that the message lists",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"Quantization method specified in the model config \((?P<have>\w{2,40})\) does not match the quantization method specified in the "
        r"`?quantization`? argument \((?P<asked>\w{2,40})\)",
        "The checkpoint is quantized with {have}, and quantization={asked} was asked for",
        "",
        "leave quantization out: the engine reads it from config.json; or name {have}",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"max_num_batched_tokens \((?P<few>\d{1,9})\) is smaller than max_model_len \((?P<many>\d{1,9})\)",
        "vLLM is to take rows of {many} tokens and may compute {few} at a time",
        "",
        "max_num_batched_tokens of {many}, enable_chunked_prefill=True, or a max_model_len of {few}",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"maximum context length is (?P<want>\d{1,9}) tokens\. However,.{0,60}?(?P<got>\d{1,9}) (?:\w{1,10} )?tokens",
        "A request of {got} tokens was sent to a server that takes {want}",
        "the prompt and max_tokens count together",
        "a shorter prompt or a smaller max_tokens; or a server that is started for more (--max-model-len), as far as the model goes",
        given=True,
    ),
    StatedMessage(
        r"[Pp]rompt(?: \(length |.{0,20} has )(?P<got>\d{1,9})(?:\)| tokens).{0,60}(?:maximum model length of |exceeds .{0,40}? )"
        r"(?P<want>\d{1,9})",
        "A prompt of {got} tokens was given to an engine that takes {want}",
        "images and the chat template count as well",
        "a shorter prompt (truncation, fewer or smaller images), or a larger max_model_len, as far as the model goes",
        given=True,
    ),
    StatedMessage(
        r"[Tt]he model `(?P<name>[^`\n]{1,120})` does not exist",
        "The server that was asked has no model by the name {name}",
        "a server of one's own knows its model by --served-model-name, else by the path or id that it was started with",
        "the address /v1/models of the server lists the names; OPENAI_BASE_URL (base_url) says which server is asked",
        given=True,
    ),
    StatedMessage(
        r"Incorrect API key provided|invalid_api_key|The api_key client option must be set",
        "The server was asked without a key that it takes",
        "OPENAI_API_KEY is not set where it runs, is mistyped or of another service, or the base_url is OpenAI's and not the server's own",
        "export OPENAI_API_KEY in that shell; a server of one's own takes any text (EMPTY) with its base_url",
        given=True,
    ),
    StatedMessage(
        r"\"?auto\"? tool choice requires --enable-auto-tool-choice",
        "A request asks for tools, and vLLM was started without a parser for them",
        "",
        "vllm serve ... --enable-auto-tool-choice --tool-call-parser with the parser of this model's family (hermes, llama3_json, mistral)",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"No supported config format found in (?P<folder>\S{1,300}?)\.?(?:\s|$)",
        "vLLM finds neither config.json nor params.json in {folder}",
        "an adapter's folder, a GGUF file's, one level too high, or the hub was not reached",
        "name the folder with config.json; for an adapter the base model, with the adapter by --lora-modules",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"Cannot find any model weights with [`'\"]?(?P<folder>[^`'\"\s]{1,300})",
        "vLLM finds no file of weights in {folder}",
        "the folder of an adapter, a checkpoint of DeepSpeed or FSDP that was not joined, or a download that broke off",
        "ls it: it wants *.safetensors or *.bin; zero_to_fp32.py or accelerate merge-weights join a sharded checkpoint",
        given=True,
        package="vllm",
    ),
    StatedMessage(
        r"custom_all_reduce\.cuh:\d{1,5} '(?P<why>[^']{3,80})'",
        "vLLM's own exchange between GPUs failed: {why}",
        "it asks that GPUs reach each other's memory, which virtual machines, an IOMMU and expandable_segments of torch's allocator can "
        "keep from it",
        "--disable-custom-all-reduce; and PYTORCH_CUDA_ALLOC_CONF without expandable_segments",
        package="vllm",
    ),
    StatedMessage(
        r"(?:is|are) (?:an )?unsupported LoRA weight|Loading lora .{0,200} failed",
        "vLLM could not load this adapter",
        "mostly it has whole layers beside its matrices (modules_to_save: embed_tokens, lm_head), layers that vLLM has no LoRA for, "
        "or other names",
        "merge it into its base (merge_and_unload) and serve that; else train it without modules_to_save",
        package="vllm",
    ),
    StatedMessage(
        r"Failed to start engine core|AsyncEngineDeadError|MQEngineDeadError|[Bb]ackground loop (?:has errored already|is stopped|is "
        r"not running)"
        r"|WorkerProc (?:initialization failed|hit an exception)|Worker failed with error",
        "A process of vLLM's engine ended, and its own error stands above this one",
        "",
        "read, and paste, the log from the first traceback on",
        package="vllm",
    ),
    StatedMessage(
        r"RayActorError|[Tt]he actor (?:died unexpectedly|is dead) |Worker exit type: SYSTEM_ERROR|WorkerCrashedError",
        "A process that Ray had started ended",
        "the memory of the node was full, its own code failed, or the node left the cluster",
        "its own words are in /tmp/ray/session_latest/logs (worker-*.err, raylet.out); dmesg shows whether the kernel ended it",
        package="ray",
        unless=("host-memory-ended-the-run",),
    ),
    StatedMessage(
        r"Memory on the node .{0,160}?was (?P<used>[\d.]{1,10} ?GB) / (?P<all>[\d.]{1,10} ?GB)",
        "Ray ended a worker since the memory of its node was full: {used} of {all}",
        "models that each worker loads whole, offloaded states, and the object store count together",
        "fewer workers on a node, a smaller object_store_memory, no offloading, or more memory; RAY_memory_usage_threshold moves the limit",
        package="ray",
    ),
    StatedMessage(
        r"Not enough memory\. Please try to increase --mem-fraction-static",
        "SGLang's share of the GPU's memory holds the weights and no cache",
        "",
        "a larger --mem-fraction-static where nothing else is on the card; else more cards (--tp) or fewer bits",
        given=True,
        package="sglang",
    ),
    StatedMessage(
        r"(?:Rank \d{1,3} )?scheduler (?:died|is dead).{0,60}(?:exit code: (?P<code>-?\d{1,3})|$)",
        "SGLang's process of a GPU ended while it started: exit code {code}",
        "-9 is the machine's memory (or somebody's kill), -11 a crash in compiled code, 1 an error in Python",
        "its own error stands above this line",
        package="sglang",
    ),
    StatedMessage(
        r"memory capacity is unbalanced",
        "The GPUs that SGLang was given have not the same memory free",
        "another process is on one of them, or an earlier server was not ended",
        "nvidia-smi shows who; end it, or other GPUs by CUDA_VISIBLE_DEVICES",
        package="sglang",
    ),
    StatedMessage(
        r"[Cc]apture (?:cuda|CUDA) graphs? failed",
        "The server could not record its steps as CUDA graphs",
        "mostly the memory that is left beside weights and cache; else a kernel that the GPU or a library does not have",
        "a smaller --mem-fraction-static or --cuda-graph-max-bs; --disable-cuda-graph shows whether it is that",
        package="sglang",
    ),
    StatedMessage(
        r"Could not load any common_ops library",
        "sgl_kernel has no compiled library that loads here",
        "its wheel is for another CUDA, torch or GPU, or a library of CUDA that it was linked with is not found",
        "the sgl-kernel that this sglang asks for, from the index of this CUDA (its page lists them); the lines below name what was tried",
        package="sglang",
    ),
    StatedMessage(
        r"model requires more system memory \((?P<want>[\d.]{1,8} \w{2,4})\) than is available \((?P<got>[\d.]{1,8} \w{2,4})\)",
        "Ollama's model wants {want} of memory, and {got} are free",
        "",
        "a smaller model or one of fewer bits, a shorter context (num_ctx), or end what else is in memory",
        given=True,
    ),
    StatedMessage(
        r"could not connect to ollama|ollama server not responding|Failed to connect to Ollama",
        "Ollama's server does not run, or not where it is asked for",
        "inside a container localhost is the container itself",
        "ollama serve; OLLAMA_HOST with the address, from a container http://host.docker.internal:11434",
    ),
    StatedMessage(
        r"llama runner process has terminated(?:: (?P<why>[^\n]{3,160}))?",
        "The process in which Ollama runs the model ended: {why}",
        "a GGUF file of an architecture that this release does not know, memory, or a library of the GPU",
        "a later Ollama; the lines of its server's log (journalctl -u ollama, or server.log) before this one",
    ),
    StatedMessage(
        r"ShardCannotStart|Shard \d{1,3} failed to start|Shard complete standard error output",
        "A process of text-generation-inference ended while it loaded the model",
        "",
        "its own error follows behind 'Shard complete standard error output'",
    ),
)
