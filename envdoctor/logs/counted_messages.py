"""What follows from the numbers and names of a message by computing: sizes that do not divide, limits, the codes with which systems end
programs, kinds of adapters by the names of their weights.

https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55 has the codes of Windows,
https://github.com/KohakuBlueleaf/LyCORIS the names of weights,
https://github.com/abetlen/llama-cpp-python/blob/main/CHANGELOG.md the release from which it reads GGUF alone (0.1.79).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

RUN, OF_INPUT = "error-of-the-run", "error-of-what-was-given"
_DIVIDES = re.compile(r"divisible|divides?\b|multiple of|equal(?:ly)? chunk|evenly", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]*\w)")
_LIMIT = re.compile(
    r"(?P<a>[A-Za-z_][\w.]{1,60}) ?\((?P<x>\d{1,12})\) (?:must|should|has to|needs to) be (?P<how>>=|<=|>|<|=="
    r"|greater than or equal to|less than"
    r" or equal to|greater than|less than|larger than|smaller than|at least|at most|equal to|a multiple of) (?:the )?"
    r"(?P<b>[A-Za-z_][\w.]{1,60}) ?\((?P<y>\d{1,12})\)"
)
_MORE = frozenset((">=", ">", "greater than or equal to", "greater than", "larger than", "at least"))
_WINDOWS_CODES = {
    0xC0000005: ("it read or wrote memory that is not its own (access violation)", ""),
    0xC0000094: ("an integer was divided by zero in compiled code", ""),
    0xC000001D: (
        "a compiled file uses an instruction that this processor does not have",
        "an older release of the package that was loaded last",
    ),
    0xC0000135: ("a DLL that it needs is not there", "the Visual C++ runtime (vc_redist.x64.exe), and the package's own requirements"),
    0xC0000139: (
        "a DLL has not the function that is asked of it: two builds are mixed",
        "install the package and what it loads anew, together",
    ),
    0xC00000FD: ("its stack overflowed: a function calls itself without end", ""),
    0xC0000409: ("compiled code stopped itself (a failed check, abort)", "the lines above: an assertion of CUDA or of a library"),
    0xC0000374: ("its heap was damaged by compiled code", ""),
    0xC000013A: ("it was ended from the keyboard or by closing its window", ""),
}
_UNIX_CODES = {
    4: "an instruction that this processor does not have (SIGILL)",
    6: "compiled code stopped itself (SIGABRT): an assertion or a C++ exception, whose text stands above",
    7: "memory that was mapped could not be had (SIGBUS): /dev/shm of a container is full, or a mapped file was cut",
    8: "an arithmetic fault in compiled code (SIGFPE)",
    11: "compiled code read or wrote where it may not (SIGSEGV): parts of other builds side by side, mostly",
}
_EXIT = re.compile(
    r"(?:exit ?code|exited with code|exit status|return code|returncode|errorlevel|Exit Code|exitcode)\W{0,4}?(?P<code>-?\d{1,10}"
    r"|0x[0-9A-Fa-f]{8})"
)
_SSH = re.compile(r"Command '\[?'?ssh .{0,300}?(?P<host>[\w.-]{2,80}) hostname'? returned non-zero exit status 255")
_ADAPTERS = (
    (r"\bhada_w\d|\.hada_", "LoHa (LyCORIS)"),
    (r"lokr_w\d|\.lokr_", "LoKr (LyCORIS)"),
    (r"\bdora_scale|lora_magnitude_vector", "DoRA"),
    (r"lora_unet_\w*(?:resnets|downsamplers|upsamplers|conv)\w*\.(?:alpha|lora)", "LoCon (LoRA of convolutions too, LyCORIS)"),
    (r"lora_te[12]_", "LoRA for SDXL (it has two text encoders)"),
    (r"lora_unet_double_blocks|\bdouble_blocks\.|single_transformer_blocks", "LoRA for Flux"),
    (r"lora_unet_|lora_te_", "LoRA in kohya's form"),
)
_UNMATCHED = re.compile(r"KeyError|Failed to match keys|lora key not loaded|[Uu]nexpected key|not found in (?:the )?model|[Mm]issing key")
_MEMBER = re.compile(r"^_?[A-Z0-9][A-Z0-9_]{1,40}$|^_\d[A-Z]$")
_VARIABLE = re.compile(r"^['\"](?P<name>[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){0,6})['\"]$")
# The first four bytes of a file as a number, as llama.cpp prints them.
_MAGIC = re.compile(r"(?:magic, version\) combination|invalid magic number):? ?(?P<magic>[0-9a-f]{8})(?:, ?(?P<version>[0-9a-f]{8}))?")
_GGML = {"67676d6c": "GGML", "67676d66": "GGMF", "67676a74": "GGJT (GGML)", "67676c61": "GGLA (an adapter)"}
_OF_LAUNCHERS = frozenset(("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK", "NODE_RANK"))


def judge_counted(failure: Failure) -> Hit | None:
    """What the numbers and names of a message come to; None where nothing can be computed."""
    judges: tuple[Callable[[Failure], Hit | None], ...] = (_magic, _adapter, _limit, _division, _ended, _ssh, _variable, _member)
    return next((hit for judge in judges if (hit := judge(failure)) is not None), None)


def _magic(failure: Failure) -> Hit | None:
    """What kind of file llama.cpp found where it looked for another: the letters that its number stands for."""
    told = _MAGIC.search(failure.told)
    if told is None:
        return None
    magic = told["magic"]
    if magic in ("46554747", "47475546"):
        headline = "The file is a GGUF, and the llama.cpp that reads it is of before GGUF (August 2023)"
        advice = "a newer llama.cpp or llama-cpp-python: pip install --upgrade --no-cache-dir llama-cpp-python (0.1.79 is the first)"
    elif magic in _GGML:
        headline = f"The file is {_GGML[magic]}, the kind of before GGUF (August 2023), and the llama.cpp that reads it does not take it"
        advice = (
            "the GGUF of the same model, or convert_llama_ggml_to_gguf.py of llama.cpp; else the llama-cpp-python of the file's day "
            "(0.1.78 or "
            "before)"
        )
    else:
        headline = f"The file is no GGUF: it begins with 0x{magic}"
        advice = "its size against the hub's: a cut download, a page of HTML or a pointer of git-lfs; fetch it again"
    detail = f"the message states its first four bytes ({magic})"
    return Hit(RUN, True, detail=detail, edge=f"code:magic:{magic}", headline=headline, advice=advice)


def _limit(failure: Failure) -> Hit | None:
    told = _LIMIT.search(failure.message)
    if told is None or told["how"] == "a multiple of":
        return None
    lower, raise_ = (told["a"], told["b"]) if told["how"] not in _MORE else (told["b"], told["a"])
    return Hit(
        OF_INPUT,
        True,
        detail=f"{told['x']} {told['how']} {told['y']} does not hold; where the numbers are counted in other units (prompts, answers, "
        "tokens, processes), the setting of one is multiplied by another before they are compared",
        edge=f"code:limit:{told['a']}:{told['b']}"[:120],
        headline=f"{told['a']} is {told['x']} and {told['b']} is {told['y']}, and the first has to be {told['how']} the second",
        advice=f"raise {raise_}, or lower {lower}, in the settings of the run",
    )


def _division(failure: Failure) -> Hit | None:
    """Two numbers of which one should divide the other: what is left over, and what would divide it."""
    if _DIVIDES.search(failure.message) is None:
        return None
    plain = failure.message.partition(" valid values")[0]
    product = re.search(r"\((?P<a>\d{1,6}) ?[x*] ?(?P<b>\d{1,6})\)", plain)
    numbers = [int(one) for one in _NUMBER.findall(re.sub(r"\(\d+ ?[x*] ?\d+\)", "", plain))]
    if product is not None:
        numbers.insert(0, int(product["a"]) * int(product["b"]))
    if len(numbers) != 2 or (min(numbers) < 2 and product is None) or 0 in numbers:
        return None
    whole, part = numbers
    if whole % part == 0:
        return None
    fits = list(_divisors(whole))
    return Hit(
        OF_INPUT,
        True,
        detail=f"{whole} = {whole // part} x {part} + {whole % part}",
        edge="code:division",
        headline=f"{whole} is no multiple of {part}",
        advice=f"in place of {part} one of {', '.join(str(one) for one in fits)}, or a multiple of {part} in place of {whole} "
        f"({-(-whole // part) * part}): the message names both settings (batch, GPUs or processes, generations, heads)",
    )


def _divisors(whole: int) -> Iterator[int]:
    """The numbers that divide another one, up to a dozen."""
    found = [one for one in range(1, min(whole, 100_000) + 1) if whole % one == 0]
    yield from found[:12]


def _ended(failure: Failure) -> Hit | None:
    """What the code means with which a program or a worker ended."""
    told = _EXIT.search(failure.told)
    if told is None:
        return None
    code = int(told["code"], 0)
    windows = _WINDOWS_CODES.get(code & 0xFFFFFFFF) if code >= 0x80000000 or code < -0x10000 else None
    signal = -code if -64 < code < 0 else code - 128 if 128 < code < 160 else 0
    if windows is not None:
        means, advice = windows
        advice = advice or (
            "python -X faulthandler shows which package's code ran: install it anew, or another release; a GPU newer than the torch "
            "that runs "
            "(RTX 50 needs CUDA 12.8's) ends so too"
        )
        edge, headline = f"{code & 0xFFFFFFFF:#x}", f"A process was ended by Windows with 0x{code & 0xFFFFFFFF:08X}: {means}"
    elif signal in _UNIX_CODES:
        edge, headline = f"signal-{signal}", f"A process was ended by the signal {signal}: {_UNIX_CODES[signal]}"
        advice = "python -X faulthandler (PYTHONFAULTHANDLER=1) shows which package's code ran: install it anew, or another release of it"
    else:
        return None
    behind = "no Python error belongs to it: what ended it happened in compiled code"
    return Hit(RUN, None, detail=behind, edge=f"code:ended:{edge}", headline=headline, advice=advice)


def _ssh(failure: Failure) -> Hit | None:
    told = _SSH.search(failure.told)
    if told is None:
        return None
    return Hit(
        RUN,
        True,
        detail="the launcher of several nodes logs in there without a password before it starts anything, also on its own node",
        edge="code:ssh",
        headline=f"ssh to {told['host']} failed (255): it is not reached, or asks for a password",
        advice=f"ssh-copy-id {told['host']}, then ssh {told['host']} hostname by hand; another port stands in ~/.ssh/config",
    )


def _adapter(failure: Failure) -> Hit | None:
    """Weights of an adapter for which the program that loads them has no place: of which kind they are."""
    kind = next((kind for pattern, kind in _ADAPTERS if re.search(pattern, failure.told)), "")
    if not kind or _UNMATCHED.search(failure.told) is None:
        return None
    return Hit(
        OF_INPUT,
        None,
        detail=f"by the names of its weights the file is a {kind}",
        edge=f"code:adapter:{kind}",
        headline=f"The program has no place for weights of the adapter: it is a {kind}",
        advice="a program or extension that knows this kind and form, newest release; and a base model of the family it was trained for",
    )


def _variable(failure: Failure) -> Hit | None:
    """A key that is written as variables of the environment are."""
    told = _VARIABLE.match(failure.message.strip()) if failure.kind == "KeyError" else None
    if told is None or failure.frames or (told["name"] not in _OF_LAUNCHERS and "_" not in told["name"]):
        return None
    launched = told["name"] in _OF_LAUNCHERS
    return Hit(
        RUN,
        True if launched else None,
        detail="torchrun, accelerate launch and deepspeed set it for the processes that they start"
        if launched
        else "it is written as one, and is read without a value to fall back on",
        edge=f"code:variable:{told['name']}",
        headline=f"The environment has no variable {told['name']}",
        advice="start the script by its launcher: torchrun --nproc_per_node=N SCRIPT"
        if launched
        else f"export {told['name']}='' (or its value) before the program starts; or the next release of what reads it",
    )


_FACES = {"_2D": "TWO_D", "_3D": "THREE_D"}


def _member(failure: Failure) -> Hit | None:
    """A name in capitals and nothing else: Python's words for a member that an Enum does not have."""
    if failure.kind != "AttributeError" or _MEMBER.match(failure.message.strip()) is None:
        return None
    name = failure.message.strip()
    renamed = _FACES.get(name, "")
    faces = f" (face-alignment calls it {renamed} since 1.3.5)" if renamed else ""
    return Hit(
        RUN,
        None,
        detail=f"an Enum says no more than the name: members were renamed in a later release{faces}, or came with one",
        packages=("face-alignment",) if faces else (),
        edge=f"code:member:{name}",
        headline=f"An enumeration has no member {name}",
        advice='pip install "face-alignment<1.3.5", or the new name in the code'
        if faces
        else "the line above names the enumeration: the release that the code was written for",
    )
