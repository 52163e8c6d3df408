"""What torchcodec lists when its library does not load: FFmpeg is not there, or torchcodec is of another torch.

It tries one library for each major of FFmpeg, and says of each why it failed: torchcodec/_core/ops.py of 0.5 to 0.10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.checks.hit import Hit
from envdoctor.logs.linking import NO_LIBRARY

FFMPEG = "torchcodec:ffmpeg"
_HEAD = "Could not load libtorchcodec"
TRIED = re.compile(r"FFmpeg version (?P<major>\d): (?P<why>.{1,400})")
_ABSENT = re.compile(
    r"lib(?:avutil|avcodec|avformat|avdevice|avfilter|swscale|swresample)\.(?:so\.\d+|\d+\.dylib|so): cannot open shared object"
)


def judge_ffmpeg(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[Hit, int, str]]:
    """The finding that no FFmpeg is there, where that is what every try says."""
    head, tried = (0, ""), []
    for number, line in lines:
        if _HEAD in line and not head[0]:
            head = (number, line.strip())
        if (found := TRIED.search(line)) is not None:
            tried.append(found)
    if not head[0] or not tried or not all(_ABSENT.search(found["why"]) for found in tried):
        return
    majors = ", ".join(sorted({found["major"] for found in tried}))
    yield (
        Hit(
            NO_LIBRARY,
            True,
            (),
            detail=f"torchcodec looked for FFmpeg {majors} and found the libraries of none; it brings none itself",
            packages=("torchcodec",),
            edge=FFMPEG,
            headline="There is no FFmpeg whose libraries torchcodec could load",
            advice=(
                "conda install -c conda-forge 'ffmpeg<8', or apt-get install ffmpeg; its lib folder in LD_LIBRARY_PATH where "
                "it is elsewhere"
            ),
        ),
        head[0],
        head[1][:300],
    )
