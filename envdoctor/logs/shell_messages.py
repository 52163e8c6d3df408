"""Messages of tools around a run: shells, git and git-lfs, Docker, Slurm, MPI, conda, and NVIDIA's own.

As threads quote them, with what these came to. The tools' own words are at
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit, https://slurm.schedmd.com/job_reason_codes.html,
https://docs.open-mpi.org and https://git-lfs.com; not each was looked up there.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

SHELL = (
    StatedMessage(
        r"\$?'?\\r'?: (?:command not found|No such file)|'(?:bash|sh|python3?)\\r'|/bin/(?:ba)?sh\^M",
        "A script has the line ends of Windows, and Linux takes the \\r for a part of the command",
        "it was edited or checked out on Windows (core.autocrlf)",
        "sed -i 's/\\r$//' FILE, or dos2unix FILE",
        given=True,
    ),
    StatedMessage(
        r"(?:bash|zsh|sh): (?:line )?(?:\d{1,5}: )?(?:command not found: )?(?P<program>[\w./+-]{1,80})(?:: (?:command )?not found)?$"
        r"|(?P<other>[\w./+-]{1,60}): command not found$"
        r"|'(?P<windows>[\w.+-]{1,60})' is not recognized as an internal or external command"
        r"|The term '(?P<power>[\w.+-]{1,60})' is not recognized",
        "The shell finds no program {program}{other}{windows}{power} on the PATH",
        "not installed, installed in an environment that is not active, or in ~/.local/bin, which is not on the PATH",
        "activate the environment that has it; for a Python package python -m NAME starts it without the PATH",
    ),
    StatedMessage(
        r"git: 'lfs' is not a git command|git-lfs (?:not found|was not found)|'git lfs' (?:is )?not",
        "git-lfs is not installed: large files come as pointers of about 130 bytes",
        "",
        "apt-get install git-lfs (or conda install git-lfs), git lfs install, git lfs pull; or hf download in place of git",
    ),
    StatedMessage(
        r"over its data quota|exceeded its LFS budget",
        "The repository's git-lfs quota is used up, so nobody can fetch its large files from there",
        "",
        "GIT_LFS_SKIP_SMUDGE=1 for the clone, and the files from where the project's page has them (the hub, a drive), or later",
    ),
    StatedMessage(
        r"smudge filter lfs failed|Smudge error",
        "git-lfs could not fetch a large file of the clone",
        "the network, a missing account, or files that are gone from the server: the lines above say which",
        "GIT_LFS_SKIP_SMUDGE=1 git clone ..., then git lfs pull; or hf download in place of git",
    ),
    StatedMessage(
        r"RPC failed; (?:curl|HTTP)|fetch-pack: unexpected disconnect|fatal: early EOF|GnuTLS recv error"
        r"|Failed to connect to github\.com",
        "The connection to the git server broke off",
        "a slow or filtered network, a proxy, or a very large repository",
        "git clone --depth 1, the same again, or a proxy (git config http.proxy); then git fetch --unshallow",
    ),
    StatedMessage(
        r"Permission denied \(publickey\)|Host key verification failed",
        "git asks over SSH, and this machine has no key that the server knows",
        "an address git@... or ssh://, also of a submodule or of a requirement git+ssh",
        "git config --global url.https://github.com/.insteadOf git@github.com: takes https in its place",
    ),
    StatedMessage(
        r"could not select device driver .{0,4}.{0,40}capabilities: \[\[gpu\]\]|[Uu]nknown (?:or invalid )?runtime (?:name"
        r"|specified):? ?nvidia",
        "Docker knows no GPUs: NVIDIA's container toolkit is not installed or not configured",
        "",
        "install nvidia-container-toolkit, sudo nvidia-ctk runtime configure --runtime=docker, sudo systemctl restart docker",
    ),
    StatedMessage(
        r"nvidia-container-cli: (?:initialization error|requirement error|mount error)(?P<why>[^\n]{0,160})",
        "NVIDIA's container toolkit could not give the GPU to the container",
        "the host's driver is not loaded, is older than the CUDA that the image asks for, or was updated without a restart{why}",
        "nvidia-smi on the host first; a restart after a new driver; an image for the CUDA that it shows",
    ),
    StatedMessage(
        r"denied while trying to connect to the Docker daemon|Cannot connect to the Docker daemon",
        "Docker's daemon is not reached",
        "it does not run, or this user is not in its group",
        "sudo systemctl start docker; sudo usermod -aG docker $USER and log in again",
    ),
    StatedMessage(
        r"no matching manifest for (?P<platform>[\w/]{3,40})",
        "There is no such image for {platform}",
        "",
        "--platform linux/amd64 where emulation will do; else build the image there",
    ),
    StatedMessage(
        r"manifest (?:for \S{1,120} )?(?:not found|unknown)|pull access denied for (?P<image>\S{1,120})"
        r"|repository does not exist or may require",
        "There is no image of that name and tag, or it is private",
        "tags of nvidia/cuda are removed after a time; a local image was never built",
        "look up the tags that are there, build it first, or docker login",
    ),
    StatedMessage(
        r"CANCELLED AT \S{1,40} DUE TO TIME LIMIT",
        "Slurm ended the job: its time was over",
        "",
        "a longer --time, or checkpoints and --resume; sacct -j JOB shows how long it ran",
    ),
    StatedMessage(
        r"Invalid account or account/partition combination|Requested node configuration is not available|Invalid partition name"
        r"|Invalid qos",
        "Slurm takes no job with these options",
        "an account, a partition, a QOS or so many GPUs that this cluster or this user has not",
        "sinfo and sacctmgr show assoc user=$USER list what there is: change --account, --partition, --gres",
    ),
    StatedMessage(
        r"not enough slots available in the system",
        "Open MPI was asked for more processes than it counts places for them",
        "it counts cores, or what the scheduler gave",
        "fewer processes (-np), or --oversubscribe, or slots in the hostfile",
    ),
    StatedMessage(
        r"mpirun has detected an attempt to run as root|allow-run-as-root",
        "Open MPI does not run as root unless it is told to",
        "",
        "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or mpirun --allow-run-as-root, or another user",
    ),
    StatedMessage(
        r"Run 'conda init' before 'conda activate'|shell has not been properly configured to use 'conda activate'",
        "conda activate is called in a shell that was not prepared for it",
        "a script, a Dockerfile or a new shell",
        'eval "$(conda shell.bash hook)" before it, conda run -n NAME COMMAND, or conda init and a new shell',
    ),
    StatedMessage(
        r"CondaToSNonInteractiveError|Terms of Service have not been accepted",
        "Anaconda's channels want their terms accepted first",
        "",
        "conda tos accept --override-channels --channel https://repo.anaconda.com/pkgs/main (and r); or -c conda-forge --override-channels",
    ),
    StatedMessage(
        r"EnvironmentNameNotFound|Could not find conda environment: (?P<name>\S{1,80})",
        "conda has no environment of that name: {name}",
        "its creation failed or it lies under another installation of conda",
        "conda env list, then conda env create -f environment.yml, and read that command's own error",
    ),
    StatedMessage(
        r"(?:file:\S{1,200}|\S{1,200}) does not appear to be a Python project",
        "pip install was started in a folder that is no Python project",
        "the directory is not that of the project, or the clone is empty or in part",
        "cd into the folder that has pyproject.toml or setup.py; projects without one are run from their folder, with requirements.txt",
        given=True,
    ),
    StatedMessage(
        r"Could not open requirements file: \[Errno 2\] No such file or directory: ['\"](?P<file>[^'\"]{1,200})",
        "There is no {file} where pip was started",
        "",
        "cd into the project's folder first, or name the file as the project has it",
        given=True,
    ),
    StatedMessage(
        r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
        "The NVIDIA driver is not loaded into the running kernel",
        "not installed, built for a kernel before the last update, refused by secure boot, or there is no GPU",
        "lsmod | grep nvidia and dkms status; install the driver again for this kernel, and restart",
    ),
    StatedMessage(
        r"^\W{0,3}(?:timeout: the monitored command dumped core|(?:\S{1,80}: line \d{1,5}:\s{1,4}\d{1,9} )?Bus error)",
        "The run was ended by SIGBUS: memory that was mapped could not be had",
        "the shared memory of a container is full, or a file that is mapped was cut or lies on a disk that is full or gone",
        "--shm-size=8g (or --ipc=host), num_workers=0 to see, df -h on the disk of the weights",
        sure=False,
    ),
)
