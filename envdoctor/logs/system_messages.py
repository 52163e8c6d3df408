"""Messages of operating systems: files, disks, memory, processes and networks, by the number of the error.

errno(3), signal(7) and https://learn.microsoft.com/windows/win32/debug/system-error-codes name the numbers.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_PATH = r"(?:: ?b?['\"](?P<path>[^'\"]{1,400})['\"])?"
_FULL = ("disk-is-full", "shared-memory-too-small", "too-many-open-files")
_PROGRAMS = (
    r"(?:git|git-lfs|ninja|cmake|make|gcc|g\+\+|cl|nvidia-smi|sox|espeak|espeak-ng|java|node|npm|unzip|wget|curl|tesseract|pdftoppm"
    r"|mpirun|srun|hf)"
)

SYSTEM = (
    StatedMessage(
        r"can't open file '(?P<file>[^']{1,300})': \[Errno 2\]",
        "Python was told to run {file}, and there is no such file",
        "the directory that the command was started in, or the script was renamed or moved in a later state of the project",
        "start it in the folder that has the script, or take the command of the state of the project that is there",
        given=True,
    ),
    StatedMessage(
        rf"(?:\[Errno 2\] No such file or directory: ['\"](?P<program>{_PROGRAMS})['\"]"
        rf"|(?:^|[:\s])(?P<other>{_PROGRAMS}): (?:command )?not found)",
        "The program {program}{other} is started, and it is not on the PATH",
        "",
        "install it (apt-get install, conda install, or its own page), and see which {program}{other}",
    ),
    StatedMessage(
        r"^error: \[WinError 2\]",
        "A build could not start its compiler: cl.exe or nvcc is not on the PATH",
        "setuptools says it in these words where Visual Studio's tools for C++, or CUDA's toolkit, are missing or not set up in this shell",
        "install the Build Tools for Visual Studio with C++, and build in its x64 Native Tools prompt; where nvcc shows whether CUDA "
        "is there",
    ),
    StatedMessage(
        r"unsupported Microsoft Visual Studio version",
        "The Visual Studio that compiles is newer than this CUDA toolkit takes",
        "",
        "an older MSVC toolset (14.3x, in the installer of Visual Studio), a newer CUDA toolkit, or nvcc's -allow-unsupported-compiler",
    ),
    StatedMessage(
        r"terminate called (?:after throwing an instance of|without an active exception)",
        "Compiled code raised an error in C++ that nobody caught, and the program was ended",
        "its words stand after what():; libraries that were loaded in another order, or of two builds, do this while they are imported",
        "import torch before the others; python -X faulthandler shows whose code ran",
        sure=False,
    ),
    StatedMessage(
        r"\[Errno 2\] No such file or directory" + _PATH + r"|No such file or directory \(os error 2\)"
        r"|\[WinError [23]\] (?:The system cannot find"
        r" the (?:path|file) specified|系统找不到指定的(?:文件|路径))[^:]{0,60}"
        r"(?:: ?['\"](?P<other>[^'\"]{1,400})['\"])?",
        "A file, a folder or a program is not where it is looked for: {path}{other}",
        "the message names no path: it may be a program that is to be started and is not on the PATH",
        "look at the line of the frame above that opens or starts it",
        given=True,
        clues="missing",
    ),
    StatedMessage(
        r"\[Errno (?:13|1)\] (?:Permission denied|Operation not permitted)" + _PATH + r"|\[WinError 5\] [^:]{3,60}"
        r"(?:: ?['\"](?P<other>[^'\"]{1,400})['\"])?|Permission denied \(os error 13\)",
        "The user that the program runs as may not read or write {path}{other}",
        "the path of another user, a read-only folder, or a file that another program holds open (Windows)",
        "ls -ld on it shows its owner; a folder of this user in its place",
        clues="refused",
    ),
    StatedMessage(
        r"\[WinError 32\][^:]{0,120}(?:: ?['\"](?P<file>[^'\"]{1,400})['\"])?",
        "Another process holds the file open: {file}",
        "Windows removes and renames no file that is open: an earlier run, a viewer, a virus scanner or the program itself",
        "end what has it open, and run it again; num_workers=0 where a worker of the data holds it",
    ),
    StatedMessage(
        r"\[WinError 1455\]|(?:paging file|页面文件)[^.]{0,20}(?:is )?too small|页面文件太小",
        "Windows has no memory left to promise: RAM and page file together are taken",
        "each worker process that imports torch takes gigabytes of it, and so does loading a large model",
        "a larger page file (System, Advanced, Performance, Virtual memory), and num_workers=0 or fewer",
    ),
    StatedMessage(
        r"\[WinError 1314\]",
        "Windows lets only administrators and developers make symbolic links",
        "huggingface_hub links its cache, and others link their folders",
        "turn on the developer mode of Windows, or run it as administrator",
    ),
    StatedMessage(
        r"\[WinError 193\]",
        "A file that is to be loaded or started is no program of this kind of Windows",
        "a 32-bit library in a 64-bit Python, a cut download, or a script (.sh, .py) that is started as a program",
        "the message above names the file; install its package again in a 64-bit Python",
    ),
    StatedMessage(
        r"\[WinError 206\]|\[Errno 36\] File name too long",
        "A path is longer than the system takes",
        "Windows takes 260 characters where long paths are off, Linux 255 for one name; names of caches and lock files hold whole paths",
        "a cache nearer to the root (HF_HOME, HF_DATASETS_CACHE); on Windows turn on LongPathsEnabled",
    ),
    StatedMessage(
        r"\[Errno 30\] Read-only file system" + _PATH,
        "A file is to be written on a read-only disk: {path}",
        "the input of Kaggle, a volume that is mounted read-only, or a disk that the system set so after an error",
        "write to another folder (output_dir, HF_HOME; /kaggle/working on Kaggle), or copy the input there first",
    ),
    StatedMessage(
        r"\[Errno 12\] Cannot allocate memory|DefaultCPUAllocator: (?:not enough|can't allocate) memory|std::bad_alloc"
        r"|^MemoryError|Unable to allocate [\d.]{1,10} [KMGT]iB for an array",
        "The memory of the machine (not of the GPU) is full",
        "the whole model or data set is read into it, once per process or worker",
        "free -h beside the run; fewer workers and processes, low_cpu_mem_usage or safetensors, data in pieces, or more memory and swap",
        unless=("host-memory-ended-the-run",),
    ),
    StatedMessage(
        r"\[Errno 122\]",
        "The quota of this user on that disk is used up",
        "caches (HF_HOME, pip, conda) lie in the home directory by default",
        "HF_HOME, PIP_CACHE_DIR and TMPDIR on a disk with room; quota -s shows the limit",
        unless=_FULL,
    ),
    StatedMessage(
        r"\[Errno 5\] Input/output error",
        "The disk or the network drive failed while it was read or written",
        "a drive that went away (Google Drive in Colab, NFS), or a broken disk",
        "copy the data to a local disk and run it again; dmesg shows errors of a disk",
    ),
    StatedMessage(
        r"\[Errno 116\]|Stale file handle",
        "A file on a network drive was replaced or removed while it was open",
        "several nodes write to one folder on NFS",
        "one node writes, or the cache and the output on local disks",
    ),
    StatedMessage(
        r"\[Errno (?:16|39)\] (?:Device or resource busy|Directory not empty)" + _PATH,
        "A folder is to be removed in which a file is still open or written",
        "network drives keep open files as .nfs...; several processes clean up the same folder",
        "a local disk for caches and checkpoints (HF_DATASETS_CACHE, TMPDIR), and one process that removes",
    ),
    StatedMessage(
        r"\[Errno (?:98|48)\]|\[WinError 10048\]|EADDRINUSE|[Aa]ddress already in use",
        "The port is taken: another process listens on it",
        "an earlier run that was not ended, or a second run with the same master port",
        "another port (--main_process_port, --master_port, MASTER_PORT, --port), or end the process that ss -ltnp shows",
        unless=("port-of-the-launch-in-use",),
    ),
    StatedMessage(
        r"\[Errno (?:111|61)\]|\[WinError 10061\]|Connection refused",
        "Nothing listens at the address that is asked",
        "the server or the first process is not started yet, ended with an error of its own, listens on another port, or on 127.0.0.1 of "
        "another container",
        "read the log of that server first; then compare host and port on both sides",
        sure=False,
    ),
    StatedMessage(
        r"\[Errno (?:104|54)\]|\[WinError 1005[34]\]|Connection reset by peer|RemoteDisconnected",
        "The other side closed the connection",
        "a process or server over there ended, or a proxy or firewall cut it off",
        "the log of the other side; for a download the same again, which goes on where it stopped",
        sure=False,
    ),
    StatedMessage(
        r"\[Errno -[235]\] |getaddrinfo failed|Temporary failure in name resolution|Name or service not known|nodename nor servname"
        r"|NameResolutionError",
        "The name of a host could not be resolved",
        "no network (a compute node, a container, a notebook with the internet turned off), or a host name that only other nodes know",
        "what is to be fetched, before, where there is a network, then HF_HUB_OFFLINE=1; for MASTER_ADDR the address in place of the name",
    ),
    StatedMessage(
        r"\[Errno 17\] File exists" + _PATH + r"|\[WinError 183\]",
        "A folder or a file is to be made that is already there: {path}",
        "several processes make the same one, or it is left from an earlier run",
        "remove it or name another output; in code os.makedirs(..., exist_ok=True)",
        given=True,
    ),
    StatedMessage(
        r"\[Errno 21\] Is a directory" + _PATH,
        "A file is to be opened, and {path} is a folder",
        "a setting wants the file itself, and got its folder",
        "write the file's own name behind the folder",
        given=True,
    ),
    StatedMessage(
        r"\[Errno 20\] Not a directory" + _PATH + r"|\[WinError 267\]",
        "A folder is wanted, and a file stands at that place: {path}",
        "a setting wants the folder, and got a file in it",
        "name the folder; in a data folder remove stray files (.DS_Store, archives)",
        given=True,
    ),
    StatedMessage(
        r"\[Errno 22\] Invalid argument: ['\"](?P<name>[^'\"]{1,300})['\"]",
        "The system takes no such name for a file: {name}",
        "on Windows none of : * ? \" < > | may stand in a name, and \\n, \\t, \\a in a path of Python's are no backslashes but signs",
        "r'...' or forward slashes for the path; another name where a time or a model's name with a colon stands in it",
        given=True,
    ),
    StatedMessage(
        r"[Ee]xec format error",
        "A program or an image is for another kind of processor, or a script has no first line #!",
        "an image for amd64 on an ARM machine (Apple, Grace), or the other way",
        "docker run/build --platform linux/amd64 (or arm64); uname -m shows the machine's",
    ),
    StatedMessage(
        r"\[Errno 11\] Resource temporarily unavailable|pthread_create failed|can't start new thread|OpenBLAS blas_thread_init",
        "The system starts no more threads or processes for this user",
        "each process starts as many threads as there are cores, and the limit of the user or of the container (pids) is reached",
        "OMP_NUM_THREADS=4 (and OPENBLAS_NUM_THREADS), fewer workers; ulimit -u, docker run --pids-limit",
    ),
    StatedMessage(
        r"\[Errno 38\] Function not implemented",
        "The system has no semaphores that processes share (/dev/shm is missing or closed)",
        "AWS Lambda, some sandboxes and containers have none",
        "no worker processes (num_workers=0, num_proc=1), or a container with /dev/shm",
    ),
    StatedMessage(
        r"^\W{0,3}(?:\[\d+\]\W{1,8})?Illegal instruction",
        "A compiled file has instructions that this processor does not know",
        "a wheel for processors with AVX, AVX2 or AVX-512 on one without them, or in a virtual machine that hides them",
        "grep -o 'avx[^ ]*' /proc/cpuinfo | sort -u shows what is there; build the package there, or install an older wheel",
    ),
)
