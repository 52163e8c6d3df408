"""Build hook: the wheel carries the rules and the atlas in their compiled form, so that even the first run loads them in milliseconds."""

from __future__ import annotations

import json
import sys
import tempfile
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
        from envdoctor.rules.stored import store

        compiled = Path(tempfile.mkdtemp()) / "compiled.json"
        compiled.write_bytes(store(compile_rules(Path(self.root) / "rules")))
        build_data["force_include"][str(compiled)] = "envdoctor/_rules/compiled.json"
        from envdoctor.rules.unpacked import PACKED, pack_rules

        # Not the ledgers: what was seen stands in the repository, and what it earned is compiled.
        packed = compiled.with_name(PACKED)
        packed.write_bytes(pack_rules(Path(self.root) / "rules"))
        build_data["force_include"][str(packed)] = f"envdoctor/_rules/{PACKED}"
        self._keep_reproductions(compiled.with_name("reproductions.json"), build_data)
        self._bind_atlas(compiled.parent, build_data)

    def _keep_reproductions(self, place: Path, build_data: dict[str, Any]) -> None:
        """What `fix --prove` runs; no other run reads it."""
        from envdoctor.files.toml import read_toml

        tables = (read_toml(path) for path in sorted((Path(self.root) / "rules").rglob("*.toml")))
        kept = {table["id"]: table["reproduction"] for table in tables if "reproduction" in table}
        place.write_text(json.dumps(kept, default=str), encoding="utf-8")
        build_data["force_include"][str(place)] = "envdoctor/_rules/reproductions.json"

    def _bind_atlas(self, place: Path, build_data: dict[str, Any]) -> None:
        """Bind every package of the atlas into the form that is looked up."""
        from envdoctor.survey.packed import bind_all

        for bound in bind_all(Path(self.root) / "atlas", place):
            build_data["force_include"][str(bound)] = f"envdoctor/_atlas/{bound.name}"
