"""Errors of one line that say nothing of whose they are, and are one package's beside another."""

from __future__ import annotations

from envdoctor.logs.break_form import Break

ARGUMENT, RUN = "error-argument-refused", "error-of-the-run"

SINGLE_BREAKS = (
    # joblib/memory.py of 1.1.1 and 1.2.0; hdbscan/hdbscan_.py of 0.8.28 passes cachedir, that of 0.8.29 does not.
    Break(
        r"\b(?:Memory\.)?__init__\(\) got an unexpected keyword argument '?cachedir\b",
        "joblib's Memory takes no cachedir from 1.2 on: it is called location since 0.12",
        "hdbscan until 0.8.28 passes it as it is imported, and 0.8.29 does not (bertopic and top2vec bring hdbscan)",
        "",
        ARGUMENT,
        ("joblib",),
        ">=1.2",
        (("joblib", "<1.2"), ("hdbscan", ">=0.8.29")),
        line=r"Memory\(|memory\s?=|import hdbscan",
    ),
    # Run with numba 0.56.4 and numpy 1.24.1 on Python 3.10; https://github.com/RVC-Boss/GPT-SoVITS/issues/617
    Break(
        r"initialization of _internal failed without raising an exception",
        "numba's compiled part does not go with the numpy that is there: this numpy is newer than the numba",
        "numba 0.56 and older do so beside numpy 1.24 and later, whoever imports them (librosa, umap-learn, openai-whisper)",
        "",
        RUN,
        ("numpy", "numba"),
        ">=1.24",
        (("numpy", "<1.24"), ("numba", ">=0.60")),
    ),
    # torch.nn.GELU has it from 1.12 on, as a text; https://github.com/NVIDIA/DeepLearningExamples/issues/1187
    Break(
        r"gelu\(\): argument 'approximate'.{0,40}must be str, not bool",
        "torch takes approximate of gelu as a text, 'none' or 'tanh', and the code passes True or False",
        "releases of torch have it from 1.12 on, and always as a text; what took a truth value was a torch of NVIDIA's containers before "
        "(21.11 and others), for which the code was written",
        "approximate='tanh' in place of True, and 'none' in place of False; or the container that the project names",
        ARGUMENT,
        ("torch",),
    ),
    # The same words of torch's own gelu before 1.12, and of a gelu that a library lays over it:
    # https://github.com/microsoft/microxcaling/issues/17
    Break(
        r"(?<![\w.])gelu\(\) got an unexpected keyword argument '?approximate\b",
        "torch before 1.12 has a gelu without approximate, and the code passes it",
        "torch.nn.GELU and functional.gelu have it from 1.12 on",
        "",
        ARGUMENT,
        ("torch",),
        "<1.12",
        (("torch", ">=1.12"),),
    ),
    Break(
        r"(?<![\w.])gelu\(\) got an unexpected keyword argument '?approximate\b",
        "A gelu of a project's or a library's own, without approximate, is called in the place of torch's",
        "torch's own has it from 1.12 on, and timm, transformers and others pass it; libraries that put their own functions into torch "
        "(microxcaling did) may lack it",
        "the newest state of what replaces torch's functions; or an argument approximate='none' for its gelu",
        ARGUMENT,
        ("torch",),
        ">=1.12",
    ),
)
