"""What stops a build besides, as ``builds`` reads it: a part of setuptools that is no distribution, a Windows SDK that is not there."""

from __future__ import annotations

import re

FURTHER = (
    # No index has a distribution of that name: https://github.com/JarodMica/dataset-maker/issues/13
    (
        re.compile(r"\bon [`'](pkg_resources)[`'],? but (?:doesn't|does not) declare it"),
        "its build imports {0}, which is a part of setuptools, and which setuptools no longer has from 82 on",
        "pip install 'setuptools<82' wheel, then pip install --no-build-isolation {name}; in a project of uv "
        "[tool.uv.extra-build-dependencies] with a line: PACKAGE = ['setuptools<82', 'wheel']",
    ),
    # https://github.com/coqui-ai/TTS/issues/4354: the headers of the C runtime are the SDK's, and Visual Studio's tools may lack it.
    (
        re.compile(
            r"fatal error C1083: .{1,80}['\"\u201c\u201e\u00ab]"
            r"(io\.h|corecrt\w{0,20}\.h|std(?:io|lib|def|int)\.h|(?:string|math|ctype|errno|assert|time)\.h"
            r"|crtdbg\.h|windows\.h|winsock2\.h|basetsd\.h|sdkddkver\.h)\b"
        ),
        "the compiler finds no Windows SDK, of which {0} is a part",
        "the Visual Studio Installer, 'Desktop development with C++' with a Windows 10 or 11 SDK ticked, then the same again in the x64 "
        "Native Tools prompt; or a release of {name} with a wheel for this Python",
    ),
    (
        re.compile(r"LNK1158: .{0,40}(rc\.exe)|LNK1104: .{1,60}(kernel32\.lib|ucrtd?\.lib|uuid\.lib)"),
        "the linker finds no Windows SDK, of which {0}{1} is a part",
        "the Visual Studio Installer, 'Desktop development with C++' with a Windows 10 or 11 SDK ticked, then the same again in the x64 "
        "Native Tools prompt; or a release of {name} with a wheel for this Python",
    ),
)
_APART = "which an isolated build does not see"
# What proposes it has not been run with it.
_PROPOSED = re.compile(r"re-run with|hint:|\btry\b|into the environment")
# https://github.com/coqui-ai/TTS/issues/4354
_FORKS = {"tts": "pip install coqui-tts, the fork of it that is maintained and has wheels"}


def of_this_environment(lack: str, lines: tuple[str, ...]) -> str:
    """What a build lacks, where it was not run apart from what is installed."""
    if _APART in lack and any("--no-build-isolation" in line and not _PROPOSED.search(line) for line in lines):
        return lack.replace(_APART, "which the environment lacks (with --no-build-isolation it is built with what is installed)")
    return lack


def with_fork(name: str, advice: str) -> str:
    """The advice for a build, with the package that took over from one that nobody maintains."""
    return f"{_FORKS[name]}; or {advice}" if name in _FORKS else advice
