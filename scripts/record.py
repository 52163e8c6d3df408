"""Record a real run on a terminal as an SVG: what is typed, the wait as it was, what is printed, in its colours.

    python scripts/record.py            # docs/recording.svg, of `envdoctor check requirements.txt` with eight errors
    python scripts/record.py --check    # exit 1 where the words of such a run are no longer those of the recording

The picture needs no font from elsewhere and no script; where animations are off, all of it is there at once.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from html import escape, unescape
from pathlib import Path

from shown_outputs import ROOT, place_fixtures, timeless

TARGET = ROOT / "docs" / "recording.svg"
TYPED = "envdoctor check requirements.txt"
COLUMNS = 80
_PART = re.compile(r"\x1b\[([0-9;]*)m|\x1b\]8;;[^\x1b]*\x1b\\|([^\x1b]+)")
_CLASSES = {"1": "b", "2": "d", "31": "r", "33": "y", "35": "m", "36": "c"}
_WIDTH, _HEIGHT, _LEFT, _TOP = 8.43, 18, 16, 46
_TYPING = 0.04  # seconds a character
_STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d4d4d4; white-space: pre; }
.b { font-weight: 600; } .d { fill: #8a8a8a; } .r { fill: #f7768e; } .y { fill: #e0af68; } .m { fill: #bb9af7; } .c { fill: #7dcfff; }
.p { fill: #9ece6a; } .t { fill: #8a8a8a; font-size: 13px; }
g.late { animation: show 1ms linear both; }
@keyframes show { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { g.late { animation: none; } }
"""


def record() -> tuple[str, float]:
    """What the run prints on a terminal of 80 columns, with its colours, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        place_fixtures(Path(folder))
        ours, theirs = pty.openpty()
        subprocess.run(["stty", "cols", str(COLUMNS)], stdin=theirs, check=True)
        environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
        environment = {name: value for name, value in environment.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        started = time.monotonic()
        command = [sys.executable, "-m", *TYPED.split()]
        with subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
            os.close(theirs)
            parts = []
            while True:
                try:
                    data = os.read(ours, 1 << 16)
                except OSError:  # the run has ended
                    break
                parts.append(data)
        os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n"), time.monotonic() - started


def picture(printed: str, seconds: float) -> str:
    """The SVG: the line that is typed, then all that is printed."""
    rows = [_row(line) for line in printed.rstrip("\n").split("\n")]
    appears = len(TYPED) * _TYPING + seconds
    letters = "".join(
        f'<g class="late" style="animation-delay:{number * _TYPING:.2f}s"><text x="{_x(2 + number)}" y="{_TOP}">{escape(letter)}</text></g>'
        for number, letter in enumerate(TYPED)
        if letter != " "
    )
    lines = "\n".join(f'<text x="{_LEFT}" y="{_TOP + (number + 2) * _HEIGHT}">{row}</text>' for number, row in enumerate(rows) if row)
    width, height = round(2 * _LEFT + COLUMNS * _WIDTH), _TOP + (len(rows) + 2) * _HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(TYPED)}">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#1a1b26"/>\n'
        f'<text class="t" x="{_LEFT}" y="22">{escape(TYPED)}</text>\n'
        f'<text class="p" x="{_LEFT}" y="{_TOP}">$</text>\n{letters}\n'
        f'<g class="late out" style="animation-delay:{appears:.1f}s">\n{lines}\n</g>\n</svg>\n'
    )


def _x(column: int) -> str:
    return f"{_LEFT + column * _WIDTH:.1f}"


def _row(line: str) -> str:
    classes: list[str] = []
    spans = []
    for match in _PART.finditer(_cut(line)):
        if match[2] is not None:
            text = escape(match[2])
            spans.append(f'<tspan class="{" ".join(classes)}">{text}</tspan>' if classes else text)
        elif match[1] is not None:
            classes = [_CLASSES[code] for code in match[1].split(";") if code in _CLASSES]
    return "".join(spans)


def _cut(line: str) -> str:
    """A line that goes on beyond the terminal's edge is shown to there; what it says is in the page below the picture."""
    plain = re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\", "", line)
    return line if len(plain) <= COLUMNS else f"{plain[: COLUMNS - 3]}..."


def words(svg: str) -> str:
    """What a picture says, in lines."""
    _, _, shown = svg.partition('class="late out"')
    return timeless("\n".join(unescape(re.sub(r"<[^>]+>", "", row)) for row in re.findall(r"<text [^>]*>(.*?)</text>", shown)))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    svg = picture(*record())
    if options.check:
        same = words(svg) == words(TARGET.read_text(encoding="utf-8"))
        print("docs/recording.svg is up to date" if same else "docs/recording.svg is stale: run python scripts/record.py")
        return int(not same)
    TARGET.write_text(svg, encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(svg)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
