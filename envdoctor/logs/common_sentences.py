"""More sentences of torch, the trainers and the machine that people paste, each with what is behind it: a table, for ``run_errors``."""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

# Each was looked up where it is raised: torch 2.13.0 (its Python files, and the strings of libtorch_cpu.so and libtorch_cuda.so),
# transformers 5.24.0, accelerate 1.15.0, peft 0.21.2. What stands under each is what the code around it tests.
COMMON = (
    # A pointer begins with "version https://git-lfs.github.com/spec/v1", a page with "<":
    # https://github.com/tuanct1997/Federated-Learning-ASR-based-on-wav2vec-2.0/issues/7
    Sentence(
        r"invalid load key, 'v'",
        "The file of weights is a pointer of git-lfs: it was cloned without its contents",
        "such a pointer begins with the v of version, and is about 130 bytes long",
        "git lfs install, and git lfs pull in the clone; or fetch the file itself (hf download MODEL --force-download)",
    ),
    Sentence(
        r"invalid load key, '<'",
        "The file of weights is a web page: what was asked for was answered with a login, an error or a page of confirmation",
        "a page begins with <; a Google Drive link, a link to the page of a file (blob in place of resolve), or no token",
        "open it with a text editor, and fetch the file itself (gdown ID, hf download MODEL --force-download)",
    ),
    # https://github.com/lllyasviel/ControlNet/issues/708, https://github.com/FlorianFuerrutter/genQC/issues/1; the atlas has the
    # argument from open-clip-torch 2.26.1 on.
    Sentence(
        r"The shape of the 2D attn_mask is torch\.[Ss]ize\(\[77, 77\]\), but should be \(\d{1,6}, \d{1,6}\)",
        "CLIP's text encoder is given rows where it wants positions first: its transformer is of another open-clip-torch than the code "
        "around it",
        "open_clip's Transformer takes batch_first since 2.25 or 2.26 and has it on; code that calls its blocks itself turns the rows as "
        "before",
        "or model.transformer.batch_first = False there; without the permute (NLD -> LND) for the newer one",
        "open-clip-torch",
        pins=(("open-clip-torch", "<=2.24.0"),),
    ),
    # https://github.com/Liuziyu77/Visual-RFT/issues/121
    Sentence(
        r"The shape of the mask \[(?P<a>\d{1,7})\] at index 0 does not match the shape of the indexed tensor \[(?P<b>\d{1,7})\] at index 0",
        "The mask of a row and the row itself differ in length",
        "attention_mask and input_ids are not of one call: tokens were added or cut in one of them alone (an end token, a prompt, a "
        "generated "
        "answer), or the processor of this transformers counts image tokens otherwise than the code does",
        "make both by one call, and cut both alike (attention_mask[:, :input_ids.shape[1]]); where it came with an update, the "
        "transformers that "
        "the project names",
    ),
    Sentence(
        r"Inference tensors cannot be saved for backward|Inplace update to inference tensor outside InferenceMode|Cannot set version_"
        r"counter for inference tensor|Inference tensors do not track version counter|Setting requires_grad=True on inference tensor",
        "A tensor that was made under inference_mode is used outside of it",
        "weights, embeddings or a cache that torch.inference_mode() made: an evaluation or a generation before the step",
        "torch.no_grad() in place of torch.inference_mode(), or clone() what is taken from it",
        "torch",
    ),
    Sentence(
        r"Recomputed values for the following tensors have different metadata|A different number of tensors was saved during the original "
        r"forward and recomputation",
        "Gradient checkpointing computed a layer a second time and came to something else",
        "what the layer does differs the second time: a cache that grew, a random choice, autocast that was on only once, or weights "
        "that a sharded trainer had taken away",
        "use_cache=False; gradient_checkpointing_kwargs={'use_reentrant': True}, which computes again without comparing",
        "torch",
    ),
    Sentence(
        r"out of resources?: shared memory, Required: \d+, Hardware limit: \d+",
        "A Triton kernel wants more shared memory than this GPU has",
        "its block sizes were chosen on a larger GPU (A100, H100), or by an older triton",
        "smaller blocks or num_stages where the code lets you, a later release of the package that has the kernel, or its variant without "
        "Triton",
        "triton",
    ),
    Sentence(
        r"(?:Must flatten tensors with|`?FlatParameter`? requires) uniform `?requires_grad",
        "FSDP joins the weights of a layer into one tensor, and some of them are frozen",
        "LoRA, or a frozen part, in a layer that is wrapped as a whole",
        "use_orig_params=True (fsdp_use_orig_params: true), or peft's fsdp_auto_wrap_policy, which wraps the adapters by themselves",
        "torch",
    ),
    # Keys and values (batch, heads, tokens, size of a head) are joined in dimension 2: https://github.com/huggingface/peft/pull/3471
    Sentence(
        r"Sizes of tensors must match except in dimension 2\b",
        "Tensors that are to be joined along dimension 2 differ in another one",
        "where that is a cache or a prefix and the keys of a layer (batch, heads, tokens, head size), it was made for other heads, another "
        "head size or another batch than this layer has, as where the head size differs from layer to layer; elsewhere images or features "
        "of two sizes",
        "print both shapes there. Prefix tuning: a peft that knows this model, or LoRA; a cache: let the model make it, or use_cache=False",
    ),
    Sentence(
        r"Sizes of tensors must match except in dimension \d",
        "Tensors that are to be joined have different sizes",
        "rows of a batch that were not padded to one length, images of different sizes, or a cache and inputs of two batch sizes",
        "a collator that pads; the sizes in the message tell which side is which",
    ),
    Sentence(
        r"value cannot be converted to type (?:at::Half|c10::Half|at::BFloat16|c10::BFloat16|float16)(?: without overflow)?",
        "A number is put into a 16-bit tensor that cannot hold it",
        "a mask that is filled with -1e9 or the smallest float32, in code that was written for float32",
        "torch.finfo(tensor.dtype).min in place of the number, or bfloat16 in place of float16",
        "torch",
    ),
    Sentence(
        r"unscale_\(\) has already been called on this optimizer since the last update",
        "The gradients of one step are unscaled twice",
        "clip_grad_norm_ or unscale_ called by hand beside a trainer that does so itself, or a step that was left out",
        "clip once a step, after accelerator.backward and before optimizer.step (max_grad_norm with a trainer, and no call of one's own)",
        "torch",
    ),
    Sentence(
        r"returned an invalid gradient at index \d+ - expected (?:device|type|shape)",
        "A gradient came back on another device, or in another type or shape, than its weight",
        "weights that are offloaded or on the meta device in a training step, or a device_map that spreads a model that one process is to "
        "train",
        "train without offloading: device_map={'': 0}, a smaller model or fewer bits; print(model.hf_device_map) shows what lies elsewhere",
    ),
    Sentence(
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
        "A weight is changed in place while its gradient is recorded",
        "code that fills or adds to a parameter, or to the embeddings' output that checkpointing has made a leaf",
        "with torch.no_grad(): around it where weights are set; x = x + y in place of x += y in a forward pass",
        "torch",
    ),
    Sentence(
        r"appears not to match sizes of the same param in process 0|DDP expects same model across all ranks",
        "The processes of the run do not hold the same model",
        "each built its own: another number of tokens added, another configuration, or ZeRO-3's partitions under DDP",
        "the same arguments and files in every process; no DDP beside deepspeed.zero.Init",
        "torch",
    ),
    Sentence(
        r"Default process group has not been initialized|Error initializing torch\.distributed using env:// rendezvous: "
        r"environment variable \w+ expected, but not set",
        "Code of several processes runs in one that nobody launched as such",
        "the script was started with python, or as a notebook, where torchrun or accelerate sets RANK, WORLD_SIZE and MASTER_ADDR",
        "torchrun --nproc_per_node N script.py, or accelerate launch script.py; for one GPU without FSDP and DeepSpeed",
        "torch",
    ),
    Sentence(
        r"uncorrectable (?:NVLink|ECC) error|double bit ECC error",
        "The GPU reports that its own memory is broken",
        "",
        "nvidia-smi -q -d ECC,PAGE_RETIREMENT shows it; restart the machine, and have the card replaced where it comes again",
    ),
    Sentence(
        r"system has unsupported display driver / cuda driver combination",
        "The CUDA driver library that is loaded is not of the kernel's driver",
        "a libcuda.so of a container or of the compat folder, older or newer than the driver of the machine",
        "restart after the driver was updated; take /usr/local/cuda/compat out of LD_LIBRARY_PATH, and let the container take the "
        "machine's (docker run --gpus all)",
    ),
    Sentence(
        r"Python 3\.1[1-9]\+? not yet supported for torch\.compile|Dynamo is not supported on Python 3\.1[1-9]",
        "This torch cannot compile for so new a Python",
        "",
        "a later torch, an older Python, or torch_compile=False",
        "torch",
    ),
    Sentence(
        r"offset overflow while concatenating arrays",
        "More than 2 GiB of text or bytes would stand in one array of Arrow",
        "map with batches of large rows (images, audio, long texts)",
        "a smaller writer_batch_size and batch_size in map, or more shards",
        "datasets",
    ),
    Sentence(
        r"had weights offloaded to the disk\. Please provide an `offload_folder`",
        "The model does not fit into the memory that it may use, and is to be written to the disk",
        "",
        "free the GPU or take fewer bits (envdoctor fit MODEL --plan PLAN says what it needs); offload_folder=... only to answer, "
        "not to train",
        "transformers",
    ),
    Sentence(
        r"Asking to pad but the tokenizer does not have a padding token",
        "The tokenizer has no padding token, and rows are to be padded",
        "",
        "tokenizer.pad_token = a token of the vocabulary that no text has (tokenizer.unk_token for Llama 2); = tokenizer.eos_token for "
        "generation alone, since a collator that hides padding from the loss hides the end as well",
        "transformers",
    ),
    Sentence(
        r"No executable batch size found, reached zero",
        "Even one row at a time does not fit, or another error stands behind each try",
        "auto_find_batch_size takes some errors of cuDNN and of memory for a batch that is too large",
        "auto_find_batch_size=False shows the error itself; envdoctor fit MODEL --plan PLAN says what one row needs",
        "accelerate",
    ),
    Sentence(
        r"Please specify `target_modules` in `peft_config`",
        "peft has no list of layers for this type of model",
        "a new or renamed architecture, or a wrapper without model_type",
        'LoraConfig(target_modules="all-linear", ...), or the names of its linear layers',
        "peft",
    ),
    Sentence(
        r"is on the meta device, we need a `value` to put in on",
        "A weight of the model is not in the checkpoint, so there is nothing to put in its place",
        "a checkpoint of another architecture or with other names, one that was saved in part (an adapter, a sharded state), or a "
        "tied weight",
        "compare the names in model.safetensors.index.json with model.state_dict(); from_pretrained with the base model, then PeftModel",
        "accelerate",
    ),
    Sentence(
        r"zero stage \d requires an optimizer",
        "DeepSpeed's ZeRO is asked for where nothing is trained",
        "an evaluation, a reference or a reward model that goes through deepspeed.initialize without an optimizer",
        "ZeRO 3 (stage 0 where the model fits) for models that are not trained, or no deepspeed.initialize for them",
        "deepspeed",
    ),
    Sentence(
        r"Current loss scale already at minimum - cannot decrease scale anymore",
        "float16 overflows in every step: the gradients or the loss are no numbers",
        "a model that was trained in bfloat16 (Llama 2 and later, Qwen, Gemma, T5), too high a learning rate, or rows without labels",
        "bf16 in place of fp16 where the GPU has it (Ampere or later), else a lower learning rate with warm-up",
        "deepspeed",
    ),
    Sentence(
        # torchvision's library could not be loaded, which it keeps to itself until the first operator is asked for (extension.py).
        r"operator torchvision::nms does not exist",
        "torchvision was built for another torch than the one beside it, or for another CUDA",
        "torch was installed, or moved, without it",
        "pip install --force-reinstall torch torchvision, both in one command and from one index",
        "torchvision",
    ),
    Sentence(
        r"^(?:TypeError: )?not a string$",
        "The tokenizer was given no path of a SentencePiece model",
        "the folder or repository has no tokenizer.model, and only the slow tokenizer's class is left that asks for one",
        "fetch tokenizer.model or tokenizer.json with the model, or the release of transformers that saved the tokenizer",
    ),
    Sentence(
        r"Expected query, key, and value to have the same dtype",
        "Attention gets queries, keys and values of different types",
        "an adapter or a norm that stayed in float32 beside 16-bit weights, and no autocast over the step",
        "bf16=True or fp16=True of the trainer (torch.autocast in a loop), or all of it cast to one type",
        "torch",
    ),
    Sentence(
        r"stft requires the return_complex parameter be given",
        "The code is for a torch before 2.0, whose stft needed no return_complex",
        "",
        "torch.view_as_real(torch.stft(..., return_complex=True)) gives what it gave; or the torch that the project names",
        "torch",
    ),
    Sentence(
        # Strings of libtorch_cuda.so 2.13.0: the memory-efficient kernel reads a mask in blocks.
        r"attn_bias_ptr is not correctly aligned|\(\*bias\): last dimension must be contiguous",
        "torch's memory-efficient attention does not take the mask as it lies in memory",
        "a mask that was cut or expanded to a length that is no multiple of eight",
        "attn_implementation='eager', torch.backends.cuda.enable_mem_efficient_sdp(False), or rows padded to a multiple of eight",
        "torch",
    ),
    Sentence(
        r"CUDA error: out of memory|NPU out of memory",
        "The accelerator's memory is full",
        "another process that holds it, an earlier run that did not end, or a plan that needs more than the card has",
        "nvidia-smi (npu-smi info) shows who holds it; envdoctor fit MODEL --plan PLAN says what the plan needs",
    ),
    Sentence(
        r"Could not load model \S{0,200}? ?with any of the following classes",
        "Every class that the pipeline tried failed to load the model: each error stands below it",
        "files of another framework, an incomplete download, or too little memory; the first error below is the cause",
        "AutoModel...from_pretrained(MODEL) alone shows the error itself",
        "transformers",
    ),
    Sentence(
        r"No such file or directory: '(?:[^\s']{0,200}/)?ff(?:mpeg|probe)'|\[WinError 2\].{0,40}ffmpeg",
        "The program ffmpeg is not installed, or not on the PATH",
        "",
        "apt-get install ffmpeg, conda install -c conda-forge ffmpeg or brew install ffmpeg; pip's package ffmpeg is another one",
    ),
    Sentence(
        r"'where', 'cl'\]' returned non-zero",
        "An extension is compiled when it is first used, and Windows has no C++ compiler on its path",
        "",
        "the Build Tools of Visual Studio with C++, and the run from their x64 prompt; or a release with a wheel",
    ),
    Sentence(
        r"files\.pythonhosted\.org.{0,80}Read timed out",
        "pip was cut off while it downloaded: the connection is slow, or large files take longer than it waits",
        "",
        "pip --default-timeout=1000 install ..., or a mirror with --index-url",
    ),
    Sentence(
        r"THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE",
        "A downloaded file has not the checksum that was expected",
        "a download that broke off, a mirror or proxy that changes files, or a list of hashes that was made for other files",
        "pip install --no-cache-dir ...; where it comes again, compare the file's hash with the one on pypi.org",
    ),
    Sentence(
        r"Unsloth (?:currently )?only works on NVIDIA GPUs|Unsloth cannot find any torch accelerator",
        "Unsloth finds no GPU that it runs on",
        "a torch for the CPU, no driver in the container, or a GPU that this release does not know",
        "python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'; a torch for CUDA, and docker run --gpus all",
        "unsloth",
    ),
    Sentence(
        r"sndfile library not found|cannot load library 'libsndfile",
        "soundfile finds no libsndfile on this system",
        "",
        "pip install soundfile brings one on Linux x86_64, macOS and Windows; else apt-get install libsndfile1",
        "soundfile",
    ),
)

# Lines that are no error of Python's, beside one that is.
NEAR = (
    # torch.utils.cpp_extension: https://github.com/pytorch/ort/pull/95, https://github.com/pytorch/extension-cpp/issues/71
    Sentence(
        r"arch_list\[-1\] \+= '\+PTX'",
        "No GPU is visible where CUDA code is compiled, and nobody says for which GPU it is to be",
        "a docker build, a login node, or a torch that does not see the GPU",
        "TORCH_CUDA_ARCH_LIST=8.6 (8.0 A100, 8.6 RTX 30, 8.9 RTX 40, 9.0 H100) before the same command; where the GPU is in this machine, "
        "nvidia-smi and torch.cuda.is_available() say what hides it",
    ),
    Sentence(
        r"cannot find -lcuda\b|cannot find -lcudart\b",
        "The linker finds no CUDA library while an extension or a Triton kernel is built",
        "libcuda.so is the driver's: in a container without the GPU's driver, under WSL, or where only libcuda.so.1 is there",
        "export LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LIBRARY_PATH to build; TRITON_LIBCUDA_PATH=the folder with libcuda.so.1 to run",
    ),
    Sentence(
        r"fatal error: Killed signal terminated program (?:cc1plus|cicc|ptxas)|\b(?:cicc|nvcc|ptxas)['\"]? died due to signal 9",
        "The compiler was killed: the machine's memory ran out while an extension was built",
        "ninja starts a job for every core, and each takes several GB",
        "MAX_JOBS=2 pip install --no-build-isolation ..., or a wheel that is built already",
    ),
    Sentence(
        r"NVML: Driver/library version mismatch",
        "The NVIDIA driver was updated under the running system: its library is newer than the module in the kernel",
        "",
        "restart the machine (or unload and load the nvidia modules where nothing uses them)",
    ),
)
