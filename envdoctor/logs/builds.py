"""A package that is compiled where it is installed, and what its build lacked.

Whose build it is stands in the lines of the installer; what stopped it, in those of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.logs.build_words import advise_build, explain_build, needs_torch, quote_build
from envdoctor.logs.further_causes import FURTHER, of_this_environment, with_fork
from envdoctor.logs.gone_modules import GONE, say_later
from envdoctor.logs.installer_rules import BUILD
from envdoctor.logs.wording import named
from envdoctor.records import dataclass
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import releases
from envdoctor.world.wheel_pythons import SYSTEMS, wheels_beside_source

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
# What stands before no package's name: SAM 2 says of an extension that it goes without, "Failed to build the SAM 2 CUDA extension".
_ARTICLE = r"(?:the|an?|this|your|my|its?|any)\b"
# pip's and uv's own words, and the folders that pip unpacks into.
_WHOSE = (
    re.compile(
        rf"Failed to (?:download and )?build:? (?!installable wheels|{_ARTICLE})[`']?(?P<name>{_NAME})"
        r"(?:[@=]{1,2}(?P<version>[\w.+!-]{1,40}))?[`']?"
    ),
    re.compile(rf"(?:Failed building|ERROR: Failed to build|Building) (?:wheel|editable) for (?P<name>{_NAME})(?= \(|\s|$)"),
    re.compile(rf"Could not build wheels for (?P<name>{_NAME})(?=,| )"),
    re.compile(rf"Failed to build installable wheels for some pyproject\.toml based projects \(?(?P<name>{_NAME})"),
    re.compile(r"pip-install-\w{4,12}[\\/](?P<name>[A-Za-z][\w.-]{0,80}?)_[0-9a-f]{32}[\\/]"),
    re.compile(r"Error building extension '(?P<name>[\w.-]{2,60})'"),
    re.compile(r"torch_extensions/(?:[\w.-]{1,60}/){1,3}(?P<name>[\w+-]{1,60})/\S{1,80}: cannot open shared object"),
    re.compile(rf"^╰─> (?P<name>{_NAME})$"),
    re.compile(rf"Failed to fetch wheel: (?P<name>{_NAME})==(?P<version>[\w.+!-]{{1,40}})"),
    # What rustc and nvcc print of a source whose folder has the package's name.
    re.compile(r"--> (?P<name>tokenizers|safetensors|pydantic-core|tiktoken|cryptography|orjson)(?:-lib|-python)?/src/"),
    re.compile(rf"error likely indicates that [`'](?P<name>{_NAME})(?:@(?P<version>[\w.+!-]{{1,40}}))?[`'] depends"),
)
_STOPPED = re.compile(
    rf"subprocess-exited-with-error|did not run successfully|Failed building wheel|Failed to (?:download and )?build(?! {_ARTICLE})|"
    r"Could not build wheels|"
    r"Error building extension|error: could not compile|casting `&T` to `&mut T` is undefined|"
    r"legacy-install-failure|ninja: build stopped: subcommand failed|"
    r"[Bb]uild backend (?:returned an error|failed to )|doesn't declare it as a build dependency|metadata-generation-failed"
)


# What deepspeed compiles when it is first used.
EXTENSIONS = dict.fromkeys(
    ("fused-adam", "cpu-adam", "cpu-adagrad", "cpu-lion", "fused-lamb", "fused-lion", "async-io", "transformer-inference", "utils",
     "quantizer", "random-ltd", "sparse-attn", "spatial-inference", "ragged-ops", "fp-quantizer"),
    "deepspeed",
)  # fmt: skip
_UNTOLD = "what it lacked stands in the lines before, and not in what was pasted"
# https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/issues/2250
_ON_WINDOWS = (
    "Visual Studio's Build Tools with 'Desktop development with C++', which most such builds on Windows lack, then the same again; or a "
    "release with a wheel for this Python (an older Python has more of them)"
)
_NOT_PASTED = "what the build lacked was not pasted"
_LOOK = "look above for what the compiler or the build said first, or take a release with a wheel for this Python and torch"
_IMPORTS = re.compile(r"its build (?:imports|asks for) ([A-Za-z][\w-]{0,60})")


@dataclass(frozen=True, slots=True)
class _Cause:
    """What stopped a build: how the log says it, what the build lacked, and what to do; ``{0}`` is what the text names."""

    says: re.Pattern[str]
    lack: str
    advice: str


# The words of torch.utils.cpp_extension, pip, setuptools, gcc, cmake and setuptools-rust, each as their releases print them.
_CAUSES = (
    _Cause(
        re.compile(
            r"The detected CUDA version \(([\d.]{2,8})\) mismatches the version that was used to compile\s{1,9}"
            r"PyTorch \(([\d.]{2,8})\)"
        ),
        "the CUDA toolkit of this machine is {0}, and torch was built for {1}",
        "install the toolkit {1} and set CUDA_HOME to it, or take a torch for CUDA {0}",
    ),
    _Cause(
        re.compile(r"CUDA_HOME environment variable is not set|nvcc was not found|No such file or directory: '?(?:/\S{1,80})?/bin/nvcc"),
        "there is no CUDA toolkit (nvcc) where it is built",
        "take a wheel that fits torch, Python and CUDA, or install the toolkit of the release that torch was built for and set CUDA_HOME",
    ),
    # https://github.com/AutoGPTQ/AutoGPTQ/issues/229, https://github.com/ModelCloud/GPTQModel/issues/1528: setup.py looks for torch itself
    _Cause(
        re.compile(r"(torch) is not installed, please install torch first|ModuleNotFoundError: No module named (torch)$"),
        "its build wants torch and sees none: it is not there, or pip builds apart from what is installed",
        "pip install torch, then pip install --no-build-isolation {name}",
    ),
    # setup.py of auto-gptq and others catch it, and terminals break the sentence: https://github.com/astral-sh/uv/issues/15098
    _Cause(
        re.compile(r"\bNo module named (?:[\s│|❱]{0,40})['\"]?(torch)['\"]?$"),
        "its build imports torch, which an isolated build does not see",
        "pip install torch, then pip install --no-build-isolation {name}",
    ),
    _Cause(
        re.compile(r"ModuleNotFoundError: No module named '(pkg_resources)'"),
        "its build imports {0}, which setuptools no longer has from 82 on",
        "pip install 'setuptools<82' wheel, then pip install --no-build-isolation {name}",
    ),
    _Cause(
        re.compile(r"ModuleNotFoundError: No module named '(torch|numpy|packaging|wheel|setuptools|psutil|Cython)'"),
        "its build imports {0}, which an isolated build does not see",
        "pip install {0}, then pip install --no-build-isolation {name}",
    ),
    # https://github.com/kraten/vehicle-speed-check/issues/20: cmake 3.12.0 as a source, and the module of scikit-build
    _Cause(
        re.compile(r"ModuleNotFoundError: No module named '(?:skbuild)'"),
        "its build imports skbuild, which scikit-build brings",
        "pip install --upgrade pip, and a later release of it, which has a wheel; else pip install scikit-build, then "
        "pip install --no-build-isolation {name}",
    ),
    # https://github.com/dylanaraps/pywal/issues/691
    _Cause(
        re.compile(r"module 'setuptools' has no attribute 'setup'"),
        "the setuptools that is found is an empty or broken one, or a folder of that name stands before it",
        "python -c 'import setuptools; print(setuptools.__path__)' shows which; pip install --force-reinstall setuptools wheel",
    ),
    _Cause(
        re.compile(r"(Microsoft Visual C\+\+ 1\d\.\d or greater is required)"),
        "there is no C++ compiler: {0}",
        "install the Build Tools for Visual Studio, or take a release with a wheel for this Python",
    ),
    _Cause(
        re.compile(
            r"can'?t find Rust compiler|Cargo, the Rust package manager, is not installed"
            r"|(casting `&T` to `&mut T` is undefined behavior)"
        ),
        "its source is Rust, and the compiler is missing or refuses it",
        "take a release with a wheel for this Python; else install rustc, or an older one where it refuses the source",
    ),
    _Cause(
        re.compile(r"Unable to pre-compile (\w{2,40})"),
        "it is told to compile {0} beforehand and lacks what that needs (async_io: libaio-dev)",
        "leave DS_BUILD_OPS unset, so that operators are compiled when they are used",
    ),
    _Cause(
        re.compile(r"nvcc fatal\s{0,3}: Value 'c\+\+(\d\d)' is not defined for option 'std'"),
        "nvcc of this toolkit does not know C++{0}, which torch wants",
        "install a newer toolkit, and set CUDA_HOME to its one folder",
    ),
    _Cause(
        re.compile(
            r"(?:command|unable to execute) '?(?:[\w/.-]{0,80}/)?((?:x86_64-linux-gnu-)?(?:gcc|g\+\+|cc|c\+\+|clang|cl\.exe))'?"
            r"(?: failed: )?:? ?[Nn]o such"
        ),
        "there is no compiler ({0}) where it is built",
        "install it (build-essential has it), or take a release with a wheel for this Python",
    ),
    _Cause(
        re.compile(r"\['which', '((?:[\w-]{0,20})(?:g\+\+|c\+\+|gcc|cl))'\]' returned non-zero"),
        "there is no compiler ({0}) where it is built",
        "install it (build-essential has it), or take a release with a wheel for this Python",
    ),
    _Cause(
        re.compile(r"(?:\bld|collect2|lld)\b.{0,12}cannot find -l(\w[\w+.-]{0,40})"),
        "the linker finds no lib{0}",
        "install the development files of lib{0} (of CUDA's: the whole toolkit, as conda install -c nvidia cuda-toolkit), and name "
        "their folder in LIBRARY_PATH",
    ),
    _Cause(
        re.compile(r"(CUDA_ARCHITECTURES) is empty for target|Failed to detect a default CUDA architecture"),
        "CMake finds no nvcc that works, so that it knows no architecture to compile for",
        "CUDACXX=/usr/local/cuda/bin/nvcc of a toolkit that knows this GPU and takes this gcc, with -DCMAKE_CUDA_ARCHITECTURES=native in "
        "CMAKE_ARGS; or a ready wheel of {name} for this CUDA",
    ),
    _Cause(
        re.compile(r"fatal error: (Python\.h): No such file"),
        "the headers of this Python are missing ({0})",
        "install the headers of this very Python (python3-dev), or take a release with a wheel for it",
    ),
    # https://github.com/facebookresearch/fairseq/issues/2892
    _Cause(
        re.compile(r"/(\w{3,60})\.(?:cu|cpp|cc|c):\d{1,6}[:\d]{0,8}: fatal error: (\1\.(?:h|hpp|cuh)): No such file"),
        "its source archive lacks {1}, a header of its own",
        "another release of {name}, or its repository in place of the archive: pip install git+https://ADDRESS-OF-ITS-REPOSITORY",
    ),
    # The folders of a toolkit: include/ of cuda_cudart, libcurand, libcublas, libcusparse, libcusolver, libcufft, nvtx, cccl.
    # https://github.com/deepspeedai/DeepSpeed/issues/3411, https://docs.nvidia.com/cuda/cuda-installation-guide-linux/
    _Cause(
        re.compile(
            r"fatal error: "
            r"((?:cu(?:rand|blas|sparse|solver|fft|da|pti|device)\w{0,30}|nv(?:rtc|jpeg|ToolsExt|JitLink)\w{0,20}|device_launch_"
            r"parameters|host_defines|crt/\w{2,30}|(?:thrust|cub|nv|cooperative_groups|cuda)/[\w./]{2,60})\.(?:h|hpp|cuh)|nv/target|"
            r"cuda/std/\w{2,30}|cub/cub\.cuh): No such file"
        ),
        "{0} is a header of the CUDA toolkit, and the toolkit that is found lacks it: it is there in part, or is "
        "another one than CUDA_HOME "
        "ought to name",
        "the whole toolkit of the CUDA that torch was built for (torch.version.cuda): cuda-toolkit of NVIDIA's "
        "packages, or conda install -c "
        "nvidia cuda-toolkit=THAT.CUDA, and CUDA_HOME of its folder; nvcc alone brings no such headers",
    ),
    _Cause(
        re.compile(r"fatal error: (cudnn\w{0,20}\.h|nccl\.h): No such file"),
        "{0} is of cuDNN or NCCL, which are no part of the CUDA toolkit, and is missing where it is built",
        "the development files (libcudnn9-dev, libnccl-dev; with conda cudnn, nccl), or CPATH with the include folder of the wheel: "
        "site-packages/nvidia/cudnn/include, nvidia/nccl/include",
    ),
    _Cause(
        re.compile(r"fatal error: ([\w./+-]{3,80}): No such file"),
        "the header {0} is missing where it is built",
        "install the library that has {0}, with its headers, or take a release with a wheel for this Python",
    ),
    # https://github.com/AutoGPTQ/AutoGPTQ/issues/529
    _Cause(
        re.compile(r"error: (\[WinError 2\])|Error checking compiler version for (?:cl|g\+\+): \[WinError 2\]"),
        "a program that it calls is not on the PATH ([WinError 2]), the C++ compiler as a rule",
        "Visual Studio's Build Tools with 'Desktop development with C++', and the install in the x64 Native Tools prompt; or a ready "
        "wheel of {name} for this torch, CUDA and Python",
    ),
    _Cause(
        re.compile(r"CMake must be installed to build|No such file or directory: '(cmake)'"),
        "cmake is missing where it is built",
        "pip install cmake, or take a release with a wheel for this Python",
    ),
    _Cause(
        re.compile(r"unsupported GNU version! gcc versions? later than (\d{1,2})"),
        "nvcc of this toolkit takes gcc up to {0}",
        "install gcc {0} and set CC and CXX to it, or a newer toolkit",
    ),
    _Cause(
        re.compile(r"Unsupported gpu architecture '(compute_\d{2,3}a?)'"),
        "nvcc of this toolkit does not know {0}",
        "install a newer toolkit, or name fewer architectures in TORCH_CUDA_ARCH_LIST",
    ),
    _Cause(
        re.compile(r"(?:g\+\+|cc1plus|nvcc).{0,60}Killed|Killed signal terminated program"),
        "the compiler was killed for want of memory",
        "set MAX_JOBS=2 and build again",
    ),
    *(_Cause(*gone) for gone in (*GONE, *FURTHER)),
    _Cause(
        re.compile(r"use_2to3 is invalid|module 'pkgutil' has no attribute 'ImpImporter'"),
        "its source is older than the Python or the setuptools that build it",
        "{asker}, or an older Python",
    ),
    _Cause(
        re.compile(r"Extra build requirement `([\w-]{1,40})` was declared with `match-runtime"),
        "uv is told to build it against the {0} of the lock, and it declares no static metadata",
        "give it some in [tool.uv] dependency-metadata, or leave match-runtime out",
    ),
    # uv's hint, whose lines terminals break: https://github.com/groundlight/r1_vlm/issues/27
    _Cause(
        re.compile(r"\bon [`']([A-Za-z][\w.-]{0,60})[`'],? but (?:doesn't|does not) declare it"),
        "its build imports {0}, which an isolated build does not see",
        "pip install {0}, then pip install --no-build-isolation {name}",
    ),
    _Cause(
        re.compile(r"\bNo matching distribution found for ([A-Za-z][\w.-]{0,60}(?:[=<>!~]{1,2}[\w.]{1,30})?)"),
        "its build asks for {0}, of which there is no file for this Python and platform",
        "take a Python for which {0} has a wheel, or another release with a wheel for this one",
    ),
    _Cause(
        re.compile(r"\bModuleNotFoundError: No module named '([A-Za-z_]\w{1,60})"),
        "its build imports {0}, which is not there",
        "pip install what gives {0} (its page names it), then pip install --no-build-isolation {name}",
    ),
)


_SOURCE = re.compile(rf"(?:Using cached|Downloading) (?:\S{{0,200}}/)?(?P<name>{_NAME})-(?P<version>\d[\w.]{{0,30}}?)\.(?:tar\.gz|zip)\b")
# An older pip goes on with setup.py where it could build no wheel.
_CAME = re.compile(r"^\s*Successfully installed(?P<names> .{1,4000})$")
# A frame in what an installer unpacked to build it; whoever pastes that need not have pasted the installer's own words.
# A wheel that was collected beside it is for the Python that runs.
_TAGGED = re.compile(r"-cp3(?P<minor>\d{1,2})-(?:cp3\d{1,2}|abi3)?\S{0,60}\.whl")
# What is asked of setup.py before anything is compiled: there it fails of its own imports.
_BEFORE_COMPILING = re.compile(r"determine extra requires|Getting requirements to build wheel|get_requires_for_build")
_BROKEN = re.compile(r"\bNo(?: module(?: named)?)?\s*$")
# So near to it an import that fails is of that very setup.py.
_NEAR = 12
# What uv makes has no pip of its own: a plain pip is another environment's.
_BY_UV = re.compile(r"\u00d7 Failed to (?:download and )?build|error likely indicates that [`']|^\s*(?:[$%!>#] ?)?uv (?:sync|add|pip|run) ")
_BEING_BUILT = re.compile(r"pip-install-\w{4,12}[\\/][^\"]{1,200}[\\/]setup\.py")


def is_untold(hit: Hit) -> bool:
    """Whether a build is known to have failed, and nothing of why."""
    return hit.rule == BUILD and hit.headline.endswith(_UNTOLD)


def judge_build(lines: Sequence[tuple[int, str]], facts: Facts) -> tuple[Hit, int] | None:
    """The build that failed, with what it lacked, and the line that says so; None where no build did."""
    name = version = collected = installed = python = ""
    stopped = being_built = 0
    cause: tuple[str, str, int] | None = None
    place = len(_CAUSES)
    for number, line in _with_broken(lines):
        if _STOPPED.search(line):
            stopped = number
        if _BEING_BUILT.search(line):
            being_built = number
        if (came := _CAME.search(line)) is not None:
            installed = canonical(came["names"])
        if not stopped and (tag := _TAGGED.search(line)) is not None and f"-cp3{tag['minor']}-cp3{tag['minor']}" in line:
            python = f" 3.{tag['minor']}"
        if not stopped and (source := _SOURCE.search(line)) is not None:
            collected, version = canonical(source["name"]), source["version"]
        for pattern in _WHOSE:
            found = pattern.search(line)
            if found is not None:
                name, version = (
                    EXTENSIONS.get(canonical(found["name"]), canonical(found["name"])),
                    found.groupdict().get("version") or version,
                )
        for at, one in enumerate(_CAUSES[:place]):
            if (told := one.says.search(line)) is not None and (one is not _CAUSES[-1] or 0 < number - being_built < _NEAR):
                words = [word or "" for word in told.groups()]
                cause, place = (one.lack.format(*words), one.advice.format(*words, name="{name}", asker="{asker}"), number), at
                break
    stopped = stopped or (being_built if cause else 0)
    # pip builds what it collected last, before it collects anything more.
    name = name or collected
    if not stopped or not (name or cause) or (name and re.search(rf" {re.escape(name)}-\d", installed)):
        return None
    lack, advice, at_line = cause or _unexplained(
        lines, name, version if name == collected else "", python, stopped, windows=facts.value("os") == "windows"
    )
    lack, advice = of_this_environment(lack, tuple(line for _, line in lines)), with_fork(name, advice)
    lacks = _IMPORTS.match(lack)
    headline = f"the build of {name or 'a package'} {version}".strip() + f" failed: {lack}"
    packages = named(name, package_of(lacks[1]) if lacks else "")
    advice = advice.replace("{asker}", say_later(name, lines)).replace("{name}", f"{name}=={version}" if version else name or "PACKAGE")
    if advice.startswith("pip install torch,") and (wanted := _torch_of(name, version)):
        advice = f'pip install "{wanted}", for which {name} {version} was made,{advice.removeprefix("pip install torch,")}'
    if any(_BY_UV.search(line) for _, line in lines):
        advice = re.sub(r"(?<!uv )pip install", "uv pip install", advice)
    return Hit(BUILD, True, (), headline=headline, packages=packages, edge=name, advice=advice), at_line


def _torch_of(name: str, version: str) -> str:
    """The one release of torch that a release's wheels ask for; empty where they take several."""
    asked = [f"torch{one.specifier}" for one in dependencies(name, version) or () if one.name == "torch"] if version else []
    return next((one for one in asked if re.fullmatch(r"torch==[\d.]+", one)), "")


def _with_broken(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, those whole that a terminal broke before the name of a module."""
    for at, (number, line) in enumerate(lines):
        broken = at + 1 < len(lines) and _BROKEN.search(line) is not None
        yield number, f"{line.rstrip()} {lines[at + 1][1].strip(' │|')}" if broken else line


def _unexplained(
    lines: Sequence[tuple[int, str]], name: str, version: str, python: str, stopped: int, *, windows: bool
) -> tuple[str, str, int]:
    """What a build said in words of its own, or else what is certain without them. That it was built at all comes before either."""
    known, said = explain_build(lines), quote_build(lines)
    lack, advice = _of_source(name, version, python)
    if lack != _UNTOLD:
        words, number = (known[0], known[2]) if known is not None else said or ("", stopped)
        return (lack.replace(_NOT_PASTED, f"the build then failed: {words}") if words else lack), advice, number
    if known is not None:
        return known
    if needs_torch(name) and any(_BEFORE_COMPILING.search(line) for _, line in lines):
        return "its setup.py imports torch, which an isolated build does not see, and it ended there", advise_build(name, version), stopped
    if said is not None:
        return said[0], advise_build(name, version) or "look at that line first: what follows it only says that the build ended", said[1]
    return lack, advise_build(name, version) or (_ON_WINDOWS if windows else advice), stopped


def _of_source(name: str, version: str, python: str) -> tuple[str, str]:
    """What is certain where the build's own words were not pasted: that pip took a source means that it found no wheel."""
    if not version or any(one.version == version and not one.wheel for one in releases(name)):
        return _UNTOLD, _LOOK  # nobody has a wheel of it
    this = f"Python{python}" if python else "this Python"
    lack = f"pip took its source, as it has no wheel of that release for {this} and this platform, and {_NOT_PASTED}"
    newest = _newest_python(name, version)
    which = f"Python {newest} (conda create -n ENV python={newest}), for which" if newest else "a Python for which"
    older = "" if newest else f" (an older one, where {this} is new)"
    advice = f"{which} {name} {version} has a wheel{older}, or a release of {name} with one for {this}: pip install -U {name}"
    return lack, advice


def _newest_python(name: str, version: str) -> str:
    """The newest Python that a release has wheels for on all three systems; empty where nothing is known of it, or all of them have one."""
    wheels = wheels_beside_source(name, version)
    newest = [number for system in SYSTEMS if wheels is not None and (number := wheels.newest(system)) is not None]
    return f"3.{min(newest)}" if newest else ""
