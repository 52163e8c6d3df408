"""One requirement in the words that pip takes: PEP 508, or a URL, a path, a wheel, a repository.

What is none of them is told in the way that helps: which character is not the one it looks like, whose syntax it is.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from packaging.markers import Marker
from packaging.requirements import Requirement

from envdoctor.facts.fact import Origin
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.official_tags import release_at_tag

MALFORMED = "requirement-malformed"
_LONGEST = 2000
_SHORT = 400
_DEEPEST = 20
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|file:|git@", re.ASCII)
_PATH = re.compile(r"\.{1,2}(?:$|[/\\\[\s;])|[/\\~]|[A-Za-z]:[/\\]", re.ASCII)
# Their files are those that an installer takes from the index by itself.
_OF_AN_INDEX = re.compile(r"https?://(?:files\.pythonhosted\.org|pypi\.org|download(?:-r2)?\.pytorch\.org)/", re.ASCII | re.IGNORECASE)
_ARCHIVE = re.compile(r"[^\s;]+\.(?:whl|zip|tar\.gz|tgz|tar\.bz2|tar\.xz|tar)(?:$|[\[\s;#])", re.ASCII)
_FOLDER = re.compile(r"[\w.-]+[/\\][\w./\\-]*(?:$|[\[\s;])", re.ASCII)
# What builds of one release are told apart by: CUDA, ROCm, the CPU, torch, the ABI, the platform, a revision of the source.
_BUILT_FOR = re.compile(
    r"(?:cu[0-9]|cuda|cpu|rocm|xpu|pt|torch|post|abi|cxx|g[0-9a-f]{6}|[0-9a-f]{7}|nv|ubuntu|linux|win|[0-9.]+$)", re.IGNORECASE
)
_NAMED = re.compile(rf"({_NAME})\s*(?:\[[^\]]*\])?\s*@\s*(\S+)(.*)", re.ASCII | re.DOTALL)
# What most lines are, in which nothing can be wrong that would be told here.
_PLAIN = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9_-]*\s*(?:\[[A-Za-z0-9_,. -]*\])?\s*(?:(?:==|!=|<=|>=|~=|<|>)\s*[A-Za-z0-9.+!_-]+\s*,?\s*)*(?:;.*)?", re.ASCII
)
_PINNED = re.compile(rf"{_NAME}(?:\[[A-Za-z0-9_,.-]*\])?==[0-9][A-Za-z0-9.+!_-]*", re.ASCII)
_CONDA = re.compile(rf"{_NAME}\s*(?:\[[^\]]*\])?\s*=\s*[^=\s<>!~]", re.ASCII)
_REVERSED = re.compile(r"(?<![<>=!~])=\s*[<>~!](?!=)|[<>~!]\s+=")
_STAR = re.compile(r"(<=?|>=?|~=)\s*[^,;\s=<>!~]*\*")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_TAG = re.compile(r"v?\d+(?:\.\d+)+\S*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,40}", re.ASCII)
# What no compatibility form of Unicode says of them.
_MEANT = {
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2018": "'", "\u2019": "'",
    "\u201c": '"', "\u201d": '"', "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u3001": ",", "\u3002": ".",
}  # fmt: skip


def declare(
    text: str, file: str, line: int | None, declarations: Declarations, *, extra: str = "", constraint: bool = False
) -> Requirement | None:
    """Declare one requirement; returned where it states a release or a range of them, and is installed here.

    A wheel's file name states its release. Of another URL, a path or a repository no version is known: that is said.
    """
    text = text.strip().rstrip(";").rstrip()
    place = file if line is None else f"{file}:{line}"
    if not text:
        return None
    if not text.isascii() and ";" in text:  # pip parts a requirement there first, and drops any blank of Unicode around
        text = " ; ".join(part.strip() for part in text.split(";", 1))
    if len(text) <= _SHORT and text.isascii() and _PLAIN.fullmatch(text) and text.count("(") <= _DEEPEST:
        return declarations.require(text, file, line, extra=extra, constraint=constraint)
    if len(text) <= _LONGEST and (words := _words_of_an_installer(text)):
        declarations.skip(place, f"{len(words)} requirements in one line: pip -r takes no such file; read as the words of a pip install")
        for word in words:
            declarations.require(word, file, line, extra=extra, constraint=constraint)
        return None
    if len(text) > _LONGEST or text.count("(") > _DEEPEST:
        _malformed(text, "longer, or nested deeper, than any requirement is", file, line, declarations)
    elif _URL.match(text) or _PATH.match(text) or _ARCHIVE.match(text) or _FOLDER.match(text):
        return _direct(text, place, declarations, "", extra, (file, line, constraint))
    elif (named := _NAMED.fullmatch(text)) is not None:
        if _URL.match(named[2]) or _PATH.match(named[2]) or "/" in named[2]:
            return _direct(named[2] + named[3], place, declarations, named[1], extra, (file, line, constraint))
        _malformed(text, f"{named[2]!r} after @ is no URL; a version stands after ==", file, line, declarations)
    elif (wrong := what_is_wrong(text)) is not None:
        _malformed(text, wrong, file, line, declarations)
    else:
        return declarations.require(text, file, line, extra=extra, constraint=constraint)
    return None


def _words_of_an_installer(text: str) -> list[str]:
    """``torch==2.0.1 torchvision==0.15.2``: what a project's own installer hands to pip, line by line; empty for every other line."""
    words = text.split()
    return words if len(words) > 1 and all(_PINNED.fullmatch(word) for word in words) else []


def what_is_wrong(text: str) -> str | None:
    """What is wrong with a requirement, where a person would not see it or pip's own words would not tell; None for anything else."""
    if not text.isascii():
        return _lookalike(text)
    specifier = text.partition(";")[0]
    if (found := _REVERSED.search(specifier)) is not None:
        return f"{found[0]!r} is no operator; the operators are == != <= >= < > ~= ==="
    if _CONDA.match(specifier):
        return "a single = is conda's; here == states a version"
    if (starred := _STAR.search(specifier)) is not None:
        return f"a version that ends in .* can follow == and !=, not {starred[1]}"
    return None


def without_credentials(text: str) -> str:
    """A text in which no URL tells a user, a token or a password."""
    return _CREDENTIALS.sub("***@", text)


def _of_a_fork(version: str) -> bool:
    """Whether a local label says more than what a wheel was built for: ``4.37.2+custom.20`` is not 4.37.2."""
    label = version.partition("+")[2]
    return bool(label) and _BUILT_FOR.match(label) is None


def wheel_release(url: str) -> tuple[str, str] | None:
    """Name and version that a wheel's file name states (PEP 427), of a path or URL; None for any other file."""
    from urllib.parse import unquote

    name = PurePosixPath(unquote(re.split(r"[#?]", url, maxsplit=1)[0]).replace("\\", "/")).name
    parts = name.removesuffix(".whl").split("-")
    return (parts[0], parts[1]) if name.endswith(".whl") and len(parts) in (5, 6) else None


def _direct(
    text: str, place: str, declarations: Declarations, name: str, extra: str, statement: tuple[str, int | None, bool]
) -> Requirement | None:
    """A requirement that says where its package lies; a wheel's file name says which release it is."""
    url, marker = _without_marker(text)
    file, line, constraint = statement
    try:
        applies = declarations.installation.applies(Marker(marker) if marker else None, extra)
    except (ValueError, RecursionError) as error:
        _malformed(without_credentials(text), (str(error).splitlines() or ["its marker cannot be read"])[0], file, line, declarations)
        return None
    if not applies:
        return None
    bare = re.sub(r"\[[^\]/]*\]$", "", url)
    if re.split(r"[#?]", bare, maxsplit=1)[0].endswith(".whl") and wheel_release(bare) is None:
        _malformed(
            without_credentials(text),
            "the file name of a wheel has five parts or six, name-version-python-abi-platform",
            *statement[:2],
            declarations,
        )
        return None
    release = wheel_release(bare)
    if release is not None and _of_a_fork(release[1]):
        declarations.skip(place, f"{release[0]} {release[1]}: a build of somebody's own, of which no rule for the release need be true")
        return None
    if release is not None:
        version = f"=={release[1].replace('_', '-')}"
        declarations.state(release[0], version, file, line, constraint=constraint, source=f"a wheel, {without_credentials(bare)}")
        if not constraint and _OF_AN_INDEX.match(bare) is None:
            declarations.bring(release[0], Origin(f"a wheel, {without_credentials(bare)}", file, line))
        return None
    subject = name or _egg(url)
    tagged = release_at_tag(url, subject)
    if tagged is not None:
        source = f"the tag of that release, {without_credentials(_source(url)[0])}"
        declarations.state(tagged[0], f"=={tagged[1]}", file, line, constraint=constraint, source=source)
        return None
    address, told = _source(url)
    if subject and not constraint:
        declarations.elsewhere(subject, address)
    declarations.skip(place, f"{f'{subject}, ' if subject else ''}{without_credentials(address)}: {told}")
    return None


def _without_marker(text: str) -> tuple[str, str]:
    """A URL or path, and the marker after it: pip wants a blank behind the semicolon, PEP 508 one before it."""
    found = re.search(r"\s;|;\s", text)
    return (text, "") if found is None else (text[: found.start()].strip(), text[found.end() :].strip())


def _source(url: str) -> tuple[str, str]:
    """An address as it is shown, and what it is; of a repository the revision is told apart."""
    if re.match(r"(?:git|hg|svn|bzr)\+|git@|git:", url):
        address = re.split(r"[#?]", url, maxsplit=1)[0]
        host, slash, path = address.partition("://")[2].partition("/")
        repository, at, reference = path.partition("@") if slash and not url.startswith("git@") else (path, "", "")
        if not at:
            return address, "a repository, its version is not known"
        if _COMMIT.fullmatch(reference):
            kind, reference = "commit", reference[:12]
        else:
            kind = "tag" if _TAG.fullmatch(reference) else "branch or tag"
        return f"{address.partition('://')[0]}://{host}/{repository}", f"a repository at the {kind} {reference}, which states no release"
    if _URL.match(url) and not url.startswith("file:"):
        return url, "a URL, its version is not known"
    return url, "a path, its version is not known"


def _egg(url: str) -> str:
    found = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", url)
    return found[1] if found else ""


def _lookalike(text: str) -> str | None:
    """The first character that is none of ASCII's, outside quotes, and the one that was probably meant."""
    import unicodedata

    place = next(
        (n for n, character in enumerate(re.sub(r"'[^']*'|\"[^\"]*\"", lambda q: "q" * len(q[0]), text)) if character > "\x7f"), None
    )
    if place is None:
        return None
    found = text[place]
    meant = _MEANT.get(found) or unicodedata.normalize("NFKC", found)
    told = f"; {meant!r} is meant" if meant.isascii() and meant.isprintable() and meant != found else ""
    return f"U+{ord(found):04X} {unicodedata.name(found, 'without a name')} at column {place + 1}{told}"


def _malformed(text: str, why: str, file: str, line: int | None, declarations: Declarations) -> None:
    shown = text if len(text) <= 80 else text[:79] + "\u2026"
    declarations.defect(MALFORMED, f"{shown!r} is no requirement: {why}", file, line)
