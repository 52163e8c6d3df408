"""``quantize-8bit``: the experiment of ``quantization`` with 8 bits."""

from __future__ import annotations

from envdoctor.probes.quantization import probe

PROBE = probe(8)
