"""Names that a distribution gave up long ago: the answer says since when, and what is written in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

HANN = "AttributeError: module 'scipy.signal' has no attribute 'hann'"
OF_FLASK = (
    'Traceback (most recent call last):\n  File "/e/lib/python3.8/site-packages/flask/app.py", line 28, in <module>\n'
    "    from werkzeug.urls import url_quote\n"
    "ImportError: cannot import name 'url_quote' from 'werkzeug.urls' (/e/lib/python3.8/site-packages/werkzeug/urls.py)"
)


@pytest.mark.parametrize(
    ("log", "words", "advice", "pins"),
    [
        (HANN, "scipy has no scipy.signal.hann from 1.13.0 on", "scipy.signal.windows.hann", {"scipy": "==1.12.0"}),
        (
            "ImportError: cannot import name 'escape' from 'jinja2'",
            "jinja2 has no escape from 3.1.0 on",
            "from markupsafe import escape",
            {"jinja2": "==3.0.3"},
        ),
        (
            "ModuleNotFoundError: No module named 'sklearn.externals.joblib.parallel'",
            "scikit-learn has no sklearn.externals.joblib.parallel from 0.23.0 on",
            "import joblib",
            {"scikit-learn": "==0.22.2.post1"},
        ),
        (
            "ModuleNotFoundError: No module named 'transformers.modeling_tf_bert'",
            "from 4.0.0 on",
            "given at the top",
            {"transformers": "==3.5.1"},
        ),
        ("ModuleNotFoundError: No module named 'mmcv.runner'", "mmcv has no mmcv.runner from 2.0.0 on", "mmcv-full<2", None),
        ("AttributeError: module 'tensorflow' has no attribute 'Session'", "tensorflow has no Session", "tf.compat.v1.Session", None),
        ("AttributeError: module 'cv2' has no attribute 'ximgproc'", "leaves out OpenCV's extra modules", "opencv-contrib-python", None),
    ],
)
def test_a_name_that_was_given_up_is_told_with_its_release(
    log: str, words: str, advice: str, pins: dict[str, str] | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert words in first["detail"]
    assert advice in str(first["fixes"])
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == ([pins] if pins else [])


def test_a_package_that_asks_for_it_is_not_rewritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, OF_FLASK)
    assert "flask asks for it (flask/app.py:28)" in first["detail"]
    assert "werkzeug <3.0.0" in str(first["fixes"][0])
    assert "urllib.parse" not in str(first["fixes"])


def test_a_later_module_of_a_like_name_was_never_given_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'transformers.modeling_rope_utils'")
    assert not any("given at the top" in str(one) for one in told)


def test_a_stated_release_that_has_it_is_not_accused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, HANN, f'{NOTHING}[packages]\nscipy = "1.10.1"\n')
    assert not any("from 1.13.0 on" in one["detail"] for one in told)
