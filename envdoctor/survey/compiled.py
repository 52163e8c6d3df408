"""What compiled code says when it refuses, read from its source: Cython, C and C++, Rust.

No compiler is at hand, and none is needed: a sentence is a text in quotes, or several behind each other with values between them.
"""

from __future__ import annotations

import ast
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.atlas.outline import Outline, Said
from envdoctor.atlas.templates import template
from envdoctor.refresh.index import Get, NoAnswerError
from envdoctor.survey.archives import Member, NotAnArchiveError
from envdoctor.survey.choice import Release
from envdoctor.survey.kept import Kept

CYTHON, C, RUST = (".pyx", ".pxi", ".pyx.in", ".pxi.in"), (".c", ".cc", ".cpp", ".h", ".hpp", ".src"), (".rs",)
# Whose compiled code speaks to its users, with the folders of their source archives that hold it.
SPOKEN: Mapping[str, tuple[str, ...]] = {
    "numpy": ("numpy/",),
    "pandas": ("pandas/_libs/",),
    "tokenizers": ("tokenizers/src/", "bindings/python/src/", "src/"),
    "safetensors": ("safetensors/src/", "bindings/python/src/", "src/"),
    "pyarrow": ("pyarrow/",),
    "tiktoken": ("src/",),
    "pydantic-core": ("src/",),
    "scikit-learn": ("sklearn/",),
}
_LEFT_OUT = re.compile(
    r"(?:^|/)(?:tests?|benches|examples|vendor|meson|f2py|distutils|third_party|highway|x86-simd-sort|SVML|pythoncapi)(?:[-_/]|$)"
)
_LARGEST, _LARGEST_ARCHIVE = 4 * 2**20, 120 * 2**20
_RAISE = re.compile(r"(?m)^[ \t]*raise[ \t]+(?P<kind>[\w.]+)\(")
_SET = re.compile(r"(?m)^[ \t]*(?P<name>\w+)[ \t]*=[ \t]*(?=[(fF]?['\"(])")
_CAST = re.compile(r"<[A-Za-z_][\w ]*\**[?]?>")
_DEFINED = re.compile(r"(?m)^(?P<indent>[ \t]*)(?:cdef|cpdef|def|async def)\b[^\n(=]*?(?P<name>\w+)[ \t]*\(")
_STRING = r'"(?:[^"\\\n]|\\(?:.|\n))*"'
_LITERAL = re.compile(_STRING)
# What stands between two texts of one message: nothing, a macro of C's formats, what is streamed or handed on.
_RUN = re.compile(rf"{_STRING}(?:\s*(?:(?:<<|,|\+)\s*[\w.:>()\[\]*& -]{{1,120}}?\s*(?:<<|,|\+)\s*|(?:NPY_|PRI)\w+\s*)?{_STRING})*")
_C_KIND = re.compile(r"PyErr_\w+\(\s*(?:PyExc_)?(\w+)\s*,\s*(?:\d+\s*,\s*)?$")
_RUST_KIND = re.compile(r"(?:Py(?P<kind>[A-Z]\w+)::new_err\(|\b(?P<other>SafetensorError)::new_err\()\s*(?:format!\(\s*)?$")
_COMMENT = re.compile(rf"({_STRING})|/\*.*?\*/|//[^\n]*", re.DOTALL)
_FORMAT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t|L|I64)?[srdfxXigeEucpSRUVATN]")
# A format that a macro completes: ``"axis %" NPY_INTP_FMT``.
_MACRO = re.compile(r"%(?:\{\}|$)")
_BRACES = re.compile(r"\{[^{}]*\}")
# The module of tests at a file's end; what only they import may stand at its beginning (tokenizers' ``trainers.rs``).
_TESTED = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\b")
_ESCAPE = re.compile(r"\\(?:\r?\n\s*|u\{[0-9a-fA-F]+\}|.)", re.DOTALL)
_MEANT = {"n": "\n", "t": " ", "r": "", "0": ""}
_WORD = re.compile(r"(?<![A-Za-z_])[A-Za-z]{2,}(?![A-Za-z_])")
_SENTENCE, _SHORT = 3, 14
_CODE = re.compile(r"[;{]\s*$|(?<!\{)\}\s*$|^\s*[#(]|=>|::|\w\(\w*\)\s*->|^[-_/]|\n.*\n.*\n.*\n|^\s*(?:def|import|from|return)\b")


def read_sources(data: bytes, package: str) -> dict[str, bytes]:
    """The compiled sources of a source archive, by their path.

    Raises:
        NotAnArchiveError: it cannot be read.
    """
    found: dict[str, bytes] = {}
    try:
        for name, size, read in _files(data):
            path = name.partition("/")[2]
            wanted = path.startswith(SPOKEN[package]) and path.endswith((*CYTHON, *C, *RUST)) and not _LEFT_OUT.search(path)
            if wanted and size < _LARGEST:
                found[path if path.startswith(package) else f"{package}/{path}"] = read()
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise NotAnArchiveError(f"no source archive: {error}") from error
    return found


def _files(data: bytes) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            for info in bundle.infolist():
                yield info.filename, info.file_size, lambda info=info: bundle.read(info)  # type: ignore[misc]
        return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as tar:
        for item in tar:
            if item.isfile() and (stream := tar.extractfile(item)) is not None:
                yield item.name, item.size, stream.read


def read_compiled(package: str, releases: Sequence[Release], get: Get, kept: Kept) -> Iterator[tuple[str, str]]:
    """Read the compiled code of releases from their source archives; releases that could not be read, and why."""
    known = kept.releases(package)
    for release in releases:
        if release.version in known:
            continue
        file = next((one for one in release.files if one.name.endswith((".tar.gz", ".zip"))), None)
        if file is None:
            yield release.version, "no source archive"
            continue
        try:
            sources = read_sources(get(file.address.partition("#")[0], {}, _LARGEST_ARCHIVE).data, package)
        except (NoAnswerError, NotAnArchiveError) as error:
            yield release.version, str(error)
            continue
        # A header and its source are one module: what it says stands in the source.
        ordered = sorted(sources.items(), key=lambda item: item[0].endswith((".h", ".hpp")))
        members = {Member(path, zlib.crc32(content), len(content)): content for path, content in ordered}
        for member in kept.unread(list(members)):
            kept.keep(member, read_source(member.path, members[member]))
        kept.keep_release(package, release.version, release.day, file.name, list(members))


def read_source(path: str, content: bytes) -> Outline:
    """The outline of a compiled source: what it says, and nothing else."""
    text = content.decode("utf-8", "replace")
    said = _in_cython(text) if path.endswith(CYTHON) else _in_rust(text) if path.endswith(RUST) else _in_c(text)
    return Outline(said=list(said))


def _in_cython(text: str) -> Iterator[Said]:
    places = [(found.start(), found["name"]) for found in _DEFINED.finditer(text)]
    for found in _RAISE.finditer(text):
        node = _parse(_balanced(text, found.end() - 1))
        if node is None or not node.elts:
            continue
        first = node.elts[0]
        if isinstance(first, ast.Name):
            before = [one for one in _SET.finditer(text, max(0, found.start() - 1500), found.start()) if one["name"] == first.id]
            value = _value(text, before[-1].end()) if before else None
            said = template(value, {}) if value is not None else None
        else:
            said = template(first, {})
        if said:
            where = next((name for place, name in reversed(places) if place < found.start()), "")
            yield Said(found["kind"].rpartition(".")[2], said, where, text.count("\n", 0, found.start()) + 1)


def _balanced(text: str, at: int) -> str:
    """From a bracket to the one that closes it; empty where that is too far."""
    depth, quote, place = 0, "", at
    while place < min(len(text), at + 3000):
        letter = text[place]
        if quote:
            if letter == "\\":
                place += 1
            elif text.startswith(quote, place):
                place += len(quote) - 1
                quote = ""
        elif letter in "'\"":
            quote = letter * 3 if text.startswith(letter * 3, place) else letter
            place += len(quote) - 1
        elif letter == "#":
            place = text.find("\n", place)
            if place < 0:
                return ""
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return text[at : place + 1]
        place += 1
    return ""


def _parse(arguments: str) -> ast.Tuple | None:
    for one in (arguments, _CAST.sub("", arguments)):
        try:
            node = ast.parse(f"_{one}", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.Call):
            return ast.Tuple(node.args, ast.Load())
    return None


def _value(text: str, at: int) -> ast.expr | None:
    """The expression that begins at a place: in brackets, or up to the end of its line."""
    whole = _balanced(text, at) if text[at] == "(" else text[at : text.find("\n", at)]
    try:
        return ast.parse(whole.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_c(text: str) -> Iterator[Said]:
    text = _COMMENT.sub(lambda found: found[1] or " " * 2 + "\n" * found[0].count("\n"), text)
    for found in _RUN.finditer(text):
        said = _sentence(_FORMAT.sub("{}", _MACRO.sub("{}", _joined(found[0]))))
        if said:
            kind = _C_KIND.search(text, max(0, found.start() - 80), found.start())
            yield Said(kind[1] if kind else "", said, "", text.count("\n", 0, found.start()) + 1)


def _in_rust(text: str) -> Iterator[Said]:
    text = _TESTED.split(text)[0]
    text = _COMMENT.sub(lambda found: found[1] or " " * 2 + "\n" * found[0].count("\n"), text)
    for found in _LITERAL.finditer(text):
        said = _sentence(_BRACES.sub("{}", _joined(found[0])))
        if said:
            kind = _RUST_KIND.search(text, max(0, found.start() - 80), found.start())
            yield Said((kind["kind"] or kind["other"]) if kind else "", said, "", text.count("\n", 0, found.start()) + 1)


def _joined(run: str) -> str:
    """The texts of a run as one, with ``{}`` for the values between them."""
    parts, end = [], 0
    for found in _LITERAL.finditer(run):
        between = run[end : found.start()].strip()
        if between:
            parts.append("{}")
        parts.append(_ESCAPE.sub(_meant, found[0][1:-1]))
        end = found.end()
    return "".join(parts)


def _meant(found: re.Match[str]) -> str:
    return "" if "\n" in found[0] or "\r" in found[0] else _MEANT.get(found[0][1], found[0][1:] if len(found[0]) == 2 else "{}")


def _sentence(text: str) -> str:
    """A text as a template, where it looks like what is said to a user; else nothing."""
    if _CODE.search(text.strip()):
        return ""
    text = re.sub(r"(?:\{\}\s*){2,}", "{} ", re.sub(r"\s+", " ", text)).strip()
    fixed = text.replace("{}", " ")
    words = _WORD.findall(fixed)
    told = len(words) >= _SENTENCE and sum(map(len, words)) >= _SHORT and " " in fixed.strip()
    return text if told and sum(letter.isalpha() or letter == " " for letter in fixed) >= 0.7 * len(fixed) and len(text) <= 500 else ""
