"""Errors of a few words that one change of one package is behind, by the words: what the atlas cannot tell from a name alone.

Asked before everything else that reads an error. Each was read in the wheels on both sides of its bound, or in the threads it names.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.abstract_methods import judge_abstract
from envdoctor.logs.break_form import Break
from envdoctor.logs.device_breaks import DEVICE_BREAKS
from envdoctor.logs.environments import judge_environment
from envdoctor.logs.hidden_processors import judge_processor
from envdoctor.logs.nodes_given import judge_ranks
from envdoctor.logs.project_breaks import PROJECT_BREAKS
from envdoctor.logs.single_breaks import SINGLE_BREAKS
from envdoctor.logs.specifiers import admits
from envdoctor.logs.templates_given import judge_template
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.unpacked_values import judge_registry, judge_unpacked
from envdoctor.logs.wrapper_breaks import WRAPPER_BREAKS

ARGUMENT, ATTRIBUTE, TENSORS, RUN = "error-argument-refused", "error-attribute-missing", "error-tensors-disagree", "error-of-the-run"


_ONE_OPENCV = (
    "pip uninstall -y opencv-python opencv-python-headless opencv-contrib-python opencv-contrib-python-headless, "
    "remove what is left of the "
    "folder cv2 (and a system's or an image's own OpenCV), then install one of the four"
)
_UNSLOTH = (
    "pip install --upgrade --no-deps unsloth unsloth_zoo (both, of one day); else a trl of that unsloth's day, installed with --no-deps "
    "(of before 15 February 2025: trl<0.15)"
)
BREAKS = (
    # https://github.com/huggingface/diffusers/issues/5919, https://github.com/mkshing/ziplora-pytorch/issues/26
    Break(
        r"'Linear' object has no attribute 'set_lora_layer'",
        "diffusers makes plain Linear layers where peft is installed, and set_lora_layer is of the way without peft",
        "the script is of before diffusers went over to peft; what diffusers gives set_lora_layer is made only where it does without it",
        "the script of the diffusers that is installed (its examples/ of that tag use peft); or pip uninstall peft, with diffusers<0.25",
        ATTRIBUTE,
        ("diffusers", "peft"),
    ),
    # https://github.com/microsoft/voxelpose-pytorch/issues/2 (torch 1.4 ran it), https://github.com/ghimiredhikura/Complex-YOLOv3/issues/3
    Break(
        r"Expected object of scalar type \w{3,8} but got scalar type \w{3,8} for argument #\d 'other'",
        "The two sides of an operation are of two types, and this torch is too old to bring them to one",
        "later releases do that by themselves; where comparisons give bool (from torch 1.2 on) a mask of uint8 is the other side",
        "cast one side in the line above (x.float(), mask.bool()); or the torch that the project names, or a later one",
        "error-tensors-disagree",
        ("torch",),
    ),
    # The wheels of 0.29.1 and 1.0.0; https://github.com/aidudezzz/deepbots-tutorials/issues/43
    Break(
        r"No module named 'gymnasium\.wrappers\.monitoring'",
        "gymnasium 1.0 has no wrappers.monitoring any more, and what imports it was written for 0.29",
        "pre-releases of 1.0 lack it as well",
        "",
        "error-module-missing",
        ("gymnasium",),
        ">=1.0.0a1",
        (("gymnasium", "<1.0"),),
    ),
    # timm/models/factory.py and helpers.py of 0.5.4, 0.6.5 and 0.9.2; https://github.com/MCG-NJU/VideoMAE/issues/126
    Break(
        r"got an unexpected keyword argument '?pretrained_cfg(?:_overlay)?'?",
        "timm's create_model passes pretrained_cfg from 0.6 on, and the project's model was written for an earlier timm",
        "the function that the project registers hands on what it is given to a class that does not take it",
        "kwargs.pop('pretrained_cfg', None) and kwargs.pop('pretrained_cfg_overlay', None) at the start of that function",
        ARGUMENT,
        ("timm",),
        ">=0.6",
        (("timm", "<=0.5.4"),),
        within="create_model",
    ),
    # https://github.com/clin1223/VLDet/issues/8
    Break(
        r"got an unexpected keyword argument '?default_cfg'?",
        "timm calls it pretrained_cfg from 0.6 on: what was passed as default_cfg is handed on to the model",
        "build_model_with_cfg of 0.5.4 takes default_cfg, that of 0.6.5 does not",
        "pretrained_cfg in place of default_cfg where the project calls build_model_with_cfg",
        ARGUMENT,
        ("timm",),
        ">=0.6",
        (("timm", "<=0.5.4"),),
        within="build_model_with_cfg",
    ),
    # https://github.com/unslothai/unsloth/issues/1699 (trl 0.15.0; mended in unsloth the same day: pull request 1701), 3293
    Break(
        r"Unsloth: Please file a bug report! Error patching",
        "unsloth writes the trainers of trl anew from their source, and does not know the source of this trl",
        "trl is of a later day than unsloth, or of one that it does not support yet",
        _UNSLOTH,
        RUN,
        ("unsloth", "trl"),
    ),
    Break(
        r"^(?:IndexError|IndentationError|KeyError|NameError|SyntaxError|ValueError)\b",
        "unsloth writes the trainers of trl anew from their source, and does not know the source of this trl",
        "it fails as it is imported, in what changes trl's trainers: trl is of a later day than unsloth",
        _UNSLOTH,
        RUN,
        ("unsloth", "trl"),
        within="patch_functions",
    ),
    # Read in gradio/blocks.py of 3.50.2 (a parameter, behind a decorator that warns) and 4.0.2 (raise DeprecationWarning);
    # https://github.com/RVC-Boss/GPT-SoVITS/issues/527
    Break(
        r"concurrency_count has been deprecated\. Set the concurrency_limit"
        r"|\bqueue\(\) got an unexpected keyword argument '?concurrency_count",
        "gradio's queue() takes no concurrency_count from 4.0 on",
        "gradio 4 raises this, or takes no such argument any more: how many calls of an event run at once is said at each event since then",
        "queue(default_concurrency_limit=N) in place of queue(concurrency_count=N)",
        ARGUMENT,
        ("gradio",),
        ">=4.0",
        (("gradio", "<=3.50.2"),),
    ),
    # https://github.com/opencv/opencv-python/issues/884, https://github.com/vllm-project/vllm/issues/8650
    Break(
        r"module 'cv2\.dnn' has no attribute 'DictValue'|partially initialized module 'cv2' has no attribute"
        r"|module 'cv2(?:\.cv2)?' has no attribute '(?:gapi\w*|_registerMatType|typing|utils)'",
        "Files of two OpenCVs lie over each other in one folder cv2",
        "opencv-python, opencv-python-headless, opencv-contrib-python and its headless one all bring the module cv2, "
        "and an image or a system "
        "may bring one more: the Python files of one release ask the compiled file of another; a file cv2.py of your own does the same",
        _ONE_OPENCV,
        ATTRIBUTE,
        ("opencv-python",),
    ),
    # The source of clip 0.2.0 on the index, which is of another project; https://github.com/openai/CLIP
    Break(
        r"module 'clip' has no attribute '(?:load|tokenize|available_models|clip|model)'",
        "The clip that is imported is not OpenAI's: the package index has another project by that name",
        "pip install clip installs that one; OpenAI's is installed from its repository (clip-anytorch and openai-clip "
        "on the index give the "
        "same module), or a file or folder of your own called clip stands before it",
        "pip uninstall -y clip, then pip install git+https://github.com/openai/CLIP.git",
        ATTRIBUTE,
        ("clip",),
    ),
    # The wheel of torchvision 0.9.1 has _get_image_size, that of 0.11.3 get_image_size alone.
    Break(
        r"module 'torchvision\.transforms\.functional' has no attribute '_get_image_size'",
        "torchvision has no _get_image_size any more: it is called get_image_size",
        "a private name, which 0.9.1 has and 0.11.3 does not",
        "get_image_size in place of _get_image_size in the line that asks for it",
        ATTRIBUTE,
        ("torchvision",),
        ">=0.11",
        (("torchvision", "<=0.9.1"),),
    ),
    # librosa 0.9.2 takes them with a warning (@deprecate_positional_args over def load), 0.10.0 does not.
    Break(
        r"\bload\(\) takes 1 positional argument but \d{1,2} (?:were given|positional arguments? \(and \d keyword-only)",
        "librosa.load() takes all but the path by name, and gets more by position",
        "librosa 0.9 warned of it, 0.10 refuses; a load() of the project's own would be named with its class by Python 3.10 and later",
        "librosa.load(path, sr=RATE) in place of librosa.load(path, RATE)",
        ARGUMENT,
        ("librosa",),
        ">=0.10",
        (("librosa", "==0.9.2"),),
        line=r"librosa",
    ),
    # Python 3.10 and later name the class, and TrainingArguments lost its own with a release for these alone; Accelerator of accelerate
    # 0.19.0 has it, that of 0.20.0 has not.
    Break(
        r"(?:^|: )__init__\(\) got an unexpected keyword argument 'logging_dir'",
        "Accelerator() takes no logging_dir from accelerate 0.20 on",
        "it is called project_dir since 0.16; training scripts of diffusers and others that were written before pass the old name",
        "project_config=ProjectConfiguration(project_dir=DIR, logging_dir=DIR) in place of logging_dir=DIR, or project_dir=DIR",
        ARGUMENT,
        ("accelerate",),
        ">=0.20",
        (("accelerate", "<0.20"),),
        line=r"Accelerator\(|logging_dir",
    ),
    # core/pipeline.py of the wheels of pyannote.audio 3.4.0 and 4.0.0; modeling_utils.py of transformers 4.57.6 and 5.0.0.
    Break(
        r"from_pretrained\(\) got an unexpected keyword argument 'use_auth_token'",
        "from_pretrained() takes no use_auth_token in this release: it is called token",
        "transformers 5, pyannote.audio 4, huggingface-hub 1 and datasets 3 know the new name alone; their releases before take both, or "
        "the old one",
        "token=... in place of use_auth_token=...",
        ARGUMENT,
    ),
    # timm 0.4.5 has it in DistilledVisionTransformer, 0.4.9 to 0.5.4 in VisionTransformer itself, 0.6.5 in VisionTransformerDistilled.
    Break(
        r"'VisionTransformer' object has no attribute 'dist_token'",
        "timm's VisionTransformer has a dist_token from 0.4.9 to 0.5.4 alone",
        "before and after that the distilled models have a class of their own; code that looks for it was written for these releases",
        "",
        ATTRIBUTE,
        ("timm",),
        "<0.4.9 || >=0.6",
        (("timm", "==0.5.4"),),
    ),
    # get_expanded_tied_weights_keys came with transformers 5.0.0; https://github.com/PrimeIntellect-ai/prime-rl/pull/1998
    Break(
        r"'list' object has no attribute 'keys'",
        "transformers 5 wants _tied_weights_keys as a dict, and the model's class has a list",
        "the class is the project's, or of code that the model brings, and was written for transformers 4",
        '_tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"} in place of the list, a newer state of the project',
        ATTRIBUTE,
        ("transformers",),
        ">=5",
        (("transformers", "<5"),),
        within="get_expanded_tied_weights_keys",
    ),
    # https://github.com/kijai/ComfyUI-Florence2/issues/199; in configuration_utils.py of 4.57.1
    # each configuration has both, in that of 5.0.0 none.
    Break(
        r"'\w{2,60}Config' object has no attribute '(?:forced_bos_token_id|forced_eos_token_id)'",
        "The configuration's class is of code for transformers 4: since 5 the settings of generation are no fields of a configuration",
        "the code that a model or a node brings reads them from its configuration",
        "the newest state of the project or node, or the model that transformers has itself (florence-community/Florence-2-base)",
        ATTRIBUTE,
        ("transformers",),
        ">=5",
        (("transformers", "<5"),),
    ),
    # https://github.com/flairNLP/flair/issues/3284; transformers registers the buffer with persistent=False since 4.31.0.
    Break(
        r'(?s)Unexpected key\(s\) in state_dict: (?:"[\w.]{0,200}\bposition_ids"[, ]{0,4}){1,40}\.?\s*$',
        "The checkpoint has position_ids, which transformers does not keep with the weights since 4.31",
        "it was saved under an older transformers, which kept that buffer; it holds 0, 1, 2, ... and nothing that was learned",
        "load_state_dict(state, strict=False), or take the keys that end in position_ids out of the state before it is loaded",
        TENSORS,
        ("transformers",),
        ">=4.31",
        (("transformers", "<4.31"),),
    ),
    # https://github.com/unslothai/unsloth/issues/1268, https://github.com/vllm-project/vllm/issues/11010
    Break(
        r"^KeyError: ['\"][\w.]{0,120}(?:layers|blocks)\.\d{1,3}\.[\w.]{1,120}['\"]",
        "The checkpoint has a weight of a name that vLLM's model does not have",
        "weights in 4 bits of bitsandbytes that vLLM was not told of, an adapter or a quantization that was saved otherwise, or a vllm "
        "that is older than the model",
        "quantization='bitsandbytes' and load_format='bitsandbytes' for weights in 4 bits; else a vllm as new as the model",
        RUN,
        ("vllm",),
        line=r"params_dict\[|\bWorkerProc\(|\.from_engine_args\(|\.load_weights\(",
    ),
    # https://github.com/vllm-project/vllm/issues/9712; vLLM's page on installation: Linux only.
    Break(
        r"Model architectures \[.{0,4000}(?:are not supported|failed to be inspected)|No module named 'vllm\._C'",
        "vLLM does not run on Windows: what pip installs there is without its compiled part",
        "the process that looks at the model's class fails over it, and vLLM says only that the model is not supported",
        "WSL 2 (or Linux, or a container), and pip install vllm there",
        RUN,
        ("vllm",),
        within="-packages\\vllm\\",
    ),
    # https://github.com/Meituan-AutoML/Lenna/issues/2: TOKENIZER_MAPPING goes by the class of the configuration.
    Break(
        r"^KeyError: ['\"]\w{2,60}Config['\"]",
        "AutoTokenizer knows no tokenizer for this class of configuration, and the model's files name none",
        "the class is the project's, or of code that comes with the model; tokenizer_config.json has no tokenizer_class, or is not there",
        "the tokenizer's own class in place of AutoTokenizer (LlamaTokenizer.from_pretrained(...)), or tokenizer_class in "
        "tokenizer_config.json",
        RUN,
        ("transformers",),
        line=r"_reverse_config_mapping\[",
    ),
    # https://github.com/salesforce/CodeGen/issues/82; rules/transformers/remote-tokenizer-attribute-after-super.toml
    Break(
        r"'\w{2,60}Tokenizer' object has no attribute '\w+'",
        "The tokenizer's own code sets this attribute after super().__init__(), and transformers asks for it in there since 4.34",
        "a slow tokenizer registers its special tokens in the constructor since 4.34.0, and asks for its vocabulary to do so",
        "",
        ATTRIBUTE,
        ("transformers",),
        ">=4.34",
        (("transformers", "<4.34"),),
        within="_add_tokens",
    ),
    Break(
        r"module 'webdataset' has no attribute 'Dataset'",
        "webdataset has no Dataset since 0.2",
        "0.1.103 still has it; WebDataset takes its place",
        "webdataset.WebDataset(urls) in place of webdataset.Dataset(urls)",
        ATTRIBUTE,
        ("webdataset",),
        ">=0.2",
        (("webdataset", "==0.1.103"),),
    ),
    # https://github.com/mbzuai-oryx/UniMed-CLIP/issues/2
    Break(
        r"^KeyError: ['\"]fname['\"]",
        "A later webdataset gives an empty sample at the end of a shard, which this reader does not expect",
        "0.2.100 ends a shard with an empty sample (eof_value={}), 0.2.86 does not; the project has a reader of its own over webdataset's",
        "skip them: if 'fname' not in filesample: continue",
        RUN,
        ("webdataset",),
        ">0.2.86",
        (("webdataset", "==0.2.86"),),
        line=r"filesample\[",
    ),
    # https://github.com/gradio-app/gradio/issues/9278, https://github.com/Kwai-Kolors/Kolors/issues/141
    Break(
        r"Unable to generate pydantic-core schema for <class 'starlette\.requests\.Request'>",
        "gradio and the pydantic beside it are not of one time",
        "gradio before 4.43 and pydantic 2.9 with its core 2.23.2 or a later fastapi do not go together",
        "",
        RUN,
        ("gradio", "pydantic", "fastapi"),
        "<4.43",
        (("gradio", "==4.43.0"),),
    ),
    # https://github.com/volcengine/verl/issues/1084: torch.ops._C is where vLLM registers its own.
    Break(
        r"'_OpNamespace' '_C(?:_cache_ops|_custom_ar)?' object has no attribute '\w+'",
        "vLLM's compiled operators did not load: they were built for another torch than the one that is there",
        "something moved torch after vLLM was installed, and vLLM goes on where its own library does not load",
        "pip install --force-reinstall vllm (the same version), into an environment of its own: it brings the torch that it was built for; "
        "python -c 'import vllm._C' shows why the library does not load",
        ATTRIBUTE,
        ("vllm", "torch"),
    ),
    # https://github.com/yanqinJiang/Consistent4D/issues/8
    Break(
        r"'_OpNamespace'(?: 'aten')? object has no attribute '\w+'",
        "This torch is older than a package that asks it for one of its operators",
        "the operators of torch.ops are no members of a class: each release has more of them",
        "a later torch; or, where the project is for this torch, the releases of diffusers, transformers and others from its day",
        ATTRIBUTE,
        ("torch",),
    ),
    # https://github.com/IDEA-Research/GroundingDINO/issues/80
    Break(
        r"name '_C' is not defined",
        "The compiled part (_C) of the package was not built, or does not load here",
        "the package tries to import it, warns and goes on: the build found no nvcc or no CUDA_HOME, or was made for another torch",
        "with CUDA_HOME of torch's own CUDA: pip install --no-build-isolation --force-reinstall --no-deps -e . in the "
        "project's folder, and "
        "python -c 'import PACKAGE._C' shows what it lacks; a notebook restarts after it",
        RUN,
    ),
)


def judge_break(failure: Failure, facts: Facts, around: str = "") -> Hit | None:
    """The change behind an error that is known by its words; None where none is, or a stated release refutes it.

    ``around`` is what was pasted with it, where that is short.
    """
    for one in (*BREAKS, *DEVICE_BREAKS, *PROJECT_BREAKS, *WRAPPER_BREAKS, *SINGLE_BREAKS):
        if re.search(one.says, failure.told) and _is_there(one, failure, around) and not _is_refuted(one, facts):
            owner = one.packages[0] if one.packages else "code"
            edge = f"{owner}:{'-'.join(re.findall(r'[a-z0-9]+', one.means.lower())[:6])}"
            # What is said in place of a pin is said beside it here.
            before = "".join(f'; or pip install "{name}{spec}"' for name, spec in one.pins[:1]) if one.advice else ""
            return Hit(
                one.rule,
                True,
                detail=one.behind,
                packages=one.packages,
                pins=one.pins,
                edge=edge,
                headline=one.means,
                advice=f"{one.advice}{before}",
            )
    other = (
        judge_template(failure, facts, around)
        or judge_ranks(failure, facts)
        or judge_processor(failure, facts)
        or judge_environment(failure)
        or judge_abstract(failure)
    )
    return other or judge_unpacked(failure) or judge_registry(failure)


def _is_there(one: Break, failure: Failure, around: str) -> bool:
    if one.within:
        return one.within in around or any(frame.function.endswith(one.within) for frame in failure.frames)
    shown = failure.frames[-1].text if failure.frames else ""
    return not one.line or not (failure.frames or failure.near) or re.search(one.line, f"{shown} {failure.near} {around}") is not None


def _is_refuted(one: Break, facts: Facts) -> bool:
    stated = facts.value(f"packages.{one.packages[0]}") if one.packages else None
    if not one.since or not isinstance(stated, Exact):
        return False
    return not any(admits(part.strip(), stated) for part in one.since.split("||"))
