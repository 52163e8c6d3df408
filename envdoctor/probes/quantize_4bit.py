"""``quantize-4bit``: the experiment of ``quantization`` with 4 bits."""

from __future__ import annotations

from envdoctor.probes.quantization import probe

PROBE = probe(4)
