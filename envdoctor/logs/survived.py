"""What a log shows a run to have got over: nobody's error, whatever it would be elsewhere."""

from __future__ import annotations

import re

from envdoctor.engine.finding import Finding
from envdoctor.logs.reading import PASTED, Reading

# warnings.formatwarning of Python's library: path:number: Class: text. The others are logger.warning of transformers' modeling_utils.py
# and of Phi-3's own code, and what amdsmi prints where it is imported on a machine without ROCm.
_WARNED = re.compile(
    r":\d+: [A-Z]\w*Warning: |^\s*[A-Z]\w*Warning: |This might lead to unexpected behaviour|but the current dype in \w+ is"
    r"|package not found, consider installing for better performance|libamd_smi\.so: cannot open shared object"
)
# The Trainer's dictionaries and tables, Lightning's bars, "Epoch 3: loss 0.41" of scripts of one's own, tqdm's bars that came to their end.
_TRAINED = re.compile(
    r"'(?:train_|eval_)?loss': '?\d|\b(?:train_|val_|eval_|training |validation |test )?loss\b['\"]?\s{0,3}[:=|]\s{0,3}\d"
    r"|^\s*Step\s+(?:Training )?Loss\b|\bepoch\b\W{0,3}\d.{0,80}\bloss\b|train_runtime|\btraining_loss=\d"
    r"|\b100%\|.{0,200}\[\d\d:\d\d<00:00|\bLoading checkpoint shards: 100%",
    re.IGNORECASE,
)


def was_survived(finding: Finding, reading: Reading) -> bool:
    """Whether a run went on after the line that shows a finding: it says so itself, trains or loads after it, or only warned."""
    if reading.ended_well:
        return True
    last = reading.decisive
    if reading.count <= PASTED or finding.location is None or (last is not None and (last.kind or last.frames)):
        return False
    place = finding.location.line or 0
    if any(number > place and _TRAINED.search(line) for number, line in reading.lines):
        return True
    return reading.refusal is None and any(number == place and _WARNED.search(line) for number, line in reading.lines)
