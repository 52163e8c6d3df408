"""What the dynamic linker says: a system library that is too old, a symbol that no library has, a library that is not there.

Of symbols it is said what they are and whose; which releases have one, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.logs.demangling import demangle
from envdoctor.logs.places import owner_of
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_FLOOR = re.compile(
    r"(?P<library>[\w./+-]{1,400}\.so[\w.]{0,20}): version ['\"`\u2018\u2019]{0,2}(?P<name>GLIBC|"
    r"GLIBCXX|CXXABI|GCC|GOMP)_(?P<version>\d{1,3}(?:\.\d{1,3}){0,3})['\"`\u2018\u2019]{0,2}"
    r" not found(?: \(required by (?P<by>[^)\n]{1,600})\))?"
)
# Reached from a package's own folder too: ``envs/x/lib/python3.10/site-packages/torch/lib/../../../.././libstdc++.so.6``.
_OF_CONDA = re.compile(
    r"/(?:envs/[^/]+|[\w.-]*conda\d?|miniforge\d?|mambaforge)/(?:bin/\.\./)?lib/(?:python[^\s]{1,200}/(?:\.\.?/){3,8})?libstdc"
)
_UNDEFINED = re.compile(r"(?:(?P<library>[\w./+-]{1,600}\.so[\w.+-]{0,40}): )?undefined symbol: (?P<symbol>[\w.$@]{3,1500})")
# As people retell it, in a title: the file and no symbol, in any order.
_RETOLD = re.compile(
    r"(?P<before>[\w./+-]{1,300}\.so[\d.]{0,20})\W{1,4}(?:(?:has|with|hits?)(?: an?)? )?undefined symbols?(?! ?: ?\w)"
    r"|undefined symbols? (?:in|of|from) \W?(?P<after>[\w./+-]{1,300}\.so[\d.]{0,20})",
    re.IGNORECASE,
)
# The same by the name of the module: "flash_attn_2 undefined symbol", "undefined symbol in bitsandbytes".
# https://github.com/oobabooga/textgen/issues/4182
_RETOLD_NAME = re.compile(
    r"(?<![\w./-])(?P<before>[a-z][\w-]{3,40}?)(?: import)?(?: error)?:? undefined symbols?(?! ?: ?\w)"
    r"|undefined symbols? (?:in|of|from|when importing|importing|with) \W?(?P<after>[a-z][\w-]{3,40})",
    re.IGNORECASE,
)
# libgthread-2.0.so.0 and libpython3.10.so.1.0 have dots before their end.
_ABSENT = re.compile(r"(?P<library>lib[\w+-]{1,60}(?:\.\d{1,4}){0,2}\.so(?:\.\d{1,4}){0,4}): cannot open shared object file")
# cuDNN 9's own words, with the names of one library that it tried, the one with the major alone among them.
_NONE_OF = re.compile(r"Unable to load any of \{(?:[\w.+-]{4,60}, ){0,4}(?P<library>lib\w{3,40}\.so\.\d{1,2})[,}]")
_EXTENSION = re.compile(r"torch_extensions/(?:[\w.+-]{1,60}/){1,4}(?P<name>[\w+-]{1,60})\.so: cannot open shared object file")
# libtorch_cpu.so and libc10_cuda.so, not libtorchaudio.so.
_OF_TORCH = re.compile(r"lib(?:torch|c10)(?:_\w{1,30})?")

# The compiler that brought a version of its runtime library: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
_GCC_OF = {
    "GLIBCXX": {
        "3.4.21": "5.1", "3.4.22": "6.1", "3.4.23": "7.1", "3.4.24": "7.2", "3.4.25": "8.1", "3.4.26": "9.1", "3.4.27": "9.2",
        "3.4.28": "9.3",
        "3.4.29": "11.1", "3.4.30": "12.1", "3.4.31": "13.1", "3.4.32": "13.2", "3.4.33": "14.1", "3.4.34": "15.1",
    },
    "CXXABI": {
        "1.3.9": "5.1", "1.3.10": "6.1", "1.3.11": "7.1", "1.3.12": "9.1", "1.3.13": "11.1", "1.3.14": "13.1", "1.3.15": "14.1",
    },
}  # fmt: skip
# The glibc of releases that people train on, oldest first; each distribution's own package lists.
_SYSTEMS = (
    ("2.17", "CentOS 7"), ("2.27", "Ubuntu 18.04"), ("2.28", "Debian 10, RHEL 8"), ("2.31", "Ubuntu 20.04, Debian 11"), ("2.34", "RHEL 9"),
    ("2.35", "Ubuntu 22.04"), ("2.36", "Debian 12"), ("2.39", "Ubuntu 24.04"), ("2.41", "Debian 13"),
)  # fmt: skip
# Whose a symbol is: the scope of C++ names, and the prefixes of C libraries. The library, and the package that brings it.
_SCOPES = (
    ("c10::cuda::", "libc10_cuda.so", "torch"), ("c10d::", "libtorch_cpu.so or libtorch_cuda.so", "torch"), ("c10::", "libc10.so", "torch"),
    ("at::cuda::", "libtorch_cuda.so", "torch"), ("at::", "libtorch_cpu.so", "torch"), ("caffe2::", "libtorch_cpu.so", "torch"),
    ("torch::autograd::THP", "libtorch_python.so", "torch"), ("torch::", "libtorch_cpu.so or libtorch_python.so", "torch"),
    ("THP", "libtorch_python.so", "torch"), ("arrow::", "libarrow.so", "pyarrow"), ("parquet::", "libparquet.so", "pyarrow"),
    ("google::protobuf::", "libprotobuf.so", "protobuf"), ("std::", "libstdc++.so.6", ""),
    ("tensorflow::", "libtensorflow_framework.so", "tensorflow"),
    ("cv::", "libopencv", "opencv-python"),
)  # fmt: skip
_PREFIXES = (
    ("ncclComm", "libnccl.so.2", "nvidia-nccl"), ("nccl", "libnccl.so.2", "nvidia-nccl"), ("cublasLt", "libcublasLt.so", "nvidia-cublas"),
    ("cublas", "libcublas.so", "nvidia-cublas"), ("cudnn", "libcudnn.so", "nvidia-cudnn"),
    ("cusparse", "libcusparse.so", "nvidia-cusparse"),
    ("cusolver", "libcusolver.so", "nvidia-cusolver"), ("cufft", "libcufft.so", "nvidia-cufft"),
    ("nvrtc", "libnvrtc.so", "nvidia-cuda-nvrtc"),
    ("__nvJitLink", "libnvJitLink.so", "nvidia-nvjitlink"), ("nvJitLink", "libnvJitLink.so", "nvidia-nvjitlink"),
    ("cupti", "libcupti.so", "nvidia-cuda-cupti"), ("cuda", "libcudart.so", "nvidia-cuda-runtime"),
    ("iJIT_", "MKL's profiling interface (ittnotify)", "mkl"),
    ("mkl_", "libmkl", "mkl"), ("THP", "libtorch_python.so", "torch"), ("THC", "libtorch_cuda.so", "torch"),
    ("_PyInterpreter", "the interpreter", "python"),
    ("_Py", "the interpreter", "python"), ("Py", "the interpreter", "python"), ("GOMP_", "libgomp.so.1", ""),
    ("omp_", "libgomp.so.1", ""), ("__kmpc", "libiomp5.so", ""),
    ("aoti_torch_", "libtorch_cpu.so", "torch"), ("torch_", "libtorch_cpu.so", "torch"), ("cu", "libcuda.so, of the driver", "driver"),
)  # fmt: skip


# Libraries of the system, who wants them, and what brings them: the packages of Debian and Ubuntu. libcuda is the driver's:
# https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
_GRAPHICS = ("opencv-python", "pip install opencv-python-headless in place of opencv-python, or apt-get install {}")
_FFMPEG = ("", "apt-get install ffmpeg, or conda install -c conda-forge ffmpeg")
_OF_SYSTEMS = {
    "libGL": _GRAPHICS,
    "libgthread-2.0": _GRAPHICS,
    "libglib-2.0": _GRAPHICS,
    "libSM": _GRAPHICS,
    "libXext": _GRAPHICS,
    "libXrender": _GRAPHICS,
    "libaio": ("deepspeed", "apt-get install libaio-dev, which DeepSpeed's async_io wants"),
    "libsndfile": ("soundfile", "apt-get install libsndfile1"),
    "libmpi": ("mpi4py", "apt-get install openmpi-bin libopenmpi-dev"),
    "libcuda": (
        "",
        "the NVIDIA driver brings it: nvidia-smi must work there; a container wants --gpus all, and a machine without a GPU has none; "
        "under WSL it lies in /usr/lib/wsl/lib: export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH",
    ),
    "libnvinfer": ("tensorrt", "pip install tensorrt of the major that was built against, with its lib folder in LD_LIBRARY_PATH"),
    "libavutil": _FFMPEG,
    "libavcodec": _FFMPEG,
    "libavformat": _FFMPEG,
    "libavdevice": _FFMPEG,
}
_BROUGHT_BY = {
    "libGL": "libgl1", "libgthread-2.0": "libglib2.0-0", "libglib-2.0": "libglib2.0-0", "libSM": "libsm6", "libXext": "libxext6",
    "libXrender": "libxrender1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LibraryFloor:
    """A compiled file needs a newer runtime library than there is. ``by`` is the package whose file it is; empty where not said.

    ``environment``: the library is that of a conda environment, and not the system's.
    """

    library: str
    name: str
    version: str
    by: str
    file: str
    environment: bool = False

    def since(self) -> str:
        """Where the version is from: the compiler or the systems that have it; empty where it is not known."""
        if self.name == "GLIBC":
            wanted = _number(self.version)
            system = next((words for version, words in _SYSTEMS if _number(version) >= wanted), "")
            return f"glibc {self.version} or later, as in {system}" if system else f"glibc {self.version} or later"
        gcc = _GCC_OF.get(self.name, {}).get(self.version)
        return f"the libstdc++ of GCC {gcc} or later" if gcc else "a newer libstdc++" if self.name in _GCC_OF else "a newer libgcc"


@dataclass(frozen=True, slots=True)
class UndefinedSymbol:
    """A compiled file asks for a symbol that nothing loaded has. ``plain`` is the symbol as C++ writes it, or as it is.

    ``by`` is the package whose file asks; ``library`` and ``owner`` are the library that such symbols are of and the package that brings
    it; empty where they are not known.
    """

    file: str
    symbol: str
    plain: str
    by: str
    library: str
    owner: str


# Libraries whose own major is not that of their CUDA, or of two: the wheels nvidia-cufft-cu11 10.9.0.58, -cu12 11.2.1.3 and nvidia-cufft
# 12.0.0.61, and those of cusolver and cusparse beside them.
_MAJORS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "libcufft": {"10": ("11",), "11": ("12",), "12": ("13",)},
    "libcusolver": {"11": ("11", "12"), "12": ("13",)},
    "libcusparse": {"12": ("12", "13")},
}


# https://github.com/pytorch/extension-cpp/pull/127: nothing but torch's own import shows the linker where they lie.
_TORCH_FIRST = (
    "torch brings it, and importing torch is what loads it: the file was loaded before that, or this torch has no library of that name "
    "(libtorch_cuda and libc10_cuda are in its builds for CUDA alone)"
)


@dataclass(frozen=True, slots=True)
class AbsentLibrary:
    """A shared library that the linker does not find."""

    library: str

    def owner(self) -> tuple[str, str] | None:
        """The package that brings such a library, and what that says in words; None where nobody knows."""
        name, _, version = self.library.partition(".so")
        major = version.strip(".").split(".")[0]
        if name.startswith(("libtorch", "libc10")):
            return "torch", _TORCH_FIRST
        known = {"libcudart": "cuda-runtime", "libcublas": "cublas", "libcublasLt": "cublas", "libcudnn": "cudnn", "libnccl": "nccl"}
        known |= {"libcusparse": "cusparse", "libcufft": "cufft", "libcusolver": "cusolver", "libnvrtc": "cuda-nvrtc"}
        if name in known and name in ("libcudnn", "libnccl"):
            return f"nvidia-{known[name]}-cu12", f"it is of {known[name]} {major}" if major else "it comes with torch's CUDA wheels"
        cudas = _MAJORS.get(name, {}).get(major, (major,))
        if name in known and cudas[0] in ("10", "11", "12", "13"):
            words = f"it is of CUDA {' or '.join(cudas)}: the file was built for it, and its libraries are not found here"
            return f"nvidia-{known[name]}-cu{cudas[-1]}", words
        return None

    def of_system(self) -> tuple[str, str] | None:
        """The package that wants such a library of the system, and what brings it; None where it is none that is known."""
        name = self.library.partition(".so")[0]
        if (python := re.fullmatch(r"libpython(\d\.\d{1,2})m?", name)) is not None:
            brings = (
                f"the folder of libpython{python[1]}.so in LD_LIBRARY_PATH (lib of the conda environment), or apt-get "
                f"install libpython{python[1]}"
            )
            return "", brings
        known = _OF_SYSTEMS.get(name)
        return None if known is None else (known[0], known[1].format(_BROUGHT_BY.get(name, "")))


def parse_floor(message: str) -> LibraryFloor | None:
    """``/lib/libc.so.6: version `GLIBC_2.32' not found (required by /.../flash_attn_2_cuda.so)``."""
    found = _FLOOR.search(message)
    if found is None:
        return None
    by = found["by"] or ""
    conda = _OF_CONDA.search(found["library"]) is not None
    return LibraryFloor(
        found["library"].rpartition("/")[2], found["name"], found["version"], package_of_file(by), by.rpartition("/")[2], conda
    )


def parse_undefined(message: str) -> UndefinedSymbol | None:
    """``/.../flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi``: in its original case."""
    found = _UNDEFINED.search(message)
    if found is None:
        return None
    symbol, _, of = found["symbol"].rstrip(".,").partition("@")
    plain = demangle(symbol) or symbol
    library, owner = _owner(plain, symbol)
    if not library and of.strip("@").startswith("lib"):
        library = of.strip("@")
    if not found["library"] and not owner:
        return None
    file = found["library"] or ""
    return UndefinedSymbol(file.rpartition("/")[2] or "a compiled file", symbol, plain, package_of_file(file), library, owner)


def parse_retold(message: str) -> str:
    """The file of which somebody says that a symbol is undefined, without the symbol: ``causal_conv1d_cuda.so undefined symbol``."""
    if parse_undefined(message) is not None:
        return ""
    if (told := _RETOLD.search(message)) is not None:
        return (told["before"] or told["after"]).rpartition("/")[2].rstrip(".")
    named = _RETOLD_NAME.search(message)
    return (named["before"] or named["after"]).replace("-", "_").lower() if named is not None else ""


# cffi's words over ctypes.util.find_library: https://github.com/bastibe/python-soundfile/issues/238
_NOT_LOCATED = re.compile(r"did not manage to locate a library called '(?P<name>[\w.-]{2,40})'")


def parse_absent(message: str) -> AbsentLibrary | None:
    """``libcudart.so.11.0: cannot open shared object file: No such file or directory``."""
    found, named = _ABSENT.search(message) or _NONE_OF.search(message), _NOT_LOCATED.search(message)
    return AbsentLibrary(found["library"]) if found is not None else AbsentLibrary(f"lib{named['name']}.so") if named is not None else None


def parse_extension(message: str) -> str:
    """The name of an extension that torch compiles when it is first used and whose file is not there; empty where none is told."""
    found = _EXTENSION.search(message)
    return "" if found is None else found["name"]


def package_of_file(path: str) -> str:
    """The package that a compiled file is of, by its path or, outside of site-packages, by its name; empty where neither tells."""
    if not path:
        return ""
    owner, _ = owner_of(path)
    if owner:
        return package_of(owner.partition(".")[0])
    *folders, file = path.split("/")
    name = file.partition(".")[0]
    if _OF_TORCH.fullmatch(name):
        return "torch"
    # Of a path that was cut before its site-packages the folders tell; libtorchaudio.so is torchaudio's.
    known = (package_of(one) for one in (name, *reversed(folders), name.removeprefix("lib")) if one and not one.startswith("lib"))
    return next((one for one in known if one in listed()), "")


def _owner(plain: str, symbol: str) -> tuple[str, str]:
    if symbol.startswith("_Z"):
        scope = plain.removeprefix("vtable for ").removeprefix("typeinfo for ").removeprefix("typeinfo name for ")
        head = scope.partition("(")[0]
        name = head.rpartition(" ")[2] if "<" not in head else head
        for prefix, library, package in _SCOPES:
            if name.startswith(prefix):
                return library, package
        # Where the name could not be read, its first scope stands in it as it is.
        for prefix, library, package in _SCOPES:
            part = prefix.split("::")[0]
            if symbol.startswith((f"_ZN{len(part)}{part}", f"_ZNK{len(part)}{part}")):
                return library, package
        return "", ""
    return next(((library, package) for prefix, library, package in _PREFIXES if symbol.startswith(prefix)), ("", ""))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
