"""Names of modules that people ask an index for, where the package has another name; each was asked for on 2026-11-30.

What the index has under ``sklearn``, ``skimage`` and ``pytorch`` ends with words of its own when it is built, ``bs4`` is an empty package
that brings the right one, and under the other names there is nothing.
"""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class ModuleName:
    """The package that is meant, and the releases under the module's own name that are installed; ``refuses``: it has others."""

    package: str
    installed: tuple[str, ...] = ()
    refuses: bool = False


MODULE_NAMES = {
    "bs4": ModuleName("beautifulsoup4", ("0.0.0", "0.0.1", "0.0.2")),
    "cv2": ModuleName("opencv-python"),
    "dateutil": ModuleName("python-dateutil"),
    "pil": ModuleName("pillow"),
    "pytorch": ModuleName("torch", refuses=True),
    "skimage": ModuleName("scikit-image", refuses=True),
    "sklearn": ModuleName("scikit-learn", ("0.0",), refuses=True),
    "yaml": ModuleName("pyyaml"),
}
