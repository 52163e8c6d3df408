"""Messages of packages with a compiled part, or with objects that a release changed, which people paste as one line.

What each came to stands in the thread beside it.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

COMPILED = (
    # https://github.com/state-spaces/mamba/issues/467
    StatedMessage(
        r"'NoneType' object has no attribute '(?P<name>causal_conv1d_(?:fwd|bwd|update)\w{0,12})'",
        "causal-conv1d's compiled part is not there, and None stands in its place",
        "the package is missing, or was built for another torch, CUDA or Python: python -c 'import causal_conv1d_cuda' says which",
        "pip uninstall -y causal-conv1d mamba-ssm, then pip install --no-build-isolation --no-cache-dir causal-conv1d mamba-ssm",
        package="causal-conv1d",
    ),
    # https://github.com/AutoGPTQ/AutoGPTQ/issues/203, /249, /402, /694; the index is that of its README. The wheels of 0.5.0 to 0.7.1 were
    # built against torch 2.1 and 2.2 (the rule auto-gptq-wheel-built-for-another-torch).
    StatedMessage(
        r"CUDA extension not installed|CUDA kernels for auto_gptq are not installed|exllama(?:v2)?_kernels not installed"
        r"|[Ee]xllama(?:v2)? kernel is not installed|name 'autogptq_cuda(?:_\w{2,4})?' is not defined",
        "auto-gptq is here without its compiled kernels",
        "each of its wheels is for one CUDA and one torch (0.5 to 0.7.1: torch 2.1 and 2.2); a build where nvcc was missing, or of another "
        "CUDA than torch, has none; or another environment ran than the one it was built in",
        "with torch 2.2: pip install --force-reinstall --no-deps auto-gptq==0.7.1 (CUDA 12.1; for 11.8 with --extra-index-url "
        "https://huggingface.github.io/autogptq-index/whl/cu118/); with a later torch pip install --no-build-isolation gptqmodel in its "
        "place",
        unless=("auto-gptq-wheel-built-for-another-torch",),
        package="auto-gptq",
    ),
    # https://github.com/EvolvingLMMs-Lab/lmms-eval/issues/661
    StatedMessage(
        r"No chat template is set for this (?P<name>processor|tokenizer)",
        "The {name} of this model has no chat template",
        "a base model, whose files have none, or a folder into which a fine-tuned model was saved without its processor",
        "the Instruct or Chat release of the model; or the processor's files of the model that was trained (chat_template.json, or "
        "chat_template.jinja) beside the weights",
        package="transformers",
    ),
    # torch/amp/autocast_mode.py and torch/optim/adamw.py; https://github.com/karpathy/llama2.c/issues/169
    StatedMessage(
        r"[Uu]ser specified an unsupported autocast device_type '(?P<name>\w{2,12})'",
        "This torch has no autocast for the device {name}",
        "a later torch may have it (Apple's GPUs came to it late), and some devices never do",
        "float32 without it: fp16=False and bf16=False, or torch.autocast(..., enabled=False); or pip install -U torch",
        package="torch",
    ),
    StatedMessage(
        r"`?fused=True`? requires all the params to be floating.?point Tensors of supported devices",
        "The fused optimizer has no kernel for the device, or the type, of these weights",
        "weights on the CPU, on Apple's GPU or on meta with a torch that has none for it, or weights that are whole numbers",
        "optim='adamw_torch' in TrainingArguments, fused=False in the optimizer; or the model on the GPU before the optimizer is made",
        package="torch",
    ),
    # https://github.com/deepseek-ai/Janus/issues/99, https://github.com/microsoft/LLMLingua/pull/246
    StatedMessage(
        r"'(?P<kind>tuple|list)' object has no attribute "
        r"'(?P<name>get_seq_length|get_usable_length|get_max_length|get_max_cache_shape|to_legacy_cache)'",
        "The keys and values of before come as a {kind}, and this code asks them for {name}(), which transformers' Cache has",
        "code of a model, or of its project, that was written for another transformers: until 4.35 all of them were tuples",
        "the transformers that the model's config.json names (transformers_version); use_cache=False does without them in training; or "
        "DynamicCache.from_legacy_cache(past_key_values) before that call",
        package="transformers",
    ),
    # https://github.com/allenai/open-instruct/issues/97; bitsandbytes 0.41.2 has the class, 0.41.1 a list.
    StatedMessage(
        r"'QuantState' object (?:does not support item assignment|is not (?:subscriptable|iterable))",
        "The code takes bitsandbytes' quant_state for a list, and since 0.41.2 it is an object of class QuantState",
        "code of a time before bitsandbytes 0.41.2",
        "quant_state.absmax, .shape, .dtype, .blocksize in place of quant_state[0] to [3]; or pip install 'bitsandbytes==0.41.1'",
        package="bitsandbytes",
    ),
    # https://github.com/chenller/mmseg-extension/issues/2: the message names the lower bound alone; mmdet 3.3.0 and mmsegmentation 1.2.2.
    StatedMessage(
        r"MMCV==2\.2\.\d is used but incompatible\. Please install mmcv>=[\w.]{1,12}\.?\s*$",
        "The package of OpenMMLab that is imported refuses this mmcv from above: it takes mmcv below 2.2.0",
        "its message tells the lower bound alone",
        'mim install "mmcv==2.1.0", with a torch up to 2.1 for which that has a wheel',
        package="mmcv",
    ),
    # https://github.com/huggingface/pytorch-image-models/issues/1111, https://github.com/xyshi2000/SpikingResformer/issues/1
    StatedMessage(
        r"Unknown model \((?P<name>[\w./:-]{2,80})\)",
        "This timm has no model {name}",
        "a model that came with a later timm, a name that was mistyped, or a project's own model whose module was not imported before",
        "pip install -U timm (python -c \"import timm; print(timm.list_models('*PART*'))\" lists what it has); for a project's own model "
        "the newest state of the project",
        package="timm",
    ),
    # https://github.com/abetlen/llama-cpp-python/issues/208
    StatedMessage(
        r"(?:Failed to load shared library|Could not find module) '(?P<path>[^'\n]{1,300}[\\/])(?P<name>(?:lib)?llama\.dll)'",
        "Windows does not load {name} of llama-cpp-python, or a library that it needs",
        "a build for CUDA whose cublas and cudart lie where Python does not look (it looks in CUDA_PATH\\bin), or no Visual C++ runtime",
        "set CUDA_PATH to the toolkit that it was built for, in a new terminal; or the wheel for that CUDA: pip install --force-reinstall "
        "--no-cache-dir llama-cpp-python --extra-index-url https://abetlen.github.io/llama-cpp-python/whl/cu121",
        package="llama-cpp-python",
    ),
    StatedMessage(
        r"(?:Could not find module|Failed to load shared library) '(?P<path>[^'\n]{1,300}[\\/])?(?P<name>[\w.+-]{2,60}\.dll)'"
        r"(?: \(or one of its dependencies\))?",
        "Windows does not load {name}, or a library that it needs",
        "where the file is there, another one is missing: the Visual C++ runtime, CUDA's or FFmpeg's libraries outside of PATH and of what "
        "os.add_dll_directory names",
        "the Visual C++ Redistributable (2015 to 2022, x64); the folder of the missing library in PATH before the start; the package anew",
        sure=False,
    ),
    # torchvision/extension.py, torchaudio/_extension/utils.py; the index of PyTorch has a folder for each CUDA.
    StatedMessage(
        r"PyTorch and (?P<name>[Tt]orch(?:vision|[Aa]udio)) were compiled with different CUDA (?:major )?versions\. PyTorch has CUDA "
        r"[Vv]ersion ?[= ] ?(?P<one>\d{1,2})\.(?P<two>\d) (?:and|whereas) [Tt]orch(?:vision|[Aa]udio) has CUDA [Vv]ersion ?[= ] ?"
        r"(?P<got>\d{1,2}\.\d)",
        "{name} was built for CUDA {got}, and torch for CUDA {one}.{two}",
        "one of the two was installed or upgraded without the other, or from another index; the numbers are those of the builds, not "
        "of the driver",
        "pip install --force-reinstall torch torchvision torchaudio --index-url https://download.pytorch.org/whl/cu{one}{two}, all in one "
        "command (with the releases that are there, to keep them); a notebook starts anew after it",
        package="torchvision",
    ),
    # torch_scatter/__init__.py and its kin; https://data.pyg.org/whl
    StatedMessage(
        r"PyTorch and (?P<name>torch_(?:scatter|sparse|cluster|spline_conv)|pyg_lib) were compiled with different CUDA versions\. PyTorch "
        r"has CUDA version (?P<one>\d{1,2})\.(?P<two>\d) and \w{4,20} has CUDA version (?P<got>\d{1,2}\.\d)",
        "{name} was built for CUDA {got}, and torch for CUDA {one}.{two}",
        "each of its wheels is for one torch and one CUDA",
        "pip install --force-reinstall --no-deps {name} -f https://data.pyg.org/whl/torch-VERSION+cu{one}{two}.html, VERSION that of torch "
        "(torch.__version__)",
        package="torch",
    ),
    # https://github.com/patientx-cfz/comfyui-rocm/issues/8: triton compiles its launcher when a kernel first runs.
    StatedMessage(
        r"include file 'Python\.h' not found|fatal error C1083: .{1,80}['\"\u201c\u201e\u00ab]Python\.h\b"
        r"|LNK1104: .{1,60}python3\d{1,2}\.lib"
        r"|cannot find -lpython3\d{1,2}$|Failed to find Python libs|library 'python3\d{1,2}' not found",
        "Something is compiled against Python, and this Python has not its folders include and libs (Python.h, python3X.lib)",
        "the embedded Python of a portable program (ComfyUI's python_embeded and others) comes without them; triton, sageattention and "
        "torch.compile compile a small part when they first run",
        "copy the folders include and libs of a full Python of the same release (3.12 for 3.12, from python.org) beside the python.exe "
        "that runs; or an environment of a full Python in its place",
    ),
    StatedMessage(
        r"fatal error: '(?:<)?Python\.h(?:>)?' file not found",
        "Something is compiled against Python while its headers are not there: Python.h is missing",
        "clang looks where this Python says that its headers are, and the distribution keeps them in a package of its own",
        "python3-dev (Debian, Ubuntu), python3-devel (Fedora); on a Mac xcode-select --install, and Homebrew's, conda's or uv's Python, "
        "which bring them along",
    ),
)
