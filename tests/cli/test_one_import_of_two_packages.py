"""``import TTS`` loads whichever of the two packages that bring it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.cli import main


@pytest.mark.parametrize(("pin", "told"), [("TTS==0.22.0", True), ("coqui-tts==0.24.1", True), ("coqui-tts==0.24.2", False)])
def test_a_script_that_imports_tts(capsys: pytest.CaptureFixture[str], tmp_path: Path, pin: str, told: bool) -> None:
    (tmp_path / "requirements.txt").write_text(f"{pin}\ntorch==2.6.0\n")
    (tmp_path / "a.py").write_text("from TTS.api import TTS\nTTS('tts_models/multilingual/multi-dataset/xtts_v2')\n")
    main(["check", str(tmp_path / "requirements.txt"), str(tmp_path / "a.py")])
    assert ("[tts-torch-2-6-weights-only]" in capsys.readouterr().out) is told
