"""Sentences about what a run was given: its rows, its accounts, its compilers and converters, the GPUs it spreads over.

No release is at fault in any of them. What is behind each is what the threads beside it came to.
"""

from __future__ import annotations

from envdoctor.logs.run_sentences import Sentence

ROWS = (
    # https://github.com/hiyouga/ChatGLM-Efficient-Tuning/issues/371
    Sentence(
        r"Invalid key: \d{1,9} is out of bounds for size 0",
        "The dataset has no row left, or no column that the model takes",
        "rows that a filter, a limit of length or a failed preparation dropped; or the Trainer, which drops columns that are no "
        "argument of "
        "forward()",
        "print(dataset) before the Trainer is made: where it has rows, remove_unused_columns=False; else look at what prepared it",
        "datasets",
    ),
    # https://github.com/findalexli/mllm-dpo/issues/2, https://github.com/modelscope/ms-swift/issues/2634
    Sentence(
        r"JSON parse error: |Column\(.{0,80}\) changed from \w+ to \w+ in row",
        "A JSON file is not of one shape: pyarrow wants the same type in a column of every row",
        "a value that is a list in one row and a text, a number or a null in another, a broken line, or a file that is no JSON",
        "make the column of one type (json.dumps what differs), one object to a line; python -c 'import json; [json.loads(x) for x in "
        'open("FILE")]\' finds a broken line',
        "datasets",
    ),
    # https://github.com/oobabooga/textgen/issues/4325
    Sentence(
        r"'(?:charmap|gbk|cp\d{3,4}|ascii|big5|shift_jis)' codec can't (?:de|en)code",
        "A file with other letters than ASCII is read or written in the encoding of the system, and not in UTF-8",
        "Windows takes its own code page where a program names no encoding; a container without a locale takes ASCII",
        "PYTHONUTF8=1 in the environment (set PYTHONUTF8=1, on Linux also LANG=C.UTF-8), or open(..., encoding='utf-8') in that line",
    ),
    # https://github.com/lonePatient/BERT-NER-Pytorch/issues/97
    Sentence(
        r"expected sequence of length \d{1,9} at dim \d \(got \d{1,9}\)",
        "Rows of unequal length are made one tensor",
        "a column that was not padded or cut as the tokens were: labels, most often",
        "pad and cut every column to the same length; DataCollatorForSeq2Seq or DataCollatorForTokenClassification pad labels too",
    ),
    # https://github.com/ml-explore/mlx-examples/issues/597
    Sentence(
        r"Training set not found or empty",
        "There is no train.jsonl with rows in the folder that was given for the data",
        "",
        "--data FOLDER, with train.jsonl and valid.jsonl in it, or the name of a dataset on the hub",
        "mlx-lm",
    ),
)
ACCOUNTS = (
    # https://github.com/TheLastBen/fast-stable-diffusion/issues/2928, where runwayml had taken its model away
    Sentence(
        r"could not read Username for 'https://huggingface\.co|Username for 'https://huggingface\.co",
        "git asks for an account: the repository on the hub is private or gated, or there is none of that name any more",
        "the hub answers git so in all three cases, and a script has nobody to type a name",
        "open its page: where it is gone, the name of a copy; where it is gated, accept its terms and hf auth login "
        "--add-to-git-credential",
        "huggingface-hub",
    ),
    # https://github.com/huggingface/open-r1/issues/323, https://github.com/qsh-zh/DiffFlow/issues/1
    Sentence(
        r"[Uu]psert ?[Bb]ucket.{0,120}(?:403|permission denied)|W&B API: permission denied|you do not have permission to access the "
        r"requested resource|Permission denied, ask the project owner",
        "Weights & Biases refuses the project or the entity to this account",
        "a script or recipe that names somebody else's entity, or the key of another account",
        "WANDB_ENTITY and WANDB_PROJECT (or wandb_entity and wandb_project of the recipe) of your own, wandb login --relogin; or "
        "go without: "
        "report_to='none', WANDB_MODE=offline",
        "wandb",
    ),
    # https://github.com/wandb/wandb/issues/7958
    Sentence(
        r"Run initialization has timed out after|Error communicating with (?:the )?wandb|wandb: Network error",
        "wandb did not reach its server in time",
        "no network from this node, a proxy, or the service itself; no release is at fault",
        "WANDB_MODE=offline and wandb sync later, or settings=wandb.Settings(init_timeout=300); report_to='none' goes without",
        "wandb",
    ),
    # https://github.com/OptimalScale/LMFlow/issues/65, https://github.com/hiyouga/EasyR1/issues/69
    Sentence(
        r"api_key not configured \(no-tty\)|No API key configured",
        "wandb has no key, and nobody is there to be asked for one",
        "the Trainer reports to wandb wherever that is installed, unless it is told otherwise",
        "wandb login, or WANDB_API_KEY=...; report_to='none' (or WANDB_MODE=disabled) goes without",
        "wandb",
    ),
)
TOOLS = (
    # https://github.com/ggml-org/llama.cpp/issues/9927, https://github.com/unslothai/unsloth/issues/2984
    Sentence(
        r"BPE pre-tokenizer was not recognized|Failed compiling llama\.cpp with WARNING:hf-to-gguf",
        "llama.cpp's converter does not know this tokenizer: it goes by a hash of what the tokenizer makes of a text",
        "a converter that is older than the model, or tokenizer files that were saved otherwise than the base model's",
        "git pull in llama.cpp; else lay tokenizer.json, tokenizer_config.json and special_tokens_map.json of the base model "
        "beside the weights",
    ),
)
COMPILERS = (
    # https://github.com/pytorch/pytorch/issues/130815
    Sentence(
        r"(?:unrecognized command[- ]line option|invalid value|unknown value) .{0,3}-?-?(?:std=)?c\+\+(?:17|20|2a)",
        "The C++ compiler is older than the C++ that torch's code asks for",
        "",
        "gcc 9 or later (conda install -c conda-forge gxx_linux-64), named by CC and CXX",
    ),
)
COMMANDS = (
    # argparse of Python; https://github.com/huggingface/diffusers/issues/1617, where a line of the command was not joined to the next
    Sentence(
        r"error: the following arguments are required: --?\w",
        "The command that was run has not the arguments that its script asks for",
        "lines of it that were not joined: a backslash that is missing at the end of one, or has a space behind it",
        "a backslash as the very last character of every line but the last (in PowerShell `, in cmd ^), or the command in one line",
    ),
    Sentence(
        r"error: unrecognized arguments: \S",
        "The script that was run does not know an argument of its command",
        "a script and a command of two states of the project, or a name that was mistyped or that a later release changed",
        "python SCRIPT --help lists what it knows; take the script and the command from one release",
    ),
)
PARTS = (
    # https://github.com/djbielejeski/a-person-mask-generator/issues/35
    Sentence(
        r"attempted relative import (?:with no known parent package|beyond top-level package)",
        "A file that is a part of a package was started, or imported, as if it stood alone",
        "",
        "from the folder above: python -m PACKAGE.MODULE; of an extension or somebody else's project the newest state, whole",
    ),
)
DEVICES = (
    # https://github.com/gensyn-ai/rl-swarm/issues/396 (no GPU), https://github.com/databrickslabs/dolly/issues/11 (V100)
    Sentence(
        r"Your setup doesn't support bf16",
        "transformers asked whether the device computes in bfloat16, and it does not, or there is none",
        "no GPU that torch sees (a machine without one, a torch built for the CPU, a driver), or one before Ampere (P100, V100, "
        "T4, RTX 20)",
        "python -c 'import torch; print(torch.cuda.is_available(), torch.version.cuda)' tells: where True, fp16=True in place of "
        "bf16; where "
        "False, bf16=False (use_cpu=True), or a torch for CUDA and its driver",
        "transformers",
    ),
)
SPREAD = (
    # https://github.com/modelscope/FunASR/issues/303
    Sentence(
        r"'\w{1,80}' object has no attribute 'module'$",
        "Code for several GPUs looks for the model behind .module, and this one is not wrapped",
        "DataParallel and DistributedDataParallel have it; one process on one GPU does not wrap the model",
        "start it with torchrun as the project does, or model = getattr(model, 'module', model) in that line",
    ),
    # https://github.com/tloen/alpaca-lora/issues/8: one visible card, or one process for each, ended it.
    Sentence(
        r"Caught (?!OutOfMemoryError)\w{1,60} in replica \d{1,3} on device \d{1,3}",
        "It failed in a copy that DataParallel made: one process spreads the batch over all visible GPUs",
        "a Trainer that was started by python alone where several GPUs are visible; quantized models, adapters and sharded ones do not go "
        "through such copies",
        "CUDA_VISIBLE_DEVICES=0, or torchrun --nproc_per_node=GPUS (accelerate launch), which gives each GPU a process",
        "",
    ),
    # https://github.com/taishan1994/qlora-chinese-LLM/issues/2
    Sentence(
        r"mat1 and mat2 shapes cannot be multiplied \(\w{1,9}x\d{1,9} and (?:1x\d{6,12}|\d{6,12}x1)\)",
        "The weight is packed in 4 bits, and the layer that multiplies by it takes it for a plain one",
        "a peft from before 0.4, code of one's own that calls F.linear on a quantized weight, a quantized layer that was replaced, or "
        "experts that a newer transformers keeps in one fused parameter, which that package does not know as quantized yet",
        "peft 0.4 or later with bitsandbytes 0.39 or later, and the layer's own forward in place of F.linear(x, layer.weight); for a "
        "mixture of experts a later release of what patches it (unsloth and unsloth-zoo, peft), or 16 bits",
        "peft",
    ),
)
FILES = (
    # https://github.com/zai-org/VisualGLM-6B/issues/96
    Sentence(
        r"launch\.py: error: unrecognized arguments: --(?:enable_each_rank_log|save_pid|no_local_rank|no_python|bind_core)",
        "DeepSpeed's runner starts a launch.py of another release than its own, or the project was written for a later deepspeed",
        "",
        "pip install --force-reinstall --no-deps deepspeed, of the release that the project names, or a later one",
        "deepspeed",
    ),
    # https://github.com/KeYang8/WITT/issues/7 (workers on Windows), https://github.com/JIA-Lab-research/VFIformer/issues/13 (a weight file)
    Sentence(
        r"EOFError: Ran out of input|^Ran out of input",
        "A pickle that is to be read is empty",
        "a file of weights or of a cache that was cut off or is being written by another process; in a worker on Windows what the "
        "DataLoader hands it could not be pickled, and another traceback says what",
        "num_workers=0 where the frames are of a DataLoader or of multiprocessing; else delete the file that the frame opens, and have it "
        "made or fetched again",
    ),
    Sentence(
        r"stack expects each tensor to be equal size, but got \[[134], \d{1,5}, \d{1,5}\]",
        "Images of one batch differ in size or in channels",
        "nothing makes them of one size, or there is a grey or a transparent one among coloured ones (the first number)",
        "image.convert('RGB') where it is opened, Resize((h, w)) in place of Resize(h), or a collate_fn that pads",
    ),
    Sentence(
        r"can't convert (?:cuda|mps|xpu)(?::\d{1,3})? device type tensor to numpy",
        "A tensor on the GPU is handed to what computes in NumPy",
        "a metric, a plot or a loss value that is kept as it is",
        "x.detach().cpu().numpy() in the line of the innermost frame of your own; for bfloat16 .float() before .numpy()",
    ),
    # https://github.com/pytorch/pytorch/pull/66419, https://github.com/openai/DALL-E/issues/75
    Sentence(
        r"'Upsample' object has no attribute 'recompute_scale_factor'",
        "A model that was pickled whole under a torch before 1.11 runs under a later one, whose Upsample has a field more",
        "",
        "after torch.load m.recompute_scale_factor = None for each m of model.modules() that is an Upsample; or the state of the project "
        "that knows torch 1.11",
        "torch",
    ),
    # https://github.com/pyca/pyopenssl/issues/1114 and /1142, https://github.com/pyca/cryptography/issues/7126
    Sentence(
        r"module 'lib' has no attribute '(?:X509_V_FLAG_(?:CB_ISSUER_CHECK|NOTIFY_POLICY)|OpenSSL_add_all_algorithms)'",
        "pyOpenSSL is older than the cryptography beside it: from 37 on cryptography is for pyOpenSSL 22 and later",
        "",
        "python -m pip install --upgrade pyopenssl; where pip itself ends so, the system's copy is in its way: apt-get remove "
        "python3-openssl, or run pip in a venv",
    ),
)
RENAMED = (
    # https://github.com/piskvorky/gensim/wiki/Migrating-from-Gensim-3.x-to-4; the wheel of gensim 3.8.3
    Sentence(
        r"The \w{1,40} attribute was removed from KeyedVector in Gensim 4|Word2Vec(?:\.__init__)?\(\)? got an unexpected keyword argument "
        r"'(?:size|iter)'|Word2Vec\.__init__\(\) got an unexpected keyword argument '(?:size|iter)'",
        "The code is for gensim 3, and gensim 4 ran, which renamed it",
        "",
        "model.wv.key_to_index for wv.vocab, index_to_key for index2word, vector_size for size, epochs for iter; or gensim 3.8.3",
        "gensim",
    ),
    # https://github.com/yaml/pyyaml/releases/tag/6.0
    Sentence(
        r"\bload\(\) missing 1 required positional argument: 'Loader'",
        "The code is for a PyYAML before 6, whose yaml.load needed no Loader",
        "",
        "yaml.safe_load(f) in place of yaml.load(f); or PyYAML 5.4.1",
        "pyyaml",
    ),
    Sentence(
        r"'(?:DataFrame|Series)' object has no attribute 'ix'",
        "The code is for a pandas before 1.0, which had .ix",
        "",
        ".loc for labels and .iloc for places, in place of .ix",
        "pandas",
    ),
    # https://github.com/huggingface/sentence-transformers/issues/770, https://github.com/mo-vic/BezierLaneNet/issues/3
    Sentence(
        r"Found dtype \w{1,20} but expected \w{1,20}",
        "The loss is of another type than what backward goes through",
        "labels or weights of the loss that are Double or Long where the output is Float, or Half beside Float",
        "cast what enters the loss to one type: labels.float(), criterion weights of the output's dtype, or the whole step under autocast",
    ),
)
TOOLKIT = (
    # https://github.com/NVIDIA/apex/issues/368, https://github.com/IDEA-Research/GroundingDINO/issues/165
    Sentence(
        r"(?:'|: )(?::/[^\s':]{1,200}|/[^\s']{1,200}:[^\s']{0,200})/bin/nvcc\b",
        "CUDA_HOME is a list with a colon in it, and must be one folder",
        "export CUDA_HOME=$CUDA_HOME:/usr/local/cuda, as one writes it for PATH",
        "export CUDA_HOME=/usr/local/cuda (the folder whose bin has nvcc), in ~/.bashrc too",
    ),
    # https://github.com/lbin/DCNv2/issues/25
    Sentence(
        r"No such file or directory: '(?:[^\s']{0,200}/)?nvcc'|/bin/nvcc'?: (?:No such file or directory|not found)",
        "CUDA code is to be compiled, and nvcc is not where CUDA_HOME leads",
        "no toolkit is installed (torch brings none), or CUDA_HOME is of another one",
        "which nvcc; ls -d /usr/local/cuda*; then export CUDA_HOME= to the one that is there and of torch's own CUDA "
        "(python -c 'import torch; print(torch.version.cuda)'), or conda install -c nvidia cuda-toolkit",
        "torch",
    ),
    # https://github.com/sicxu/Deep3DFaceRecon_pytorch/issues/95 (nvdiffrast)
    Sentence(
        r"Could not locate a supported Microsoft Visual C\+\+ installation|Error checking compiler version for cl\b",
        "An extension is compiled when it is first used, and Windows has no C++ compiler where it is looked for",
        "the Build Tools are missing, or cl.exe is on no path that the package looks at",
        "the Build Tools for Visual Studio with 'Desktop development with C++', and the program started from the 'x64 Native Tools Command "
        "Prompt' of that Visual Studio, where cl.exe is on the PATH",
    ),
    Sentence(
        r"Microsoft Visual C\+\+ 14\.\d{1,2} (?:or greater )?is required",
        "A package has no wheel for this Python and is to be compiled, and Windows has no C++ compiler",
        "a Python that is newer than the package's wheels, or a package that has none for Windows",
        "a Python for which the package has a wheel (pip download --only-binary :all: tells); else the Build Tools for Visual Studio with "
        "'Desktop development with C++'",
    ),
)
# What a kernel prints over the error that a later call has. https://github.com/gau-nernst/quantized-training/issues/1,
# https://github.com/shibing624/MedicalGPT/issues/275
ASSERTED = (
    Sentence(
        r"Assertion `(?:srcIndex < srcSelectDimSize|index out of bounds: 0 <= \w{1,12} < \d{2,9})` failed"
        r"|Assertion `\(?ind >= 0 && ind < ind_dim_size\)?.{0,80}` failed",
        "An id is not below the number of rows of the embedding",
        "tokens that were added to the tokenizer alone, a tokenizer of another model, or more positions than the model has",
        "model.resize_token_embeddings(len(tokenizer)) after tokens were added; else compare max(input_ids) with "
        "model.get_input_embeddings().weight.shape[0]",
    ),
    Sentence(
        r"Assertion `t >= 0 && t < n_classes` failed",
        "A label is not below the number of classes",
        "",
        "num_labels as many as the data has, labels that begin at 0, and -100 for what does not count",
    ),
)
BESIDE = (*COMPILERS, *COMMANDS, *ASSERTED)
EVERYDAY = (*FILES, *ROWS, *ACCOUNTS, *TOOLS, *COMPILERS, *COMMANDS, *PARTS, *DEVICES, *SPREAD, *RENAMED, *TOOLKIT)
