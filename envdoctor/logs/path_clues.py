"""What a path shows by itself of why it cannot be opened: a ~ that nobody wrote out, a line of a list, the cache of the hub, a device."""

from __future__ import annotations

import re

_MISSING = (
    (
        r"^~",
        "Python does not write out the ~ of a path that is handed to it",
        "the whole path, or os.path.expanduser around it",
    ),
    (
        r"\$\{?[A-Za-z_]\w*|%[A-Z_]{3,}%|\{\w{0,40}\}",
        "a variable stands in it that was never replaced by its value",
        "set the variable where the program starts, or write the path itself",
    ),
    (
        r"\\[nrt]$|^\s|\s$",
        "a blank or the end of a line is part of the name: the line of a list was taken as it stands",
        "strip() each line of the list, or remove the blanks from it",
    ),
    (
        r"\||\\t.",
        "a whole line of a list was taken for the path: its fields are separated by another sign than the code splits at",
        "write the list with the separator that the project describes",
    ),
    (
        r"(?:^|[/\\])(?:None|nan|null|undefined)(?:[/\\.]|$)",
        "a setting or a cell that is empty stands in it as the word None or nan",
        "set the setting that this path is made of, or fill the cell in the list",
    ),
    (
        r"(?i)path[/_\\ -]{1,2}to|your[_-]?\w{0,12}[_/\\-]|/xxx|<\w{2,40}>",
        "it is the placeholder of an example, and was not replaced",
        "write the path of your own file in its place",
    ),
    (
        r"[/\\]models--[^/\\]{1,200}[/\\]",
        "the cache of the hub lacks the file, or its link leads nowhere: a download was cut off, or the cache was copied without its blobs",
        "fetch it again: hf download MODEL --force-download",
    ),
    (
        r"(?:^|[/\\])(?:[\w.-]{0,120}\.(?:pth|pt|ckpt|safetensors|bin|gguf|onnx|h5|model|engine)|(?:adapter_|preprocessor_)?config\.json"
        r"|tokenizer(?:_config)?\.json|vocab\.(?:json|txt)|merges\.txt)$",
        "a file of a model: it was not downloaded, is of another name, or lies in another folder than the one that is looked in",
        "list that folder, fetch what the project's page names into it, or write the path where the file is",
    ),
    (
        r"(?i)\.(?:wav|mp3|flac|ogg|m4a|jpe?g|png|webp|bmp|gif|mp4|avi|mkv|npy|npz|tiff?|nii(?:\.gz)?)$",
        "a row of the data names a file that is not there: the list was written for another folder, or the data is there in part",
        "compare the folder with the paths in the list; a relative path counts from the directory that the run was started in",
    ),
    (
        r"^[A-Za-z]:[\\/]",
        "a drive of Windows: the folder is called otherwise there, or the path was written on another machine",
        "look at the folder there; forward slashes, or r'...' around the path",
    ),
    (
        r"^/(?:content|kaggle|workspace|root|mnt|data|home/[\w.-]{1,40}|Users/[\w.-]{1,40})/",
        "an absolute path: it may be that of the machine on which a list, a configuration or a checkpoint was written",
        "look at where it comes from (a setting, a list, a configuration), and write the path that is right here",
    ),
    (
        r"^/",
        "an absolute path: mistyped, not mounted here, or not made yet",
        "ls its parent folder there, in the container where it runs in one",
    ),
    (
        r".",
        "a relative path counts from the directory that the program was started in",
        "start it from the project's folder, or write the whole path; else fetch or make the file as the project's page says",
    ),
)
_REFUSED = (
    (
        r"docker\.sock",
        "the socket of Docker is open to root and the group docker",
        "sudo usermod -aG docker $USER and log in again; or sudo",
    ),
    (r"^/dev/(?:kfd|dri)", "AMD's devices are open to the groups render and video", "sudo usermod -aG render,video $USER and log in again"),
    (r"^/dev/", "a device that this user may not open", "the group that ls -l shows for it, or the device passed into the container"),
    (
        r"(?:site|dist)-packages|^/usr/(?:local/)?(?:lib|bin|share)|[\\/]Program Files",
        "an installation of the system or of another user",
        "an environment of one's own: python3 -m venv .venv && .venv/bin/pip install ...",
    ),
    (
        r"\.cache(?:[/\\]|$)|huggingface|\.locks[/\\]|models--|torch_extensions|\.triton|numba|matplotlib",
        "the cache belongs to another user: made by root, mounted from outside the container, or shared without the right to write",
        "HF_HOME (TORCH_EXTENSIONS_DIR, TRITON_CACHE_DIR, NUMBA_CACHE_DIR for the others) to a folder of this user; or "
        "chown -R USER on the folder, or docker run --user of its owner",
    ),
    (
        r"^[A-Za-z]:[\\/]",
        "on Windows a folder that is opened as a file says this too, and a file that another program holds open",
        "look whether a file is meant and a folder named; close what has it open; a folder below the user's own",
    ),
    (r"^/(?:var/)?t[m]p/", "made by another user before", "TMPDIR to a folder of this user, or remove it as that user"),
    (r"^\./|\.sh$|/bin/", "the file may not be executed", "chmod +x on it, or bash FILE; not from a disk that is mounted noexec"),
    (
        r".",
        "the user that the program runs as may not read or write it: files of root, a volume of another owner, a read-only mount",
        "ls -ld on it and its folder shows the owner: chown it, or start the program as that user (docker run --user)",
    ),
)
_CLUES = {"missing": _MISSING, "refused": _REFUSED}


def clue_of(path: str, kind: str) -> tuple[str, str] | None:
    """What is behind it and what to do, by the first clue that a path shows; None where nobody asks for clues of this kind."""
    return next(((behind, advice) for pattern, behind, advice in _CLUES.get(kind, ()) if path and re.search(pattern, path)), None)
