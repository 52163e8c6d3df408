"""Whose a file is: the package of an installed file, of a checkout by its usual layout, of Python itself, or the user's own."""

from __future__ import annotations

import re
from functools import lru_cache

from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_INSTALLED = re.compile(r"(?:site|dist)-packages[\\/](.+)$")
_PYTHONS_OWN = re.compile(
    r"[\\/](?:python3(?:\.\d{1,2})?t?|Python3\d{1,2}[\\/]lib|[Ll]ib)[\\/](?!(?:site|dist)-packages)[\w\\/]{1,200}\.py$|^<frozen "
)
# A folder and a module's file, as checkouts have them.
_FOLDER, _PACKAGE, _FILE = re.compile(r"[A-Za-z][\w.-]{1,60}"), re.compile(r"[a-z]\w{1,40}"), re.compile(r"[\w.-]{1,100}\.py")
# Checkouts whose package has another name than the directory.
_PROJECTS = {
    "llama-factory": ("llamafactory", "llmtuner"),
    "ms-swift": ("swift",),
    "lm-evaluation-harness": ("lm_eval",),
    "fastchat": ("fastchat",),
    "open-r1": ("open_r1",),
    "autoawq": ("awq",),
    "autogptq": ("auto_gptq",),
    "megatron-lm": ("megatron",),
    "open-instruct": ("open_instruct",),
    "alignment-handbook": ("alignment",),
    "text-generation-webui": ("modules",),
    "stable-diffusion-webui": ("modules",),
    "flash-attention": ("flash_attn",),
    "deepspeed": ("deepspeed",),
}
# An image whose work directory is /src, and a checkout whose own directory has any name.
_SOURCES = re.compile(r"(?:^|[\\/])src[\\/]([a-z]\w{2,40})[\\/](?:[\w.-]{1,100}[\\/]){0,12}[\w.-]{1,100}\.py$")
# A path that somebody cut at the root of the packages.
_FROM_THE_ROOT = re.compile(r"([a-z]\w{2,40})[\\/](?:[\w.-]{1,100}[\\/]){0,12}[\w.-]{1,100}\.py$")
# Packages whose names projects give to folders of their own.
_FOLDERS = frozenset(("datasets", "evaluate", "kernels", "packaging", "guidance", "outlines", "click", "aim", "tts", "networkx", "regex"))
# What the hub caches of models' own code.
_REMOTE_CODE = re.compile(r"(?:^|[\\/])transformers_modules[\\/]")


# What unsloth writes as it is loaded, of the trainers of trl and the models of transformers: unsloth_zoo/compiler.py.
_WRITTEN_BY_UNSLOTH = re.compile(r"(?:^|[\\/])unsloth_compiled_cache[\\/]")


@lru_cache(maxsize=4096)
def owner_of(path: str) -> tuple[str, str]:
    """The import name of the package that a file belongs to, and the file's module; both empty for the user's own code.

    Python's own files belong to nobody. The code that comes with a model is of ``transformers_modules``.
    """
    if _REMOTE_CODE.search(path):
        return "transformers_modules", ""
    if _WRITTEN_BY_UNSLOTH.search(path):
        return "unsloth", ""
    installed = _INSTALLED.search(path)
    if installed:
        parts = re.split(r"[\\/]", installed[1])
        package = parts[0].removesuffix(".py")
        if package.endswith(".egg") and len(parts) > 1:
            parts = parts[1:]
            package = parts[0]
        return package, _module(parts)
    if _PYTHONS_OWN.search(path):
        return "", ""
    if (checkout := _of_checkout(re.split(r"[\\/]", path))) is not None:
        return checkout
    source = _SOURCES.search(path) or _FROM_THE_ROOT.match(path)
    if source and package_of(source[1]) in listed() and source[1] not in _FOLDERS:
        start = path.replace("\\", "/").find(f"{source[1]}/", source.start(1))
        return source[1], _module(path.replace("\\", "/")[start:].split("/"))
    return "", ""


def _of_checkout(parts: list[str]) -> tuple[str, str] | None:
    """Of a checkout of a public project: its folder has the project's name, and the package lies in it or in src/."""
    if not _FILE.fullmatch(parts[-1]):
        return None
    for place, folder in enumerate(parts[:-2]):
        at = place + 2 if parts[place + 1] == "src" else place + 1
        if at >= len(parts) - 1 or not _FOLDER.fullmatch(folder) or not _PACKAGE.fullmatch(parts[at]):
            continue
        plain = re.sub(r"-(?:main|master|dev|v?\d[\w.]*)$", "", folder.lower().replace("_", "-"))
        if plain == parts[at].lower().replace("_", "-") or parts[at] in _PROJECTS.get(plain, ()):
            return parts[at], _module(parts[at:])
    return None


def _module(parts: list[str]) -> str:
    """The dotted name of a file by its path from the root of the packages."""
    names = [part.removesuffix(".py") for part in parts]
    if names and names[-1] == "__init__":
        names.pop()
    return ".".join(names) if all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names) else ""
