"""Modules of distributions of which no releases are kept, and how what gives them is installed.

The tops of the first table were read from the wheels that the package index had from 2026-11-28 to -30; of the second the projects' own
pages say how they are installed, for the index has something else by that name, or nothing.
"""

from __future__ import annotations

_ON_THE_INDEX = {
    "Crypto": "pycryptodome",
    "ImageReward": "image-reward",
    "Levenshtein": "levenshtein",
    "MeCab": "mecab-python3",
    "OpenSSL": "pyopenssl",
    "PyPDF2": "pypdf2",
    "addict": "addict",
    "audiotools": "descript-audiotools",
    "av": "av",
    "bert_score": "bert-score",
    "box": "python-box",
    "classification_models": "image-classifiers",
    "cleanfid": "clean-fid",
    "cn2an": "cn2an",
    "dac": "descript-audio-codec",
    "dateparser": "dateparser",
    "dctorch": "dctorch",
    "decord": "decord",
    "df": "deepfilternet",
    "docx": "python-docx",
    "docx2txt": "docx2txt",
    "easydict": "easydict",
    "edge_tts": "edge-tts",
    "einops_exts": "einops-exts",
    "ema_pytorch": "ema-pytorch",
    "face_alignment": "face-alignment",
    "facexlib": "facexlib",
    "fasttext": "fasttext-wheel",
    "ffmpeg": "ffmpeg-python",
    "ffmpy": "ffmpy",
    "g2p_en": "g2p-en",
    "gtts": "gtts",
    "hdbscan": "hdbscan",
    "hpsv2": "hpsv2",
    "imageio_ffmpeg": "imageio-ffmpeg",
    "imwatermark": "invisible-watermark",
    "inflect": "inflect",
    "insightface": "insightface",
    "iopath": "iopath",
    "jaconv": "jaconv",
    "julius": "julius",
    "jwt": "pyjwt",
    "k_diffusion": "k-diffusion",
    "lion_pytorch": "lion-pytorch",
    "lpips": "lpips",
    "lycoris": "lycoris-lora",
    "magic": "python-magic",
    "mediapipe": "mediapipe",
    "mir_eval": "mir-eval",
    "mmdet": "mmdet",
    "mmengine": "mmengine",
    "mmseg": "mmsegmentation",
    "moviepy": "moviepy",
    "natsort": "natsort",
    "nemo_text_processing": "nemo-text-processing",
    "noisereduce": "noisereduce",
    "num2words": "num2words",
    "nuscenes": "nuscenes-devkit",
    "onnxsim": "onnxsim",
    "open3d": "open3d",
    "opencc": "opencc",
    "oyaml": "oyaml",
    "parselmouth": "praat-parselmouth",
    "past": "future",
    "pdfplumber": "pdfplumber",
    "piq": "piq",
    "pptx": "python-pptx",
    "praatio": "praatio",
    "prettytable": "prettytable",
    "pycocoevalcap": "pycocoevalcap",
    "pycocotools": "pycocotools",
    "pydub": "pydub",
    "pyiqa": "pyiqa",
    "pykakasi": "pykakasi",
    "pyloudnorm": "pyloudnorm",
    "pypdf": "pypdf",
    "pypinyin": "pypinyin",
    "pytorch_fid": "pytorch-fid",
    "pytorch_msssim": "pytorch-msssim",
    "pyttsx3": "pyttsx3",
    "pytube": "pytube",
    "realesrgan": "realesrgan",
    "resemblyzer": "resemblyzer",
    "rotary_embedding_torch": "rotary-embedding-torch",
    "sacremoses": "sacremoses",
    "segment_anything": "segment-anything",
    "skvideo": "scikit-video",
    "slugify": "python-slugify",
    "sounddevice": "sounddevice",
    "sox": "sox",
    "speech_recognition": "speechrecognition",
    "termcolor": "termcolor",
    "textgrid": "textgrid",
    "thop": "thop",
    "torch_fidelity": "torch-fidelity",
    "torchcrepe": "torchcrepe",
    "trimesh": "trimesh",
    "umap": "umap-learn",
    "unidecode": "unidecode",
    "vector_quantize_pytorch": "vector-quantize-pytorch",
    "webrtcvad": "webrtcvad-wheels",
    "websocket": "websocket-client",
    "x_transformers": "x-transformers",
    "yacs": "yacs",
    "yt_dlp": "yt-dlp",
    "zhconv": "zhconv",
}
_FROM_THEIR_PAGE = {
    "apex": ("apex", "build it from github.com/NVIDIA/apex: what the package index has by that name is another project"),
    "clip": ("clip", "pip install git+https://github.com/openai/CLIP.git: the package index has others by that name"),
    "detectron2": ("detectron2", "build it from github.com/facebookresearch/detectron2 against the torch that is there"),
    "diff_gaussian_rasterization": ("diff-gaussian-rasterization", "build it from the submodule of the project that asks for it"),
    "google.colab": (
        "google-colab",
        "it is in Colab's own notebooks alone: elsewhere leave out what imports it (files, drive, userdata)",
    ),
    "groundingdino": ("groundingdino", "build it from github.com/IDEA-Research/GroundingDINO"),
    "ldm": (
        "ldm",
        "it is the folder of the project itself (CompVis/stable-diffusion and what was made from it): start from its top folder, or pip "
        "install -e . there; what the package index has by that name is another project",
    ),
    "pytorch3d": ("pytorch3d", "build it from github.com/facebookresearch/pytorch3d against the torch that is there"),
    "sam2": ("sam2", "pip install git+https://github.com/facebookresearch/sam2.git"),
    "simple_knn": ("simple-knn", "build it from the submodule of the project that asks for it"),
    "taming": (
        "taming-transformers",
        "git clone https://github.com/CompVis/taming-transformers and pip install -e ./taming-transformers (or its folder in PYTHONPATH): "
        "pip install git+... makes a wheel without files of it, and 0.0.1 of the package index lacks VectorQuantizer2, which latent "
        "diffusion imports",
    ),
    "tinycudann": ("tinycudann", "build it from github.com/NVlabs/tiny-cuda-nn (bindings/torch)"),
    **{
        f"torch_{part}": (
            f"torch-{part}",
            f"pip install torch-{part} -f https://data.pyg.org/whl/torch-VERSION+cuNNN.html, with the release and the CUDA of the torch "
            "that is there: the package index has its source alone",
        )
        for part in ("scatter", "sparse", "cluster", "spline_conv")
    },
    "whisper": ("openai-whisper", "pip install openai-whisper: what the package index has as whisper is another project"),
}


def names_written_down() -> tuple[str, ...]:
    """The modules of all these distributions."""
    return tuple(_ON_THE_INDEX)


def from_its_page(module: str) -> tuple[str, str] | None:
    """What gives a module that the package index has not, and how to get it; of a module below a top as of the top."""
    return _FROM_THEIR_PAGE.get(module) or _FROM_THEIR_PAGE.get(module.partition(".")[0])


def other_distribution(top: str) -> tuple[str, str] | None:
    """The distribution that gives a module at its top, and how to install it; None of a module that nobody wrote down."""
    if (named := _FROM_THEIR_PAGE.get(top)) is not None:
        return named
    package = _ON_THE_INDEX.get(top)
    return None if package is None else (package, f"pip install {package}")
