"""What compiled code says, read from its source: texts as templates with their class, and no code, comments or names."""

from __future__ import annotations

import io
import tarfile

import pytest

from envdoctor.survey.archives import NotAnArchiveError
from envdoctor.survey.compiled import read_source, read_sources


def said(path: str, text: str) -> list[tuple[str, str, str, int]]:
    return [(one.kind, one.text, one.where, one.line) for one in read_source(path, text.encode()).said]


def test_cython_raises_with_casts_and_with_a_text_made_before() -> None:
    source = """cdef class Freq:
    def parse(self, object freq):
        if not freq:
            raise ValueError(f"Invalid frequency: {<str>freq}. "
                             f"Failed with error message: {repr(err)}")
        msg = (f"No axis named {axis} "
               "for this object")
        raise errors.AxisError(msg)
        raise KeyError(freq)
"""
    assert said("pandas/_libs/freq.pyx", source) == [
        ("ValueError", "Invalid frequency: {}. Failed with error message: {}", "parse", 4),
        ("AxisError", "No axis named {} for this object", "parse", 8),
    ]


def test_c_joins_its_texts_over_macros_and_knows_the_class() -> None:
    source = """/* "nothing that is said here" counts */
static int check(void) {
    PyErr_Format(PyExc_IndexError,
        "index %" NPY_INTP_FMT " is out of bounds "
        "for axis %d with size %" NPY_INTP_FMT, i, axis, n);  // "nor what is said here"
    return fail("cannot reshape array of size %zd into shape %S");
}
static char doc[] = "f(x)\\n--\\n\\nWhat it does.\\n\\nParameters\\n\\nx : a number";
"""
    assert said("numpy/core/src/a.c", source) == [
        ("IndexError", "index {} is out of bounds for axis {} with size {}", "", 4),
        ("", "cannot reshape array of size {} into shape {}", "", 6),
    ]


def test_rust_says_what_stands_outside_of_its_tests() -> None:
    source = """//! "a doc of the module"
#[cfg(test)]
use crate::what::tests_import;
    Err(exceptions::PyValueError::new_err(format!("Unknown `direction`: `{}`. Use one of `left` or `right`", other)))
    #[error("Truncation error: Sequence to truncate too short")]
    #[pyo3(text_signature = "(self, content, left=0, right=0)")]
#[cfg(test)]
mod tests { "this is said by a test alone" }
"""
    assert said("tokenizers/src/a.rs", source) == [
        ("ValueError", "Unknown `direction`: `{}`. Use one of `left` or `right`", "", 4),
        ("", "Truncation error: Sequence to truncate too short", "", 5),
    ]


def test_a_source_archive_gives_the_sources_of_the_package_and_no_tests() -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name in ("a-1/pandas/_libs/x.pyx", "a-1/pandas/_libs/tests/y.pyx", "a-1/pandas/core/z.pyx", "a-1/pandas/_libs/w.py"):
            tar.addfile(tarfile.TarInfo(name), io.BytesIO(b""))
    assert list(read_sources(data.getvalue(), "pandas")) == ["pandas/_libs/x.pyx"]
    with pytest.raises(NotAnArchiveError):
        read_sources(b"no archive", "pandas")
