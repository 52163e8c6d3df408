"""What the dynamic linker and compiled functions say, as findings: libraries that are too old or not there, symbols, calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.builds import EXTENSIONS
from envdoctor.logs.cuda_wheels import wheel_beside_torch
from envdoctor.logs.libraries import (
    AbsentLibrary,
    LibraryFloor,
    UndefinedSymbol,
    package_of_file,
    parse_absent,
    parse_extension,
    parse_floor,
    parse_retold,
    parse_undefined,
)
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import caller_of, describe, named, reasons
from envdoctor.records import replace
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

FLOOR, SYMBOL, NO_LIBRARY = "error-system-library-too-old", "error-symbol-undefined", "error-shared-library-missing"
ARGUMENT = "error-argument-refused"

LIBRARY_TEXT = re.compile(
    r"undefined symbol: |did not manage to locate a library called|\.so[\d.]{0,12}: cannot open shared object"
    r"|version .{0,4}(?:GLIBC|GLIBCXX|CXXABI)_|Unable to load any of \{lib|\.so\S{0,12} .{0,12}[Uu]ndefined symbol"
    r"|[Uu]ndefined symbols? (?:in|of|from) \S{1,300}\.so|^\W{0,3}[a-z][\w-]{3,40}:? [Uu]ndefined symbols?\W{0,3}$"
)
# The linker names the library that it loaded, by the major that was asked for, and in which the symbol is not.
_OLDER = re.compile(
    r"undefined symbol: (?!_{0,2}nvJitLink)\w{2,200}, version (?P<library>lib(?:cu|nv)\w{2,30}\.so\.\d{1,3}(?:\.\d{1,3})?)\b"
)
_OF_CUDA = re.compile(r"lib(?:cu(?:sparse|blas|blasLt|dnn|solver|fft|rand|dart|pti)|nv(?:JitLink|rtc)|nccl)\w{0,20}\.so")
# What pybind11 says of a call that fits none of its signatures.
BINDING = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(\): incompatible (?:function|constructor) arguments")
# The line of code that somebody pasted with the error.
_IMPORT = re.compile(r"(?m)^\W{0,8}(?:from|import) ([A-Za-z_]\w{1,40})")
# What is compiled against one torch.
AGAINST_TORCH = (
    "flash-attn", "xformers", "torchvision", "torchaudio", "torchtext", "vllm", "causal-conv1d", "mamba-ssm", "auto-gptq", "autoawq",
    "fbgemm-gpu", "sgl-kernel", "torch-scatter", "torch-sparse", "detectron2", "apex", "transformer-engine",
)  # fmt: skip
# The last whose wheels for x86_64 are of an older system (rules/system/torch-2-7-needs-glibc-2-28.toml).
_TORCH_OF_OLD_SYSTEMS = "<2.7"
_TOOLKIT = "CUDA_HOME of the release of torch.version.cuda, with nvcc and g++ there"
_BUILD_IN_PLACE = (
    "build it anew against the torch that is there: in its folder rm -rf build, then pip install --force-reinstall --no-deps "
    "--no-build-isolation . (or a wheel that its project has for this torch)"
)
# By these their setup.py compiles and fetches no wheel.
_FORCED = {
    "flash-attn": "FLASH_ATTENTION_FORCE_BUILD",
    "mamba-ssm": "MAMBA_FORCE_BUILD",
    "causal-conv1d": "CAUSAL_CONV1D_FORCE_BUILD",
}
# Objects of libtorch_python that stayed through all releases.
_OF_EVERY_TORCH = ("THPVariableClass",)
# A shorter name has too many neighbours.
_SHORT = 6


def judge_binding(function: str, failure: Failure) -> Hit | None:
    """A compiled function that is called in the way of another release: by its name, which begins as its package's does."""
    owner = next((name for name in sorted(listed(), key=len, reverse=True) if function.startswith(name.replace("-", "_") + "_")), "")
    if not owner or len(owner) < _SHORT:
        return None
    caller, where = caller_of(failure)
    who = f"{caller} calls it ({where})" if caller and caller != owner else "the code that calls it"
    detail = f"{function}() of {owner} takes other arguments than it is given: {who} was written for another release of {owner}"
    return Hit(ARGUMENT, True, (), detail=detail, packages=named(owner, caller), edge=f"{caller or 'code'}:{function}")


# It loads what runs on a GPU as a library of its own, and prints which of its libraries is missing.
_OF_ONNXRUNTIME = re.compile(r"libonnxruntime_providers_\w+\.so with error|onnxruntime_providers_\w+\.dll")


def judge_library(text: str, facts: Facts, failure: Failure | None = None) -> Hit | None:
    absent = parse_absent(text)
    if absent is not None:
        return _absent(absent, failure, facts, "onnxruntime" if _OF_ONNXRUNTIME.search(text) else "")
    if extension := parse_extension(text):
        return _not_built(extension, failure)
    floor = parse_floor(text)
    if floor is not None:
        return _floor(floor, facts)
    undefined = parse_undefined(text)
    if undefined is not None and (tag := _OLDER.search(text)) is not None:
        return _older_library(undefined, tag["library"])
    if undefined is None and (file := parse_retold(text)):
        return _retold(file, facts)
    return None if undefined is None else _symbol(undefined, facts)


def _retold(file: str, facts: Facts) -> Hit | None:
    """A file with an undefined symbol of which nobody quotes the symbol: whose file it is tells what it was built against.

    https://github.com/state-spaces/mamba/issues/28, https://github.com/pytorch/pytorch/issues/144244
    """
    if _OF_CUDA.match(file):
        torch = describe("torch", facts)
        return Hit(
            SYMBOL,
            True,
            detail=(
                f"{torch} brings the libraries of CUDA that it was built with; a {file}, or one that it takes, of an installed "
                f"toolkit or of "
                "conda is found before them, and is older"
            ),
            packages=("torch",),
            edge=f"{file}:retold",
            headline=f"Another {file} is loaded than the one that torch brings",
            advice="unset LD_LIBRARY_PATH, or take the folder of the installed CUDA out of it, before Python starts",
        )
    by = package_of_file(file) or package_of_file(re.sub(r"_\d$", "", file))
    # A word that is no file's name may be anything; of these packages it tells enough.
    if not by or (".so" not in file and by not in AGAINST_TORCH):
        return None
    against = "torch" if by in AGAINST_TORCH else ""
    what = "another torch, or a torch of another CUDA or C++ ABI, than the one that is there" if against else "another release of a library"
    again = f"pip uninstall -y {by}, then pip install --no-cache-dir --no-build-isolation {by}"
    return Hit(
        SYMBOL,
        True,
        reasons(by, against),
        detail=f"{describe(by, facts)} was built against {what}: {file} asks for a symbol that nothing loaded has",
        packages=named(by, against),
        edge=f"{by}:{file}"[:200],
        advice=f"{again}: a wheel that pip kept in its cache is of the torch of that day; or a wheel of {by} for this torch and CUDA",
    )


def _absent(one: AbsentLibrary, failure: Failure | None, facts: Facts, loader: str = "") -> Hit:
    caller, where = (loader, "") if failure is None or (loader and not failure.frames) else caller_of(failure)
    if caller == "cffi" and failure is not None:  # who loads a library by cffi stands before it
        caller, where = next(((package_of(name), "") for name in failure.packages if name != "cffi"), (caller, where))
    if failure is not None and not caller and (imported := _IMPORT.findall(failure.near)):
        caller = package_of(imported[-1])
    brings = one.owner() or one.of_system()
    if brings is not None and brings[0] in ("nvidia-cudnn-cu12", "nvidia-nccl-cu12"):
        brings = wheel_beside_torch(brings[0].removesuffix("-cu12"), facts), brings[1]
    detail = f"{describe(caller, facts) or 'a compiled file'} needs {one.library}{f' ({where})' if where else ''}, and it is not found"
    advice = brings[1] if brings is not None and one.owner() is None else ""
    if brings and not advice:
        detail += f": {brings[1]}"
    if one.library.startswith(("libtorch", "libc10")) and caller != "torch":
        advice = (
            "import torch before it; where that is done, the package anew for the torch that is there: pip install --force-reinstall "
            f"--no-deps --no-cache-dir --no-build-isolation {caller or 'PACKAGE'}"
        )
    if one.library.startswith("libbitsandbytes"):
        # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1559: a clone that was not built, or BNB_CUDA_VERSION
        detail += ": the bitsandbytes that is imported is a folder of its source that was not built, or has no library for that CUDA"
        advice = "unset BNB_CUDA_VERSION; pip install --force-reinstall --no-deps bitsandbytes, and the run outside of a clone of it"
    if one.library.startswith("libcudnn"):
        # https://github.com/SYSTRAN/faster-whisper, its README on LD_LIBRARY_PATH
        advice = (
            f"where pip installed cuDNN (pip list | grep cudnn) and its major is that of {one.library}: export "
            f"LD_LIBRARY_PATH=$(python3 -c "
            "'import os, nvidia.cublas.lib as b, nvidia.cudnn.lib as c; print(*b.__path__, *c.__path__, "
            "sep=os.pathsep)'), before the program "
            "starts; where the major is another, or none is there: pip install 'nvidia-cudnn-cu12==8.*' for .so.8, '==9.*' for .so.9"
        )
        if brings is not None and brings[0].endswith("-cu13"):
            # https://pypi.org/project/nvidia-cudnn-cu13/ begins with 9.
            advice = advice.replace("'nvidia-cudnn-cu12==8.*' for .so.8, '==9.*' for .so.9", f"'{brings[0]}==9.*' for .so.9")
    if brings is not None and (wheel := _wheel_of_torch(brings[0], caller, facts)):
        detail += f"; torch {facts.value('packages.torch')} of PyPI takes it from {wheel.partition('=')[0]}, which is not found beside it"
        advice = advice if one.library.startswith("libcudnn") else f'pip install "{wheel}", or the same torch anew with what it requires'
    # The library comes with torch's own wheel for that CUDA.
    of_torch = brings is not None and brings[0].startswith("nvidia-")
    packages = named(caller, brings[0] if brings else "", "torch" if of_torch else "")
    edge = f"{caller or 'code'}:{one.library}"
    # Which cuDNN belongs beside which torch the page on both says, and says it of this line.
    unless = ("cudnn-library-of-another-major",) if one.library.startswith("libcudnn") and not caller else ()
    return Hit(NO_LIBRARY, True, reasons(*packages), detail=detail, packages=packages, edge=edge, advice=advice, unless=unless)


def _wheel_of_torch(name: str, caller: str, facts: Facts) -> str:
    """The requirement of the stated torch that brings a library of CUDA; empty where it has it in its own wheel, or another one asks.

    https://github.com/pytorch/pytorch/issues/89417: torch 1.13.0 was the first whose wheel on PyPI left them to others.
    """
    torch = facts.value("packages.torch")
    if caller not in ("", "torch") or not isinstance(torch, Exact) or "+" in torch.text or facts.value(f"packages.{name}") is not None:
        return ""
    required = dependencies("torch", torch.text) or ()
    return next((f"{one.name}{one.specifier}" for one in required if one.name == name), "")


def _not_built(extension: str, failure: Failure | None) -> Hit:
    """An extension that is compiled when it is first used: its build failed, mostly in another process of the run, and left no file."""
    caller = caller_of(failure)[0] if failure is not None else ""
    owner = EXTENSIONS.get(extension.replace("_", "-"), "") or caller
    detail = (
        f"{owner or 'the project'} compiles {extension} when it is first used, and the build left no file: it failed above, "
        f"mostly in another "
        "process, with a toolkit of another CUDA than torch's, no compiler, or a library that the linker did not find"
    )
    advice = f"rm -rf ~/.cache/torch_extensions, start one process alone, and read its first line with 'error' or 'cannot find'; {_TOOLKIT}"
    edge = f"{owner or 'code'}:{extension}"
    headline = f"The extension {extension} was not built"
    return Hit(NO_LIBRARY, True, (), detail=detail, packages=named(owner), edge=edge, headline=headline, advice=advice)


def _floor(one: LibraryFloor, facts: Facts) -> Hit:
    whose = describe(one.by, facts) if one.by else one.file or "a compiled file"
    place = "the conda environment is older: conda install -c conda-forge libstdcxx-ng" if one.environment else "this system is older"
    detail = f"{whose} needs {one.name}_{one.version} ({one.since()}), and {one.library} of {place}"
    reasons = [(f"packages.{one.by}", f"needs {one.name}_{one.version}")] if one.by else []
    if one.name == "GLIBC" and facts.value("glibc") is not None:
        reasons.append(("glibc", f"<{one.version}"))
    return Hit(
        FLOOR,
        True,
        tuple(reasons),
        detail=detail,
        packages=named(one.by, "libstdcxx-ng" if one.environment else ""),
        pins=(("torch", _TORCH_OF_OLD_SYSTEMS),) if one.by == "torch" and one.name == "GLIBC" else (),
        advice=_newer_runtime(one),
        edge=f"{one.by or one.file}:{one.name}_{one.version}",
    )


def _newer_runtime(one: LibraryFloor) -> str:
    """What helps where the runtime of the compiler is too old; empty for glibc, which nobody replaces."""
    if one.name == "GLIBC" and one.by and one.by != "torch":
        forced = _FORCED.get(one.by, "")
        build = f"{forced}=TRUE pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation {one.by}" if forced else ""
        build = f"{build}, with nvcc there: what is compiled here uses this glibc; or " if build else ""
        return f"{build}an earlier release of {one.by}, whose wheels were made on an older system; or a container of Ubuntu 22.04 or later"
    if one.name not in ("GLIBCXX", "CXXABI"):
        return ""
    first = "LD_LIBRARY_PATH=$CONDA_PREFIX/lib (or LD_PRELOAD=$CONDA_PREFIX/lib/libstdc++.so.6)"
    if one.environment:
        return (
            "conda install -c conda-forge 'libstdcxx-ng>=12' into that environment; or, where the system's own is "
            "newer, have it loaded first: "
            "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
        )
    return (
        "under conda, whose libstdc++ is newer as a rule (strings $CONDA_PREFIX/lib/libstdc++.so.6 | grep GLIBCXX): "
        "have it loaded before the "
        f"system's: {first}, or import the package that needs it before torch; where it is not newer conda install -c conda-forge "
        "'libstdcxx-ng>=12'; without conda a newer system, or the package built from source here"
    )


def _older_library(one: UndefinedSymbol, library: str) -> Hit:
    """A library of CUDA that is of the right major and older than what asks it for a symbol: another copy is found first.

    https://github.com/Layne-Huang/PMDM/issues/5 (cudaLaunchKernelExC came with CUDA 11.8)
    """
    return Hit(
        SYMBOL,
        True,
        detail=(
            f"{one.by or one.file} was built with a later CUDA of that major, whose {library} has {one.plain}; the {library} that was "
            "loaded is an older one: of conda's cudatoolkit, of the system, or of a folder in LD_LIBRARY_PATH"
        ),
        packages=named(one.by),
        edge=f"{one.by or one.file}:{one.symbol}"[:200],
        headline=f"An older {library} is found before the one that {one.by or one.file} needs",
        advice=(
            f"unset LD_LIBRARY_PATH, and ldd on {one.file} shows which {library} is taken; under conda the cudatoolkit of "
            "torch.version.cuda in place of the older one, or a torch for the CUDA that is there"
        ),
    )


def _only_extension(facts: Facts, owner: str) -> str:
    """The one package that is stated and compiled against torch, where a symbol is of torch and no file is told."""
    stated = [name for name in AGAINST_TORCH if isinstance(facts.value(f"packages.{name}"), Exact)] if owner == "torch" else []
    return stated[0] if len(stated) == 1 else ""


def _other_abi(symbol: str) -> str:
    """What the form of std::string in a symbol says of the torch that a file was built for: torch's wheels changed it in 2.6.0.

    https://github.com/pytorch/pytorch/releases/tag/v2.6.0, its notes on CXX11_ABI=1; ``Ss`` is the old form in names as gcc writes them.
    """
    if "__cxx11" in symbol:
        return ", with the C++ ABI of torch's wheels from 2.6 on and of conda-forge's (the wheels until 2.5 have the other one)"
    if re.search(r"R?KSs|RSs", symbol) is not None:
        return ", with the C++ ABI of torch's wheels until 2.5 (later ones and conda-forge's have the other one)"
    return ""


def _symbol(one: UndefinedSymbol, facts: Facts) -> Hit:
    owner = next(
        (
            name.removeprefix("packages.")
            for name in facts
            if one.owner.startswith("nvidia-") and name.startswith(f"packages.{one.owner}-cu")
        ),
        one.owner,
    )
    if owner.startswith("nvidia-") and not re.search(r"-cu\d\d$", owner):
        owner = wheel_beside_torch(owner, facts)
    by = one.by or _only_extension(facts, owner)
    one = replace(one, by=by)
    whose = describe(by, facts) if by else one.file
    shown = one.plain if one.plain == one.symbol else f"{one.plain} ({one.symbol})"
    if owner and owner == one.by:
        detail = f"files of different releases of {owner} are mixed: {one.file} asks for {shown}"
    elif one.library:
        brought = f", which {describe(owner, facts)} brings" if owner and owner not in ("driver", "python") else ""
        abi = _other_abi(one.symbol) if owner == "torch" else ""
        detail = f"{whose} was built against another release of {one.library}{brought}{abi}: {one.file} asks for {shown}"
    else:
        detail = f"{whose} was built against another release of some library: {one.file} asks for {shown}"
    packages = named(one.by, owner if owner not in ("driver", "python") else "")
    built = f"pip install --force-reinstall --no-cache-dir --no-build-isolation --no-binary {one.by} {one.by}"
    known = one.by and one.by in listed()
    advice = f"take a wheel of {one.by} for this {owner or 'library'}, or build it against what is here: {built}" if known else ""
    edge = f"{one.by or one.file}:{one.symbol}"[:200]
    if owner == "torch" and not known:
        advice = _BUILD_IN_PLACE
    if one.symbol in _OF_EVERY_TORCH:
        # https://github.com/pytorch/extension-cpp/issues/6
        detail = f"{whose} asks for {shown}, which every release of torch has: torch was not imported before it"
        advice = f"import torch before {one.file.partition('.')[0]} in that script"
    if one.symbol.startswith("__cuda"):
        # https://github.com/NVIDIA/apex/issues/187
        detail = f"{whose} was compiled by an nvcc of another CUDA than the runtime that torch loads: {one.file} asks for {shown}"
        again = one.by or "PACKAGE"
        advice = (
            f"the toolkit of torch.version.cuda in CUDA_HOME (nvcc -V shows it), then {again} again: pip uninstall -y {again}, rm -rf "
            "build, and its install with --no-build-isolation --no-cache-dir"
        )
    if owner and owner == one.by:
        advice = f"pip install --force-reinstall --no-cache-dir {owner}"
    if one.by == "torch" and owner.startswith("nvidia-"):
        # https://github.com/pytorch/pytorch/issues/119932: another package holds the library back, or LD_LIBRARY_PATH has an older one.
        release = facts.get("packages.torch")
        pinned = f"torch=={release.value}" if release is not None and isinstance(release.value, Exact) else "torch"
        index = re.search(r"\+(cu\d{3}|cpu|rocm[\d.]+)$", pinned)
        pinned = f'"{pinned}"' + (f" --index-url https://download.pytorch.org/whl/{index[1]}" if index is not None else "")
        advice = (
            f"pip install --force-reinstall {pinned} brings the {owner} that it was built with; where the error stays, unset "
            "LD_LIBRARY_PATH, which has an older library"
        )
    if one.symbol.startswith(("__nvJitLink", "nvJitLink")):
        # https://github.com/mlcommons/inference/issues/1700, https://github.com/pytorch/pytorch/issues/111469
        detail += "; the libnvJitLink that is found first is of an older CUDA than the one that torch was built for"
        advice = (
            "unset LD_LIBRARY_PATH, or put site-packages/nvidia/nvjitlink/lib before the toolkit's folder in it; where "
            "the toolkit has to stay "
            "first, one as new as torch.version.cuda, or a torch for the CUDA of that toolkit"
        )
    return Hit(SYMBOL, True, reasons(*packages), detail=detail, packages=packages, edge=edge, advice=advice)


def broken_symbols(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines in which a linker's text goes on in the next one."""
    for (number, line), (_, rest) in pairwise(lines):
        if line.rstrip().endswith((": undefined", "undefined symbol:")):
            yield number, f"{line.rstrip()} {rest.strip()}"
