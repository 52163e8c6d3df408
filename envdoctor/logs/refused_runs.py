"""What an error says of the run and not of releases: a server that refuses, a configuration that is not understood, tensors that differ.

Who raised it is told from the frames; what to do stands in the message.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

HUB, CONFIG, TENSORS = "error-hub-refuses", "error-configuration-refused", "error-tensors-disagree"

_MODEL = r"[\w.-]{1,96}/[\w.-]{1,96}"
_HUB = re.compile(r"huggingface\.co|gated repo|GatedRepo|RepositoryNotFound|LocalEntryNotFound|OfflineMode", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?:Access to (?:model|dataset) |https://huggingface\.co/(?:api/)?(?:models/|datasets/)?)(?P<name>{_MODEL}?)(?= is |/|\.?\s|\.?$)"
)
_GATED = re.compile(r"gated repo|GatedRepoError|is restricted and you are not|Access to (?:model|dataset) \S+ is restricted", re.IGNORECASE)
_STATUS = re.compile(r"\b(?P<status>401|403|404|429|5\d\d) (?:Client|Server) Error")
_OFFLINE = re.compile(
    r"We couldn'?t connect to .{0,4}https://huggingface\.co|Connection error, and we cannot find the requested files"
    r"|cannot find the requested files in the (?:local|disk) cache|OfflineModeIsEnabled|LocalEntryNotFoundError"
    r"|outgoing traffic has been disabled"
    r"|Max retries exceeded with url|Failed to resolve 'huggingface\.co'|Cannot connect to proxy|Connection to huggingface\.co timed out"
)
_NOT_THERE = re.compile(
    r"(?P<name>\S{1,200}) is not a local folder and is not a valid model identifier|"
    r"Can't load (?:tokenizer|the configuration|the model|feature extractor|image processor|processor) (?:of|for) "
    r"'(?P<what>[^']{1,200})'"
    r"|Can't find '(?P<lacks>adapter_config\.json)' at '(?P<at>[^']{1,200})'"
    r"|(?P<folder>\S{1,200}) does not appear to have (?:a|any) files? named (?P<file>\S{1,100})"
)
_VALIDATION = re.compile(r"(?P<count>\d{1,4}) validation errors? for (?P<cls>\w{1,80})")
_FIELD = re.compile(
    r"(?:^| )(?P<field>[a-z_][\w.]{1,80}) (?P<says>Extra inputs are not permitted|Field required|Input should be [^\[]{1,120})"
)
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
    r"size mismatch for (?P<name>[\w.]{1,300}): copying a param with shape torch\.Size\(\[(?P<a>[\d, ]{0,60})\]\) from checkpoint,"
    r" the shape in current model is torch\.Size\(\[(?P<b>[\d, ]{0,60})\]\)"
)
_LENGTHS = re.compile(
    r"The size of tensor a \((?P<a>\d{1,12})\) must match the size of tensor b \((?P<b>\d{1,12})\) at non-singleton dimension"
    r"|mat1 and mat2 shapes cannot be multiplied \((?P<c>\d{1,12}x\d{1,12}) and (?P<d>\d{1,12}x\d{1,12})\)"
)
_VOCABULARY = re.compile(r"(?:embed_tokens|lm_head|wte|word_embeddings|shared|embed_out|embed_in)(?:\.base_layer)?\.weight$")
# Between the model and the operation: whoever passes through here did not choose what the tensors are.
_PASSING = frozenset(("torch", "accelerate", "peft", "torch._dynamo"))


def judge_run(failure: Failure) -> Hit | None:
    """What a failure says of the run."""
    told = failure.told
    return (_hub(told) if _HUB.search(told) else None) or _not_there(told) or _configuration(failure) or _tensors(failure)


def _hub(told: str) -> Hit | None:
    status = _STATUS.search(told)
    code = status["status"] if status is not None else ""
    named = _NAMED.search(told)
    name = named["name"] if named is not None else "what was asked for"
    if _GATED.search(told):
        detail = (
            f"{name} is gated: ask for access on its page with the account that the token is of, and log in (hf auth login, or HF_TOKEN); "
            "where access was granted, it is another account's token that is sent"
        )
    elif code in ("401", "403"):
        detail = f"the hub refuses {name} to this token ({code}): log in (hf auth login, or HF_TOKEN) with an account that may read it"
    elif code == "404":
        detail = f"the hub has no {name} (404): its name, its revision or the file's name is another one, or it is private"
    elif code == "429":
        detail = (
            "the hub answers too many requests (429): send a token, ask fewer files at once (max_workers), or go on with the cache later"
        )
    elif code:
        detail = f"the hub failed ({code}): the same again later, or from the cache with HF_HUB_OFFLINE=1"
    elif _OFFLINE.search(told):
        detail = (
            "the hub was not reached, and the cache lacks the files: fetch them where there is a network (hf download), or set the proxy "
            "(HTTPS_PROXY) or a mirror (HF_ENDPOINT)"
        )
    else:
        return None
    return Hit(HUB, True, (), detail=detail, packages=("huggingface-hub",), edge=f"hub:{code or 'unreached'}:{name}"[:120])


def _not_there(told: str) -> Hit | None:
    found = _NOT_THERE.search(told)
    if found is None:
        return None
    name = (found["name"] or found["what"] or found["folder"] or found["at"]).strip("'\"`")
    file = (found["file"] or found["lacks"] or "").rstrip(".,")
    if file:
        detail = (
            f"{name} has no {file}: fetched or saved in part, another kind of repository (an adapter, a GGUF, "
            "another framework), or another revision"
        )
    else:
        detail = (
            f"{name} is no folder here with the files that are asked for, and no model on the hub that this token sees: its name, the "
            "directory that the run was started in, a folder of that name in the way, or a private or gated repository without a token"
        )
    return Hit(HUB, True, (), detail=detail, packages=("huggingface-hub",), edge=f"hub:absent:{name}"[:120])


def _configuration(failure: Failure) -> Hit | None:
    found = _VALIDATION.search(failure.told)
    if found is not None:
        fields = [f"{one['field']}: {one['says'].strip()}" for one in _FIELD.finditer(failure.told)][:4]
        what = f" ({'; '.join(fields)})" if fields else ""
        detail = f"{found['cls']} does not take the configuration as it is{what}: correct, move or remove these keys"
    elif (key := _UNKNOWN_KEY.search(failure.told)) is not None:
        detail = f"the configuration has no key {key['key']}: its release calls it otherwise, or it was mistyped"
    else:
        return None
    owner = next((package_of(frame.package) for frame in reversed(failure.frames) if frame.package not in ("", "pydantic")), "")
    return Hit(CONFIG, True, (), detail=detail, packages=(owner,) if owner else (), edge=f"{owner or 'code'}:configuration")


def _tensors(failure: Failure) -> Hit | None:
    detail = _disagreement(failure.message)
    at = next((frame for frame in reversed(failure.frames) if frame.package and frame.package not in _PASSING), None)
    if not detail and at is not None and (found := _LENGTHS.search(failure.message)) is not None:
        a, b = _pair(found)
        detail = (
            f"two shapes do not fit ({a}, {b}): the caller and the called are of different releases, or the inputs are of another length"
        )
    if not detail:
        return None
    where = f"; in {at.module or at.package}{f', {at.function}' if at.function else ''}" if at is not None else ""
    owner = package_of(at.package) if at is not None else ""
    return Hit(TENSORS, True, (), detail=detail + where, packages=(owner,) if owner else (), edge=f"{owner or 'code'}:tensors")


def _disagreement(message: str) -> str:
    if (found := _DTYPES.search(message)) is not None:
        a, b = _pair(found)
        return (
            f"one side of the operation is {a}, the other {b}: cast the inputs to the dtype of the weights, load all weights in one dtype, "
            "or run the step under autocast"
        )
    if (found := _DEVICES.search(message)) is not None:
        return (
            f"one tensor is on {found['a']}, another on {found['b']}: move the inputs to the model's device; where device_map spread the "
            "model, make no second copy of it (no Trainer with several processes, no DataParallel)"
        )
    if (found := _SIZES.search(message)) is not None:
        a, b = found["a"].split(",")[0].strip(), found["b"].split(",")[0].strip()
        if _VOCABULARY.search(found["name"]) and a != b:
            return (
                f"{found['name']} has {a} rows in the checkpoint and {b} in the model: tokens were added when it was saved, or it is of "
                f"another model; for the first load its own tokenizer and call resize_token_embeddings({a}) before the weights are loaded"
            )
        return (
            f"{found['name']} is [{found['a']}] in the checkpoint and [{found['b']}] in the model: another model, or another configuration"
        )
    return ""


def _pair(found: re.Match[str]) -> tuple[str, str]:
    first, second = (text for text in found.groups() if text)
    return first, second
