"""Build hook: the wheel carries the rules and the atlas in their compiled form, so that even the first run loads them in milliseconds."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledRules(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the rules into the wheel; an editable install reads the rule files themselves."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from envdoctor.rules.rulebook import compile_rules

        compiled = Path(tempfile.mkdtemp()) / "compiled.json"
        compiled.write_text(json.dumps(compile_rules(Path(self.root) / "rules"), default=str), encoding="utf-8")
        build_data["force_include"][str(compiled)] = "envdoctor/_rules/compiled.json"
        self._bind_atlas(compiled.parent, build_data)

    def _bind_atlas(self, place: Path, build_data: dict[str, Any]) -> None:
        """Bind every package of the atlas into the form that is looked up."""
        from envdoctor.atlas.binding import bind
        from envdoctor.atlas.messages import bind_messages
        from envdoctor.atlas.shelf import MESSAGES, PARTS, SAID, SUFFIX
        from envdoctor.survey.packages import DENSE

        def bind_folder(folder: Path) -> None:
            texts = [(folder / part).read_text(encoding="utf-8") for part in PARTS if (folder / part).exists()]
            if texts:
                (place / f"{folder.name}{SUFFIX}").write_bytes(bind(texts, dense=folder.name in DENSE))
            if (folder / MESSAGES).exists():
                (place / f"{folder.name}{SAID}").write_bytes(bind_messages((folder / MESSAGES).read_text(encoding="utf-8")))

        # What packs them lets other threads run meanwhile.
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(bind_folder, sorted(path for path in (Path(self.root) / "atlas").glob("*") if path.is_dir())))
        for bound in sorted(place.iterdir()):
            if bound.suffix in (SUFFIX, SAID):
                build_data["force_include"][str(bound)] = f"envdoctor/_atlas/{bound.name}"
