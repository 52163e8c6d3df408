"""What a model was to be loaded from and is not there: a folder, a name on the hub, or some of their files."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit

HUB = "error-hub-refuses"

_NOT_THERE = re.compile(
    r"(?P<name>\S{1,200}) is not a local folder and is not a valid model identifier|"
    r"Can't load (?P<kind>tokenizer|the configuration|the model|feature extractor|image processor|processor) (?:of|for) "
    r"'(?P<what>[^']{1,200})'"
    r"|Can't find '(?P<lacks>adapter_config\.json)' at '(?P<at>[^']{1,200})'"
    r"|(?P<folder>\S{1,200}) does not appear to have (?:a|any) files? named (?P<file>\S{1,100})"
)
# What is no name on the hub was meant as a folder: huggingface_hub/utils/_validators.py, transformers/utils/hub.py.
_NO_NAME = re.compile(
    r"Repo id must (?:be in the form|use alphanumeric|be a string|have the form)[^\n]{0,200}?: ?'(?P<id>[^']{0,300})'(?=\.|$| Use)"
    r"|Incorrect path_or_model_id: '(?P<path>[^']{1,300})'"
)
# Models whose names are right wherever they stand: who cannot load them did not reach the hub, or has a folder of that name.
_PUBLIC = re.compile(
    r"bert-(?:base|large)(?:-chinese|-multilingual)?(?:-(?:un)?cased)?|(?:distil)?gpt2(?:-medium|-large|-xl)?|distil(?:ro)?bert(?:a)?-base"
    r"(?:-(?:un)?cased)?|(?:xlm-)?roberta-(?:base|large)|t5-(?:small|base|large|3b|11b)|albert-(?:base|large|xlarge|xxlarge)-v[12]|"
    r"openai/clip-vit-(?:base|large)-patch(?:14|16|32)(?:-336)?|google-bert/bert-base-uncased|openai-community/gpt2"
)


def judge_not_there(told: str) -> Hit | None:
    """What a message of transformers, peft or the hub says that it did not find."""
    if (taken := _NO_NAME.search(told)) is not None:
        return _taken_for_a_name(taken["id"] or taken["path"] or "")
    found = _NOT_THERE.search(told)
    if found is None:
        return None
    name = (found["name"] or found["what"] or found["folder"] or found["at"]).strip("'\"`")
    file = (found["file"] or found["lacks"] or "").rstrip(".,")
    # A path of more parts than a model's name has, or one that begins as a path, is a folder of this machine.
    of_disk = name.startswith((".", "/", "~", "\\")) or name.count("/") > 1 or re.match(r"[A-Za-z]:[\\/]|checkpoint-\d", name) is not None
    if file:
        what = f"{name} has no {file}"
        behind = "fetched or saved in part, another kind of repository (an adapter, a GGUF, another framework), or another revision"
        if of_disk:
            advice = f"name the folder in which {file} lies, a checkpoint-N below it among them; else save or fetch it again, whole"
        else:
            advice = (
                f"load what it is: an adapter by peft, a GGUF with gguf_file=; else hf download {name} again, and the revision that has it"
            )
    elif found["kind"]:
        what, behind, advice = _of_kind(name, found["kind"].removeprefix("the "), of_disk=of_disk)
    else:
        what = f"{name} is no folder here with the files that are asked for, and no model on the hub that this token sees"
        behind = "its name, the directory that the run was started in, a folder of that name in the way, or a private or gated repository"
        advice = (
            "the whole path of the folder" if of_disk else "the name as its page has it, or the whole path; hf auth login for a private one"
        )
    edge = f"hub:absent:{name}"[:120]
    # The sentence about an adapter is peft's own, whatever the hub answered.
    packages = ("peft", "huggingface-hub") if found["lacks"] else ("huggingface-hub",)
    return Hit(HUB, True, detail=behind, packages=packages, edge=edge, headline=what, advice=advice)


def _of_kind(name: str, kind: str, *, of_disk: bool) -> tuple[str, str, str]:
    """None of the files of a tokenizer, a configuration, a model was found: what is so, what is behind it, what to do.

    https://github.com/jy0205/Pyramid-Flow/issues/42, https://github.com/FreedomIntelligence/GrammarGPT/issues/3,
    https://github.com/AlibabaResearch/AdvancedLiterateMachinery/issues/59, https://github.com/lllyasviel/FramePack/issues/66
    """
    if of_disk:
        what = f"No file of the {kind} was found in {name}"
        behind = "there is no such folder, it was fetched in part, or its files lie in another one"
        advice = f"ls {name}: where it is empty or cut, fetch it again, whole; where it is not there, the path at which it lies"
        if kind == "tokenizer":
            behind += "; a model that was saved alone (save_pretrained, a merge, a checkpoint-N of some trainers) brings none with it"
            advice += (
                "; where only tokenizer_config.json, tokenizer.json, tokenizer.model or the vocabulary is missing, load the tokenizer from "
                "the base model, or tokenizer.save_pretrained(...) into that folder"
            )
        return what, behind, advice
    what = f"No file of the {kind} was found for {name}, neither in a folder of that name here nor on the hub"
    away = "the hub was not reached (no network, a proxy, a blocked host), or a folder of that name stands in the way"
    reach = (
        f"hf download {name} from where the hub is reached (HF_ENDPOINT with a mirror, HTTPS_PROXY), and the folder that it prints in "
        f"place of the name; a folder called {name.rpartition('/')[2]} where the run starts: rename it"
    )
    if kind == "tokenizer" and re.search(r"[-_.]gguf\b", name, re.IGNORECASE):
        # https://github.com/PromtEngineer/localGPT/issues/460
        behind = "its name says that it holds GGUF files, and such a repository mostly has none of the tokenizer's"
        advice = "AutoTokenizer.from_pretrained of the model that it was made of; or gguf_file=FILE with the same name"
        return what, behind, advice
    if _PUBLIC.fullmatch(name):
        return what, f"the name is right: {away}", reach
    behind = f"{away}; else the name is another one, private or gated, its files lie in a subfolder, or this release does not read them"
    advice = f"{reach}; hf auth login for a private or gated one; a later transformers and tokenizers where the files are there"
    return what, behind, advice


def _taken_for_a_name(name: str) -> Hit:
    what = f"{name} is taken for a name on the hub: there is no such folder here"
    behind = "mistyped, a folder of another machine, or the directory that the run was started in"
    if "~" in name:
        behind = "Python does not write out the ~ of a path that a program hands it"
    advice = "the whole path of a folder that is there"
    plain = re.sub(r"[\\/]+", "/", name).strip("/")
    if plain != name and re.fullmatch(r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)*/[\w-]+(?:\.[\w-]+)*", plain):
        # https://github.com/QwenLM/Qwen3-TTS/commit/264f49a, https://github.com/m-bain/whisperX/commit/cea42ca
        behind = f"where a name on the hub is meant, it has one / between its two parts, and no other; {behind}"
        advice = f"{plain}, if it is meant to be fetched from the hub (os.path.join and Windows paths write it otherwise); else {advice}"
    if not name:
        # https://github.com/zjukg/KnowPAT/issues/8
        what, behind = "What was to be loaded has an empty name", "an argument that was left out, or a variable of the script that is empty"
        advice = "give the name or the folder, where the last line of one's own code in the traceback loads it"
    return Hit(HUB, True, detail=behind, packages=("huggingface-hub",), edge=f"hub:absent:{name}"[:120], headline=what, advice=advice)
