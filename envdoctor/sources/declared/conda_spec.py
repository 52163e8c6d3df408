"""Conda's way to ask for a package, and its names where PyPI has others.

A match spec is ``channel/subdir::name version build``, with ``=`` or blanks between. One ``=`` before a version means that
it begins so, unless a build follows; ``==`` means that it is the version. What a specifier of PEP 440 cannot say
(``1.0|2.0``) is not put into one.
"""

from __future__ import annotations

import re

from envdoctor.records import dataclass

_KEYED = re.compile(r"""\[([^\]]*)\]\s*$""")
_KEY = re.compile(r"""\s*([a-z_0-9]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^,'"]*))\s*(?:,|$)""")
_SPEC = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._-]*)\s*(.*)", re.ASCII | re.DOTALL)
_CLAUSE = re.compile(r"(===?|!=|>=|<=|~=|=|>|<)?\s*v?([0-9][0-9A-Za-z.!+_]*?)(\.?\*)?", re.ASCII)

_LONGEST = 400
# The same project under two names, as environments of the field have them; a name that is not here is taken for PyPI's own.
_ON_PYPI = {
    "pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch", "torchtriton": "triton", "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack", "brotli-python": "brotli", "python-xxhash": "xxhash", "pytables": "tables", "pyarrow-core": "pyarrow",
    "sentencepiece-python": "sentencepiece", "python-flatbuffers": "flatbuffers", "tensorflow-base": "tensorflow",
    "dask-core": "dask", "python-lmdb": "lmdb",
}  # fmt: skip
# Compilers, libraries and programs, which PyPI does not have, or has another project under the name.
_NO_PYTHON = frozenset((
    "python", "python_abi", "pip", "conda", "mamba", "cpuonly", "pytorch-mutex", "pytorch-cuda", "cudatoolkit", "cudatoolkit-dev",
    "cudnn", "nccl", "cutensor", "nvcc", "openssl", "ca-certificates", "zlib", "xz", "tk", "sqlite", "readline", "ncurses",
    "bzip2", "zstd", "lz4-c", "icu", "krb5", "tbb", "mkl-service", "intel-openmp", "llvm-openmp", "blas", "openblas",
    "lapack", "ffmpeg", "gmp", "gnutls", "lame", "nettle", "openh264", "x264", "jpeg", "lcms2", "lerc", "giflib", "freetype",
    "fontconfig", "glib", "dbus", "expat", "pcre", "pcre2", "cairo", "pango", "pixman", "harfbuzz", "graphite2", "mpfr", "mpc",
    "isl", "gcc", "gxx", "gfortran", "gdb", "git", "git-lfs", "curl", "wget", "unzip", "zip", "aria2", "vim", "tmux", "htop",
    "openmpi", "mpich", "mpi", "compilers", "c-compiler", "cxx-compiler", "fortran-compiler", "make", "nodejs", "openjdk", "perl",
    "ruby", "go", "rust", "yaml", "c-ares", "gperftools", "hdf5", "opencv", "py-opencv", "faiss", "faiss-cpu", "faiss-gpu",
    "protobuf-compiler", "grpc-cpp", "arrow-cpp", "aws-sdk-cpp", "snappy", "re2", "gflags", "glog", "boost", "boost-cpp", "magma",
    "eigen", "bazel", "ocl-icd", "snakeyaml", "pthread-stubs", "qt", "qt-main", "pyqt", "tar", "gzip", "bash", "pigz", "parallel",
    "jq", "rsync", "alsa-lib", "aom", "cuda", "dav1d", "fribidi", "keyutils", "leptonica", "numpy-base", "openjpeg", "tesseract",
    "xz-tools", "xz-gpl-tools", "zeromq",
    # The libraries, of which Python's packages are under another name.
    "xxhash", "flatbuffers", "brotli", "lmdb",
))  # fmt: skip
_NO_PYTHON_START = ("_", "lib", "cuda-", "gcc_", "gxx_", "gfortran_", "ld_impl", "binutils", "sysroot", "kernel-headers", "xorg-", "font-",
                    "fonts-", "r-", "gst", "aws-c-", "vs20", "vc14", "m2-", "m2w64", "ucrt", "magma-", "mkl-", "ros-")  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """``specifier`` is PEP 440's; None where the version is asked for in a way that PEP 440 does not have."""

    name: str
    version: str
    specifier: str | None
    build: str = ""
    channel: str = ""


def parse_match_spec(text: str) -> MatchSpec | None:
    """A match spec; None for what is none."""
    if len(text) > _LONGEST:
        return None
    keyed = _KEYED.search(text)
    keys = {} if keyed is None else {match[1]: match[2] or match[3] or (match[4] or "").strip() for match in _KEY.finditer(keyed[1])}
    body = (text if keyed is None else text[: keyed.start()]).strip()
    channel, _, rest = body.rpartition("::") if "::" in body else ("", "", body)
    match = _SPEC.fullmatch(rest.strip())
    if match is None:
        return None
    version, build = _version_and_build(match[2].strip())
    version, build = keys.get("version", version), keys.get("build", build)
    return MatchSpec(match[1].lower(), version, _specifier(version, bool(build)), build, channel)


def on_pypi(name: str) -> str | None:
    """The name that a conda package has on PyPI; None for one that is no Python package."""
    if name in _ON_PYPI:
        return _ON_PYPI[name]
    return None if name in _NO_PYTHON or name.startswith(_NO_PYTHON_START) else name


def cuda_of(spec: MatchSpec) -> str:
    """The CUDA that a package stands for, as a version or specifier; nothing for one that says none."""
    if spec.name in ("pytorch-cuda", "cudatoolkit", "cuda-version", "cuda-toolkit", "cuda-runtime", "cuda"):
        bare = re.fullmatch(r"={0,2}\s*(\d+\.\d+)(?:\.\d+)*(?:\.?\*)?", spec.version, re.ASCII)
        return bare[1] if bare else spec.specifier or ""
    built = re.search(r"cuda_?(\d+\.\d)|cuda(\d{2})(\d)", spec.build) if spec.name.startswith("pytorch") else None
    return "" if built is None else built[1] or f"{built[2]}.{built[3]}"


def _version_and_build(text: str) -> tuple[str, str]:
    """What follows a name: ``=1.2``, ``==1.2=py39_0``, ``1.2 py39_0``, ``>=1.2,<2``."""
    if not text:
        return "", ""
    joined = re.sub(r"\s*([,|])\s*", r"\1", re.sub(r"([=<>!~])\s+", r"\1", text))
    first, _, build = joined.partition(" ")
    if build:
        return (f"=={first}" if first[0].isdigit() and "*" not in first else first), build.strip()
    parted = re.fullmatch(r"(={1,2}[^=,|<>]+)=([^=]+)", first)
    if parted:
        return parted[1], parted[2]
    return (f"=={first}" if first[0].isdigit() and not re.search(r"[*,|]", first) else first), ""


def _specifier(version: str, with_build: bool) -> str | None:
    clauses: list[str] = []
    for part in filter(None, (piece.strip() for piece in version.split(","))):
        if part == "*" or part == "=*":
            continue
        match = _CLAUSE.fullmatch(part)
        if match is None:
            return None
        operator, number, star = match[1] or "==", match[2].rstrip("."), bool(match[3])
        if operator == "=":
            operator, star = "==", star or not with_build
        # Conda reads >=1.8.* as >=1.8.
        clauses.append(f"{operator}{number}{'.*' if star and operator in ('==', '!=') else ''}")
    return ",".join(clauses)
