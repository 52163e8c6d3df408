"""Hold the atlas' texts against themselves again (``envdoctor/survey/rechecking.py``), and say what changed.

python scripts/recheck_atlas.py [ATLAS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from envdoctor.survey.rechecking import recheck

if __name__ == "__main__":
    for line in recheck(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "atlas"):
        print(line)
