"""``python -m envdoctor``."""

from __future__ import annotations

import sys

from envdoctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
