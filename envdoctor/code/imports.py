"""Names that a snapshot's code imports and the installed library does not have."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.code.context import Context

MISSING = "remote-code-import-missing"
# Packages whose modules are plain enough to be judged by their source.
_JUDGED = frozenset(("transformers", "peft", "accelerate", "torch", "torchvision", "diffusers", "huggingface_hub", "tokenizers"))


def missing_imports(context: Context) -> Iterator[Hit]:
    """Imports that fail when the file is loaded: at its top level, under no test and no ``try``.

    What a function imports fails only when it is called, and is left to who calls it.
    """
    library = context.library
    for module in context.code.modules.values():
        for item in module.imports:
            package = item.module.partition(".")[0]
            version = library.releases.get(package.replace("_", "-"))
            if item.guarded or item.method or package not in _JUDGED or version is None:
                continue
            there = library.has_module(item.module)
            release = f"{package} {version}"
            if there is False:
                words = f"the file imports this module, which {release} does not have"
                yield context.hit(MISSING, module, item.line, item.module, words)
            elif there and item.name not in ("", "*") and library.provides(item.module, item.name) is False:
                words = f"the file imports it from {item.module}, which does not have it in {release}"
                yield context.hit(MISSING, module, item.line, item.name, words, surface=f"module {item.module}")
