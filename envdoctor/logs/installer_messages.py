"""Messages of what installs and starts: pip, uv, poetry, conda, apt, containers, notebooks, Windows, pasted without their command.

Wordings as these print them: https://github.com/pypa/pip, https://github.com/astral-sh/uv, https://github.com/conda/conda (exceptions.py),
https://github.com/mamba-org/mamba, Docker, https://github.com/NVIDIA/nvidia-container-toolkit/issues/48 (NVML
after systemd reloads), https://github.com/jupyter/notebook.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

INSTALLERS = (
    # https://github.com/pypa/pip/issues/12063
    StatedMessage(
        r"(?:DEPRECATION: )?(?P<name>[\w.-]{2,60}) (?P<release>\d[\w.]{0,30}) has a non-standard "
        r"(?:dependency specifier (?P<spec>\S{2,80}?)|version number)\. pip (?P<pip>\d[\d.]{0,6}\d) will enforce",
        "pip before 24.1 takes {name} {release}, whose metadata is not of the standard ({spec}), and pip from 24.1 on refuses it",
        "a warning, and no error yet: the install went on; but {name} is of years ago, and so is what asks for it",
        "pip below 24.1 for as long as {name} {release} is wanted; else a later {name}, and what holds it back (pip show {name}: "
        "Required-by) with it; for an error that follows, its own lines",
        sure=False,
    ),
    StatedMessage(
        r"resolution-too-deep|ResolutionTooDeep",
        "pip tried so many releases that it gave up",
        "requirements without bounds leave it every combination, old ones as well",
        "pins or lower bounds for the packages that it keeps going back through (torch, transformers, numpy); or uv pip install, which "
        "finds out "
        "faster",
    ),
    StatedMessage(
        r"HTTP error (?P<code>40[134]) while getting (?P<url>\S{8,300})",
        "The file that pip was told to take is not there, or not for everybody ({code}): {url}",
        "a release, a Python or a CUDA for which no such wheel was built, or an address that has moved",
        "open the page that lists the wheels and take the name of one that is there",
    ),
    StatedMessage(
        r"PackagesNotFoundError|not available from current channels|ResolvePackageNotFound|nothing provides (?:requested "
        r")?(?P<name>[\w.-]{2,60})",
        "conda's channels have no such package, release or build: {name}",
        "another platform than the file was written on, a channel that is not named, or a build that is gone",
        "the builds left out (conda env export --from-history), -c with the channel that has it (conda-forge, pytorch, nvidia), or pip "
        "for it",
    ),
    StatedMessage(
        r"(?:LibMamba)?Unsatisfiable(?:Error)?\b.{0,200}(?:Encountered problems|conflict|incompatible)|solving environment: failed\W{0,3}$",
        "conda finds no set of packages that fits what is asked and what is installed",
        "",
        "a new environment with all of them in one command; the lines below name the pair that does not fit",
        sure=False,
    ),
    StatedMessage(
        r"failed with initial frozen solve|failed with repodata from current_repodata",
        "conda's first try did not fit, and it goes on with a wider one: no error yet",
        "",
        "wait for what it says in the end; in a new environment, or with the libmamba solver, it is done sooner",
        sure=False,
    ),
    StatedMessage(
        r"CondaHTTPError: HTTP (?P<code>\d{3})",
        "conda does not reach a channel (HTTP {code}; 000 is no connection, 403 a refusal, 404 a channel that is not there)",
        "a network, a proxy or a mirror that is gone, or the wrong name of a channel",
        "conda config --show channels default_channels; remove mirrors that are gone from ~/.condarc; conda clean -i, and again",
    ),
    StatedMessage(
        r"CondaValueError: prefix already exists: (?P<path>\S{2,200})",
        "conda is to make an environment that is there: {path}",
        "",
        "conda env update -f environment.yml --prune, another name (-n), or conda env remove -n NAME before",
        given=True,
    ),
    StatedMessage(
        r"InvalidArchiveError|CondaVerificationError|package for \S{1,80} located at .{0,200}appears to be corrupted|ChecksumMismatchError",
        "A package in conda's store (or the download of it) is damaged",
        "a download that broke off, two conda at once, or a full disk",
        "df -h; conda clean --packages --tarballs -y, and the same again",
    ),
    StatedMessage(
        r"dependency resolver does not currently take into account all the packages that are installed",
        "pip installed what it was asked, and packages that were there before ask for something else; which, the lines below say",
        "",
        "paste those lines as well: they name both sides; a new environment with all in one command",
        sure=False,
    ),
    StatedMessage(
        r"[Ff]ailed to fetch: `(?P<url>[^`]{8,300})`",
        "uv cannot fetch {url}",
        "what stands under 'Caused by' tells why: no network, a proxy or a certificate (UV_NATIVE_TLS=1 takes the system's), a login, "
        "or no such file",
        "curl -I of that address from the same place; UV_HTTP_TIMEOUT=300 for slow ways",
        sure=False,
    ),
    StatedMessage(
        r"lockfile (?:at `(?P<file>[^`]{3,160})` )?needs to be updated, but `--(?P<flag>locked|frozen)`",
        "uv.lock is not of this pyproject.toml, and --{flag} forbids to change it",
        "",
        "uv lock, and commit what it writes",
        given=True,
    ),
    StatedMessage(
        r"No virtual environment found|`--system` to install",
        "uv is to install into a virtual environment, and there is none",
        "conda's counts only where CONDA_PREFIX is set; a container's Python is no virtual environment",
        "uv venv and then again, or --system in a container (UV_SYSTEM_PYTHON=1)",
        given=True,
    ),
    StatedMessage(
        r"supported Python range \((?P<range>[^)]{3,40})\) is not compatible with some of the required packages",
        "poetry wants packages for every Python in {range}, and one of them has none for a part of it",
        "the lines below name the package and the Pythons it takes",
        "a narrower python in pyproject.toml (such as >=3.10,<3.13), as that message proposes",
        given=True,
    ),
    StatedMessage(
        r"Retrying \(Retry\(total=\d.{0,100}after connection broken by '(?P<kind>\w{3,40})",
        "pip does not reach its index, and tries again ({kind})",
        "no network here, a proxy that is not set, or an index that is gone (pip config list shows which)",
        "pip --proxy, or -i with an index that is reached; where a later try went well, look for another error",
        sure=False,
    ),
    StatedMessage(
        r"Ignoring invalid distribution -?(?P<name>\S{1,60})",
        "An install that broke off left a folder ~{name} in site-packages: a warning that harms nothing",
        "",
        "remove the folders that begin with ~ there; look for another error",
        sure=False,
    ),
    StatedMessage(
        r"E: Unable to locate package (?P<name>\S{2,60})|Package '?(?P<other>[\w.+-]{2,60})'? has no installation candidate",
        "apt knows no package {name}{other} here",
        "its lists were not fetched, or this release of the system has it by another name or from another source",
        "apt-get update first; for another Python than the system's the PPA deadsnakes (Ubuntu), uv python install or conda",
    ),
    StatedMessage(
        r"Could not (?:open|get) lock (?:file )?/var/lib/(?:dpkg|apt)",
        "apt is not run as root, or another apt runs",
        "",
        "sudo; or wait for the other one (unattended-upgrades) to end",
    ),
    # https://github.com/turlucode/ros-docker-gui/issues/13
    StatedMessage(
        r"NO_PUBKEY (?P<key>\w{8,40})|[Rr]epository '[^'\n]{1,200}' is not signed|GPG error",
        "apt does not trust a source of packages: {key}",
        "its key is not on this machine, ended, or is refused; "
        "NVIDIA changed the key of its CUDA sources in April 2022 (A4B469963BF863CC is the new one)",
        "the package cuda-keyring of NVIDIA's source; in an old image remove /etc/apt/sources.list.d/cuda.list before apt-get update",
    ),
    StatedMessage(
        r"Failed to initialize NVML: Unknown Error",
        "NVML does not start: mostly a container lost its GPUs while it ran",
        "systemd reloads its units (or the driver was renewed) and takes the devices from containers that cgroups of its own keep",
        "start the container anew; --device /dev/nvidia0 (and nvidiactl, nvidia-uvm) for it, or the cgroupfs driver for Docker, keep it "
        "from that",
        sure=False,
    ),
    StatedMessage(
        r"exec: \"(?P<name>[^\"]{1,80})\": (?:executable file not found in \$PATH|stat \S{1,80}: no such file)",
        "The image has no program {name}",
        "nvidia-smi comes with --gpus from the host's driver; a script that is started has to be in the image",
        "docker run --gpus all with nvidia-container-toolkit for nvidia-smi; else the image that has it",
    ),
    StatedMessage(
        r"failed to create (?:shim )?task|OCI runtime create failed",
        "Docker made the container and could not start what it is to run; the end of that line says why",
        "",
        "the words behind the last colon: a program that is not in the image, a folder that cannot be mounted, or the GPU's hook",
        sure=False,
    ),
    StatedMessage(
        r"IProgress not found",
        "The notebook has no widgets for progress bars",
        "",
        "pip install -U ipywidgets jupyter, and the page loaded anew; tqdm without .notebook does without",
    ),
    StatedMessage(
        r"asyncio\.run\(\) cannot be called from a running event loop|This event loop is already running",
        "The code starts an event loop where one runs, as in every notebook",
        "",
        "await that call in the notebook, import nest_asyncio; nest_asyncio.apply() before, or run it as a script",
        given=True,
    ),
    StatedMessage(
        r"session crashed after using all available RAM|kernel (?:appears to have died|died|crashed)",
        "The process of the notebook was ended",
        "mostly the machine's memory was full; a crash in compiled code does the same",
        "free -h beside it; a smaller model or data in pieces; run it as a script, which prints why it ended",
        sure=False,
    ),
    StatedMessage(
        r"A UTF-8 locale is required\. Got (?P<got>[\w.-]{2,40})",
        "Colab's shell commands want a locale of UTF-8, and something set {got}",
        "",
        "import locale; locale.getpreferredencoding = lambda do_setlocale=True: 'UTF-8', or restart the runtime",
    ),
    StatedMessage(
        r"To launch a multi-GPU training from your notebook|CUDA has been initialized before (?:the )?notebook_launcher",
        "The GPU was used in the notebook before notebook_launcher starts its processes",
        "",
        "restart the kernel, and make the Accelerator, the model and all that uses CUDA inside the function that is launched",
        given=True,
        package="accelerate",
    ),
    StatedMessage(
        r"requires ipykernel package",
        "The Python that the notebook was given has no ipykernel",
        "",
        "python -m pip install ipykernel in that environment, or choose the kernel of another one",
    ),
    StatedMessage(
        r"filename, directory name, or volume label syntax is incorrect|\[WinError 123\]",
        "Windows takes no such path",
        'a sign that no name may have (: * ? " < > |), quotes inside the path, or a link to a drive in it',
        "print(repr(path)); r'...' or forward slashes, and no colon of a time or a model's name",
    ),
    StatedMessage(
        r"DLL load failed while importing (?P<name>\w{1,60}): .{0,6}(?:The specified procedure could not be found|找不到指定的程序"
        r"|プロシージャ"
        r"|Die angegebene Prozedur)",
        "{name} found a library by the right name and of another release: a function is missing in it",
        "the packages are built for other releases of each other (torch, numpy, CUDA), or another program's DLL comes first on the PATH",
        "its release for the torch and Python that are there, in a new environment",
    ),
    StatedMessage(
        r"DLL load failed while importing (?P<name>\w{1,60})",
        "Windows could not load {name}, or a library that it needs",
        "the Visual C++ runtime is not there, CUDA's libraries are of another release than it was built for, or its wheel is for "
        "another torch",
        "the Visual C++ Redistributable (2015 to 2022, x64); import torch before it; its wheel for this torch, CUDA and Python",
        sure=False,
    ),
    # https://github.com/CompVis/latent-diffusion/issues/207
    StatedMessage(
        r"Invalid(?:Version|Requirement|Specifier|Marker)\b.{0,4}(?:Invalid \w{3,12}|Expected .{0,80}?): ['\"]?(?P<text>[^'\"]{1,100})",
        "packaging refuses {text}: it is not of the form that the standard gives versions and requirements (PEP 440, PEP 508)",
        "releases before 22 took more; mostly an older package writes it so, or has no version of its own (unknown)",
        "a later release of the package whose frame stands before packaging's, or pip install 'packaging<22' 'setuptools<66' beside it",
        package="packaging",
    ),
    # https://github.com/datahub-project/datahub/issues/11839
    StatedMessage(
        r"error sending request for url \((?P<url>https?://[^)\s]{0,200}(?:pypi|pythonhosted|/simple/|/whl/)[^)\s]{0,200})\)",
        "uv did not reach {url}",
        "no network, a proxy that it was not told of, a certificate of one's own network, or a server that did not answer in time",
        "HTTPS_PROXY=http://PROXY:PORT, UV_DEFAULT_INDEX with a mirror that is reached, SSL_CERT_FILE (or --native-tls) for a certificate; "
        "UV_HTTP_TIMEOUT=300 where it is only slow",
    ),
)
