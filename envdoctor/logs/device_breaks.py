"""Messages of what speaks to sound and to GPUs, whose one cause is a library that was not found."""

from __future__ import annotations

from envdoctor.logs.break_form import Break

DEVICE_BREAKS = (
    # https://docs.pytorch.org/audio/2.0.1/_sources/backend.rst.txt, .../2.1/_sources/installation.rst.txt;
    # https://github.com/Stability-AI/stable-audio-3/issues/32, https://github.com/2noise/ChatTTS/issues/181
    Break(
        r"No audio (?:I/O )?backend is available|Couldn'?t find appropriate backend to handle uri"
        r"|Backend ['\"]?soundfile['\"]? is not one of available backends",
        "torchaudio found nothing that reads and writes sound for it: mostly soundfile is not installed where this runs",
        "pip does not install soundfile with torchaudio, and on Windows it is the one that works; the others, sox and FFmpeg (4.4 to 6), "
        "are looked for in the system",
        "python -m pip install soundfile with the Python that runs (inside the project's venv), and start it anew; python -c 'import "
        "torchaudio; print(torchaudio.list_audio_backends())' lists what is found: where soundfile is in that list, it does not read this "
        "format: FFmpeg (conda install -c conda-forge 'ffmpeg<7'), or a wav",
        "error-package-not-installed",
        ("soundfile", "torchaudio"),
    ),
    # cuda_setup/main.py of 0.41.1; https://github.com/bitsandbytes-foundation/bitsandbytes/issues/81 (what it says where it finds no
    # libcuda), 417 (Windows), 552, 688
    Break(
        r"'NoneType' object has no attribute 'cuDeviceGetCount'",
        "bitsandbytes found no driver library (libcuda), or has no build for the CUDA that is here",
        "releases up to 0.43.0 look for libcuda and libcudart themselves, in CONDA_PREFIX and LD_LIBRARY_PATH, and know no Windows; "
        "COMPILED_WITH_CUDA = False says that the build for the CPU was taken",
        "pip install -U bitsandbytes (0.43.1 and later ask torch which CUDA it has); where the release has to stay: LD_LIBRARY_PATH with "
        "the folders of libcuda.so and libcudart.so, or build it from source for this CUDA",
        "error-of-the-run",
        ("bitsandbytes",),
        "<=0.43.0",
    ),
)
