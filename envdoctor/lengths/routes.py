"""By which files of a snapshot its tokenizer can be had, and with which libraries; nothing of it is run here."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from envdoctor.coherence.chat_template import template_of
from envdoctor.coherence.token_table import read_tokens
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import dataclass
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer
from envdoctor.sources.model.snapshot import Snapshot, table_of
from envdoctor.syntax.parsing import NoPythonError, parse_python

_PIECES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "ice_text.model")
_TABLES = ("vocab.json", "vocab.txt", "tokenizer_config.json")
_MOST_FILE = 256 << 20
_MOST_CODE = 1 << 18


@dataclass(frozen=True, slots=True)
class Routes:
    """The ways to this snapshot's tokenizer, best first, as a child is told them; ``reasons`` say why there are not more.

    ``files`` has for each route the name of its file. ``glm`` says that chats are joined turn by turn as ChatGLM's scripts do it,
    ``consent`` that code of the snapshot's own could be run if its user said so.
    """

    routes: tuple[Mapping[str, object], ...]
    files: tuple[str, ...]
    reasons: tuple[str, ...]
    template: str
    variables: Mapping[str, str]
    glm: bool
    consent: bool


def routes_of(snapshot: Snapshot, trust: bool) -> Routes:
    """How this snapshot's tokenizer can be had. ``trust``: its own code may be run."""
    directory = snapshot.directory
    config = table_of(snapshot.tokenizer)
    name = str(config.get("tokenizer_class") or "")
    tokens = read_tokens(snapshot)
    variables = {role: text for role, text in tokens.roles.items() if text is not None}
    template = template_of(snapshot)
    added = sorted({*tokens.added, *variables.values(), *tokens.declared})
    found: list[tuple[Mapping[str, object], str]] = []
    reasons: list[str] = []
    if "tokenizer.json" in directory.names:
        path = _usable(directory, "tokenizer.json", reasons)
        if path is not None:
            found.append(({"library": "tokenizers", "path": path}, "tokenizer.json"))
    for file in sorted(directory.names):
        if file in _PIECES or file.endswith(".tiktoken"):
            path = _usable(directory, file, reasons)
            route = None if path is None else _vocabulary(directory, path, file, added, _begins_with(config, name), reasons)
            if route is not None:
                found.append((route, file))
    own = _own_code(config)
    if any(file in directory.names for file in (*_TABLES, *_PIECES)) and (trust or not own):
        found.append(({"library": "transformers", "path": str(directory.path.absolute()), "trust": trust and own}, "the directory"))
    if not found and not reasons and not own:
        reasons.append("it has no tokenizer.json, tokenizer.model or other vocabulary")
    return Routes(
        tuple(route for route, _file in found),
        tuple(file for _route, file in found),
        tuple(reasons),
        "" if template is None else template.text,
        variables,
        name.startswith("ChatGLM") and "tokenizer.model" in directory.names and "tokenizer.json" not in directory.names,
        own and not trust,
    )


def _usable(directory: ModelDirectory, file: str, reasons: list[str]) -> str | None:
    """The path of a file that is there, and is the file itself."""
    path = directory.locate(file)
    if path is None:
        reasons.append(f"{file} cannot be followed to a file in it")
        return None
    with open(path, "rb") as stream:
        head = stream.read(512)
        size = stream.seek(0, 2)
    if is_lfs_pointer(head):
        reasons.append(f"{file} is a git-lfs pointer (git lfs pull)")
    elif not head:
        reasons.append(f"{file} is empty")
    elif size > _MOST_FILE:
        reasons.append(f"{file} is larger than {_MOST_FILE >> 20} MiB")
    else:
        return path
    return None


def _vocabulary(
    directory: ModelDirectory, path: str, file: str, added: list[str], begins_with: int, reasons: list[str]
) -> Mapping[str, object] | None:
    with open(path, "rb") as stream:
        first = stream.readline(4096).strip().split(b" ")
    about = {"path": path, "added": added, "begins_with": begins_with}
    if len(first) != 2 or not first[1].isdigit():
        return {"library": "sentencepiece", **about}
    # Tokens in base64 with their ranks; how text is cut into words before stands in the snapshot's code alone.
    pattern = _pattern(directory)
    if pattern is None:
        reasons.append(f"{file} holds ranks for tiktoken, and no tokenization_*.py says in plain text how words are cut")
        return None
    return {"library": "tiktoken", "pattern": pattern, **about}


def _pattern(directory: ModelDirectory) -> str | None:
    """The regular expression that the snapshot's tokenizer gives to tiktoken, where its code has it as one constant."""
    for name in sorted(directory.names):
        if not (name.startswith("tokenization_") and name.endswith(".py")):
            continue
        path = directory.locate(name)
        if path is None:
            continue
        try:
            tree = parse_python(read_bounded(path, _MOST_CODE))
        except (UnreadableError, NoPythonError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                names = {ast.unparse(target).rpartition(".")[2].lower() for target in node.targets}
                if "pat_str" in names:
                    return node.value.value
    return None


def _begins_with(config: Mapping[str, object], name: str) -> int:
    """How many tokens the tokenizer's class puts around a text: two in ChatGLM's, else what the configuration switches on."""
    if name.startswith("ChatGLM"):
        return 2
    llama = name.removesuffix("Fast") in ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer")
    bos = config.get("add_bos_token", llama)
    eos = config.get("add_eos_token", name.removesuffix("Fast") == "T5Tokenizer")
    return int(bos is True) + int(eos is True)


def _own_code(config: Mapping[str, object]) -> bool:
    table = config.get("auto_map")
    return isinstance(table, dict) and "AutoTokenizer" in table
