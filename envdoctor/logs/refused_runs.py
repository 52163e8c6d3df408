"""What an error says of the run and not of releases: a server that refuses, a configuration that is not understood, tensors that differ.

Who raised it is told from the frames; what to do stands in the message.
"""

from __future__ import annotations

import re

from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.volume import DamagedAtlasError
from envdoctor.checks.hit import Hit
from envdoctor.logs.absent_files import HUB, judge_not_there
from envdoctor.logs.callables_named import classes_called
from envdoctor.logs.stated_values import judge_stated
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import AS_SAVED, named
from envdoctor.world.import_names import package_of

__all__ = ["CONFIG", "HUB", "TENSORS", "judge_run"]

CONFIG, TENSORS = "error-configuration-refused", "error-tensors-disagree"

_MODEL = r"[\w.-]{1,96}/[\w.-]{1,96}"
# The hub, and the mirror that most people in China set as HF_ENDPOINT.
_HOST = r"(?:huggingface\.co|hf-mirror\.com)"
_HUB = re.compile(r"huggingface\.co|hf-mirror\.com|gated repo|GatedRepo|RepositoryNotFound|LocalEntryNotFound|OfflineMode", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?:Access to (?:model|dataset) |https://{_HOST}/(?:api/)?(?:models/|datasets/)?)(?P<name>{_MODEL}?)(?= is |/|\.?\s|\.?$)"
)
_GATED = re.compile(r"gated repo|GatedRepoError|is restricted and you are not|Access to (?:model|dataset) \S+ is restricted", re.IGNORECASE)
_STATUS = re.compile(r"\b(?P<status>401|403|404|429|5\d\d) (?:Client|Server) Error")
_OFFLINE = re.compile(
    r"We couldn'?t connect to .{0,4}https://huggingface\.co|Connection error, and we cannot find the requested files"
    r"|cannot find the requested files in the (?:local|disk) cache|OfflineModeIsEnabled|LocalEntryNotFoundError"
    r"|outgoing traffic has been disabled"
    r"|Max retries exceeded with url|Failed to resolve 'huggingface\.co'|Cannot connect to proxy|Connection to huggingface\.co timed out"
)
_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError|certificate verify failed")
# Kohya's and diffusers' adapters call the two parts down and up.
_RANK = re.compile(r"(?:^|[._])lora_(?:A|B|embedding_A|embedding_B)\.|lora\w{0,10}[._](?P<part>down|up)\.weight")
_VALIDATION = re.compile(r"(?P<count>\d{1,4}) validation errors? for (?P<cls>\w{1,80})")
_FIELD = re.compile(
    r"(?:^| )(?P<field>[a-z_][\w.]{1,80}) (?P<says>Extra inputs are not permitted|Field required|Input should be [^\[]{1,120})"
)
# What a validator of the class raised itself: pydantic hands its sentence on.
_OF_VALIDATOR = re.compile(r"\b(?:Value error|Assertion failed), (?P<says>[^\n]{10,600}?)(?= \[type=|$)")
_UNKNOWN_KEY = re.compile(r"Key '(?P<key>[\w.]{1,80})' (?:is )?not in (?:struct|'[\w.]{1,80}')")
_DTYPES = re.compile(
    r"mat1 and mat2 (?:must|to) have the same dtype,? but got:? (?P<a>[\w:.]{2,40})(?: and | != )(?P<b>[\w:.]{2,40})"
    r"|expected scalar type (?P<c>\w{2,20}) but found (?P<d>\w{2,20})"
    r"|Input type \((?P<e>[\w:.]{2,40})\) and (?:bias|weight) type \((?P<f>[\w:.]{2,40})\) should be the same",
    re.IGNORECASE,
)
_DEVICES = re.compile(
    r"Expected all tensors to be on the same device, but (?:found at least two devices, |got \w+ is on )(?P<a>\w{2,10}(?::\d{1,3})?)"
    r"(?: and |, different from other tensors on )(?P<b>\w{2,10}(?::\d{1,3})?)"
)
_SIZES = re.compile(
    r"size mismatch for (?P<name>[\w.]{1,300}): copying a param with shape torch\.Size\(\[(?P<a>[\d, ]{0,60})\]\) from (?:the )?checkpoint,"
    r" the shape in (?:the )?current model is torch\.Size\(\[(?P<b>[\d, ]{0,60})\]\)"
)
# The same where somebody cut the line behind the first shape.
_CUT_SIZES = re.compile(
    r"size mismatch for (?P<name>[\w.]{1,300}): copying a param with shape torch\.Size\(\[(?P<a>[\d, ]{1,60})\]\)(?! from checkpoint)"
)
_LENGTHS = re.compile(
    r"The size of tensor a \((?P<a>\d{1,12})\) must match the size of tensor b \((?P<b>\d{1,12})\) at non-singleton dimension"
)
# How wide the layers are that take a text there: the blocks of a UNet, and the one width of a transformer.
_TAKERS = frozenset(("320", "640", "1280", "1536", "2432", "3072"))
_PRODUCT = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d{1,12}x(?P<wide>\d{1,6}) and (?P<takes>\d{1,6})x(?P<out>\d{1,6})\)")
# Layers of models are no narrower; of smaller numbers alone nobody can tell what they are of.
_WIDTH = 64
# The width of a text for the layers of a diffusion model (cross_attention_dim of their unet/config.json) and for those of Flux and SD 3.
_TEXTS = {"768": "Stable Diffusion 1", "1024": "Stable Diffusion 2", "2048": "SDXL", "4096": "a T5 encoder (Flux, SD 3)"}
# InternLM2 calls them tok_embeddings and output; LoRA's B on the last layer is as long as the vocabulary.
_VOCABULARY = re.compile(
    r"(?:(?:embed_tokens|tok_embeddings|lm_head|wte|word_embeddings|shared|embed_out|embed_in|model\.output)"
    r"(?:\.base_layer|\.modules_to_save\.default)?|(?:lm_head|embed_out|model\.output)\.lora_B\.\w{1,40})\.weight$"
)
# The layer on top, as classes of transformers for classification and tokens call it.
_HEAD = re.compile(r"(?:^|\.)(?:classifier|score|classification_head|qa_outputs)(?:\.\w+){0,3}\.(?:weight|bias)$")
# Fewer rows more are tokens that somebody added.
_PADDED = 64
# Adding tokens makes no table so many times as long.
_ANOTHER_VOCABULARY = 2
# Rules that tell of the same shapes what they come from.
_SAID_BETTER = ("snapshot-adapter-empty", "snapshot-adapter-other-base")
# Between the model and the operation: whoever passes through here did not choose what the tensors are.
_PASSING = frozenset(("torch", "accelerate", "peft", "torch._dynamo"))


def judge_run(failure: Failure) -> Hit | None:
    """What a failure says of the run."""
    told = failure.told
    return (_hub(told) if _HUB.search(told) else None) or judge_not_there(told) or _configuration(failure) or _tensors(failure)


def _hub(told: str) -> Hit | None:
    status = _STATUS.search(told)
    code = status["status"] if status is not None else ""
    named = _NAMED.search(told)
    name = named["name"] if named is not None else "what was asked for"
    if _GATED.search(told):
        what, behind = f"{name} is gated", "where access was granted, it is another account's token that is sent"
        advice = "ask for access on its page with the account that the token is of, then hf auth login (or HF_TOKEN)"
    elif code in ("401", "403"):
        what, behind = f"The hub refuses {name} to this token ({code})", ""
        advice = "accept the terms on its page where it has some, then hf auth login (or HF_TOKEN) with that account"
        if code == "401" and "not found" in told.lower():
            behind = "or there is none of that name: it says the same of both to who is not logged in"
    elif code == "404":
        what, behind = f"The hub has no {name} (404)", "its name, its revision or the file's name is another one, or it is private"
        advice = "the name as its page has it; for a private one hf auth login"
    elif code == "429":
        what, behind = "The hub answers too many requests (429)", ""
        advice = "send a token (HF_TOKEN), ask fewer files at once (hf download --max-workers 2), or go on with the cache later"
    elif code:
        what, behind = f"The hub failed ({code})", ""
        advice = "the same again later, or from the cache with HF_HUB_OFFLINE=1"
    elif _CERTIFICATE.search(told):
        what = "The connection to the hub has a certificate that this Python does not trust"
        behind = "a proxy or a virus scanner stands between and signs with its own certificate, or the machine's certificates are old"
        advice = (
            "SSL_CERT_FILE and REQUESTS_CA_BUNDLE with the file of that proxy's certificate, or pip install --upgrade certifi; "
            "else hf download "
            "elsewhere, copy the cache and set HF_HUB_OFFLINE=1"
        )
    elif _OFFLINE.search(told):
        what, behind = "The hub was not reached, and the cache lacks the files", ""
        advice = "hf download where there is a network, then HF_HUB_OFFLINE=1; or a proxy (HTTPS_PROXY) or a mirror (HF_ENDPOINT)"
    else:
        return None
    edge = f"hub:{code or 'unreached'}:{name}"[:120]
    return Hit(HUB, True, detail=behind, packages=("huggingface-hub",), edge=edge, headline=what, advice=advice)


def _configuration(failure: Failure) -> Hit | None:
    found = _VALIDATION.search(failure.told)
    if found is not None:
        fields = [f"{one['field']}: {one['says'].strip()}" for one in _FIELD.finditer(failure.told)][:4]
        what, behind = f"{found['cls']} does not take the configuration as it is", "; ".join(fields)
        advice = "correct, move or remove these keys" if fields else "correct, move or remove the keys that the message names"
        if not fields and (own := _OF_VALIDATOR.search(failure.told)) is not None:
            if (known := judge_stated(Failure("", own["says"], failure.line))) is not None:
                return known
            what, behind = f"{found['cls']} refuses what it was given: {own['says'][:160]}", "its own check says so; no key is misspelt"
            advice = "what the sentence names; the lines above the traceback may say more"
    elif (key := _UNKNOWN_KEY.search(failure.told)) is not None:
        what, behind = f"The configuration has no key {key['key']}", "its release calls it otherwise, or it was mistyped"
        advice = "the key as the configuration of the installed release has it"
    else:
        return None
    caller = next((package_of(frame.package) for frame in reversed(failure.frames) if frame.package not in ("", "pydantic")), "")
    owner = _owner_of_class(found["cls"], failure) if found is not None else ""
    edge = f"{owner or caller or 'code'}:configuration"
    return Hit(CONFIG, True, detail=behind, packages=named(owner, caller), edge=edge, headline=what, advice=advice)


def _owner_of_class(name: str, failure: Failure) -> str:
    """The one package that has the class whose fields were refused; empty where none has it, or several."""
    try:
        owners = {one.volume.name for cls in classes_called(name, failure, passed=True) if (one := owner_of(cls)) is not None}
    except DamagedAtlasError:
        return ""
    return owners.pop() if len(owners) == 1 else ""


def _tensors(failure: Failure) -> Hit | None:
    at = next((frame for frame in reversed(failure.frames) if frame.package and frame.package not in _PASSING), None)
    sizes = _SIZES.search(failure.message)
    if sizes is not None and sizes["a"].strip() == "0" and "lora_" not in sizes["name"]:
        return Hit("snapshot-tensor-empty", True, detail=f"{sizes['name']} has no elements in the checkpoint, [{sizes['b']}] in the model")
    found = _disagreement(failure.message)
    product = _PRODUCT.search(failure.message)
    if found is None and product is not None and (at is not None or min(int(product["wide"]), int(product["takes"])) >= _WIDTH):
        found = _widths(product)
    if found is None and at is not None and (lengths := _LENGTHS.search(failure.message)) is not None:
        behind = "the caller and the called are of different releases, or the inputs are of another length"
        found = (
            f"Two shapes do not fit: {', '.join(_pair(lengths))}",
            behind,
            "compare what is passed with what the installed release takes",
        )
    if found is None:
        return None
    what, behind, advice = found
    where = f"in {at.module or at.package}{f', {at.function}' if at.function else ''}" if at is not None else ""
    owner = package_of(at.package) if at is not None else ""
    if at is not None and at.package == "transformers_modules" and _LENGTHS.search(failure.message):
        # https://github.com/InternLM/InternLM-XComposer/issues/258 and /143: 4.33.2 ran it, what came with 4.36 did not.
        behind, advice = "in the code that comes with the model, which counts as the transformers of its day did", AS_SAVED
        edge = "model-code:tensors"
        return Hit(TENSORS, None, detail=f"{behind}; {where}", packages=("transformers",), edge=edge, headline=what, advice=advice)
    told, edge = "; ".join(filter(None, (behind, where))), f"{owner or 'code'}:tensors"
    packages = (owner,) if owner else ()
    # Where the ranks alone differ, the base is the right one: https://github.com/huggingface/peft/issues/276
    ranked = sizes is not None and _RANK.search(sizes["name"]) is not None and _ranks(sizes) is not None
    unless, over = ((), _SAID_BETTER[1:]) if ranked else (_SAID_BETTER, ())
    return Hit(TENSORS, True, detail=told, packages=packages, edge=edge, headline=what, advice=advice, unless=unless, over=over)


def _widths(product: re.Match[str]) -> tuple[str, str, str] | None:
    """What goes into a layer is of another width than it takes; None where one side is a packed weight, or they agree."""
    wide, takes = product["wide"], product["takes"]
    if wide == takes or "1" in (takes, product["out"]) or wide == "1":
        return None
    of = {_TEXTS[width] for width in (wide, takes) if width in _TEXTS}
    near = len(of) == 2 and product["out"] in _TAKERS
    texts = near and f"{wide} is the width of a text for {_TEXTS[wide]}, {takes} that for {_TEXTS[takes]}"
    times = int(wide) // int(takes) if int(wide) % int(takes) == 0 else 0
    behind = texts or (
        f"what goes in is {times} times as wide: as many were joined side by side in place of one, or it was made by another model"
        if times
        else "what goes in was made by another model (a text encoder, a VAE, an adapter, features that were cached for one), or is cut or "
        "joined otherwise than this layer takes it"
    )
    advice = (
        f"print the shapes where {wide} is made: the text encoder, VAE, adapter (LoRA, ControlNet) and cached features have to be of this "
        "very model; where they are, the code that joins them is of another release than the model's: take both of one"
    )
    return f"What goes into a layer is {wide} wide, and the layer takes {takes}", behind, advice


def _disagreement(message: str) -> tuple[str, str, str] | None:
    """What differs, what is behind it where that is not plain, and what to do."""
    if (found := _DTYPES.search(message)) is not None:
        return _types(*_pair(found))
    if (found := _DEVICES.search(message)) is not None:
        return _devices(found["a"], found["b"])
    if (found := _SIZES.search(message)) is not None:
        a, b = found["a"].split(",")[0].strip(), found["b"].split(",")[0].strip()
        if _VOCABULARY.search(found["name"]) and a != b:
            what = f"{found['name']} has {a} rows in the checkpoint and {b} in the model"
            return what, *_rows(a, b)
        what = f"{found['name']} is [{found['a']}] in the checkpoint and [{found['b']}] in the model"
        if found["a"].count(",") == 1 and a != b and found["a"].split(", ") == found["b"].split(", ")[::-1]:
            advice = "the release that the checkpoint was saved with; or x.T where it is loaded"
            return what, "the one is the other with its axes exchanged: a release keeps this table the other way round", advice
        if (part := _RANK.search(found["name"])) and (ranks := _ranks(found)):
            where = f"rank={ranks[0]} where the adapter's layers are made" if part["part"] else f"r={ranks[0]} in LoraConfig"
            return what, f"the adapter has rank {ranks[0]}, and the model was given one of rank {ranks[1]}", where
        if _HEAD.search(found["name"]) and a != b:
            advice = f"num_labels={a} where it is loaded; or ignore_mismatched_sizes=True, which begins a new head for {b}"
            return what, f"the checkpoint's head is for {a} labels, and the model was made for {b}", advice
        return what, "another model, or another configuration", "the base model and the configuration that the checkpoint was made with"
    if (found := _CUT_SIZES.search(message)) is not None:
        rows = found["a"].split(",")[0].strip()
        if _VOCABULARY.search(found["name"]):
            advice = f"load the tokenizer that was saved with it, and model.resize_token_embeddings({rows}) before the weights are loaded"
            what = f"{found['name']} has {rows} rows in the checkpoint and another number in the model"
            return what, "tokens were added when it was saved, or it is of another model", advice
    return None


def _rows(saved: str, made: str) -> tuple[str, str]:
    """What is behind a table of words that has other rows in the checkpoint than in the model: who has more of them added tokens."""
    rows = sorted((int(saved), int(made))) if saved.isdigit() and made.isdigit() else None
    if rows is not None and rows[1] >= _ANOTHER_VOCABULARY * rows[0]:
        # https://github.com/huggingface/transformers/issues/35084
        behind = (
            "one of the two is of another vocabulary altogether: another model, or a tokenizer that was made anew (letters, a language)"
        )
        return behind, (
            "the checkpoint, the configuration and the tokenizer of one model; where the vocabulary was changed on purpose, "
            "ignore_mismatched_sizes=True, which begins this table anew"
        )
    resized = f"model.resize_token_embeddings({saved}) before the weights are loaded"
    if rows is not None and int(saved) < int(made):
        behind = (
            "the model has tokens that the checkpoint does not: it is of another model or another state (the base in place of what was "
            "trained of it), or the code, or another transformers, adds tokens or counts them otherwise than when it was saved"
        )
        return behind, (
            "the checkpoint that belongs to this configuration and this tokenizer; where it is that one, the release of transformers and "
            f"the tokenizer that it was made with, or {resized}"
        )
    if rows is None or rows[1] - rows[0] < _PADDED:
        return "tokens were added when it was saved, or it is of another model", f"load the tokenizer that was saved with it, and {resized}"
    # https://github.com/Aleph-Alpha-Research/magma/issues/31
    behind = (
        "tokens were added when it was saved, it is of another model, or the code that makes the model counts its rows otherwise (another "
        "transformers, a fork of it)"
    )
    return behind, f"load the tokenizer that was saved with it, and {resized}; or the transformers that the project names or brings"


def _types(a: str, b: str) -> tuple[str, str, str]:
    """Two types of numbers; torch.cuda.HalfTensor beside torch.HalfTensor are two devices and one type."""
    what = f"One side of the operation is {a}, the other {b}"
    if a != b and a.replace("torch.cuda.", "torch.") == b.replace("torch.cuda.", "torch."):
        left = "the weights are on the CPU" if b.startswith("torch.") and ".cuda." not in b else "the inputs are on the CPU"
        advice = "model.to(device) after the model (or the pipeline) is made, and inputs.to(device) with the same device"
        return what, f"the type is the same and the device is not: {left}, the others on the GPU", advice
    advice = "cast the inputs to the dtype of the weights, load all weights in one dtype, or run the step under autocast"
    return what, "", advice


def _devices(a: str, b: str) -> tuple[str, str, str]:
    """Two devices. Of two GPUs mostly the run was meant for one and saw them all: https://github.com/modelscope/facechain/issues/43,
    https://github.com/WeihaoTan/TWOSOME/issues/5, https://github.com/raoyongming/DynamicViT/issues/44."""
    what = f"One tensor is on {a}, another on {b}"
    if a.startswith("cuda") and b.startswith("cuda"):
        behind = "the run saw several GPUs, and the model or what it works on was spread over them"
        advice = (
            "CUDA_VISIBLE_DEVICES=0 before the command, where one GPU is enough (another number picks another card, which the run then "
            "calls cuda:0); else inputs.to(model.device), and where device_map spread the model, one process and no second copy of it "
            "(no DataParallel, no Trainer with several processes)"
        )
        return what, behind, advice
    advice = (
        "inputs.to(model.device); where device_map spread the model, one process and no second copy of it (no DataParallel, "
        "no Trainer with several processes)"
    )
    return what, "", advice


def _ranks(found: re.Match[str]) -> tuple[str, str] | None:
    """The rank of the adapter that was saved and that of the model's, where nothing else differs."""
    saved, here = ([one.strip() for one in found[side].split(",")] for side in ("a", "b"))
    differ = [(one, other) for one, other in zip(saved, here, strict=False) if one != other]
    of_rank = 0 if re.search(r"lora_A\.|[._]down\.", found["name"]) else 1
    return differ[0] if len(differ) == 1 and len(saved) == len(here) > of_rank and saved[of_rank] != here[of_rank] else None


def _pair(found: re.Match[str]) -> tuple[str, str]:
    first, second = (text for text in found.groups() if text)
    return first, second
