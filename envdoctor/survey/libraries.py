"""What compiled libraries say when they refuse, read from the libraries themselves: texts in them that are sentences.

For packages that publish no sources beside their wheels. Of a message that is put together of several texts each is one of its own; which
function says it, and under which condition, a library does not tell.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.masks import write
from envdoctor.refresh.index import Get, NoAnswerError
from envdoctor.survey.archives import NotAnArchiveError
from envdoctor.survey.choice import Release

# Whose libraries speak to their users, and which of their files these are in the wheels for macOS, which are the smallest.
LIBRARIES: Mapping[str, re.Pattern[str]] = {"torch": re.compile(r"torch/lib/lib(?:torch_cpu|torch_python|c10)\.dylib")}
_PLATFORM = re.compile(r"macosx_\d+_\d+_arm64\.whl$")
_LARGEST_WHEEL = 200 * 2**20
_TEXT = re.compile(rb"(?<![\x09\x0a\x20-\x7e])[\x09\x0a\x20-\x7e]{20,180}(?![\x09\x0a\x20-\x7e])")
_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[srdfxXigeuc]")
_WORD = re.compile(r"(?<![A-Za-z_])[A-Za-z]{2,}(?![A-Za-z_])")
_FEWEST_WORDS, _FEWEST_LETTERS = 3, 18
# Signatures, sources of kernels, documentation of operators, and what only those meet who compile, export, profile or serve models.
_OTHERS = re.compile(
    r"[;{}]\s*$|::|->|=>|^\s*[#(@\[]|^[-_/]|^\s*(?:def|import|from|return|for|if|var|let|using|template|const|struct|static)\b|\n.*\n"
    r"|INTERNAL ASSERT|\\|\w\(\w|TORCH_|\.(?:cpp|h|cc|py)\b|\bTensor [a-z_]+[,)=]|^N\d|^_Z|forward AD|https?:|^\W*www"
    r"|[Vv]ulkan|XNNPACK|xnn|NNAPI|onnx|jit\b|script|schema|ivalue|caffe|kineto|pipe\b|gloo|proto|glog|thread|mkl|dnn|functorch|vmap"
    r"|dispatch|boxed|operator|librar|fallback|quant|mobile|bytecode|seriali[sz]|pickl|benchmark|profil|symbolic|symint|guard|metal\b|lazy"
    r"|fuser?\b|autodiff|alias|(?<!through the )graph|\bnode|token|pars(?:e|ing)|rpc|rref"
    r"|\bflags?\b|llvm|codegen|trac(?:e|ing)\b|nested|usage|enum|typedef"
    r"|cpuinfo|/proc|/sys|\bzip\b|cpu info|record|c10d|nccl|process group|store\b|\bop\b|\bops\b"
    r"|compil|export|constant|overload|named tensor"
    r"|named inference|dimname|\bio\b|socket|tcp|debug|warning|deprecated|allocator|memory format|backward is not|is an out= function"
    r"|could this error message|constrain|operand|\bblobs?\b|\binputs? [A-Z\d]\b|\bfirst input|default value|default is|opset"
    r"|_backward\b|\w{40}"
    r"|annotation|literal|identifier|variable index|wire type|map field|\bmodules?\b|interpreter|\bPTQ\b|observer|captur|functional tensor"
    r"|primal|namespace|reflection|\bloop\b|metallib|kDL|barrier|\branks?\b|\bping\b|shard|archive|package name|hostname|cppt|\bnull\b"
    r"|convert string$"
    r"|inferred|\bextern|\belem type|listing|registered|\bkeys?\b|infra mode|forward grad|with respect to|elementwise|element-wise|ufloat"
    r"|\bopaque|\bpt2\b|\bhook|argument '|descriptor|string value|quote|stage|message\b|field\b|elements of the input|subgroup|iterator"
    r"|\baxes\b|\bX\b|\bT[<\d]|^\W*[a-z]+(?:-[a-z]+)+-\d|nullptr|submodule|attribute '",
    re.IGNORECASE,
)
# What is refused is said so.
_REFUSES = re.compile(
    r"\b(?:expect\w*|must|should|cannot|can ?not|could not|unable|invalid|not|only|requires?|required|mismatch\w*|same|out of|errors?"
    r"|fail\w*"
    r"|unsupported|illegal|got|found|received|no|at least|at most|try\w*|tried|attempt\w*|too|exceeds?|larger|smaller|greater|less"
    r"|incompatible"
    r"|contains?|ambiguous|does|bigger|unexpected|unknown|different|than|been modified|being used|wrong|empty|second time)\b|n't\b"
)


def sentences(data: bytes) -> Iterator[str]:
    """The texts of a library that are what is said to a user, as templates: what stands before and behind them is filled in."""
    for found in _TEXT.finditer(data):
        text = " ".join(_FORMAT.sub("{}", found[0].decode("ascii")).split())
        words = _WORD.findall(text)
        if len(words) < _FEWEST_WORDS or sum(map(len, words)) < _FEWEST_LETTERS or _OTHERS.search(text) or not _REFUSES.search(text):
            continue
        plain = sum(letter.isalpha() or letter == " " for letter in text) >= 0.8 * len(text.replace("{}", ""))
        if plain and 2 * sum(word.islower() for word in words) >= len(words):
            yield re.sub(r"(?:\{\}\s*){2,}", "{} ", f"{{}} {text} {{}}").strip()


def read_libraries(package: str, releases: Sequence[Release], get: Get) -> Iterator[tuple[str, frozenset[str] | str]]:
    """The sentences of each release; of one that could not be read, why."""
    for release in releases:
        file = next((one for one in release.files if _PLATFORM.search(one.name)), None)
        if file is None:
            yield release.version, "no wheel for macOS"
            continue
        try:
            data = get(file.address.partition("#")[0], {}, _LARGEST_WHEEL).data
            with zipfile.ZipFile(io.BytesIO(data)) as wheel:
                names = [name for name in wheel.namelist() if LIBRARIES[package].fullmatch(name)]
                yield release.version, frozenset(one for name in names for one in sentences(wheel.read(name)))
        except (NoAnswerError, NotAnArchiveError, zipfile.BadZipFile, OSError) as error:
            yield release.version, str(error)


def write_libraries(package: str, held: Sequence[str], found: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The lines of what the libraries of a package's releases say: a head for each set of releases, and a line for each sentence.

    A release whose libraries could not be read counts as the one before it. What none of the later half of the releases says is left
    out: of old releases few are asked, and theirs are the documentation of operators that went since.
    """
    masks: dict[str, int] = {}
    said: frozenset[str] = frozenset()
    for place, release in enumerate(held):
        said = found.get(release, said)
        for text in said:
            masks[text] = masks.get(text, 0) | 1 << place
    by_mask: dict[int, list[str]] = {}
    for text, mask in masks.items():
        if not mask >> len(held) // 2:
            continue
        by_mask.setdefault(mask, []).append(text)
    for mask, texts in sorted(by_mask.items()):
        yield f"in {package}.libraries {write(mask, held)}"
        yield from (f"raise\t\t1\t\t{text}" for text in sorted(texts))


def without_libraries(text: str, package: str) -> str:
    """The messages of a package without those of its libraries."""
    return re.sub(rf"(?m)^in {re.escape(package)}\.libraries .*\n(?:raise\t.*\n)*", "", text)


def libraries_in(text: str, package: str) -> str:
    """The messages of a package's libraries, as they stand among its messages."""
    return "".join(re.findall(rf"(?m)^in {re.escape(package)}\.libraries .*\n(?:raise\t.*\n)*", text))
