"""Whole small rules, as text, for tests about what stands beside a condition."""

from __future__ import annotations

from pathlib import Path

HEAD = """\
# Made by hand: this line stays.
id         = "library-broken"
title      = "The library of one release cannot be imported"
severity   = "error"
effect     = "crash"
confidence = "{confidence}"   # earned, not chosen
details    = '''
confidence = "reproduced-gpu" is what nobody may write by hand.
'''
"""
BODY = """
[affected]
packages = ["peft >=0.7, <0.12"]

[[fix]]
pin  = "peft >=0.12"
note = "mended there"

[[evidence]]
url  = "https://example.org/issues/1"
kind = "issue"
says = "It fails."

[[case]]
expect = "match"
facts  = {{ packages.peft = "==0.11.1" }}
[[case]]
expect = "no-match"
facts  = {{ packages.peft = "==0.12.0" }}
[[case]]
expect = "no-match"
facts  = {{ packages.peft = "==0.6.2" }}
[[case]]
expect = "unknown"
facts  = {{ python = "3.11" }}
"""
CLAIM = """
[[boundary]]
package = "peft"
first   = "0.12.0"
has     = "peft.mapping:mended"
"""
REPRODUCTION = """
[reproduction]
python = "3.11"
bad    = ["peft==0.11.1"]
good   = ["peft==0.12.0"]
run    = "import peft"
shows  = "the library is broken"
"""


def write_rule(directory: Path, *parts: str, confidence: str = "cited") -> Path:
    """A rule file of the id ``library-broken`` that lint has nothing against, with more tables after it."""
    path = directory / "library-broken.toml"
    path.write_text((HEAD + BODY).format(confidence=confidence) + "".join(parts), encoding="utf-8")
    return path
