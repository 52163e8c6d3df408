"""Messages of what trains: models' own conditions, quantization, adapters, trackers of runs, numbers that are none.

Wordings as these raise them: https://github.com/huggingface/transformers (modeling_utils.py, generation/utils.py, configuration_auto.py),
https://github.com/huggingface/peft, https://github.com/bitsandbytes-foundation/bitsandbytes (cextension.py, diagnostics), torch/autograd of
https://github.com/pytorch/pytorch, https://github.com/wandb/wandb, https://github.com/mlflow/mlflow, https://github.com/ml-explore/mlx-examples/issues/226.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

# The wheels of 0.43.3 to 0.50.2: which CUDA a torch may have, the library that most of these have for its major number, and since when.
_LIBRARIES = (
    (r"11\d", "118", ""),
    (r"12[0-3]", "121", ""),
    (r"12[45]", "124", ""),
    (r"12[67]", "126", " (12.6 is in 0.45.2, and not in 0.44.1)"),
    (r"12[89]", "128", " (12.8 is in 0.45.5, 12.9 in 0.46.1 to 0.49.0)"),
    (r"13\d", "130", " (13.0 since 0.48.0, 13.2 in 0.50.2, 13.1 in none that was read)"),
)

TRAINING = (
    StatedMessage(
        r"Please specify `?target_modules`?(?: or `?target_parameters`?)? in `?peft_config",
        "peft has no layers in mind for this kind of model, and was told none",
        "its table of defaults has the model types that its release knew: a newer type, or code of the model's own, is not in it",
        "target_modules='all-linear' in LoraConfig, or the names of the model's linear layers",
        given=True,
        package="peft",
    ),
    StatedMessage(
        r"current model class \((?P<name>\w{3,80})\) is not compatible with `?\.?generate",
        "{name} has no head that predicts tokens, so it generates nothing",
        "AutoModel gives the body alone",
        "AutoModelForCausalLM (or AutoModelForSeq2SeqLM) in place of AutoModel",
        given=True,
        package="transformers",
    ),
    StatedMessage(
        r"Unrecognized model in (?P<path>\S{1,300}?)\. Should have a `model_type` key",
        "config.json in {path} does not say which model it is (model_type)",
        "the folder of an adapter, of a tokenizer or of another library, or a name on the hub that is no transformers model",
        "the folder or id of the model itself; for an adapter its base, with PeftModel.from_pretrained",
        given=True,
        package="transformers",
    ),
    StatedMessage(
        r"Can't find '?adapter_config\.json'? at '?(?P<path>[^'\s]{1,300})",
        "There is no adapter in {path}: it has no adapter_config.json",
        "a checkpoint of a full model, one level too high (the adapter lies in checkpoint-N), or a name on the hub that is not reached",
        "ls it; the folder that has adapter_config.json; a full model is loaded with AutoModel...from_pretrained",
        given=True,
        package="peft",
    ),
    StatedMessage(
        r"Function '(?P<name>\w{3,60})' returned nan values in its (?P<at>\d)th output",
        "The gradient is no number (NaN) from {name} on",
        "a logarithm or root of 0, a division by 0, or float16 that overflowed, in the line that the warning above shows",
        "bfloat16 or float32 for that part, a small number added before log, sqrt and division, a smaller learning rate",
        package="torch",
    ),
    StatedMessage(
        r"probability tensor contains either `?inf",
        "The model's scores are not finite (NaN, inf) or negative, and no token can be drawn from them",
        "float16 for a model that was trained in bfloat16, damaged or half-loaded weights, padding on the right, or a training that "
        "diverged",
        "bfloat16 (or float32), padding_side='left'; do_sample=False shows whether all scores are NaN",
        package="torch",
    ),
    StatedMessage(
        r"[Ee]xpected input batch_size \((?P<a>\d{1,9})\) to match target batch_size \((?P<b>\d{1,9})\)",
        "The loss gets {a} rows of scores and {b} labels",
        "labels that are one per token where scores are one per row (or the other way), or tokens that were cut on one side alone",
        "print logits.shape and labels.shape before the loss; a class ...ForTokenClassification, ...ForSequenceClassification, as the "
        "labels are",
        given=True,
    ),
    StatedMessage(
        r"name '(?P<name>str2optimizer\w{3,40})' is not defined|has no attribute 'cget_managed_ptr'|undefined symbol: "
        r"cget_(?:col_row_stats|managed_ptr)"
        r"|undefined symbol: cquantize_blockwise\w{0,20}",
        "bitsandbytes loaded its library for the CPU, which has none of the operations for a GPU",
        "it found no CUDA (no driver, a torch for the CPU, a CUDA for which it has no library)",
        "python -m bitsandbytes says what it found; a bitsandbytes from 0.43 on with a torch for CUDA (on Windows as well)",
        package="bitsandbytes",
    ),
    *(
        StatedMessage(
            rf"Configured CUDA binary not found at \S{{0,200}}libbitsandbytes_cuda(?P<cuda>{asked})\b",
            "bitsandbytes has no library for the CUDA of this torch ({cuda}) in the release that is there",
            f"its wheels carry one library for each CUDA that they know{came}; or BNB_CUDA_VERSION is set to what they do not have",
            f"a later one: pip install -U bitsandbytes; or BNB_CUDA_VERSION={other}, which takes the library of another CUDA with the same "
            "major number (unset it where it was set)",
            package="bitsandbytes",
        )
        for asked, other, came in _LIBRARIES
    ),
    StatedMessage(
        r"CUDA Setup failed despite (?:GPU|CUDA) being available|CUDA SETUP: (?:CUDA "
        r"detection failed"
        r"|Required library version not found)|Configured (?:CUDA|ROCm) binary not found",
        "bitsandbytes found no library of its own for the CUDA that torch has",
        "a torch for the CPU, a CUDA that its release has no library for, or CUDA's libraries that are not found",
        "python -m bitsandbytes says what it found; pip install -U bitsandbytes; BNB_CUDA_VERSION=128 (CUDA 13: 130, CUDA 11: 118) takes "
        "the library of another CUDA with the same major number",
        package="bitsandbytes",
    ),
    StatedMessage(
        r"bitsandbytes was compiled without GPU support",
        "bitsandbytes has no library for a GPU here: a warning, and an error where weights of 8 or 4 bits are used",
        "a torch for the CPU, or a release that has no library for this CUDA or platform",
        "python -m bitsandbytes says what it found; pip install -U bitsandbytes; else look for another error",
        sure=False,
        package="bitsandbytes",
    ),
    StatedMessage(
        r"[Uu]nknown quantization type, got (?P<got>[\w-]{1,40})",
        "config.json says that the weights are quantized by {got}, which this transformers does not know",
        "the model came later, or its config.json was written by another program",
        "pip install -U transformers with the package of that quantization; else a copy of the model without it",
        package="transformers",
    ),
    StatedMessage(
        r"[Ee]xpected [qkv]\.stride\(-1\) == 1|(?:[qkv]|input|x|u) must (?:be contiguous|have contiguous last dimension)",
        "A kernel wants numbers that lie side by side in memory, and got a view with gaps",
        "a transpose or an expand before it",
        ".contiguous() before that call",
    ),
    StatedMessage(
        r"`use_cache=True` is incompatible with gradient checkpointing",
        "A cache for generation and checkpointing do not go together, and the cache is left out: no error",
        "",
        "model.config.use_cache = False ends the line; look for another error",
        sure=False,
        package="transformers",
    ),
    StatedMessage(
        r"(?:ServiceStartTimeoutError|ServiceStartProcessError).{0,200}(?:wandb|service|timed out)"
        r"|wandb\S{0,60}ServiceStart\w{0,20}Error"
        r"|wandb.{0,60}(?:failed to start|CommError: Run initialization)",
        "wandb's process beside the run, or its server, did not answer in time",
        "a busy machine, a home directory that cannot be written, or no network",
        "WANDB_MODE=offline (or disabled; report_to='none') goes on without; WANDB__SERVICE_WAIT=300, WANDB_DIR on a local disk",
        package="wandb",
    ),
    StatedMessage(
        r"api_key not configured \(no-tty\)",
        "wandb is to log the run and has no key here, and there is no terminal to ask for one",
        "",
        "wandb login, or WANDB_API_KEY in the environment of the run; WANDB_MODE=offline (disabled) or report_to='none' goes on without",
        given=True,
        package="wandb",
    ),
    StatedMessage(
        r"Param value.{0,200}exceeded (?:the )?(?:max(?:imum)? )?length(?: limit)? of (?P<most>\d{2,5})",
        "mlflow takes settings of up to {most} letters, and the Trainer logs a longer one",
        "",
        "MLFLOW_FLATTEN_PARAMS=1, a later mlflow (it takes longer ones), or report_to without mlflow",
        given=True,
        package="mlflow",
    ),
    StatedMessage(
        r"Missing (?:\d{1,5} )?parameters:\s{1,3}(?P<what>[\w.]{3,120}\.(?:weight|bias|scales|biases|lora_[abAB]))\b"
        r"|Received (?P<many>\d{1,5}) parameters not in model",
        "A file of weights is not of the model that loads it: {what}{many}",
        "an adapter's file that was never trained, or was made for other layers or another rank; in mlx load_weights is strict",
        "the file that the training wrote, with the same layers and rank; load_weights(FILE, strict=False) for an adapter alone",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"The following `?(?:layers|weights|parameters)`? .{0,60}not (?:been )?(?:initialized|sharded)|Some weights of "
        r"(?P<name>\w{3,80}) were not "
        r"initialized from the model checkpoint",
        "Weights that the model has are not in the checkpoint and were drawn by chance: {name}",
        "a head that is to be trained has none yet; where it should have, the class or the names are of another model or release",
        "fine before a training of that head; else the class that stands under architectures in config.json, and the transformers of "
        "its day",
        sure=False,
        package="transformers",
    ),
    StatedMessage(
        r"(?P<kind>GaussNoise|CoarseDropout|[A-Z]\w{3,40}Transform)\b.{0,80}Input should be a valid (?P<type>\w{3,20})",
        "albumentations checks the arguments of {kind} and refuses one: a {type} is wanted",
        "its 2.0 takes other forms and names than 1.4 did",
        "pip install 'albumentations<2', or the form that its page names",
        package="albumentations",
    ),
    StatedMessage(
        r"\[type=(?P<type>\w{3,40}), input_value=(?P<value>.{1,80}?), input_type=(?P<kind>\w{1,40})\]",
        "pydantic refuses a value: {value} ({kind}) where another type is wanted ({type})",
        "the line above it names the field and the type; a class that checks its arguments since a later release takes no more what it "
        "took before",
        "a value of that type; or the release of the class's package that the code was written for",
        sure=False,
    ),
    # https://github.com/Biohub/esm/issues/25; torch/utils/_contextlib.py takes it since 2.1
    StatedMessage(
        r"(?P<name>no_grad|inference_mode|enable_grad)\.__init__\(\) takes 1 positional argument but 2 were given",
        "torch.{name} stands over a function without its brackets, which this torch does not take",
        "later releases of torch take @torch.{name} as well as @torch.{name}()",
        "@torch.{name}() in that line, or pip install 'torch>=2.1'",
        package="torch",
    ),
    StatedMessage(
        r"clip_grad_norm_\(\) got an unexpected keyword argument 'error_if_nonfinite'",
        "clip_grad_norm_ takes error_if_nonfinite since torch 1.9, and this one is older",
        "",
        "pip install 'torch>=1.9'; or leave the argument out",
        package="torch",
    ),
    StatedMessage(
        r"Keys? '(?P<first>[\w.]{3,150}\.(?:weight|bias|gamma|beta|running_mean|running_var))\b[^']{0,4000}'? (?:is|are) missing",
        "The file of weights lacks what the model has, {first} among it",
        "a download that broke off, another model's file, or code of another state than the file",
        "its size against that of its source, and fetch it again; then the state of the code that wrote it",
        sure=False,
    ),
    # https://github.com/2U1/Qwen-VL-Series-Finetune/issues/206
    StatedMessage(
        r"Liger(?: kernel)? is not supported for (?P<name>\S{2,40})",
        "The training code has no Liger kernels for {name}",
        "",
        "use_liger False (use_liger_kernel=False), or a later state of that code and of liger-kernel",
        given=True,
    ),
    StatedMessage(
        r"process_vision_info\(\) got an unexpected keyword argument '(?P<name>\w{2,40})'",
        "The qwen-vl-utils that is there does not take {name} in process_vision_info, which the code gives it",
        "it came with a later release of that package",
        "pip install -U qwen-vl-utils",
        package="qwen-vl-utils",
    ),
    StatedMessage(
        r"last epoch number of samples exceeded max value",
        "Megatron's count of samples and its index of the data do not go together",
        "index files (*.npy) beside the data that were made for other settings, or a split that is smaller than one batch of the run",
        "remove the *_indexmap*.npy files and let them be made anew; a larger split (--split), fewer iterations or a shorter seq-length",
        given=True,
        sure=False,
    ),
    StatedMessage(
        r"Expected reduction dim to be specified for input\.numel\(\) == 0|cannot (?:perform|compute) reduction .{0,60}on (?:a )?tensor "
        r"with no elements"
        r"|(?:max|min|argmax|argmin|median)\(\):? .{0,60}(?:numel\(\) == 0|no elements)",
        "The largest or smallest number of an empty tensor is asked for",
        "a mask, a selection or a batch in which nothing is left",
        "print the shapes before that line; pass over what is empty (if x.numel() > 0)",
    ),
    StatedMessage(
        r"assert (?:\w{1,12}\.)?[hH] ?\* ?(?:\w{1,12}\.)?[wW] ?== ?(?:\w{1,12}\.)?[NLnl]\b",
        "The code takes an image's patches for a grid of height times width, and their number is another",
        "an image or a latent of another size or shape than the code was written for, or tokens of a text among them",
        "print height, width and the number before that line; images of the size that the project's page names",
        given=True,
    ),
    StatedMessage(
        r"^\W{0,3}assert (?!.{0,60}(?:(?:isinstance|hasattr|type)\(|\b[A-Z][a-z]\w*\.))(?P<what>[^,]{3,120}?)(?:,.{0,200})?$",
        "The code checks that {what}, and it does not hold",
        "",
        "print both sides of it before that line: a size, a count or the content of a file is another than the code was written for",
        given=True,
    ),
    StatedMessage(
        r"(?P<file>[\w.+-]{2,60}\.(?:cu|cuh|cc|cpp|h|hpp|c)):(?P<line>\d{1,6}): [^\n]{0,300}?Assertion "
        r"[`'\"](?P<what>[^`'\"]{2,160})['\"] failed",
        "Compiled code checks that {what} ({file}:{line}), does not find it so, and ends the process",
        "",
        "what it was given last is what it checks: sizes, types, an empty batch, a device; the project that the file belongs to, in the "
        "release "
        "for this torch and GPU",
    ),
)
