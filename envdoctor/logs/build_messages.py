"""Messages of compilers, linkers, CMake, setuptools and cargo while an extension is built, pasted without whose build it was.

Wordings as gcc, nvcc, CMake, setuptools and cargo print them; what the threads came to:
https://github.com/facebookresearch/sam2/issues/21 (a toolkit of torch's CUDA), https://github.com/huggingface/tokenizers/issues/1050,
/issues/1359 (Rust 1.73), https://github.com/PJK/libcbor/issues/351 (CMake 4). That ``AT_CHECK`` and ``THC.h`` went with torch
1.5 and 1.11: https://github.com/pytorch/pytorch/issues/36581,
https://github.com/CoinCheung/pytorch-loss/pull/37. That 2.1 is the first torch that asks for C++17 is in the headers of its wheel.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_WHEEL = "a release, or a Python, for which it has a wheel"

BUILDS = (
    StatedMessage(
        r"can'?t find Rust compiler|Cargo, the Rust package manager, is not installed",
        "A package of Rust is built here, and no compiler for it is found",
        "pip takes the source where no wheel fits: an old release beside a newer Python, or a rare platform",
        f"{_WHEEL} (of tokenizers, safetensors, tiktoken mostly a newer release); else install Rust from rustup.rs; pip install -U pip "
        f"first",
    ),
    StatedMessage(
        r"casting `&T` to `&mut T` is undefined|#\[deny\(invalid_reference_casting\)\]",
        "A Rust compiler refuses source that older ones took",
        "tokenizers before 0.14.1 and others of that time are refused by Rust 1.73 and later",
        f"{_WHEEL}: a newer tokenizers; else RUSTFLAGS='-A invalid_reference_casting' for the build, or rustup default 1.72",
    ),
    StatedMessage(
        r"`?cargo (?:rustc|metadata|build)\b[^\n]{0,200}failed with (?:code|exit)",
        "cargo could not build a package of Rust",
        "pip takes the source where no wheel fits this Python and platform",
        f"{_WHEEL}; else the first line with 'error' above tells what the compiler refuses",
    ),
    StatedMessage(
        r"unsupported GNU version! gcc versions later than (?P<version>[\d.]{1,6}) are not supported",
        "nvcc of this CUDA takes a gcc up to {version}, and the gcc that it finds is newer",
        "",
        "CC=gcc-{version} CXX=g++-{version} (and NVCC_PREPEND_FLAGS='-ccbin g++-{version}'), or a newer CUDA toolkit",
    ),
    # https://github.com/autonomousvision/gaussian-opacity-fields/issues/49
    StatedMessage(
        r"installed version of (?P<name>[\w+-]{2,12}) \((?P<got>[\d.]{1,9})\) is greater than the maximum required version by CUDA "
        r"(?P<cuda>[\d.]{2,6}) \((?P<version>\d{1,2})[\d.]{0,7}\)",
        "nvcc of CUDA {cuda} takes {name} up to {version}, and {got} is found",
        "",
        "apt-get install gcc-{version} g++-{version}, then CC=gcc-{version} CXX=g++-{version} before the same command; or a newer CUDA "
        "toolkit, with a torch for it",
    ),
    # https://github.com/BlinkDL/ChatRWKV/issues/173
    StatedMessage(
        r"error: parameter packs not expanded with",
        "nvcc of this toolkit does not read the headers of the gcc that it finds",
        "nvcc until 11.5 beside gcc 11 or later, as Ubuntu 22.04 has both",
        "apt-get install gcc-10 g++-10, then CC=gcc-10 CXX=g++-10 before the same command; or a newer CUDA toolkit",
    ),
    # setup.py of flash-attn, causal-conv1d and mamba-ssm: https://github.com/state-spaces/mamba/issues/323
    StatedMessage(
        r"(?P<name>\w{3,30}) is only supported on CUDA (?P<version>[\d.]{2,6}) and above",
        "The nvcc that {name} is to be built with is older than CUDA {version}",
        "its setup.py asks nvcc -V, and not torch nor nvidia-smi: an nvcc of the distribution stands first, or a toolkit of another CUDA",
        "export CUDA_HOME=/usr/local/cuda-X.Y of torch.version.cuda and PATH=$CUDA_HOME/bin:$PATH until nvcc -V shows it (conda install -c "
        "nvidia cuda-toolkit=X.Y brings one), then the same with --no-build-isolation",
    ),
    # apex's setup.py
    StatedMessage(
        r"Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile Pytorch binaries"
        r"(?:.{0,60}compiled with Cuda (?P<version>[\d.]{2,6}\d))?",
        "The CUDA toolkit that is found is of another CUDA than torch's {version}",
        "apex compares nvcc -V with torch.version.cuda",
        "export CUDA_HOME=/usr/local/cuda-X.Y of torch.version.cuda and PATH=$CUDA_HOME/bin:$PATH; or a torch for the CUDA that nvcc -V "
        "shows",
    ),
    StatedMessage(
        r"unsupported clang version",
        "The host's compiler is of a release that this CUDA toolkit does not take",
        "",
        "a release that the message allows beside it (nvcc -ccbin), or a newer CUDA toolkit",
    ),
    StatedMessage(
        r"error: command '[^'\s]{0,120}nvcc(?:\.exe)?' failed with exit (?:code|status) \d",
        "nvcc failed on a source of CUDA, and says why above this line",
        "most often a toolkit of another CUDA than torch was built for, a gcc that is too new for it, code for another torch, or memory",
        "the first line with 'error:' above; nvcc --version beside python -c 'import torch; print(torch.version.cuda)'; MAX_JOBS=2",
        sure=False,
    ),
    StatedMessage(
        r"nvcc fatal\s{0,3}: Unknown option '-{1,2}(?:generate-dependencies-with-compile|threads|std=c\+\+17)",
        "The nvcc that is found is older than the build asks for",
        "an nvcc of the distribution (/usr/bin/nvcc, often CUDA 10 or 11.5) stands before the toolkit's own",
        "CUDA_HOME and PATH with the toolkit of torch's CUDA (/usr/local/cuda-12.1/bin first)",
    ),
    StatedMessage(
        r"CMake (?P<want>[\d.]{1,8}) or higher is required\.\s{1,4}You are running version (?P<got>[\d.]{1,8})",
        "The build asks for CMake {want}, and {got} is there",
        "",
        "pip install 'cmake>={want}' (and see that which cmake is that one)",
    ),
    StatedMessage(
        r"Compatibility with CMake < 3\.5 has been removed",
        "CMake 4 refuses a project that asks for a CMake before 3.5",
        "CMake 4.0, of March 2025, gave these up",
        "CMAKE_POLICY_VERSION_MINIMUM=3.5 in the environment of the build, pip install 'cmake<4', or a later release of the package",
    ),
    StatedMessage(
        r"No CMAKE_CUDA_COMPILER could be found|Failed to find nvcc|CMAKE_CUDA_COMPILER:? ?(?:-NOTFOUND|NOTFOUND)",
        "CMake finds no nvcc",
        "a driver alone has none: nvcc comes with the CUDA toolkit",
        "install the toolkit, or put its folder on the PATH; CUDACXX=/usr/local/cuda/bin/nvcc and CUDA_HOME name it",
    ),
    StatedMessage(
        r"Compiling the CUDA compiler identification source file(?!\s{0,8}\S{1,60} succeeded)",
        "CMake found nvcc, and nvcc compiles nothing here",
        "a gcc or a Visual Studio that it does not take, or an architecture that it does not know",
        "the compiler's own words follow in that message; CUDAHOSTCXX=g++-11 names another gcc",
    ),
    StatedMessage(
        r"No CUDA toolset found",
        "Visual Studio has no support for CUDA: the toolkit was installed without it, or before it",
        "",
        "install the CUDA toolkit again after Visual Studio, with its Visual Studio Integration; else copy its MSBuildExtensions",
    ),
    StatedMessage(
        r"(?<!-- )Could NOT find (?P<what>CUDA|CUDAToolkit|OpenMP\w{0,4}|OpenSSL|BLAS|Protobuf|Python3?|pybind11|Boost|OpenCV|Threads"
        r"|ZLIB|CURL|MPI|"
        r"LAPACK|NCCL)\b",
        "CMake does not find {what}, which the build asks for",
        "the package with its headers is missing, or in a folder where CMake does not look",
        "install its development package (CUDA: the toolkit, with CUDA_HOME); -DCMAKE_PREFIX_PATH= or {what}_ROOT names its folder",
    ),
    StatedMessage(
        r"CMAKE_(?P<what>C|CXX)_COMPILER (?:not set|could be found)|No CMAKE_(?P<other>C|CXX)_COMPILER could be found"
        r"|CMAKE_MAKE_PROGRAM is not set",
        "CMake finds no compiler, or no program to run it",
        "",
        "apt-get install build-essential ninja-build (on Windows Visual Studio's tools for C++, and its Native Tools prompt)",
    ),
    StatedMessage(
        r"invalid command 'bdist_wheel'",
        "setuptools knows no bdist_wheel: the package wheel is not there",
        "",
        "pip install wheel (or a setuptools from 70.1 on, which has the command), and the install once more",
    ),
    StatedMessage(
        r"use_2to3 is invalid",
        "The package asks setuptools to turn Python 2 into Python 3, which setuptools gave up in release 58",
        "",
        "a later release of that package; else pip install 'setuptools<58' and --no-build-isolation",
    ),
    StatedMessage(
        r"Multiple top-level packages discovered in a flat-layout: (?P<names>\[[^\]]{1,160}\])",
        "setuptools does not guess which of these folders are the package: {names}",
        "the project was not written to be installed, or has folders that are not its own (data, outputs)",
        "run it from its folder without an install; else name them in pyproject.toml: [tool.setuptools] packages",
    ),
    StatedMessage(
        r"error: metadata-generation-failed|error: subprocess-exited-with-error|legacy-install-failure",
        "pip ran a package's own setup and that failed; why stands above this line, in the lines of that setup",
        "pip takes the source where no wheel fits this Python and platform",
        f"{_WHEEL}; else the first 'Error' above that line (paste it as well)",
        sure=False,
    ),
    StatedMessage(
        r"setuptools is not available in the build environment|Cannot import 'setuptools\.build_meta'|BackendUnavailable",
        "The build is to use setuptools, and its environment has none that works",
        "--no-build-isolation takes what is installed; Python 3.12 and later make environments without it",
        "pip install setuptools wheel first; an old setuptools on Python 3.12 has to go up (pip install -U setuptools)",
    ),
    StatedMessage(
        r"cannot find -l(?P<name>aio|stdc\+\+|nccl|cudart|cublas|cudnn|ibverbs|numa|openblas|z|ssl|crypto|python[\d.]{1,5}m?|gomp"
        r"|torch\w{0,8}|c10\w{0,5})\b"
        r"|library not found for -l(?P<other>\w{1,20})",
        "The linker does not find the library {name}{other}",
        "a library's development package is missing, or its folder is not among those that the linker looks through",
        "install it (libaio-dev, libnuma-dev, ...; on macOS brew install libomp), or name its folder in LIBRARY_PATH and LDFLAGS=-L",
    ),
    StatedMessage(
        r"identifier \"(?P<name>__half2?|__nv_bfloat162?|__hadd2?|__hmul2?|__hfma2?|hexp2?)\" is undefined|no suitable conversion "
        r"function from "
        r"\"(?P<other>__half|__nv_bfloat16)\"|more than one instance of overloaded function \"(?P<third>__h\w{2,8})\"",
        "A source of CUDA does not go with the operations of 16 bits that this toolkit and torch give it: {name}{other}{third}",
        "float16 came with compute capability 5.3 and bfloat16 with 8.0; torch turns some off "
        "(-D__CUDA_NO_HALF_OPERATORS__), and newer toolkits define what old sources define",
        "TORCH_CUDA_ARCH_LIST with the architecture of this GPU alone; a newer toolkit, or the extension's release for this torch",
    ),
    StatedMessage(
        r"'?(?:AT_CHECK|THCState_getCurrentStream)'? was not declared"
        r"|identifier \"AT_CHECK\" is undefined|fatal error: THC/\w{3,40}\.cuh?\b|fatal error: THC/\w{3,40}\.h|Cannot open include "
        r"file: 'THC/",
        "The extension is written for an older torch: what it uses is gone",
        "AT_CHECK went with torch 1.5, the headers THC with 1.11",
        "a later state of the extension; a torch of its time; or in its sources TORCH_CHECK for AT_CHECK and ATen's headers for THC's",
        package="torch",
    ),
    StatedMessage(
        r"C\+\+1(?P<num>[47]) or later compatible compiler is required to use (?:PyTorch|ATen)",
        "The extension is compiled as an older C++ than torch's headers ask for (C++1{num})",
        "its setup.py states -std=c++14 or less, as code for an older torch does, or the compiler is too old",
        "-std=c++17 in its setup.py (extra_compile_args) in place of the older one, a newer gcc, or a torch of its time (C++14 until 2.0)",
        package="torch",
    ),
    # https://github.com/deepspeedai/DeepSpeed/issues/4576
    StatedMessage(
        r"You need C\+\+1(?P<num>[47]) to compile PyTorch",
        "The C++ compiler is older than the C++ that torch's headers ask for (C++1{num})",
        "gcc 4 or 5 of the system (CentOS 7 has 4.8)",
        "conda install -c conda-forge gxx_linux-64 (or gcc 9 and later of the system), CC and CXX with its path, and the same again",
        package="torch",
    ),
    StatedMessage(
        r"fatal error: '?longintrepr\.h'?|has no member named '(?:exc_type|use_tracing|f_code|curexc_type|cframe|recursion_depth|ob_digit)'"
        r"|too few arguments to function '?_PyLong_AsByteArray",
        "The C source (mostly made by Cython) is for an older Python than this one",
        "later releases of Python moved what it reads",
        f"a later release of that package, or a Python of its time; {_WHEEL}",
    ),
    StatedMessage(
        r"clang(?:\+\+)?: error: unsupported option '-fopenmp'",
        "Apple's clang has no OpenMP of its own",
        "",
        "brew install libomp and CPPFLAGS='-Xpreprocessor -fopenmp' with LDFLAGS=-lomp, or gcc of brew as CC and CXX",
    ),
    StatedMessage(
        r"unrecognized command[- ]line option '?-(?P<option>mavx512\w{0,10}|march=\S{2,20}|arch|Wno-\S{2,30})",
        "The compiler does not know the option -{option}",
        "a gcc that is older than the flag, or a flag of another compiler",
        "a newer gcc (CC and CXX name it)",
    ),
    StatedMessage(
        r"async_io requires the dev libaio|libaio.{0,40}(?:not found|were not found)",
        "DeepSpeed's operator for disks lacks libaio's headers; a warning, and an error only where offloading to NVMe is used",
        "",
        "apt-get install libaio-dev where NVMe is used; else let it be, and look for another error",
        sure=False,
        package="deepspeed",
    ),
    StatedMessage(
        r"Error compiling objects for extension",
        "A compiled extension of torch could not be built; why stands above this line, in the compiler's words",
        "",
        "the first line with 'error:' above it",
        sure=False,
    ),
    StatedMessage(
        r"Command '\['which', '(?P<what>[\w+-]{2,20})'\]' returned non-zero",
        "There is no {what} on the PATH, which is to compile an extension",
        "",
        "apt-get install build-essential (conda install gxx), in that same environment or container",
    ),
    StatedMessage(
        r"Command '\['git', [^\]]{1,300}\]' returned non-zero exit status 128|git (?:clone|checkout|fetch)\b.{0,200}exit (?:code"
        r"|status):? 128",
        "git refused what the installer asked of it (128)",
        "no way to the server, a repository that is private or gone, or a branch, tag or commit that it does not have",
        "git's own words stand above (fatal: ...); try that command by hand",
    ),
    StatedMessage(
        r"invalid command '(?P<what>build_ext|develop|egg_info)'|error: option "
        r"--(?P<option>single-version-externally-managed|record|prefix|user|home|inplace|editable|cpp_ext|cuda_ext) not "
        r"recognized",
        "setup.py was asked for what this setuptools does not know: {what}{option}",
        "",
        "pip install . in its place (-e . to change it), with the setuptools that its pyproject.toml names",
    ),
    StatedMessage(
        r"Failed to build wheel because setuptools_scm|setuptools-scm was unable to detect version",
        "setuptools-scm reads the version from git, and there is no history of git here",
        "an archive was unpacked, .git was left out of the image, or the clone has no tags",
        "a git clone with its tags (git fetch --tags); else SETUPTOOLS_SCM_PRETEND_VERSION=1.0 for the build",
    ),
)
