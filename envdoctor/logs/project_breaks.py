"""Errors that users of web UIs, demos and model repositories paste, a line or three of them, and the one change or gap behind each."""

from __future__ import annotations

from envdoctor.logs.async_engines import ASYNC_ENGINES
from envdoctor.logs.break_form import Break

ARGUMENT, ATTRIBUTE, MODULE, NAME = "error-argument-refused", "error-attribute-missing", "error-module-missing", "error-name-missing"
NOT_INSTALLED, RUN = "error-package-not-installed", "error-of-the-run"

PROJECT_BREAKS = (
    # llava/model/__init__.py of https://github.com/haotian-liu/LLaVA imports its models under a try with an empty except.
    Break(
        r"cannot import name '\w*(?:Llava|LLaVA)\w*' from '(?:\w+\.model|\w*llava\w*)'",
        "An error inside the project's own package is hidden: its model folder imports the class under a try that says nothing",
        "LLaVA's llava/model/__init__.py, and what was made from it, catches whatever fails there: mostly a flash-attn that was built for "
        "another torch, or a transformers of another day than the project's",
        "python -c 'from llava.model.language_model.llava_llama import LlavaLlamaForCausalLM' (the file of the "
        "class that is missed) prints "
        "the error that is hidden, and that is the one to mend: pip install --force-reinstall "
        "--no-build-isolation flash-attn for the torch "
        "that is there, or without flash-attn; transformers as the project's pyproject.toml has it, with pip install -e .",
        NAME,
    ),
    # setup/tkinter_preflight.sh and commit ec804a0 of https://github.com/bmaltais/kohya_ss
    Break(
        r"No module named '?[tT]kinter'?$",
        "This Python has no tkinter: what Linux and Homebrew install as Python comes without it",
        "no package of pip's brings it; with a capital it is what Python 2 called it (from tkinter in Python 3)",
        "apt-get install python3-tk (python3.11-tk for such a Python of its own), dnf install python3-tkinter, "
        "brew install python-tk@3.11; "
        "conda's and uv's Pythons have it",
        NOT_INSTALLED,
    ),
    # https://github.com/ace-step/ACE-Step-1.5/commit/71a601b
    Break(
        r"The 'meta' field must be explicitly provided in the input data and be equal to .{0,4}'_type': 'gradio\.FileData'",
        "gradio was handed the path of a file as a plain text or dictionary where it wants its FileData",
        "with pydantic 2 gradio checks what an update or an API call gives to Audio, Image or File",
        "gr.FileData(path=PATH) in place of the path, in gr.update(value=...) as well; through the API gradio_client.handle_file(PATH); or "
        "the gradio that the project was written for",
        RUN,
        ("gradio",),
    ),
    # gradio/events.py of 3.50.2 (_js) and 4.0.0 (js)
    Break(
        r"\bevent_trigger\(\) got an unexpected keyword argument '?_js\b",
        "gradio's events take js from 4.0 on, and no _js",
        "the program was written for gradio 3",
        "js=... in place of _js=... where events are bound",
        ARGUMENT,
        ("gradio",),
        ">=4.0",
        (("gradio", "<=3.50.2"),),
    ),
    *ASYNC_ENGINES,
    # https://github.com/h2oai/h2ogpt/commit/9798610: chromadb 0.4.3 with chroma-hnswlib 0.7.1 do not meet it
    Break(
        r"'hnswlib\.Index' has no attribute 'file_handle_count'",
        "chromadb asks its index for what the hnswlib that is imported does not have",
        "chroma-hnswlib and hnswlib both bring the module hnswlib: the plain one lies over it, or "
        "chroma-hnswlib is older than chromadb wants",
        "pip uninstall -y hnswlib chroma-hnswlib, then pip install --force-reinstall --no-cache-dir chromadb, which brings its own",
        ATTRIBUTE,
        ("chroma-hnswlib", "chromadb"),
    ),
    # https://github.com/ludwig-ai/ludwig/commit/5a39efc
    Break(
        r"'_OpNamespace' '(?:image|torchvision)' object has no attribute '\w+'",
        "torchvision's compiled part was not loaded: it was built for another torch than the one beside it",
        "torch or torchvision was moved without the other, or one of them is a nightly of another day",
        "pip install --force-reinstall torch torchvision, both in one command and from one index",
        RUN,
        ("torchvision", "torch"),
    ),
    # transformers/optimization.py: get_scheduler hands scheduler_specific_kwargs on; https://github.com/OpenRLHF/OpenRLHF/commit/c3188af
    Break(
        r"\bget_(?:\w+_)?schedule(?:_with_\w+)?\(\) got an unexpected keyword argument",
        "The learning rate schedule that was chosen does not take an option that it was given",
        "transformers hands what stands in lr_scheduler_kwargs (scheduler_specific_kwargs) to the function of the schedule as it is",
        "leave that option out, or the schedule that has it (min_lr and min_lr_rate: lr_scheduler_type cosine_with_min_lr); or the "
        "transformers that has it there",
        ARGUMENT,
        ("transformers",),
    ),
    # https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/commit/dc5c680
    Break(
        r"mode must be '?r'?, '?w'?, or None, got: '?[rw]b",
        "PyAV's av.open takes 'r' and 'w' as its mode, and no 'rb' or 'wb'",
        "releases before let them pass",
        "av.open(FILE, 'r') and av.open(FILE, 'w') in place of 'rb' and 'wb' (in RVC infer/lib/audio.py), or the project's newest state",
        RUN,
        ("av",),
    ),
    # https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/commit/2edeb71
    Break(
        r"cannot import name '?FFmpeg'? from '?ffmpy",
        "The ffmpy that is installed lacks its own class: gradio's requirement was installed in part, or a folder ffmpy lies before it",
        "gradio imports ffmpy.FFmpeg for sound and video",
        'pip install --force-reinstall --no-cache-dir "ffmpy==0.3.1"',
        NAME,
        ("ffmpy",),
    ),
    # pydantic/deprecated/class_validators.py since 2.0, and the removed names of pydantic/_migration.py
    Break(
        r"If you use `?@root_validator`? with pre=False|`?BaseSettings`? has been moved to the `?pydantic-settings`? package"
        r"|`?(?:regex|const)`? is removed\. use ",
        "Code that was written for pydantic 1 runs beside pydantic 2",
        "classes of the package in the traceback (or of the project) are declared as pydantic 1 had it",
        "the release of that package that is for pydantic 2 (deepspeed from 0.11.2 on)",
        RUN,
        ("pydantic",),
        ">=2",
        (("pydantic", "<2"),),
    ),
)
