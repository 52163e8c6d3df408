"""Messages of libraries that a process loads or is built with, and that name no Python: OpenMP, Apple's MPS, NVML, compilers, NLTK.

As threads quote them, with what these came to: https://github.com/unslothai/unsloth/issues/4666,
https://github.com/Vaibhavs10/insanely-fast-whisper/pull/283,
https://github.com/ClownsharkBatwing/RES4LYF/issues/109,
https://github.com/Nerogar/OneTrainer/issues/487,
https://github.com/Lightning-AI/torchmetrics/issues/1779,
https://github.com/harry0703/MoneyPrinterTurbo/issues/90.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

LIBRARIES = (
    StatedMessage(
        r"OMP: Error #15: Initializing (?P<second>[\w.-]{1,60}), but found (?P<first>[\w.-]{1,60}) already initialized",
        "Two copies of Intel's OpenMP runtime are loaded into one process: {first} is there already, and {second} comes",
        "torch, numpy with MKL, scikit-learn, faiss and ctranslate2 each bring one; conda beside pip is the usual way to have two",
        "all of them from one source (pip alone, or conda with nomkl); KMP_DUPLICATE_LIB_OK=TRUE goes on with both, and OpenMP warns that "
        "results may be wrong then",
    ),
    StatedMessage(
        r"Cannot convert a MPS Tensor to float64|MPS framework doesn't support float64",
        "Apple's GPU has no float64, and a tensor of 64 bits is to go there",
        "an array of numpy, which is float64 unless it is told otherwise, or a table that the code computes in double precision",
        "x.float() (of an array astype('float32')) before .to('mps'), or that part on the CPU",
    ),
    StatedMessage(
        r"Failed to initialize NVML: Driver/library version mismatch",
        "The NVIDIA driver in the kernel is of another release than its libraries",
        "the driver was updated and the old one is still loaded",
        "restart; without: end what uses the GPU, rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia, then modprobe nvidia",
    ),
    StatedMessage(
        r"CUDA driver version is insufficient for CUDA runtime version",
        "The NVIDIA driver is older than the CUDA that this program was built with",
        "nvidia-smi shows the newest CUDA that the driver serves; torch.version.cuda what torch was built with",
        "a newer driver, or a build for an older CUDA (torch: --index-url https://download.pytorch.org/whl/cu118)",
    ),
    StatedMessage(
        r"[Ee]rror loading \W{0,3}(?:[^\s\"']{0,200}[\\/])?fbgemm\.dll",
        "torch on Windows cannot load its fbgemm.dll: a library that it needs is missing",
        "torch 2.4.0 alone asks for libomp140.x86_64.dll, which its wheel lacks; with other releases it is the Visual C++ runtime",
        "torch 2.4.1 or later; the Visual C++ Redistributable (2015 to 2022, x64)",
        unless=("torch-2-4-0-windows-fbgemm",),
    ),
    StatedMessage(
        r"Resource\W{1,40}(?P<what>\w{2,40})\W{1,20}not found\.\s{1,8}Please use the NLTK Downloader",
        "NLTK's data {what} is not on this machine: it does not come with the package",
        "",
        "python -m nltk.downloader {what} where there is a network, and NLTK_DATA=FOLDER for what was fetched elsewhere",
        unless=("nltk-3-9-punkt-tab",),
    ),
    StatedMessage(
        # https://github.com/pytorch/pytorch/issues/154895, /issues/80784, https://github.com/h2oai/h2ogpt/issues/464
        r"MPS does not support (?P<op>[\w.]{1,40}) op with (?P<dtype>\w{2,12}) input|Operation '(?P<other>\w{2,40})\(\)' does ?not{1,2} "
        r"support input type '(?P<kind>\w{2,12})' in MPS backend",
        "Apple's GPU (MPS) does not compute {op}{other} of {dtype}{kind} in this torch, or on this macOS",
        "operations came to it release by release, some with a macOS of their own (cumsum of int64 with 13.3)",
        "a later torch and macOS; x.to(torch.float32) or x.int() before that line; or that part on the CPU (x.cpu(), device='cpu'): "
        "PYTORCH_ENABLE_MPS_FALLBACK=1 helps only where the operation is missing as a whole",
        package="torch",
    ),
    StatedMessage(
        r"[Cc]ould not load \W?torchlibcodec|[Cc]ould not load libtorchcodec\.?(?: \.\.\.)?$|Could not load this library: "
        r"\S{0,200}libtorchcodec",
        "TorchCodec's compiled library cannot be loaded",
        "each of its releases is built for one of torch, and it asks for FFmpeg's shared libraries, which its wheel lacks",
        "torch and torchcodec of one pair (the table of its README), and FFmpeg as a shared library (conda install ffmpeg, apt-get install "
        "ffmpeg)",
        unless=("torchcodec-built-for-another-torch",),
    ),
    StatedMessage(
        r"error: command '(?P<compiler>[^'\s]{0,60}(?:gcc|g\+\+|cc|clang\+?\+?))' failed: No such file or directory",
        "A package is to be compiled, and there is no {compiler}",
        "no wheel of it fits this Python and system, so that its source archive is taken",
        "apt-get install build-essential (yum groupinstall 'Development Tools'); or a release or a Python that it has a wheel for",
    ),
    StatedMessage(
        r"fatal error: (?P<header>(?:cuda\w*|cublas\w*|cusparse\w*|cusolver\w*|curand\w*|nvtx\w*|cub/[\w/]+)\.(?:h|hpp|cuh)): "
        r"No such file or directory",
        "An extension for CUDA is compiled, and the header {header} of the CUDA toolkit is not found",
        "a machine with the driver alone: torch's wheels bring libraries and no headers",
        "the toolkit of the release that torch.version.cuda tells (conda install -c nvidia cuda-toolkit), and CUDA_HOME for its folder",
    ),
    StatedMessage(
        r"fatal error: (?!Python\.h)(?P<header>[\w/.+-]{1,80}\.(?:h|hpp)): No such file or directory",
        "The compiler does not find the header {header}",
        "the library that it belongs to is not installed, or without the files that are needed to build with it",
        "the package of the system that has it (Debian: NAME-dev), or a wheel of what is being built",
    ),
    StatedMessage(
        r"Attempted to load \W{0,3}(?:\d{1,2}m)?(?P<what>(?:tokenizers|corpora|taggers"
        r"|chunkers|stemmers|models|grammars|help|misc|sentiment|stopwords)/[\w./-]{3,80})",
        "NLTK's data {what} is in none of the folders that the lines list: it does not come with the package",
        "another user's home, another name than was fetched (punkt_tab since NLTK 3.9), or an archive that lies there unpacked alone",
        "python -m nltk.downloader with that name (without .zip); NLTK_DATA names the folder",
    ),
    # https://github.com/dmlc/dgl/issues/7157, /issues/7438
    StatedMessage(
        r"(?i)(?:can't|cannot) find (?:dgl )?c\+\+ (?:library )?graphbolt|libgraphbolt_pytorch_(?P<torch>[\d.]{3,8}\d)",
        "DGL has no GraphBolt that is compiled for this torch {torch}",
        "its wheel has one library for each torch that it was built for, by that torch's exact version; conda-forge's torch has a "
        "version of "
        "another form",
        "the dgl of its own index for this torch and CUDA (its page of installation has the line), or a torch that the wheel has a "
        "library for",
        package="dgl",
    ),
    StatedMessage(
        r"(?P<file>[\w.+-]{3,80}\.so)(?:\.\d{1,3}){0,3}: undefined symbol:? ?(?:\*\S{3,200})?$",
        "{file} was compiled for other releases than those that are there: what it calls is in none of the libraries that are loaded",
        "mostly another torch than the one it was built with; the name of the symbol was not pasted whole",
        "build or install its package anew beside the torch that is there",
    ),
    StatedMessage(
        r"ImportError: libGL(?:\.so)?(?:\.1)?$|libGL\.so\.1: cannot open",
        "The system has no libGL, which OpenCV (and others that draw) load",
        "images of containers and servers have no libraries of a screen",
        "pip install opencv-python-headless in place of opencv-python; or apt-get install libgl1 libglib2.0-0",
    ),
    StatedMessage(
        r"ImportError: (?P<file>lib[\w+-]{1,40}\.so[\d.]{0,10})$",
        "The library {file} cannot be loaded",
        "it is not installed, or not where the loader looks; the rest of the line, which says so, was not pasted",
        "ldconfig -p and find / -name '{file}*' show whether it is there; its package, or LD_LIBRARY_PATH",
    ),
    StatedMessage(
        r"`np\.(?P<name>\w{2,10})` was a deprecated alias for (?:the builtin )?`(?P<other>[\w.]{2,20})`",
        "The code writes np.{name}, which numpy gave up in 1.24",
        "",
        "pip install 'numpy<1.24', a later release of the package that writes it, or {other} in its place",
        package="numpy",
    ),
)
